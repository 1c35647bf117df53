/*
 * warm.c - the first touch of Go's heap.
 *
 * While Go starts and the agent is armed they touch most of the first megabyte of the
 * heap, and each first touch of a page takes its time. So that begins with memory that
 * was filled with pages before (stub/ahead.c), and the thread that waits for Go asks for
 * those that are missing.
 *
 * Go is built so that its heap begins where its first arena does (AGENT_EXPERIMENT in
 * the Makefile). Otherwise it begins somewhere in it by chance, and nothing is done.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    CHUNK = 4 << 20,  /* Go's heap grows by so much */
    ARENA = 64 << 20, /* and arenas begin at a multiple of this */
    WARM = 1 << 20,
    PIECE = 128 << 10, /* memory cannot be mapped during a call */
    LOOKS = 40,
};

enum { NOT_YET, MAPPED, LATE }; /* the heap; LATE: there is nothing to do for it */
static _Atomic int starting, state = LATE;
static char *heap;
static size_t there; /* of it */

void ft_warm_begin(void)
{
    atomic_store(&state, NOT_YET);
    atomic_store(&starting, 1);
}

void ft_warm_end(void) { atomic_store(&starting, 0); }

void ft_warm_mapped(void *p, size_t size, int prot)
{
    const ft_host *h = ft_lender();
    if (size != CHUNK || prot != (PROT_READ | PROT_WRITE) || !atomic_load(&starting) || atomic_load(&state) != NOT_YET)
        return;
    heap = p;
    there = (uintptr_t)p % ARENA == 0 && h ? h->warm(p, size) : WARM;
    atomic_store(&state, MAPPED);
}

void ft_warm_rest(void)
{
    for (int i = 0; i < LOOKS && atomic_load(&state) == NOT_YET; i++)
        syscall(SYS_nanosleep, &(struct timespec){0, 20000}, NULL); /* the C library's may end the thread */
    if (atomic_exchange(&state, LATE) == MAPPED)
        for (size_t at = there; at < WARM; at += PIECE)
            madvise(heap + at, PIECE, MADV_POPULATE_WRITE);
}
