/*
 * api.c - the exported functions of libflagos_trace.so. Most of what they do is in
 * the Go library, which the first of them that has something to record loads.
 */
#define _GNU_SOURCE
#include "stub.h"
#include "../include/flagos_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* NULL as long as there is no Go in this process. */
static _Atomic(const ft_calls *) calls;

enum { NOT_TRIED, TRYING, TRIED };
static _Atomic uint32_t state;
static _Atomic pid_t trier;

/* How long a call waits for another thread that is loading the Go library. */
enum { WAIT_S = 5 };

/* Whether there is anything to do for the agent: spools to write, or the log. */
static int wanted(void)
{
    const char *folder = getenv("FLAGOS_TRACE_DIR"), *debug = getenv("FLAGOS_TRACE");
    return (folder && *folder) || (debug && !strcmp(debug, "debug"));
}

static const ft_calls *start_go(st_reason *why)
{
    if (st_reserve(why) != 0)
        return NULL;
    const ft_calls *c = st_open(why);
    if (st_startable(why) != 0)
        c = NULL;
    if (c && c->begin(&st_host) != 0) {
        st_because(why, "its Go runtime cannot be started");
        c = NULL;
    }
    if (!c) {
        st_unreserve();
        return NULL;
    }
    /* Without the others Go lies idle, with what it has. */
    return st_reserved(why) == 0 ? c : NULL;
}

/* Tries once, with all signals blocked: threads inherit that, and a limit of file
   sizes must not end the program. */
static void try(void)
{
    static const struct timespec at_once = {0, 0};
    sigset_t all, before, pending, mine;
    st_reason why;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    sigpending(&pending);
    const ft_calls *c = start_go(&why);
    if (c)
        atomic_store(&calls, c);
    else
        st_refuse(&why);
    sigemptyset(&mine);
    sigaddset(&mine, SIGXFSZ);
    if (!sigismember(&pending, SIGXFSZ))
        sigtimedwait(&mine, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Waits for another thread that tries; not for one that was left in the parent. */
static void await(void)
{
    for (int i = 0; i < 50 * WAIT_S && atomic_load(&state) == TRYING; i++) {
        struct timespec t = {0, 20000000};
        pid_t who = atomic_load(&trier);
        if (who != 0 && who != getpid())
            return;
        syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, TRYING, &t, NULL, 0);
    }
}

/* The Go library, loaded if it has to be; NULL if it is not. */
static const ft_calls *go(void)
{
    const ft_calls *c = atomic_load_explicit(&calls, memory_order_acquire);
    if (c || !wanted())
        return c;
    int e = errno;
    uint32_t was = NOT_TRIED;
    if (atomic_compare_exchange_strong(&state, &was, TRYING)) {
        atomic_store(&trier, getpid());
        try();
        atomic_store(&state, TRIED);
        syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
    } else if (was == TRYING) {
        await();
    }
    errno = e;
    return atomic_load(&calls);
}

/* What is said where there is no Go. */
static int without(void)
{
    return atomic_load(&state) == TRIED && atomic_load(&trier) == getpid() ? FLAGOS_TRACE_UNAVAILABLE : FLAGOS_TRACE_INACTIVE;
}

/* Starts another injection library as the driver would have: the agent, whose work
   that is otherwise, is not there. */
static void chain(void)
{
    static _Atomic int done;
    const char *path = getenv("FLAGOS_TRACE_CHAIN");
    if (!path || !*path || atomic_exchange(&done, 1) != 0)
        return;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*init)(void) = lib ? (int (*)(void))dlsym(lib, "InitializeInjection") : NULL;
    if (init)
        init();
}

EXPORT int InitializeInjection(void)
{
    const ft_calls *c = go();
    if (c)
        c->inject();
    else if (atomic_load(&state) != TRYING)
        chain();
    return 1;
}

EXPORT int flagos_trace_start(void)
{
    const ft_calls *c = go();
    return c ? c->start() : without();
}

EXPORT int flagos_trace_stop(void)
{
    const ft_calls *c = atomic_load_explicit(&calls, memory_order_acquire);
    return c ? c->stop() : without();
}

EXPORT int flagos_trace_flush(void)
{
    const ft_calls *c = atomic_load_explicit(&calls, memory_order_acquire);
    return c ? c->flush() : without();
}

EXPORT int flagos_trace_push_external_id(uint32_t stack, uint64_t id)
{
    const ft_calls *c = atomic_load_explicit(&calls, memory_order_acquire);
    return c ? c->push(stack, id) : FLAGOS_TRACE_INACTIVE;
}

EXPORT int flagos_trace_pop_external_id(uint32_t stack, uint64_t *id)
{
    const ft_calls *c = atomic_load_explicit(&calls, memory_order_acquire);
    return c ? c->pop(stack, id) : FLAGOS_TRACE_INACTIVE;
}
