/* The bundled workload's calls on a runtime that looks like CUDA's. */
#include "../alike/runtime.h"

struct device { void *stream, *memory, *own, *graph, *exec; };

static void start(void)
{
	int n;
	CHECK(RT(GetDeviceCount)(&n));
	CHECK(n < 1);
	CHECK(RT(SetDevice)(0));
}

static void finish(void) { CHECK(RT(DeviceSynchronize)()); }

static void *new_stream(void)
{
	void *s;
	CHECK(RT(StreamCreate)(&s));
	return s;
}

static void open_device(struct device *d, void *stream)
{
	d->stream = stream;
	CHECK(RT(Malloc)(&d->memory, PLAN_BATCH));
}

static void close_device(struct device *d) { CHECK(RT(Free)(d->memory)); }

static void begin_step(void *job)
{
	int device;
	(void)job;
	CHECK(RT(GetDevice)(&device));
}

static void copy_in(void *job)
{
	struct device *d = job;
	CHECK(RT(MemcpyAsync)(d->memory, host, PLAN_BATCH, RT_H2D, d->stream));
}

static void copy_out(void *job)
{
	struct device *d = job;
	CHECK(RT(MemcpyAsync)(host, d->memory, PLAN_LOSS, RT_D2H, d->stream));
}

static void fill(void *job)
{
	struct device *d = job;
	CHECK(RT(MemsetAsync)(d->memory, 0, PLAN_FILL, d->stream));
}

static void launch(void *job, int k)
{
	struct device *d = job;
	const struct plan_kernel *p = &plan_kernels[k];
	CHECK(RT(LaunchKernel)(p->name, (struct dim3){p->dim[0], p->dim[1], p->dim[2]}, (struct dim3){p->dim[3], p->dim[4], p->dim[5]}, NULL,
		p->shared, d->stream));
}

static void wait(void *job) { CHECK(RT(StreamSynchronize)(((struct device *)job)->stream)); }

static void begin_capture(void *job)
{
	struct device *d = job;
	d->own = new_stream();
	CHECK(RT(StreamBeginCapture)(d->own, 0));
}

static void capture(void *job, int k)
{
	CHECK(RT(LaunchKernel)(plan_kernels[k].name, (struct dim3){PLAN_GRAPH_GRID, 1, 1}, (struct dim3){PLAN_GRAPH_BLOCK, 1, 1}, NULL, 0,
		((struct device *)job)->own));
}

static void end_capture(void *job)
{
	struct device *d = job;
	CHECK(RT(StreamEndCapture)(d->own, &d->graph));
	CHECK(RT(GraphInstantiate)(&d->exec, d->graph, 0));
}

static void replay(void *job)
{
	struct device *d = job;
	CHECK(RT(GraphLaunch)(d->exec, d->own));
}

static void end_graph(void *job) { CHECK(RT(StreamSynchronize)(((struct device *)job)->own)); }

static const struct plan_calls vendor_calls = {NULL, begin_step, copy_in, fill, launch, NULL, copy_out, wait, NULL,
	begin_capture, capture, end_capture, replay, end_graph};
