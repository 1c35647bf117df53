/* The program's half of NVTX, as far as the workload needs it: at the first call
 * the library named by NVTX_INJECTION64_PATH is loaded and offered the tables of
 * function pointers; without one, or if it declines, calls do nothing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "workload.h"

enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3, CORE = 1, CORE2 = 5, ENTRIES = 16, NO_TOOL = -2, ASCII = 1 };
enum { MARK_A = 2, RANGE_START_A = 5, RANGE_END = 7, RANGE_PUSH_A = 9, RANGE_POP = 11 };          /* CORE */
enum { DOMAIN_MARK_EX = 1, DOMAIN_RANGE_PUSH_EX = 4, DOMAIN_RANGE_POP = 5, DOMAIN_CREATE_A = 12 }; /* CORE2 */

typedef void (*any_fn)(void);

/* What a call of the Ex functions says; 48 bytes. */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message;
};

static any_fn core[ENTRIES], core2[ENTRIES];
static any_fn *core_table[ENTRIES + 1], *core2_table[ENTRIES + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int module_table(uint32_t module, any_fn ***table, uint32_t *entries)
{
	if (module != CORE && module != CORE2)
		return 0;
	*table = module == CORE ? core_table : core2_table;
	*entries = ENTRIES;
	return 1;
}

static void tool_version(uint32_t version) { (void)version; }

static const void *get_table(uint32_t number)
{
	static const struct { size_t size; int (*module)(uint32_t, any_fn ***, uint32_t *); } callbacks = {sizeof callbacks, module_table};
	static const struct { size_t size; uint32_t version, reserved; void (*set)(uint32_t); } version = {sizeof version, 3, 0, tool_version};
	return number == TABLE_CALLBACKS ? (const void *)&callbacks : number == TABLE_VERSION ? (const void *)&version : NULL;
}

static void init(void)
{
	for (int i = 1; i < ENTRIES; i++) {
		core_table[i] = &core[i];
		core2_table[i] = &core2[i];
	}
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	if (!lib)
		return;
	int (*offer)(const void *(*)(uint32_t)) = (int (*)(const void *(*)(uint32_t)))dlsym(lib, "InitializeInjectionNvtx2");
	if (!offer || !offer(get_table))
		dlclose(lib);
}

/* The pointer is read anew with each call: it may be written at any time. */
static any_fn function(any_fn *table, int at)
{
	pthread_once(&once, init);
	return __atomic_load_n(&table[at], __ATOMIC_ACQUIRE);
}

int nvtx_push(const char *name)
{
	any_fn f = function(core, RANGE_PUSH_A);
	return f ? ((int (*)(const char *))f)(name) : NO_TOOL;
}

int nvtx_pop(void)
{
	any_fn f = function(core, RANGE_POP);
	return f ? ((int (*)(void))f)() : NO_TOOL;
}

void nvtx_mark(const char *name)
{
	any_fn f = function(core, MARK_A);
	if (f)
		((void (*)(const char *))f)(name);
}

uint64_t nvtx_start(const char *name)
{
	any_fn f = function(core, RANGE_START_A);
	return f ? ((uint64_t (*)(const char *))f)(name) : 0;
}

void nvtx_end(uint64_t id)
{
	any_fn f = function(core, RANGE_END);
	if (f)
		((void (*)(uint64_t))f)(id);
}

void *nvtx_domain(const char *name)
{
	any_fn f = function(core2, DOMAIN_CREATE_A);
	return f ? ((void *(*)(const char *))f)(name) : NULL;
}

static struct attributes message(const char *name)
{
	return (struct attributes){.version = 3, .size = sizeof(struct attributes), .message_type = ASCII, .message = name};
}

int nvtx_domain_push(void *domain, const char *name)
{
	any_fn f = function(core2, DOMAIN_RANGE_PUSH_EX);
	struct attributes a = message(name);
	return f ? ((int (*)(void *, const struct attributes *))f)(domain, &a) : NO_TOOL;
}

int nvtx_domain_pop(void *domain)
{
	any_fn f = function(core2, DOMAIN_RANGE_POP);
	return f ? ((int (*)(void *))f)(domain) : NO_TOOL;
}

void nvtx_domain_mark(void *domain, const char *name)
{
	any_fn f = function(core2, DOMAIN_MARK_EX);
	struct attributes a = message(name);
	if (f)
		((void (*)(void *, const struct attributes *))f)(domain, &a);
}
