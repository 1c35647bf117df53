/* shim.c - drives the C side alone: shim MODE. Each mode prints what it saw. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../guard.h"
#include "../shim.h"

typedef int getattr_fn(pthread_t, pthread_attr_t *);

static _Atomic int held, stop, after;
static int pause_us;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A buffer that is handed back twice, and then more are asked for. */
static void twice(void)
{
    uint8_t *b, *seen[3];
    size_t size, max;
    ft_block x;
    ft_counts c;
    int taken = 0, same = 0;
    ft_request(&b, &size, &max);
    ft_complete(NULL, 0, b, size, 64);
    ft_complete(NULL, 0, b, size, 64);
    while (taken < 100 && ft_take(&x)) {
        taken++;
        ft_release(x.index);
        ft_release(x.index);
    }
    ft_complete(NULL, 0, b, size, 64);
    for (int i = 0; i < 3; i++) {
        ft_request(&seen[i], &size, &max);
        for (int j = 0; j < i; j++)
            same += seen[i] == seen[j];
    }
    ft_read_counts(&c);
    printf("taken %d, same %d, delivered %d, foreign %d\n", taken, same, (int)c.delivered, (int)c.foreign);
}

/*
 * What a fork does between its prepare handlers and its parent handlers: this one
 * was registered before the library's, so it runs behind it.
 */
static _Atomic int watch, entered;

static void within_fork(void)
{
    for (int i = 0; watch && i < 200; i++) {
        entered += held;
        usleep(20);
    }
}

__attribute__((constructor(101))) static void before_the_library(void) { pthread_atfork(within_fork, NULL, NULL); }

/* A flusher that holds a lock of the library within its calls. */
static void *flusher(void *arg)
{
    while (!stop) {
        ft_enter_vendor();
        pthread_mutex_lock(&lock);
        held = 1;
        if (pause_us)
            usleep(pause_us);
        held = 0;
        pthread_mutex_unlock(&lock);
        ft_leave_vendor();
        if (pause_us)
            usleep(1000);
    }
    return arg;
}

/* Forks, and has the children say whether the lock was copied while held. */
static void forks(int pause, int n, int allowed)
{
    int bad = 0;
    pthread_t t;
    pause_us = pause;
    watch = pause == 0;
    pthread_create(&t, NULL, flusher, NULL);
    for (int i = 0; i < n; i++) {
        while (pause && !held)
            usleep(100);
        pid_t pid = fork();
        if (pid == 0)
            _exit(pthread_mutex_trylock(&lock) != 0);
        int status = 0;
        waitpid(pid, &status, 0);
        bad += status != 0;
    }
    stop = 1;
    pthread_join(t, NULL);
    printf("%s\n", bad + entered <= allowed ? "free" : "held");
}

static void *in_call(void *arg)
{
    ft_enter_vendor();
    held = 1;
    ft_park();
    after = 1;
    return arg;
}

/* Forks while the library does not come back. */
static void hanging(void)
{
    pthread_t t;
    pthread_create(&t, NULL, in_call, NULL);
    while (!held)
        usleep(100);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    printf("forked, %s\n", after ? "not parked" : "parked");
}

static int blocked(int sig)
{
    sigset_t s;
    pthread_sigmask(SIG_SETMASK, NULL, &s);
    return sigismember(&s, sig);
}

static int injected(void) { return blocked(SIGTERM) * 10 + 5; }

/* Signals of a call into Go, and of a library that is started from one. */
static void calls(void)
{
    ft_guest g;
    signal(SIGXFSZ, SIG_DFL);
    ft_enter_go(&g);
    int within = blocked(SIGTERM), faults = blocked(SIGSEGV);
    raise(SIGXFSZ);
    int other = ft_chain((uintptr_t)injected);
    raise(SIGXFSZ);
    int again = blocked(SIGTERM);
    ft_leave_go(&g);
    printf("%d %d %d %d %d\n", within, faults, other, again, blocked(SIGTERM));
}

/* The program's own pending signals are not taken away. */
static void pending(void)
{
    ft_guest g;
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGXFSZ);
    sigaddset(&s, SIGURG);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    raise(SIGXFSZ);
    ft_enter_go(&g);
    kill(getpid(), SIGURG);
    ft_leave_go(&g);
    sigpending(&s);
    printf("%d %d\n", sigismember(&s, SIGXFSZ), sigismember(&s, SIGURG));
}

/* Memory that Go asks for where the process can have no more. */
static uint8_t lent[1 << 20] __attribute__((aligned(4096)));

static void *lend(void *wanted, size_t n)
{
    (void)n;
    return wanted ? wanted : lent;
}

static void memory(void)
{
    static const ft_host host = {.memory = lend};
    struct rlimit limit;
    enum { RW = PROT_READ | PROT_WRITE, MEM = MAP_PRIVATE | MAP_ANONYMOUS, SIZE = 64 << 20 };
    void *room = mmap(NULL, SIZE, PROT_NONE, MEM, -1, 0), *p = mmap(NULL, SIZE, RW, MEM, -1, 0);
    printf("%d ", p != MAP_FAILED && p != (void *)lent);
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = 4096; /* it has more already */
    setrlimit(RLIMIT_DATA, &limit);
    printf("%d ", mmap(NULL, SIZE, RW, MEM, -1, 0) == MAP_FAILED);
    ft_lend(&host);
    printf("%d ", mmap(NULL, 4096, RW, MEM, -1, 0) == (void *)lent);
    printf("%d ", mmap(room, 4096, RW, MEM | MAP_FIXED, -1, 0) == room);
    /* Nothing but plain memory is lent. */
    printf("%d\n", mmap(NULL, SIZE, RW, MEM | MAP_LOCKED, -1, 0) == MAP_FAILED);
}

/* Whether what Go is told of the calling thread's stack holds, and is the C library's. */
static void *bounds(void *arg)
{
    getattr_fn *libc = (getattr_fn *)dlsym(RTLD_DEFAULT, "pthread_getattr_np");
    pthread_attr_t mine, theirs;
    void *low, *real_low;
    size_t size, real_size;
    pthread_attr_init(&mine);
    int rc = pthread_getattr_np(pthread_self(), &mine) | libc(pthread_self(), &theirs);
    pthread_attr_getstack(&mine, &low, &size);
    pthread_attr_getstack(&theirs, &real_low, &real_size);
    char *here = (char *)&mine, *end = (char *)low + size, *real_end = (char *)real_low + real_size;
    printf("%d ", rc == 0 && here >= (char *)low && here < end && end <= real_end && (arg || end == real_end));
    return NULL;
}

/* Memory that Go maps for its heap gets the part that was made ready, once. */
static size_t warmed;

static size_t warm(void *at, size_t size)
{
    (void)at;
    warmed += size;
    return 1 << 20;
}

static void heap(void)
{
    enum { CHUNK = 4 << 20, ARENA = 64 << 20, RW = PROT_READ | PROT_WRITE, MEM = MAP_PRIVATE | MAP_ANONYMOUS };
    static const ft_host host = {.warm = warm};
    char *room = mmap(NULL, 2 * ARENA, PROT_NONE, MEM, -1, 0);
    char *arena = (char *)(((uintptr_t)room + ARENA - 1) & ~(uintptr_t)(ARENA - 1));
    ft_lend(&host);
    mmap(arena, CHUNK, RW, MEM | MAP_FIXED, -1, 0);
    printf("%zu ", warmed); /* before Go starts */
    ft_warm_begin();
    mmap(arena, CHUNK / 2, RW, MEM | MAP_FIXED, -1, 0);
    printf("%zu ", warmed);
    mmap(arena, CHUNK, RW, MEM | MAP_FIXED, -1, 0);
    mmap(arena, CHUNK, RW, MEM | MAP_FIXED, -1, 0);
    ft_warm_rest();
    printf("%zu ", warmed >> 20);
    ft_warm_begin();
    mmap(arena + CHUNK, CHUNK, RW, MEM | MAP_FIXED, -1, 0); /* by chance somewhere */
    ft_warm_rest();
    printf("%zu\n", warmed >> 20);
}

static void *answer(void *arg)
{
    while (!ft_exiting())
        ft_wait(FT_FLUSHER, 1000000000);
    printf("asked\n");
    fflush(stdout);
    ft_exit_done();
    return arg;
}

static void driver(void)
{
    printf("%s\n", ft_exiting() ? "we ran first" : "the driver ran first");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *m = argc > 1 ? argv[1] : "";
    uint8_t *b;
    size_t size, max;
    if (!strcmp(m, "ended"))
        atexit(driver); /* runs last */
    ft_open(65536, 4, 20);
    if (!strcmp(m, "twice"))
        twice();
    else if (!strcmp(m, "fork in a call"))
        forks(4000, 20, 5);
    else if (!strcmp(m, "fork between calls"))
        forks(0, 20, 0);
    else if (!strcmp(m, "fork and a call that hangs"))
        hanging();
    else if (!strcmp(m, "calls"))
        calls();
    else if (!strcmp(m, "pending"))
        pending();
    else if (!strcmp(m, "memory"))
        memory();
    else if (!strcmp(m, "heap"))
        heap();
    else if (!strcmp(m, "stack")) {
        pthread_t t;
        bounds(&t);
        pthread_create(&t, NULL, bounds, NULL);
        pthread_join(t, NULL);
    } else if (!strcmp(m, "ended"))
        ft_exit_done();
    else if (!strcmp(m, "quick_exit")) {
        pthread_t t;
        pthread_create(&t, NULL, answer, NULL);
        quick_exit(0);
    } else { /* when the exit handler is registered */
        atexit(driver);
        ft_register_exit();
        if (strcmp(m, "no request"))
            ft_request(&b, &size, &max);
        if (!strcmp(m, "registered"))
            ft_register_exit();
    }
    return 0;
}
