/* What the three look-alike libraries know of each other.
 *
 * libcuda holds the simulated devices. libcudart calls libcuda. libcupti
 * attaches itself to libcuda as the one observer (struct fg_sink) and turns
 * what it is told into activity records. Times are CLOCK_REALTIME nanoseconds. */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#include <stddef.h>
#include <stdint.h>

#define FG_EXPORT __attribute__((visibility("default")))

enum fg_domain { FG_DRIVER = 1, FG_RUNTIME = 2 };

/* Kinds of device work; the numbers are those of the activity kinds. */
enum fg_work_kind { FG_COPY = 1, FG_SET = 2, FG_KERNEL = 10, FG_PEER_COPY = 22 };

enum fg_copy_kind { FG_HTOD = 1, FG_DTOH = 2, FG_DTOD = 8, FG_PTOP = 10 };
enum fg_memory_kind { FG_PAGEABLE = 1, FG_PINNED = 2, FG_DEVICE_MEMORY = 3 };
enum fg_sync_type { FG_EVENT_SYNC = 1, FG_STREAM_WAIT = 2, FG_STREAM_SYNC = 3, FG_CONTEXT_SYNC = 4 };

#define FG_NO_ID 0xFFFFFFFFu

/* One call of the outermost API function of a thread. A driver call made inside
 * a runtime call is nested: it has no id of its own and reaches no observer. */
struct fg_api {
	struct fg_api *outer;   /* the call this one is nested in, or NULL */
	enum fg_domain domain;
	uint32_t cbid;
	uint32_t correlation;
	uint32_t context;       /* current context's id on leaving, 0 if none */
	int32_t result;
	uint64_t start;         /* filled in and used by the observer only */
	uint64_t user;          /* a subscriber's correlation data */
	uint8_t recorded;       /* the observer wants this call's record */
	uint8_t linked;         /* the external ids of this call were recorded */
};

struct fg_func {
	const char *name;       /* mangled, lives as long as the process */
	uint32_t registers;     /* per thread */
	int32_t static_shared;  /* bytes per block */
	uint32_t local;         /* bytes per thread */
	struct fg_func *next;
};

/* A piece of device work, with the times the simulation gave it. */
struct fg_work {
	enum fg_work_kind kind;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t channel, channel_type;
	uint32_t graph;         /* 0 outside a graph */
	uint64_t graph_node;
	int64_t grid_id;
	/* kernels */
	const struct fg_func *func;
	int32_t grid[3], block[3];
	int32_t dynamic_shared;
	uint32_t carveout;      /* bytes of shared memory configured on the multiprocessor */
	uint8_t cooperative;
	/* copies and sets */
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind, src_kind, dst_kind, async;
	uint32_t src_device, src_context, dst_device, dst_context;
};

struct fg_sync {
	enum fg_sync_type type;
	uint64_t start, end;
	uint32_t context, stream, event;
	uint64_t sync_id;
	int32_t result;
	uint8_t query;          /* asked only, did not wait */
};

struct fg_event_note {
	uint32_t device, context, stream, event;
	uint64_t time, sync_id;
};

struct fg_context_note { uint32_t id, device; };
struct fg_stream_note { uint32_t context, stream, priority, flag; };

/* The observer. Called on application threads in the middle of API calls, with
 * no lock of libcuda held. */
struct fg_sink {
	void (*enter)(struct fg_api *);
	void (*leave)(struct fg_api *);
	void (*work)(struct fg_api *, const struct fg_work *);
	void (*sync)(struct fg_api *, const struct fg_sync *);
	void (*event)(struct fg_api *, const struct fg_event_note *);
	void (*device)(int device);
	void (*context)(const struct fg_context_note *);
	void (*stream)(struct fg_api *, const struct fg_stream_note *);
};

/* Exported by libcuda for the other two. */

/* fg_attach makes s the observer: 0, or -1 when another library has attached. */
FG_EXPORT int fg_attach(const struct fg_sink *s);
/* fg_enter begins an API call: 0, or the error the call must return. */
FG_EXPORT int fg_enter(struct fg_api *a, enum fg_domain d, uint32_t cbid);
FG_EXPORT int fg_leave(struct fg_api *a, int result);
/* fg_dump_objects tells an observer of what exists already. */
FG_EXPORT void fg_dump_objects(const struct fg_sink *s);
FG_EXPORT int fg_context_ids(void *ctx, uint32_t *id, uint32_t *device);
FG_EXPORT int fg_stream_id(void *ctx, void *stream, uint32_t *id);
FG_EXPORT int fg_device_attribute(int device, int attribute);
FG_EXPORT int fg_device_count(void);
FG_EXPORT uint64_t fg_device_memory(void);
FG_EXPORT const char *fg_device_name(void);
FG_EXPORT void fg_device_uuid(int device, uint8_t uuid[16]);
/* fg_forked is 1 in a child forked after the parent's cuInit. */
FG_EXPORT int fg_forked(void);
/* fg_exited is 1 once the driver's own exit handler has run. */
FG_EXPORT int fg_exited(void);

#endif
