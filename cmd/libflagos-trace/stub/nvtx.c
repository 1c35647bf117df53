/*
 * nvtx.c - how the program's NVTX comes to the vendor's library.
 *
 * Each library with a copy of NVTX offers its table of functions once, at its first
 * call, to what NVTX_INJECTION64_PATH names; that is this library, if the recorder
 * asked for it. The vendor's library would take the offer itself, but which copy of
 * it the agent uses is known only once the device is used, and a process that never
 * uses the device should not load one, nor one that forks first and uses it in its
 * children. So offers are kept until the agent has its library, and passed on to
 * that. Until then, and where nothing is recorded, NVTX calls do nothing, as
 * without a tool.
 *
 * What a forked child calls must not reach the library of the parent, whose threads
 * it does not have: there the functions are taken out again.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* More copies than any program has; those beyond stay without effect. */
enum { OFFERS = 256 };

/* Of NVTX 3: the table of callbacks by its number, the modules of functions, and
   one more than the highest number of one. */
enum { TABLE_CALLBACKS = 1, MODULES = 7 };

typedef void (*any_fn)(void);
typedef const void *table_fn(uint32_t table);
typedef int initialize_fn(table_fn *);

typedef struct {
    size_t size;
    /* 0 if it has none such; entry 0 of the table is unused, others may be NULL. */
    int (*functions)(uint32_t module, any_fn ***table, uint32_t *entries);
} callbacks;

typedef struct {
    _Atomic(table_fn *) waiting; /* NULL once it is passed on */
    table_fn *taken;             /* passed on */
    void *base;                  /* of the library it lies in */
} offer;

static offer offers[OFFERS];
static _Atomic uint32_t made;
static _Atomic(initialize_fn *) initialize;
static _Atomic pid_t joined; /* the process in which the agent has a library */

static void *base_of(table_fn *fn)
{
    Dl_info info;
    return dladdr((void *)fn, &info) ? info.dli_fbase : NULL;
}

/* Passes an offer on, once, unless the library that made it is gone. */
static int take(offer *o, initialize_fn *init)
{
    table_fn *fn = atomic_exchange(&o->waiting, NULL);
    if (!fn || base_of(fn) != o->base)
        return -1;
    int rc = init(fn);
    if (rc == 0)
        o->taken = fn;
    return rc;
}

/* Takes all functions out of the tables passed on, but those of libraries gone. */
static void in_child(void)
{
    uint32_t n = atomic_load(&made);
    for (uint32_t i = 0; i < n && i < OFFERS; i++) {
        table_fn *fn = offers[i].taken;
        const callbacks *c = fn && base_of(fn) == offers[i].base ? fn(TABLE_CALLBACKS) : NULL;
        for (uint32_t module = 1; c && c->size >= sizeof *c && module < MODULES; module++) {
            any_fn **table = NULL;
            uint32_t entries = 0;
            if (!c->functions(module, &table, &entries) || !table)
                continue;
            for (uint32_t k = 1; k < entries; k++)
                if (table[k])
                    *table[k] = NULL;
        }
    }
}

/* Called by NVTX. 0 declines for good. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(table_fn *fn)
{
    static _Atomic int handled;
    initialize_fn *init = atomic_load(&initialize);
    if (!fn || (init && atomic_load(&joined) != getpid()))
        return 0;
    uint32_t n = atomic_fetch_add(&made, 1);
    if (n >= OFFERS) {
        atomic_fetch_sub(&made, 1);
        return 0;
    }
    if (atomic_exchange(&handled, 1) == 0)
        pthread_atfork(NULL, NULL, in_child);
    offer *o = &offers[n];
    o->base = base_of(fn);
    atomic_store(&o->waiting, fn);
    /* Looked at behind the store, as st_join_nvtx does it the other way round: one
       of the two sees the other. */
    init = atomic_load(&initialize);
    if (init && atomic_load(&joined) == getpid())
        take(o, init);
    return 1;
}

void st_join_nvtx(uintptr_t fn)
{
    initialize_fn *init = (initialize_fn *)fn;
    atomic_store(&joined, getpid());
    atomic_store(&initialize, init);
    uint32_t n = atomic_load(&made);
    for (uint32_t i = 0; i < n && i < OFFERS; i++)
        take(&offers[i], init);
}
