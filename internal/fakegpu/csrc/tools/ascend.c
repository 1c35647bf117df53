/* fakegpu-ascend: a loop that looks like training on Ascend to a recorder. */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ascend.h"

enum { BATCH = 1 << 20, FP16 = 3 };

static struct { int kernels, threads, streams, graphs, exit_code, underscore_exit, signal, step_sleep_ms; double sleep; const char *counts, *agent; int child, print; } o = {
	.kernels = 45, .threads = 2, .streams = 2, .graphs = 1};
struct job { pthread_t thread; int index; int launches, graph_kernels, copies, sets, collectives, externals; };
static void **streams;
/* The agent's functions for external ids, with --agent. */
static int (*push_external)(uint32_t, uint64_t), (*pop_external)(uint32_t, uint64_t *);
static uint64_t next_external = 1000;

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "workload: %s: error %d\n", what, rc);
		exit(91);
	}
}
#define CHECK(call) check((call), #call)

static const char *const kernels[] = {"Add_lookalike_aiv", "SoftmaxV2_lookalike_aiv", "LayerNormV3_lookalike_aiv", "FlashAttentionScore_lookalike_mix"};

static void *run(void *arg)
{
	struct job *j = arg;
	void *stream = streams[j->index % o.streams], *device;
	static char host[BATCH];
	CHECK(aclrtSetDevice(0));
	CHECK(aclrtMalloc(&device, BATCH, 0));
	for (int i = 0; i < o.kernels;) {
		uint64_t range = mstxRangeStartA("step", NULL);
		CHECK(aclrtMemcpyAsync(device, BATCH, host, BATCH, ACL_H2D, stream));
		CHECK(aclrtMemsetAsync(device, BATCH, 0, BATCH / 4, stream));
		j->copies++;
		j->sets++;
		for (int k = 0; k < 9 && i < o.kernels; k++, i++, j->launches++) {
			if (k % 3 == 2) {
				CHECK(aclnnMatmul(stream)); /* under no external id */
				continue;
			}
			if (push_external && push_external(1, __atomic_fetch_add(&next_external, 1, __ATOMIC_RELAXED)) == 0)
				j->externals++;
			CHECK(aclrtLaunchKernel((void *)kernels[k % 4], 8 + (uint32_t)k, NULL, 0, stream));
			if (pop_external)
				pop_external(1, NULL);
		}
		CHECK(HcclAllReduce(device, device, BATCH / 2, FP16, 0, NULL, stream));
		j->collectives++;
		CHECK(aclrtSynchronizeStream(stream));
		CHECK(aclrtMemcpy(host, BATCH, device, 4, ACL_D2H));
		j->copies++;
		mstxRangeEnd(range);
		mstxMarkA("loss", NULL);
		if (o.step_sleep_ms)
			nanosleep(&(struct timespec){o.step_sleep_ms / 1000, o.step_sleep_ms % 1000 * 1000000L}, NULL);
	}
	if (o.graphs) {
		void *own, *graph;
		CHECK(aclrtCreateStream(&own));
		CHECK(aclmdlRICaptureBegin(own, 0));
		for (int k = 0; k < 4; k++)
			CHECK(aclrtLaunchKernel((void *)kernels[k], 4, NULL, 0, own));
		CHECK(aclmdlRICaptureEnd(own, &graph));
		for (int i = 0; i < o.graphs; i++) {
			CHECK(aclmdlRIExecuteAsync(graph, own));
			j->graph_kernels += 4;
		}
		CHECK(aclrtSynchronizeStream(own));
	}
	CHECK(aclrtFree(device));
	return NULL;
}

static void write_counts(const struct job *jobs)
{
	struct job n = {0};
	for (int i = 0; i < o.threads; i++) {
		n.launches += jobs[i].launches;
		n.graph_kernels += jobs[i].graph_kernels;
		n.copies += jobs[i].copies;
		n.sets += jobs[i].sets;
		n.collectives += jobs[i].collectives;
		n.externals += jobs[i].externals;
	}
	FILE *f = fopen(o.counts, "w");
	if (!f) {
		perror(o.counts);
		exit(92);
	}
	fprintf(f, "{\"launches\":%d,\"graph_kernels\":%d,\"memcpys\":%d,\"memsets\":%d,\"collectives\":%d,\"externals\":%d}\n", n.launches, n.graph_kernels, n.copies,
		n.sets, n.collectives, n.externals);
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"kernels", 1, NULL, 'k'}, {"threads", 1, NULL, 't'}, {"streams", 1, NULL, 's'}, {"graphs", 1, NULL, 'g'},
		{"counts", 1, NULL, 'c'}, {"exit-code", 1, NULL, 'e'}, {"_exit", 0, NULL, 'x'}, {"signal", 1, NULL, 'i'}, {"sleep", 1, NULL, 'z'},
		{"step-sleep-ms", 1, NULL, 'm'}, {"agent", 1, NULL, 'a'}, {"child", 0, NULL, 'C'}, {"print", 0, NULL, 'p'}, {0}};
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		switch (c) {
		case 'k': o.kernels = atoi(optarg); break;
		case 't': o.threads = atoi(optarg); break;
		case 's': o.streams = atoi(optarg); break;
		case 'g': o.graphs = atoi(optarg); break;
		case 'c': o.counts = optarg; break;
		case 'e': o.exit_code = atoi(optarg); break;
		case 'x': o.underscore_exit = 1; break;
		case 'i': o.signal = atoi(optarg); break;
		case 'z': o.sleep = atof(optarg); break;
		case 'm': o.step_sleep_ms = atoi(optarg); break;
		case 'a': o.agent = optarg; break;
		case 'C': o.child = 1; break;
		case 'p': o.print = 1; break;
		default: return 2;
		}
	CHECK(aclInit(NULL));
	CHECK(aclrtSetDevice(0));
	if (o.print) {
		puts("workload: this line is for stdout");
		fflush(stdout);
		fputs("workload: this line is for stderr\n", stderr);
	}
	if (o.agent) {
		void *lib = dlopen(o.agent, RTLD_NOW | RTLD_NOLOAD);
		push_external = lib ? (int (*)(uint32_t, uint64_t))dlsym(lib, "flagos_trace_push_external_id") : NULL;
		pop_external = lib ? (int (*)(uint32_t, uint64_t *))dlsym(lib, "flagos_trace_pop_external_id") : NULL;
	}
	streams = calloc((size_t)o.streams, sizeof *streams);
	struct job *jobs = calloc((size_t)o.threads, sizeof *jobs);
	if (!streams || !jobs)
		return 92;
	for (int i = 1; i < o.streams; i++) /* stream 0 is the default stream */
		CHECK(aclrtCreateStream(&streams[i]));
	for (int i = 0; i < o.threads; i++) {
		jobs[i].index = i;
		if (i > 0 && pthread_create(&jobs[i].thread, NULL, run, &jobs[i]))
			return 92;
	}
	run(&jobs[0]);
	for (int i = 1; i < o.threads; i++)
		pthread_join(jobs[i].thread, NULL);
	CHECK(aclrtSynchronizeDevice());
	if (o.counts)
		write_counts(jobs);
	if (o.child && system("printf '%s' \"$LD_PRELOAD\"") != 0)
		return 93;
	if (o.sleep > 0)
		nanosleep(&(struct timespec){(time_t)o.sleep, (long)((o.sleep - (double)(time_t)o.sleep) * 1e9)}, NULL);
	if (o.signal)
		raise(o.signal);
	if (o.underscore_exit)
		_exit(o.exit_code);
	return o.exit_code;
}
