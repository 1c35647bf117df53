/*
 * host.c - tells the Python side of the recording when to look.
 *
 * It hands over a callable; whenever what it should do has changed, that is queued
 * with Py_AddPendingCall and runs in the interpreter's main thread between two
 * bytecodes. What it then asks for is flagos_trace_host_state. The flusher does the
 * queueing: there is no thread for it.
 *
 * Traps:
 *  - The interpreter can end before the process. Then there is nothing to queue to:
 *    the bootstrap detaches before (attach with NULL), and Py_IsInitialized is asked
 *    for those that did not.
 *  - A callable attached before a fork is good in the child as well.
 */
#define _GNU_SOURCE
#include "hostside.h"
#include "../include/flagos_trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { SLICE_MS = 5000, MIN_SLICE_MS = 10, MAX_SLICE_MS = 24 * 3600 * 1000, BOTH = FT_ACTIVE | FT_IN_USE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *callable;
static struct {
    int (*add)(int (*)(void *), void *);
    void *(*call)(void *, void *);
    void (*release)(void *);
    int (*initialized)(void);
} python;
static const ft_pool *pool;
static _Atomic uint32_t queued, cut;
static uint32_t told;
static int64_t slice_ns, slice_began;

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ft_host_connect(const ft_pool *p)
{
    const char *v = getenv("FLAGOS_TRACE_HOST_SLICE_MS");
    char *rest;
    long ms = v && *v ? strtol(v, &rest, 10) : SLICE_MS;
    if (v && *v && (*rest || ms < MIN_SLICE_MS || ms > MAX_SLICE_MS))
        ms = SLICE_MS;
    slice_ns = (int64_t)ms * 1000000;
    atomic_store(&queued, 0); /* by a process that this one was forked from */
    pool = p;
}

/* Runs in the main thread, with the interpreter's lock. */
static int pending(void *arg)
{
    (void)arg;
    atomic_store(&queued, 0);
    void *fn = __atomic_load_n(&callable, __ATOMIC_ACQUIRE);
    if (!fn || ft_mux_here() < 0)
        return 0;
    void *result = python.call(fn, NULL);
    if (!result)
        return -1; /* an exception of the program's, from a signal handler of its */
    python.release(result);
    return 0;
}

void ft_host_tick(int cut_now)
{
    if (ft_mux_here() != 1)
        return;
    uint32_t state = pool->state() & BOTH;
    int64_t now = monotonic();
    pthread_mutex_lock(&lock);
    if (!callable || !python.initialized()) {
        pthread_mutex_unlock(&lock);
        return;
    }
    if (state == BOTH && told != BOTH)
        slice_began = now;
    else if (state == BOTH && (cut_now || now - slice_began >= slice_ns)) {
        slice_began = now;
        atomic_store(&cut, 1);
    }
    int wanted = (state == BOTH) != (told == BOTH) || (state == BOTH && atomic_load(&cut));
    if (!wanted)
        told = state;
    else if (atomic_exchange(&queued, 1) != 0)
        told = state; /* it will see this as well */
    else if (python.add(pending, NULL) == 0)
        told = state;
    else
        atomic_store(&queued, 0); /* the queue is full: next time */
    pthread_mutex_unlock(&lock);
}

EXPORT int flagos_trace_host_attach(void *fn)
{
    if (ft_mux_here() < 0)
        return FLAGOS_TRACE_INACTIVE;
    ft_mux_scan();
    int rc = FLAGOS_TRACE_OK;
    pthread_mutex_lock(&lock);
    if (fn && !python.add) {
        python.call = (void *(*)(void *, void *))dlsym(RTLD_DEFAULT, "PyObject_CallObject");
        python.release = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_DecRef");
        python.initialized = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
        if (python.call && python.release && python.initialized)
            python.add = (int (*)(int (*)(void *), void *))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    }
    if (fn && !python.add)
        rc = FLAGOS_TRACE_UNAVAILABLE;
    else
        __atomic_store_n(&callable, fn, __ATOMIC_RELEASE);
    told = 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

EXPORT uint32_t flagos_trace_host_state(void)
{
    if (ft_mux_here() != 1)
        return 0;
    uint32_t state = pool->state();
    return (state & BOTH) | (atomic_exchange(&cut, 0) ? FLAGOS_TRACE_HOST_CUT : 0);
}

EXPORT int flagos_trace_host_own(int on)
{
    if (ft_mux_here() != 1)
        return FLAGOS_TRACE_INACTIVE;
    ft_mux_own(on);
    return FLAGOS_TRACE_OK;
}

void ft_host_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&queued, 0);
}
