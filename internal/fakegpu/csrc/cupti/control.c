/* What is recorded: kinds, lists of API functions, options. */
#include "cupti.h"

enum { MAX_CBID = 1024 };
enum { BY_KIND, WANTED, UNWANTED };

static uint8_t enabled[MAX_KIND];
static uint8_t lists[3][MAX_CBID]; /* by domain and cbid */
static int sync_records = 1, timestamps, thread_type;

void dump_objects(uint32_t kind);

int kind_enabled(uint32_t kind) { return kind < MAX_KIND && __atomic_load_n(&enabled[kind], __ATOMIC_RELAXED); }
int all_sync_records(void) { return sync_records; }
int event_timestamps(void) { return timestamps; }
int system_thread_ids(void) { return thread_type; }

int api_wanted(enum fg_domain d, uint32_t cbid)
{
	int state = cbid < MAX_CBID ? __atomic_load_n(&lists[d][cbid], __ATOMIC_RELAXED) : BY_KIND;
	if (state != BY_KIND)
		return state == WANTED;
	return kind_enabled(d == FG_DRIVER ? DRIVER : RUNTIME);
}

/* Kinds of the profiling interfaces that 13.0 took away. */
static int legacy(uint32_t kind)
{
	static const uint8_t kinds[] = {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44};
	for (size_t i = 0; i < sizeof kinds; i++)
		if (kinds[i] == kind)
			return 1;
	return 0;
}

static int known(uint32_t kind)
{
	if (kind == 0 || kind >= (quirk.version >= 130000 ? 56u : 55u))
		return INVALID_KIND;
	return legacy(kind) && quirk.version >= 130000 ? LEGACY_NOT_SUPPORTED : SUCCESS;
}

/* Switching a kind on or off overrides the lists made before. */
static int set_kind(uint32_t kind, int on)
{
	int r = known(kind);
	if (r == SUCCESS)
		r = attach();
	if (r != SUCCESS)
		return r;
	if (kind == DRIVER || kind == RUNTIME)
		memset(lists[kind == DRIVER ? FG_DRIVER : FG_RUNTIME], BY_KIND, MAX_CBID);
	if (kind == KERNEL)
		kind = CONCURRENT_KERNEL;
	__atomic_store_n(&enabled[kind], (uint8_t)on, __ATOMIC_RELAXED);
	if (kind == MEMCPY)
		__atomic_store_n(&enabled[MEMCPY2], (uint8_t)on, __ATOMIC_RELAXED);
	return SUCCESS;
}

API int cuptiActivityEnable(uint32_t kind)
{
	ENTRY(kind);
	return set_kind(kind, 1);
}

API int cuptiActivityDisable(uint32_t kind)
{
	ENTRY(kind);
	return set_kind(kind, 0);
}

API int cuptiActivityEnableAndDump(uint32_t kind)
{
	ENTRY(kind);
	int r = set_kind(kind, 1);
	if (r == SUCCESS && !playing())
		dump_objects(kind);
	return r;
}

API int cuptiActivityEnableContext(void *ctx, uint32_t kind)
{
	ENTRY(kind);
	return ctx ? set_kind(kind, 1) : 3;
}

API int cuptiActivityDisableContext(void *ctx, uint32_t kind)
{
	ENTRY(kind);
	return ctx ? set_kind(kind, 0) : 3;
}

static int set_list(enum fg_domain d, uint32_t cbid, uint8_t on)
{
	if (cbid == 0 || cbid >= MAX_CBID)
		return INVALID_PARAMETER;
	int r = attach();
	if (r == SUCCESS)
		__atomic_store_n(&lists[d][cbid], (uint8_t)(on ? WANTED : UNWANTED), __ATOMIC_RELAXED);
	return r;
}

API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t on)
{
	ENTRY(cbid);
	return set_list(FG_RUNTIME, cbid, on);
}

API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
	ENTRY(cbid);
	return set_list(FG_DRIVER, cbid, on);
}

API int cuptiActivityEnableAllSyncRecords(uint8_t on)
{
	ENTRY(on);
	sync_records = on != 0;
	return SUCCESS;
}

API int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t on)
{
	ENTRY(on);
	timestamps = on != 0;
	return SUCCESS;
}

API int cuptiActivityEnableLatencyTimestamps(uint8_t on)
{
	ENTRY(on);
	return SUCCESS;
}

API int cuptiActivityEnableLaunchAttributes(uint8_t on)
{
	ENTRY(on);
	return SUCCESS;
}

API int cuptiActivityEnableAllocationSource(uint8_t on)
{
	ENTRY(on);
	return SUCCESS;
}

API int cuptiActivityEnableHWTrace(uint8_t on)
{
	ENTRY(on);
	return on ? NOT_SUPPORTED : SUCCESS; /* not on this generation */
}

API int cuptiSetThreadIdType(uint32_t type)
{
	ENTRY(type);
	if (type > 1)
		return INVALID_PARAMETER;
	thread_type = (int)type;
	return SUCCESS;
}

API int cuptiGetThreadIdType(uint32_t *type)
{
	ENTRY(-1);
	if (!type)
		return INVALID_PARAMETER;
	*type = (uint32_t)thread_type;
	return SUCCESS;
}
