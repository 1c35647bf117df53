/* libroctracer64.so, on a runtime that looks like HIP's: records of 64 bytes in the
 * library's own memory, calls shown to a function, numbers of kinds as DTK has them. */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "../alike/runtime.h"
#include "../env.h"

#define API __attribute__((visibility("default")))

enum { HIP_OPS = 2, HIP_API = 3, ENTER = 0, EXIT = 1 };

struct record {
	uint32_t domain, kind, op;
	uint64_t correlation, begin, end;
	union { struct { int32_t device; uint64_t queue; }; struct { uint32_t process, thread; }; uint64_t external; };
	union { uint64_t bytes; const char *name; };
};
#define AT(field, at) _Static_assert(offsetof(struct record, field) == (at), #field)
_Static_assert(sizeof(struct record) == 64, "record");
AT(domain, 0); AT(kind, 4); AT(op, 8); AT(correlation, 16); AT(begin, 24); AT(end, 32); AT(device, 40); AT(queue, 48); AT(process, 40); AT(thread, 44);
AT(external, 40); AT(bytes, 56); AT(name, 56);

typedef void (*completion)(const char *begin, const char *end, void *arg);
struct properties { uint32_t mode; size_t size; void *alloc, *alloc_arg; completion done; void *done_arg; };
_Static_assert(sizeof(struct properties) == 48 && offsetof(struct properties, size) == 8 && offsetof(struct properties, done) == 32, "properties");

struct api_data { uint64_t correlation; uint32_t phase, pad; uint8_t arguments[64]; };
_Static_assert(offsetof(struct api_data, phase) == 8 && offsetof(struct api_data, arguments) == 16, "api_data");

/* Ids of calls are a release's own; these are of none. */
static const char *const calls[] = {[31] = "hipMalloc", [32] = "hipFree", [33] = "hipGetDevice", [34] = "hipStreamSynchronize",
	[35] = "hipDeviceSynchronize", [36] = "hipMemcpyAsync", [37] = "hipMemsetAsync", [38] = "hipLaunchKernel", [39] = "hipGraphLaunch", [40] = "hipModuleLaunchKernel", [41] = "hipStreamBeginCapture", [42] = "hipStreamEndCapture"};
static const uint32_t ids[OPS] = {[OP_MALLOC] = 31, [OP_FREE] = 32, [OP_GET_DEVICE] = 33, [OP_STREAM_SYNC] = 34, [OP_DEVICE_SYNC] = 35,
	[OP_MEMCPY_ASYNC] = 36, [OP_MEMSET_ASYNC] = 37, [OP_LAUNCH] = 38, [OP_GRAPH] = 39, [OP_BEGIN_CAPTURE] = 41, [OP_END_CAPTURE] = 42};

static const char *fail;
#define MAY_FAIL                                       \
	do {                                           \
		int r_ = env_forced(fail, __func__, -1); \
		if (r_)                                \
			return r_;                     \
	} while (0)
static struct { int dtk, swap, shifted, module; uint64_t at_once; int64_t offset, ppm; uint64_t untimed_every, null_name_every, nameless; } quirk;

__attribute__((constructor)) static void read_switches(void)
{
	quirk.dtk = env_flag("FAKEROC_DTK", 1);      /* a dispatch is of kind 1 */
	quirk.swap = env_flag("FAKEROC_SWAP", 0);    /* kind and op of copies and fills are in each other's place */
	quirk.shifted = env_flag("FAKEROC_SHIFTED", 0);
	quirk.module = env_flag("FAKEROC_MODULE", 0); /* launches are hipModuleLaunchKernel */
	quirk.offset = env_i64("FAKEROC_CLOCK_OFFSET_NS", 3000000000);
	quirk.ppm = env_i64("FAKEROC_CLOCK_PPM", 0);
	quirk.untimed_every = env_u64("FAKEROC_UNTIMED_EVERY", 0);
	quirk.null_name_every = env_u64("FAKEROC_NULL_NAME_EVERY", 0);
	quirk.at_once = env_u64("FAKEROC_AT_ONCE", 4096); /* records that a flush hands over at most */
	quirk.nameless = env_u64("FAKEROC_NAMELESS", 0); /* this call has no name */
	fail = getenv("FAKEROC_FAIL");
}

static uint64_t clock_at(uint64_t t) { return (uint64_t)((int64_t)t + (int64_t)((__int128)t * quirk.ppm / 1000000) + quirk.offset); }

static uint64_t monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*callback)(uint32_t domain, uint32_t id, const void *data, void *arg);
static void *callback_arg;
static struct properties pool;
static int started = 1, ops;
static uint64_t correlations;
enum { ROOM = 4096 };
static struct record waiting[ROOM];
static uint64_t ends[ROOM];
static size_t n_waiting;

static int every(uint64_t *count, uint64_t n) { return n && ++*count % n == 0; }

static void show(uint32_t phase, enum rt_op op, uint64_t correlation, const struct rt_work *w)
{
	struct api_data d = {.correlation = correlation, .phase = phase};
	uint32_t id = op == OP_LAUNCH && quirk.module ? 40 : ids[op];
	if (w) {
		uint32_t shared = w->shared;
		memcpy(d.arguments + 8, &w->grid, 12);
		memcpy(d.arguments + 20, &w->block, 12);
		memcpy(d.arguments + 32, &shared, 4);
	}
	if (callback && started)
		callback(HIP_API, id, &d, callback_arg);
}

static uint64_t enter(enum rt_op op, const struct rt_work *w)
{
	uint64_t id = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
	show(ENTER, op, id, w);
	return id;
}

static void leave(enum rt_op op, uint64_t id, uint64_t start, uint64_t end)
{
	(void)start, (void)end;
	show(EXIT, op, id, NULL);
}

static void work(uint64_t id, const struct rt_work *w)
{
	static uint64_t timed, named;
	pthread_mutex_lock(&lock);
	if (ops && started && n_waiting < ROOM) {
		struct record r = {.domain = HIP_OPS, .correlation = id, .begin = clock_at(w->start), .end = clock_at(w->end), .device = (int32_t)w->device, .queue = w->stream};
		if (w->op == OP_LAUNCH || w->op == OP_GRAPH) {
			r.kind = quirk.dtk ? 1 : 0x11F0;
			r.name = every(&named, quirk.null_name_every) ? NULL : w->name ? w->name : "graph_lookalike";
		} else {
			r.kind = w->op == OP_MEMSET_ASYNC ? 0x1207 : w->copy == 1 ? 0x11F4 : w->copy == 2 ? 0x11F3 : 0x11F5;
			r.op = 1;
			r.bytes = w->bytes;
			if (quirk.swap) {
				uint32_t k = r.kind;
				r.kind = r.op;
				r.op = k;
			}
		}
		if (every(&timed, quirk.untimed_every))
			r.begin = r.end = 0;
		if (quirk.shifted)
			memmove((uint8_t *)&r + 32, (uint8_t *)&r + 24, 32);
		ends[n_waiting] = w->end;
		waiting[n_waiting++] = r;
	}
	pthread_mutex_unlock(&lock);
}

API int roctracer_set_properties(uint32_t domain, void *p) { MAY_FAIL; (void)domain, (void)p; return 0; }

API int roctracer_enable_domain_callback(uint32_t domain, void (*fn)(uint32_t, uint32_t, const void *, void *), void *arg)
{
	static const struct rt_observer observer = {enter, work, leave};
	MAY_FAIL;
	if (domain != HIP_API || !fn)
		return -1;
	callback_arg = arg;
	callback = fn;
	void (*observe)(const struct rt_observer *) = (void (*)(const struct rt_observer *))dlsym(RTLD_DEFAULT, "fakert_observe");
	if (observe)
		observe(&observer);
	return 0;
}

API int roctracer_disable_domain_callback(uint32_t domain) { MAY_FAIL; callback = NULL; return domain == HIP_API ? 0 : -1; }

API int roctracer_open_pool_expl(const struct properties *p, void **out)
{
	MAY_FAIL;
	if (!p || !p->done || pool.done)
		return -1;
	pool = *p;
	if (out)
		*out = &pool;
	return 0;
}

API int roctracer_enable_domain_activity_expl(uint32_t domain, void *p) { MAY_FAIL; (void)p; ops = domain == HIP_OPS && pool.done; return ops ? 0 : -1; }
API int roctracer_disable_domain_activity(uint32_t domain) { MAY_FAIL; (void)domain; ops = 0; return 0; }
API void roctracer_start(void) { started = 1; }
API void roctracer_stop(void) { started = 0; }
API int roctracer_get_timestamp(uint64_t *t) { MAY_FAIL; *t = clock_at(monotonic()); return 0; }
API const char *roctracer_error_string(void) { return "look-alike"; }
API uint32_t roctracer_version_major(void) { return 4; }
API uint32_t roctracer_version_minor(void) { return 1; }

/* The device is not waited for. */
API int roctracer_flush_activity_expl(void *p)
{
	(void)p;
	MAY_FAIL;
	static struct record done[ROOM];
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&lock);
	size_t n = 0, left = 0;
	uint64_t t = monotonic();
	for (size_t i = 0; i < n_waiting; i++)
		if (ends[i] <= t && n < quirk.at_once) {
			done[n++] = waiting[i];
		} else {
			ends[left] = ends[i];
			waiting[left++] = waiting[i];
		}
	n_waiting = left;
	pthread_mutex_unlock(&lock);
	if (n)
		pool.done((const char *)done, (const char *)(done + n), pool.done_arg);
	pthread_mutex_unlock(&one);
	return 0;
}

API const char *roctracer_op_string(uint32_t domain, uint32_t op, uint32_t kind)
{
	(void)kind;
	if (domain == HIP_API && op < sizeof calls / sizeof *calls && calls[op] && op != quirk.nameless)
		return calls[op];
	return "unknown";
}
