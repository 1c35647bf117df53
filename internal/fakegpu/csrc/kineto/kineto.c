/* A session of Kineto's: its clock, its buffers, its kinds; at the end all kinds
 * off, a forced flush, and what came is counted. A buffer that it did not give is
 * complained of on stderr. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cbid.h"
#include "../cupti/layout.h"
#include "../fakegpu.h"
#include "kineto.h"

/* The activity library's, bound by the loader. */
int cuptiActivityRegisterTimestampCallback(uint64_t (*)(void));
int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on);
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivitySetAttribute(uint32_t id, size_t *size, void *value);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
int cuptiActivityGetNumDroppedRecords(void *ctx, uint32_t stream, size_t *n);
int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);

enum { BUFFER = 4 << 20, MAX_BUFFERS = 33, PER_THREAD = 9, CUSTOM0 = 3, MAX_WATCHED = 1 << 16 };

static struct held { uint8_t *data; size_t valid; int ready; } held[MAX_BUFFERS];
static int n_held;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t begun, ended;
static int with_device;
static const char *watched_name;
static struct { uint32_t correlation; uint64_t start; } calls[MAX_WATCHED], work[MAX_WATCHED];
static int n_calls, n_work;

/* A counter of 2.1 GHz, unlike any clock of the system's. */
static uint64_t ticks(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) / 10 * 21;
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	pthread_mutex_lock(&lock);
	*buffer = NULL;
	*size = *max = 0;
	if (n_held == MAX_BUFFERS) {
		fputs("kineto: too many buffers\n", stderr);
	} else if ((*buffer = malloc(BUFFER))) {
		*size = BUFFER;
		held[n_held++] = (struct held){*buffer, 0, 0};
	}
	pthread_mutex_unlock(&lock);
}

static void complete(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)ctx, (void)stream, (void)size;
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < n_held && (held[i].data != buffer || held[i].ready))
		i++;
	if (i == n_held) {
		fputs("kineto: unknown buffer\n", stderr);
	} else {
		held[i].valid = valid;
		held[i].ready = 1;
	}
	pthread_mutex_unlock(&lock);
}

static int first;
#define TRY(call) do { int r_ = (call); if (r_ && !first) first = r_; } while (0)

FG_EXPORT int fk_begin(int device)
{
	first = 0;
	with_device = device;
	TRY(cuptiActivityRegisterTimestampCallback(ticks));
	TRY(cuptiActivityRegisterCallbacks(request, complete));
	if (device) {
		TRY(cuptiActivityEnable(MEMCPY));
		TRY(cuptiActivityEnable(MEMSET));
		TRY(cuptiActivityEnable(CONCURRENT_KERNEL));
	}
	TRY(cuptiActivityEnable(EXTERNAL_CORRELATION));
	TRY(cuptiActivityEnable(RUNTIME));
	TRY(cuptiActivityEnableRuntimeApi(17, 0));
	TRY(cuptiActivityEnable(DRIVER));
	TRY(cuptiActivityEnableDriverApi(686, 0));
	TRY(cuptiActivityEnableDriverApi(392, 0));
	TRY(cuptiActivityEnableDriverApi(304, 0));
	if (device)
		TRY(cuptiActivityEnable(OVERHEAD));
	begun = ticks();
	return first;
}

static uint64_t get64(const uint8_t *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }
static uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }

static void count(const uint8_t *r, struct fk_counts *c)
{
	uint32_t kind = get32(r);
	int device = kind == CONCURRENT_KERNEL || kind == MEMCPY || kind == MEMSET || kind == MEMCPY2;
	int call = kind == RUNTIME || kind == DRIVER;
	if (kind == EXTERNAL_CORRELATION) {
		c->externals++;
		return;
	}
	if ((device || kind == OVERHEAD) && !with_device) {
		c->unexpected++;
		return;
	}
	if (!device && !call) {
		c->overheads += kind == OVERHEAD;
		c->unexpected += kind != OVERHEAD;
		return;
	}
	/* Of the driver's calls Kineto keeps few. */
	if (kind == DRIVER && get32(r + API_cbid) != D_cuLaunchKernel)
		return;
	uint64_t start = get64(r + (call ? API_start : KERNEL_start)), end = get64(r + (call ? API_end : KERNEL_end));
	if (start < begun || start > ended) {
		c->outside++;
		return;
	}
	c->unfinished += end == 0;
	switch (kind) {
	case RUNTIME: c->runtime++; break;
	case DRIVER: c->driver++; break;
	case MEMSET: c->sets++; break;
	case CONCURRENT_KERNEL: c->kernels++; break;
	default: c->copies++;
	}
	if (call && n_calls < MAX_WATCHED)
		calls[n_calls].correlation = get32(r + API_correlationId), calls[n_calls++].start = start;
	const char *name = kind == CONCURRENT_KERNEL ? (const char *)(uintptr_t)get64(r + KERNEL_name) : NULL;
	if (name && watched_name && strcmp(name, watched_name) == 0) {
		c->watched++;
		if (n_work < MAX_WATCHED)
			work[n_work].correlation = get32(r + KERNEL_correlationId), work[n_work++].start = start;
	}
}

static int by_correlation(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* A kernel starts after the call that launches it has begun. */
static void check_order(struct fk_counts *c)
{
	qsort(calls, (size_t)n_calls, sizeof *calls, by_correlation);
	qsort(work, (size_t)n_work, sizeof *work, by_correlation);
	int k = 0;
	for (int i = 0; i < n_work; i++) {
		while (k < n_calls && calls[k].correlation < work[i].correlation)
			k++;
		if (k == n_calls || calls[k].correlation != work[i].correlation || calls[k].start > work[i].start)
			c->unordered++;
	}
	n_calls = n_work = 0;
}

static void read_buffers(struct fk_counts *c)
{
	int kept = 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_held; i++) {
		if (!held[i].ready) {
			held[kept++] = held[i];
			continue;
		}
		uint8_t *r = NULL;
		c->buffers += held[i].valid > 0;
		while (cuptiActivityGetNextRecord(held[i].data, held[i].valid, &r) == 0)
			count(r, c);
		free(held[i].data);
	}
	n_held = kept;
	pthread_mutex_unlock(&lock);
}

FG_EXPORT int fk_end(struct fk_counts *out)
{
	size_t size = 1, dropped = 0;
	uint8_t zero = 0;
	memset(out, 0, sizeof *out);
	first = 0;
	ended = ticks();
	if (with_device) {
		TRY(cuptiActivityDisable(MEMCPY));
		TRY(cuptiActivityDisable(MEMSET));
		TRY(cuptiActivityDisable(CONCURRENT_KERNEL));
	}
	TRY(cuptiActivityDisable(EXTERNAL_CORRELATION));
	TRY(cuptiActivityDisable(RUNTIME));
	TRY(cuptiActivityDisable(DRIVER));
	if (with_device)
		TRY(cuptiActivityDisable(OVERHEAD));
	pthread_mutex_lock(&lock);
	int any = n_held > 0;
	pthread_mutex_unlock(&lock);
	if (any)
		TRY(cuptiActivityFlushAll(1));
	read_buffers(out);
	check_order(out);
	TRY(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	out->dropped = dropped;
	TRY(cuptiActivitySetAttribute(PER_THREAD, &size, &zero));
	return first;
}

FG_EXPORT void fk_watch(const char *name) { watched_name = name; }
FG_EXPORT void fk_push(uint64_t id) { (void)cuptiActivityPushExternalCorrelationId(CUSTOM0, id); }
FG_EXPORT void fk_pop(void) { uint64_t last; (void)cuptiActivityPopExternalCorrelationId(CUSTOM0, &last); }
