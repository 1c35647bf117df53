/* Record layouts as data: where a field is, and how long a record of a kind is
 * in a version of the library. Within the versions covered, newer revisions of
 * a record only append fields, so one offset a field is enough; a field beyond
 * the end of the record in force is not written. */
#ifndef FAKECUPTI_LAYOUT_H
#define FAKECUPTI_LAYOUT_H

#include <stdint.h>

enum kind {
	MEMCPY = 1, MEMSET = 2, KERNEL = 3, DRIVER = 4, RUNTIME = 5, DEVICE = 8, CONTEXT = 9,
	CONCURRENT_KERNEL = 10, NAME = 11, MARKER = 12, MARKER_DATA = 13, OVERHEAD = 17,
	ENVIRONMENT = 20, MEMCPY2 = 22, UNIFIED_MEMORY_COUNTER = 25, FUNCTION = 26, MODULE = 27,
	CUDA_EVENT = 36, STREAM = 37, SYNCHRONIZATION = 38, EXTERNAL_CORRELATION = 39, MEMORY = 45,
	INTERNAL_LAUNCH_API = 48, MEMORY2 = 49, MEMORY_POOL = 50, GRAPH_TRACE = 51, JIT = 52,
	DEVICE_GRAPH_TRACE = 53, MEM_DECOMPRESS = 54, CONFIDENTIAL_COMPUTE_ROTATION = 55, MAX_KIND = 64
};

enum { MAX_RECORD = 1024 };

enum kernel_offset {
	KERNEL_cacheConfig = 4, KERNEL_sharedMemoryConfig = 5, KERNEL_registersPerThread = 6,
	KERNEL_partitionedGlobalCacheRequested = 8, KERNEL_partitionedGlobalCacheExecuted = 12,
	KERNEL_start = 16, KERNEL_end = 24, KERNEL_completed = 32, KERNEL_deviceId = 40,
	KERNEL_contextId = 44, KERNEL_streamId = 48, KERNEL_gridX = 52, KERNEL_gridY = 56,
	KERNEL_gridZ = 60, KERNEL_blockX = 64, KERNEL_blockY = 68, KERNEL_blockZ = 72,
	KERNEL_staticSharedMemory = 76, KERNEL_dynamicSharedMemory = 80,
	KERNEL_localMemoryPerThread = 84, KERNEL_localMemoryTotal = 88, KERNEL_correlationId = 92,
	KERNEL_gridId = 96, KERNEL_name = 104, KERNEL_queued = 120, KERNEL_submitted = 128,
	KERNEL_launchType = 136, KERNEL_sharedMemoryExecuted = 140, KERNEL_graphNodeId = 144,
	KERNEL_shmemLimitConfig = 152, KERNEL_graphId = 156, KERNEL_channelID = 168,
	KERNEL_channelType = 172, KERNEL_clusterX = 176, KERNEL_clusterY = 180,
	KERNEL_clusterZ = 184, KERNEL_localMemoryTotal_v2 = 192,
	KERNEL_maxPotentialClusterSize = 200, KERNEL_isDeviceLaunched = 208, KERNEL_known = 240
};

enum memcpy_offset {
	MEMCPY_copyKind = 4, MEMCPY_srcKind = 5, MEMCPY_dstKind = 6, MEMCPY_flags = 7,
	MEMCPY_bytes = 8, MEMCPY_start = 16, MEMCPY_end = 24, MEMCPY_deviceId = 32,
	MEMCPY_contextId = 36, MEMCPY_streamId = 40, MEMCPY_correlationId = 44,
	MEMCPY_graphNodeId = 64, MEMCPY_graphId = 72, MEMCPY_channelID = 76,
	MEMCPY_channelType = 80, MEMCPY_copyCount = 88
};

/* Up to streamId the same as memcpy. */
enum memcpy2_offset {
	MEMCPY2_srcDeviceId = 44, MEMCPY2_srcContextId = 48, MEMCPY2_dstDeviceId = 52,
	MEMCPY2_dstContextId = 56, MEMCPY2_correlationId = 60, MEMCPY2_graphNodeId = 72,
	MEMCPY2_graphId = 80, MEMCPY2_channelID = 84, MEMCPY2_channelType = 88
};

enum memset_offset {
	MEMSET_value = 4, MEMSET_bytes = 8, MEMSET_start = 16, MEMSET_end = 24,
	MEMSET_deviceId = 32, MEMSET_contextId = 36, MEMSET_streamId = 40,
	MEMSET_correlationId = 44, MEMSET_flags = 48, MEMSET_memoryKind = 50,
	MEMSET_graphNodeId = 64, MEMSET_graphId = 72, MEMSET_channelID = 76, MEMSET_channelType = 80
};

enum api_offset {
	API_cbid = 4, API_start = 8, API_end = 16, API_processId = 24, API_threadId = 28,
	API_correlationId = 32, API_returnValue = 36
};

enum external_offset { EXTERNAL_externalKind = 4, EXTERNAL_externalId = 8, EXTERNAL_correlationId = 16 };

enum sync_offset {
	SYNC_type = 4, SYNC_start = 8, SYNC_end = 16, SYNC_correlationId = 24, SYNC_contextId = 28,
	SYNC_streamId = 32, SYNC_cudaEventId = 36, SYNC_cudaEventSyncId = 40, SYNC_returnValue = 48
};

enum overhead_offset {
	OVERHEAD_overheadKind = 4, OVERHEAD_objectKind = 8, OVERHEAD_objectId = 12,
	OVERHEAD_start = 24, OVERHEAD_end = 32, OVERHEAD_correlationId = 40
};

enum marker_offset {
	MARKER_flags = 4, MARKER_timestamp = 8, MARKER_id = 16, MARKER_objectKind = 20,
	MARKER_objectId = 24, MARKER_name = 40, MARKER_domain = 48
};

enum event_offset {
	EVENT_correlationId = 4, EVENT_contextId = 8, EVENT_streamId = 12, EVENT_eventId = 16,
	EVENT_deviceId = 24, EVENT_deviceTimestamp = 40, EVENT_cudaEventSyncId = 48
};

enum device_offset {
	DEVICE_flags = 4, DEVICE_globalMemoryBandwidth = 8, DEVICE_globalMemorySize = 16,
	DEVICE_constantMemorySize = 24, DEVICE_l2CacheSize = 28, DEVICE_numThreadsPerWarp = 32,
	DEVICE_coreClockRate = 36, DEVICE_numMemcpyEngines = 40, DEVICE_numMultiprocessors = 44,
	DEVICE_maxWarpsPerMultiprocessor = 52, DEVICE_maxBlocksPerMultiprocessor = 56,
	DEVICE_maxSharedMemoryPerMultiprocessor = 60, DEVICE_maxRegistersPerMultiprocessor = 64,
	DEVICE_maxRegistersPerBlock = 68, DEVICE_maxSharedMemoryPerBlock = 72,
	DEVICE_maxThreadsPerBlock = 76, DEVICE_maxBlockDimX = 80, DEVICE_maxBlockDimY = 84,
	DEVICE_maxBlockDimZ = 88, DEVICE_maxGridDimX = 92, DEVICE_maxGridDimY = 96,
	DEVICE_maxGridDimZ = 100, DEVICE_computeCapabilityMajor = 104,
	DEVICE_computeCapabilityMinor = 108, DEVICE_id = 112, DEVICE_eccEnabled = 116,
	DEVICE_uuid = 120, DEVICE_name = 136, DEVICE_isCudaVisible = 144
};

enum context_offset {
	CONTEXT_contextId = 4, CONTEXT_deviceId = 8, CONTEXT_computeApiKind = 12,
	CONTEXT_nullStreamId = 14, CONTEXT_parentContextId = 16, CONTEXT_numMultiprocessors = 22
};

enum stream_offset {
	STREAM_contextId = 4, STREAM_streamId = 8, STREAM_priority = 12, STREAM_flag = 16,
	STREAM_correlationId = 20
};

/* layout_size: bytes of a record in force (the layout version plus overrides),
 * 0 for a kind this library does not know. */
uint32_t layout_size(uint32_t kind);
/* layout_init fixes the sizes for the rest of the process. */
void layout_init(uint32_t version);

#endif
