/* Modules, functions and launches. A module has whatever function it is asked
 * for, so a program needs no device code. */
#include "cuda.h"

static struct fg_func *funcs;
static pthread_mutex_t funcs_lock = PTHREAD_MUTEX_INITIALIZER;

/* Resources by name: the same name has the same registers in every run. */
static struct fg_func *intern(const char *name)
{
	pthread_mutex_lock(&funcs_lock);
	struct fg_func *f = funcs;
	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	if (!f && (f = calloc(1, sizeof *f))) {
		uint32_t h = 2166136261u;
		for (const char *p = name; *p; p++)
			h = (h ^ (uint8_t)*p) * 16777619u;
		f->name = strdup(name);
		f->registers = 16 + h % 29 * 8;
		f->static_shared = (int32_t)((h >> 8) % 5 * 2048);
		f->local = (h >> 16) % 7 == 0 ? 64 : 0;
		f->next = funcs;
		funcs = f;
	}
	pthread_mutex_unlock(&funcs_lock);
	return f;
}

API int cuModuleLoadData(void **module, const void *image)
{
	BEGIN(D_cuModuleLoadData);
	NEED(module && image, ERR_VALUE);
	NEED(current_context(), ERR_CONTEXT);
	static uint32_t modules;
	*module = (void *)(uintptr_t)(0x1000 + 16 * next_id(&modules));
	END(OK);
}

API int cuModuleUnload(void *module)
{
	BEGIN(D_cuModuleUnload);
	NEED(module, ERR_HANDLE);
	END(OK);
}

API int cuModuleGetFunction(void **function, void *module, const char *name)
{
	BEGIN(D_cuModuleGetFunction);
	NEED(function && name && *name, ERR_VALUE);
	NEED(module, ERR_HANDLE);
	*function = intern(name);
	NEED(*function, ERR_MEMORY);
	END(OK);
}

API int cuFuncGetAttribute(int *value, int attribute, void *function)
{
	BEGIN(D_cuFuncGetAttribute);
	NEED(value && function, ERR_VALUE);
	const struct fg_func *f = function;
	switch (attribute) {
	case 0: *value = 1024; break;                 /* MAX_THREADS_PER_BLOCK */
	case 1: *value = f->static_shared; break;     /* SHARED_SIZE_BYTES */
	case 3: *value = (int)f->local; break;        /* LOCAL_SIZE_BYTES */
	case 4: *value = (int)f->registers; break;    /* NUM_REGS */
	case 5: case 6: *value = 90; break;           /* PTX_VERSION, BINARY_VERSION */
	default: *value = 0;
	}
	END(OK);
}

static int launch(struct fg_api *a, void *function, const unsigned dim[6], unsigned shared, void *stream)
{
	struct stream *s = stream_of(stream);
	if (!function)
		return ERR_HANDLE;
	if (!s)
		return ERR_CONTEXT;
	for (int i = 0; i < 6; i++)
		if (dim[i] == 0)
			return ERR_VALUE;
	if ((uint64_t)dim[3] * dim[4] * dim[5] > 1024 || shared > 232448)
		return ERR_VALUE;
	struct fg_work w = {.kind = FG_KERNEL, .func = function, .dynamic_shared = (int32_t)shared};
	for (int i = 0; i < 3; i++) {
		w.grid[i] = (int32_t)dim[i];
		w.block[i] = (int32_t)dim[3 + i];
	}
	/* The carve-out grows with need: 32 KiB, then 100, then all. */
	uint32_t need = shared + (uint32_t)w.func->static_shared;
	w.carveout = need <= 16384 ? 32768 : need <= 49152 ? 102400 : 233472;
	sim_submit(a, s, &w);
	return OK;
}

API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *stream, void **params, void **extra)
{
	(void)params;
	(void)extra;
	BEGIN(D_cuLaunchKernel);
	END(launch(&a_, function, (unsigned[]){gx, gy, gz, bx, by, bz}, shared, stream));
}

/* The start of CUlaunchConfig; attributes are ignored. */
struct launch_config {
	unsigned dim[6];
	unsigned shared;
	void *stream;
	void *attributes;
	unsigned n_attributes;
};

API int cuLaunchKernelEx(const struct launch_config *config, void *function, void **params, void **extra)
{
	(void)params;
	(void)extra;
	BEGIN(D_cuLaunchKernelEx);
	NEED(config, ERR_VALUE);
	END(launch(&a_, function, config->dim, config->shared, config->stream));
}
