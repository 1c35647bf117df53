/* Memory calls, and collectives in their older kind, are recorded by standing in for the
 * calls: that takes place only where this library comes before the runtime in the program's
 * order of symbols. */
#include <dlfcn.h>
#include <unistd.h>

#include "mspti.h"

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);
	if (fn)
		return fn;
	void *acl = dlopen("libascendcl.so", RTLD_NOW | RTLD_NOLOAD);
	fn = acl ? dlsym(acl, name) : NULL;
	if (!fn)
		abort();
	return fn;
}

struct stream_head { uint32_t id; };

/* The calling thread's device, by the program's number. */
static uint32_t current_device(void)
{
	int32_t d = 0;
	return ((int (*)(int32_t *))next("aclrtGetDevice"))(&d) == 0 ? (uint32_t)d : NONE;
}

/* The times are those of the call, and the device has not begun. */
static void emit_copy(uint32_t copy, size_t bytes, uint64_t start, void *stream, int async, uint64_t id)
{
	struct rec_memcpy r = {.kind = MEMCPY, .copy = copy, .bytes = bytes, .start = start, .end = now(), .device = current_device(),
			       .stream = stream ? ((struct stream_head *)stream)->id : NONE, .correlation = id, .async = (uint8_t)async};
	emit(&r, sizeof r);
}

/* Directions as ACL numbers them (host to host first), to those of the records. */
static uint32_t direction(int kind) { return kind >= 0 && kind < 4 ? (uint32_t)kind + 1 : 0; }

API int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream)
{
	int (*real)(void *, size_t, const void *, size_t, int, void *) = (int (*)(void *, size_t, const void *, size_t, int, void *))next(__func__);
	if (!enabled(MEMCPY))
		return real(dst, room, src, bytes, kind, stream);
	uint64_t start = now(), id = take_correlation();
	int r = real(dst, room, src, bytes, kind, stream);
	emit_copy(direction(kind), bytes, start, stream, 1, id);
	return r;
}

API int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind)
{
	int (*real)(void *, size_t, const void *, size_t, int) = (int (*)(void *, size_t, const void *, size_t, int))next(__func__);
	if (!enabled(MEMCPY))
		return real(dst, room, src, bytes, kind);
	uint64_t start = now(), id = take_correlation();
	int r = real(dst, room, src, bytes, kind);
	emit_copy(direction(kind), bytes, start, NULL, 0, id);
	return r;
}

API int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream)
{
	int (*real)(void *, size_t, int32_t, size_t, void *) = (int (*)(void *, size_t, int32_t, size_t, void *))next(__func__);
	if (!enabled(MEMSET))
		return real(dst, room, value, bytes, stream);
	uint64_t start = now(), id = take_correlation();
	int rc = real(dst, room, value, bytes, stream);
	struct rec_memset r = {.kind = MEMSET, .value = (uint32_t)value, .bytes = bytes, .start = start, .end = now(), .device = current_device(),
			       .stream = stream ? ((struct stream_head *)stream)->id : NONE, .correlation = id, .async = 1};
	emit(&r, sizeof r);
	return rc;
}

API int aclrtMalloc(void **p, size_t bytes, int policy)
{
	int (*real)(void **, size_t, int) = (int (*)(void **, size_t, int))next(__func__);
	if (!enabled(MEMORY))
		return real(p, bytes, policy);
	uint64_t start = now(), id = take_correlation();
	int rc = real(p, bytes, policy);
	struct rec_memory r = {.kind = MEMORY, .op = 0, .memory = 1, .correlation = id, .start = start, .end = now(), .address = (uint64_t)(uintptr_t)*p,
			       .bytes = bytes, .pid = (uint32_t)getpid(), .device = current_device(), .stream = NONE};
	emit(&r, sizeof r);
	return rc;
}

static __thread int collectives; /* calls under way that came through here */

int within_collective(void) { return collectives > 0; }

API int HcclAllReduce(void *send, void *recv, uint64_t count, uint32_t data_type, uint32_t op, void *comm, void *stream)
{
	collectives++;
	int rc = ((int (*)(void *, void *, uint64_t, uint32_t, uint32_t, void *, void *))next(__func__))(send, recv, count, data_type, op, comm, stream);
	collectives--;
	return rc;
}

API int HcclAllGather(void *send, void *recv, uint64_t count, uint32_t data_type, void *comm, void *stream)
{
	collectives++;
	int rc = ((int (*)(void *, void *, uint64_t, uint32_t, void *, void *))next(__func__))(send, recv, count, data_type, comm, stream);
	collectives--;
	return rc;
}
