/* What the client's functions cost, written when the library is unloaded:
 * CPU time in its buffer functions, and how often and for how long it was asked
 * for the time. */
#include <time.h>

#include "cupti.h"

int cost_on;

static const char *file;
static uint64_t (*clock_fn)(void);
static uint64_t requests, request_ns, completes, complete_ns, readings;

__attribute__((constructor)) static void cost_open(void)
{
	file = getenv("FAKECUPTI_COST");
	cost_on = file && *file;
}

uint64_t cost_begin(void)
{
	struct timespec t;
	if (!cost_on)
		return 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add(uint64_t *calls, uint64_t *ns, uint64_t since)
{
	if (!cost_on)
		return;
	__atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(ns, cost_begin() - since, __ATOMIC_RELAXED);
}

void cost_request(uint64_t since) { add(&requests, &request_ns, since); }
void cost_complete(uint64_t since) { add(&completes, &complete_ns, since); }

/* A reading is too short to be timed each time: they are counted, and some more
 * are made at the end. */
void cost_reading(uint64_t (*fn)(void))
{
	__atomic_store_n(&clock_fn, fn, __ATOMIC_RELAXED);
	__atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void cost_close(void)
{
	enum { SAMPLES = 100000 };
	uint64_t per_reading_ps = 0;
	if (!cost_on || fg_forked())
		return;
	if (clock_fn) {
		uint64_t begin = cost_begin();
		for (int i = 0; i < SAMPLES; i++)
			clock_fn();
		per_reading_ps = (cost_begin() - begin) * 1000 / SAMPLES;
	}
	FILE *f = fopen(file, "w");
	if (!f)
		return;
	fprintf(f, "{\"requests\":%llu,\"request_ns\":%llu,\"completes\":%llu,\"complete_ns\":%llu,\"readings\":%llu,\"reading_ps\":%llu}\n",
		(unsigned long long)requests, (unsigned long long)request_ns, (unsigned long long)completes,
		(unsigned long long)complete_ns, (unsigned long long)readings, (unsigned long long)per_reading_ps);
	fclose(f);
}
