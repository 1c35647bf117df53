/*
 * warm.c - the first touch of Go's heap.
 *
 * A page that is touched for the first time costs a fault: 1 us on a machine, 15 in a
 * virtual one. A call that asks for many at once costs a fraction of that for each,
 * and while Go starts and the agent is armed they touch most of the first megabyte of
 * the heap. Asking early changes nothing but the time it takes; where the system does
 * not know the request (before Linux 5.14), it takes the time.
 *
 * Tables of Go's own and its variables are not worth it: too few of their pages are
 * touched.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    CHUNK = 4 << 20, /* Go's heap grows by so much */
    WARM = 1 << 20,
};

static _Atomic int starting;
static _Atomic(char *) first; /* chunk, until it is seen where in it the heap begins */
static _Atomic size_t left;   /* for the second, once that is */

/* Go begins somewhere in the first chunk, by chance: what is there already tells. */
static void look(char *chunk)
{
    static unsigned char there[CHUNK / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), i = 0, n = CHUNK / page;
    if (mincore(chunk, CHUNK, there) != 0)
        return;
    while (i < n && !(there[i] & 1))
        i++;
    size_t rest = CHUNK - i * page, size = rest < WARM ? rest : WARM;
    if (size == 0) {
        atomic_store(&first, chunk); /* not yet */
        return;
    }
    madvise(chunk + i * page, size, MADV_POPULATE_WRITE);
    atomic_store(&left, WARM - size);
}

static void look_if_any(void)
{
    char *chunk = atomic_exchange(&first, NULL); /* one thread at a time */
    if (chunk)
        look(chunk);
}

void ft_warm_begin(void) { atomic_store(&starting, 1); }

void ft_warm_end(void) { atomic_store(&starting, 0); }

void ft_warm_thread(void)
{
    if (atomic_load(&starting))
        look_if_any();
}

void ft_warm_mapped(void *p, size_t size, int prot)
{
    static _Atomic int seen;
    if (!atomic_load(&starting))
        return;
    look_if_any();
    if (size != CHUNK || prot != (PROT_READ | PROT_WRITE))
        return;
    size_t more;
    if (atomic_exchange(&seen, 1) == 0)
        atomic_store(&first, p);
    else if ((more = atomic_exchange(&left, 0)) > 0)
        madvise(p, more, MADV_POPULATE_WRITE);
}
