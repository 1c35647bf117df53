/* Records of synchronisation, events, devices, contexts and streams. */
#include "cupti.h"

void emit_sync(const struct fg_api *a, const struct fg_sync *s)
{
	struct record r;
	record_init(&r, SYNCHRONIZATION);
	put32(&r, SYNC_type, s->type);
	uint64_t times[] = {s->start, s->end};
	clock_convert(times, 2);
	put64(&r, SYNC_start, times[0]);
	put64(&r, SYNC_end, times[1]);
	put32(&r, SYNC_correlationId, a->correlation);
	put32(&r, SYNC_contextId, s->context);
	put32(&r, SYNC_streamId, s->stream);
	put32(&r, SYNC_cudaEventId, s->event);
	put64(&r, SYNC_cudaEventSyncId, s->sync_id);
	put32(&r, SYNC_returnValue, (uint32_t)s->result);
	emit(&r, a->correlation);
}

void emit_event(const struct fg_api *a, const struct fg_event_note *e)
{
	struct record r;
	record_init(&r, CUDA_EVENT);
	put32(&r, EVENT_correlationId, a->correlation);
	put32(&r, EVENT_contextId, e->context);
	put32(&r, EVENT_streamId, e->stream);
	put32(&r, EVENT_eventId, e->event);
	put32(&r, EVENT_deviceId, e->device);
	/* 12.8 fills the device time unasked, 13.0 when it was switched on. */
	if (quirk.version < 130000 || event_timestamps()) {
		uint64_t time = e->time;
		clock_convert(&time, 1);
		put64(&r, EVENT_deviceTimestamp, time);
	}
	put64(&r, EVENT_cudaEventSyncId, e->sync_id);
	emit(&r, a->correlation);
}

/* Attribute numbers of the values that a device record repeats. */
static const struct { uint32_t offset; int attribute; } device_fields[] = {
	{DEVICE_constantMemorySize, 9}, {DEVICE_l2CacheSize, 38}, {DEVICE_numThreadsPerWarp, 10},
	{DEVICE_coreClockRate, 13}, {DEVICE_numMemcpyEngines, 40}, {DEVICE_numMultiprocessors, 16},
	{DEVICE_maxBlocksPerMultiprocessor, 106}, {DEVICE_maxSharedMemoryPerMultiprocessor, 81},
	{DEVICE_maxRegistersPerMultiprocessor, 82}, {DEVICE_maxRegistersPerBlock, 12},
	{DEVICE_maxSharedMemoryPerBlock, 8}, {DEVICE_maxThreadsPerBlock, 1},
	{DEVICE_maxBlockDimX, 2}, {DEVICE_maxBlockDimY, 3}, {DEVICE_maxBlockDimZ, 4},
	{DEVICE_maxGridDimX, 5}, {DEVICE_maxGridDimY, 6}, {DEVICE_maxGridDimZ, 7},
	{DEVICE_computeCapabilityMajor, 75}, {DEVICE_computeCapabilityMinor, 76}, {DEVICE_eccEnabled, 32},
};

void emit_device(int device)
{
	struct record r;
	record_init(&r, DEVICE);
	for (size_t i = 0; i < sizeof device_fields / sizeof *device_fields; i++)
		put32(&r, device_fields[i].offset, (uint32_t)fg_device_attribute(device, device_fields[i].attribute));
	/* kB/s: twice the memory clock (kHz) times the bus (bits). */
	put64(&r, DEVICE_globalMemoryBandwidth, 2ull * (uint64_t)fg_device_attribute(device, 36) * (uint64_t)fg_device_attribute(device, 37) / 8);
	put64(&r, DEVICE_globalMemorySize, fg_device_memory());
	put32(&r, DEVICE_maxWarpsPerMultiprocessor, (uint32_t)fg_device_attribute(device, 39) / 32);
	put32(&r, DEVICE_id, (uint32_t)device);
	fg_device_uuid(device, r.b + DEVICE_uuid);
	put64(&r, DEVICE_name, (uint64_t)(uintptr_t)fg_device_name());
	put8(&r, DEVICE_isCudaVisible, 1);
	emit(&r, 0);
}

void emit_context(const struct fg_context_note *c)
{
	struct record r;
	record_init(&r, CONTEXT);
	put32(&r, CONTEXT_contextId, c->id);
	put32(&r, CONTEXT_deviceId, c->device);
	put16(&r, CONTEXT_computeApiKind, 1); /* CUDA */
	put16(&r, CONTEXT_nullStreamId, 7);
	put32(&r, CONTEXT_parentContextId, FG_NO_ID);
	put16(&r, CONTEXT_numMultiprocessors, (uint16_t)fg_device_attribute((int)c->device, 16));
	emit(&r, 0);
}

void emit_stream(const struct fg_api *a, const struct fg_stream_note *s)
{
	struct record r;
	record_init(&r, STREAM);
	put32(&r, STREAM_contextId, s->context);
	put32(&r, STREAM_streamId, s->stream);
	put32(&r, STREAM_priority, s->priority);
	put32(&r, STREAM_flag, s->flag);
	put32(&r, STREAM_correlationId, a ? a->correlation : 0);
	emit(&r, a ? a->correlation : 0);
}
