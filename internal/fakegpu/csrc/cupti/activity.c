/* Buffers as the client sees them: callbacks, flush, walking, clock, attributes. */
#include <time.h>
#include <unistd.h>

#include "cupti.h"

API int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
	ENTRY(-1);
	if (!request || !complete)
		return INVALID_PARAMETER;
	set_callbacks(request, complete);
	return attach();
}

static void rest(uint64_t ms)
{
	struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
	if (ms)
		nanosleep(&t, NULL);
}

static void hang(void)
{
	for (;;)
		pause();
}

API int cuptiActivityFlushAll(uint32_t flag)
{
	ENTRY(flag);
	int forced = flag & 1;
	if (fg_forked()) {
		if (quirk.fork_flush_hangs)
			hang();
		return SUCCESS;
	}
	if (fg_exited() && quirk.after_exit == 1)
		return NOT_INITIALIZED;
	if (fg_exited() && quirk.after_exit == 2)
		hang();
	if (quirk.flush_block_ms && (forced || !quirk.flush_block_forced)) {
		if (quirk.flush_block_ms < 0)
			hang();
		rest((uint64_t)quirk.flush_block_ms);
	}
	if (forced && playing())
		play_rest();
	return flush_all(forced);
}

API int cuptiActivityFlush(void *ctx, uint32_t stream, uint32_t flag)
{
	(void)ctx;
	(void)stream;
	return cuptiActivityFlushAll(flag);
}

/* Only full, finished buffers come out by period, and these the worker hands
 * over anyway. */
API int cuptiActivityFlushPeriod(uint32_t ms)
{
	ENTRY(ms);
	return SUCCESS;
}

API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	QUIET_ENTRY(-1);
	if (!buffer || !record)
		return INVALID_PARAMETER;
	size_t at = 0;
	uint32_t kind;
	if (*record) {
		memcpy(&kind, *record, sizeof kind);
		if (layout_size(kind) == 0)
			return INVALID_KIND;
		at = (size_t)(*record - buffer) + layout_size(kind);
	}
	if (at >= valid)
		return MAX_LIMIT_REACHED;
	memcpy(&kind, buffer + at, sizeof kind);
	if (layout_size(kind) == 0)
		return INVALID_KIND;
	*record = buffer + at;
	return SUCCESS;
}

API int cuptiActivityGetNumDroppedRecords(void *ctx, uint32_t stream, size_t *n)
{
	(void)ctx;
	(void)stream;
	ENTRY(-1);
	if (!n)
		return INVALID_PARAMETER;
	*n = take_dropped();
	return SUCCESS;
}

API int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void))
{
	ENTRY(-1);
	if (!fn)
		return INVALID_PARAMETER;
	rest(quirk.clock_slow_ms);
	clock_set_callback(fn);
	rest(quirk.clock_slow_ms);
	return SUCCESS;
}

API int cuptiGetTimestamp(uint64_t *t)
{
	ENTRY(-1);
	if (!t)
		return INVALID_PARAMETER;
	*t = clock_now();
	return SUCCESS;
}

/* Attributes by number: size of the value, value, first version that has it.
 * Numbers 3, 4 and 7 are accepted and mean nothing any more. */
static struct { uint8_t size; uint32_t since; uint64_t value; } attributes[] = {
	{8, 0, 3200000}, {8, 0, 8 << 20}, {8, 0, 250}, {8, 0, 0}, {8, 0, 0}, {1, 0, 0}, {8, 0, 3},
	{8, 0, 0}, {1, 0, 0}, {1, 21, 0}, {8, 27, 16 << 20}};

enum { PER_THREAD_BUFFER = 9, N_ATTRIBUTES = sizeof attributes / sizeof *attributes };

static int attribute(uint32_t id, const size_t *size, const void *value)
{
	if (id >= N_ATTRIBUTES || quirk.version < attributes[id].since || !size || !value)
		return INVALID_PARAMETER;
	return *size < attributes[id].size ? PARAMETER_SIZE : SUCCESS;
}

API int cuptiActivitySetAttribute(uint32_t id, size_t *size, void *value)
{
	ENTRY(id);
	int r = attribute(id, size, value);
	if (r != SUCCESS)
		return r;
	attributes[id].value = 0;
	memcpy(&attributes[id].value, value, attributes[id].size);
	if (id == PER_THREAD_BUFFER)
		set_per_thread(attributes[id].value != 0);
	return SUCCESS;
}

API int cuptiActivityGetAttribute(uint32_t id, size_t *size, void *value)
{
	ENTRY(id);
	int r = attribute(id, size, value);
	if (r != SUCCESS)
		return r;
	if (id == PER_THREAD_BUFFER)
		attributes[id].value = (uint64_t)per_thread();
	memcpy(value, &attributes[id].value, attributes[id].size);
	*size = attributes[id].size;
	return SUCCESS;
}
