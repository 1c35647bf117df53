/* The bundled workload's calls on Ascend's runtime. */
#include "ascend.h"

struct device { void *stream, *memory, *own, *graph; };

static void start(void)
{
	CHECK(aclInit(NULL));
	CHECK(aclrtSetDevice(0));
}

static void finish(void) { CHECK(aclrtSynchronizeDevice()); }

static void *new_stream(void)
{
	void *s;
	CHECK(aclrtCreateStream(&s));
	return s;
}

static void open_device(struct device *d, void *stream)
{
	d->stream = stream;
	CHECK(aclrtSetDevice(0)); /* which is the thread's */
	CHECK(aclrtMalloc(&d->memory, PLAN_BATCH, 0));
}

static void close_device(struct device *d) { CHECK(aclrtFree(d->memory)); }

static void copy_in(void *job)
{
	struct device *d = job;
	CHECK(aclrtMemcpyAsync(d->memory, PLAN_BATCH, host, PLAN_BATCH, ACL_H2D, d->stream));
}

static void copy_out(void *job)
{
	struct device *d = job;
	CHECK(aclrtMemcpyAsync(host, PLAN_BATCH, d->memory, PLAN_LOSS, ACL_D2H, d->stream));
}

static void fill(void *job)
{
	struct device *d = job;
	CHECK(aclrtMemsetAsync(d->memory, PLAN_BATCH, 0, PLAN_FILL, d->stream));
}

/* As many blocks as there are cores, of threads that are not the program's affair. */
static unsigned blocks(unsigned grid) { return grid < 40 ? grid : 40; }

static void launch(void *job, int k)
{
	const struct plan_kernel *p = &plan_kernels[k];
	CHECK(aclrtLaunchKernel((void *)p->name, blocks(p->dim[0]), NULL, 0, ((struct device *)job)->stream));
}

static void wait(void *job) { CHECK(aclrtSynchronizeStream(((struct device *)job)->stream)); }

static void begin_capture(void *job)
{
	struct device *d = job;
	d->own = new_stream();
	CHECK(aclmdlRICaptureBegin(d->own, 0));
}

static void capture(void *job, int k)
{
	CHECK(aclrtLaunchKernel((void *)plan_kernels[k].name, PLAN_GRAPH_GRID, NULL, 0, ((struct device *)job)->own));
}

static void end_capture(void *job)
{
	struct device *d = job;
	CHECK(aclmdlRICaptureEnd(d->own, &d->graph));
}

static void replay(void *job)
{
	struct device *d = job;
	CHECK(aclmdlRIExecuteAsync(d->graph, d->own));
}

static void end_graph(void *job) { CHECK(aclrtSynchronizeStream(((struct device *)job)->own)); }

static const struct plan_calls vendor_calls = {NULL, NULL, copy_in, fill, launch, NULL, copy_out, wait, NULL,
	begin_capture, capture, end_capture, replay, end_graph};
