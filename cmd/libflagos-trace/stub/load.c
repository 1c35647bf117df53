/* load.c - the Go library that lies beside this one. */
#define _GNU_SOURCE
#include "stub.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define GO_LIBRARY "libflagos_trace_go.so"

/* Its path, taken when this library was loaded: the program may change its working
   directory. Empty if it is not known. */
static char path[PATH_MAX];

__attribute__((constructor)) static void locate(void)
{
    Dl_info self;
    char real[PATH_MAX];
    if (!dladdr((void *)locate, &self) || !self.dli_fname || !realpath(self.dli_fname, real))
        return;
    char *name = strrchr(real, '/');
    size_t folder = name ? (size_t)(name + 1 - real) : 0;
    if (folder + sizeof GO_LIBRARY > sizeof path)
        return;
    memcpy(path, real, folder);
    memcpy(path + folder, GO_LIBRARY, sizeof GO_LIBRARY);
}

const char *st_path(void) { return path; }

const ft_calls *st_open(st_reason *why)
{
    if (!path[0]) {
        st_because(why, "the folder of libflagos_trace.so, in which its other part lies, is not known");
        return NULL;
    }
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    st_ahead_over();
    if (!lib) {
        const char *text = dlerror();
        st_because(why, "the other part of it cannot be loaded: %s", text ? text : path);
        return NULL;
    }
    const ft_calls *c = dlsym(lib, FT_CALLS_SYMBOL);
    if (!c || c->abi != FT_CALLS_ABI || c->bytes != sizeof *c) {
        st_because(why, "%s is of another version than libflagos_trace.so beside it: install both of one build", path);
        return NULL;
    }
    return c;
}
