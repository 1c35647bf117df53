/* Internals of the libcupti look-alike. */
#ifndef FAKECUPTI_H
#define FAKECUPTI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "../env.h"
#include "../fakegpu.h"
#include "layout.h"

#define API FG_EXPORT

/* The version that cuptiGetVersion gives when no switch says otherwise. */
#ifndef FAKECUPTI_DEFAULT_VERSION
#define FAKECUPTI_DEFAULT_VERSION 130001
#endif

enum {
	SUCCESS = 0, INVALID_PARAMETER = 1, INVALID_OPERATION = 7, PARAMETER_SIZE = 10,
	MAX_LIMIT_REACHED = 12, NOT_INITIALIZED = 15, QUEUE_EMPTY = 18, INVALID_KIND = 21,
	NOT_SUPPORTED = 27, LEGACY_NOT_SUPPORTED = 38, MULTIPLE_SUBSCRIBERS = 39
};

/* quirks.c: the switches. "every" counts: 0 never, n each n-th time. */
struct quirks {
	uint32_t version;          /* what cuptiGetVersion says */
	int64_t stop_after;        /* records, -1 for no limit */
	uint64_t unknown_every, unknown_kind;
	uint64_t wild_name_every, null_name_every, wild_marker_every;
	uint64_t drop_every, zero_times_every, negative_every;
	int64_t negative_ns;
	int at_completion;         /* device work is recorded when it has ended */
	int late;                  /* nothing is completed before a forced flush */
	int locked_callbacks;      /* the library's lock is held around callbacks */
	int crash_on_null;
	int64_t flush_block_ms;    /* -1 for ever, 0 off */
	uint64_t clock_slow_ms;
	int flush_block_forced;    /* only in a forced flush */
	int fork_flush_hangs;
	int after_exit;            /* flush after the driver's exit: 0 works, 1 fails, 2 hangs */
	int subscribed;            /* another tool has the one subscription */
	int supported;             /* the device is known to this library */
	const char *play, *play_names;
	int play_all, play_pid;
};
extern struct quirks quirk;
/* hit counts one occurrence and says whether it is the n-th. */
int hit(uint64_t *counter, uint64_t every);
/* entry logs a call and gives the result a switch forces on it (0: go on).
 * Every exported function begins with ENTRY; arg -1 is none. */
int entry(const char *function, int64_t arg, int exempt);
/* QUIET_ENTRY: for what is called with every launch, and is not logged. */
int forced_result(const char *function, int64_t arg, int exempt);
#define QUIET_ENTRY(arg)                                                    \
	do {                                                                \
		int r_ = forced_result(__func__, (int64_t)(arg), 0);        \
		if (r_)                                                     \
			return r_;                                          \
	} while (0)
void log_line(const char *what, uint64_t a, uint64_t b);
#define ENTRY(arg)                                          \
	do {                                                \
		int r_ = entry(__func__, (int64_t)(arg), 0); \
		if (r_)                                     \
			return r_;                          \
	} while (0)

/* attach makes this library the simulated driver's observer: 0 or a result. */
int attach(void);

/* clock.c: the clock of the records; all in that clock's units but rt, which is
 * CLOCK_REALTIME nanoseconds. */
uint64_t realtime(void);
uint64_t clock_now(void);
/* clock_convert brings CLOCK_REALTIME times onto the clock of the records; 0 stays. */
void clock_convert(uint64_t *times, int n);
int clock_is_realtime(void);
void clock_set_callback(uint64_t (*fn)(void));

/* buffers.c */
struct record {
	uint32_t size;
	uint64_t due;              /* realtime at which the device is done with it, or 0 */
	_Alignas(8) uint8_t b[MAX_RECORD];
};
typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*complete_fn)(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
void set_callbacks(request_fn r, complete_fn c);
int have_callbacks(void);
void emit(const struct record *r, uint32_t correlation);
/* emit_now puts a record into a buffer whatever the switches say. */
void emit_now(const struct record *r, uint32_t correlation);
void seal_current(void);
int flush_all(int forced);
uint64_t take_dropped(void);
void set_per_thread(int on);
int per_thread(void);

/* waiting.c: wait_for_work says whether it keeps the record for later. */
int wait_for_work(const struct record *r, uint32_t correlation);
void end_waiting(int forced);

/* records.c */
void record_init(struct record *r, uint32_t kind);
void put8(struct record *r, uint32_t off, uint8_t v);
void put16(struct record *r, uint32_t off, uint16_t v);
void put32(struct record *r, uint32_t off, uint32_t v);
void put64(struct record *r, uint32_t off, uint64_t v);
uint32_t thread_id(void);
uint64_t wild_address(void);
void emit_api(const struct fg_api *a, uint64_t end);
void emit_work(const struct fg_api *a, const struct fg_work *w);
void emit_sync(const struct fg_api *a, const struct fg_sync *s);
void emit_event(const struct fg_api *a, const struct fg_event_note *e);
/* make_overhead leaves size 0 when nobody wants the record. */
void make_overhead(uint64_t start, uint64_t end, uint32_t correlation, struct record *r);

/* objects.c */
void emit_device(int device);
void emit_context(const struct fg_context_note *c);
void emit_stream(const struct fg_api *a, const struct fg_stream_note *s);

/* cost.c: what the client costs, if cost_on. cost_begin gives the CPU time of the
 * thread, ns; the others count one call of the client since then. */
extern int cost_on;
uint64_t cost_begin(void);
void cost_request(uint64_t since);
void cost_complete(uint64_t since);
void cost_reading(uint64_t (*fn)(void));

/* control.c */
int kind_enabled(uint32_t kind);
int api_wanted(enum fg_domain d, uint32_t cbid);
int all_sync_records(void);
int event_timestamps(void);
int system_thread_ids(void);

/* external.c */
void emit_external(struct fg_api *a);

/* subscribe.c */
void subscriber_call(struct fg_api *a, int site);

/* play.c: 1 when recorded buffers replace generated records. */
int playing(void);
void play_step(void);
void play_rest(void);

/* names.c */
const char *callback_name(uint32_t domain, uint32_t cbid);

#endif
