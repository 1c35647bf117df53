/* The PPU SDK's libcupti.so as far as its users show it: CUDA's numbers, results of its
 * own, one kind of kernel records at a time, no fills. */
#include "../alike/alike.h"

const struct vendor vendor = {
	.prefix = "FAKEPPU", .kernel = KERNEL9, .copy = COPY5, .end = 6, .end_is_null = 1, .one_kernel_kind = 1, .no_fills = 1, .own_kind = 61,
	.cbid = {[OP_MALLOC] = 20, [OP_FREE] = 22, [OP_GET_DEVICE] = 17, [OP_STREAM_SYNC] = 131, [OP_DEVICE_SYNC] = 165, [OP_MEMCPY_ASYNC] = 41,
		[OP_MEMSET_ASYNC] = 51, [OP_LAUNCH] = 211, [OP_GRAPH] = 311, [OP_BEGIN_CAPTURE] = 315, [OP_END_CAPTURE] = 319},
};

API int cuptiGetVersion(uint32_t *v) { MAY_FAIL("GetVersion", -1); *v = 130000; return OK; }
API int cuptiGetTimestamp(uint64_t *t) { MAY_FAIL("GetTimestamp", -1); *t = alike_now(); return OK; }
API int cuptiSetThreadIdType(uint32_t type) { MAY_FAIL("SetThreadIdType", type); return type <= 1 ? OK : INVALID_PARAMETER; }
API int cuptiActivityRegisterCallbacks(request_fn r, complete_fn c) { return alike_register(r, c); }
API int cuptiActivityEnable(uint32_t kind) { return alike_enable(kind, 1); }
API int cuptiActivityDisable(uint32_t kind) { return alike_enable(kind, 0); }
API int cuptiActivityFlushAll(uint32_t flag) { return alike_flush(flag); }
API int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, uint8_t **r) { return alike_next(b, valid, r); }
API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) { return alike_push(kind, id); }
API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) { return alike_pop(kind, last); }
