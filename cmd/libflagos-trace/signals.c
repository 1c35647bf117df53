/*
 * signals.c - keeps Go's ways with signals from the program.
 *
 * Three things would be seen by a guest's host:
 *
 *  - Threads. A signal to the process goes to any thread that does not block it,
 *    and one without a handler is gone with that. Go's threads keep the mask they
 *    are born with, all blocked, but take some signals back, SIGCHLD and SIGPROF
 *    among them: a program that blocks SIGCHLD and reads a signalfd would miss
 *    its children. So each thread of Go finds a MARK pending when it takes them
 *    back, whose handler puts them into the mask for good.
 *  - Calls. On a thread of the program Go does the same at the first call, and
 *    leaves it so. A handler of the program would run on a stack of Go's, which
 *    is small, and a write beyond RLIMIT_FSIZE raises SIGXFSZ. So calls are made
 *    with all blocked, and the mask is put back behind them.
 *  - SIGURG. Go takes it to preempt its threads, which take it back as well. The
 *    MARK puts it into the mask, too, so that it never arrives: Go goes on
 *    without, and its handler is never installed over the program's.
 */
#define _GNU_SOURCE
#include "guard.h"
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Linux raises this one for nothing, Go unblocks it on all its threads and, in a
 * shared library, installs no handler for it.
 */
#define MARK SIGSTKFLT

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static sigset_t mask_before;
static create_fn *real_create;

/* Whether a MARK changes the mask of this thread, and the call it is in. Static
   TLS: a handler must not be the first to touch a variable that is allocated. */
#define THREAD static __thread __attribute__((tls_model("initial-exec")))
THREAD volatile sig_atomic_t marking;
THREAD ft_guest *guest;

static void on_mark(int sig, siginfo_t *info, void *context)
{
    if (info->si_code != SI_TKILL || info->si_pid != getpid()) {
        /* Somebody else's; it ends the process, as it would have. */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    if (!marking)
        return;
    ucontext_t *uc = context;
    sigaddset(&uc->uc_sigmask, SIGCHLD);
    sigaddset(&uc->uc_sigmask, SIGPROF);
    sigaddset(&uc->uc_sigmask, SIGURG);
}

int ft_marked(void)
{
    struct sigaction now;
    return sigaction(MARK, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_mark;
}

/* Leaves a MARK pending on the calling thread, unless the program has taken the
   signal for something else. */
static void mark_self(void)
{
    if (!ft_marked())
        return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, MARK);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    marking = 1;
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), MARK);
}

typedef struct {
    void *(*fn)(void *);
    void *arg;
} birth;

/* The first thread Go asks for, before it may have one. */
static birth held;
static int constructing;

/*
 * Go has as many processors as the thread it starts on may use, and starts threads to
 * keep them busy. Of all that on a large machine the agent needs nothing, so while Go
 * counts, that thread may use one, and the flusher asks for more (agent/flusher.go).
 */
static cpu_set_t usual;
static size_t usual_bytes;
static _Atomic pid_t narrow; /* the thread that may use one, 0 for none */

static void be_narrow(void)
{
    unsigned cpu;
    cpu_set_t one;
    long n = syscall(SYS_sched_getaffinity, 0, sizeof usual, &usual);
    if (n <= 0 || syscall(SYS_getcpu, &cpu, NULL, NULL) != 0 || cpu >= CPU_SETSIZE)
        return;
    usual_bytes = (size_t)n;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (syscall(SYS_sched_setaffinity, 0, usual_bytes, &one) == 0)
        atomic_store(&narrow, (pid_t)syscall(SYS_gettid));
}

/* Called when Go makes its next thread: it has counted. */
static void be_wide(void)
{
    pid_t who = atomic_load(&narrow);
    if (who == 0 || who != (pid_t)syscall(SYS_gettid))
        return;
    syscall(SYS_sched_setaffinity, 0, usual_bytes, &usual);
    atomic_store(&narrow, 0);
}

static void *born(void *p)
{
    birth b = *(birth *)p;
    free(p);
    if (b.fn == held.fn)
        be_narrow();
    mark_self();
    return b.fn(b.arg);
}

/*
 * Stands before libc's within this library alone, where only Go's runtime calls
 * it: that is how its threads get their mark, and come from those put aside.
 */
__attribute__((visibility("hidden"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                                         void *(*fn)(void *), void *arg)
{
    const ft_host *h = ft_lender();
    if (constructing) {
        held = (birth){fn, arg};
        *thread = pthread_self(); /* Go makes nothing of it */
        return 0;
    }
    be_wide();
    if (!real_create)
        real_create = (create_fn *)dlsym(RTLD_DEFAULT, "pthread_create");
    birth *b = malloc(sizeof *b);
    if (!b)
        return real_create(thread, attr, fn, arg);
    *b = (birth){fn, arg};
    if (h && h->run(thread, born, b) == 0)
        return 0;
    int rc = real_create(thread, attr, born, b);
    if (rc != 0)
        free(b);
    return rc;
}

/*
 * Go's constructor installs handlers of faults and asks for its first thread. These
 * two run before and behind it: signals are blocked meanwhile, the thread is held
 * back, and the program's handlers are put back, so that a library that is only
 * loaded changes nothing. ft_begin makes up for it.
 */
static struct sigaction program[NSIG], gos[NSIG];

__attribute__((constructor(101))) static void before_go(void)
{
    ft_process_init();
    ft_stack_init();
    real_create = (create_fn *)dlsym(RTLD_DEFAULT, "pthread_create");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_before);
    for (int sig = 1; sig < NSIG; sig++)
        sigaction(sig, NULL, &program[sig]);
    constructing = 1;
}

__attribute__((constructor)) static void after_go(void)
{
    constructing = 0;
    for (int sig = 1; sig < NSIG; sig++) {
        sigaction(sig, NULL, &gos[sig]);
        if (gos[sig].sa_handler != program[sig].sa_handler || gos[sig].sa_flags != program[sig].sa_flags)
            sigaction(sig, &program[sig], NULL);
    }
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

int ft_begin(const ft_host *host)
{
    static _Atomic int begun;
    if (!held.fn || atomic_exchange(&begun, 1) != 0)
        return -1;
    ft_lend(host);
    ft_warm_begin();
    struct sigaction mine = {.sa_sigaction = on_mark, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&mine.sa_mask);
    if (!(program[MARK].sa_flags & SA_SIGINFO) && program[MARK].sa_handler == SIG_DFL)
        sigaction(MARK, &mine, NULL);
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGURG && gos[sig].sa_handler != program[sig].sa_handler)
            sigaction(sig, &gos[sig], NULL);
    pthread_t thread;
    return pthread_create(&thread, NULL, held.fn, held.arg) == 0 ? 0 : -1;
}

/* All signals but those a thread raises by what it does. */
static sigset_t all_but_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t s;
    sigfillset(&s);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&s, faults[i]);
    return s;
}

/* Takes away what a call into Go left pending on this thread. */
static void drain(const ft_guest *g)
{
    static const int mine[] = {SIGXFSZ, MARK, SIGURG};
    const struct timespec now = {0, 0};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
        sigset_t set;
        siginfo_t info;
        sigemptyset(&set);
        sigaddset(&set, mine[i]);
        /* The C library's sigtimedwait says SI_USER for SI_TKILL. */
        if (sigismember(&g->pending, mine[i]) || syscall(SYS_rt_sigtimedwait, &set, &info, &now, 8) != mine[i])
            continue;
        if (mine[i] == SIGURG && (info.si_code != SI_TKILL || info.si_pid != getpid()))
            kill(getpid(), SIGURG); /* the program's */
    }
}

void ft_enter_go(ft_guest *g)
{
    sigset_t set = all_but_faults();
    pthread_sigmask(SIG_BLOCK, &set, &g->mask);
    sigpending(&g->pending);
    mark_self();
    guest = g;
}

void ft_leave_go(ft_guest *g)
{
    guest = NULL;
    drain(g);
    marking = 0;
    pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

int ft_chain(uintptr_t fn)
{
    ft_guest *g = guest;
    int (*init)(void) = (int (*)(void))fn;
    if (!g)
        return init();
    /* Threads it starts are born with the mask it is called with. */
    sigset_t now;
    drain(g);
    pthread_sigmask(SIG_SETMASK, &g->mask, &now);
    int rc = init();
    pthread_sigmask(SIG_SETMASK, &now, NULL);
    return rc;
}

void ft_quiet(const char *name)
{
    sigset_t set = all_but_faults();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

void ft_faults(int block)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGBUS);
    sigaddset(&set, SIGFPE);
    pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}
