/* A client that calls the activity library of Ascend directly, and checks that it
 * answers as the real one does. Exits 0, or with the line of the first surprise. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t memory[8][1 << 16] __attribute__((aligned(8)));
static int given, refuse;
static struct { uint8_t *buffer; size_t size, valid; pthread_t thread; } done[64];
static int n_done;

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	*most = 1; /* not heeded */
	*size = given < 4 ? 1024 : sizeof memory[0];
	*buffer = refuse ? NULL : memory[given++ % 8];
}

static void complete(uint8_t *buffer, size_t size, size_t valid)
{
	done[n_done].buffer = buffer;
	done[n_done].size = size;
	done[n_done].valid = valid;
	done[n_done++].thread = pthread_self();
}

#define WANT(x)                                              \
	do {                                                 \
		if (!(x)) {                                  \
			printf("line %d: %s\n", __LINE__, #x); \
			exit(1);                             \
		}                                            \
	} while (0)
#define FN(ret, name, args) ret (*name) args = (ret (*) args)dlsym(RTLD_DEFAULT, #name)

static uint32_t kind_of(const void *r) { uint32_t k; memcpy(&k, r, 4); return k; }
static uint64_t word(const void *r, size_t off) { uint64_t v; memcpy(&v, (const char *)r + off, 8); return v; }

int main(int argc, char **argv)
{
	int preloaded = argc > 1 && !strcmp(argv[1], "preloaded");
	WANT(dlopen("libascendcl.so", RTLD_NOW | RTLD_GLOBAL) && dlopen("libmspti.so", RTLD_NOW | RTLD_GLOBAL));
	FN(int, msptiSubscribe, (void **, void *, void *));
	FN(int, msptiUnsubscribe, (void *));
	FN(int, msptiActivityRegisterCallbacks, (void *, void *));
	FN(int, msptiActivityEnable, (uint32_t));
	FN(int, msptiActivityDisable, (uint32_t));
	FN(int, msptiActivityFlushAll, (uint32_t));
	FN(int, msptiActivityGetNextRecord, (uint8_t *, size_t, void **));
	FN(int, msptiActivityPushExternalCorrelationId, (uint32_t, uint64_t));
	FN(int, msptiActivityPopExternalCorrelationId, (uint32_t, uint64_t *));
	FN(int, aclInit, (const char *));
	FN(int, aclrtSetDevice, (int32_t));
	FN(int, aclrtLaunchKernel, (void *, uint32_t, const void *, size_t, void *));
	FN(int, aclrtSynchronizeStream, (void *));
	FN(int, aclnnMatmul, (void *));
	void *handle = NULL, *other = NULL;
	uint64_t last = 0;

	/* Results. */
	WANT(msptiActivityRegisterCallbacks(NULL, complete) == 1);
	WANT(msptiActivityRegisterCallbacks(request, complete) == 0);
	WANT(msptiSubscribe(&handle, NULL, NULL) == 0 && msptiSubscribe(&other, NULL, NULL) == 2);
	WANT(msptiActivityEnable(0) == 1 && msptiActivityEnable(13) == 1);
	for (uint32_t k = 4; k <= 7; k++)
		WANT(msptiActivityEnable(k) == (preloaded ? 0 : 6) && (msptiActivityDisable(k), 1));
	WANT(msptiActivityEnable(2) == 0 && msptiActivityEnable(3) == 0 && msptiActivityEnable(8) == 0);

	/* Popping without an address takes nothing off; the stack is any thread's. */
	WANT(msptiActivityPushExternalCorrelationId(2, 41) == 0 && msptiActivityPushExternalCorrelationId(2, 42) == 0);
	WANT(msptiActivityPopExternalCorrelationId(2, NULL) == 1);
	WANT(msptiActivityPopExternalCorrelationId(2, &last) == 0 && last == 42);
	WANT(msptiActivityPopExternalCorrelationId(3, &last) == 5);

	/* A launch: the external record first; all calls have the last id. */
	WANT(aclInit(NULL) == 0 && aclrtSetDevice(0) == 0);
	WANT(aclrtLaunchKernel("k", 1, NULL, 0, NULL) == 0 && aclnnMatmul(NULL) == 0 && aclrtSynchronizeStream(NULL) == 0);
	WANT(msptiActivityFlushAll(1) == 0 && n_done == 1 && done[0].valid > 0 && pthread_equal(done[0].thread, pthread_self()));

	/* Three arguments, of which the last is what is valid. */
	void *r = NULL;
	int externals = 0, calls = 0, kernels = 0, seen_external = 0;
	uint64_t id = 0;
	while (msptiActivityGetNextRecord(done[0].buffer, done[0].valid, &r) == 0) {
		switch (kind_of(r)) {
		case 8: externals++; seen_external = 1; WANT(word(r, 8) == 41); id = word(r, 16); break;
		case 3: if (word(r, 28)) { WANT(seen_external); calls++; if (!strcmp((char *)word(r, 36), "aclrtSynchronizeStream")) WANT(word(r, 28) == id); } break;
		case 2: kernels++; break;
		default: WANT(0);
		}
	}
	WANT(externals == 2 && calls >= 6);

	/* A flush does not reach what is on the device's path; disabling does. */
	msptiActivityDisable(2);
	msptiActivityFlushAll(0);
	for (int i = 1; i < n_done; i++)
		while (msptiActivityGetNextRecord(done[i].buffer, done[i].valid, &r) == 0)
			kernels += kind_of(r) == 2;
	WANT(kernels == 2);

	/* The position is the thread's, whatever the record is, and an abandoned buffer has
	 * the next one begin in the middle. */
	uint8_t two[112] = {2}, bad[56] = {99};
	two[56] = 2;
	r = NULL;
	WANT(msptiActivityGetNextRecord(two, sizeof two, &r) == 0 && r == two);
	r = NULL;
	WANT(msptiActivityGetNextRecord(two, sizeof two, &r) == 0 && r == two + 56);
	WANT(msptiActivityGetNextRecord(two, sizeof two, &r) == 3);
	WANT(msptiActivityGetNextRecord(NULL, 8, &r) == 1);
	for (int i = 0; i < 3; i++)
		WANT(msptiActivityGetNextRecord(bad, sizeof bad, &r) == 999);

	/* At four fifths a buffer is handed over by a thread of its own. */
	n_done = 0;
	msptiActivityEnable(2);
	for (int i = 0; i < 20; i++)
		WANT(aclrtLaunchKernel("k", 1, NULL, 0, NULL) == 0);
	msptiActivityFlushAll(0);
	int foreign = 0;
	for (int i = 0; i < n_done; i++)
		foreign += !pthread_equal(done[i].thread, pthread_self()) && done[i].valid * 5 >= done[i].size * 4;
	WANT(foreign > 0);

	/* A buffer that was not given is handed back all the same. */
	msptiActivityDisable(2);
	msptiActivityFlushAll(0);
	n_done = 0;
	refuse = 1;
	WANT(aclrtSynchronizeStream(NULL) == 0);
	msptiActivityFlushAll(0);
	WANT(n_done == 1 && done[0].buffer == NULL);

	WANT(msptiUnsubscribe(&handle) == 1 && msptiUnsubscribe(handle) == 0 && msptiUnsubscribe(handle) == 0);
	return 0;
}
