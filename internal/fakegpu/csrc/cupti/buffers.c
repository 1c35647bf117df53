/* Activity buffers: asked of the client on the thread that has a record to
 * write, filled, and handed back by a worker thread or by a flush.
 *
 * One mutex guards the lists. It is not held around the client's callbacks,
 * unless the switch FAKECUPTI_LOCKED_CALLBACKS asks for the bad case. */
#include <signal.h>
#include <stdlib.h>

#include "buffers.h"

struct buffers buffers = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER,
	.slots = &buffers.shared, .full_end = &buffers.full};

static int per_thread_on;
static uint64_t dropped, emitted;
static request_fn request;
static pthread_key_t slot_key;
static __thread struct slot *own_slot;

void outside_lock(void) { if (!quirk.locked_callbacks) pthread_mutex_unlock(&buffers.lock); }
void inside_lock(void) { if (!quirk.locked_callbacks) pthread_mutex_lock(&buffers.lock); }

void set_callbacks(request_fn r, complete_fn c)
{
	pthread_mutex_lock(&buffers.lock);
	request = r;
	buffers.complete = c;
	pthread_mutex_unlock(&buffers.lock);
}

int have_callbacks(void) { return __atomic_load_n(&request, __ATOMIC_ACQUIRE) != NULL; }
void set_per_thread(int on) { __atomic_store_n(&per_thread_on, on, __ATOMIC_RELEASE); }
int per_thread(void) { return __atomic_load_n(&per_thread_on, __ATOMIC_ACQUIRE); }

/* Takes the lock, as the real one does: in the bad case of locked callbacks a
 * client that asks from a callback never comes back. */
uint64_t take_dropped(void)
{
	pthread_mutex_lock(&buffers.lock);
	uint64_t n = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&buffers.lock);
	return n;
}

static void drop(void) { __atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED); }

static void to_full(struct slot *s)
{
	struct cbuf *b = s->cur;
	s->cur = NULL;
	if (!b)
		return;
	b->next = NULL;
	*buffers.full_end = b;
	buffers.full_end = &b->next;
	start_worker();
	pthread_cond_signal(&buffers.work);
}

static void thread_ends(void *arg)
{
	struct slot *s = arg;
	pthread_mutex_lock(&buffers.lock);
	to_full(s);
	s->taken = 0;
	pthread_mutex_unlock(&buffers.lock);
}

__attribute__((constructor)) static void make_key(void) { pthread_key_create(&slot_key, thread_ends); }

static struct slot *my_slot(void)
{
	if (!per_thread())
		return &buffers.shared;
	if (own_slot)
		return own_slot;
	struct slot *s = buffers.slots;
	while (s && (s->taken || s == &buffers.shared))
		s = s->next;
	if (!s) {
		s = calloc(1, sizeof *s);
		if (!s)
			return &buffers.shared;
		s->next = buffers.shared.next;
		buffers.shared.next = s;
	}
	s->taken = 1;
	pthread_setspecific(slot_key, s);
	return own_slot = s;
}

static int fits(const struct cbuf *b, size_t size)
{
	return b->used + size <= b->cap && (!b->max_records || b->records < b->max_records);
}

static void append(struct cbuf *b, const struct record *r)
{
	if (r->due) {
		if (b->n_pending == b->cap_pending) {
			b->cap_pending = b->cap_pending ? 2 * b->cap_pending : 64;
			b->pending = realloc(b->pending, b->cap_pending * sizeof *b->pending);
			if (!b->pending)
				abort();
		}
		b->pending[b->n_pending++] = (struct pending){b->used, r->due};
		if (r->due > b->due)
			b->due = r->due;
	}
	memcpy(b->data + b->used, r->b, r->size);
	b->used += r->size;
	b->records++;
}

/* Asks the client for a buffer; called with the lock, which it lets go of.
 * The request itself leaves an overhead record. */
static struct cbuf *ask(size_t need, uint32_t correlation, struct record *overhead)
{
	request_fn fn = request;
	uint8_t *data = NULL;
	size_t cap = 0, max = 0;
	outside_lock();
	uint64_t t0 = clock_now();
	log_line("callback-request", need, 0);
	uint64_t cpu = cost_begin();
	fn(&data, &cap, &max);
	cost_request(cpu);
	make_overhead(t0, clock_now(), correlation, overhead);
	inside_lock();
	if (!data && quirk.crash_on_null)
		raise(SIGSEGV);
	if (!data || (uintptr_t)data % 8 || cap < need)
		return NULL;
	struct cbuf *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->data = data;
	b->cap = cap;
	b->max_records = max;
	return b;
}

static void emit_one(const struct record *r, uint32_t correlation)
{
	struct record overhead;
	overhead.size = 0;
	pthread_mutex_lock(&buffers.lock);
	struct slot *s = my_slot();
	if (s->cur && !fits(s->cur, r->size))
		to_full(s);
	if (!s->cur && buffers.spare && fits(buffers.spare, r->size)) {
		s->cur = buffers.spare;
		buffers.spare = buffers.spare->next;
	}
	if (!s->cur && request) {
		struct cbuf *b = ask(r->size, correlation, &overhead);
		/* Another thread may have put one there meanwhile. */
		if (b && s->cur && fits(s->cur, r->size)) {
			b->next = buffers.spare;
			buffers.spare = b;
		} else if (b) {
			to_full(s);
			s->cur = b;
		}
	}
	if (s->cur && fits(s->cur, r->size)) {
		append(s->cur, r);
		if (overhead.size && fits(s->cur, overhead.size))
			append(s->cur, &overhead);
	} else if (request) {
		drop();
	}
	pthread_mutex_unlock(&buffers.lock);
}

void emit(const struct record *r, uint32_t correlation)
{
	static uint64_t drop_count, unknown_count;
	if (fg_forked() || !have_callbacks())
		return;
	if (quirk.stop_after >= 0 && (int64_t)__atomic_fetch_add(&emitted, 1, __ATOMIC_RELAXED) >= quirk.stop_after)
		return;
	if (hit(&drop_count, quirk.drop_every)) {
		drop();
		return;
	}
	if (!wait_for_work(r, correlation))
		emit_one(r, correlation);
	if (hit(&unknown_count, quirk.unknown_every)) {
		struct record u;
		record_init(&u, (uint32_t)quirk.unknown_kind);
		memset(u.b + 4, 0x5A, u.size - 4);
		emit_one(&u, 0);
	}
}

void emit_now(const struct record *r, uint32_t correlation) { emit_one(r, correlation); }

/* seal_current ends the buffer in use, so that the next record starts another. */
void seal_current(void)
{
	pthread_mutex_lock(&buffers.lock);
	to_full(my_slot());
	pthread_mutex_unlock(&buffers.lock);
}

