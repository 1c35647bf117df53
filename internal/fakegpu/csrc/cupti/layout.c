/* Sizes of records by library version. */
#include "layout.h"
#include "../env.h"

/* {kind, from version, bytes}: of the rows of a kind the last one whose version
 * is not newer counts. From 130100 on the kernel's sizes follow documented field
 * lists, and the row of 130500 is invented: a version nobody has seen yet. */
static const struct { uint32_t kind, from, size; } sizes[] = {
	{CONCURRENT_KERNEL, 0, 160}, {CONCURRENT_KERNEL, 15, 168}, {CONCURRENT_KERNEL, 17, 176},
	{CONCURRENT_KERNEL, 18, 200}, {CONCURRENT_KERNEL, 19, 208}, {CONCURRENT_KERNEL, 130000, 216},
	{CONCURRENT_KERNEL, 130300, 224}, {CONCURRENT_KERNEL, 130400, 240}, {CONCURRENT_KERNEL, 130500, 264},
	{MEMCPY, 0, 72}, {MEMCPY, 14, 80}, {MEMCPY, 17, 88}, {MEMCPY, 26, 96},
	{MEMCPY2, 0, 80}, {MEMCPY2, 14, 88}, {MEMCPY2, 17, 96},
	{MEMSET, 0, 72}, {MEMSET, 14, 80}, {MEMSET, 17, 88},
	{DRIVER, 0, 40}, {RUNTIME, 0, 40}, {INTERNAL_LAUNCH_API, 0, 40},
	{EXTERNAL_CORRELATION, 0, 24},
	{SYNCHRONIZATION, 0, 40}, {SYNCHRONIZATION, 26, 56},
	{CUDA_EVENT, 0, 24}, {CUDA_EVENT, 26, 56},
	{OVERHEAD, 0, 40}, {OVERHEAD, 20, 48}, {OVERHEAD, 22, 56},
	{DEVICE, 0, 144}, {DEVICE, 16, 152}, {DEVICE, 17, 176}, {DEVICE, 24, 184},
	{CONTEXT, 0, 16}, {CONTEXT, 22, 24}, {CONTEXT, 23, 32},
	{STREAM, 0, 24}, {NAME, 0, 32}, {MARKER, 0, 56}, {MARKER_DATA, 0, 32}, {MARKER_DATA, 130000, 40},
	{ENVIRONMENT, 0, 40}, {FUNCTION, 0, 32}, {MODULE, 0, 24}, {MEMORY, 0, 80},
	{MEMORY2, 0, 112}, {MEMORY2, 17, 120}, {MEMORY2, 24, 128},
	{MEMORY_POOL, 0, 64}, {MEMORY_POOL, 17, 72}, {MEMORY_POOL, 130000, 80},
	{GRAPH_TRACE, 0, 48}, {GRAPH_TRACE, 21, 56}, {JIT, 0, 64}, {JIT, 22, 72},
	{DEVICE_GRAPH_TRACE, 0, 56}, {MEM_DECOMPRESS, 0, 64}, {CONFIDENTIAL_COMPUTE_ROTATION, 0, 32},
	{UNIFIED_MEMORY_COUNTER, 0, 64}, {UNIFIED_MEMORY_COUNTER, 26, 104},
};

static uint32_t in_force[MAX_KIND];
static uint32_t unknown_kind, unknown_size;

static void overrides(const char *list)
{
	static const char name[] = "FAKECUPTI_SIZES", want[] = "kind=bytes[,kind=bytes...], bytes a multiple of 8 up to 1024";
	for (const char *p = list; *p;) {
		char *end;
		unsigned long kind = strtoul(p, &end, 10);
		if (*end != '=' || kind >= MAX_KIND)
			env_die(name, list, want);
		unsigned long size = strtoul(end + 1, &end, 10);
		if (size < 8 || size % 8 || size > MAX_RECORD || (*end && *end != ','))
			env_die(name, list, want);
		in_force[kind] = (uint32_t)size;
		p = *end ? end + 1 : end;
	}
}

void layout_init(uint32_t version)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].from <= version)
			in_force[sizes[i].kind] = sizes[i].size;
	const char *list = getenv("FAKECUPTI_SIZES");
	if (list)
		overrides(list);
	in_force[KERNEL] = in_force[CONCURRENT_KERNEL];
	unknown_kind = (uint32_t)env_u64("FAKECUPTI_UNKNOWN_KIND", 777);
	unknown_size = (uint32_t)env_u64("FAKECUPTI_UNKNOWN_SIZE", 48);
	if (unknown_size < 8 || unknown_size % 8 || unknown_size > MAX_RECORD)
		env_die("FAKECUPTI_UNKNOWN_SIZE", getenv("FAKECUPTI_UNKNOWN_SIZE"), "a multiple of 8 up to 1024");
}

uint32_t layout_size(uint32_t kind)
{
	if (kind < MAX_KIND && in_force[kind])
		return in_force[kind];
	return kind == unknown_kind ? unknown_size : 0;
}
