/* What the look-alikes of MUPTI, MCPTI and the PPU's CUPTI have in common: records,
 * buffers, a clock and switches. A vendor's folder has what differs. */
#ifndef FAKEALIKE_H
#define FAKEALIKE_H

#include "../env.h"
#include "records.h"
#include "runtime.h"

#define API __attribute__((visibility("default")))

/* A vendor. */
struct vendor {
	const char *prefix;        /* of switches: "FAKEMUPTI" */
	size_t kernel, copy;       /* sizes of records, unless a switch says otherwise */
	uint32_t cbid[OPS];
	int end;                   /* result at the end of a buffer */
	int end_is_null;           /* and the record is NULL then */
	int one_kernel_kind;       /* the two kinds exclude each other */
	int no_fills;
	uint32_t own_kind;         /* of the vendor's own, of unknown size */
	int waits;                 /* kinds of waits, overhead and copies between devices, of which there are none */
	int handles;               /* threads are named by their handles */
};
extern const struct vendor vendor;

struct switches {
	uint64_t kernel_size, copy_size, untimed_every, null_name_every, own_every, foreign_every;
	int64_t clock_offset, clock_ppm;
	uint64_t flush_ms, hang_after; /* forced flushes that come back; the next one does not */
	int shifted, stale, no_names, threaded, kernel_on;
	int hang_locked;               /* the one that does not holds the lock, which the iterator takes */
	int end;                       /* result at the end of a buffer */
};
extern struct switches sw;

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

void alike_log(const char *what, uint64_t a);
/* Leaves a function with the result that a switch forces on it; the name is CUPTI's without
 * the prefix. */
int alike_forced(const char *function, int64_t arg);
#define MAY_FAIL(function, arg)                               \
	do {                                                  \
		int r_ = alike_forced(function, (int64_t)(arg)); \
		if (r_)                                       \
			return r_;                            \
	} while (0)
uint64_t alike_now(void);
int alike_register(request_fn request, complete_fn complete);
int alike_enable(uint32_t kind, int on);
int alike_flush(uint32_t flag);
int alike_next(uint8_t *buffer, size_t valid, uint8_t **record);
int alike_push(uint32_t kind, uint64_t id);
int alike_pop(uint32_t kind, uint64_t *last);
/* A call that needs the lock which is held while a buffer is handed over. */
void alike_lock(void);
void alike_unlock(void);

#endif
