/* The clock of the records: CLOCK_REALTIME nanoseconds unless a switch or the
 * client says otherwise. Device times are known in CLOCK_REALTIME and brought
 * onto another clock by a line through two pairs of readings, the first taken
 * when that clock was chosen. */
#include <time.h>

#include "cupti.h"

static uint64_t (*callback)(void);
static enum { REALTIME, MONOTONIC, TICKS } builtin;
static struct pair { uint64_t rt, clock; } anchor;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t realtime(void) { return read_clock(CLOCK_REALTIME); }

static uint64_t builtin_now(void)
{
	switch (builtin) {
	case MONOTONIC: return read_clock(CLOCK_MONOTONIC);
	/* A counter of 2.1 GHz, as raw TSC readings look. */
	case TICKS: return read_clock(CLOCK_MONOTONIC) / 10 * 21;
	default: return realtime();
	}
}

uint64_t clock_now(void)
{
	uint64_t (*fn)(void) = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
	return fn ? fn() : builtin_now();
}

static struct pair take_pair(void)
{
	struct pair p;
	p.rt = realtime();
	p.clock = clock_now();
	return p;
}

__attribute__((constructor)) static void choose(void)
{
	const char *v = getenv("FAKECUPTI_CLOCK");
	if (v && *v) {
		if (strcmp(v, "monotonic") == 0)
			builtin = MONOTONIC;
		else if (strcmp(v, "tsc") == 0)
			builtin = TICKS;
		else if (strcmp(v, "realtime") != 0)
			env_die("FAKECUPTI_CLOCK", v, "realtime, monotonic or tsc");
	}
	anchor = take_pair();
}

int clock_is_realtime(void)
{
	return !__atomic_load_n(&callback, __ATOMIC_ACQUIRE) && builtin == REALTIME;
}

void clock_set_callback(uint64_t (*fn)(void))
{
	__atomic_store_n(&callback, fn, __ATOMIC_RELEASE);
	struct pair p = take_pair();
	pthread_mutex_lock(&lock);
	anchor = p;
	pthread_mutex_unlock(&lock);
}

uint64_t clock_convert(uint64_t rt)
{
	if (clock_is_realtime())
		return rt;
	pthread_mutex_lock(&lock);
	struct pair a = anchor;
	pthread_mutex_unlock(&lock);
	struct pair b = take_pair();
	while (b.rt < a.rt + 500000) {
		nanosleep(&(struct timespec){0, 500000}, NULL);
		b = take_pair();
	}
	long double slope = (long double)(b.clock - a.clock) / (long double)(b.rt - a.rt);
	long double t = (long double)b.clock + ((long double)rt - (long double)b.rt) * slope;
	return t > 0 ? (uint64_t)t : 0;
}
