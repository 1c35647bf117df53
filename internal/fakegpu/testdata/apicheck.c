/* Calls the activity library as a client would and checks what it says. Prints
 * each failed check; exits 1 when there was one. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
#define WANT(cond)                                                          \
	do {                                                                \
		if (!(cond)) {                                              \
			printf("line %d: %s\n", __LINE__, #cond);           \
			failures++;                                         \
		}                                                           \
	} while (0)

typedef int (*fn)();
static void *cuda, *cupti;
#define CU(name, ...) (((int (*)())dlsym(cuda, #name))(__VA_ARGS__))
#define CP(name, ...) (((int (*)())dlsym(cupti, #name))(__VA_ARGS__))

static struct { int peers, kernels, kernels_unended, apis, streams, devices, contexts, externals, first_api; } got;
static int requests, completes;
static pthread_t complete_thread;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	size_t dropped;
	requests++;
	*buffer = aligned_alloc(64, 1 << 16);
	*size = 1 << 16;
	*max = 0;
	/* Would deadlock if the library's lock were held. */
	WANT(CP(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped) == 0);
}

static void complete(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *r = NULL;
	int rc;
	completes++;
	complete_thread = pthread_self();
	WANT(ctx == NULL && stream == 0 && size == 1 << 16);
	while ((rc = CP(cuptiActivityGetNextRecord, buffer, valid, &r)) == 0) {
		uint32_t kind, cbid;
		uint64_t end;
		memcpy(&kind, r, 4);
		memcpy(&cbid, r + 4, 4);
		memcpy(&end, r + 24, 8);
		switch (kind) {
		case 4: case 5:
			got.apis++;
			if (!got.first_api)
				got.first_api = (int)cbid;
			break;
		case 8: got.devices++; break;
		case 9: got.contexts++; break;
		case 10:
			got.kernels++;
			got.kernels_unended += end == 0;
			break;
		case 22: got.peers++; break;
		case 37: got.streams++; break;
		case 39: got.externals++; break;
		}
	}
	WANT(rc == 12);
	free(buffer);
}

static uint64_t clock_1(void) { return 1; }

static void launch(void *f) { WANT(CU(cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0); }

static int sites[2];
static void on_call(void *user, uint32_t domain, uint32_t cbid, const uint32_t *data)
{
	WANT(user == NULL && domain == 1 && cbid == 307 && data[0] < 2);
	sites[data[0] & 1]++;
}

static void fresh(void)
{
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	memset(&got, 0, sizeof got);
}

int main(void)
{
	void *ctx, *module, *f, *handle = NULL;
	uint32_t version = 0, id = 99;
	uint64_t last = 0, t = 0;
	size_t size = 8, value = 0;
	uint8_t byte = 1;
	const char *text;

	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	cupti = dlopen("libcupti.so.13", RTLD_NOW);
	if (!cuda || !cupti) {
		puts(dlerror());
		return 1;
	}
	WANT(CU(cuCtxSynchronize) == 3); /* before cuInit */
	WANT(CU(cuInit, 0) == 0);
	WANT(CU(cuDevicePrimaryCtxRetain, &ctx, 0) == 0);
	WANT(CU(cuCtxSetCurrent, ctx) == 0);
	WANT(CU(cuModuleLoadData, &module, "x") == 0);
	WANT(CU(cuModuleGetFunction, &f, module, "_Z6kernelv") == 0);
	WANT(CU(cuLaunchKernel, f, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL) == 1);

	WANT(CP(cuptiGetVersion, &version) == 0 && version == 130001);
	WANT(CP(cuptiGetResultString, 15, &text) == 0 && strcmp(text, "CUPTI_ERROR_NOT_INITIALIZED") == 0);
	WANT(CP(cuptiGetResultString, 4711, &text) == 1);
	WANT(CP(cuptiGetCallbackName, 2, 211, &text) == 0 && strcmp(text, "cudaLaunchKernel_v7000") == 0);
	WANT(CP(cuptiGetCallbackName, 1, 4711, &text) == 1);
	WANT(CP(cuptiGetContextId, ctx, &id) == 0 && id == 1);
	WANT(CP(cuptiGetDeviceId, ctx, &id) == 0 && id == 0);
	WANT(CP(cuptiGetStreamIdEx, ctx, NULL, 0, &id) == 0 && id == 7);

	/* Attributes: sizes are checked, values kept. */
	WANT(CP(cuptiActivityGetAttribute, 0, &size, &value) == 0 && value == 3200000);
	value = 1 << 20;
	WANT(CP(cuptiActivitySetAttribute, 0, &size, &value) == 0);
	value = 0;
	WANT(CP(cuptiActivityGetAttribute, 0, &size, &value) == 0 && value == 1 << 20);
	size = 1;
	WANT(CP(cuptiActivitySetAttribute, 0, &size, &value) == 10);
	WANT(CP(cuptiActivityGetAttribute, 9, &size, &byte) == 0 && byte == 1);
	byte = 0;
	WANT(CP(cuptiActivitySetAttribute, 9, &size, &byte) == 0);
	WANT(CP(cuptiActivitySetAttribute, 77, &size, &byte) == 1);

	/* Kinds. */
	WANT(CP(cuptiActivityRegisterCallbacks, NULL, complete) == 1);
	WANT(CP(cuptiActivityRegisterCallbacks, request, complete) == 0);
	WANT(CP(cuptiActivityEnable, 0) == 21);
	WANT(CP(cuptiActivityEnable, 56) == 21);
	WANT(CP(cuptiActivityEnable, 14) == 38);
	WANT(CP(cuptiActivityEnable, 10) == 0);

	/* Nothing but kernels: no record of the API calls. */
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 0) == 0);
	WANT(got.kernels == 1 && got.apis == 0 && requests == 1 && completes == 1);
	WANT(pthread_equal(complete_thread, pthread_self()));

	/* A kernel that runs pins its buffer; a forced flush leaves its end open. */
	memset(&got, 0, sizeof got);
	for (int i = 0; i < 100; i++)
		launch(f);
	WANT(CP(cuptiActivityFlushAll, 0) == 0);
	WANT(got.kernels == 0 && completes == 1);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.kernels > 0 && got.kernels_unended > 0);
	int seen = got.kernels;
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.kernels == seen && seen == 100);

	/* Allow-list, deny-list, and a later Enable that overrides them. */
	fresh();
	WANT(CP(cuptiActivityEnableDriverApi, 307, 1) == 0);
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	fresh();
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.apis == 1 && got.first_api == 307);
	fresh();
	WANT(CP(cuptiActivityEnable, 4) == 0);
	WANT(CP(cuptiActivityEnableDriverApi, 307, 0) == 0);
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.apis == 1 && got.first_api == 17 && got.kernels == 1);
	fresh();
	WANT(CP(cuptiActivityEnable, 4) == 0);
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.apis == 2 && got.first_api == 307);

	/* External ids: one record a kind for each call, unbalanced pops refused. */
	fresh();
	WANT(CP(cuptiActivityEnable, 39) == 0);
	WANT(CP(cuptiActivityPopExternalCorrelationId, 3, &last) == 18);
	WANT(CP(cuptiActivityPushExternalCorrelationId, 9, (uint64_t)1) == 1);
	WANT(CP(cuptiActivityPushExternalCorrelationId, 3, (uint64_t)41) == 0);
	WANT(CP(cuptiActivityPushExternalCorrelationId, 3, (uint64_t)42) == 0);
	WANT(CP(cuptiActivityPushExternalCorrelationId, 4, (uint64_t)1 << 40) == 0);
	launch(f);
	WANT(CP(cuptiActivityPopExternalCorrelationId, 4, &last) == 0 && last == (uint64_t)1 << 40);
	WANT(CP(cuptiActivityPopExternalCorrelationId, 3, &last) == 0 && last == 42);
	WANT(CP(cuptiActivityPopExternalCorrelationId, 3, NULL) == 0);
	WANT(CP(cuptiActivityPopExternalCorrelationId, 3, NULL) == 18);
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.externals == 2 && got.kernels == 2);

	/* What exists already, on request. */
	fresh();
	WANT(CP(cuptiActivityEnableAndDump, 8) == 0);
	WANT(CP(cuptiActivityEnableAndDump, 9) == 0);
	WANT(CP(cuptiActivityEnableAndDump, 37) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.devices == 1 && got.contexts == 1 && got.streams == 1);

	/* Copies between devices come with the kind of copies. */
	void *ctx1;
	fresh();
	WANT(CU(cuDevicePrimaryCtxRetain, &ctx1, 1) == 0 && ctx1 != ctx);
	WANT(CP(cuptiGetDeviceId, ctx1, &id) == 0 && id == 1);
	WANT(CP(cuptiActivityEnable, 1) == 0);
	WANT(CU(cuMemcpyPeerAsync, (uint64_t)1, ctx1, (uint64_t)2, ctx, (size_t)4096, NULL) == 0);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(CP(cuptiActivityFlushAll, 1) == 0);
	WANT(got.peers == 1);

	/* One subscriber. */
	WANT(CP(cuptiSubscribe, &handle, (fn)on_call, NULL) == 0);
	WANT(CP(cuptiSubscribe, &handle, (fn)on_call, NULL) == 39);
	WANT(CP(cuptiUnsubscribe, handle) == 0);
	WANT(CP(cuptiSubscribe, &handle, (fn)on_call, NULL) == 0);
	WANT(CP(cuptiEnableCallback, 1, handle, 1, 307) == 0);
	launch(f);
	WANT(CU(cuCtxSynchronize) == 0);
	WANT(sites[0] == 1 && sites[1] == 1);

	/* In a forked child CUDA does not work and a flush does not return. */
	pid_t pid = fork();
	if (pid == 0) {
		if (CU(cuCtxSynchronize) != 3)
			_exit(1);
		alarm(1);
		CP(cuptiActivityFlushAll, 1);
		_exit(2);
	}
	int status = 0;
	WANT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);

	/* The clock: epoch nanoseconds, then whatever the client says. */
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	WANT(CP(cuptiGetTimestamp, &t) == 0 && t / 1000000000u - (uint64_t)now.tv_sec < 60);
	WANT(CP(cuptiActivityRegisterTimestampCallback, NULL) == 1);
	WANT(CP(cuptiActivityRegisterTimestampCallback, clock_1) == 0);
	WANT(CP(cuptiGetTimestamp, &t) == 0 && t == 1);
	return failures != 0;
}
