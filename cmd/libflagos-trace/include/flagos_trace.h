/*
 * flagos_trace.h - the C interface of libflagos-trace.
 *
 * A program need not call any of this: `flagos-trace record` loads the library
 * through the vendor's injection variable and records everything. A program that
 * wants to mark windows or to name operators looks the functions up with
 * dlsym(RTLD_DEFAULT, ...) or in a handle of the library, and goes without when
 * they are not there.
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
    FLAGOS_TRACE_UNAVAILABLE = 2, /* no vendor library could be armed, or it lacks the function */
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
 * Fetches all records, closes the window and disarms. Work still running on the
 * device is recorded without its end and not told again: synchronise first. OK,
 * INACTIVE, FAILED, TIMEOUT or BUSY. OK means that the records are in the spool.
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

#ifdef __cplusplus
}
#endif
#endif
