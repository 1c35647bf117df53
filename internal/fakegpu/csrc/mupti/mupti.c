/* libmupti.so as far as its users show it: CUPTI's functions and records by other
 * names, records of any length, calls of its own from 480 on. */
#include "../alike/alike.h"

const struct vendor vendor = {
	.prefix = "FAKEMUPTI", .kernel = KERNEL6, .copy = COPY4, .end = MAX_LIMIT, .own_kind = 61, .waits = 1, .handles = 1,
	.cbid = {[OP_MALLOC] = 20, [OP_FREE] = 22, [OP_GET_DEVICE] = 482, [OP_STREAM_SYNC] = 131, [OP_DEVICE_SYNC] = 165, [OP_MEMCPY_ASYNC] = 41,
		[OP_MEMSET_ASYNC] = 51, [OP_LAUNCH] = 211, [OP_GRAPH] = 311, [OP_BEGIN_CAPTURE] = 315, [OP_END_CAPTURE] = 319},
};

API int muptiGetVersion(uint32_t *v) { MAY_FAIL("GetVersion", -1); *v = 14; return OK; }
API int muptiGetTimestamp(uint64_t *t) { MAY_FAIL("GetTimestamp", -1); *t = alike_now(); return OK; }
API int muptiActivityRegisterCallbacks(request_fn r, complete_fn c) { return alike_register(r, c); }
API int muptiActivityEnable(uint32_t kind) { return alike_enable(kind, 1); }
API int muptiActivityDisable(uint32_t kind) { return alike_enable(kind, 0); }
API int muptiActivityFlushAll(uint32_t flag) { return alike_flush(flag); }
API int muptiActivityGetNextRecord(uint8_t *b, size_t valid, uint8_t **r) { return alike_next(b, valid, r); }
API int muptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) { return alike_push(kind, id); }
API int muptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) { return alike_pop(kind, last); }

API int muptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context, (void)stream;
	MAY_FAIL("ActivityGetNumDroppedRecords", -1);
	*n = 0;
	return OK;
}

API int muptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	static const struct { uint32_t id; const char *name; } names[] = {{20, "musaMalloc_v3020"}, {22, "musaFree_v3020"}, {41, "musaMemcpyAsync_v3020"},
		{51, "musaMemsetAsync_v3020"}, {131, "musaStreamSynchronize_v3020"}, {165, "musaDeviceSynchronize_v3020"}, {211, "musaLaunchKernel_v7000"},
		{311, "musaGraphLaunch_v10000"}, {315, "musaStreamBeginCapture_v10000"}, {319, "musaStreamEndCapture_v10000"}, {482, "musaLookalikeOwnCall_v4030"}};
	for (size_t i = 0; domain == 2 && !sw.no_names && i < sizeof names / sizeof *names; i++)
		if (names[i].id == cbid) {
			*name = names[i].name;
			return OK;
		}
	return INVALID_PARAMETER;
}
