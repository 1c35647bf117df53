/*
 * flagos-trace-probe: the least that a program can do on a device - a context, a
 * fill, two small copies, a wait - so that `flagos-trace doctor` can see whether
 * that works and is recorded. It is linked with no vendor's library.
 *
 *     flagos-trace-probe [--seconds N] [--load LIBRARY]...   use a CUDA device
 *     flagos-trace-probe [--seconds N] --acl LIBRARY         use an Ascend device
 *     flagos-trace-probe [--seconds N] --check LIBRARY       only load a library
 *
 * It says on stdout, a line each and fields separated by tabs, what it is about
 * to do ("step NAME") and what it found, so that the last line of a run that was
 * killed names what hung. SIGALRM ends it after N seconds (10).
 *
 * Exit status: 0 done, 2 usage, 3 there is no driver library, 4 a call of the
 * driver failed, 5 a library named in the command line cannot be loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DONE = 0, USAGE = 2, NO_DRIVER = 3, CALL_FAILED = 4, NOT_LOADED = 5 };

/* Results and attributes. Source: cuda.h. */
enum { SUCCESS = 0, COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 };

static void say(const char *format, ...)
{
    char line[2048];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    if (n < 0)
        return;
    if (n > (int)sizeof line - 2)
        n = sizeof line - 2;
    for (int i = 0; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[n++] = '\n';
    if (write(STDOUT_FILENO, line, n) < 0)
        _exit(USAGE); /* nobody reads: nothing is left to do */
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *driver;

/* Returns a function of the driver, or ends the program. */
static void *function(const char *name)
{
    void *fn = dlsym(driver, name);
    if (!fn) {
        say("missing\t%s", name);
        exit(CALL_FAILED);
    }
    return fn;
}

/* Ends the program unless the driver did what it was asked to. */
static void must(const char *step, int result)
{
    if (result == SUCCESS)
        return;
    const char *name = "", *text = "";
    int (*error_name)(int, const char **) = (int (*)(int, const char **))dlsym(driver, "cuGetErrorName");
    int (*error_text)(int, const char **) = (int (*)(int, const char **))dlsym(driver, "cuGetErrorString");
    if (error_name && error_name(result, &name) != SUCCESS)
        name = "";
    if (error_text && error_text(result, &text) != SUCCESS)
        text = "";
    const char *(*recent)(void) = (const char *(*)(void))dlsym(driver, "aclGetRecentErrMsg");
    if (recent)
        text = recent();
    say("error\t%s\t%d\t%s\t%s", step, result, name ? name : "", text ? text : "");
    exit(CALL_FAILED);
}

#define CALL(name, types, ...)                                    \
    do {                                                          \
        say("step\t" name);                                       \
        must(name, ((int (*) types)function(name))(__VA_ARGS__)); \
    } while (0)

static void load(const char *path)
{
    say("step\tloading %s", path);
    /* As a library that the program is linked with. */
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        const char *why = dlerror();
        say("unloadable\t%s\t%s", path, why ? why : "");
        exit(NOT_LOADED);
    }
    say("loaded\t%s", path);
}

static void use(void)
{
    say("step\tloading libcuda.so.1");
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver) {
        const char *why = dlerror();
        say("nodriver\t%s", why ? why : "");
        exit(NO_DRIVER);
    }
    Dl_info where;
    if (dladdr(function("cuInit"), &where) && where.dli_fname) {
        char *path = realpath(where.dli_fname, NULL);
        say("libcuda\t%s", path ? path : where.dli_fname);
        free(path);
    }
    int version = 0, devices = 0, device = 0;
    if (((int (*)(int *))function("cuDriverGetVersion"))(&version) == SUCCESS)
        say("driver\t%d", version);

    int64_t start = now();
    CALL("cuInit", (unsigned), 0);
    say("ns\tcuInit\t%lld", (long long)(now() - start));
    CALL("cuDeviceGetCount", (int *), &devices);
    say("devices\t%d", devices);
    CALL("cuDeviceGet", (int *, int), &device, 0);
    char name[256] = "";
    CALL("cuDeviceGetName", (char *, int, int), name, sizeof name - 1, device);
    int major = 0, minor = 0;
    CALL("cuDeviceGetAttribute", (int *, int, int), &major, COMPUTE_MAJOR, device);
    CALL("cuDeviceGetAttribute", (int *, int, int), &minor, COMPUTE_MINOR, device);
    say("device\t%s\t%d.%d", name, major, minor);

    void *context = NULL;
    uint64_t memory = 0;
    enum { BYTES = 4096 };
    static unsigned char host[BYTES];
    start = now();
    CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, device);
    say("ns\tcontext\t%lld", (long long)(now() - start));
    CALL("cuCtxSetCurrent", (void *), context);
    CALL("cuMemAlloc_v2", (uint64_t *, size_t), &memory, BYTES);
    CALL("cuMemsetD8_v2", (uint64_t, unsigned char, size_t), memory, 7, BYTES);
    CALL("cuMemcpyDtoH_v2", (void *, uint64_t, size_t), host, memory, BYTES);
    CALL("cuMemcpyHtoD_v2", (uint64_t, const void *, size_t), memory, host, BYTES);
    CALL("cuCtxSynchronize", (void), );
    CALL("cuMemFree_v2", (uint64_t), memory);
    /* The context is left to the end of the process, as most programs leave it. */
    say("done\tmemset 1\tmemcpy 2");
    say("step\tthe end of the process");
}

/* Kinds of copies. Source: acl_rt.h. */
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };

static void use_acl(const char *path)
{
    say("step\tloading %s", path);
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        const char *why = dlerror();
        say("nodriver\t%s", why ? why : "");
        exit(NO_DRIVER);
    }
    /* As in a program that is linked with it: what was preloaded comes first. */
    driver = RTLD_DEFAULT;
    Dl_info where;
    if (dladdr(function("aclrtGetDeviceCount"), &where) && where.dli_fname)
        say("acl\t%s", where.dli_fname);
    uint32_t devices = 0;
    CALL("aclInit", (const char *), NULL);
    CALL("aclrtGetDeviceCount", (uint32_t *), &devices);
    say("devices\t%u", devices);
    CALL("aclrtSetDevice", (int32_t), 0);
    const char *(*soc)(void) = (const char *(*)(void))dlsym(driver, "aclrtGetSocName");
    const char *name = soc ? soc() : NULL;
    say("device\t%s", name ? name : "a device");

    void *memory = NULL;
    enum { BYTES = 4096 };
    static unsigned char host[BYTES];
    CALL("aclrtMalloc", (void **, size_t, int), &memory, BYTES, 0);
    CALL("aclrtMemsetAsync", (void *, size_t, int32_t, size_t, void *), memory, BYTES, 7, BYTES, NULL);
    CALL("aclrtSynchronizeDevice", (void), );
    CALL("aclrtMemcpy", (void *, size_t, const void *, size_t, int), host, BYTES, memory, BYTES, DEVICE_TO_HOST);
    CALL("aclrtMemcpy", (void *, size_t, const void *, size_t, int), memory, BYTES, host, BYTES, HOST_TO_DEVICE);
    CALL("aclrtFree", (void *), memory);
    say("done\tmemset 1\tmemcpy 2");
    say("step\tthe end of the process");
}

int main(int argc, char **argv)
{
    unsigned seconds = 10;
    const char *check = NULL, *acl = NULL, *libraries[8];
    int n = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = "";
        if (value && strcmp(argv[i], "--seconds") == 0) {
            long s = strtol(value, &end, 10);
            if (*end == 0 && s > 0 && s < 3600) {
                seconds = (unsigned)s;
                continue;
            }
        } else if (value && strcmp(argv[i], "--check") == 0) {
            check = value;
            continue;
        } else if (value && strcmp(argv[i], "--acl") == 0) {
            acl = value;
            continue;
        } else if (value && strcmp(argv[i], "--load") == 0 && n < (int)(sizeof libraries / sizeof *libraries)) {
            libraries[n++] = value;
            continue;
        }
        fprintf(stderr, "usage: %s [--seconds N] [--load LIBRARY]... | --acl LIBRARY | --check LIBRARY\n", argv[0]);
        return USAGE;
    }
    /* Ignored or blocked signals are inherited, and this one must come. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    alarm(seconds);
    if (check) {
        load(check);
        fflush(NULL);
        _exit(DONE); /* the library's exit handlers are none of a check's business */
    }
    for (int i = 0; i < n; i++)
        load(libraries[i]);
    if (acl)
        use_acl(acl);
    else
        use();
    return DONE;
}
