/* fakegpu-kineto: a program that profiles itself, as a script with torch.profiler
 * in it. It launches a known number of kernels before, in and after each session,
 * and says what it did and what the sessions got. */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../tools/workload.h"
#include "kineto.h"

enum { H2D = 1, NON_BLOCKING = 1, MAX_SESSIONS = 1000 };

static const struct { const char *name; unsigned dim[6]; unsigned shared; } kernels[] = {
#define KERNEL(name, gx, gy, gz, bx, by, bz, shared) {name, {gx, gy, gz, bx, by, bz}, shared},
#include "../tools/kernels.inc"
#undef KERNEL
};
enum { N = sizeof kernels / sizeof *kernels };

static const char usage[] =
	"usage: fakegpu-kineto --kineto LIBRARY [--lazy] [--sessions N] [--device 0|1|2] [--early] [--launches N]\n"
	"       [--threads N] [--flood] [--last-ms MS] [--between-ms MS] [--before-ms MS] [--late] [--attach LIBRARY] [--own LIBRARY] [--counts FILE]\n";

static int (*begin)(int);
static int (*end)(struct fk_counts *);
static void (*watch)(const char *);
static void (*push)(uint64_t);
static void (*pop)(void);
static int (*own)(int);

static void *functions[N];
static char stubs[N];
static uint64_t launched, by_others;
static int stop, flood;

static void fail(const char *what)
{
	fprintf(stderr, "fakegpu-kineto: %s\n", what);
	exit(91);
}
#define CHECK(call) do { if (call) fail(#call); } while (0)

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void start_device(void)
{
	void *module, *first;
	void **fatbin = __cudaRegisterFatBinary(NULL);
	for (int k = 0; k < N; k++)
		__cudaRegisterFunction(fatbin, &stubs[k], NULL, kernels[k].name, -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(cudaMalloc(&first, 256));
	CHECK(cuModuleLoadData(&module, "module"));
	for (int k = 0; k < N; k++)
		CHECK(cuModuleGetFunction(&functions[k], module, kernels[k].name));
}

static void launch(int k, int by_driver, void *stream)
{
	const unsigned *d = kernels[k].dim;
	if (by_driver)
		CHECK(cuLaunchKernel(functions[k], d[0], d[1], d[2], d[3], d[4], d[5], kernels[k].shared, stream, NULL, NULL));
	else
		CHECK(cudaLaunchKernel(&stubs[k], (struct dim3){d[0], d[1], d[2]}, (struct dim3){d[3], d[4], d[5]}, NULL, kernels[k].shared, stream));
}

/* n launches of the first kernel, a copy and a set, all finished at the end, as at
 * the end of torch.profiler's. */
static void phase(int n, void *stream)
{
	static uint64_t id;
	static char host[64];
	void *memory;
	CHECK(cudaMalloc(&memory, 4096));
	CHECK(cudaMemcpyAsync(memory, host, sizeof host, H2D, stream));
	CHECK(cudaMemsetAsync(memory, 0, 4096, stream));
	for (int i = 0; i < n; i++, launched++) {
		push(++id);
		launch(0, i % 2, stream);
		pop();
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaFree(memory));
}

/* Launches of the other kernels, until told to stop. A flood never waits for the
 * device, but for a moment when it is far behind. */
static void *other(void *arg)
{
	void *stream;
	uint64_t n = 0;
	(void)arg;
	CHECK(cudaStreamCreateWithPriority(&stream, NON_BLOCKING, 0));
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < 20; i++, n++)
			launch(1 + i % (N - 1), i % 2, stream);
		if (!flood)
			CHECK(cudaStreamSynchronize(stream));
		pause_ms(1);
	}
	CHECK(cudaStreamSynchronize(stream));
	__atomic_fetch_add(&by_others, n, __ATOMIC_RELAXED);
	return NULL;
}

static void *need(void *lib, const char *name)
{
	void *p = lib ? dlsym(lib, name) : NULL;
	if (!p) {
		fprintf(stderr, "fakegpu-kineto: %s\n", dlerror());
		exit(90);
	}
	return p;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"kineto", 1, NULL, 'k'}, {"lazy", 0, NULL, 'z'}, {"sessions", 1, NULL, 's'}, {"device", 1, NULL, 'd'},
		{"early", 0, NULL, 'e'}, {"launches", 1, NULL, 'l'}, {"threads", 1, NULL, 't'}, {"flood", 0, NULL, 'f'},
		{"last-ms", 1, NULL, 'm'}, {"between-ms", 1, NULL, 'b'}, {"before-ms", 1, NULL, 'B'}, {"own", 1, NULL, 'o'},
		{"late", 0, NULL, 'L'}, {"attach", 1, NULL, 'a'}, {"counts", 1, NULL, 'c'}, {0}};
	int c, lazy = 0, late = 0, sessions = 1, device = 1, early = 0, launches = 100, threads = 0, last = 0, between = 0, before = 0;
	const char *path = NULL, *counts = NULL, *recorder = NULL, *attached = NULL;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'k': path = optarg; break;
		case 'z': lazy = 1; break;
		case 's': sessions = atoi(optarg); break;
		case 'd': device = atoi(optarg); break; /* 2: every other session */
		case 'e': early = 1; break;
		case 'l': launches = atoi(optarg); break;
		case 't': threads = atoi(optarg); break;
		case 'f': flood = 1; break;
		case 'm': last = atoi(optarg); break;
		case 'b': between = atoi(optarg); break;
		case 'B': before = atoi(optarg); break;
		case 'L': late = 1; break;
		case 'a': attached = optarg; break;
		case 'o': recorder = optarg; break;
		case 'c': counts = optarg; break;
		default: path = NULL; optind = argc; break;
		}
	if (!path || sessions < 0 || sessions > MAX_SESSIONS || threads < 0 || threads > 16) {
		fputs(usage, stderr);
		return 2;
	}
	if (late) { /* the device is in use when the profiler is loaded */
		load_libraries();
		start_device();
		pause_ms(before);
	}
	void *lib = dlopen(path, (lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
	if (late)
		pause_ms(before);
	*(void **)&begin = need(lib, "fk_begin");
	*(void **)&end = need(lib, "fk_end");
	*(void **)&watch = need(lib, "fk_watch");
	*(void **)&push = need(lib, "fk_push");
	*(void **)&pop = need(lib, "fk_pop");
	if (recorder)
		*(void **)&own = need(dlopen(recorder, RTLD_NOW | RTLD_LOCAL), "flagos_trace_host_own");
	if (attached) { /* as a bootstrap does, before the device is used */
		int (*attach)(void *);
		*(void **)&attach = need(dlopen(attached, RTLD_NOW | RTLD_LOCAL), "flagos_trace_host_attach");
		CHECK(attach(NULL));
	}
	watch(kernels[0].name);
	if (early)
		CHECK(begin(device != 0));
	if (!late)
		load_libraries();
	static struct fk_counts got[MAX_SESSIONS];
	void *stream = NULL;
	pthread_t thread[16];
	if (!late)
		start_device();
	CHECK(cudaStreamCreateWithPriority(&stream, NON_BLOCKING, 0));
	for (int i = 0; i < threads; i++)
		CHECK(pthread_create(&thread[i], NULL, other, NULL));
	if (!early)
		phase(launches, stream);
	pause_ms(before);
	for (int i = 0; i < sessions; i++) {
		if (own)
			CHECK(own(1));
		if (i > 0 || !early)
			CHECK(begin(device == 2 ? i % 2 : device));
		phase(launches, stream);
		pause_ms(last);
		phase(launches, stream);
		CHECK(end(&got[i]));
		if (own)
			CHECK(own(0));
		pause_ms(between);
		phase(launches, stream);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	CHECK(cudaDeviceSynchronize());
	FILE *f = counts ? fopen(counts, "w") : stdout;
	if (!f)
		fail(counts);
	fprintf(f, "{\"launches\":%llu,\"others\":%llu,\"sessions\":[", (unsigned long long)launched, (unsigned long long)by_others);
	for (int i = 0; i < sessions; i++) {
#define NUMBER(name) fprintf(f, ",\"" #name "\":%llu", (unsigned long long)got[i].name)
		fprintf(f, "%s{\"session\":%d", i ? "," : "", i);
		NUMBER(kernels), NUMBER(watched), NUMBER(copies), NUMBER(sets), NUMBER(runtime), NUMBER(driver);
		NUMBER(externals), NUMBER(overheads), NUMBER(unexpected), NUMBER(unfinished), NUMBER(outside);
		NUMBER(unordered), NUMBER(buffers), NUMBER(dropped);
		fputs("}", f);
	}
	fputs("]}\n", f);
	return fclose(f) != 0;
}
