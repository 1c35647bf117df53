/* Internals of the libmspti look-alike. */
#ifndef FAKEMSPTI_H
#define FAKEMSPTI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "../acl/observer.h"
#include "../env.h"
#include "records.h"

#define API __attribute__((visibility("default")))

enum {
	SUCCESS = 0, INVALID_PARAMETER = 1, MULTIPLE_SUBSCRIBERS = 2, MAX_LIMIT_REACHED = 3, QUEUE_EMPTY = 5,
	WITHOUT_LD_PRELOAD = 6, INNER = 999
};

/* Device and stream that do not apply. */
#define NONE 0xFFFFFFFFu

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*complete_fn)(uint8_t *buffer, size_t size, size_t valid);

/* switches.c */
struct quirks {
	uint32_t max_kind;
	int need_preload;            /* kinds 4 to 7 are refused without the variable */
	int aligned;                 /* fields where a compiler puts them without packing */
	uint64_t unknown_every, unknown_kind;
	uint64_t stale_every, no_id_every, empty_name_every, wild_name_every, untimed_every;
	uint64_t negative_every;
	int64_t negative_ns;
	uint64_t resync_every;       /* the device's clock is set so often, by: */
	int64_t resync_ns;
	uint64_t device_delay_ms;    /* from the end of work to its record */
	int64_t flush_block_ms;      /* -1 for ever */
	int subscribed;
};
extern struct quirks quirk;
/* Counts one occurrence and says whether it is the n-th. */
int hit(uint64_t *counter, uint64_t every);
int entry(const char *function, int64_t arg);
#define ENTRY(arg)                                      \
	do {                                            \
		int r_ = entry(__func__, (int64_t)(arg)); \
		if (r_)                                 \
			return r_;                      \
	} while (0)
void log_line(const char *what, uint64_t a, uint64_t b);

/* buffers.c */
void set_callbacks(request_fn r, complete_fn c);
void emit(const void *record, size_t size);
void flush_buffers(void);

/* control.c */
int enabled(uint32_t kind);
uint32_t thread_id(void);
uint64_t now(void);

/* device.c: records of device work wait until the device is done with it. */
void device_task(const struct fa_task *t);
/* Waits until all records of that kind are in a buffer. */
void device_drain(uint32_t kind);
void device_start(void);

/* interpose.c: whether the calling thread is in a collective that the program called
 * through this library. */
int within_collective(void);

/* external.c */
uint64_t take_correlation(void);
uint64_t thread_correlation(void);

#endif
