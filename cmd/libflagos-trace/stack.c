/*
 * stack.c - where the stack of the program's main thread lies.
 *
 * Go asks the C library for the stack of each thread that calls into it. For the main
 * thread that reads the map of the process, line by line: of a program with many
 * libraries that takes longer than all the rest of the call. What Go makes of it, a
 * bound for its own functions, can be had from where the stack begins.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 8 << 20 };

typedef int getattr_fn(pthread_t, pthread_attr_t *);

static getattr_fn *real;
static uintptr_t end; /* of the stack, 0 if the C library does not tell */

void ft_stack_init(void)
{
    real = (getattr_fn *)dlsym(RTLD_DEFAULT, "pthread_getattr_np");
    void **begun = dlsym(RTLD_DEFAULT, "__libc_stack_end"); /* of glibc */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    end = begun ? ((uintptr_t)*begun & ~(page - 1)) + page : 0;
}

/*
 * Stands before libc's within this library alone, where only Go calls it. A main thread
 * that is deeper, or runs on another stack, gets the C library's answer, as others do.
 */
__attribute__((visibility("hidden"))) int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    struct rlimit limit;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (end != 0 && here < end && end - here < MOST && pthread_equal(thread, pthread_self()) &&
        syscall(SYS_gettid) == getpid() && getrlimit(RLIMIT_STACK, &limit) == 0) {
        uintptr_t size = limit.rlim_cur < MOST ? limit.rlim_cur : MOST;
        if (end - here < size && pthread_attr_setstack(attr, (void *)(end - size), size) == 0)
            return 0;
    }
    return real ? real(thread, attr) : -1;
}
