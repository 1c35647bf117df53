/*
 * flagos_trace.h - the C interface of libflagos-trace.
 *
 * A program need not call any of this: `flagos-trace record` loads the library
 * through the vendor's injection variable and records everything. A program that
 * wants to mark windows or to name operators looks the functions up with
 * dlsym(RTLD_DEFAULT, ...) or in a handle of the library, and goes without when
 * they are not there. libflagos_trace_go.so has to lie beside the library: it is
 * loaded by the first call of InitializeInjection or flagos_trace_start for which
 * FLAGOS_TRACE_DIR is set. Until then there is no thread of the recorder.
 *
 * All functions may be called from any thread, at any time, also when nothing is
 * recorded; in a forked child they do nothing. None prints, and none waits longer
 * than the exit timeout (5 s; FLAGOS_TRACE_EXIT_TIMEOUT_MS). While start, stop and
 * flush run, signals other than faults are held back on the calling thread.
 */
#ifndef FLAGOS_TRACE_H
#define FLAGOS_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum {
    FLAGOS_TRACE_OK = 0,
    FLAGOS_TRACE_INACTIVE = 1,    /* nothing is recorded in this process, or, for push and pop, now */
    FLAGOS_TRACE_UNAVAILABLE = 2, /* no vendor library could be armed, or it lacks the function, or the process has
                                     no room for the recorder (limits of threads or memory); the spool says which */
    FLAGOS_TRACE_FAILED = 3,      /* the vendor library refused */
    FLAGOS_TRACE_TIMEOUT = 4,     /* not done within the time allowed; it may still be */
    FLAGOS_TRACE_EMPTY = 5,       /* pop without push on this thread */
    FLAGOS_TRACE_BUSY = 6,        /* another thread is at the same thing */
    FLAGOS_TRACE_INVALID = 7      /* an argument is not one of those listed */
};

/* Stacks of external ids, one of each a thread. */
enum {
    FLAGOS_TRACE_OPERATOR = 1,  /* ids of framework operators */
    FLAGOS_TRACE_ANNOTATION = 2 /* ids of ranges the user named */
};

/*
 * InitializeInjection is called by the driver (CUDA_INJECTION64_PATH). It always
 * returns 1: whatever goes wrong, the program goes on.
 */
int InitializeInjection(void);

/*
 * Arms the vendor library if it is not, and opens a recording window. Called
 * again, it takes the library's callbacks back from another profiler that has
 * replaced them. OK, INACTIVE, UNAVAILABLE, FAILED, TIMEOUT or BUSY.
 */
int flagos_trace_start(void);

/*
 * Closes the window, disarms, and fetches the records of what had ended. Work
 * still running on the device ends behind the window and is not in the trace:
 * synchronise first to have it. OK, INACTIVE, FAILED, TIMEOUT or BUSY. OK means
 * that the records are in the spool.
 */
int flagos_trace_stop(void);

/* Fetches finished records. OK, INACTIVE, FAILED, TIMEOUT or BUSY. */
int flagos_trace_flush(void);

/*
 * Pushes an id on a stack of the calling thread: API calls made until it is
 * popped are recorded under it. OK, INACTIVE, UNAVAILABLE, FAILED or INVALID.
 */
int flagos_trace_push_external_id(uint32_t stack, uint64_t id);

/*
 * Pops the last id of the calling thread; id, if not NULL, receives it. OK,
 * INACTIVE, UNAVAILABLE, FAILED, EMPTY or INVALID.
 */
int flagos_trace_pop_external_id(uint32_t stack, uint64_t *id);

/*
 * For the host side: what records a framework's operators in this process, as the
 * bootstrap of `flagos-trace record` does in Python.
 */

/* Bits of flagos_trace_host_state. */
enum {
    FLAGOS_TRACE_HOST_RECORDING = 1, /* a window is open */
    FLAGOS_TRACE_HOST_IN_USE = 2,    /* and the device is in use */
    FLAGOS_TRACE_HOST_CUT = 4        /* the current slice is to be ended and the next begun */
};

/*
 * Gives a Python callable, a PyObject * that must stay alive, to be called without
 * arguments in the interpreter's main thread whenever flagos_trace_host_state has
 * changed. It must not raise; what a signal handler of the program raises inside it
 * reaches the program. NULL takes it back; do so before the interpreter ends. OK,
 * INACTIVE in a child of a recorded process, or UNAVAILABLE without Python.
 */
int flagos_trace_host_attach(void *callable);

/* What is to be done, as bits; FLAGOS_TRACE_HOST_CUT is cleared by it. */
uint32_t flagos_trace_host_state(void);

/*
 * Says whether the calls that a profiler of the program makes of the vendor library
 * belong, from now on, to a session that the recorder has started (1), or not (0):
 * those are answered and do nothing. OK or INACTIVE.
 */
int flagos_trace_host_own(int on);

#ifdef __cplusplus
}
#endif
#endif
