/*
 * api.c - what libflagos_trace.so calls: the functions of the C interface, behind
 * its own. Each returns at once in a forked child.
 */
#include "calls.h"
#include "guard.h"
#include "include/flagos_trace.h"
#include "shim.h"
#include "_cgo_export.h"

#include <stdatomic.h>

/*
 * Stacks of external ids as CUPTI numbers them (CUSTOM0 and CUSTOM1), and its answer
 * that one is empty, until told otherwise.
 */
static _Atomic uint32_t kind_operator = 3, kind_annotation = 4, result_empty = 18;

static _Atomic(void *) push_fn, pop_fn;

void ft_set_push_pop(void *push, void *pop)
{
    atomic_store(&push_fn, push);
    atomic_store(&pop_fn, pop);
}

void ft_set_stacks(uint32_t operators, uint32_t annotations, uint32_t empty)
{
    atomic_store(&kind_operator, operators);
    atomic_store(&kind_annotation, annotations);
    atomic_store(&result_empty, empty);
}

static int kind_of(uint32_t stack, uint32_t *kind)
{
    *kind = stack == FLAGOS_TRACE_OPERATOR ? atomic_load(&kind_operator) : atomic_load(&kind_annotation);
    return stack == FLAGOS_TRACE_OPERATOR || stack == FLAGOS_TRACE_ANNOTATION;
}

static int recording(void) { return ft_alive() && ft_active(); }

/* Calls into Go as a guest should; see signals.c. */
static int call_go(int (*fn)(void))
{
    ft_guest g;
    if (!ft_alive())
        return FLAGOS_TRACE_INACTIVE;
    ft_warm_rest();
    ft_enter_go(&g);
    int rc = fn();
    ft_warm_end();
    ft_leave_go(&g);
    return rc;
}

static int inject(void)
{
    ftInject();
    return FLAGOS_TRACE_OK;
}

static int push(uint32_t stack, uint64_t id)
{
    uint32_t kind;
    if (!recording())
        return FLAGOS_TRACE_INACTIVE;
    if (!kind_of(stack, &kind))
        return FLAGOS_TRACE_INVALID;
    ft_push_fn fn = (ft_push_fn)atomic_load(&push_fn);
    if (!fn)
        return FLAGOS_TRACE_UNAVAILABLE;
    return fn(kind, id) == 0 ? FLAGOS_TRACE_OK : FLAGOS_TRACE_FAILED;
}

static int pop(uint32_t stack, uint64_t *id)
{
    uint32_t kind;
    uint64_t last = 0;
    if (!recording())
        return FLAGOS_TRACE_INACTIVE;
    if (!kind_of(stack, &kind))
        return FLAGOS_TRACE_INVALID;
    ft_pop_fn fn = (ft_pop_fn)atomic_load(&pop_fn);
    if (!fn)
        return FLAGOS_TRACE_UNAVAILABLE;
    /* With an address of ours: there are libraries that take nothing off without one. */
    int rc = fn(kind, &last);
    if (rc == 0) {
        if (id)
            *id = last;
        return FLAGOS_TRACE_OK;
    }
    return (uint32_t)rc == atomic_load(&result_empty) ? FLAGOS_TRACE_EMPTY : FLAGOS_TRACE_FAILED;
}

static int call_inject(void) { return call_go(inject); }

static int call_start(void) { return call_go(ftStart); }

static int call_stop(void) { return call_go(ftStop); }

static int call_flush(void) { return call_go(ftFlush); }

const ft_calls FT_CALLS_NAME = {
    .abi = FT_CALLS_ABI,
    .bytes = sizeof(ft_calls),
    .begin = ft_begin,
    .inject = call_inject,
    .start = call_start,
    .stop = call_stop,
    .flush = call_flush,
    .push = push,
    .pop = pop,
};
