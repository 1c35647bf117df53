/* capi.c - drives the C interface from a program: capi LIBRARY STEP...
 * Prints what each step returned, one number a line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/flagos_trace.h"

#define FIND(name) __typeof__(name) *p_##name = (__typeof__(name) *)dlsym(lib, #name)

static void cuda(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    void *rt = dlopen("libcudart.so.13", RTLD_NOW);
    int (*sync)(void) = rt ? (int (*)(void))dlsym(rt, "cudaDeviceSynchronize") : NULL;
    printf("%d\n", init && sync ? init(0) || sync() : -1);
}

int main(int argc, char **argv)
{
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        puts(dlerror());
        return 2;
    }
    FIND(flagos_trace_start);
    FIND(flagos_trace_stop);
    FIND(flagos_trace_flush);
    FIND(flagos_trace_push_external_id);
    FIND(flagos_trace_pop_external_id);
    FIND(InitializeInjection);
    for (int i = 2; i < argc; i++) {
        uint64_t id = 0;
        const char *s = argv[i];
        if (!strcmp(s, "start"))
            printf("%d\n", p_flagos_trace_start());
        else if (!strcmp(s, "stop"))
            printf("%d\n", p_flagos_trace_stop());
        else if (!strcmp(s, "flush"))
            printf("%d\n", p_flagos_trace_flush());
        else if (!strcmp(s, "inject"))
            printf("%d\n", p_InitializeInjection());
        else if (!strcmp(s, "push"))
            printf("%d\n", p_flagos_trace_push_external_id(FLAGOS_TRACE_OPERATOR, 4711));
        else if (!strcmp(s, "pushbad"))
            printf("%d\n", p_flagos_trace_push_external_id(9, 1));
        else if (!strcmp(s, "pop")) {
            int rc = p_flagos_trace_pop_external_id(FLAGOS_TRACE_OPERATOR, &id);
            printf("%d %llu\n", rc, (unsigned long long)id);
        } else if (!strcmp(s, "cuda"))
            cuda();
        else if (!strcmp(s, "fork")) {
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                printf("%d", p_flagos_trace_start() * 100 + p_flagos_trace_flush() * 10 + p_flagos_trace_push_external_id(1, 1));
                exit(p_flagos_trace_stop());
            }
            int status = 0;
            waitpid(pid, &status, 0);
            printf(" %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        }
    }
    return 0;
}
