/*
 * muxdata.c - the buffer functions while two clients want the records.
 *
 * Blocks of the recorder's pool are what the library fills. A block that comes back
 * is copied, as far as the session wants its records, into a buffer which its
 * profiler gave, and goes its way. Several blocks share one of the profiler's
 * buffers: there are twenty small ones a second, and Kineto stops recording after
 * some dozens of its large ones.
 */
#define _GNU_SOURCE
#include "muxdata.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    MEMCPY = 1, MEMSET = 2, KERNEL = 3, DRIVER = 4, RUNTIME = 5, CONCURRENT_KERNEL = 10, MEMCPY2 = 22, SYNC = 38,
    MAX_KIND = 64, MAX_ID = 1024,
    /* Where records have the id of a call, its thread, and their start. */
    ID_AT = 4, CALL_START = 8, THREAD_AT = 28, WORK_START = 16
};
enum { BY_KIND, ON, OFF };

static const ft_pool *pool;
static _Atomic uint32_t own_thread;
static _Atomic(ft_request_fn) their_request;
static _Atomic(ft_complete_fn) their_complete;

/* The session; guarded by lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int on;
static ft_clock_fn clock_of;
static ft_next_fn next_of;
static uint64_t kinds, begun_at, copied;
static uint8_t ids[2][MAX_ID];

/* The buffer of theirs that is being filled. */
static struct {
    uint8_t *p;
    size_t size, used, max_records, records;
} open_one;

void ft_data_pool(const ft_pool *p) { pool = p; }

void ft_data_own_thread(uint32_t tid) { atomic_store(&own_thread, tid); }

void ft_data_begin(ft_request_fn request, ft_complete_fn complete, ft_clock_fn clock, ft_next_fn next)
{
    pthread_mutex_lock(&lock);
    if (!atomic_load(&on)) {
        kinds = copied = 0;
        memset(ids, BY_KIND, sizeof ids);
    }
    clock_of = clock;
    next_of = next;
    begun_at = clock ? clock() : 0;
    atomic_store(&their_request, request);
    atomic_store(&their_complete, complete);
    atomic_store(&on, 1);
    pthread_mutex_unlock(&lock);
}

static uint64_t bit(uint32_t kind) { return kind < MAX_KIND ? UINT64_C(1) << kind : 0; }

static uint8_t *id_of(uint32_t kind, uint32_t id) { return &ids[kind == RUNTIME][id < MAX_ID ? id : 0]; }

void ft_data_kind(uint32_t kind, int wanted)
{
    pthread_mutex_lock(&lock);
    uint64_t all = bit(kind);
    /* What the library delivers under another number. */
    if (kind == KERNEL)
        all |= bit(CONCURRENT_KERNEL);
    if (kind == MEMCPY)
        all |= bit(MEMCPY2);
    kinds = wanted ? kinds | all : kinds & ~all;
    if (kind == DRIVER || kind == RUNTIME)
        memset(ids[kind == RUNTIME], BY_KIND, MAX_ID);
    pthread_mutex_unlock(&lock);
}

void ft_data_api(uint32_t kind, uint32_t id, int wanted)
{
    pthread_mutex_lock(&lock);
    if (id < MAX_ID)
        *id_of(kind, id) = wanted ? ON : OFF;
    pthread_mutex_unlock(&lock);
}

/* With the lock, as what follows up to the copying. */
static int get(void)
{
    ft_request_fn fn = atomic_load(&their_request);
    memset(&open_one, 0, sizeof open_one);
    if (fn)
        fn(&open_one.p, &open_one.size, &open_one.max_records);
    return open_one.p != NULL;
}

static void give(void)
{
    ft_complete_fn fn = atomic_load(&their_complete);
    if (open_one.p && fn)
        fn(NULL, 0, open_one.p, open_one.size, open_one.used);
    memset(&open_one, 0, sizeof open_one);
}

static void append(const uint8_t *record, size_t bytes)
{
    int full = open_one.used + bytes > open_one.size || (open_one.max_records && open_one.records >= open_one.max_records);
    if (open_one.p && full && open_one.used > 0)
        give();
    if ((!open_one.p && !get()) || open_one.used + bytes > open_one.size)
        return; /* it has none, as it would have had none for the library */
    memcpy(open_one.p + open_one.used, record, bytes);
    open_one.used += bytes;
    open_one.records++;
}

static uint64_t u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/*
 * Whether the session gets a record: its kind is wanted, and it is of the session's
 * time. One of before is in another clock, which its profiler would take for times
 * in its own. now is the session's clock, 0 if it has none.
 */
static int wanted(const uint8_t *record, size_t bytes, uint64_t now)
{
    uint32_t kind = u32(record);
    size_t start = 0;
    if (kind == DRIVER || kind == RUNTIME) {
        if (bytes < THREAD_AT + 4 || u32(record + THREAD_AT) == atomic_load(&own_thread))
            return 0; /* a call of the recorder's */
        uint8_t state = *id_of(kind, u32(record + ID_AT));
        if (state == OFF || (state == BY_KIND && !(kinds & bit(kind))))
            return 0;
        start = CALL_START;
    } else if (!(kinds & bit(kind)))
        return 0;
    else if (kind == MEMCPY || kind == MEMSET || kind == KERNEL || kind == CONCURRENT_KERNEL || kind == MEMCPY2)
        start = WORK_START;
    else if (kind == SYNC)
        start = CALL_START;
    if (!now || !start || bytes < start + 8)
        return 1;
    uint64_t t = u64(record + start);
    return t == 0 || (t >= begun_at && t <= now);
}

static void copy_out(uint8_t *block, size_t valid)
{
    uint8_t *at = NULL, *last = NULL;
    if (!next_of)
        return;
    uint64_t now = clock_of ? clock_of() : 0;
    while (next_of(block, valid, &at) == 0) {
        if (last && wanted(last, (size_t)(at - last), now))
            append(last, (size_t)(at - last));
        last = at;
    }
    /* Behind a record that the library cannot step over nobody finds another. */
    if (last && wanted(last, (size_t)(block + valid - last), now))
        append(last, (size_t)(block + valid - last));
    copied++;
}

/* Copies a buffer of theirs for the spool. */
static void copy_in(void *context, uint32_t stream, const uint8_t *buffer, size_t valid)
{
    uint8_t *block;
    size_t size;
    const uint8_t *rest = buffer;
    while (valid > 0) {
        if (!pool->try(&block, &size)) {
            pool->lost(valid);
            return;
        }
        size_t n = valid;
        if (n > size) {
            /* As many whole records as fit. */
            uint8_t *at = NULL;
            n = 0;
            while (next_of && next_of((uint8_t *)rest, valid, &at) == 0 && (size_t)(at - rest) <= size)
                n = (size_t)(at - rest);
        }
        memcpy(block, rest, n);
        pool->complete(context, stream, block, size, n);
        if (n == 0) {
            pool->lost(valid);
            return;
        }
        rest += n;
        valid -= n;
    }
}

void ft_data_prepare(void)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&on) && !open_one.p)
        get();
    pthread_mutex_unlock(&lock);
}

void ft_data_hand_over(int again)
{
    pthread_mutex_lock(&lock);
    give();
    if (again)
        get();
    pthread_mutex_unlock(&lock);
}

uint64_t ft_data_end(void)
{
    pthread_mutex_lock(&lock);
    give();
    atomic_store(&on, 0);
    uint64_t n = copied;
    pthread_mutex_unlock(&lock);
    return n;
}

void ft_data_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    ft_request_fn fn = atomic_load(&on) && ft_mux_here() == 1 ? atomic_load(&their_request) : NULL;
    *max_records = 0;
    if (!fn)
        pool->request(buffer, size, max_records);
    else if (!ft_mux_serving() || !pool->try(buffer, size))
        fn(buffer, size, max_records);
}

/* Buffers that a thread is handing on: the library has no more to do with them, and
   their profiler does not have them yet. */
static _Atomic uint32_t under_way;

int ft_data_under_way(void) { return atomic_load(&under_way) != 0; }

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    if (pool->owns(buffer)) {
        if (atomic_load(&on) && valid > 0) {
            pthread_mutex_lock(&lock);
            if (atomic_load(&on))
                copy_out(buffer, valid);
            pthread_mutex_unlock(&lock);
        }
        pool->complete(context, stream, buffer, size, valid);
        return;
    }
    ft_complete_fn fn = atomic_load(&their_complete);
    if (!fn) {
        pool->complete(context, stream, buffer, size, valid);
        return;
    }
    if (ft_mux_serving())
        copy_in(context, stream, buffer, valid);
    fn(context, stream, buffer, size, valid);
}

void ft_data_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    if (ft_mux_here() != 1)
        return;
    atomic_fetch_add(&under_way, 1);
    complete(context, stream, buffer, size, valid);
    atomic_fetch_sub(&under_way, 1);
}

void ft_data_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&under_way, 0);
}
