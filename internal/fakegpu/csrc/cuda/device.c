/* Device queries: every simulated device is an H200. */
#include "cuda.h"

static const char model[] = "NVIDIA H200";
static const uint64_t total_memory = 150109880320u;

/* CUdevice_attribute number, value. Clock rates in kHz, sizes in bytes. */
static const struct { int attribute, value; } attributes[] = {
	{1, 1024},         /* MAX_THREADS_PER_BLOCK */
	{2, 1024},         /* MAX_BLOCK_DIM_X */
	{3, 1024},         /* MAX_BLOCK_DIM_Y */
	{4, 64},           /* MAX_BLOCK_DIM_Z */
	{5, 2147483647},   /* MAX_GRID_DIM_X */
	{6, 65535},        /* MAX_GRID_DIM_Y */
	{7, 65535},        /* MAX_GRID_DIM_Z */
	{8, 49152},        /* MAX_SHARED_MEMORY_PER_BLOCK */
	{9, 65536},        /* TOTAL_CONSTANT_MEMORY */
	{10, 32},          /* WARP_SIZE */
	{11, 2147483647},  /* MAX_PITCH */
	{12, 65536},       /* MAX_REGISTERS_PER_BLOCK */
	{13, 1980000},     /* CLOCK_RATE */
	{16, 132},         /* MULTIPROCESSOR_COUNT */
	{31, 1},           /* CONCURRENT_KERNELS */
	{32, 1},           /* ECC_ENABLED */
	{36, 3201000},     /* MEMORY_CLOCK_RATE */
	{37, 6144},        /* GLOBAL_MEMORY_BUS_WIDTH, bits */
	{38, 62914560},    /* L2_CACHE_SIZE */
	{39, 2048},        /* MAX_THREADS_PER_MULTIPROCESSOR */
	{40, 3},           /* ASYNC_ENGINE_COUNT */
	{41, 1},           /* UNIFIED_ADDRESSING */
	{75, 9},           /* COMPUTE_CAPABILITY_MAJOR */
	{76, 0},           /* COMPUTE_CAPABILITY_MINOR */
	{78, 1},           /* STREAM_PRIORITIES_SUPPORTED */
	{81, 233472},      /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
	{82, 65536},       /* MAX_REGISTERS_PER_MULTIPROCESSOR */
	{83, 1},           /* MANAGED_MEMORY */
	{97, 232448},      /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
	{106, 32},         /* MAX_BLOCKS_PER_MULTIPROCESSOR */
	{111, 1024},       /* RESERVED_SHARED_MEMORY_PER_BLOCK */
};

int fg_device_attribute(int device, int attribute)
{
	if (attribute == 33) /* PCI_BUS_ID */
		return 0x19 + 16 * device;
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (attributes[i].attribute == attribute)
			return attributes[i].value;
	return 0;
}

int fg_device_count(void) { return fg_devices; }
uint64_t fg_device_memory(void) { return total_memory; }
const char *fg_device_name(void) { return model; }

void fg_device_uuid(int device, uint8_t uuid[16])
{
	static const uint8_t base[16] = {0xfa, 0x4e, 0x60, 0x50, 0x10, 0x20, 0x40, 0x80, 0x9a, 0xbc, 0xde, 0xf0, 0x11, 0x22, 0x33, 0x00};
	memcpy(uuid, base, 16);
	uuid[15] = (uint8_t)device;
}

API int cuDeviceGetCount(int *count)
{
	BEGIN(D_cuDeviceGetCount);
	NEED(count, ERR_VALUE);
	*count = fg_devices;
	END(OK);
}

API int cuDeviceGet(int *device, int ordinal)
{
	BEGIN(D_cuDeviceGet);
	NEED(device, ERR_VALUE);
	NEED(ordinal >= 0 && ordinal < fg_devices, ERR_DEVICE);
	*device = ordinal;
	END(OK);
}

API int cuDeviceGetName(char *name, int len, int device)
{
	BEGIN(D_cuDeviceGetName);
	NEED(name && len > 0, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	snprintf(name, (size_t)len, "%s", model);
	END(OK);
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	BEGIN(D_cuDeviceTotalMem_v2);
	NEED(bytes, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	*bytes = total_memory;
	END(OK);
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	BEGIN(D_cuDeviceGetAttribute);
	NEED(value && attribute > 0 && attribute < 200, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	*value = fg_device_attribute(device, attribute);
	END(OK);
}

API int cuDeviceGetUuid_v2(uint8_t *uuid, int device)
{
	BEGIN(D_cuDeviceGetUuid);
	NEED(uuid, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	fg_device_uuid(device, uuid);
	END(OK);
}

API int cuDeviceGetUuid(uint8_t *uuid, int device)
{
	return cuDeviceGetUuid_v2(uuid, device);
}
