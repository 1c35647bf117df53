/* libmcpti.so as far as its users show it: both families of names, callback ids of its
 * own, an iterator that cannot be trusted, and names that cannot be asked for while a
 * buffer is handed over. */
#include "../alike/alike.h"

const struct vendor vendor = {
	.prefix = "FAKEMCPTI", .kernel = KERNEL8, .copy = COPY5, .end = MAX_LIMIT, .own_kind = 61,
	.cbid = {[OP_MALLOC] = 107, [OP_FREE] = 108, [OP_GET_DEVICE] = 19, [OP_STREAM_SYNC] = 46, [OP_DEVICE_SYNC] = 18, [OP_MEMCPY_ASYNC] = 119,
		[OP_MEMSET_ASYNC] = 147, [OP_LAUNCH] = 56, [OP_GRAPH] = 301, [OP_BEGIN_CAPTURE] = 302, [OP_END_CAPTURE] = 303},
};

#define BOTH(name, parameters, arguments) \
	API int cupti##name parameters { return mcpti_##name arguments; } \
	API int mcpti##name parameters { return mcpti_##name arguments; }

static int mcpti_GetVersion(uint32_t *v) { MAY_FAIL("GetVersion", -1); *v = 18; return OK; }
static int mcpti_GetTimestamp(uint64_t *t) { MAY_FAIL("GetTimestamp", -1); *t = alike_now(); return OK; }
static int mcpti_SetThreadIdType(uint32_t type) { MAY_FAIL("SetThreadIdType", type); return type <= 1 ? OK : INVALID_PARAMETER; }
static int mcpti_ActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n) { (void)context, (void)stream; MAY_FAIL("ActivityGetNumDroppedRecords", -1); *n = 0; return OK; }

BOTH(GetVersion, (uint32_t *v), (v))
BOTH(GetTimestamp, (uint64_t *t), (t))
BOTH(SetThreadIdType, (uint32_t type), (type))
BOTH(ActivityGetNumDroppedRecords, (void *c, uint32_t s, size_t *n), (c, s, n))
#define mcpti_ActivityRegisterCallbacks alike_register
BOTH(ActivityRegisterCallbacks, (request_fn r, complete_fn c), (r, c))
static int mcpti_ActivityEnable(uint32_t kind) { return alike_enable(kind, 1); }
static int mcpti_ActivityDisable(uint32_t kind) { return alike_enable(kind, 0); }
BOTH(ActivityEnable, (uint32_t kind), (kind))
BOTH(ActivityDisable, (uint32_t kind), (kind))
#define mcpti_ActivityFlushAll alike_flush
BOTH(ActivityFlushAll, (uint32_t flag), (flag))
#define mcpti_ActivityGetNextRecord alike_next
BOTH(ActivityGetNextRecord, (uint8_t *b, size_t valid, uint8_t **r), (b, valid, r))
#define mcpti_ActivityPushExternalCorrelationId alike_push
#define mcpti_ActivityPopExternalCorrelationId alike_pop
BOTH(ActivityPushExternalCorrelationId, (uint32_t kind, uint64_t id), (kind, id))
BOTH(ActivityPopExternalCorrelationId, (uint32_t kind, uint64_t *last), (kind, last))

API int mcptiActivityGetApiName(uint32_t kind, uint32_t cbid, const char **name)
{
	static const struct { uint32_t id; const char *name; } names[] = {{18, "mcDeviceSynchronize"}, {19, "mcGetDevice"}, {46, "mcStreamSynchronize"},
		{56, "mcLaunchKernel"}, {107, "mcMalloc"}, {108, "mcFree"}, {119, "mcMemcpyAsync"}, {147, "mcMemsetAsync"}, {301, "mcGraphLaunch"}, {302, "mcStreamBeginCapture"}, {303, "mcStreamEndCapture"}};
	alike_lock(); /* held while a buffer is handed over */
	alike_log("name", cbid);
	int found = 0;
	for (size_t i = 0; kind == RUNTIME && !sw.no_names && i < sizeof names / sizeof *names && !found; i++)
		if ((found = names[i].id == cbid))
			*name = names[i].name;
	alike_unlock();
	return found ? OK : INVALID_PARAMETER;
}
