/* libdumpinject: the smallest injected client of the activity API. It writes
 * each completed buffer to $FAKEGPU_DUMP as {u64 valid size, u64 context, u64
 * stream id, bytes} and, beside it in $FAKEGPU_DUMP.names.tsv, the string behind
 * each kernel-name pointer. Switches:
 *   FAKEGPU_DUMP_BUFFER  bytes of a buffer (65536)
 *   FAKEGPU_DUMP_KINDS   kinds to enable, in order, comma separated
 *   FAKEGPU_DUMP_NULL    1: no buffer is ever given
 *   FAKEGPU_DUMP_CLOCK   1: a timestamp callback that gives CLOCK_MONOTONIC ns
 *   FAKEGPU_DUMP_ALLOW   runtime callback ids to enable one by one
 *   FAKEGPU_DUMP_FLUSH_US  a thread flushes (not forced) at this interval */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { CONCURRENT_KERNEL = 10, KERNEL_NAME = 104, MAX_NAMES = 4096 };

static FILE *out, *names_out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t buffer_size;
static int give_null;
static pid_t owner;
static uint64_t seen[MAX_NAMES];
static int n_seen;
static int (*flush_all)(uint32_t);
static int (*next_record)(uint8_t *, size_t, uint8_t **);
static int (*num_dropped)(void *, uint32_t, size_t *);

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = give_null ? NULL : aligned_alloc(4096, buffer_size);
	*size = buffer_size;
	*max = 0;
}

/* The kernel refuses to write from an address that cannot be read, where
 * reading it here would fault. */
static int readable(const void *p)
{
	int fd[2];
	if (pipe(fd))
		return 0;
	int ok = write(fd[1], p, 1) == 1;
	close(fd[0]);
	close(fd[1]);
	return ok;
}

static void note_name(const uint8_t *record)
{
	uint64_t p;
	memcpy(&p, record + KERNEL_NAME, sizeof p);
	for (int i = 0; i < n_seen; i++)
		if (seen[i] == p)
			return;
	if (p == 0 || n_seen == MAX_NAMES)
		return;
	seen[n_seen++] = p;
	if (readable((const void *)(uintptr_t)p))
		fprintf(names_out, "0x%llx\t%s\n", (unsigned long long)p, (const char *)(uintptr_t)p);
}

static void complete(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint64_t head[3] = {valid, (uint64_t)(uintptr_t)ctx, stream};
	uint8_t *r = NULL;
	(void)size;
	pthread_mutex_lock(&lock);
	if (valid) {
		fwrite(head, sizeof head, 1, out);
		fwrite(buffer, 1, valid, out);
	}
	while (next_record(buffer, valid, &r) == 0) {
		uint32_t kind;
		memcpy(&kind, r, sizeof kind);
		if (kind == CONCURRENT_KERNEL)
			note_name(r);
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static uint64_t monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *flusher(void *interval)
{
	long us = (long)(intptr_t)interval;
	for (;;) {
		nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
		flush_all(0);
	}
	return NULL;
}

static void finish(void)
{
	size_t dropped = 0;
	if (getpid() != owner)
		return;
	flush_all(1);
	num_dropped(NULL, 0, &dropped);
	fprintf(names_out, "#dropped\t%zu\n", dropped);
	/* The flushing thread goes on until the process ends: files stay open. */
}

EXPORT int InitializeInjection(void)
{
	const char *path = getenv("FAKEGPU_DUMP"), *kinds = getenv("FAKEGPU_DUMP_KINDS");
	const char *allow = getenv("FAKEGPU_DUMP_ALLOW"), *size = getenv("FAKEGPU_DUMP_BUFFER");
	char names[4096], other[4000];
	void *h = dlopen("libcupti.so.13", RTLD_NOW);
	if (!h)
		h = dlopen("libcupti.so.12", RTLD_NOW);
	if (!h || !path)
		return 0;
	/* A child process that inherits the path writes beside its parent's file. */
	out = fopen(path, "wbx");
	if (!out) {
		snprintf(other, sizeof other, "%s.%d", path, (int)getpid());
		path = other;
		out = fopen(path, "wbx");
	}
	snprintf(names, sizeof names, "%s.names.tsv", path);
	names_out = fopen(names, "w");
	if (!out || !names_out)
		return 0;
	/* Nothing may wait in memory: a forked child would write it once more. */
	setvbuf(out, NULL, _IONBF, 0);
	setvbuf(names_out, NULL, _IONBF, 0);
	owner = getpid();
	buffer_size = size ? strtoul(size, NULL, 10) : 65536;
	give_null = getenv("FAKEGPU_DUMP_NULL") != NULL;
	int (*reg)(void *, void *) = (int (*)(void *, void *))dlsym(h, "cuptiActivityRegisterCallbacks");
	int (*enable)(uint32_t) = (int (*)(uint32_t))dlsym(h, "cuptiActivityEnable");
	int (*thread_ids)(uint32_t) = (int (*)(uint32_t))dlsym(h, "cuptiSetThreadIdType");
	int (*clock_fn)(uint64_t (*)(void)) = (int (*)(uint64_t (*)(void)))dlsym(h, "cuptiActivityRegisterTimestampCallback");
	int (*runtime_api)(uint32_t, uint8_t) = (int (*)(uint32_t, uint8_t))dlsym(h, "cuptiActivityEnableRuntimeApi");
	flush_all = (int (*)(uint32_t))dlsym(h, "cuptiActivityFlushAll");
	next_record = (int (*)(uint8_t *, size_t, uint8_t **))dlsym(h, "cuptiActivityGetNextRecord");
	num_dropped = (int (*)(void *, uint32_t, size_t *))dlsym(h, "cuptiActivityGetNumDroppedRecords");
	if (!reg || !enable || !flush_all || !next_record || !num_dropped)
		return 0;
	if (thread_ids)
		thread_ids(1);
	if (getenv("FAKEGPU_DUMP_CLOCK") && clock_fn)
		clock_fn(monotonic);
	reg((void *)request, (void *)complete);
	for (const char *p = kinds ? kinds : "8,9,37,39,17,38,1,2,10,5,4"; *p; p += strspn(p, ",")) {
		char *end;
		enable((uint32_t)strtoul(p, &end, 10));
		p = end;
	}
	for (const char *p = allow ? allow : ""; *p && runtime_api; p += strspn(p, ",")) {
		char *end;
		runtime_api((uint32_t)strtoul(p, &end, 10), 1);
		p = end;
	}
	pthread_t t;
	const char *us = getenv("FAKEGPU_DUMP_FLUSH_US");
	if (us && pthread_create(&t, NULL, flusher, (void *)(intptr_t)strtol(us, NULL, 10)) == 0)
		pthread_detach(t);
	atexit(finish);
	return 1;
}
