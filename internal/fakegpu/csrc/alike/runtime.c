/* The runtime: streams that take as long as their work does. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime.h"

#define API __attribute__((visibility("default")))

enum { MAX_NODES = 64 };
struct graph { struct rt_work nodes[MAX_NODES]; int n; };
struct stream { uint32_t id; uint64_t busy_until; struct graph *capture; };

static struct stream null_stream = {.id = 7};
static uint32_t last_stream = 12;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct rt_observer *observer;

API void fakert_observe(const struct rt_observer *o) { __atomic_store_n(&observer, o, __ATOMIC_RELEASE); }

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t t)
{
	struct timespec ts = {.tv_sec = (time_t)(t / 1000000000u), .tv_nsec = (long)(t % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static struct stream *of(void *handle) { return handle ? handle : &null_stream; }

struct call { enum rt_op op; uint64_t id, start; const struct rt_observer *o; };

static struct call enter(enum rt_op op, const struct rt_work *w)
{
	struct call c = {.op = op, .o = __atomic_load_n(&observer, __ATOMIC_ACQUIRE)};
	c.start = now();
	c.id = c.o ? c.o->enter(op, w) : 0;
	return c;
}

static int leave(struct call *c)
{
	if (c->o)
		c->o->leave(c->op, c->id, c->start, now());
	return 0;
}

static void enqueue(struct call *c, struct rt_work *w, struct stream *s, uint64_t ns)
{
	pthread_mutex_lock(&lock);
	uint64_t t = now() + 2000;
	w->start = t > s->busy_until ? t : s->busy_until + 500;
	w->end = s->busy_until = w->start + ns;
	w->stream = s->id;
	pthread_mutex_unlock(&lock);
	if (c->o)
		c->o->work(c->id, w);
}

API int RT(Malloc)(void **p, size_t bytes)
{
	struct call c = enter(OP_MALLOC, NULL);
	*p = malloc(bytes);
	return leave(&c);
}

API int RT(Free)(void *p)
{
	struct call c = enter(OP_FREE, NULL);
	free(p);
	return leave(&c);
}

API int RT(GetDevice)(int *device)
{
	struct call c = enter(OP_GET_DEVICE, NULL);
	*device = 0;
	return leave(&c);
}

/* What a program asks first. */
API int RT(GetDeviceCount)(int *n)
{
	*n = 1;
	return 0;
}

API int RT(SetDevice)(int device) { return device == 0 ? 0 : 1; }

API int RT(StreamCreate)(void **stream)
{
	struct stream *s = calloc(1, sizeof *s);
	s->id = __atomic_add_fetch(&last_stream, 1, __ATOMIC_RELAXED);
	*stream = s;
	return 0;
}

API int RT(StreamSynchronize)(void *stream)
{
	struct rt_work w = {.op = OP_STREAM_SYNC, .stream = of(stream)->id};
	struct call c = enter(OP_STREAM_SYNC, &w);
	wait_until(of(stream)->busy_until);
	return leave(&c);
}

API int RT(DeviceSynchronize)(void)
{
	struct call c = enter(OP_DEVICE_SYNC, NULL);
	wait_until(null_stream.busy_until);
	return leave(&c);
}

API int RT(MemcpyAsync)(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	(void)dst, (void)src;
	/* CUPTI's numbers: HtoD 1, DtoH 2, DtoD 8. */
	struct rt_work w = {.op = OP_MEMCPY_ASYNC, .bytes = bytes, .copy = kind == RT_D2D ? 8 : (uint32_t)kind};
	struct call c = enter(OP_MEMCPY_ASYNC, &w);
	enqueue(&c, &w, of(stream), 2000 + bytes / 20);
	return leave(&c);
}

API int RT(MemsetAsync)(void *dst, int value, size_t bytes, void *stream)
{
	(void)dst, (void)value;
	struct rt_work w = {.op = OP_MEMSET_ASYNC, .bytes = bytes};
	struct call c = enter(OP_MEMSET_ASYNC, &w);
	static uint32_t fills;
	enqueue(&c, &w, of(stream), 1500 + 16 * (__atomic_add_fetch(&fills, 1, __ATOMIC_RELAXED) % 8)); /* no two take the same time */
	return leave(&c);
}

static uint64_t takes(const struct rt_work *w) { return 4000 + 100 * w->grid.x; }

/* A launch into a stream that is being captured is a call without work. */
API int RT(LaunchKernel)(const char *symbol, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream)
{
	(void)args;
	struct rt_work w = {.op = OP_LAUNCH, .name = symbol, .grid = grid, .block = block, .shared = (uint32_t)shared};
	struct call c = enter(OP_LAUNCH, &w);
	struct graph *g = of(stream)->capture;
	if (g && g->n < MAX_NODES)
		g->nodes[g->n++] = w;
	else if (!g)
		enqueue(&c, &w, of(stream), takes(&w));
	return leave(&c);
}

API int RT(StreamBeginCapture)(void *stream, int mode)
{
	(void)mode;
	struct call c = enter(OP_BEGIN_CAPTURE, NULL);
	of(stream)->capture = calloc(1, sizeof(struct graph));
	return leave(&c);
}

API int RT(StreamEndCapture)(void *stream, void **graph)
{
	struct call c = enter(OP_END_CAPTURE, NULL);
	*graph = of(stream)->capture;
	of(stream)->capture = NULL;
	return leave(&c);
}

/* Not reported. */
API int RT(GraphInstantiate)(void **exec, void *graph, uint64_t flags)
{
	(void)flags;
	*exec = graph;
	return 0;
}

API void *fakert_graph(int kernels)
{
	struct graph *g = calloc(1, sizeof *g);
	for (int i = 0; g && i < kernels && i < MAX_NODES; i++)
		g->nodes[g->n++] = (struct rt_work){.grid = {4, 1, 1}, .block = {64, 1, 1}};
	return g;
}

API int RT(GraphLaunch)(void *exec, void *stream)
{
	const struct graph *g = exec;
	struct call c = enter(OP_GRAPH, NULL);
	for (int i = 0; i < g->n; i++) {
		struct rt_work w = g->nodes[i];
		w.op = OP_GRAPH;
		enqueue(&c, &w, of(stream), takes(&w));
	}
	return leave(&c);
}
