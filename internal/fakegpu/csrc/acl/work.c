/* The calls that give the device something to do: kernels, operators, collectives,
 * copies, fills, graphs. Nothing is computed and no byte is moved. */
#include <stdlib.h>

#include "acl.h"

enum { MAX_NODES = 64 };

struct graph {
	struct fa_task tasks[MAX_NODES];
	uint64_t ns[MAX_NODES];
	uint32_t n;
};

static uint64_t take_id(int node)
{
	const struct fa_observer *o = fa_observer();
	return o ? o->launch(node) : 0;
}

void fa_enqueue(struct stream *s, struct fa_task *t, uint64_t ns, int node)
{
	t->correlation = take_id(node);
	if (s->capture) {
		if (s->capture->n < MAX_NODES) {
			s->capture->ns[s->capture->n] = ns;
			s->capture->tasks[s->capture->n++] = *t;
		}
		return;
	}
	fa_run(s, t, ns);
}

/* A kernel's handle is its name. */
static void launch(const char *name, uint32_t blocks, struct stream *s, const char *type)
{
	CALL;
	struct fa_task t = {.name = name, .type = type};
	fa_enqueue(s, &t, 3000 + 150u * blocks, 0);
	REPORT(FA_RUNTIME, "rtKernelLaunchWithHandle");
}

API int aclrtLaunchKernel(void *kernel, uint32_t blocks, const void *args, size_t bytes, void *stream)
{
	(void)args;
	(void)bytes;
	if (!fa_have_device() || !kernel)
		return ACL_ERROR_NO_DEVICE;
	CALL;
	launch(kernel, blocks, fa_stream(stream), "KERNEL_AIVEC");
	REPORT(FA_ACL, "aclrtLaunchKernel");
	return ACL_SUCCESS;
}

/* An operator of the operator library: a row for it, one for the node that it
 * executes and one of the runtime, one within the other. */
API int aclnnMatmul(void *stream)
{
	if (!fa_have_device())
		return ACL_ERROR_NO_DEVICE;
	uint64_t outer = fa_now();
	{
		CALL;
		launch("MatMulV2_lookalike_mix_aic", 20, fa_stream(stream), "KERNEL_MIX_AIC");
		REPORT(FA_NODE, "NnopbaseExecuteKernel");
	}
	const struct fa_observer *o = fa_observer();
	if (o) { /* a call after the launch, which takes no id of its own */
		uint64_t began = fa_now();
		o->api(FA_RUNTIME, "rtGetTaskIdAndStreamID", began, fa_now());
	}
	if (o)
		o->api(FA_ACL, "aclnnMatmul", outer, fa_now());
	return ACL_SUCCESS;
}

static int collective(const char *api, const char *name, uint64_t count, uint32_t data_type, const char *comm, void *stream)
{
	if (!fa_have_device())
		return ACL_ERROR_NO_DEVICE;
	CALL;
	struct fa_task t = {.name = name, .communicator = comm ? comm : "hccl_world_group", .algorithm = "MESH-RING",
			    .count = count, .bytes = 2 * count, .data_type = data_type};
	fa_enqueue(fa_stream(stream), &t, 20000 + count / 16, 1);
	REPORT(FA_ACL, api);
	return ACL_SUCCESS;
}

API int HcclAllReduce(void *send, void *recv, uint64_t count, uint32_t data_type, uint32_t op, void *comm, void *stream)
{
	(void)send;
	(void)recv;
	(void)op;
	return collective("HcclAllReduce", "hcom_allReduce__721_0_1", count, data_type, comm, stream);
}

API int HcclAllGather(void *send, void *recv, uint64_t count, uint32_t data_type, void *comm, void *stream)
{
	(void)send;
	(void)recv;
	return collective("HcclAllGather", "hcom_allGather__721_1_1", count, data_type, comm, stream);
}

API int aclrtMalloc(void **p, size_t bytes, int policy)
{
	(void)policy;
	CALL;
	*p = malloc(bytes ? bytes : 1);
	REPORT(FA_ACL, "aclrtMalloc");
	return *p ? ACL_SUCCESS : ACL_ERROR_INVALID;
}

API int aclrtFree(void *p)
{
	CALL;
	free(p);
	REPORT(FA_ACL, "aclrtFree");
	return ACL_SUCCESS;
}

static void copy(struct stream *s, uint64_t ns)
{
	struct fa_task t = {0}; /* copies are no tasks that are reported */
	fa_run(s, &t, ns);
}

API int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream)
{
	(void)dst;
	(void)src;
	(void)kind;
	if (bytes > room)
		return ACL_ERROR_INVALID;
	CALL;
	copy(fa_stream(stream), 2000 + bytes / 20);
	REPORT(FA_ACL, "aclrtMemcpyAsync");
	return ACL_SUCCESS;
}

API int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind)
{
	(void)dst;
	(void)src;
	(void)kind;
	if (bytes > room)
		return ACL_ERROR_INVALID;
	CALL;
	struct stream *s = fa_stream(NULL);
	copy(s, 2000 + bytes / 20);
	fa_wait(fa_busy_until(s));
	REPORT(FA_ACL, "aclrtMemcpy");
	return ACL_SUCCESS;
}

API int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream)
{
	(void)dst;
	(void)value;
	if (bytes > room)
		return ACL_ERROR_INVALID;
	CALL;
	copy(fa_stream(stream), 1000 + bytes / 100);
	REPORT(FA_ACL, "aclrtMemsetAsync");
	return ACL_SUCCESS;
}

API int aclmdlRICaptureBegin(void *stream, int mode)
{
	(void)mode;
	CALL;
	fa_stream(stream)->capture = calloc(1, sizeof(struct graph));
	REPORT(FA_ACL, "aclmdlRICaptureBegin");
	return ACL_SUCCESS;
}

API int aclmdlRICaptureEnd(void *stream, void **graph)
{
	CALL;
	*graph = fa_stream(stream)->capture;
	fa_stream(stream)->capture = NULL;
	REPORT(FA_ACL, "aclmdlRICaptureEnd");
	return *graph ? ACL_SUCCESS : ACL_ERROR_INVALID;
}

/* Every replay repeats the ids of the capture. */
API int aclmdlRIExecuteAsync(void *graph, void *stream)
{
	CALL;
	struct graph *g = graph;
	for (uint32_t i = 0; i < g->n; i++) {
		struct fa_task t = g->tasks[i];
		fa_run(fa_stream(stream), &t, g->ns[i]);
	}
	REPORT(FA_ACL, "aclmdlRIExecuteAsync");
	return ACL_SUCCESS;
}

/* Marks of the program, as mstx has them. */
static uint64_t next_range;

static void mark(uint32_t flag, uint64_t id, const char *name)
{
	const struct fa_observer *o = fa_observer();
	if (o)
		o->mark(flag, id, name, "default", fa_now());
}

API void mstxMarkA(const char *name, void *stream)
{
	(void)stream;
	mark(FA_INSTANT, __atomic_add_fetch(&next_range, 1, __ATOMIC_RELAXED), name);
}

API uint64_t mstxRangeStartA(const char *name, void *stream)
{
	(void)stream;
	uint64_t id = __atomic_add_fetch(&next_range, 1, __ATOMIC_RELAXED);
	mark(FA_BEGIN, id, name);
	return id;
}

API void mstxRangeEnd(uint64_t id) { mark(FA_END, id, NULL); }
