/* Records as CUPTI writes them, and as libraries modelled on it are known or taken to.
 * The numbers of the assertions are those of the documentation of each vendor's users. */
#ifndef FAKEALIKE_RECORDS_H
#define FAKEALIKE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum { MEMCPY = 1, MEMSET = 2, KERNEL = 3, DRIVER = 4, RUNTIME = 5, CONCURRENT_KERNEL = 10, OVERHEAD = 17, MEMCPY2 = 22, SYNC = 38, EXTERNAL = 39, KINDS = 64 };
enum { OK = 0, INVALID_PARAMETER = 1, MAX_LIMIT = 12, NOT_COMPATIBLE = 14, QUEUE_EMPTY = 18, INVALID_KIND = 21 };

#define RECORD __attribute__((packed, aligned(8)))

/* Kernel8, of which Kernel6 and the prefix common to all are beginnings. */
struct RECORD kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], static_shared, dynamic_shared;
	uint32_t local_thread, local_total, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested, carveout, pad;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shmem_limit, graph;
	void *policy;                                          /* Kernel6 ends behind it */
	uint32_t channel, channel_type, cluster[3], scheduling;
	uint64_t local_total2;                                 /* Kernel8 ends behind it */
	uint32_t max_cluster, max_active;                      /* Kernel9 */
};

struct RECORD copy { /* Memcpy5 */
	uint32_t kind;
	uint8_t copy, src, dst, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type, pad2;
};

struct RECORD fill { /* Memset4 */
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type, pad2;
};

struct RECORD call { uint32_t kind, cbid; uint64_t start, end; uint32_t process, thread, correlation, returned; };
struct RECORD sync { uint32_t kind, type; uint64_t start, end; uint32_t correlation, context, stream, event; };
struct RECORD overhead { uint32_t kind, overhead, object, id[3]; uint64_t start, end; };
struct RECORD external { uint32_t kind, external; uint64_t id; uint32_t correlation, reserved; };

#define AT(type, field, at) _Static_assert(offsetof(struct type, field) == (at), #type "." #field)
AT(kernel, registers, 6); AT(kernel, start, 16); AT(kernel, end, 24); AT(kernel, completed, 32); AT(kernel, device, 40); AT(kernel, context, 44);
AT(kernel, stream, 48); AT(kernel, grid, 52); AT(kernel, block, 64); AT(kernel, static_shared, 76); AT(kernel, dynamic_shared, 80);
AT(kernel, correlation, 92); AT(kernel, grid_id, 96); AT(kernel, name, 104); AT(kernel, queued, 120); AT(kernel, shared_executed, 140);
AT(kernel, graph_node, 144); AT(kernel, graph, 156); AT(kernel, channel, 168); AT(kernel, cluster, 176); AT(kernel, local_total2, 192);
AT(kernel, max_cluster, 200);
AT(copy, copy, 4); AT(copy, bytes, 8); AT(copy, start, 16); AT(copy, end, 24); AT(copy, device, 32); AT(copy, stream, 40); AT(copy, correlation, 44);
AT(copy, reserved, 56); AT(copy, graph, 72); AT(copy, channel, 76);
AT(fill, value, 4); AT(fill, bytes, 8); AT(fill, start, 16); AT(fill, device, 32); AT(fill, correlation, 44); AT(fill, flags, 48); AT(fill, memory, 50);
AT(call, cbid, 4); AT(call, start, 8); AT(call, end, 16); AT(call, process, 24); AT(call, thread, 28); AT(call, correlation, 32); AT(call, returned, 36);
AT(sync, type, 4); AT(sync, start, 8); AT(sync, end, 16); AT(sync, correlation, 24); AT(sync, context, 28); AT(sync, stream, 32); AT(sync, event, 36);
AT(overhead, overhead, 4); AT(overhead, object, 8); AT(overhead, id, 12); AT(overhead, start, 24); AT(overhead, end, 32);
AT(external, external, 4); AT(external, id, 8); AT(external, correlation, 16);
enum { KERNEL6 = 168, KERNEL8 = 200, KERNEL9 = 208, COPY4 = 80, COPY5 = 88 };
_Static_assert(offsetof(struct kernel, channel) == KERNEL6 && offsetof(struct kernel, max_cluster) == KERNEL8 && sizeof(struct kernel) == KERNEL9, "kernel");
_Static_assert(offsetof(struct copy, channel_type) == COPY4 && sizeof(struct copy) == COPY5, "copy");
_Static_assert(offsetof(struct fill, channel_type) == COPY4 && sizeof(struct fill) == COPY5, "fill");
_Static_assert(sizeof(struct call) == 40 && sizeof(struct external) == 24 && sizeof(struct sync) == 40 && sizeof(struct overhead) == 40, "call, external, sync, overhead");

#endif
