/* cuInit, which loads the injected library, and the life of the process. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cuda.h"

void fg_set_inited(void);
void fg_set_forked(void);

int fg_devices = 1;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t init_cond = PTHREAD_COND_INITIALIZER;
static enum { NEW, RUNNING, DONE } init_state;
static pthread_t init_thread;
static int init_result;
static atomic_int exited;

static void at_exit(void)
{
	atomic_store(&exited, 1);
}

int fg_exited(void)
{
	return atomic_load(&exited);
}

/* As the driver does: on the calling thread, before any context exists, one path
 * only, and whatever goes wrong is nobody's business. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	if (!path || !*path || env_flag("FAKEGPU_NO_INJECTION", 0))
		return;
	int verbose = env_flag("FAKEGPU_VERBOSE", 0);
	uint64_t t0 = now_ns();
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	uint64_t t1 = now_ns();
	if (!lib) {
		if (verbose)
			fprintf(stderr, "fakegpu: injection: %s\n", dlerror());
		return;
	}
	int (*init)(void) = (int (*)(void))dlsym(lib, "InitializeInjection");
	uint64_t t2 = now_ns();
	int rc = init ? init() : 0;
	uint64_t t3 = now_ns();
	if (verbose)
		fprintf(stderr, "fakegpu: injection: InitializeInjection %s, returned %d; %llu ns to load, %llu ns in it\n", init ? "called" : "missing", rc,
			(unsigned long long)(t1 - t0), (unsigned long long)(t3 - t2));
}

API int cuInit(unsigned flags)
{
	BEGIN(D_cuInit);
	NEED(flags == 0, ERR_VALUE);
	pthread_mutex_lock(&init_lock);
	while (init_state == RUNNING && !pthread_equal(init_thread, pthread_self()))
		pthread_cond_wait(&init_cond, &init_lock);
	int first = init_state == NEW;
	if (first) {
		init_state = RUNNING;
		init_thread = pthread_self();
	}
	pthread_mutex_unlock(&init_lock);
	if (first) {
		/* Which of two exit handlers is older, the driver's or the injected
		 * library's, is not documented; tests can have either. */
		int late = env_flag("FAKEGPU_ATEXIT_AFTER_INJECTION", 0);
		if (!late)
			atexit(at_exit);
		pthread_atfork(NULL, NULL, fg_set_forked);
		uint64_t n = env_u64("FAKEGPU_DEVICES", 1);
		fg_devices = n > MAX_DEVICES ? MAX_DEVICES : (int)n;
		int rc = (int)env_u64("FAKEGPU_INIT_RESULT", fg_devices ? OK : ERR_NO_DEVICE);
		inject();
		if (late)
			atexit(at_exit);
		if (rc == OK)
			fg_set_inited();
		pthread_mutex_lock(&init_lock);
		init_result = rc;
		init_state = DONE;
		pthread_cond_broadcast(&init_cond);
		pthread_mutex_unlock(&init_lock);
	}
	END(init_result);
}

API int cuDriverGetVersion(int *version)
{
	/* Allowed before cuInit, hence without BEGIN's check. */
	struct fg_api a_;
	int e = fg_enter(&a_, FG_DRIVER, D_cuDriverGetVersion);
	if (fg_forked())
		END(e);
	NEED(version, ERR_VALUE);
	*version = (int)env_u64("FAKEGPU_DRIVER_VERSION", 13000);
	END(OK);
}

API int cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags, int *status)
{
	(void)version;
	(void)flags;
	BEGIN(D_cuGetProcAddress_v2);
	NEED(symbol && fn, ERR_VALUE);
	*fn = dlsym(RTLD_DEFAULT, symbol);
	if (status)
		*status = *fn ? 0 : 1;
	END(*fn ? OK : ERR_NOT_FOUND);
}

API int cuGetErrorName(int error, const char **name)
{
	static const struct { int n; const char *s; } names[] = {
		{OK, "CUDA_SUCCESS"}, {ERR_VALUE, "CUDA_ERROR_INVALID_VALUE"},
		{ERR_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"}, {ERR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
		{ERR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {ERR_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
		{ERR_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}, {ERR_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
		{ERR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"}, {ERR_NOT_READY, "CUDA_ERROR_NOT_READY"}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].n == error) {
			*name = names[i].s;
			return OK;
		}
	*name = NULL;
	return ERR_VALUE;
}
