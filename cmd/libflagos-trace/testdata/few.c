/* Preloaded: the agent gets as many threads as FEW_THREADS says, the program all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    static _Atomic int made;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    const char *few = getenv("FEW_THREADS");
    Dl_info from;
    if (few && dladdr(__builtin_return_address(0), &from) && strstr(from.dli_fname, "libflagos_trace") && made++ >= atoi(few))
        return EAGAIN;
    return real(thread, attr, fn, arg);
}
