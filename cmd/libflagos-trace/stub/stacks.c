/*
 * stacks.c - the stacks of the threads that are put aside, of the size that the C
 * library gives by itself. Made together they take fewer calls, and the pages that a
 * thread begins with are there at once (see ../warm.c).
 */
#define _GNU_SOURCE
#include "stub.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uint8_t *stacks; /* NULL where the C library is to make them one by one */
static size_t stack_size, page;

uint32_t st_map_stacks(uint32_t n)
{
    pthread_attr_t usual;
    page = (size_t)sysconf(_SC_PAGESIZE);
    if (pthread_attr_init(&usual) != 0)
        return 0;
    if (pthread_attr_getstacksize(&usual, &stack_size) == 0 && stack_size % page == 0 && stack_size > 8 * page) {
        void *p = mmap(NULL, stack_size * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (p != MAP_FAILED)
            stacks = p;
    }
    pthread_attr_destroy(&usual);
    return stacks ? n : 0;
}

int st_with_stack(pthread_attr_t *attr, uint32_t n)
{
    enum { FIRST_PAGES = 3 };
    if (!stacks || pthread_attr_init(attr) != 0)
        return 0;
    /* All but one page, which guards the one below. */
    uint8_t *low = stacks + n * stack_size + page;
    size_t size = stack_size - page;
    if (mprotect(low, size, PROT_READ | PROT_WRITE) != 0 || pthread_attr_setstack(attr, low, size) != 0)
        return 0;
    madvise(low + size - FIRST_PAGES * page, FIRST_PAGES * page, MADV_POPULATE_WRITE);
    return 1;
}

void st_unmap_stacks(uint32_t first, uint32_t n)
{
    if (stacks && n > first)
        munmap(stacks + first * stack_size, (n - first) * stack_size);
}
