/* shim.c - whose process this is, how it forks and ends, and the clocks. */
#define _GNU_SOURCE
#include "shim.h"
#include "guard.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FORK_WAIT_NS = 20000000 };

static pid_t owner;
static _Atomic int dead;

static _Atomic uint32_t signalled[FT_WAITERS];
static _Atomic uint32_t exit_done;
static _Atomic int opened, active, exiting, exit_ran, registered;
static uint32_t exit_timeout_ms;

/*
 * The gate between forks and the flusher's calls of the vendor library: a fork in
 * the middle of one would copy the locks it holds. vendor counts up at both ends
 * of a call, so it is odd inside; forks counts those under way; waited_out is the
 * call a fork has waited for in vain, which no other waits for again.
 */
static _Atomic uint32_t vendor, forks, waited_out;

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

static int64_t nanoseconds(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void before_fork(void)
{
    if (!ft_alive())
        return;
    atomic_fetch_add(&forks, 1);
    uint32_t call = atomic_load(&vendor);
    if (!(call & 1) || call == atomic_load(&waited_out))
        return;
    int64_t end = nanoseconds(CLOCK_MONOTONIC) + FORK_WAIT_NS;
    while (atomic_load(&vendor) == call) {
        int64_t left = end - nanoseconds(CLOCK_MONOTONIC);
        if (left <= 0) {
            atomic_store(&waited_out, call);
            return;
        }
        struct timespec t = span(left);
        futex(&vendor, FUTEX_WAIT_PRIVATE, call, &t);
    }
}

static void in_parent(void)
{
    if (!ft_alive())
        return;
    atomic_fetch_sub(&forks, 1);
    futex(&forks, FUTEX_WAKE_PRIVATE, 1, NULL);
}

static void in_child(void) { atomic_store(&dead, 1); }

void ft_process_init(void)
{
    owner = getpid();
    pthread_atfork(before_fork, in_parent, in_child);
}

void ft_enter_vendor(void)
{
    for (;;) {
        atomic_fetch_add(&vendor, 1);
        uint32_t under_way = atomic_load(&forks);
        if (under_way == 0)
            break;
        /* Let it pass. It never waits for us while we wait for it. */
        atomic_fetch_add(&vendor, 1);
        futex(&vendor, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
        futex(&forks, FUTEX_WAIT_PRIVATE, under_way, NULL);
    }
    ft_faults(1);
}

void ft_leave_vendor(void)
{
    ft_faults(0);
    atomic_fetch_add(&vendor, 1);
    if (atomic_load(&forks) != 0)
        futex(&vendor, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

void ft_park(void)
{
    static _Atomic uint32_t never;
    for (;;)
        futex(&never, FUTEX_WAIT_PRIVATE, 0, NULL);
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

/*
 * The exit handler. It asks the agent's threads for the forced flush and waits,
 * bounded: a vendor library that has been shut down may never answer. Where the
 * agent has ended already there is nobody to ask.
 */
static void at_exit(void)
{
    if (!ft_alive() || atomic_load(&exit_done) != 0 || atomic_exchange(&exit_ran, 1) != 0)
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

static void add_handlers(void)
{
    atexit(at_exit);
    at_quick_exit(at_exit);
}

void ft_register_exit(void)
{
    /* Handlers run last first: registered now, ours runs before the driver's. */
    if (!atomic_load(&registered) && atomic_load(&opened) && !atomic_load(&exiting) && ft_requested() &&
        atomic_exchange(&registered, 1) == 0)
        add_handlers();
}

int ft_open(size_t block_bytes, uint32_t blocks, uint32_t timeout_ms)
{
    exit_timeout_ms = timeout_ms;
    int rc = ft_pool_open(block_bytes, blocks);
    if (atomic_exchange(&opened, 1) == 0) {
        add_handlers();
        ft_connect();
    }
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
