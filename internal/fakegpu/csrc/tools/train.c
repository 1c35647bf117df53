/* A loop that looks like training to a recorder: copies in, a handful of
 * kernels by three routes, an event between streams, a loss copied back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "workload.h"

enum { CUSTOM0 = 3, CUSTOM1 = 4, H2D = 1, D2H = 2, BATCH = 1 << 20, NON_BLOCKING = 1 };

static const struct { const char *name; unsigned dim[6]; unsigned shared; } kernels[] = {
#define KERNEL(name, gx, gy, gz, bx, by, bz, shared) {name, {gx, gy, gz, bx, by, bz}, shared},
#include "kernels.inc"
#undef KERNEL
};
enum { N = sizeof kernels / sizeof *kernels };

static char stubs[N];       /* addresses that stand for kernels, as host code has */
static void *functions[N];  /* the same kernels for the driver API */
static void **streams;
static int n_streams;
static uint64_t next_external = 1;
static int next_fork;
static uint64_t whole; /* a range that one thread starts and another ends */
static time_t stop_at; /* CLOCK_MONOTONIC, 0 for never */

struct job { pthread_t thread; int index; const struct options *o; int launches, graph_kernels, copies, sets, externals, ranges, marks; };

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "workload: %s: error %d\n", what, rc);
		exit(91);
	}
}
#define CHECK(call) check((call), #call)

static void launch(struct job *j, int k, int route, void *stream)
{
	const unsigned *d = kernels[k].dim;
	uint64_t id = __atomic_fetch_add(&next_external, 1, __ATOMIC_RELAXED), last;
	if (push_external) {
		CHECK(push_external(CUSTOM0, id));
		j->externals++;
	}
	struct driver_config c = {{d[0], d[1], d[2], d[3], d[4], d[5]}, kernels[k].shared, stream, NULL, 0};
	switch (route) {
	case 0: CHECK(cuLaunchKernel(functions[k], d[0], d[1], d[2], d[3], d[4], d[5], kernels[k].shared, stream, NULL, NULL)); break;
	case 1: CHECK(cuLaunchKernelEx(&c, functions[k], NULL, NULL)); break;
	default: CHECK(cudaLaunchKernel(&stubs[k], (struct dim3){d[0], d[1], d[2]}, (struct dim3){d[3], d[4], d[5]}, NULL, kernels[k].shared, stream));
	}
	if (pop_external)
		CHECK(pop_external(CUSTOM0, &last));
}

static void graphs(struct job *j, void *stream)
{
	void *graph, *exec;
	CHECK(cudaStreamBeginCapture(stream, 0));
	for (int k = 1; k < 5; k++)
		CHECK(cudaLaunchKernel(&stubs[k], (struct dim3){8, 1, 1}, (struct dim3){128, 1, 1}, NULL, 0, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < j->o->graphs; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		j->graph_kernels += 4;
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static int over(void)
{
	struct timespec now;
	if (!stop_at)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec >= stop_at;
}

/* A step's ranges: in the default domain, and inside it in one of the program's. */
static void begin_step(struct job *j, void *domain)
{
	nvtx_push("step");
	nvtx_domain_push(domain, j->index % 2 ? "odd batch" : "even batch");
	j->ranges += 2;
}

static void end_step(struct job *j, void *domain)
{
	nvtx_domain_pop(domain);
	nvtx_domain_mark(domain, "loss");
	j->marks++;
	nvtx_pop();
}

static void *run(void *arg)
{
	struct job *j = arg;
	void *domain = j->o->nvtx ? nvtx_domain("batches") : NULL;
	void *compute = streams[j->index % n_streams], *other = streams[(j->index + 1) % n_streams];
	void *device, *pinned, *event;
	float loss = 0;
	int dev;
	CHECK(cudaMalloc(&device, BATCH));
	CHECK(cudaMallocHost(&pinned, BATCH));
	CHECK(cudaEventCreateWithFlags(&event, 2));
	uint64_t step = 0;
	int step_kernels = j->o->step_kernels ? j->o->step_kernels : N;
	for (int i = 0; i < j->o->kernels && !over();) {
		if (push_external)
			CHECK(push_external(CUSTOM1, 1000000 + step++));
		if (j->o->nvtx)
			begin_step(j, domain);
		CHECK(cudaGetDevice(&dev));
		CHECK(cudaMemcpyAsync(device, pinned, BATCH, H2D, compute));
		CHECK(cudaMemsetAsync(device, 0, BATCH / 4, compute));
		j->copies++;
		j->sets++;
		for (int k = 0; k < step_kernels && i < j->o->kernels; k++, i++) {
			launch(j, k % N, k % N % 4, compute);
			CHECK(cudaGetLastError());
			j->launches++;
		}
		CHECK(cudaEventRecord(event, compute));
		CHECK(cudaStreamWaitEvent(other, event, 0));
		(void)cudaEventQuery(event);
		CHECK(cudaMemcpyAsync(&loss, device, sizeof loss, D2H, compute));
		j->copies++;
		CHECK(cudaStreamSynchronize(compute));
		CHECK(cudaEventSynchronize(event));
		if (j->o->nvtx)
			end_step(j, domain);
		progress(j->index, j->launches);
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
	if (j->o->graphs) {
		void *own;
		CHECK(cudaStreamCreateWithPriority(&own, NON_BLOCKING, 0));
		graphs(j, own);
	}
	if (j->o->nvtx && j->index == j->o->threads - 1)
		nvtx_end(whole);
	CHECK(cudaEventDestroy(event));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaFree(device));
	return NULL;
}

static void write_counts(const struct options *o, const struct job *jobs)
{
	int launches = 0, graph_kernels = 0, copies = 0, sets = 0, externals = 0, ranges = o->nvtx, marks = 0;
	for (int i = 0; i < o->threads; i++) {
		launches += jobs[i].launches;
		graph_kernels += jobs[i].graph_kernels;
		copies += jobs[i].copies;
		sets += jobs[i].sets;
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
		__cudaRegisterFunction(fatbin, &stubs[k], NULL, kernels[k].name, -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(cudaMalloc(&first, 256)); /* makes the primary context current */
	CHECK(cuModuleLoadData(&module, "module"));
	for (int k = 0; k < N; k++)
		CHECK(cuModuleGetFunction(&functions[k], module, kernels[k].name));
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
