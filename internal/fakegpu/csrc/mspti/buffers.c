/* Buffers: asked for on whichever thread records first, with the lock held; handed
 * over at four fifths by a thread of its own; by a flush on the flushing thread. */
#include <stdlib.h>
#include <time.h>

#include "mspti.h"

struct done {
	struct done *next;
	pthread_t thread;
	uint8_t *data;
	size_t size, valid;
};

static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static request_fn request;
static complete_fn complete;
static struct { uint8_t *data; size_t size, used; int asked; } cur;
static struct done *workers;

void set_callbacks(request_fn r, complete_fn c)
{
	pthread_mutex_lock(&buffer_lock);
	request = r;
	__atomic_store_n(&complete, c, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&buffer_lock);
}

static void deliver(uint8_t *data, size_t size, size_t valid)
{
	complete_fn fn = __atomic_load_n(&complete, __ATOMIC_ACQUIRE);
	log_line("callback-complete", valid, size);
	if (fn)
		fn(data, size, valid);
}

static void *worker(void *arg)
{
	struct done *d = arg;
	deliver(d->data, d->size, d->valid);
	return NULL;
}

static void hand_over(void)
{
	struct done *d = calloc(1, sizeof *d);
	if (!d)
		abort();
	*d = (struct done){.data = cur.data, .size = cur.size, .valid = cur.used};
	cur.data = NULL;
	cur.used = 0;
	cur.asked = 0;
	pthread_mutex_lock(&queue_lock);
	if (pthread_create(&d->thread, NULL, worker, d))
		abort();
	d->next = workers;
	workers = d;
	pthread_mutex_unlock(&queue_lock);
}

void emit(const void *record, size_t size)
{
	pthread_mutex_lock(&buffer_lock);
	if (!cur.data && request) {
		size_t max = 0;
		cur.size = 0;
		log_line("callback-request", size, 0);
		request(&cur.data, &cur.size, &max); /* the most records are not heeded */
		cur.asked = 1;
	}
	if (cur.data && cur.used + size <= cur.size) {
		memcpy(cur.data + cur.used, record, size);
		cur.used += size;
		if (cur.used * 5 >= cur.size * 4)
			hand_over();
	} else {
		log_line("dropped", size, 0); /* there is no count that a client could ask for */
	}
	pthread_mutex_unlock(&buffer_lock);
}

void flush_buffers(void)
{
	if (quirk.flush_block_ms) {
		for (int64_t left = quirk.flush_block_ms; left != 0; left -= left > 0) {
			struct timespec ms = {0, 1000000};
			nanosleep(&ms, NULL);
		}
	}
	pthread_mutex_lock(&queue_lock);
	while (workers) {
		struct done *d = workers;
		workers = d->next;
		pthread_join(d->thread, NULL);
		free(d);
	}
	pthread_mutex_unlock(&queue_lock);
	pthread_mutex_lock(&buffer_lock);
	if (cur.asked) { /* the callback is called for a buffer that was not given, too */
		deliver(cur.data, cur.size, cur.used);
		cur.data = NULL;
		cur.size = cur.used = 0;
		cur.asked = 0;
	}
	pthread_mutex_unlock(&buffer_lock);
}

size_t record_size(uint32_t kind)
{
	static const uint8_t sizes[N_KINDS] = {
		[MARKER] = sizeof(struct rec_marker), [KERNEL] = sizeof(struct rec_kernel), [API_ANY] = sizeof(struct rec_api),
		[HCCL] = sizeof(struct rec_hccl), [MEMORY] = sizeof(struct rec_memory), [MEMSET] = sizeof(struct rec_memset),
		[MEMCPY] = sizeof(struct rec_memcpy), [EXTERNAL] = sizeof(struct rec_external),
		[COMMUNICATION] = sizeof(struct rec_communication), [ACL_API] = sizeof(struct rec_api),
		[NODE_API] = sizeof(struct rec_api), [RUNTIME_API] = sizeof(struct rec_api)};
	return kind < N_KINDS && kind <= quirk.max_kind ? sizes[kind] : 0;
}

/* The position is the thread's own, whatever *record says, and goes back to the
 * start only when it gets to the end. */
API int msptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	static __thread size_t at;
	if (!buffer || !record)
		return INVALID_PARAMETER;
	if (at >= valid) {
		at = 0;
		return MAX_LIMIT_REACHED;
	}
	uint32_t kind;
	memcpy(&kind, buffer + at, sizeof kind);
	size_t size = record_size(kind);
	if (size == 0)
		return INNER;
	*record = buffer + at;
	at += size;
	return SUCCESS;
}
