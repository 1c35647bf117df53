/* Events and everything that waits. */
#include "cuda.h"

static uint32_t event_ids;
static uint64_t sync_ids;

static struct fg_api *outermost(struct fg_api *a)
{
	while (a->outer)
		a = a->outer;
	return a;
}

static void tell(struct fg_api *a, struct fg_sync n)
{
	if (sink())
		sink()->sync(outermost(a), &n);
}

API int cuStreamSynchronize(void *stream)
{
	BEGIN(D_cuStreamSynchronize);
	struct stream *s = stream_of(stream);
	NEED(s, ERR_CONTEXT);
	NEED(!s->capture, ERR_CAPTURE);
	uint64_t t0 = now_ns();
	sleep_until(sim_stream_done(s));
	tell(&a_, (struct fg_sync){FG_STREAM_SYNC, t0, now_ns(), s->ctx->id, s->id, FG_NO_ID, 0, OK, 0});
	END(OK);
}

API int cuStreamQuery(void *stream)
{
	BEGIN(D_cuStreamQuery);
	struct stream *s = stream_of(stream);
	NEED(s, ERR_CONTEXT);
	uint64_t t0 = now_ns();
	int rc = sim_stream_done(s) <= t0 ? OK : ERR_NOT_READY;
	tell(&a_, (struct fg_sync){FG_STREAM_SYNC, t0, now_ns(), s->ctx->id, s->id, FG_NO_ID, 0, rc, 1});
	END(rc);
}

API int cuCtxSynchronize(void)
{
	BEGIN(D_cuCtxSynchronize);
	struct context *c = current_context();
	NEED(c, ERR_CONTEXT);
	uint64_t t0 = now_ns();
	sleep_until(sim_context_done(c));
	tell(&a_, (struct fg_sync){FG_CONTEXT_SYNC, t0, now_ns(), c->id, FG_NO_ID, FG_NO_ID, 0, OK, 0});
	END(OK);
}

API int cuEventCreate(void **event, unsigned flags)
{
	(void)flags;
	BEGIN(D_cuEventCreate);
	NEED(event, ERR_VALUE);
	struct event *e = calloc(1, sizeof *e);
	NEED(e, ERR_MEMORY);
	e->id = next_id(&event_ids);
	*event = e;
	END(OK);
}

API int cuEventDestroy_v2(void *event)
{
	BEGIN(D_cuEventDestroy_v2);
	NEED(event, ERR_HANDLE);
	free(event);
	END(OK);
}

API int cuEventRecord(void *event, void *stream)
{
	BEGIN(D_cuEventRecord);
	struct event *e = event;
	struct stream *s = stream_of(stream);
	NEED(e, ERR_HANDLE);
	NEED(s, ERR_CONTEXT);
	if (s->capture)
		END(OK);
	uint64_t done = sim_stream_done(s), now = now_ns();
	e->time = done > now ? done : now;
	e->recorded = 1;
	e->stream = s->id;
	e->sync_id = __atomic_add_fetch(&sync_ids, 1, __ATOMIC_RELAXED);
	if (sink())
		sink()->event(outermost(&a_), &(struct fg_event_note){(uint32_t)s->ctx->device, s->ctx->id, s->id, e->id, e->time, e->sync_id});
	END(OK);
}

API int cuEventSynchronize(void *event)
{
	BEGIN(D_cuEventSynchronize);
	struct event *e = event;
	struct context *c = current_context();
	NEED(e, ERR_HANDLE);
	NEED(c, ERR_CONTEXT);
	uint64_t t0 = now_ns();
	if (e->recorded)
		sleep_until(e->time);
	tell(&a_, (struct fg_sync){FG_EVENT_SYNC, t0, now_ns(), c->id, e->recorded ? e->stream : FG_NO_ID, e->id, e->sync_id, OK, 0});
	END(OK);
}

API int cuEventQuery(void *event)
{
	BEGIN(D_cuEventQuery);
	struct event *e = event;
	struct context *c = current_context();
	NEED(e, ERR_HANDLE);
	NEED(c, ERR_CONTEXT);
	uint64_t t0 = now_ns();
	int rc = e->time <= t0 ? OK : ERR_NOT_READY;
	tell(&a_, (struct fg_sync){FG_EVENT_SYNC, t0, now_ns(), c->id, e->recorded ? e->stream : FG_NO_ID, e->id, e->sync_id, rc, 1});
	END(rc);
}

API int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	(void)flags;
	BEGIN(D_cuStreamWaitEvent);
	struct event *e = event;
	struct stream *s = stream_of(stream);
	NEED(e, ERR_HANDLE);
	NEED(s, ERR_CONTEXT);
	uint64_t t0 = now_ns();
	if (e->recorded)
		stream_join(s, e->time);
	tell(&a_, (struct fg_sync){FG_STREAM_WAIT, t0, now_ns(), s->ctx->id, s->id, e->id, e->sync_id, OK, 0});
	END(OK);
}
