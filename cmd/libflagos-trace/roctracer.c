/* roctracer.c - see roctracer.h. */
#include "roctracer.h"
#include "guard.h"
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HIP_API = 3, EXT_API = 5, LAUNCH = 0x4c617563, ENTER = 0, MAX_DEPTH = 16, FIRST_STACK = 3, STACKS = 2, MAX_STACK = 256, EMPTY = 18 };
enum { DIMS = 1, MODULE = 2, GLOBAL = 3 };

struct record {
    uint32_t domain, kind, op, pad;
    uint64_t correlation;
    union {
        struct { uint64_t begin, end; uint32_t process, thread; uint64_t rest[2]; } call;
        struct { uint64_t times[2], id, rest[2]; } external;
        struct { uint32_t grid[3], block[3], shared, has_shared; uint64_t stream; } launch;
    };
};
_Static_assert(sizeof(struct record) == FT_ROC_RECORD, "record");
_Static_assert(offsetof(struct record, correlation) == 16 && offsetof(struct record, call.begin) == 24 && offsetof(struct record, call.process) == 40, "call");
_Static_assert(offsetof(struct record, external.id) == 40, "external");
_Static_assert(offsetof(struct record, launch.block) == 36 && offsetof(struct record, launch.shared) == 48 && offsetof(struct record, launch.stream) == 56, "launch");

/* What is shown of a call: hip_api_data_t up to the arguments. */
struct data {
    uint64_t correlation;
    uint32_t phase;
    uint8_t arguments[];
};
_Static_assert(offsetof(struct data, phase) == 8, "data");
enum { ARGUMENTS = 16 };

static int (*timestamp_fn)(uint64_t *);
static uint8_t shape[FT_ROC_CALLS];

/* The block that calls go into. The lock is held for as long as a record takes to copy:
   what is called under it are the pool's functions, which wait for nothing. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *block;
static size_t room, used;

/* What is known of a thread: its calls under way, and its stacks of external ids. It is
   no __thread variable: the room for those of a library that is loaded late is small. */
struct thread {
    struct { uint64_t correlation, begin; uint32_t op; } calls[MAX_DEPTH];
    int depth;
    uint32_t window; /* of the calls under way */
    uint64_t stacks[STACKS][MAX_STACK];
    int heights[STACKS];
};
/* Counts the times that recording began: a call that was under way when it ended was
   never seen to end. */
static _Atomic uint32_t window;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int have_key;

static void make_key(void) { have_key = pthread_key_create(&key, free) == 0; }

static struct thread *self(void)
{
    pthread_once(&key_once, make_key);
    if (!have_key)
        return NULL;
    struct thread *t = pthread_getspecific(key);
    if (!t && (t = calloc(1, sizeof *t)) != NULL && pthread_setspecific(key, t) != 0) {
        free(t);
        t = NULL;
    }
    return t;
}

static uint64_t now(void)
{
    uint64_t t = 0;
    return timestamp_fn && timestamp_fn(&t) == 0 ? t : 0;
}

void ft_roc_open(void *timestamp, const uint8_t *shapes, uint32_t n)
{
    memcpy(shape, shapes, n < FT_ROC_CALLS ? n : FT_ROC_CALLS);
    timestamp_fn = (int (*)(uint64_t *))timestamp;
    atomic_fetch_add(&window, 1);
}

static void hand_over(void)
{
    if (block)
        ft_complete(NULL, 0, block, room, used);
    block = NULL;
}

void ft_roc_flush(void)
{
    if (!ft_alive())
        return;
    pthread_mutex_lock(&lock);
    hand_over();
    pthread_mutex_unlock(&lock);
}

static void put(const struct record *r, size_t n)
{
    size_t max;
    pthread_mutex_lock(&lock);
    if (block && room - used < n * sizeof *r)
        hand_over();
    if (!block) {
        ft_request(&block, &room, &max);
        used = 0;
    }
    memcpy(block + used, r, n * sizeof *r);
    used += n * sizeof *r;
    pthread_mutex_unlock(&lock);
}

/* Calls that were told of before these records stand before them. */
void ft_roc_complete(const char *begin, const char *end, void *arg)
{
    if (!ft_alive())
        return;
    ft_roc_flush();
    while (end - begin >= FT_ROC_RECORD) {
        uint8_t *to;
        size_t size, max, n = (size_t)(end - begin) / FT_ROC_RECORD * FT_ROC_RECORD;
        ft_request(&to, &size, &max);
        if (n > size)
            n = size / FT_ROC_RECORD * FT_ROC_RECORD;
        memcpy(to, begin, n);
        ft_complete(NULL, 0, to, size, n);
        begin += n;
    }
}

static uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static size_t launched(struct record *r, uint32_t id, const struct data *d)
{
    const uint8_t *a = (const uint8_t *)d + ARGUMENTS;
    uint8_t s = id < FT_ROC_CALLS ? shape[id] : 0;
    if (!s)
        return 0;
    memset(r, 0, sizeof *r);
    r->domain = LAUNCH;
    r->kind = s;
    r->op = id;
    r->correlation = d->correlation;
    memcpy(r->launch.grid, a + 8, sizeof r->launch.grid);
    memcpy(r->launch.block, a + 20, sizeof r->launch.block);
    if (s == MODULE || s == GLOBAL) {
        r->launch.shared = word(a + 32);
        r->launch.has_shared = 1;
        memcpy(&r->launch.stream, a + 40, sizeof r->launch.stream);
    }
    return 1;
}

/* The records of a call that begins: how it launches, and what ids it is made under. */
static size_t began(struct record r[3], uint32_t id, const struct data *d, struct thread *t)
{
    size_t n = launched(r, id, d);
    for (uint32_t s = 0; s < STACKS; s++) {
        int top = t->heights[s] <= MAX_STACK ? t->heights[s] : MAX_STACK;
        if (top == 0 || n == 3)
            continue;
        memset(&r[n], 0, sizeof *r);
        r[n].domain = EXT_API;
        r[n].kind = s + FIRST_STACK;
        r[n].correlation = d->correlation;
        r[n++].external.id = t->stacks[s][top - 1];
    }
    if (t->depth < MAX_DEPTH) {
        t->calls[t->depth].correlation = d->correlation;
        t->calls[t->depth].op = id;
        t->calls[t->depth].begin = now();
    }
    t->depth++;
    return n;
}

static size_t ended(struct record *r, uint32_t id, const struct data *d, struct thread *t)
{
    if (t->depth == 0 || --t->depth >= MAX_DEPTH)
        return 0;
    if (t->calls[t->depth].correlation != d->correlation || t->calls[t->depth].op != id)
        return 0;
    memset(r, 0, sizeof *r);
    r->domain = HIP_API;
    r->op = id;
    r->correlation = d->correlation;
    r->call.begin = t->calls[t->depth].begin;
    r->call.end = now();
    r->call.process = (uint32_t)getpid();
    r->call.thread = (uint32_t)syscall(SYS_gettid);
    return 1;
}

void ft_roc_call(uint32_t domain, uint32_t id, const void *data, void *arg)
{
    struct record r[3];
    struct thread *t;
    if (!ft_alive() || domain != HIP_API || !data || !(t = self()))
        return;
    const struct data *d = data;
    uint32_t w = atomic_load_explicit(&window, memory_order_relaxed);
    if (t->window != w) {
        t->window = w;
        t->depth = 0;
    }
    size_t n = d->phase == ENTER ? began(r, id, d, t) : ended(r, id, d, t);
    if (n)
        put(r, n);
}

int ft_roc_push(uint32_t stack, uint64_t id)
{
    struct thread *t = self();
    uint32_t s = stack - FIRST_STACK;
    if (s >= STACKS || !t)
        return 1;
    if (t->heights[s] < MAX_STACK)
        t->stacks[s][t->heights[s]] = id;
    t->heights[s]++;
    return 0;
}

int ft_roc_pop(uint32_t stack, uint64_t *id)
{
    struct thread *t = self();
    uint32_t s = stack - FIRST_STACK;
    if (s >= STACKS || !t)
        return 1;
    if (!t->heights[s])
        return EMPTY;
    if (--t->heights[s] < MAX_STACK && id)
        *id = t->stacks[s][t->heights[s]];
    return 0;
}
