/*
 * flagos-trace-launch-loop: one thread that launches an empty kernel over and over, and the time of a launch in windows. It starts in a moment,
 * so that many processes can be compared; it is linked with no vendor's library.
 *
 *     flagos-trace-launch-loop SCHEDULE [--launches N] [--warm N] [--batch N] [--cpu N]
 *     flagos-trace-launch-loop --scout [--launches N] [--warm N] [--batch N]
 *
 * SCHEDULE has a letter for each window:
 *     0   nothing is recorded (a window that is open is closed first)
 *     r   recorded: flagos_trace_start is called first, if no window is open
 *     a   nothing is recorded, but the library of the recorder has been loaded and armed by now. A schedule with an a in it keeps the driver
 *         from loading that library: before the first a there is none in the process.
 * Before each window the thread may run anywhere, so that threads which a library makes inherit no CPU; it is pinned to --cpu for the
 * second half of the warm-up and the window.
 *
 * A line a window: "WINDOW letter us wall start end" - microseconds a launch, counted between the waits that come after each batch; the same with the waits;
 * start and end of the window in CLOCK_REALTIME ns. At the end "RECORDED n": launches made while a window of the recorder was open.
 * --scout pins to each CPU in turn and prints "CPU n us" for it.
 *
 * Exit status: 0 done, 2 usage, 3 no driver library, 4 a call failed, 5 the recorder's library cannot be used.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { USAGE = 2, NO_DRIVER = 3, CALL_FAILED = 4, NO_RECORDER = 5 };

/* Newest first: a driver that has dropped an old target refuses it, an old device a new one. */
static const char *images[] = {
    ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry tiny()\n{\n ret;\n}\n",
    ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry tiny()\n{\n ret;\n}\n",
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry tiny()\n{\n ret;\n}\n",
};

static void *driver, *recorder, *kernel;
static const char *recorder_path;
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*synchronize)(void);
static cpu_set_t anywhere;
static long recorded;
static int recording;

static void must(const char *what, int result)
{
    if (!result)
        return;
    fprintf(stderr, "launch loop: %s: error %d\n", what, result);
    exit(CALL_FAILED);
}

static void *function(void *library, const char *name, int status)
{
    void *fn = library ? dlsym(library, name) : NULL;
    if (!fn) {
        fprintf(stderr, "launch loop: no %s\n", name);
        exit(status);
    }
    return fn;
}

#define DRIVER(name, types, ...) must(name, ((int (*) types)function(driver, name, NO_DRIVER))(__VA_ARGS__))

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu >= 0)
        CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, cpu >= 0 ? &one : &anywhere)) {
        perror("launch loop: sched_setaffinity");
        exit(CALL_FAILED);
    }
}

static void begin(void)
{
    void *context = NULL, *module = NULL;
    int device = 0, error = 1;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver) {
        fprintf(stderr, "launch loop: %s\n", dlerror());
        exit(NO_DRIVER);
    }
    DRIVER("cuInit", (unsigned), 0);
    DRIVER("cuDeviceGet", (int *, int), &device, 0);
    DRIVER("cuDevicePrimaryCtxRetain", (void **, int), &context, device);
    DRIVER("cuCtxSetCurrent", (void *), context);
    for (size_t i = 0; error && i < sizeof images / sizeof *images; i++)
        error = ((int (*)(void **, const void *))function(driver, "cuModuleLoadData", NO_DRIVER))(&module, images[i]);
    must("cuModuleLoadData", error);
    DRIVER("cuModuleGetFunction", (void **, void *, const char *), &kernel, module, "tiny");
    launch = function(driver, "cuLaunchKernel", NO_DRIVER);
    synchronize = function(driver, "cuCtxSynchronize", NO_DRIVER);
}

/* Launches n kernels, with a wait after each batch, and returns the time between the waits in ns. Batches shorter than the device's queue keep the
 * device from deciding how long a launch takes. */
static int64_t loop(long n, long batch)
{
    int64_t ns = 0;
    for (long done = 0; done < n;) {
        long stop = done + batch < n ? done + batch : n, first = done;
        int64_t start = now(CLOCK_MONOTONIC);
        for (; done < stop; done++)
            must("cuLaunchKernel", launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        ns += now(CLOCK_MONOTONIC) - start;
        if (recording)
            recorded += stop - first;
        must("cuCtxSynchronize", synchronize());
    }
    return ns;
}

static void record(int on)
{
    if (on == recording)
        return;
    if (!recorder)
        recorder = recorder_path ? dlopen(recorder_path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    const char *name = on ? "flagos_trace_start" : "flagos_trace_stop";
    int code = ((int (*)(void))function(recorder, name, NO_RECORDER))();
    if (code) {
        fprintf(stderr, "launch loop: %s returned %d\n", name, code);
        exit(NO_RECORDER);
    }
    recording = on;
}

/* Loads the recorder's library and has it arm, as the driver would have at its start. */
static void attach(void)
{
    if (recorder)
        return;
    recorder = recorder_path ? dlopen(recorder_path, RTLD_NOW) : NULL;
    ((int (*)(void))function(recorder, "InitializeInjection", NO_RECORDER))();
}

static long number(int argc, char **argv, const char *name, long value)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            value = strtol(argv[i + 1], NULL, 10);
    return value;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return USAGE;
    int scout = !strcmp(argv[1], "--scout");
    long launches = number(argc, argv, "--launches", scout ? 3000 : 20000), warm = number(argc, argv, "--warm", 2000);
    long batch = number(argc, argv, "--batch", 500);
    int cpu = (int)number(argc, argv, "--cpu", -1);
    if (!*argv[1] || launches < 1 || batch < 1 || warm < 0 || (!scout && strspn(argv[1], "0ra") != strlen(argv[1])))
        return USAGE;
    recorder_path = getenv("CUDA_INJECTION64_PATH");
    if (recorder_path)
        recorder_path = strdup(recorder_path);
    if (!scout && strchr(argv[1], 'a'))
        unsetenv("CUDA_INJECTION64_PATH");
    if (sched_getaffinity(0, sizeof anywhere, &anywhere)) {
        perror("launch loop: sched_getaffinity");
        return CALL_FAILED;
    }
    begin();
    loop(warm, batch);
    if (scout) {
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (!CPU_ISSET(i, &anywhere))
                continue;
            pin(i);
            loop(warm, batch);
            printf("CPU %d %.4f\n", i, loop(launches, batch) / 1e3 / launches);
        }
        return 0;
    }
    for (const char *w = argv[1]; *w; w++) {
        pin(-1);
        record(*w == 'r');
        if (*w == 'a')
            attach();
        loop(warm / 2, batch);
        pin(cpu);
        loop(warm - warm / 2, batch);
        int64_t start = now(CLOCK_REALTIME), t0 = now(CLOCK_MONOTONIC), ns = loop(launches, batch), wall = now(CLOCK_MONOTONIC) - t0;
        printf("WINDOW %c %.4f %.4f %lld %lld\n", *w, ns / 1e3 / launches, wall / 1e3 / launches, (long long)start, (long long)now(CLOCK_REALTIME));
    }
    pin(-1);
    record(0);
    printf("RECORDED %ld\n", recorded);
    return 0;
}
