/* shim.c - whose process this is, how it ends, and the clocks. */
#define _GNU_SOURCE
#include "shim.h"
#include "guard.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pid_t owner;
static _Atomic int dead;
static sigset_t mask_before;

static _Atomic uint32_t signalled[FT_WAITERS];
static _Atomic uint32_t exit_done;
static _Atomic int opened, active, exiting, exit_ran, lazily;
static uint32_t exit_timeout_ms;

static void in_child(void) { atomic_store(&dead, 1); }

/*
 * Go starts its threads from a constructor of its own, and they keep the signal
 * mask they are born with. Ours runs before it and blocks everything, the second
 * one after it and puts the mask back: so no thread of this library is picked to
 * handle a signal that was meant for the program. (Go takes back the faults,
 * SIGCHLD and SIGPROF on its idle threads; the agent's two keep all blocked.)
 */
__attribute__((constructor(101))) static void before_go(void)
{
    owner = getpid();
    pthread_atfork(NULL, NULL, in_child);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_before);
}

__attribute__((constructor)) static void after_go(void)
{
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

/* The pid is asked for as well: raw clone and vfork run no handlers. */
int ft_alive(void) { return !atomic_load_explicit(&dead, memory_order_relaxed) && getpid() == owner; }

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static struct timespec span(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

void ft_wait(int waiter, int64_t timeout_ns)
{
    if (atomic_exchange(&signalled[waiter], 0) != 0)
        return;
    struct timespec t = span(timeout_ns);
    futex(&signalled[waiter], FUTEX_WAIT_PRIVATE, 0, &t);
    atomic_store(&signalled[waiter], 0);
}

void ft_wake(int waiter)
{
    if (atomic_exchange(&signalled[waiter], 1) == 0)
        futex(&signalled[waiter], FUTEX_WAKE_PRIVATE, 1, NULL);
}

static int64_t nanoseconds(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * The exit handler. It asks the agent's threads for the forced flush and waits,
 * bounded: a vendor library that has been shut down may never answer.
 */
static void at_exit(void)
{
    if (!ft_alive() || atomic_exchange(&exit_ran, 1) != 0)
        return;
    atomic_store(&exiting, 1);
    ft_wake(FT_FLUSHER);
    ft_wake(FT_WRITER);
    int64_t end = nanoseconds(CLOCK_MONOTONIC) + (int64_t)exit_timeout_ms * 1000000;
    while (atomic_load(&exit_done) == 0) {
        int64_t left = end - nanoseconds(CLOCK_MONOTONIC);
        if (left <= 0)
            return;
        struct timespec t = span(left);
        futex(&exit_done, FUTEX_WAIT_PRIVATE, 0, &t);
    }
}

void ft_lazy_exit_handler(void)
{
    /* Handlers run last first: registered now, ours runs before the driver's. */
    if (!atomic_load_explicit(&lazily, memory_order_relaxed) && atomic_exchange(&lazily, 1) == 0 &&
        atomic_load(&opened))
        atexit(at_exit);
}

int ft_open(size_t block_bytes, uint32_t blocks, uint32_t timeout_ms)
{
    exit_timeout_ms = timeout_ms;
    int rc = ft_pool_open(block_bytes, blocks);
    if (atomic_exchange(&opened, 1) == 0)
        atexit(at_exit);
    return rc;
}

void ft_set_active(int on) { atomic_store(&active, on); }

int ft_active(void) { return atomic_load(&active); }

int ft_exiting(void) { return atomic_load(&exiting); }

void ft_exit_done(void)
{
    atomic_store(&exit_done, 1);
    futex(&exit_done, FUTEX_WAKE_PRIVATE, 1, NULL);
}

uint64_t ft_now(void) { return (uint64_t)nanoseconds(CLOCK_REALTIME); }

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    return 0;
#endif
}

/* Reads the clocks together: of a few tries, the one that took least. */
void ft_read_clock(ft_clock *out)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        ft_clock c;
        int64_t begin = nanoseconds(CLOCK_MONOTONIC);
        c.realtime = nanoseconds(CLOCK_REALTIME);
        c.tsc = ticks();
        c.raw = nanoseconds(CLOCK_MONOTONIC_RAW);
        int64_t end = nanoseconds(CLOCK_MONOTONIC);
        c.monotonic = begin + (end - begin) / 2;
        if (end - begin < best) {
            best = end - begin;
            *out = c;
        }
    }
}

void ft_quiet(const char *name)
{
    /* A write beyond RLIMIT_FSIZE raises SIGXFSZ on the writing thread; blocked,
       it stays an error code. */
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}
