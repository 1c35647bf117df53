/*
 * lend.c - what was put aside for Go before it was loaded, and takes the place of
 * what the process cannot have any more.
 */
#define _GNU_SOURCE
#include "guard.h"
#include "shim.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(const ft_host *) lender;

void ft_lend(const ft_host *host) { atomic_store(&lender, host); }

const ft_host *ft_lender(void) { return atomic_load(&lender); }

size_t ft_idle(int32_t *tids, size_t n)
{
    const ft_host *h = ft_lender();
    return h ? h->idle(tids, n) : 0;
}

void ft_join_nvtx(uintptr_t initialize)
{
    const ft_host *h = ft_lender();
    if (h)
        h->join_nvtx(initialize);
}

/*
 * Stands before libc's within this library alone, where Go's runtime maps memory by
 * it, and ends the process if that fails.
 */
__attribute__((visibility("hidden"))) void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t at)
{
    void *p = (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, at);
    const ft_host *h = ft_lender();
    if (p != MAP_FAILED)
        ft_warm_mapped(p, size, prot);
    if (p != MAP_FAILED || errno != ENOMEM || !h)
        return p;
    int fixed = flags & MAP_FIXED;
    if (prot != (PROT_READ | PROT_WRITE) || (flags & ~(MAP_FIXED | MAP_NORESERVE)) != (MAP_PRIVATE | MAP_ANONYMOUS))
        return p;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *q = h->memory(fixed ? addr : NULL, (size + page - 1) & ~(page - 1));
    if (!q)
        errno = ENOMEM;
    return q ? q : p;
}
