/* The simulated device: what work costs, and when it runs.
 *
 * Everything is decided when the work is submitted: a piece of work starts when
 * its launch has reached the device, its stream is free and, for copies, its
 * copy engine is free; it ends a modelled time later. Kernels of different
 * streams overlap without slowing one another down. Nothing really runs:
 * synchronising calls sleep until the end that was decided. */
#include "cuda.h"

/* Copy engines of a device: one a direction. */
enum { ENGINE_HTOD, ENGINE_DTOH, ENGINES };

static uint64_t engine[MAX_DEVICES][ENGINES];
static uint64_t launch_latency, fixed_kernel_ns, percent;
static int64_t grid_ids;

__attribute__((constructor)) static void read_model(void)
{
	launch_latency = env_u64("FAKEGPU_LAUNCH_LATENCY_NS", 4000);
	fixed_kernel_ns = env_u64("FAKEGPU_KERNEL_NS", 0);
	percent = env_u64("FAKEGPU_TIME_PERCENT", 100);
}

static uint64_t hash(const char *s)
{
	uint64_t h = 14695981039346656037u;
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211u;
	return h;
}

static uint64_t max64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* 2-8 us of fixed cost by name, then full waves of 132 multiprocessors with
 * 2048 threads each, 1.5-4.5 us a wave. */
uint64_t sim_kernel_ns(const struct fg_func *f, const int32_t grid[3], const int32_t block[3])
{
	if (fixed_kernel_ns)
		return fixed_kernel_ns;
	uint64_t h = hash(f->name);
	uint64_t threads = (uint64_t)grid[0] * (uint64_t)grid[1] * (uint64_t)grid[2] * (uint64_t)block[0] * (uint64_t)block[1] * (uint64_t)block[2];
	uint64_t waves = (threads + 132 * 2048 - 1) / (132 * 2048);
	return (2000 + h % 6000 + waves * (1500 + (h >> 20) % 3000)) * percent / 100;
}

/* Bytes a microsecond: pinned and pageable host copies, device memory. */
static uint64_t copy_ns(const struct fg_work *w)
{
	uint64_t rate;
	if (w->kind == FG_SET)
		rate = 3000000;
	else if (w->copy_kind == FG_DTOD)
		rate = 2000000;
	else if (w->copy_kind == FG_PTOP)
		rate = 300000;
	else
		rate = w->src_kind == FG_PAGEABLE || w->dst_kind == FG_PAGEABLE ? 12000 : 55000;
	return (1200 + w->bytes * 1000 / rate) * percent / 100;
}

/* The default stream and ordinary streams wait for each other; streams created
 * as non-blocking do not take part. */
static uint64_t stream_ready(const struct stream *s)
{
	uint64_t t = s->avail;
	const struct context *c = s->ctx;
	if (s == &c->null) {
		for (const struct stream *o = c->streams; o; o = o->next)
			if (!(o->flags & STREAM_NON_BLOCKING))
				t = max64(t, o->avail);
	} else if (!(s->flags & STREAM_NON_BLOCKING)) {
		t = max64(t, c->null.avail);
	}
	return t;
}

void sim_submit(struct fg_api *a, struct stream *s, struct fg_work *w)
{
	uint64_t now = now_ns();
	pthread_mutex_lock(&sim_lock);
	if (s->capture) {
		graph_add(s->capture, w);
		pthread_mutex_unlock(&sim_lock);
		return;
	}
	uint64_t ready = stream_ready(s);
	/* Work queued back to back starts a microsecond after its predecessor. */
	uint64_t start = max64(now + launch_latency, ready ? ready + 1000 : 0);
	int dev = s->ctx->device;
	uint64_t *e = NULL;
	w->channel = s->id;
	w->channel_type = 1;
	if (w->kind == FG_COPY && (w->copy_kind == FG_HTOD || w->copy_kind == FG_DTOH)) {
		int up = w->copy_kind == FG_HTOD;
		e = &engine[dev][up ? ENGINE_HTOD : ENGINE_DTOH];
		start = max64(start, *e);
		w->channel = up ? 8 : 12;
		w->channel_type = 2;
	} else if (s == &s->ctx->null) {
		w->channel = 0;
	}
	uint64_t ns = w->kind == FG_KERNEL ? sim_kernel_ns(w->func, w->grid, w->block) : copy_ns(w);
	/* No two runs of a kernel take the same time: up to 3 % more. */
	uint64_t jitter = (uint64_t)(grid_ids + 1) * 2654435761u % 1000;
	if (!fixed_kernel_ns)
		ns += ns * jitter * 3 / 100000;
	w->start = start;
	w->end = start + ns;
	w->device = (uint32_t)dev;
	w->context = s->ctx->id;
	w->stream = s->id;
	if (w->kind == FG_KERNEL)
		w->grid_id = ++grid_ids;
	if (e)
		*e = w->end;
	s->avail = w->end;
	pthread_mutex_unlock(&sim_lock);

	while (a->outer)
		a = a->outer;
	if (sink())
		sink()->work(a, w);
}

uint64_t sim_stream_done(struct stream *s)
{
	pthread_mutex_lock(&sim_lock);
	uint64_t t = stream_ready(s);
	pthread_mutex_unlock(&sim_lock);
	return t;
}

uint64_t sim_context_done(struct context *c)
{
	pthread_mutex_lock(&sim_lock);
	uint64_t t = c->null.avail;
	for (struct stream *s = c->streams; s; s = s->next)
		t = max64(t, s->avail);
	pthread_mutex_unlock(&sim_lock);
	return t;
}

/* stream_join makes later work of s wait until t. */
void stream_join(struct stream *s, uint64_t t)
{
	pthread_mutex_lock(&sim_lock);
	s->avail = max64(s->avail, t);
	pthread_mutex_unlock(&sim_lock);
}
