/* The switches; see README.md. */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mspti.h"

struct quirks quirk;
static const char *fail;
static FILE *log_file;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void read_switches(void)
{
#ifdef FAKEMSPTI_OLD
	enum { NEWEST = HCCL, REFUSES = 0 };
#else
	enum { NEWEST = RUNTIME_API, REFUSES = 1 };
#endif
	quirk.max_kind = (uint32_t)env_u64("FAKEMSPTI_MAX_KIND", NEWEST);
	quirk.need_preload = env_flag("FAKEMSPTI_NEED_PRELOAD", REFUSES);
	const char *layout = getenv("FAKEMSPTI_LAYOUT");
	if (layout && *layout) {
		if (strcmp(layout, "aligned") != 0)
			env_die("FAKEMSPTI_LAYOUT", layout, "aligned");
		quirk.aligned = 1;
	}
	quirk.unknown_every = env_u64("FAKEMSPTI_UNKNOWN_EVERY", 0);
	quirk.unknown_kind = env_u64("FAKEMSPTI_UNKNOWN_KIND", 99);
	quirk.stale_every = env_u64("FAKEMSPTI_STALE_EVERY", 0);
	quirk.no_id_every = env_u64("FAKEMSPTI_NO_ID_EVERY", 0);
	quirk.empty_name_every = env_u64("FAKEMSPTI_EMPTY_NAME_EVERY", 0);
	quirk.wild_name_every = env_u64("FAKEMSPTI_WILD_NAME_EVERY", 0);
	quirk.untimed_every = env_u64("FAKEMSPTI_UNTIMED_EVERY", 0);
	quirk.negative_every = env_u64("FAKEMSPTI_NEGATIVE_EVERY", 0);
	quirk.negative_ns = env_i64("FAKEMSPTI_NEGATIVE_NS", 500);
	quirk.resync_every = env_u64("FAKEMSPTI_RESYNC_EVERY", 0);
	quirk.resync_ns = env_i64("FAKEMSPTI_RESYNC_NS", 7000);
	quirk.device_delay_ms = env_u64("FAKEMSPTI_DEVICE_DELAY_MS", 0);
	const char *block = getenv("FAKEMSPTI_FLUSH_BLOCK");
	quirk.flush_block_ms = block && !strcmp(block, "forever") ? -1 : env_i64("FAKEMSPTI_FLUSH_BLOCK", 0);
	quirk.subscribed = env_flag("FAKEMSPTI_SUBSCRIBED", 0);
	fail = getenv("FAKEMSPTI_FAIL");
	const char *path = getenv("FAKEMSPTI_LOG");
	if (path && *path && !(log_file = fopen(path, "ae")))
		env_die("FAKEMSPTI_LOG", path, "a file that can be written");
}

int hit(uint64_t *counter, uint64_t every)
{
	return every && (__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED) % every) == 0;
}

void log_line(const char *what, uint64_t a, uint64_t b)
{
	if (!log_file)
		return;
	pthread_mutex_lock(&log_lock);
	fprintf(log_file, "%d %u %s %llu %llu\n", (int)getpid(), thread_id(), what, (unsigned long long)a, (unsigned long long)b);
	fflush(log_file);
	pthread_mutex_unlock(&log_lock);
}

int entry(const char *function, int64_t arg)
{
	log_line(function, (uint64_t)arg, 0);
	return env_forced(fail, function, arg); /* msptiSubscribe=2,msptiActivityEnable(2)=1 */
}

uint32_t thread_id(void)
{
	static __thread uint32_t id;
	return id ? id : (id = (uint32_t)syscall(SYS_gettid));
}

uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
