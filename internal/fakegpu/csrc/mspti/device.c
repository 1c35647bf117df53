/* Records of device work: they are on the device's path until the work has ended,
 * and a flush does not reach them there. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "mspti.h"

struct waiting {
	struct waiting *next;
	struct fa_task t;
	uint32_t kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct waiting *first, **last = &first;

static void write_kernel(const struct fa_task *t)
{
	static uint64_t stale, no_id, empty, wild, untimed, negative, resync, unknown;
	static uint64_t before;
	static int64_t offset;
	struct rec_kernel r = {.kind = KERNEL, .start = t->start, .end = t->end, .device = t->device, .stream = t->stream,
			       .correlation = t->correlation, .type = t->type, .name = t->name};
	if (hit(&stale, quirk.stale_every))
		r.correlation = before;
	if (hit(&no_id, quirk.no_id_every))
		r.correlation = 0;
	before = t->correlation;
	if (hit(&empty, quirk.empty_name_every))
		r.name = "";
	if (hit(&wild, quirk.wild_name_every))
		r.name = (const char *)8;
	if (hit(&resync, quirk.resync_every))
		offset -= quirk.resync_ns;
	r.start += (uint64_t)offset;
	r.end += (uint64_t)offset;
	if (hit(&negative, quirk.negative_every))
		r.end = r.start - (uint64_t)quirk.negative_ns;
	if (hit(&untimed, quirk.untimed_every))
		r.start = r.end = 0;
	if (quirk.aligned) {
		struct { uint32_t kind; uint64_t start, end; uint32_t device, stream; uint64_t correlation; const char *type, *name; } a = {
			KERNEL, r.start, r.end, r.device, r.stream, r.correlation, r.type, r.name};
		_Static_assert(sizeof a == sizeof r, "the same size, other places");
		emit(&a, sizeof a);
	} else {
		emit(&r, sizeof r);
	}
	if (hit(&unknown, quirk.unknown_every)) {
		uint32_t u[8] = {(uint32_t)quirk.unknown_kind, 1, 2, 3, 4, 5, 6, 7};
		emit(u, sizeof u);
	}
}

static void write_task(uint32_t kind, const struct fa_task *t)
{
	if (!enabled(kind))
		return; /* what comes later than the switch is discarded */
	if (kind == KERNEL) {
		write_kernel(t);
		return;
	}
	if (kind == HCCL) {
		struct rec_hccl h = {.kind = HCCL, .start = t->start, .end = t->end, .device = t->device, .stream = t->stream,
				     .bandwidth = (double)t->bytes / (double)(t->end - t->start), .name = t->name, .communicator = t->communicator};
		emit(&h, sizeof h);
		return;
	}
	struct rec_communication c = {.kind = COMMUNICATION, .data_type = t->data_type, .count = t->count, .device = t->device,
				      .stream = t->stream, .start = t->start, .end = t->end, .algorithm = t->algorithm,
				      .name = t->name, .communicator = t->communicator, .correlation = t->correlation};
	emit(&c, sizeof c);
}

static void add(uint32_t kind, const struct fa_task *t)
{
	struct waiting *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->t = *t;
	w->kind = kind;
	pthread_mutex_lock(&lock);
	*last = w;
	last = &w->next;
	pthread_mutex_unlock(&lock);
}

void device_task(const struct fa_task *t)
{
	if (!t->communicator) {
		if (enabled(KERNEL))
			add(KERNEL, t);
		return;
	}
	if (enabled(HCCL) && within_collective())
		add(HCCL, t);
	if (enabled(COMMUNICATION))
		add(COMMUNICATION, t);
}

/* Takes the oldest record of a kind (0: any) whose work has ended; *left says whether
 * there are others. */
static struct waiting *take(uint32_t kind, uint64_t delay, int *left)
{
	struct waiting *w = NULL;
	uint64_t at = now();
	*left = 0;
	for (struct waiting **p = &first; *p; p = &(*p)->next) {
		if (kind && (*p)->kind != kind)
			continue;
		if ((*p)->t.end + delay > at) {
			*left = 1;
			continue;
		}
		w = *p;
		*p = w->next;
		if (!w->next)
			last = p;
		*left = 1;
		break;
	}
	return w;
}

static int move(uint32_t kind, uint64_t delay)
{
	for (;;) {
		int left;
		pthread_mutex_lock(&lock);
		struct waiting *w = take(kind, delay, &left);
		if (!w) {
			pthread_mutex_unlock(&lock);
			return left;
		}
		write_task(w->kind, &w->t); /* in order */
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
		free(w);
	}
}

void device_drain(uint32_t kind)
{
	while (move(kind, 0)) {
		struct timespec ms = {0, 200000};
		nanosleep(&ms, NULL);
	}
}

static void *parser(void *arg)
{
	(void)arg;
	for (;;) {
		struct timespec ms = {0, 1000000};
		nanosleep(&ms, NULL);
		move(0, quirk.device_delay_ms * 1000000u);
	}
	return NULL;
}

void device_start(void)
{
	static int started;
	pthread_t t;
	if (__atomic_exchange_n(&started, 1, __ATOMIC_RELAXED))
		return;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&t, NULL, parser, NULL) == 0)
		pthread_setname_np(t, "ActivityManager");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
