/*
 * libflagos_trace_preload.so - how the agent gets into a program whose vendor's driver
 * loads no library by itself.
 *
 * It is preloaded, into every program of the recorded tree, so it does next to nothing:
 * it stands before the functions with which a program begins to use such a device, and
 * the first call of one loads libflagos_trace.so from beside it, as CUDA's driver would
 * have. Then the call goes on to the function that it was for.
 *
 * The vendor's own profiling library may have been preloaded behind it, for what that can
 * do only then. It is harmful in programs that do not use the device, such as compilers
 * that the program starts, so it is taken out of LD_PRELOAD once the agent runs, by when
 * the library has looked at that variable.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define AGENT "libflagos_trace.so"

static char agent[PATH_MAX]; /* empty if it is not known */

__attribute__((constructor)) static void locate(void)
{
    Dl_info self;
    char real[PATH_MAX];
    if (!dladdr((void *)locate, &self) || !self.dli_fname || !realpath(self.dli_fname, real))
        return;
    char *name = strrchr(real, '/');
    size_t folder = name ? (size_t)(name + 1 - real) : 0;
    if (folder + sizeof AGENT > sizeof agent)
        return;
    memcpy(agent, real, folder);
    memcpy(agent + folder, AGENT, sizeof AGENT);
}

static int set(const char *name)
{
    const char *v = getenv(name);
    return v && *v && strcmp(v, "0") != 0;
}

/* Takes FLAGOS_TRACE_PRELOADED out of LD_PRELOAD. The variable is set, not removed, so
   that the array of variables stays where it is for threads that read it. */
static void leave_children_alone(void)
{
    const char *ours = getenv("FLAGOS_TRACE_PRELOADED"), *all = getenv("LD_PRELOAD");
    size_t n = ours ? strlen(ours) : 0;
    if (!n || !all || set("FLAGOS_TRACE_PAUSED") || set("FLAGOS_TRACE_DELAY_MS"))
        return; /* the library has not looked yet */
    char *rest = malloc(strlen(all) + 1), *to = rest;
    if (!rest)
        return;
    for (const char *at = all; *at;) {
        size_t len = strcspn(at, ": ");
        if (len && !(len == n && !memcmp(at, ours, n))) {
            if (to != rest)
                *to++ = ':';
            memcpy(to, at, len);
            to += len;
        }
        at += len + (at[len] != 0);
    }
    *to = 0;
    if (to != rest)
        setenv("LD_PRELOAD", rest, 1);
    free(rest);
}

static void begin(void)
{
    static _Atomic int begun;
    int e = errno;
    if (atomic_exchange(&begun, 1) == 0 && agent[0] && set("FLAGOS_TRACE_DIR")) {
        void *lib = dlopen(agent, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        int (*inject)(void) = lib ? (int (*)(void))dlsym(lib, "InitializeInjection") : NULL;
        if (inject)
            inject();
        leave_children_alone();
    }
    errno = e;
}

/* The function that would have been called, wherever its library was loaded. */
static void *next(const char *name, const char *library)
{
    void *fn = dlsym(RTLD_NEXT, name);
    if (!fn) {
        void *lib = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
        fn = lib ? dlsym(lib, name) : NULL;
    }
    return fn;
}

/* Ascend: ACL, and its code for an internal error, where there is no function to go on
   to. The agent begins before the device does: names of calls and kernels are known to
   the vendor's library only from its loading on. */
#define ACL "libascendcl.so"
enum { ACL_ERROR_INTERNAL = 500000 };

EXPORT int aclInit(const char *config)
{
    begin();
    int (*real)(const char *) = (int (*)(const char *))next("aclInit", ACL);
    return real ? real(config) : ACL_ERROR_INTERNAL;
}

EXPORT int aclrtSetDevice(int32_t device)
{
    begin();
    int (*real)(int32_t) = (int (*)(int32_t))next("aclrtSetDevice", ACL);
    return real ? real(device) : ACL_ERROR_INTERNAL;
}

/* Runtimes that are modelled on CUDA's: what a program asks first. 999 is what they have
   for an error that has no other name. */
enum { UNKNOWN = 999 };

struct mapped {
    const char *stem;
    char path[PATH_MAX];
};

static int is_mapped(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mapped *m = arg;
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!base || strncmp(base + 1, m->stem, strlen(m->stem)) != 0 || strlen(info->dlpi_name) >= sizeof m->path)
        return 0;
    strcpy(m->path, info->dlpi_name);
    return 1;
}

/* The same as next, for libraries whose file names have versions: a framework's modules
   keep them out of where RTLD_NEXT looks. */
static void *next_of(const char *name, const char *stem, const char *other)
{
    void *fn = dlsym(RTLD_NEXT, name);
    struct mapped m = {.stem = stem};
    if (!fn && dl_iterate_phdr(is_mapped, &m))
        fn = next(name, m.path);
    m.stem = other;
    if (!fn && other && dl_iterate_phdr(is_mapped, &m))
        fn = next(name, m.path);
    return fn;
}

/* Programs call some of these for every operator: only the first call looks round. */
#define FIRST(type, argument, name, ...)                                        \
    EXPORT int name type                                                        \
    {                                                                           \
        static _Atomic(void *) found;                                           \
        int(*real) type = (int(*) type)atomic_load(&found);                     \
        if (!real) {                                                            \
            BEGIN();                                                            \
            real = (int(*) type)next_of(#name, __VA_ARGS__);                    \
            atomic_store(&found, (void *)real);                                 \
        }                                                                       \
        return real ? real argument : UNKNOWN;                                  \
    }

#define FIRST_CALLS(prefix, ...)                                                \
    FIRST((int *n), (n), prefix##GetDeviceCount, __VA_ARGS__)                   \
    FIRST((int device), (device), prefix##SetDevice, __VA_ARGS__)               \
    FIRST((int *device), (device), prefix##GetDevice, __VA_ARGS__)              \
    FIRST((void **p, size_t bytes), (p, bytes), prefix##Malloc, __VA_ARGS__)

#define BEGIN begin
FIRST_CALLS(musa, "libmusart.", NULL)
FIRST_CALLS(mc, "libmcruntime.", NULL)
FIRST_CALLS(hip, "libgalaxyhip.", "libamdhip64.")
#undef BEGIN

/* The PPU's runtime has CUDA's names, and NVIDIA's driver loads the agent by itself, at a
   better moment. */
static void begin_on_ppu(void)
{
    const char *vendor = getenv("FLAGOS_TRACE_VENDOR");
    struct mapped m = {.stem = "libhgpti"};
    if ((vendor && strcmp(vendor, "ppu") == 0) || set("PPU_SDK") || set("PPU_HOME") || dl_iterate_phdr(is_mapped, &m))
        begin();
}

#define BEGIN begin_on_ppu
FIRST_CALLS(cuda, "libcudart.", NULL)
