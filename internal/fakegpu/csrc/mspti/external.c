/* Correlation ids and external ids. The stacks are the process's, not the threads'. */
#include "mspti.h"

enum { STACKS = 5, DEPTH = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stacks[STACKS][DEPTH];
static uint32_t depth[STACKS];
static uint64_t next_id;
static __thread uint64_t last_id;

__attribute__((constructor)) static void first_id(void) { next_id = env_u64("FAKEMSPTI_CORRELATION_START", 1); }

uint64_t thread_correlation(void) { return last_id; }

/* An external record comes with a new id, and so before the record of the call. */
uint64_t take_correlation(void)
{
	last_id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
	for (uint32_t k = 0; enabled(EXTERNAL) && k < STACKS; k++) {
		pthread_mutex_lock(&lock);
		int any = depth[k] > 0;
		uint64_t top = any ? stacks[k][depth[k] - 1] : 0;
		pthread_mutex_unlock(&lock);
		if (any) {
			struct rec_external r = {.kind = EXTERNAL, .external = k, .id = top, .correlation = last_id};
			emit(&r, sizeof r);
		}
	}
	return last_id;
}

API int msptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
	pthread_mutex_lock(&lock);
	if (kind < STACKS && depth[kind] < DEPTH)
		stacks[kind][depth[kind]++] = id;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

API int msptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
	if (!last)
		return INVALID_PARAMETER; /* and nothing is taken off */
	int r = QUEUE_EMPTY;
	pthread_mutex_lock(&lock);
	if (kind < STACKS && depth[kind] > 0) {
		*last = stacks[kind][--depth[kind]];
		r = SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}
