/*
 * ahead.c - pages that will be touched, asked for before they are.
 *
 * The first touch of a page is a fault: 1 us on a machine, 15 in a virtual one, and a
 * call that asks for many at once takes a third of it for each. While the caller loads
 * the Go library, which writes to a hundred pages of it one by one, the first of the
 * threads put aside has nothing to do: the C library lets none be made then. So it asks
 * for those pages, for code, and for the memory that Go's heap is going to begin with.
 * The latter in one huge page, where the system gives any: under a hypervisor that keeps
 * page tables of its own, the first use of a page costs 10 us also where it is there.
 *
 * Nothing depends on it: a call that comes too late, or that the system does not know
 * (before Linux 5.14), changes nothing.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum {
    PIECE = 128 << 10, /* memory cannot be mapped during a call */
    HEAP = 2 << 20, /* a huge page, on most machines */
    FILL = 1 << 20, /* of it, where pages are small */
    PARTS = 8,
    LOOKS = 64,
};

/* What of the library is in memory, as the loader has mapped it. */
typedef struct {
    const char *path;
    struct {
        uintptr_t at;
        size_t size;
        int advice;
    } part[PARTS];
    int parts;
} library;

static _Atomic int over;

/* Memory for the heap, of which the first part is filled with pages. */
static _Atomic(uint8_t *) heap;
static _Atomic size_t filled;

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
    library *l = arg;
    (void)size;
    if (!info->dlpi_name || strcmp(info->dlpi_name, l->path) != 0)
        return 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    /* What is written to comes first. */
    for (int write = 1; write >= 0; write--)
        for (int i = 0; i < info->dlpi_phnum && l->parts < PARTS; i++) {
            const ElfW(Phdr) *p = &info->dlpi_phdr[i];
            if (p->p_type != PT_LOAD || ((p->p_flags & PF_W) != 0) != write)
                continue;
            uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
            l->part[l->parts].at = from;
            l->part[l->parts].size = ((info->dlpi_addr + p->p_vaddr + p->p_memsz + page - 1) & ~(page - 1)) - from;
            l->part[l->parts++].advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
        }
    return 1;
}

static void fill_library(const library *l)
{
    for (int i = 0; i < l->parts; i++)
        for (size_t at = 0; at < l->part[i].size && !atomic_load(&over); at += PIECE) {
            size_t left = l->part[i].size - at;
            if (madvise((void *)(l->part[i].at + at), left < PIECE ? left : PIECE, l->part[i].advice) != 0)
                break;
        }
}

/* Whether there was a piece to fill. */
static int fill_heap(void)
{
    uint8_t *p = atomic_load(&heap);
    size_t at = atomic_load(&filled);
    if (!p || at >= FILL || madvise(p + at, PIECE, MADV_POPULATE_WRITE) != 0)
        return 0;
    atomic_store(&filled, at + PIECE);
    return 1;
}

/* Where it begins at a huge page's border, as Go's heap does. */
static uint8_t *map_aligned(void)
{
    uint8_t *p = mmap(NULL, 2 * HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = HEAP - (uintptr_t)p % HEAP;
    munmap(p, before);
    if (before < HEAP)
        munmap(p + before + HEAP, HEAP - before);
    return p + before;
}

void st_ahead_map(void)
{
    uint8_t *p = map_aligned();
    if (p)
        madvise(p, HEAP, MADV_HUGEPAGE);
    atomic_store(&over, 0);
    atomic_store(&filled, 0);
    atomic_store(&heap, p);
}

void st_ahead_unmap(void)
{
    uint8_t *p = atomic_exchange(&heap, NULL);
    if (p)
        munmap(p, HEAP);
}

void st_ahead(const char *path)
{
    library l = {.path = path};
    if (!path[0])
        return;
    /* The loader maps the library first, which no call here is to hold up. */
    for (int i = 0; i < LOOKS && !dl_iterate_phdr(find, &l) && !atomic_load(&over); i++)
        nanosleep(&(struct timespec){0, 20000}, NULL);
    fill_library(&l);
    while (!atomic_load(&over) && fill_heap())
        ;
}

void st_ahead_over(void) { atomic_store(&over, 1); }

size_t st_ahead_heap(void *at, size_t size)
{
    uint8_t *p = size >= HEAP ? atomic_exchange(&heap, NULL) : NULL;
    if (!p)
        return 0;
    /* Moving takes nothing that is limited: what is there is only somewhere else. */
    if (mremap(p, HEAP, HEAP, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return atomic_load(&filled);
    munmap(p, HEAP);
    mmap(at, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return 0;
}
