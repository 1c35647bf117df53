/* API calls: who is outermost, correlation ids, the observer. */
#include <stdatomic.h>
#include <unistd.h>

#include "cuda.h"

static _Atomic(const struct fg_sink *) the_sink;
static _Atomic uint32_t correlation;
static _Atomic int inited, forked;
static __thread struct fg_api *current;

__attribute__((constructor)) static void read_start(void)
{
	atomic_store(&correlation, (uint32_t)(env_u64("FAKEGPU_CORRELATION_START", 1) - 1));
}

const struct fg_sink *sink(void)
{
	return atomic_load_explicit(&the_sink, memory_order_acquire);
}

int fg_attach(const struct fg_sink *s)
{
	const struct fg_sink *none = NULL;
	if (atomic_compare_exchange_strong(&the_sink, &none, s))
		return 0;
	return none == s ? 0 : -1;
}

uint32_t next_id(uint32_t *counter)
{
	return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_until(uint64_t t)
{
	struct timespec ts = {(time_t)(t / 1000000000u), (long)(t % 1000000000u)};
	while (now_ns() < t)
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
}

void fg_set_inited(void);
void fg_set_inited(void)
{
	atomic_store(&inited, 1);
}

void fg_set_forked(void);
void fg_set_forked(void)
{
	if (atomic_load(&inited))
		atomic_store(&forked, 1);
	current = NULL;
}

int fg_forked(void)
{
	return atomic_load(&forked);
}

int fg_enter(struct fg_api *a, enum fg_domain d, uint32_t cbid)
{
	memset(a, 0, sizeof *a);
	a->outer = current;
	a->domain = d;
	a->cbid = cbid;
	current = a;
	if (forked)
		return ERR_NOT_INITIALIZED;
	if (!a->outer) {
		/* 0 means "none" in every record, so the wrap steps over it. */
		do
			a->correlation = atomic_fetch_add(&correlation, 1) + 1;
		while (a->correlation == 0);
		const struct fg_sink *s = sink();
		if (s)
			s->enter(a);
	}
	if (!inited && !(d == FG_DRIVER && cbid == D_cuInit))
		return ERR_NOT_INITIALIZED;
	return 0;
}

int fg_leave(struct fg_api *a, int result)
{
	const struct fg_sink *s = sink();
	struct context *c = current_context();
	a->result = result;
	a->context = c ? c->id : 0;
	if (!a->outer && s && !forked)
		s->leave(a);
	current = a->outer;
	return result;
}
