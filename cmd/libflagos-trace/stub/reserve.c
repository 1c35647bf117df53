/*
 * reserve.c - what the Go runtime ends a process for when it cannot have it.
 *
 * Threads and some memory are put aside and handed over one by one: what was there
 * at the beginning is there later, whatever the program, or another of the same
 * user, takes meanwhile. Address space for the rest can only be tried.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    /*
     * Go and the agent were seen to run on 7 threads. Two more are made where a
     * library may hang in a flush, and to end a program whose main thread is gone. The
     * others are for what nobody thought of.
     */
    THREADS = 11,
    /* With so many it can start, and lie idle: that was seen to take 5. */
    START = 7,
    PLACES = 2 * THREADS,
    FEW = 4096,
};

/*
 * Address space and, of it, what can be written to. Go reserves 1.2 GiB; with the
 * stacks, the C library's arenas of 64 MiB a thread and the buffers it was up to
 * 2.3 GiB, 0.35 GiB of them writable and most of those never touched.
 */
static const size_t TAKEN_SPACE = (size_t)3 << 30, TAKEN_DATA = (size_t)512 << 20;

/*
 * What has to be left to the program. The driver loads this library before it takes
 * its own: CUDA 13 took 13 GiB for one device, and fails without, so where there is
 * a limit that near, the agent would be what breaks the program.
 */
static const size_t LEFT_SPACE = (size_t)61 << 30, LEFT_DATA = (size_t)512 << 20;

/* Memory put aside for when there is no other. */
static const size_t SPARE = (size_t)32 << 20;

enum { IDLE, CLAIMED, TAKEN, DISMISSED, NONE };

typedef struct {
    _Atomic uint32_t state;
    _Atomic int32_t tid;
    pthread_t handle;
    void *(*fn)(void *);
    void *arg;
} place;

static place places[PLACES];
static _Atomic uint32_t made;

/* The first of the threads makes the others; of those to start with, the caller makes
   some as well. */
static uint32_t wanted;
static _Atomic uint32_t next, helped;
static _Atomic uint32_t could; /* be made, also those that were dismissed again */
enum { MADE, TOO_FEW, ENOUGH }; /* to start with */
static _Atomic uint32_t making;
static int lengthened; /* the table of descriptors */
static uint32_t stacked; /* how many stacks there are */
static _Atomic int refusal; /* why one could not be made, an errno */

static uint8_t *spare;
static _Atomic size_t spare_used;

static void make_others(void);

static void *wait_for_work(void *arg)
{
    place *p = arg;
    uint32_t state;
    atomic_store(&p->tid, (int32_t)syscall(SYS_gettid));
    if (p == places) {
        st_ahead(st_path());
        make_others();
    }
    while ((state = atomic_load(&p->state)) == IDLE || state == CLAIMED)
        syscall(SYS_futex, &p->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
    return state == TAKEN ? p->fn(p->arg) : NULL;
}

/* Lets the thread go on, if it waits. */
static int release(place *p, uint32_t state, void *(*fn)(void *), void *arg)
{
    uint32_t was = IDLE;
    if (!atomic_compare_exchange_strong(&p->state, &was, CLAIMED))
        return 0;
    p->fn = fn;
    p->arg = arg;
    atomic_store(&p->state, state);
    syscall(SYS_futex, &p->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return 1;
}

/* Maps memory of which the first part can be written to. None of it is filled with
   pages, also where the program has all its memory locked. */
static void *map(size_t size, size_t writable, const char **lacking)
{
    *lacking = "limit of address space, ulimit -v";
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    munlock(p, size);
    if (mprotect(p, writable, PROT_READ | PROT_WRITE) == 0)
        return p;
    *lacking = "limit of data, ulimit -d, or of memory that may be committed";
    int e = errno;
    munmap(p, size);
    errno = e;
    return NULL;
}

static void sleep_us(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

/* Lets the threads from the first on end, and waits until they have: for the limit
   of processes one counts a moment longer than pthread_join waits. */
static void dismiss(uint32_t first)
{
    uint32_t n = atomic_exchange(&made, first);
    for (uint32_t i = first; i < n; i++) {
        if (atomic_load(&places[i].state) == NONE)
            st_unmap_stacks(i, i + 1);
        if (!release(&places[i], DISMISSED, NULL, NULL))
            continue;
        pthread_join(places[i].handle, NULL);
        for (int tries = 0; tries < 20000 && syscall(SYS_tgkill, getpid(), atomic_load(&places[i].tid), 0) == 0; tries++)
            sleep_us(100);
        st_unmap_stacks(i, i + 1);
    }
    if (stacked > n)
        st_unmap_stacks(n, stacked);
    if (stacked > first)
        stacked = first;
}

static int make_thread(uint32_t n)
{
    place *p = &places[n];
    pthread_attr_t attr;
    atomic_store(&p->state, IDLE);
    atomic_store(&p->tid, 0);
    int rc = pthread_create(&p->handle, st_with_stack(&attr, n) ? &attr : NULL, wait_for_work, p);
    if (rc == 0) {
        atomic_fetch_add(&could, 1);
    } else {
        atomic_store(&p->state, NONE);
        atomic_store(&refusal, rc);
    }
    return rc;
}

static void now_making(uint32_t state)
{
    atomic_store(&making, state);
    syscall(SYS_futex, &making, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* On two threads at a time. */
static void make_some(void)
{
    uint32_t n;
    while (atomic_load(&refusal) == 0 && (n = atomic_fetch_add(&next, 1)) < START)
        make_thread(n);
}

static void make_others(void)
{
    make_some();
    while (!atomic_load(&helped))
        syscall(SYS_futex, &helped, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    uint32_t n = atomic_load(&next), good = 1;
    if (n > START)
        n = START;
    while (good < n && atomic_load(&places[good].state) != NONE)
        good++;
    atomic_store(&made, n);
    if (good < n)
        dismiss(good);
    if (good == START && wanted == THREADS)
        now_making(ENOUGH);
    while (atomic_load(&refusal) == 0 && n < wanted && make_thread(n) == 0)
        atomic_store(&made, ++n);
    now_making(MADE);
    if (!lengthened)
        st_lengthen_table();
}

/* Where the user may have few, the program is left as many as are taken. */
static void make_threads(void)
{
    struct rlimit limit;
    wanted = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < FEW ? PLACES : THREADS;
    atomic_store(&refusal, 0);
    atomic_store(&making, TOO_FEW);
    atomic_store(&next, 1);
    atomic_store(&could, 0);
    atomic_store(&helped, 0);
    stacked = st_map_stacks(wanted);
    if (make_thread(0) != 0)
        atomic_store(&making, MADE);
}

static void wait_while(uint32_t state)
{
    while (atomic_load(&making) == state)
        syscall(SYS_futex, &making, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

int st_startable(st_reason *why)
{
    if (atomic_load(&making) == TOO_FEW) {
        make_some();
        atomic_store(&helped, 1);
        syscall(SYS_futex, &helped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    wait_while(TOO_FEW);
    return atomic_load(&making) == ENOUGH ? 0 : st_reserved(why);
}

int st_reserved(st_reason *why)
{
    wait_while(TOO_FEW);
    wait_while(ENOUGH);
    int rc = atomic_load(&refusal);
    st_unmap_stacks(atomic_load(&made), stacked); /* of those that could not be made */
    stacked = atomic_load(&made);
    if (rc == 0) {
        dismiss(THREADS);
        return 0;
    }
    st_because(why, "it takes %d threads and leaves %d to the program, but only %u could be made (%s: limit of processes and threads, ulimit -u or pids.max, or no memory)",
               THREADS, (int)wanted - THREADS, atomic_load(&could), strerror(rc));
    return -1;
}

int st_reserve(st_reason *why)
{
    const char *lacking;
    const size_t space = TAKEN_SPACE + LEFT_SPACE, data = TAKEN_DATA + LEFT_DATA;
    void *p = map(space, data, &lacking);
    if (!p) {
        st_because(why, "it takes up to %zu GiB of address space, of it %zu MiB of data, and leaves %zu GiB and %zu MiB to the program, but there is not that much (%s: %s)",
                   TAKEN_SPACE >> 30, TAKEN_DATA >> 20, LEFT_SPACE >> 30, LEFT_DATA >> 20, strerror(errno), lacking);
        return -1;
    }
    munmap(p, space);
    spare = map(SPARE, SPARE, &lacking);
    if (!spare) {
        st_because(why, "there is no memory for it (%s: %s)", strerror(errno), lacking);
        return -1;
    }
    st_ahead_map();
    lengthened = st_alone();
    if (lengthened)
        st_lengthen_table();
    make_threads();
    return 0;
}

void st_unreserve(void)
{
    wait_while(TOO_FEW);
    wait_while(ENOUGH);
    dismiss(0);
    st_ahead_unmap();
    if (spare && atomic_load(&spare_used) == 0)
        munmap(spare, SPARE);
    spare = NULL;
}

static int run(pthread_t *thread, void *(*fn)(void *), void *arg)
{
    /* The first, which may still be making others, comes last. */
    for (uint32_t i = atomic_load(&made); i-- > 0;) {
        pthread_t handle = places[i].handle;
        if (!release(&places[i], TAKEN, fn, arg))
            continue;
        *thread = handle;
        pthread_detach(handle);
        return 0;
    }
    return EAGAIN;
}

static size_t idle(int32_t *tids, size_t max)
{
    size_t found = 0;
    uint32_t n = atomic_load(&made);
    for (uint32_t i = 0; i < n && found < max; i++) {
        place *p = &places[i];
        if (atomic_load(&p->state) != IDLE)
            continue;
        /* One that was only just made has no id yet. */
        for (int tries = 0; tries < 1000 && atomic_load(&p->tid) == 0; tries++)
            sleep_us(100);
        tids[found++] = atomic_load(&p->tid);
    }
    return found;
}

static void *memory(void *wanted, size_t size)
{
    size_t at = atomic_load(&spare_used);
    do {
        if (!spare || size > SPARE - at)
            return NULL;
    } while (!atomic_compare_exchange_weak(&spare_used, &at, at + size));
    if (!wanted)
        return spare + at;
    /* Moving takes nothing that is limited: what is there is only somewhere else. */
    void *p = mremap(spare + at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, wanted);
    return p == MAP_FAILED ? NULL : p;
}

const ft_host st_host = {.run = run, .idle = idle, .memory = memory, .warm = st_ahead_heap, .join_nvtx = st_join_nvtx, .mux = &ft_the_mux};
