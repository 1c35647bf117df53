/* Device memory, copies and sets. Device pointers are numbers: no bytes are
 * moved and a copy back leaves the host buffer as it was. */
#include "cuda.h"

static uint64_t next_address = 0x7f2000000000;
static uint64_t used;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

static struct pinned {
	char *start;
	size_t size;
	struct pinned *next;
} *pinned;

int memory_kind(const void *p)
{
	int kind = FG_PAGEABLE;
	pthread_mutex_lock(&memory_lock);
	for (struct pinned *q = pinned; q; q = q->next)
		if ((const char *)p >= q->start && (const char *)p < q->start + q->size)
			kind = FG_PINNED;
	pthread_mutex_unlock(&memory_lock);
	return kind;
}

API int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	BEGIN(D_cuMemAlloc_v2);
	NEED(ptr && bytes, ERR_VALUE);
	NEED(current_context(), ERR_CONTEXT);
	size_t rounded = (bytes + 511) & ~(size_t)511;
	pthread_mutex_lock(&memory_lock);
	int fits = used + rounded <= fg_device_memory();
	if (fits) {
		*ptr = next_address;
		next_address += rounded;
		used += rounded;
	}
	pthread_mutex_unlock(&memory_lock);
	END(fits ? OK : ERR_MEMORY);
}

API int cuMemFree_v2(uint64_t ptr)
{
	(void)ptr;
	BEGIN(D_cuMemFree_v2);
	END(OK);
}

API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	BEGIN(D_cuMemGetInfo_v2);
	NEED(free_bytes && total, ERR_VALUE);
	pthread_mutex_lock(&memory_lock);
	*total = fg_device_memory();
	*free_bytes = *total - used;
	pthread_mutex_unlock(&memory_lock);
	END(OK);
}

API int cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	(void)flags;
	BEGIN(D_cuMemHostAlloc_v2);
	NEED(ptr && bytes, ERR_VALUE);
	struct pinned *p = calloc(1, sizeof *p);
	NEED(p && (p->start = malloc(bytes)), ERR_MEMORY);
	p->size = bytes;
	pthread_mutex_lock(&memory_lock);
	p->next = pinned;
	pinned = p;
	pthread_mutex_unlock(&memory_lock);
	*ptr = p->start;
	END(OK);
}

API int cuMemFreeHost(void *ptr)
{
	BEGIN(D_cuMemFreeHost);
	struct pinned *found = NULL;
	pthread_mutex_lock(&memory_lock);
	for (struct pinned **q = &pinned; *q; q = &(*q)->next)
		if ((*q)->start == ptr) {
			found = *q;
			*q = found->next;
			break;
		}
	pthread_mutex_unlock(&memory_lock);
	NEED(found, ERR_VALUE);
	free(found->start);
	free(found);
	END(OK);
}

static int copy(struct fg_api *a, int kind, const void *host, size_t bytes, void *stream, int async)
{
	struct stream *s = stream_of(stream);
	if (!s)
		return ERR_CONTEXT;
	int mem = host ? memory_kind(host) : FG_DEVICE_MEMORY;
	struct fg_work w = {
		.kind = FG_COPY, .copy_kind = (uint8_t)kind, .bytes = bytes, .async = (uint8_t)async,
		.src_kind = (uint8_t)(kind == FG_HTOD ? mem : FG_DEVICE_MEMORY),
		.dst_kind = (uint8_t)(kind == FG_DTOH ? mem : FG_DEVICE_MEMORY)};
	sim_submit(a, s, &w);
	if (!async)
		sleep_until(w.end);
	return OK;
}

API int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream)
{
	(void)dst;
	BEGIN(D_cuMemcpyHtoDAsync_v2);
	NEED(src, ERR_VALUE);
	END(copy(&a_, FG_HTOD, src, bytes, stream, 1));
}

API int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, void *stream)
{
	(void)src;
	BEGIN(D_cuMemcpyDtoHAsync_v2);
	NEED(dst, ERR_VALUE);
	END(copy(&a_, FG_DTOH, dst, bytes, stream, 1));
}

API int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t bytes, void *stream)
{
	(void)dst;
	(void)src;
	BEGIN(D_cuMemcpyDtoDAsync_v2);
	END(copy(&a_, FG_DTOD, NULL, bytes, stream, 1));
}

API int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	(void)dst;
	BEGIN(D_cuMemcpyHtoD_v2);
	NEED(src, ERR_VALUE);
	END(copy(&a_, FG_HTOD, src, bytes, NULL, 0));
}

API int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes)
{
	(void)src;
	BEGIN(D_cuMemcpyDtoH_v2);
	NEED(dst, ERR_VALUE);
	END(copy(&a_, FG_DTOH, dst, bytes, NULL, 0));
}

API int cuMemcpyPeerAsync(uint64_t dst, void *dst_ctx, uint64_t src, void *src_ctx, size_t bytes, void *stream)
{
	(void)dst;
	(void)src;
	BEGIN(D_cuMemcpyPeerAsync);
	struct stream *s = stream_of(stream);
	NEED(s, ERR_CONTEXT);
	struct fg_work w = {.kind = FG_PEER_COPY, .copy_kind = FG_PTOP, .src_kind = FG_DEVICE_MEMORY,
			    .dst_kind = FG_DEVICE_MEMORY, .bytes = bytes, .async = 1};
	NEED(dst_ctx && src_ctx, ERR_CONTEXT);
	NEED(fg_context_ids(src_ctx, &w.src_context, &w.src_device) == 0, ERR_CONTEXT);
	NEED(fg_context_ids(dst_ctx, &w.dst_context, &w.dst_device) == 0, ERR_CONTEXT);
	sim_submit(&a_, s, &w);
	END(OK);
}

static int set(struct fg_api *a, unsigned char value, size_t bytes, void *stream, int async)
{
	struct stream *s = stream_of(stream);
	if (!s)
		return ERR_CONTEXT;
	struct fg_work w = {.kind = FG_SET, .value = value, .bytes = bytes, .dst_kind = FG_DEVICE_MEMORY, .async = (uint8_t)async};
	sim_submit(a, s, &w);
	return OK;
}

API int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t n, void *stream)
{
	(void)dst;
	BEGIN(D_cuMemsetD8Async);
	END(set(&a_, value, n, stream, 1));
}

API int cuMemsetD8_v2(uint64_t dst, unsigned char value, size_t n)
{
	(void)dst;
	BEGIN(D_cuMemsetD8_v2);
	END(set(&a_, value, n, NULL, 0));
}
