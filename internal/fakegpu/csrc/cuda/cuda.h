/* Internal types of the libcuda look-alike. */
#ifndef FAKEGPU_CUDA_H
#define FAKEGPU_CUDA_H

#include <pthread.h>
#include <time.h>

#include "../cbid.h"
#include "../env.h"
#include "../fakegpu.h"

#define API FG_EXPORT

/* CUresult values; the runtime's cudaError_t has the same numbers for these. */
enum {
	OK = 0, ERR_VALUE = 1, ERR_MEMORY = 2, ERR_NOT_INITIALIZED = 3, ERR_NO_DEVICE = 100,
	ERR_DEVICE = 101, ERR_CONTEXT = 201, ERR_HANDLE = 400, ERR_NOT_FOUND = 500,
	ERR_NOT_READY = 600, ERR_CAPTURE = 900
};

enum { MAX_DEVICES = 16, STREAM_NON_BLOCKING = 1, STREAM_FLAG_DEFAULT = 1, STREAM_FLAG_NON_BLOCKING = 2, STREAM_FLAG_NULL = 3 };

struct graph;

struct stream {
	uint32_t id;
	struct context *ctx;
	uint64_t avail;         /* when all work submitted so far is done */
	uint32_t flags;
	int32_t priority;
	struct graph *capture;  /* not NULL while capturing */
	struct stream *next;
};

struct context {
	uint32_t id;
	int device;
	int retained;
	struct stream null;
	struct stream *streams; /* those created by the program */
	uint32_t next_stream;
	struct context *next;
};

struct event {
	uint32_t id;
	int recorded;
	uint64_t time;
	uint64_t sync_id;
	uint32_t stream;
};

struct graph {
	uint32_t id;
	int executable;
	size_t n, cap;
	struct fg_work *nodes;
};

/* init.c */
extern int fg_devices;

/* api.c */
const struct fg_sink *sink(void);
uint64_t now_ns(void);
void sleep_until(uint64_t t);
uint32_t next_id(uint32_t *counter);

/* context.c */
extern pthread_mutex_t sim_lock;
struct context *current_context(void);
struct context *all_contexts(void);
struct stream *stream_of(void *handle); /* NULL when there is no current context */

/* sim.c: times for work on a stream; both take sim_lock themselves. */
void sim_submit(struct fg_api *a, struct stream *s, struct fg_work *w);
uint64_t sim_stream_done(struct stream *s);
uint64_t sim_context_done(struct context *c);
uint64_t sim_kernel_ns(const struct fg_func *f, const int32_t grid[3], const int32_t block[3]);
void stream_join(struct stream *s, uint64_t t);

/* memory.c */
int memory_kind(const void *p);

/* graph.c */
void graph_add(struct graph *g, const struct fg_work *w);

/* Every API function is BEGIN, its work, and END(result). */
#define BEGIN(cb)                                        \
	struct fg_api a_;                                \
	do {                                             \
		int e_ = fg_enter(&a_, FG_DRIVER, cb);   \
		if (e_)                                  \
			return fg_leave(&a_, e_);        \
	} while (0)
#define END(result) return fg_leave(&a_, (result))

#define NEED(cond, err)                                  \
	do {                                             \
		if (!(cond))                             \
			END(err);                        \
	} while (0)

#endif
