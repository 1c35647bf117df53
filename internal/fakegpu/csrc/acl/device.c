/* The simulated devices: each stream does one thing after the other, and how long
 * it takes comes from a formula. */
#include <pthread.h>
#include <time.h>

#include "acl.h"

enum { MAX_DEVICES = 16, MAX_STREAMS = 256, LATENCY_NS = 6000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct fa_observer *observer;
static uint32_t physical[MAX_DEVICES];
static uint32_t n_devices;
static struct stream defaults[MAX_DEVICES], streams[MAX_STREAMS];
static uint32_t n_streams;
static __thread int32_t current = -1;
static uint64_t kernel_ns;

__attribute__((constructor)) static void configure(void)
{
	kernel_ns = env_u64("FAKEACL_KERNEL_NS", 0);
	n_devices = (uint32_t)env_u64("FAKEACL_DEVICES", 1);
	if (n_devices > MAX_DEVICES)
		n_devices = MAX_DEVICES;
	for (uint32_t i = 0; i < MAX_DEVICES; i++)
		physical[i] = i;
	const char *v = getenv("ASCEND_RT_VISIBLE_DEVICES");
	if (v && *v) {
		uint32_t n = 0;
		while (*v && n < MAX_DEVICES) {
			char *end;
			physical[n++] = (uint32_t)strtoul(v, &end, 10);
			if (end == v || (*end && *end != ','))
				env_die("ASCEND_RT_VISIBLE_DEVICES", v, "numbers with commas between");
			v = *end ? end + 1 : end;
		}
		n_devices = n;
	}
	for (uint32_t i = 0; i < n_devices; i++)
		defaults[i] = (struct stream){.id = 0, .device = physical[i]};
}

API void fakeacl_observe(const struct fa_observer *o) { __atomic_store_n(&observer, o, __ATOMIC_RELEASE); }
const struct fa_observer *fa_observer(void) { return __atomic_load_n(&observer, __ATOMIC_ACQUIRE); }

uint64_t fa_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fa_wait(uint64_t until)
{
	for (uint64_t now = fa_now(); now < until; now = fa_now()) {
		uint64_t left = until - now;
		nanosleep(&(struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)}, NULL);
	}
}

int fa_have_device(void) { return current >= 0; }

struct stream *fa_stream(void *handle)
{
	return handle ? handle : &defaults[current < 0 ? 0 : current];
}

uint64_t fa_busy_until(struct stream *s)
{
	pthread_mutex_lock(&lock);
	uint64_t t = s->busy_until;
	pthread_mutex_unlock(&lock);
	return t;
}

uint64_t fa_all_busy_until(void)
{
	uint64_t last = 0;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_streams; i++)
		last = streams[i].busy_until > last ? streams[i].busy_until : last;
	for (uint32_t i = 0; i < n_devices; i++)
		last = defaults[i].busy_until > last ? defaults[i].busy_until : last;
	pthread_mutex_unlock(&lock);
	return last;
}

void fa_run(struct stream *s, struct fa_task *t, uint64_t ns)
{
	if (kernel_ns)
		ns = kernel_ns;
	pthread_mutex_lock(&lock);
	uint64_t start = fa_now() + LATENCY_NS;
	if (start < s->busy_until + 200)
		start = s->busy_until + 200;
	t->start = start;
	t->end = s->busy_until = start + ns;
	t->device = s->device;
	t->stream = s->id;
	pthread_mutex_unlock(&lock);
	const struct fa_observer *o = fa_observer();
	if (o && t->name)
		o->task(t);
}

API int aclInit(const char *config)
{
	(void)config;
	CALL;
	REPORT(FA_ACL, "aclInit");
	return ACL_SUCCESS;
}

API int aclFinalize(void) { return ACL_SUCCESS; }
API const char *aclrtGetSocName(void) { return "Ascend910-lookalike"; }

API int aclrtGetDeviceCount(uint32_t *n)
{
	CALL;
	*n = n_devices;
	REPORT(FA_ACL, "aclrtGetDeviceCount");
	return ACL_SUCCESS;
}

API int aclrtSetDevice(int32_t device)
{
	CALL;
	if (device < 0 || (uint32_t)device >= n_devices)
		return ACL_ERROR_INVALID;
	current = device;
	REPORT(FA_ACL, "aclrtSetDevice");
	return ACL_SUCCESS;
}

API int aclrtGetDevice(int32_t *device)
{
	if (current < 0)
		return ACL_ERROR_NO_DEVICE;
	*device = current;
	return ACL_SUCCESS;
}

API int aclrtCreateStream(void **stream)
{
	CALL;
	if (current < 0)
		return ACL_ERROR_NO_DEVICE;
	pthread_mutex_lock(&lock);
	struct stream *s = n_streams < MAX_STREAMS ? &streams[n_streams++] : NULL;
	if (s)
		*s = (struct stream){.id = n_streams + 1, .device = physical[current]};
	pthread_mutex_unlock(&lock);
	*stream = s;
	REPORT(FA_ACL, "aclrtCreateStream");
	return s ? ACL_SUCCESS : ACL_ERROR_INVALID;
}

API int aclrtSynchronizeStream(void *stream)
{
	CALL;
	fa_wait(fa_busy_until(fa_stream(stream)));
	REPORT(FA_ACL, "aclrtSynchronizeStream");
	return ACL_SUCCESS;
}

API int aclrtSynchronizeDevice(void)
{
	CALL;
	fa_wait(fa_all_busy_until());
	REPORT(FA_ACL, "aclrtSynchronizeDevice");
	return ACL_SUCCESS;
}
