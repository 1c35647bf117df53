/* Records of device work that get into a buffer only once the device is done with
 * it (FAKECUPTI_AT_COMPLETION), as the real library's seem to: with work queued all
 * the time, flushes that are not forced bring what has finished. */
#include <stdlib.h>

#include "cupti.h"

struct waiter { struct record r; uint32_t correlation; struct waiter *next; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Held until what was taken off the list is in a buffer: a flush waits for that. */
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *list, **list_end = &list;
static uint32_t n_waiting;

int wait_for_work(const struct record *r, uint32_t correlation)
{
	if (!quirk.at_completion || !r->due)
		return 0;
	struct waiter *w = malloc(sizeof *w);
	if (!w)
		return 0;
	*w = (struct waiter){*r, correlation, NULL};
	pthread_mutex_lock(&lock);
	*list_end = w;
	list_end = &w->next;
	int many = ++n_waiting % 512 == 0;
	pthread_mutex_unlock(&lock);
	if (many)
		end_waiting(0);
	return 1;
}

/* end_waiting puts what has finished into buffers; forced, also what has not, which
 * then has no end. */
void end_waiting(int forced)
{
	uint64_t now = realtime();
	struct waiter *out = NULL, **out_end = &out;
	pthread_mutex_lock(&moving);
	pthread_mutex_lock(&lock);
	for (struct waiter **p = &list; *p;) {
		struct waiter *w = *p;
		if (w->r.due > now && !forced) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		*out_end = w;
		out_end = &w->next;
		n_waiting--;
	}
	*out_end = NULL;
	list_end = &list;
	while (*list_end)
		list_end = &(*list_end)->next;
	pthread_mutex_unlock(&lock);
	while (out) {
		struct waiter *w = out;
		out = w->next;
		emit_now(&w->r, w->correlation);
		free(w);
	}
	pthread_mutex_unlock(&moving);
}
