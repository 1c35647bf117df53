/* Version, names, ids and checks. */
#include "cupti.h"

API int cuptiGetVersion(uint32_t *version)
{
	int r = entry(__func__, -1, 1);
	if (r || !version)
		return r ? r : INVALID_PARAMETER;
	*version = quirk.version;
	return SUCCESS;
}

static const struct { int n; const char *name; } results[] = {
	{0, "CUPTI_SUCCESS"}, {1, "CUPTI_ERROR_INVALID_PARAMETER"}, {3, "CUPTI_ERROR_INVALID_CONTEXT"},
	{7, "CUPTI_ERROR_INVALID_OPERATION"}, {8, "CUPTI_ERROR_OUT_OF_MEMORY"},
	{10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"}, {12, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
	{14, "CUPTI_ERROR_NOT_COMPATIBLE"}, {15, "CUPTI_ERROR_NOT_INITIALIZED"},
	{18, "CUPTI_ERROR_QUEUE_EMPTY"}, {21, "CUPTI_ERROR_INVALID_KIND"},
	{27, "CUPTI_ERROR_NOT_SUPPORTED"}, {33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED"},
	{35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}, {38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED"},
	{39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"}, {999, "CUPTI_ERROR_UNKNOWN"}};

API int cuptiGetResultString(int result, const char **s)
{
	if (!s)
		return INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		if (results[i].n == result) {
			*s = results[i].name;
			return SUCCESS;
		}
	*s = NULL;
	return INVALID_PARAMETER;
}

API int cuptiGetErrorMessage(int result, const char **s)
{
	static __thread char text[128];
	const char *name;
	int r = cuptiGetResultString(result, &name);
	if (r != SUCCESS)
		return r;
	snprintf(text, sizeof text, "look-alike library: result %d (%s)", result, name);
	*s = text;
	return SUCCESS;
}

API int cuptiGetLastError(void) { return SUCCESS; }

API int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	ENTRY(cbid);
	if (!name)
		return INVALID_PARAMETER;
	*name = callback_name(domain, cbid);
	return *name ? SUCCESS : INVALID_PARAMETER;
}

API int cuptiGetContextId(void *ctx, uint32_t *id)
{
	ENTRY(-1);
	uint32_t device;
	if (!id)
		return INVALID_PARAMETER;
	return fg_context_ids(ctx, id, &device) == 0 ? SUCCESS : 3;
}

API int cuptiGetDeviceId(void *ctx, uint32_t *device)
{
	ENTRY(-1);
	uint32_t id;
	if (!device)
		return INVALID_PARAMETER;
	return fg_context_ids(ctx, &id, device) == 0 ? SUCCESS : 3;
}

API int cuptiGetStreamIdEx(void *ctx, void *stream, uint8_t per_thread_stream, uint32_t *id)
{
	(void)per_thread_stream;
	ENTRY(-1);
	if (!id)
		return INVALID_PARAMETER;
	return fg_stream_id(ctx, stream, id) == 0 ? SUCCESS : 3;
}

API int cuptiComputeCapabilitySupported(int major, int minor, int *supported)
{
	(void)minor;
	ENTRY(major);
	if (!supported)
		return INVALID_PARAMETER;
	*supported = quirk.supported && major >= 5;
	return SUCCESS;
}

API int cuptiDeviceSupported(int device, int *supported)
{
	ENTRY(device);
	if (!supported)
		return INVALID_PARAMETER;
	*supported = quirk.supported;
	return SUCCESS;
}

API int cuptiDeviceVirtualizationMode(int device, uint32_t *mode)
{
	ENTRY(device);
	if (!mode)
		return INVALID_PARAMETER;
	*mode = 0;
	return SUCCESS;
}

API int cuptiFinalize(void)
{
	ENTRY(-1);
	set_callbacks(NULL, NULL);
	return SUCCESS;
}
