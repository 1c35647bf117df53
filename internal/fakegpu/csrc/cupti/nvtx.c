/* NVTX: the library takes the program's marks and ranges over, and records them.
 *
 * A copy of NVTX offers a function that gives, by number, tables of addresses of
 * its function pointers; whoever is offered it writes its own functions there.
 * What is not written stays without effect. Names are kept for good, equal ones
 * once, as the real library keeps them. */
#include <unistd.h>

#include "cupti.h"

enum { TABLE_CALLBACKS = 1, CORE = 1, CORE2 = 5 };
enum { MARK_A = 2, RANGE_START_A = 5, RANGE_END = 7, RANGE_PUSH_A = 9, RANGE_POP = 11 };               /* CORE */
enum { DOMAIN_MARK_EX = 1, DOMAIN_RANGE_PUSH_EX = 4, DOMAIN_RANGE_POP = 5, DOMAIN_CREATE_A = 12 };      /* CORE2 */
enum { INSTANT = 1, START = 2, END = 4, OBJECT_OF_THREAD = 2, NOT_TRACKED = -1, DEPTH = 256, NAMES = 4096, DOMAINS = 8 };

typedef void (*any_fn)(void);
struct callbacks_table { size_t size; int (*module)(uint32_t module, any_fn ***table, uint32_t *entries); };

/* What a call of the Ex functions says; 48 bytes. */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message;
};
_Static_assert(sizeof(struct attributes) == 48, "event attributes");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[NAMES];
static const char *domains[DOMAINS];
static uint32_t next_id = 1;
static uint8_t *open_ranges; /* started, not pushed, by id */
static uint32_t open_size;

static __thread struct { uint32_t id[DEPTH]; int n; } stacks[DOMAINS];

static const char *keep(const char *text)
{
	if (!text)
		return NULL;
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < NAMES && names[i] && strcmp(names[i], text) != 0)
		i++;
	if (i < NAMES && !names[i])
		names[i] = strdup(text);
	const char *kept = i < NAMES ? names[i] : strdup(text);
	pthread_mutex_unlock(&lock);
	return kept;
}

static void record_marker(uint32_t flags, uint32_t id, const char *name, const char *domain)
{
	static uint64_t wild_count;
	static int told;
	struct record r;
	/* The threads that hand buffers over are the parent's. */
	if (fg_forked() && !__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		log_line("marker-in-forked-child", flags, id);
	record_init(&r, MARKER);
	put32(&r, MARKER_flags, flags);
	put64(&r, MARKER_timestamp, clock_now());
	put32(&r, MARKER_id, id);
	put32(&r, MARKER_objectKind, OBJECT_OF_THREAD);
	put32(&r, MARKER_objectId, (uint32_t)getpid());
	put32(&r, MARKER_objectId + 4, thread_id());
	uint64_t at = (uint64_t)(uintptr_t)keep(name);
	if (flags != END && hit(&wild_count, quirk.wild_marker_every))
		at = wild_address();
	put64(&r, MARKER_name, at);
	put64(&r, MARKER_domain, (uint64_t)(uintptr_t)domain);
	emit(&r, 0);
}

static int recorded(void) { return kind_enabled(MARKER) && !playing(); }

static uint32_t new_id(void) { return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED); }

static void mark(const char *name, const char *domain)
{
	if (recorded())
		record_marker(INSTANT, new_id(), name, domain);
}

static int push(int d, const char *name)
{
	if (!recorded() || stacks[d].n == DEPTH)
		return NOT_TRACKED;
	uint32_t id = new_id();
	stacks[d].id[stacks[d].n] = id;
	record_marker(START, id, name, domains[d]);
	return stacks[d].n++;
}

/* Without a push there is nothing to end, and no record. */
static int pop(int d)
{
	if (!recorded() || stacks[d].n == 0)
		return NOT_TRACKED;
	stacks[d].n--;
	record_marker(END, stacks[d].id[stacks[d].n], NULL, domains[d]);
	return stacks[d].n;
}

static void mark_a(const char *name) { mark(name, NULL); }
static int push_a(const char *name) { return push(0, name); }
static int pop_a(void) { return pop(0); }

static uint64_t start_a(const char *name)
{
	if (!recorded())
		return 0;
	uint32_t id = new_id();
	pthread_mutex_lock(&lock);
	if (id >= open_size) {
		uint32_t size = 2 * id + 64;
		uint8_t *p = calloc(size, 1);
		if (p && open_ranges)
			memcpy(p, open_ranges, open_size);
		free(open_ranges);
		open_ranges = p;
		open_size = p ? size : 0;
	}
	if (id < open_size)
		open_ranges[id] = 1;
	pthread_mutex_unlock(&lock);
	record_marker(START, id, name, NULL);
	return id;
}

/* The end of what never began is recorded, under the id 0. */
static void end(uint64_t id)
{
	if (!recorded())
		return;
	pthread_mutex_lock(&lock);
	int known = id < open_size && open_ranges[id];
	if (known)
		open_ranges[id] = 0;
	pthread_mutex_unlock(&lock);
	record_marker(END, known ? (uint32_t)id : 0, NULL, NULL);
}

/* A domain is its number; 0 is the default one. */
static void *domain_create_a(const char *name)
{
	const char *kept = keep(name);
	pthread_mutex_lock(&lock);
	uintptr_t d = 1;
	while (d < DOMAINS && domains[d] && domains[d] != kept)
		d++;
	if (d < DOMAINS)
		domains[d] = kept;
	pthread_mutex_unlock(&lock);
	return (void *)(d < DOMAINS ? d : 0);
}

static int number(const void *domain) { return (uintptr_t)domain < DOMAINS ? (int)(uintptr_t)domain : 0; }

static void domain_mark_ex(void *domain, const struct attributes *a) { mark(a->message, domains[number(domain)]); }
static int domain_push_ex(void *domain, const struct attributes *a) { return push(number(domain), a->message); }
static int domain_pop(void *domain) { return pop(number(domain)); }

struct entry { uint32_t at; any_fn fn; };

static int fill(const struct callbacks_table *t, uint32_t module, const struct entry *list, int n)
{
	any_fn **table;
	uint32_t entries;
	if (!t->module(module, &table, &entries))
		return 0;
	for (int i = 0; i < n; i++)
		if (list[i].at < entries && table[list[i].at])
			*table[list[i].at] = list[i].fn;
	return 1;
}

API int cuptiNvtxInitialize2(const void *(*get_table)(uint32_t))
{
	ENTRY(-1);
	if (!get_table)
		return INVALID_PARAMETER;
	const struct callbacks_table *t = get_table(TABLE_CALLBACKS);
	if (!t || t->size < sizeof *t)
		return INVALID_PARAMETER;
	static const struct entry core[] = {
		{MARK_A, (any_fn)mark_a}, {RANGE_START_A, (any_fn)start_a}, {RANGE_END, (any_fn)end},
		{RANGE_PUSH_A, (any_fn)push_a}, {RANGE_POP, (any_fn)pop_a}};
	static const struct entry core2[] = {
		{DOMAIN_MARK_EX, (any_fn)domain_mark_ex}, {DOMAIN_RANGE_PUSH_EX, (any_fn)domain_push_ex},
		{DOMAIN_RANGE_POP, (any_fn)domain_pop}, {DOMAIN_CREATE_A, (any_fn)domain_create_a}};
	int ok = fill(t, CORE, core, sizeof core / sizeof *core) && fill(t, CORE2, core2, sizeof core2 / sizeof *core2);
	return ok ? SUCCESS : INVALID_PARAMETER;
}

/* For programs that name the library itself as what NVTX is to call. */
API int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t)) { return cuptiNvtxInitialize2(get_table) == SUCCESS; }
