/* Finding the vendor libraries as a program does that does not link them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

#define DEFINE(result, name, params) result(*name) params;
DRIVER_FUNCTIONS(DEFINE)
RUNTIME_FUNCTIONS(DEFINE)
#undef DEFINE

int (*push_external)(uint32_t kind, uint64_t id);
int (*pop_external)(uint32_t kind, uint64_t *last);

static void *need(const char *lib, int flags)
{
	void *h = dlopen(lib, flags);
	if (!h) {
		fprintf(stderr, "workload: %s\n", dlerror());
		exit(90);
	}
	return h;
}

static void *symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);
	if (!p) {
		fprintf(stderr, "workload: %s\n", dlerror());
		exit(90);
	}
	return p;
}

void load_libraries(void)
{
	void *driver = need("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	void *runtime = need("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
#define LOAD(result, name, params) name = (result(*) params)symbol(driver, #name);
	DRIVER_FUNCTIONS(LOAD)
#undef LOAD
#define LOAD(result, name, params) name = (result(*) params)symbol(runtime, #name);
	RUNTIME_FUNCTIONS(LOAD)
#undef LOAD
	if (cuInit(0) != 0) {
		fprintf(stderr, "workload: cuInit failed\n");
		exit(91);
	}
	/* As a framework's profiler does: only a libcupti that somebody has loaded. */
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
	for (int i = 0; i < 2 && !push_external; i++) {
		void *h = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
		if (!h)
			continue;
		push_external = (int (*)(uint32_t, uint64_t))dlsym(h, "cuptiActivityPushExternalCorrelationId");
		pop_external = (int (*)(uint32_t, uint64_t *))dlsym(h, "cuptiActivityPopExternalCorrelationId");
	}
}
