/* Records of device work and of API calls. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti.h"

/* Bytes beyond the fields known here get this value, so that a reader taking
 * them for something is found out. */
enum { UNKNOWN_TAIL = 0xA5, OBJECT_THREAD = 2, ACTIVITY_BUFFER_REQUEST = 7 << 16 };

void record_init(struct record *r, uint32_t kind)
{
	r->size = layout_size(kind);
	r->due = 0;
	memset(r->b, 0, r->size);
	put32(r, 0, kind);
	if (kind == CONCURRENT_KERNEL && r->size > KERNEL_known)
		memset(r->b + KERNEL_known, UNKNOWN_TAIL, r->size - KERNEL_known);
}

static void put(struct record *r, uint32_t off, const void *v, uint32_t n)
{
	if (off + n <= r->size)
		memcpy(r->b + off, v, n);
}

void put8(struct record *r, uint32_t off, uint8_t v) { put(r, off, &v, sizeof v); }
void put16(struct record *r, uint32_t off, uint16_t v) { put(r, off, &v, sizeof v); }
void put32(struct record *r, uint32_t off, uint32_t v) { put(r, off, &v, sizeof v); }
void put64(struct record *r, uint32_t off, uint64_t v) { put(r, off, &v, sizeof v); }

uint32_t thread_id(void)
{
	return system_thread_ids() ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

void emit_api(const struct fg_api *a, uint64_t end)
{
	struct record r;
	record_init(&r, a->domain == FG_DRIVER ? DRIVER : RUNTIME);
	put32(&r, API_cbid, a->cbid);
	put64(&r, API_start, a->start);
	put64(&r, API_end, end);
	put32(&r, API_processId, (uint32_t)getpid());
	put32(&r, API_threadId, thread_id());
	put32(&r, API_correlationId, a->correlation);
	put32(&r, API_returnValue, (uint32_t)a->result);
	emit(&r, a->correlation);
}

void make_overhead(uint64_t start, uint64_t end, uint32_t correlation, struct record *r)
{
	r->size = 0;
	if (!kind_enabled(OVERHEAD) || playing())
		return;
	record_init(r, OVERHEAD);
	put32(r, OVERHEAD_overheadKind, ACTIVITY_BUFFER_REQUEST);
	put32(r, OVERHEAD_objectKind, OBJECT_THREAD);
	put32(r, OVERHEAD_objectId, (uint32_t)getpid());
	put32(r, OVERHEAD_objectId + 4, thread_id());
	put64(r, OVERHEAD_start, start);
	put64(r, OVERHEAD_end, end);
	put32(r, OVERHEAD_correlationId, correlation);
}

/* An address that is mapped without any right, so reading it always faults. */
uint64_t wild_address(void)
{
	static void *page;
	if (!__atomic_load_n(&page, __ATOMIC_ACQUIRE)) {
		void *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		__atomic_store_n(&page, p, __ATOMIC_RELEASE);
	}
	return (uint64_t)(uintptr_t)page + 64;
}

static void emit_kernel(const struct fg_api *a, const struct fg_work *w)
{
	static uint64_t zero_count, negative_count, wild_count, null_count;
	struct record r;
	record_init(&r, CONCURRENT_KERNEL);
	uint64_t start = w->start, end = w->end;
	if (hit(&zero_count, quirk.zero_times_every))
		start = end = 0;
	else if (hit(&negative_count, quirk.negative_every))
		end = start - (uint64_t)quirk.negative_ns;
	uint64_t name = (uint64_t)(uintptr_t)w->func->name;
	if (hit(&wild_count, quirk.wild_name_every))
		name = wild_address();
	if (hit(&null_count, quirk.null_name_every))
		name = 0;
	r.due = w->end;
	put16(&r, KERNEL_registersPerThread, (uint16_t)w->func->registers);
	put32(&r, KERNEL_partitionedGlobalCacheRequested, 1); /* not supported */
	put32(&r, KERNEL_partitionedGlobalCacheExecuted, 1);
	put64(&r, KERNEL_start, start);
	put64(&r, KERNEL_end, end);
	put64(&r, KERNEL_completed, end);
	put32(&r, KERNEL_deviceId, w->device);
	put32(&r, KERNEL_contextId, w->context);
	put32(&r, KERNEL_streamId, w->stream);
	for (uint32_t i = 0; i < 3; i++) {
		put32(&r, KERNEL_gridX + 4 * i, (uint32_t)w->grid[i]);
		put32(&r, KERNEL_blockX + 4 * i, (uint32_t)w->block[i]);
	}
	put32(&r, KERNEL_staticSharedMemory, (uint32_t)w->func->static_shared);
	put32(&r, KERNEL_dynamicSharedMemory, (uint32_t)w->dynamic_shared);
	put32(&r, KERNEL_localMemoryPerThread, w->func->local);
	put32(&r, KERNEL_localMemoryTotal, w->func->local * 132 * 2048);
	put32(&r, KERNEL_correlationId, a->correlation);
	put64(&r, KERNEL_gridId, (uint64_t)w->grid_id);
	put64(&r, KERNEL_name, name);
	put32(&r, KERNEL_sharedMemoryExecuted, w->carveout);
	put64(&r, KERNEL_graphNodeId, w->graph_node);
	put32(&r, KERNEL_graphId, w->graph);
	put32(&r, KERNEL_channelID, w->channel);
	put32(&r, KERNEL_channelType, w->channel_type);
	put64(&r, KERNEL_localMemoryTotal_v2, (uint64_t)w->func->local * 132 * 2048);
	emit(&r, a->correlation);
}

static void emit_copy(const struct fg_api *a, const struct fg_work *w)
{
	struct record r;
	record_init(&r, MEMCPY);
	r.due = w->end;
	put8(&r, MEMCPY_copyKind, w->copy_kind);
	put8(&r, MEMCPY_srcKind, w->src_kind);
	put8(&r, MEMCPY_dstKind, w->dst_kind);
	put8(&r, MEMCPY_flags, w->async);
	put64(&r, MEMCPY_bytes, w->bytes);
	put64(&r, MEMCPY_start, w->start);
	put64(&r, MEMCPY_end, w->end);
	put32(&r, MEMCPY_deviceId, w->device);
	put32(&r, MEMCPY_contextId, w->context);
	put32(&r, MEMCPY_streamId, w->stream);
	put32(&r, MEMCPY_correlationId, a->correlation);
	put64(&r, MEMCPY_graphNodeId, w->graph_node);
	put32(&r, MEMCPY_graphId, w->graph);
	put32(&r, MEMCPY_channelID, w->channel);
	put32(&r, MEMCPY_channelType, w->channel_type);
	put64(&r, MEMCPY_copyCount, 1);
	emit(&r, a->correlation);
}

static void emit_peer_copy(const struct fg_api *a, const struct fg_work *w)
{
	struct record r;
	record_init(&r, MEMCPY2);
	r.due = w->end;
	put8(&r, MEMCPY_copyKind, w->copy_kind);
	put8(&r, MEMCPY_srcKind, w->src_kind);
	put8(&r, MEMCPY_dstKind, w->dst_kind);
	put8(&r, MEMCPY_flags, w->async);
	put64(&r, MEMCPY_bytes, w->bytes);
	put64(&r, MEMCPY_start, w->start);
	put64(&r, MEMCPY_end, w->end);
	put32(&r, MEMCPY_deviceId, w->device);
	put32(&r, MEMCPY_contextId, w->context);
	put32(&r, MEMCPY_streamId, w->stream);
	put32(&r, MEMCPY2_srcDeviceId, w->src_device);
	put32(&r, MEMCPY2_srcContextId, w->src_context);
	put32(&r, MEMCPY2_dstDeviceId, w->dst_device);
	put32(&r, MEMCPY2_dstContextId, w->dst_context);
	put32(&r, MEMCPY2_correlationId, a->correlation);
	put64(&r, MEMCPY2_graphNodeId, w->graph_node);
	put32(&r, MEMCPY2_graphId, w->graph);
	put32(&r, MEMCPY2_channelID, w->channel);
	put32(&r, MEMCPY2_channelType, w->channel_type);
	emit(&r, a->correlation);
}

static void emit_set(const struct fg_api *a, const struct fg_work *w)
{
	struct record r;
	record_init(&r, MEMSET);
	r.due = w->end;
	put32(&r, MEMSET_value, w->value);
	put64(&r, MEMSET_bytes, w->bytes);
	put64(&r, MEMSET_start, w->start);
	put64(&r, MEMSET_end, w->end);
	put32(&r, MEMSET_deviceId, w->device);
	put32(&r, MEMSET_contextId, w->context);
	put32(&r, MEMSET_streamId, w->stream);
	put32(&r, MEMSET_correlationId, a->correlation);
	put16(&r, MEMSET_flags, w->async);
	put16(&r, MEMSET_memoryKind, w->dst_kind);
	put64(&r, MEMSET_graphNodeId, w->graph_node);
	put32(&r, MEMSET_graphId, w->graph);
	put32(&r, MEMSET_channelID, w->channel);
	put32(&r, MEMSET_channelType, w->channel_type);
	emit(&r, a->correlation);
}

void emit_work(const struct fg_api *a, const struct fg_work *w)
{
	switch (w->kind) {
	case FG_KERNEL: emit_kernel(a, w); break;
	case FG_COPY: emit_copy(a, w); break;
	case FG_PEER_COPY: emit_peer_copy(a, w); break;
	case FG_SET: emit_set(a, w); break;
	}
}
