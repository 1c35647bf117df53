#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alike.h"

struct switches sw;
static const char *fail;
static FILE *log_file;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t number(const char *name, uint64_t unset)
{
	char full[64];
	snprintf(full, sizeof full, "%s_%s", vendor.prefix, name);
	return (uint64_t)env_i64(full, (int64_t)unset);
}

__attribute__((constructor)) static void read_switches(void)
{
	sw.kernel_size = number("KERNEL_SIZE", vendor.kernel);
	sw.copy_size = number("COPY_SIZE", vendor.copy);
	sw.untimed_every = number("UNTIMED_EVERY", 0);
	sw.null_name_every = number("NULL_NAME_EVERY", 0);
	sw.own_every = number("OWN_EVERY", 0);
	sw.foreign_every = number("FOREIGN_EVERY", 0);
	sw.clock_offset = (int64_t)number("CLOCK_OFFSET_NS", 5000000000);
	sw.clock_ppm = (int64_t)number("CLOCK_PPM", 0);
	sw.flush_ms = number("FLUSH_MS", 0);
	sw.hang_after = number("HANG_AFTER", 0);
	sw.hang_locked = number("HANG_LOCKED", 0) != 0;
	sw.shifted = number("SHIFTED", 0) != 0;
	sw.stale = number("STALE", 0) != 0;
	sw.no_names = number("NO_NAMES", 0) != 0;
	sw.threaded = number("THREADED", 0) != 0;
	sw.kernel_on = number("KERNEL_ON", 0) != 0;
	sw.end = (int)number("END", (uint64_t)vendor.end);
	char name[64];
	snprintf(name, sizeof name, "%s_FAIL", vendor.prefix);
	fail = getenv(name);
	snprintf(name, sizeof name, "%s_LOG", vendor.prefix);
	const char *path = getenv(name);
	if (path && *path && !(log_file = fopen(path, "ae")))
		env_die(name, path, "a file that can be written");
}

__attribute__((destructor)) static void unloaded(void) { alike_log("unloaded", 0); }

void alike_log(const char *what, uint64_t a)
{
	if (!log_file)
		return;
	pthread_mutex_lock(&log_lock);
	fprintf(log_file, "%s %llu\n", what, (unsigned long long)a);
	fflush(log_file);
	pthread_mutex_unlock(&log_lock);
}

int alike_forced(const char *function, int64_t arg) { return env_forced(fail, function, arg); }

/* The vendor's clock: CLOCK_MONOTONIC, elsewhere and at another rate. */
static uint64_t clock_at(uint64_t monotonic)
{
	if (!monotonic)
		return 0;
	return (uint64_t)((int64_t)monotonic + (int64_t)((__int128)monotonic * sw.clock_ppm / 1000000) + sw.clock_offset);
}

static uint64_t monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t alike_now(void) { return clock_at(monotonic()); }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a buffer is handed over */
static request_fn request;
static complete_fn complete;
static uint8_t *buffer;
static size_t room, used;
static uint8_t on[KINDS];
static uint32_t last_correlation;

/* Work that has not ended yet. */
static struct pending { struct pending *next; uint64_t end; size_t bytes; uint8_t record[sizeof(struct kernel)]; } *pending;

void alike_lock(void) { pthread_mutex_lock(&lock); }
void alike_unlock(void) { pthread_mutex_unlock(&lock); }

static int every(uint64_t *count, uint64_t n) { return n && ++*count % n == 0; }

static void hand_over(void)
{
	static uint64_t buffers;
	if (!buffer)
		return;
	uint8_t *b = buffer;
	size_t size = room, valid = used;
	buffer = NULL;
	alike_log("complete", valid);
	complete(NULL, 0, b, size, valid);
	static uint64_t unasked[16] __attribute__((aligned(64)));
	if (every(&buffers, sw.foreign_every)) /* one that nobody gave */
		complete(NULL, 0, (uint8_t *)unasked, sizeof unasked, sizeof unasked);
}

static uint32_t thread(void) { return vendor.handles ? (uint32_t)(uintptr_t)pthread_self() : (uint32_t)syscall(SYS_gettid); }

/* CUPTI's numbers: of overhead, of the kind of an object, of a wait. */
enum { BUFFER_REQUEST = 7 << 16, THREAD = 2, OF_STREAM = 3, OF_CONTEXT = 4, NO_STREAM = -1 };

static void put(const void *record, size_t bytes)
{
	if (!request)
		return;
	if (buffer && room - used < bytes)
		hand_over();
	if (!buffer) {
		size_t max = 0;
		room = used = 0;
		uint64_t start = alike_now();
		request(&buffer, &room, &max);
		struct overhead r = {.kind = OVERHEAD, .overhead = BUFFER_REQUEST, .object = THREAD, .id = {(uint32_t)getpid(), thread()}, .start = start, .end = alike_now()};
		if (!buffer || room < bytes)
			return;
		if (on[OVERHEAD] && room - used >= bytes + sizeof r) {
			memcpy(buffer + used, &r, sizeof r);
			used += sizeof r;
		}
	}
	memcpy(buffer + used, record, bytes);
	used += bytes;
}

/* Moves the fields behind the kind by a word. */
static void shift(uint8_t *record, size_t bytes)
{
	if (sw.shifted)
		memmove(record + 16, record + 8, bytes - 16);
}

static void drain(int all)
{
	static uint64_t own;
	uint64_t t = monotonic();
	for (struct pending **at = &pending; *at;) {
		struct pending *p = *at;
		if (p->end > t && !all) {
			at = &p->next;
			continue;
		}
		if (p->end > t) { /* still running: it has no end, and is not told again */
			uint32_t kind = *(uint32_t *)p->record;
			uint64_t none = 0;
			memcpy(p->record + (kind == KERNEL || kind == CONCURRENT_KERNEL ? offsetof(struct kernel, end) : offsetof(struct copy, end)), &none, 8);
		}
		shift(p->record, p->bytes);
		put(p->record, p->bytes);
		if (every(&own, sw.own_every)) { /* of two sizes, in turn */
			/* What the longer one has behind the length of the shorter looks like a
			 * record of an external id. */
			uint32_t mine[18] = {vendor.own_kind, own / sw.own_every % 2 ? 48 : 72, [12] = EXTERNAL, [13] = 3, [14] = 0xdead, [16] = last_correlation};
			put(mine, mine[1]);
		}
		*at = p->next;
		free(p);
	}
}

static void later(const void *record, size_t bytes, uint64_t end)
{
	struct pending *p = calloc(1, sizeof *p), **at = &pending;
	p->end = end;
	p->bytes = bytes;
	memcpy(p->record, record, bytes);
	while (*at)
		at = &(*at)->next;
	*at = p;
}

static __thread uint64_t stack[8][64];
static __thread int depth[8];

int alike_push(uint32_t kind, uint64_t id)
{
	MAY_FAIL("ActivityPushExternalCorrelationId", kind);
	if (kind >= 8 || depth[kind] >= 64)
		return INVALID_PARAMETER;
	stack[kind][depth[kind]++] = id;
	return OK;
}

/* A pop without an address is refused, and takes nothing off. */
int alike_pop(uint32_t kind, uint64_t *last)
{
	MAY_FAIL("ActivityPopExternalCorrelationId", kind);
	if (kind >= 8 || !last)
		return INVALID_PARAMETER;
	if (depth[kind] == 0)
		return QUEUE_EMPTY;
	*last = stack[kind][--depth[kind]];
	return OK;
}

static __thread uint32_t waited_for; /* stream of a wait */

static uint64_t enter(enum rt_op op, const struct rt_work *w)
{
	waited_for = op == OP_STREAM_SYNC ? w->stream : (uint32_t)NO_STREAM;
	alike_lock();
	uint32_t id = ++last_correlation;
	for (uint32_t k = 0; k < 8 && on[EXTERNAL]; k++)
		if (depth[k]) {
			struct external e = {.kind = EXTERNAL, .external = k, .id = stack[k][depth[k] - 1], .correlation = id};
			put(&e, sizeof e);
		}
	alike_unlock();
	return id;
}

static void work(uint64_t correlation, const struct rt_work *w)
{
	static uint64_t timed, named;
	alike_lock();
	int untimed = every(&timed, sw.untimed_every);
	uint64_t start = untimed ? 0 : clock_at(w->start), end = untimed ? 0 : clock_at(w->end);
	if (w->op == OP_MEMCPY_ASYNC && on[MEMCPY]) {
		struct copy r = {.kind = MEMCPY, .copy = (uint8_t)w->copy, .src = w->copy == 1 ? 1 : 3, .dst = w->copy == 2 ? 1 : 3, .flags = 1, .bytes = w->bytes,
			.start = start, .end = end, .device = w->device, .context = 1, .stream = w->stream, .correlation = (uint32_t)correlation};
		later(&r, sw.copy_size, w->end);
	} else if (w->op == OP_MEMSET_ASYNC && on[MEMSET] && !vendor.no_fills) {
		struct fill r = {.kind = MEMSET, .bytes = w->bytes, .start = start, .end = end, .device = w->device, .context = 1, .stream = w->stream,
			.correlation = (uint32_t)correlation, .flags = 1, .memory = 3};
		later(&r, sw.copy_size, w->end);
	} else if ((w->op == OP_LAUNCH || w->op == OP_GRAPH) && (on[CONCURRENT_KERNEL] || on[KERNEL])) {
		struct kernel r = {.kind = on[CONCURRENT_KERNEL] ? CONCURRENT_KERNEL : KERNEL, .registers = (uint16_t)(w->block.x * w->block.y * w->block.z / 4), .start = start, .end = end, .completed = end,
			.device = w->device, .context = 1, .stream = w->stream, .grid = {(int)w->grid.x, (int)w->grid.y, (int)w->grid.z},
			.block = {(int)w->block.x, (int)w->block.y, (int)w->block.z}, .dynamic_shared = (int)w->shared, .correlation = (uint32_t)correlation,
			.name = every(&named, sw.null_name_every) ? NULL : w->name ? w->name : "graph_lookalike", .graph_node = 0xdead, .queued = 0xbeef};
		later(&r, sw.kernel_size, w->end);
	}
	alike_unlock();
}

static void leave(enum rt_op op, uint64_t correlation, uint64_t start, uint64_t end)
{
	alike_lock();
	if (on[RUNTIME]) {
		struct call r = {.kind = RUNTIME, .cbid = vendor.cbid[op], .start = clock_at(start), .end = clock_at(end), .process = (uint32_t)getpid(),
			.thread = thread(), .correlation = (uint32_t)correlation};
		put(&r, sizeof r);
	}
	if (on[SYNC] && (op == OP_STREAM_SYNC || op == OP_DEVICE_SYNC)) {
		struct sync r = {.kind = SYNC, .type = op == OP_STREAM_SYNC ? OF_STREAM : OF_CONTEXT, .start = clock_at(start), .end = clock_at(end),
			.correlation = (uint32_t)correlation, .context = 1, .stream = waited_for};
		put(&r, sizeof r);
	}
	drain(0);
	alike_unlock();
}

int alike_register(request_fn r, complete_fn c)
{
	MAY_FAIL("ActivityRegisterCallbacks", -1);
	if (!r || !c)
		return INVALID_PARAMETER;
	alike_log("register", 0);
	alike_lock();
	request = r;
	complete = c;
	alike_unlock();
	return OK;
}

int alike_enable(uint32_t kind, int enable)
{
	static const struct rt_observer observer = {enter, work, leave};
	alike_log(enable ? "enable" : "disable", kind);
	MAY_FAIL(enable ? "ActivityEnable" : "ActivityDisable", kind);
	if (kind == 0 || kind >= KINDS)
		return INVALID_KIND;
	if (kind != MEMCPY && kind != MEMSET && kind != KERNEL && kind != DRIVER && kind != RUNTIME && kind != CONCURRENT_KERNEL && kind != EXTERNAL && !(vendor.waits && (kind == OVERHEAD || kind == MEMCPY2 || kind == SYNC)))
		return INVALID_KIND;
	alike_lock();
	if (sw.kernel_on)
		on[KERNEL] = 1; /* by the program's own profiler */
	if (enable && vendor.one_kernel_kind && ((kind == KERNEL && on[CONCURRENT_KERNEL]) || (kind == CONCURRENT_KERNEL && on[KERNEL]))) {
		alike_unlock();
		return NOT_COMPATIBLE;
	}
	on[kind] = (uint8_t)enable;
	alike_unlock();
	void (*observe)(const struct rt_observer *) = (void (*)(const struct rt_observer *))dlsym(RTLD_DEFAULT, "fakert_observe");
	if (observe && enable)
		observe(&observer);
	return OK;
}

static void *hand_over_there(void *arg)
{
	(void)arg;
	alike_lock();
	hand_over();
	alike_unlock();
	return NULL;
}

int alike_flush(uint32_t flag)
{
	static uint64_t forced;
	alike_log("flush", flag);
	MAY_FAIL("ActivityFlushAll", flag);
	if (flag) {
		usleep((useconds_t)sw.flush_ms * 1000);
		if (sw.hang_after && ++forced > sw.hang_after) {
			if (sw.hang_locked)
				alike_lock();
			for (;;)
				pause();
		}
	}
	alike_lock();
	drain(flag != 0);
	alike_unlock();
	pthread_t other;
	if (sw.threaded && !pthread_create(&other, NULL, hand_over_there, NULL))
		pthread_join(other, NULL);
	else
		hand_over_there(NULL);
	return OK;
}

static size_t size_at(const uint8_t *r)
{
	uint32_t kind;
	memcpy(&kind, r, 4);
	switch (kind) {
	case KERNEL: case CONCURRENT_KERNEL: return sw.kernel_size;
	case MEMCPY: case MEMSET: return sw.copy_size;
	case RUNTIME: case DRIVER: return sizeof(struct call);
	case SYNC: return sizeof(struct sync);
	case OVERHEAD: return sizeof(struct overhead);
	case EXTERNAL: return sizeof(struct external);
	}
	if (kind != vendor.own_kind)
		return 0;
	uint32_t size;
	memcpy(&size, r + 4, 4);
	return size;
}

/* The record pointer is where it is, and NULL at the beginning. */
int alike_next(uint8_t *b, size_t valid, uint8_t **record)
{
	MAY_FAIL("ActivityGetNextRecord", -1);
	if (sw.hang_locked) {
		alike_lock();
		alike_unlock();
	}
	if (!b || !record)
		return INVALID_PARAMETER;
	uint8_t *at = b;
	if (*record) {
		uint32_t kind;
		memcpy(&kind, *record, 4);
		if (sw.stale && kind == EXTERNAL)
			return OK; /* the pointer is left where it was */
		at = *record + size_at(*record);
		if (at == *record)
			return INVALID_KIND;
	}
	if (at >= b + valid) {
		if (vendor.end_is_null)
			*record = NULL;
		return sw.end;
	}
	*record = at;
	return OK;
}
