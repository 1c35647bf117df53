/* External correlation ids: a stack per thread and kind; the tops are recorded
 * with every recorded API call of the thread. */
#include "cupti.h"

enum { KINDS = 6, DEPTH = 1024 };

static __thread struct { uint64_t ids[DEPTH]; int n; } *stacks;

API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
	QUIET_ENTRY(kind);
	if (kind == 0 || kind >= KINDS)
		return INVALID_PARAMETER;
	if (!stacks && !(stacks = calloc(KINDS, sizeof *stacks)))
		return 8;
	if (stacks[kind].n == DEPTH)
		return MAX_LIMIT_REACHED;
	stacks[kind].ids[stacks[kind].n++] = id;
	return SUCCESS;
}

API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
	QUIET_ENTRY(kind);
	if (kind == 0 || kind >= KINDS)
		return INVALID_PARAMETER;
	if (!stacks || stacks[kind].n == 0)
		return QUEUE_EMPTY;
	uint64_t id = stacks[kind].ids[--stacks[kind].n];
	if (last)
		*last = id;
	return SUCCESS;
}

void emit_external(struct fg_api *a)
{
	if (a->linked || !stacks || !kind_enabled(EXTERNAL_CORRELATION))
		return;
	a->linked = 1;
	for (uint32_t kind = 1; kind < KINDS; kind++) {
		if (stacks[kind].n == 0)
			continue;
		struct record r;
		record_init(&r, EXTERNAL_CORRELATION);
		put32(&r, EXTERNAL_externalKind, kind);
		put64(&r, EXTERNAL_externalId, stacks[kind].ids[stacks[kind].n - 1]);
		put32(&r, EXTERNAL_correlationId, a->correlation);
		emit(&r, a->correlation);
	}
}
