/* What the simulated driver tells: decides which records are wanted. */
#include "cupti.h"

static void on_enter(struct fg_api *a)
{
	a->recorded = !playing() && have_callbacks() && api_wanted(a->domain, a->cbid);
	if (a->recorded)
		a->start = clock_now();
	subscriber_call(a, 0);
}

static void on_leave(struct fg_api *a)
{
	subscriber_call(a, 1);
	if (playing()) {
		play_step();
		return;
	}
	if (!a->recorded)
		return;
	emit_external(a);
	emit_api(a, clock_now());
}

/* The external ids of a call come before its device records, these before the
 * record of the call itself. */
static int wanted(struct fg_api *a, uint32_t kind)
{
	if (playing())
		return 0;
	if (a && a->recorded)
		emit_external(a);
	return kind_enabled(kind);
}

static void on_work(struct fg_api *a, const struct fg_work *w)
{
	if (wanted(a, w->kind))
		emit_work(a, w);
}

static void on_sync(struct fg_api *a, const struct fg_sync *s)
{
	/* 12.8 was seen to leave out context synchronisation. */
	if (s->type == FG_CONTEXT_SYNC && quirk.version < 130000)
		return;
	if (s->query && s->result && !all_sync_records())
		return;
	if (wanted(a, SYNCHRONIZATION))
		emit_sync(a, s);
}

static void on_event(struct fg_api *a, const struct fg_event_note *e)
{
	/* 12.8 was seen to deliver these when only synchronisation was asked for. */
	int unasked = quirk.version == 26 && !playing() && kind_enabled(SYNCHRONIZATION);
	if (wanted(a, CUDA_EVENT) || unasked)
		emit_event(a, e);
}

static void on_device(int device)
{
	if (wanted(NULL, DEVICE))
		emit_device(device);
}

static void on_context(const struct fg_context_note *c)
{
	if (wanted(NULL, CONTEXT))
		emit_context(c);
}

static void on_stream(struct fg_api *a, const struct fg_stream_note *s)
{
	if (wanted(a, STREAM))
		emit_stream(a, s);
}

static const struct fg_sink sink = {
	.enter = on_enter, .leave = on_leave, .work = on_work, .sync = on_sync, .event = on_event,
	.device = on_device, .context = on_context, .stream = on_stream};

int attach(void)
{
	return fg_attach(&sink) == 0 ? SUCCESS : MULTIPLE_SUBSCRIBERS;
}

/* For cuptiActivityEnableAndDump: only the kind just enabled. */
static uint32_t dumped;
static void dump_device(int device) { if (dumped == DEVICE) emit_device(device); }
static void dump_context(const struct fg_context_note *c) { if (dumped == CONTEXT) emit_context(c); }
static void dump_stream(struct fg_api *a, const struct fg_stream_note *s) { if (dumped == STREAM) emit_stream(a, s); }

void dump_objects(uint32_t kind);
void dump_objects(uint32_t kind)
{
	static const struct fg_sink s = {.device = dump_device, .context = dump_context, .stream = dump_stream};
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one);
	dumped = kind;
	fg_dump_objects(&s);
	pthread_mutex_unlock(&one);
}
