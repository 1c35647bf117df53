/* Handing buffers back: by a worker thread when they are full and finished, by a
 * flush on the flushing thread. */
#include <signal.h>
#include <stdlib.h>

#include "buffers.h"

/* Gives b back to the client; called without the lock. A forced flush leaves
 * work that is still running without an end, and never delivers it again. */
static void deliver(struct cbuf *b, int forced)
{
	uint64_t now = realtime();
	for (size_t i = 0; i < b->n_pending; i++) {
		uint8_t *r = b->data + b->pending[i].off;
		uint64_t t[2]; /* start and end, at the same offsets in all device records */
		memcpy(t, r + KERNEL_start, sizeof t);
		clock_convert(t, 2);
		if (forced && b->pending[i].due > now)
			t[1] = 0;
		memcpy(r + KERNEL_start, t, sizeof t);
		uint32_t kind;
		memcpy(&kind, r, sizeof kind);
		if (kind == CONCURRENT_KERNEL)
			memcpy(r + KERNEL_completed, &t[1], sizeof t[1]);
	}
	complete_fn fn = __atomic_load_n(&buffers.complete, __ATOMIC_ACQUIRE);
	log_line("callback-complete", b->used, b->cap);
	if (fn) {
		uint64_t cpu = cost_begin();
		fn(NULL, 0, b->data, b->cap, b->used);
		cost_complete(cpu);
	}
	free(b->pending);
	free(b);
}

static void *worker(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "fakecupti"); /* what it costs is not the client's */
	pthread_mutex_lock(&buffers.lock);
	for (;;) {
		uint64_t now = realtime(), next = UINT64_MAX;
		struct cbuf **p = &buffers.full;
		while (*p && (*p)->due > now) {
			next = (*p)->due < next ? (*p)->due : next;
			p = &(*p)->next;
		}
		struct cbuf *b = quirk.late ? NULL : *p;
		if (b) {
			*p = b->next;
			if (!*p)
				buffers.full_end = p;
			buffers.delivering++;
			outside_lock();
			deliver(b, 0);
			inside_lock();
			buffers.delivering--;
			pthread_cond_broadcast(&buffers.idle);
		} else if (quirk.late || next == UINT64_MAX) {
			pthread_cond_wait(&buffers.work, &buffers.lock);
		} else {
			struct timespec until = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
			pthread_cond_timedwait(&buffers.work, &buffers.lock, &until);
		}
	}
	return NULL;
}

void start_worker(void)
{
	if (buffers.worker_started)
		return;
	buffers.worker_started = 1;
	sigset_t all, before;
	pthread_t t;
	pthread_attr_t attr;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&t, &attr, worker, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int flush_all(int forced)
{
	if (quirk.late && !forced)
		return SUCCESS;
	end_waiting(forced);
	struct cbuf *out = NULL, **end = &out;
	pthread_mutex_lock(&buffers.lock);
	uint64_t now = realtime();
	for (struct cbuf **p = &buffers.full; *p;) {
		struct cbuf *b = *p;
		if (!forced && b->due > now) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		*end = b;
		end = &b->next;
	}
	buffers.full_end = &buffers.full;
	while (*buffers.full_end)
		buffers.full_end = &(*buffers.full_end)->next;
	for (struct slot *s = buffers.slots; s; s = s->next) {
		if (!s->cur || (!forced && (s->cur->due > now || !s->cur->used)))
			continue;
		*end = s->cur;
		end = &s->cur->next;
		s->cur = NULL;
	}
	if (forced) {
		*end = buffers.spare;
		buffers.spare = NULL;
	} else {
		*end = NULL;
	}
	while (out) {
		struct cbuf *b = out;
		out = b->next;
		outside_lock();
		deliver(b, forced);
		inside_lock();
	}
	/* What the worker is handing over belongs to this flush too. */
	while (buffers.delivering)
		pthread_cond_wait(&buffers.idle, &buffers.lock);
	pthread_mutex_unlock(&buffers.lock);
	return SUCCESS;
}
