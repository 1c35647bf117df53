/* A loop that looks like training to a recorder: copies in, a handful of
 * kernels by three routes, an event between streams, a loss copied back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plan.h"
#include "workload.h"

enum { CUSTOM0 = 3, CUSTOM1 = 4, H2D = 1, D2H = 2, NON_BLOCKING = 1 };
enum { N = PLAN_KERNELS };

static char stubs[N];       /* addresses that stand for kernels, as host code has */
static void *functions[N];  /* the same kernels for the driver API */
static void **streams;
static int n_streams;
static uint64_t next_external = 1;
static int next_fork;
static uint64_t whole; /* a range that one thread starts and another ends */
static time_t stop_at; /* CLOCK_MONOTONIC, 0 for never */

struct job {
	pthread_t thread;
	int index;
	const struct options *o;
	struct plan_counts n;
	int externals, ranges, marks;
	uint64_t step;
	float loss;
	void *compute, *other, *device, *pinned, *event, *domain; /* streams, memory, NVTX */
	void *own, *graph, *exec;
};

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "workload: %s: error %d\n", what, rc);
		exit(91);
	}
}
#define CHECK(call) check((call), #call)

/* Kernels are launched by three routes, in turn. */
static void launch(void *job, int k)
{
	struct job *j = job;
	const struct plan_kernel *p = &plan_kernels[k];
	const unsigned *d = p->dim;
	uint64_t id = __atomic_fetch_add(&next_external, 1, __ATOMIC_RELAXED), last;
	if (push_external) {
		CHECK(push_external(CUSTOM0, id));
		j->externals++;
	}
	struct driver_config c = {{d[0], d[1], d[2], d[3], d[4], d[5]}, p->shared, j->compute, NULL, 0};
	switch (k % 4) {
	case 0: CHECK(cuLaunchKernel(functions[k], d[0], d[1], d[2], d[3], d[4], d[5], p->shared, j->compute, NULL, NULL)); break;
	case 1: CHECK(cuLaunchKernelEx(&c, functions[k], NULL, NULL)); break;
	default: CHECK(cudaLaunchKernel(&stubs[k], (struct dim3){d[0], d[1], d[2]}, (struct dim3){d[3], d[4], d[5]}, NULL, p->shared, j->compute));
	}
	if (pop_external)
		CHECK(pop_external(CUSTOM0, &last));
	CHECK(cudaGetLastError());
}

static int over(void *job)
{
	struct timespec now;
	(void)job;
	if (!stop_at)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec >= stop_at;
}

/* A step's ranges: in the default domain, and inside it in one of the program's. */
static void begin_ranges(struct job *j)
{
	nvtx_push("step");
	nvtx_domain_push(j->domain, j->index % 2 ? "odd batch" : "even batch");
	j->ranges += 2;
}

static void end_ranges(struct job *j)
{
	nvtx_domain_pop(j->domain);
	nvtx_domain_mark(j->domain, "loss");
	j->marks++;
	nvtx_pop();
}

static void begin_step(void *job)
{
	struct job *j = job;
	int dev;
	if (push_external)
		CHECK(push_external(CUSTOM1, 1000000 + j->step++));
	if (j->o->nvtx)
		begin_ranges(j);
	CHECK(cudaGetDevice(&dev));
}

static void copy_in(void *job)
{
	struct job *j = job;
	CHECK(cudaMemcpyAsync(j->device, j->pinned, PLAN_BATCH, H2D, j->compute));
}

static void fill(void *job)
{
	struct job *j = job;
	CHECK(cudaMemsetAsync(j->device, 0, PLAN_FILL, j->compute));
}

/* An event between streams. */
static void launched(void *job)
{
	struct job *j = job;
	CHECK(cudaEventRecord(j->event, j->compute));
	CHECK(cudaStreamWaitEvent(j->other, j->event, 0));
	(void)cudaEventQuery(j->event);
}

static void copy_out(void *job)
{
	struct job *j = job;
	CHECK(cudaMemcpyAsync(&j->loss, j->device, PLAN_LOSS, D2H, j->compute));
}

static void wait(void *job)
{
	struct job *j = job;
	CHECK(cudaStreamSynchronize(j->compute));
	CHECK(cudaEventSynchronize(j->event));
}

static void end_step(void *job)
{
	struct job *j = job;
	if (j->o->nvtx)
		end_ranges(j);
	progress(j->index, j->n.launches);
	if (pop_external)
		CHECK(pop_external(CUSTOM1, NULL));
	if (j->o->forks) {
		int n = __atomic_fetch_add(&next_fork, 1, __ATOMIC_RELAXED);
		if (n < j->o->forks)
			storm(n);
	}
	if (j->o->step_sleep_ms)
		nanosleep(&(struct timespec){j->o->step_sleep_ms / 1000, j->o->step_sleep_ms % 1000 * 1000000L}, NULL);
}

static void begin_capture(void *job)
{
	struct job *j = job;
	CHECK(cudaStreamCreateWithPriority(&j->own, NON_BLOCKING, 0));
	CHECK(cudaStreamBeginCapture(j->own, 0));
}

static void capture(void *job, int k)
{
	struct job *j = job;
	CHECK(cudaLaunchKernel(&stubs[k], (struct dim3){PLAN_GRAPH_GRID, 1, 1}, (struct dim3){PLAN_GRAPH_BLOCK, 1, 1}, NULL, 0, j->own));
}

static void end_capture(void *job)
{
	struct job *j = job;
	CHECK(cudaStreamEndCapture(j->own, &j->graph));
	CHECK(cudaGraphInstantiate(&j->exec, j->graph, 0));
}

static void replay(void *job)
{
	struct job *j = job;
	CHECK(cudaGraphLaunch(j->exec, j->own));
}

static void end_graph(void *job)
{
	struct job *j = job;
	CHECK(cudaStreamSynchronize(j->own));
	CHECK(cudaGraphExecDestroy(j->exec));
	CHECK(cudaGraphDestroy(j->graph));
}

static const struct plan_calls calls = {over, begin_step, copy_in, fill, launch, launched, copy_out, wait, end_step,
	begin_capture, capture, end_capture, replay, end_graph};

static void *run(void *arg)
{
	struct job *j = arg;
	j->domain = j->o->nvtx ? nvtx_domain("batches") : NULL;
	j->compute = streams[j->index % n_streams];
	j->other = streams[(j->index + 1) % n_streams];
	CHECK(cudaMalloc(&j->device, PLAN_BATCH));
	CHECK(cudaMallocHost(&j->pinned, PLAN_BATCH));
	CHECK(cudaEventCreateWithFlags(&j->event, 2));
	plan_run(&calls, j, j->o->kernels, j->o->step_kernels, j->o->graphs, &j->n);
	if (j->o->nvtx && j->index == j->o->threads - 1)
		nvtx_end(whole);
	CHECK(cudaEventDestroy(j->event));
	CHECK(cudaFreeHost(j->pinned));
	CHECK(cudaFree(j->device));
	return NULL;
}

static void write_counts(const struct options *o, const struct job *jobs)
{
	int launches = 0, graph_kernels = 0, copies = 0, sets = 0, externals = 0, ranges = o->nvtx, marks = 0;
	for (int i = 0; i < o->threads; i++) {
		launches += jobs[i].n.launches;
		graph_kernels += jobs[i].n.graph_kernels;
		copies += jobs[i].n.copies;
		sets += jobs[i].n.sets;
		externals += jobs[i].externals;
		ranges += jobs[i].ranges;
		marks += jobs[i].marks;
	}
	FILE *f = fopen(o->counts, "w");
	if (!f) {
		perror(o->counts);
		exit(92);
	}
	fprintf(f, "{\"launches\":%d,\"graph_launches\":%d,\"graph_kernels\":%d,\"memcpys\":%d,\"memsets\":%d,\"externals\":%d,\"ranges\":%d,\"marks\":%d}\n",
		launches, o->graphs * o->threads, graph_kernels, copies, sets, externals, ranges, marks);
	fclose(f);
}

void train(const struct options *o)
{
	void *module, *first;
	void **fatbin = __cudaRegisterFatBinary(NULL);
	for (int k = 0; k < N; k++)
		__cudaRegisterFunction(fatbin, &stubs[k], NULL, plan_kernels[k].name, -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(cudaMalloc(&first, 256)); /* makes the primary context current */
	CHECK(cuModuleLoadData(&module, "module"));
	for (int k = 0; k < N; k++)
		CHECK(cuModuleGetFunction(&functions[k], module, plan_kernels[k].name));
	if (o->seconds) {
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		stop_at = now.tv_sec + o->seconds;
	}
	open_progress(o);
	n_streams = o->streams;
	streams = calloc((size_t)n_streams, sizeof *streams);
	struct job *jobs = calloc((size_t)o->threads, sizeof *jobs);
	if (!streams || !jobs)
		exit(92);
	for (int i = 1; i < n_streams; i++) /* stream 0 is the default stream */
		CHECK(cudaStreamCreateWithPriority(&streams[i], NON_BLOCKING, 0));
	if (o->nvtx)
		whole = nvtx_start("whole run");
	for (int i = 0; i < o->threads; i++) {
		jobs[i].index = i;
		jobs[i].o = o;
		if (i > 0 && pthread_create(&jobs[i].thread, NULL, run, &jobs[i]))
			exit(92);
	}
	run(&jobs[0]);
	for (int i = 1; i < o->threads; i++)
		pthread_join(jobs[i].thread, NULL);
	CHECK(cudaDeviceSynchronize());
	if (o->counts)
		write_counts(o, jobs);
	free(jobs);
	free(streams);
}
