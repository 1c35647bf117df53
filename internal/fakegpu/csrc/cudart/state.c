/* Start-up, devices, errors and the table of registered kernels. */
#include <pthread.h>

#include "cudart.h"

enum { MAX_DEVICES = 16, MAX_FUNCS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, init_error;
static void *contexts[MAX_DEVICES], *modules[MAX_DEVICES];
static __thread int device;
static __thread int last_error;

static struct { const void *host; const char *name; } funcs[MAX_FUNCS];
static int n_funcs;

int rt_keep_error(int e)
{
	if (e && e != 600)
		last_error = e;
	return e;
}

int rt_device(void) { return device; }

/* No lock is held across a driver call, since any of them may end in a callback
 * of a recorder. Two threads may both get here; they retain the same context. */
void *rt_context(int d)
{
	if (d < 0 || d >= MAX_DEVICES)
		return NULL;
	void *c = __atomic_load_n(&contexts[d], __ATOMIC_ACQUIRE), *before = NULL;
	if (c || cuDevicePrimaryCtxRetain(&c, d) != 0)
		return c;
	cuCtxGetCurrent(&before);
	cuCtxSetCurrent(c);
	cuModuleLoadData(&modules[d], "fatbin");
	cuCtxSetCurrent(before);
	__atomic_store_n(&contexts[d], c, __ATOMIC_RELEASE);
	return c;
}

/* A starting runtime asks the driver for hundreds of entry points and
 * attributes; that noise is part of what a recorder has to cope with. */
static void startup(void)
{
	uint64_t noise = env_u64("FAKEGPU_STARTUP_CALLS", 40);
	for (uint64_t i = 0; i < noise; i++) {
		void *fn;
		int value, active;
		switch (i % 8) {
		case 0: cuDeviceGetAttribute(&value, (int)(1 + i % 100), 0); break;
		case 1: cuDevicePrimaryCtxGetState(0, NULL, &active); break;
		default: cuGetProcAddress_v2("cuLaunchKernel", &fn, 12000, 0, NULL);
		}
	}
}

int rt_ready(void)
{
	if (fg_forked())
		return 3;
	if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
		static int started;
		init_error = cuInit(0);
		if (!init_error && !__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
			startup();
		__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	}
	if (init_error)
		return init_error;
	static __thread void *bound;
	void *want = __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE);
	if (!want)
		want = rt_context(device);
	if (bound != want) {
		cuCtxSetCurrent(want);
		bound = want;
	}
	return 0;
}

void *rt_function(const void *host)
{
	const char *name = NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_funcs && !name; i++)
		if (funcs[i].host == host)
			name = funcs[i].name;
	pthread_mutex_unlock(&lock);
	void *f = NULL;
	if (name)
		cuModuleGetFunction(&f, modules[device], name);
	return f;
}

/* What the compiler's start-up code calls for each kernel of a program. */
API void **__cudaRegisterFatBinary(void *fatbin)
{
	(void)fatbin;
	static void *handle;
	return &handle;
}

API void __cudaRegisterFunction(void **fatbin, const char *host, char *device_fn, const char *name, int limit,
				void *tid, void *bid, void *bdim, void *gdim, int *wsize)
{
	(void)fatbin, (void)device_fn, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)wsize;
	pthread_mutex_lock(&lock);
	if (n_funcs < MAX_FUNCS) {
		funcs[n_funcs].host = host;
		funcs[n_funcs].name = strdup(name);
		n_funcs++;
	}
	pthread_mutex_unlock(&lock);
}

API int cudaGetDeviceCount(int *count)
{
	BEGIN(R_cudaGetDeviceCount);
	END(cuDeviceGetCount(count));
}

API int cudaGetDevice(int *d)
{
	BEGIN(R_cudaGetDevice);
	*d = device;
	END(0);
}

API int cudaSetDevice(int d)
{
	BEGIN(R_cudaSetDevice);
	int bad = d < 0 || d >= fg_device_count();
	if (!bad)
		device = d;
	END(bad ? 101 : 0);
}

API int cudaDeviceGetAttribute(int *value, int attribute, int d)
{
	BEGIN(R_cudaDeviceGetAttribute);
	END(cuDeviceGetAttribute(value, attribute, d));
}

API int cudaDeviceSynchronize(void)
{
	BEGIN(R_cudaDeviceSynchronize);
	END(cuCtxSynchronize());
}

API int cudaGetLastError(void)
{
	struct fg_api a;
	int r = rt_ready(), e = last_error;
	last_error = 0;
	if (r)
		return e;
	fg_enter(&a, FG_RUNTIME, R_cudaGetLastError);
	fg_leave(&a, e);
	return e;
}
