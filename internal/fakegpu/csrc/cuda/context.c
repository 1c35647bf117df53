/* Contexts and streams. */
#include "cuda.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

static struct context *contexts;
static struct context *primary[MAX_DEVICES];
static uint32_t context_ids;
static __thread struct context *current;

/* The first context's default stream is 7 and its first own stream 13, as on
 * the real device; what takes the ids before and between does not matter here. */
enum { NULL_STREAM_ID = 7, FIRST_STREAM_ID = 13 };

struct context *current_context(void) { return current; }
struct context *all_contexts(void) { return contexts; }

static struct context *known_context(void *handle)
{
	for (struct context *c = contexts; c; c = c->next)
		if (c == handle)
			return c;
	return NULL;
}

struct stream *stream_of(void *handle)
{
	/* 1 and 2 are the legacy and the per-thread default stream. */
	if ((uintptr_t)handle <= 2)
		return current ? &current->null : NULL;
	return handle;
}

static struct context *new_context(int device)
{
	struct context *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->device = device;
	c->null.id = NULL_STREAM_ID;
	c->null.ctx = c;
	c->next_stream = FIRST_STREAM_ID;
	pthread_mutex_lock(&sim_lock);
	c->id = ++context_ids;
	struct context **last = &contexts;
	while (*last)
		last = &(*last)->next;
	*last = c;
	pthread_mutex_unlock(&sim_lock);
	return c;
}

static void note_context(const struct fg_sink *s, struct context *c)
{
	s->device(c->device);
	s->context(&(struct fg_context_note){c->id, (uint32_t)c->device});
	s->stream(NULL, &(struct fg_stream_note){c->id, c->null.id, 0, STREAM_FLAG_NULL});
}

void fg_dump_objects(const struct fg_sink *s)
{
	for (struct context *c = contexts; c; c = c->next) {
		note_context(s, c);
		for (struct stream *t = c->streams; t; t = t->next)
			s->stream(NULL, &(struct fg_stream_note){c->id, t->id, (uint32_t)t->priority, t->flags & STREAM_NON_BLOCKING ? STREAM_FLAG_NON_BLOCKING : STREAM_FLAG_DEFAULT});
	}
}

int fg_context_ids(void *ctx, uint32_t *id, uint32_t *device)
{
	struct context *c = ctx ? known_context(ctx) : current;
	if (!c)
		return -1;
	*id = c->id;
	*device = (uint32_t)c->device;
	return 0;
}

int fg_stream_id(void *ctx, void *stream, uint32_t *id)
{
	struct context *c = ctx ? known_context(ctx) : current;
	if (!c)
		return -1;
	*id = (uintptr_t)stream <= 2 ? c->null.id : ((struct stream *)stream)->id;
	return 0;
}

API int cuDevicePrimaryCtxRetain(void **ctx, int device)
{
	BEGIN(D_cuDevicePrimaryCtxRetain);
	NEED(ctx, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&once);
	struct context *c = primary[device], *made = NULL;
	if (!c)
		c = made = primary[device] = new_context(device);
	if (c)
		c->retained++;
	pthread_mutex_unlock(&once);
	NEED(c, ERR_MEMORY);
	if (made && sink())
		note_context(sink(), made);
	*ctx = c;
	END(OK);
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
	BEGIN(D_cuDevicePrimaryCtxRelease);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	NEED(primary[device], ERR_CONTEXT);
	primary[device]->retained--;
	END(OK);
}

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	BEGIN(D_cuDevicePrimaryCtxGetState);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	if (flags)
		*flags = 0;
	if (active)
		*active = primary[device] != NULL;
	END(OK);
}

API int cuCtxCreate_v2(void **ctx, unsigned flags, int device)
{
	(void)flags;
	BEGIN(D_cuCtxCreate_v2);
	NEED(ctx, ERR_VALUE);
	NEED(device >= 0 && device < fg_devices, ERR_DEVICE);
	struct context *c = new_context(device);
	NEED(c, ERR_MEMORY);
	current = c;
	if (sink())
		note_context(sink(), c);
	*ctx = c;
	END(OK);
}

/* The memory stays: a record or another thread may still name the context. */
API int cuCtxDestroy_v2(void *ctx)
{
	BEGIN(D_cuCtxDestroy_v2);
	NEED(known_context(ctx), ERR_CONTEXT);
	if (current == ctx)
		current = NULL;
	END(OK);
}

API int cuCtxSetCurrent(void *ctx)
{
	BEGIN(D_cuCtxSetCurrent);
	NEED(!ctx || known_context(ctx), ERR_CONTEXT);
	current = ctx;
	END(OK);
}

API int cuCtxGetCurrent(void **ctx)
{
	BEGIN(D_cuCtxGetCurrent);
	NEED(ctx, ERR_VALUE);
	*ctx = current;
	END(OK);
}

static int create_stream(struct fg_api *a, void **stream, unsigned flags, int priority)
{
	if (!stream)
		return ERR_VALUE;
	if (!current)
		return ERR_CONTEXT;
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return ERR_MEMORY;
	s->ctx = current;
	s->flags = flags;
	s->priority = priority;
	pthread_mutex_lock(&sim_lock);
	s->id = current->next_stream++;
	s->next = current->streams;
	current->streams = s;
	pthread_mutex_unlock(&sim_lock);
	struct fg_api *outer = a;
	while (outer->outer)
		outer = outer->outer;
	if (sink())
		sink()->stream(outer, &(struct fg_stream_note){s->ctx->id, s->id, (uint32_t)priority, flags & STREAM_NON_BLOCKING ? STREAM_FLAG_NON_BLOCKING : STREAM_FLAG_DEFAULT});
	*stream = s;
	return OK;
}

API int cuStreamCreate(void **stream, unsigned flags)
{
	BEGIN(D_cuStreamCreate);
	END(create_stream(&a_, stream, flags, 0));
}

API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	BEGIN(D_cuStreamCreateWithPriority);
	END(create_stream(&a_, stream, flags, priority));
}

/* Work already submitted goes on, so the struct stays in its context's list. */
API int cuStreamDestroy_v2(void *stream)
{
	BEGIN(D_cuStreamDestroy_v2);
	NEED((uintptr_t)stream > 2, ERR_HANDLE);
	END(OK);
}
