/*
 * flagos-trace-cupti-detach: what a CUPTI that has recorded costs once recording is over, and what cuptiFinalize does about it - to a program of one
 * thread, to one with a CUDA graph, and to one whose other threads launch meanwhile. It uses CUPTI itself, without flagos-trace, so that what happens is
 * CUPTI's doing. Linked with no vendor's library.
 *
 *     flagos-trace-cupti-detach LIBCUPTI STEPS [THREADS]
 *
 * STEPS has a letter for each step:
 *     m   measure: the median of 7 windows of 10,000 launches ("LAUNCH us")
 *     k   record kernels;  c  record API calls, not kernels;  a  record both
 *     l   launch 5,000 kernels, or let the other threads launch for 100 ms
 *     s   stop: disable what is recorded and flush ("STOPPED records kernels")
 *     f   cuptiFinalize as CUPTI's documentation has it: in the exit callback of the next driver or runtime call, whichever thread makes it
 *     g   capture a CUDA graph of 20 launches;  G  launch it 50 times
 * The last line is "DONE" if the program came to its end.
 *
 * Exit status: 0 done, 2 usage, 3 no library or function, 4 a call of CUDA failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { USAGE = 2, MISSING = 3, CALL_FAILED = 4 };
enum { KIND_DRIVER = 4, KIND_RUNTIME = 5, KIND_KERNEL = 10, DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, SITE_EXIT = 1, LAUNCHES = 10000, WINDOWS = 7, NODES = 20 };

static const char image[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry tiny()\n{\n ret;\n}\n";
static void *driver, *cupti, *context, *kernel, *subscriber, *graph, *graph_stream;
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*next_record)(uint8_t *, size_t, void **);
static _Atomic long records, kernels;
static _Atomic int wanted, detached, over;

static void *function(void *library, const char *name)
{
    void *fn = dlsym(library, name);
    if (!fn) {
        fprintf(stderr, "cupti detach: no %s\n", name);
        _exit(MISSING);
    }
    return fn;
}

static void must(const char *what, int result)
{
    if (!result)
        return;
    fprintf(stderr, "cupti detach: %s: error %d\n", what, result);
    _exit(CALL_FAILED);
}

#define CUDA(name, types, ...) must(name, ((int (*) types)function(driver, name))(__VA_ARGS__))
#define CUPTI(name, types, ...) ((int (*) types)function(cupti, name))(__VA_ARGS__)

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *most = 0;
}

static void completed(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)ctx, (void)stream, (void)size;
    for (void *r = NULL; valid && next_record(buffer, valid, &r) == 0;) {
        records++;
        kernels += *(uint32_t *)r == KIND_KERNEL;
    }
    free(buffer);
}

static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id;
    int one = 1;
    if (*(const uint32_t *)data == SITE_EXIT && atomic_compare_exchange_strong(&wanted, &one, 0)) {
        CUPTI("cuptiUnsubscribe", (void *), subscriber);
        int result = CUPTI("cuptiFinalize", (void));
        printf("FINALIZE %d\n", result);
        detached = 1;
    }
}

static void launches(void *stream, long n)
{
    for (long i = 0; i < n; i++)
        must("cuLaunchKernel", launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void *other_thread(void *arg)
{
    void *stream = NULL;
    CUDA("cuCtxSetCurrent", (void *), context);
    CUDA("cuStreamCreate", (void **, unsigned), &stream, 1);
    while (!over) {
        launches(stream, 200);
        CUDA("cuStreamSynchronize", (void *), stream);
    }
    return arg;
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void measure(void)
{
    double us[WINDOWS];
    for (int w = 0; w < WINDOWS; w++) {
        int64_t ns = 0;
        for (int i = 0; i < LAUNCHES / 500; i++) {
            int64_t start = now();
            launches(NULL, 500);
            ns += now() - start;
            CUDA("cuCtxSynchronize", (void));
        }
        us[w] = ns / 1e3 / LAUNCHES;
    }
    qsort(us, WINDOWS, sizeof *us, by_value);
    printf("LAUNCH %.3f\n", us[WINDOWS / 2]);
}

static void record(int kinds, int on)
{
    const char *name = on ? "cuptiActivityEnable" : "cuptiActivityDisable";
    if (on)
        CUPTI("cuptiActivityRegisterCallbacks", (void *, void *), requested, completed);
    if (kinds & 1)
        CUPTI(name, (uint32_t), KIND_KERNEL);
    if (kinds & 2) {
        CUPTI(name, (uint32_t), KIND_RUNTIME);
        CUPTI(name, (uint32_t), KIND_DRIVER);
    }
}

static void capture(void)
{
    void *captured = NULL;
    CUDA("cuStreamCreate", (void **, unsigned), &graph_stream, 1);
    CUDA("cuStreamBeginCapture_v2", (void *, unsigned), graph_stream, 1);
    launches(graph_stream, NODES);
    CUDA("cuStreamEndCapture", (void *, void **), graph_stream, &captured);
    CUDA("cuGraphInstantiateWithFlags", (void **, void *, unsigned long long), &graph, captured, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3 || strspn(argv[2], "mkcalsfgG") != strlen(argv[2]))
        return USAGE;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int threads = argc > 3 ? atoi(argv[3]) : 0, device = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW), cupti = dlopen(argv[1], RTLD_NOW);
    if (!driver || !cupti) {
        fprintf(stderr, "cupti detach: %s\n", dlerror());
        return MISSING;
    }
    next_record = function(cupti, "cuptiActivityGetNextRecord"), launch = function(driver, "cuLaunchKernel");
    void *module = NULL;
    CUDA("cuInit", (unsigned), 0);
    CUDA("cuDeviceGet", (int *, int), &device, 0);
    CUDA("cuDevicePrimaryCtxRetain", (void **, int), &context, device);
    CUDA("cuCtxSetCurrent", (void *), context);
    CUDA("cuModuleLoadData", (void **, const void *), &module, image);
    CUDA("cuModuleGetFunction", (void **, void *, const char *), &kernel, module, "tiny");
    launches(NULL, 20000);
    CUDA("cuCtxSynchronize", (void));
    pthread_t id;
    for (int i = 0; i < threads; i++)
        pthread_create(&id, NULL, other_thread, NULL);
    for (const char *s = argv[2]; *s; s++) {
        switch (*s) {
        case 'm': measure(); break;
        case 'k': record(1, 1); break;
        case 'c': record(2, 1); break;
        case 'a': record(3, 1); break;
        case 'l':
            if (threads) {
                usleep(100000);
                break;
            }
            launches(NULL, 5000);
            CUDA("cuCtxSynchronize", (void));
            break;
        case 's':
            record(3, 0);
            CUPTI("cuptiActivityFlushAll", (uint32_t), 1);
            printf("STOPPED %ld %ld\n", atomic_exchange(&records, 0), atomic_exchange(&kernels, 0));
            break;
        case 'f':
            detached = 0;
            if (CUPTI("cuptiSubscribe", (void **, void *, void *), &subscriber, called, NULL))
                break;
            CUPTI("cuptiEnableDomain", (uint32_t, void *, uint32_t), 1, subscriber, DOMAIN_DRIVER);
            CUPTI("cuptiEnableDomain", (uint32_t, void *, uint32_t), 1, subscriber, DOMAIN_RUNTIME);
            wanted = 1;
            if (!threads)
                launches(NULL, 1);
            for (int i = 0; i < 5000 && !detached; i++)
                usleep(1000);
            break;
        case 'g': capture(); break;
        case 'G':
            for (int i = 0; i < 50; i++)
                CUDA("cuGraphLaunch", (void *, void *), graph, graph_stream);
            CUDA("cuStreamSynchronize", (void *), graph_stream);
            break;
        }
    }
    over = 1;
    printf("DONE\n");
    fflush(stdout);
    _exit(0);
}
