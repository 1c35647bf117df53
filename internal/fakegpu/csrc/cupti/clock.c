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
	if (fn && cost_on)
		cost_reading(fn);
	return fn ? fn() : builtin_now();
}

static struct pair take_pair(void)
{
	struct pair p = {0, 0};
	uint64_t best = UINT64_MAX;
	/* Of a few tries the one that took least: a thread may be descheduled in it. */
	for (int i = 0; i < 5 && best > 2000; i++) {
		uint64_t before = realtime(), clock = clock_now(), after = realtime();
		if (after - before < best) {
			best = after - before;
			p = (struct pair){before + (after - before) / 2, clock};
		}
	}
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
	pthread_mutex_lock(&lock);
	__atomic_store_n(&callback, fn, __ATOMIC_RELEASE);
	anchor = take_pair();
	pthread_mutex_unlock(&lock);
}

void clock_convert(uint64_t *times, int n)
{
	struct pair a, b;
	if (clock_is_realtime())
		return;
	for (;;) {
		pthread_mutex_lock(&lock); /* both are of one clock */
		a = anchor;
		b = take_pair();
		pthread_mutex_unlock(&lock);
		if (b.rt >= a.rt + 5000000)
			break;
		nanosleep(&(struct timespec){0, 1000000}, NULL); /* too short a line says little */
	}
	long double slope = (long double)(b.clock - a.clock) / (long double)(b.rt - a.rt);
	for (int i = 0; i < n; i++) {
		long double t = (long double)b.clock + ((long double)times[i] - (long double)b.rt) * slope;
		if (times[i])
			times[i] = t > 0 ? (uint64_t)t : 0;
	}
}
