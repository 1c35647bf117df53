/* mux.c - the calls of the program's profiler; mux.h says what becomes of them. */
#define _GNU_SOURCE
#include "../mux.h"
#include "hostside.h"
#include "muxdata.h"
#include "got.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, PER_THREAD_BUFFER = 9, MAX_KIND = 64 };
enum { KIND_MEMCPY = 1, KIND_KERNEL = 3, KIND_DRIVER = 4, KIND_RUNTIME = 5, KIND_CONCURRENT_KERNEL = 10, KIND_MEMCPY2 = 22 };

/* Functions by their place in imports. */
enum { REGISTER, TIMESTAMP, ENABLE, DISABLE, RUNTIME_API, DRIVER_API, FLUSH, SET_ATTRIBUTE, DROPPED, FINALIZE, NEXT_RECORD, N_IMPORTS };

typedef int (*register_fn)(ft_request_fn, ft_complete_fn);
typedef int (*timestamp_fn)(ft_clock_fn);
typedef int (*kind_fn)(uint32_t);
typedef int (*api_fn)(uint32_t, uint8_t);
typedef int (*flush_fn)(uint32_t);
typedef int (*attribute_fn)(uint32_t, size_t *, void *);
typedef int (*dropped_fn)(void *, uint32_t, size_t *);
typedef int (*finalize_fn)(void);

static ft_import imports[N_IMPORTS];

/* Of the recorder. */
static _Atomic pid_t owner; /* 0 before there is one */
static const ft_pool *pool;
static ft_armed armed;
static _Atomic int is_armed, ever_armed, own;

/* Of the program's session; guarded by control. */
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static uint64_t wants, wanted;     /* kinds: now, and at any time of the session */
static uint64_t left_on;           /* kinds it turned on, and off while that could not be done */
static int started, told;          /* a session is on; the spool knows of it */
static ft_clock_fn their_clock;
static _Atomic uint32_t session_on, clock_theirs, clock_changes, lost_notes, patched;
static _Atomic uint64_t kept_kinds, for_them, for_us; /* the last two: records dropped */

/* Notes wait here for the flusher. */
enum { MAX_NOTES = 64 };
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;
static ft_note notes[MAX_NOTES];
static uint32_t first_note, n_notes;

#define REAL(type, which) ((type)__atomic_load_n(&imports[which].real, __ATOMIC_ACQUIRE))

int ft_mux_here(void)
{
    pid_t p = atomic_load_explicit(&owner, memory_order_acquire);
    return p == 0 ? 0 : p == getpid() ? 1 : -1;
}

/* Whether the recorder has to do, or had, with the library these calls are for. */
static int involved(void)
{
    return ft_mux_here() == 1 && atomic_load(&ever_armed) && armed.register_calls == (uintptr_t)imports[REGISTER].real;
}

static int serving(void) { return atomic_load(&is_armed) && involved(); }

int ft_mux_serving(void) { return serving(); }

/* Before there is a recorder sessions are followed as well, for it may come. */
static int followed(void) { return ft_mux_here() >= 0; }

/* Own sessions are answered in the recorded process alone. */
static int answered(void) { return atomic_load(&own) && ft_mux_here() == 1; }

static uint64_t bit(uint32_t kind) { return kind < MAX_KIND ? UINT64_C(1) << kind : 0; }

/* A kind, and what the library delivers with it under another number. */
static uint64_t family(uint32_t kind)
{
    return bit(kind) | (kind == KIND_MEMCPY ? bit(KIND_MEMCPY2) : 0) | (kind == KIND_KERNEL ? bit(KIND_CONCURRENT_KERNEL) : 0);
}

static int64_t middle(int64_t a, int64_t b) { return a + (b - a) / 2; }

static void note(ft_note n)
{
    ft_moment a, b;
    pool->read_clock(&a);
    if (their_clock)
        n.vendor = their_clock();
    pool->read_clock(&b);
    n.at = (ft_moment){middle(a.realtime, b.realtime), middle(a.monotonic, b.monotonic), middle(a.raw, b.raw),
                       a.tsc + (b.tsc - a.tsc) / 2};
    pthread_mutex_lock(&notes_lock);
    if (n_notes < MAX_NOTES)
        notes[(first_note + n_notes++) % MAX_NOTES] = n;
    else
        atomic_fetch_add(&lost_notes, 1);
    pthread_mutex_unlock(&notes_lock);
    pool->wake();
}

static int take_note(ft_note *out)
{
    pthread_mutex_lock(&notes_lock);
    int any = n_notes > 0;
    if (any) {
        *out = notes[first_note];
        first_note = (first_note + 1) % MAX_NOTES;
        n_notes--;
    }
    pthread_mutex_unlock(&notes_lock);
    return any;
}

/* Tells the spool of a session that is on while there is a recording. */
static void tell(void)
{
    if (atomic_load(&session_on) && !told && serving()) {
        told = 1;
        note((ft_note){.what = FT_NOTE_BEGIN});
    }
}

static void begin(void)
{
    if (started)
        return;
    if (serving() && pool->pending() > 0)
        (void)REAL(flush_fn, FLUSH)(0); /* what was before is none of the session's */
    started = 1;
    wanted = wants = 0;
}

/* Makes a clock the library's. It counts before and after: who reads a clock in between must know that it may be either. */
static int change_clock(ft_clock_fn fn)
{
    atomic_fetch_add(&clock_changes, 1);
    int r = REAL(timestamp_fn, TIMESTAMP)(fn);
    atomic_fetch_add(&clock_changes, 1);
    return r;
}

/* The session is over, and its records have been handed over. */
static void end(uint32_t late)
{
    if (!started)
        return;
    uint64_t buffers = ft_data_end();
    atomic_store(&kept_kinds, 0);
    if (told)
        note((ft_note){.what = FT_NOTE_END, .late = late, .kinds = wanted, .buffers = buffers});
    if (their_clock && serving()) {
        ft_clock_fn was = their_clock;
        their_clock = change_clock(pool->now) == SUCCESS ? NULL : was;
    }
    atomic_store(&clock_theirs, their_clock != NULL);
    started = told = 0;
    atomic_store(&session_on, 0);
    if (ft_mux_here() == 1)
        pool->wake(); /* what was left on for the session can be turned off */
}

static int on_timestamp(ft_clock_fn fn)
{
    if (answered())
        return SUCCESS;
    if (!followed() || !fn)
        return REAL(timestamp_fn, TIMESTAMP)(fn);
    pthread_mutex_lock(&control);
    begin();
    /* Before, and not after: who reads the other clock must know that it is. */
    atomic_store(&clock_theirs, 1);
    int r = change_clock(fn);
    if (r == SUCCESS)
        their_clock = fn;
    atomic_store(&clock_theirs, their_clock != NULL);
    pthread_mutex_unlock(&control);
    return r;
}

static int on_register(ft_request_fn request, ft_complete_fn complete)
{
    if (answered())
        return SUCCESS;
    if (!followed() || !request || !complete)
        return REAL(register_fn, REGISTER)(request, complete);
    pthread_mutex_lock(&control);
    int r = SUCCESS;
    begin();
    ft_data_begin(request, complete, their_clock, (ft_next_fn)imports[NEXT_RECORD].real);
    atomic_store(&session_on, 1);
    if (!serving()) /* blocks of the recorder may still be out, if there ever were any */
        r = involved() ? REAL(register_fn, REGISTER)(ft_data_request, ft_data_complete) : REAL(register_fn, REGISTER)(request, complete);
    tell();
    pthread_mutex_unlock(&control);
    return r;
}

/* Whether a kind is on, or stays on, for the recorder. */
static int recorded(uint32_t kind)
{
    return (armed.kinds & bit(kind)) != 0 || (armed.api && (kind == KIND_DRIVER || kind == KIND_RUNTIME));
}

static int on_enable(uint32_t kind)
{
    if (answered())
        return SUCCESS;
    if (!followed())
        return REAL(kind_fn, ENABLE)(kind);
    pthread_mutex_lock(&control);
    int r = serving() && recorded(kind) ? SUCCESS : REAL(kind_fn, ENABLE)(kind);
    if (r == SUCCESS && started) {
        wants |= family(kind);
        wanted |= bit(kind);
        left_on &= ~bit(kind);
        atomic_store(&kept_kinds, wants);
        ft_data_kind(kind, 1);
        if (serving())
            ft_data_prepare();
    }
    pthread_mutex_unlock(&control);
    return r;
}

static int on_disable(uint32_t kind)
{
    if (answered())
        return SUCCESS;
    if (!followed())
        return REAL(kind_fn, DISABLE)(kind);
    pthread_mutex_lock(&control);
    int r = SUCCESS;
    if (serving() && recorded(kind))
        ;
    else if (serving() && (kind == KIND_DRIVER || kind == KIND_RUNTIME))
        left_on |= bit(kind); /* turning it off would forget the recorder's list of calls */
    else
        r = REAL(kind_fn, DISABLE)(kind);
    wants &= ~family(kind);
    atomic_store(&kept_kinds, wants);
    pthread_mutex_unlock(&control);
    return r;
}

static int on_api(int which, uint32_t kind, uint32_t id, uint8_t on)
{
    if (answered())
        return SUCCESS;
    if (!followed())
        return REAL(api_fn, which)(id, on);
    pthread_mutex_lock(&control);
    int r = SUCCESS;
    if (!serving() || (on && !armed.api))
        r = REAL(api_fn, which)(id, on);
    if (r == SUCCESS && started) {
        ft_data_api(kind, id, on);
        wanted |= on ? bit(kind) : 0;
    }
    pthread_mutex_unlock(&control);
    return r;
}

static int on_runtime_api(uint32_t id, uint8_t on) { return on_api(RUNTIME_API, KIND_RUNTIME, id, on); }
static int on_driver_api(uint32_t id, uint8_t on) { return on_api(DRIVER_API, KIND_DRIVER, id, on); }

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Has the library hand over what it has finished, until nothing is left, on its way to
   the profiler by another thread neither, or for a while. *late is the number of blocks that did not come. */
static int settle(uint32_t *late)
{
    int64_t limit = monotonic() + (int64_t)FT_SETTLE_MS * 1000000;
    for (;;) {
        int r = REAL(flush_fn, FLUSH)(0);
        *late = pool->pending();
        if (r != SUCCESS || (*late == 0 && !ft_data_under_way()) || monotonic() >= limit)
            return r;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
}

static int on_flush(uint32_t flag)
{
    if (answered())
        return SUCCESS;
    uint32_t late = 0;
    if (!followed() || !atomic_load(&session_on))
        return REAL(flush_fn, FLUSH)(flag);
    /* No lock is held: the library calls back. */
    int r = serving() && (flag & 1) ? settle(&late) : REAL(flush_fn, FLUSH)(serving() ? 0 : flag);
    pthread_mutex_lock(&control);
    ft_data_hand_over(wants != 0 && serving());
    if ((flag & 1) && wants == 0)
        end(late);
    pthread_mutex_unlock(&control);
    return r;
}

static int on_set_attribute(uint32_t id, size_t *size, void *value)
{
    if (answered())
        return SUCCESS;
    if (!followed())
        return REAL(attribute_fn, SET_ATTRIBUTE)(id, size, value);
    if (id == PER_THREAD_BUFFER && atomic_load(&session_on)) {
        /* Its last call, if it had no reason to flush. */
        pthread_mutex_lock(&control);
        if (wanted != 0 && wants == 0)
            end(0);
        pthread_mutex_unlock(&control);
    }
    /* Whether threads have buffers of their own is the recorder's to say. */
    return serving() && id == PER_THREAD_BUFFER ? SUCCESS : REAL(attribute_fn, SET_ATTRIBUTE)(id, size, value);
}

static int on_dropped(void *context, uint32_t stream, size_t *n)
{
    if (answered()) {
        if (n)
            *n = 0;
        return SUCCESS;
    }
    int r = REAL(dropped_fn, DROPPED)(context, stream, n);
    if (r == SUCCESS && n && serving()) {
        atomic_fetch_add(&for_us, *n);
        *n += (size_t)atomic_exchange(&for_them, 0);
    }
    return r;
}

static uint64_t add_dropped(uint64_t n)
{
    if (atomic_load(&session_on))
        atomic_fetch_add(&for_them, n);
    return n + atomic_exchange(&for_us, 0);
}

/* It would take the recorder's callbacks and kinds away. */
static int on_finalize(void)
{
    return answered() || serving() ? SUCCESS : REAL(finalize_fn, FINALIZE)();
}

static ft_import imports[N_IMPORTS] = {
    [REGISTER] = {"cuptiActivityRegisterCallbacks", on_register, NULL},
    [TIMESTAMP] = {"cuptiActivityRegisterTimestampCallback", on_timestamp, NULL},
    [ENABLE] = {"cuptiActivityEnable", on_enable, NULL},
    [DISABLE] = {"cuptiActivityDisable", on_disable, NULL},
    [RUNTIME_API] = {"cuptiActivityEnableRuntimeApi", on_runtime_api, NULL},
    [DRIVER_API] = {"cuptiActivityEnableDriverApi", on_driver_api, NULL},
    [FLUSH] = {"cuptiActivityFlushAll", on_flush, NULL},
    [SET_ATTRIBUTE] = {"cuptiActivitySetAttribute", on_set_attribute, NULL},
    [DROPPED] = {"cuptiActivityGetNumDroppedRecords", on_dropped, NULL},
    [FINALIZE] = {"cuptiFinalize", on_finalize, NULL},
    [NEXT_RECORD] = {"cuptiActivityGetNextRecord", NULL, NULL},
};

/* What follows is called by the recorder, on its flusher. */

static void arm_enter(void) { pthread_mutex_lock(&control); }
static void arm_leave(void) { pthread_mutex_unlock(&control); }

static void mux_armed(const ft_armed *what)
{
    armed = *what;
    atomic_store(&ever_armed, 1);
    atomic_store(&is_armed, 1);
    if (!serving())
        return;
    if (!started) {
        their_clock = NULL; /* the recorder has put its own in its place */
        atomic_store(&clock_theirs, 0);
    } else if (wants != 0)
        ft_data_prepare();
    tell();
}

static void mux_disarmed(void)
{
    atomic_store(&is_armed, 0);
    for (uint32_t k = KIND_DRIVER; involved() && k <= KIND_RUNTIME; k++)
        if (left_on & bit(k) & ~wants)
            (void)REAL(kind_fn, DISABLE)(k);
    left_on = 0;
}

static uint64_t mux_kept(void) { return involved() ? atomic_load(&kept_kinds) : 0; }

static void mux_state(ft_mux_state *out)
{
    /* Which library it will be is not known before the recorder was armed. */
    int with = ft_mux_here() == 1 && (!atomic_load(&ever_armed) || involved());
    *out = (ft_mux_state){
        .session = with && atomic_load(&session_on), .clock = with && atomic_load(&clock_theirs),
        .changes = atomic_load(&clock_changes), .patched = atomic_load(&patched), .lost_notes = atomic_load(&lost_notes)};
}

static void connect_pool(const ft_pool *p)
{
    if (p->version != FT_MUX_VERSION)
        return;
    pool = p;
    ft_data_pool(p);
    atomic_store_explicit(&owner, getpid(), memory_order_release);
    ft_host_connect(p);
    ft_mux_scan();
}

static pthread_mutex_t scanning = PTHREAD_MUTEX_INITIALIZER;

/* Locks that another thread of the parent held. */
static void in_child(void)
{
    control = notes_lock = scanning = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ft_data_in_child();
    ft_host_in_child();
}

static int count_loads(struct dl_phdr_info *o, size_t bytes, void *arg)
{
    (void)bytes;
    *(unsigned long long *)arg = o->dlpi_adds;
    return 1;
}

void ft_mux_scan(void)
{
    static unsigned long long seen;
    static int first = 1;
    unsigned long long loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (ft_mux_here() < 0 || pthread_mutex_trylock(&scanning) != 0)
        return;
    if (first)
        pthread_atfork(NULL, NULL, in_child);
    first = 0;
    if (loads != seen) {
        seen = loads;
        atomic_fetch_add(&patched, ft_got_replace(imports, N_IMPORTS));
    }
    pthread_mutex_unlock(&scanning);
}

void ft_mux_own(int on) { atomic_store(&own, on != 0); }

static void tick(int cut)
{
    static _Atomic int known;
    if (ft_mux_here() == 1 && !atomic_exchange(&known, 1))
        ft_data_own_thread((uint32_t)syscall(SYS_gettid));
    ft_host_tick(cut);
}

const ft_mux ft_the_mux = {
    .version = FT_MUX_VERSION, .connect = connect_pool, .request = ft_data_request, .complete = ft_data_complete,
    .enter = arm_enter, .leave = arm_leave, .armed = mux_armed, .disarmed = mux_disarmed, .kept = mux_kept,
    .dropped = add_dropped, .take = take_note, .state = mux_state, .scan = ft_mux_scan, .tick = tick};
