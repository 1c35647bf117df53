/*
 * calls.h - between the two libraries that make the agent.
 *
 * libflagos_trace.so (stub/) is plain C. It is what the driver loads and what
 * programs call. libflagos_trace_go.so, beside it, holds the Go runtime, which ends
 * a process in which it cannot start. So the first loads the second only once it
 * has put aside what that needs, and hands it over.
 */
#ifndef FT_CALLS_H
#define FT_CALLS_H

#include "mux.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Changes with everything below: the two files are of one build. */
enum { FT_CALLS_ABI = 2 };

/* What the first library lends the second. */
typedef struct {
    /*
     * Runs fn(arg) on a thread put aside, whose handle *thread receives. 0, or
     * EAGAIN if none is left. Such threads have the C library's default stack, and
     * all signals blocked.
     */
    int (*run)(pthread_t *thread, void *(*fn)(void *), void *arg);
    /* Stores the ids of the threads not used yet, at most n, and returns how many. */
    size_t (*idle)(int32_t *tids, size_t n);
    /*
     * Takes size bytes, a multiple of the page size, of zeroed memory put aside, at
     * the address wanted unless that is NULL. NULL if there are not as many left.
     */
    void *(*memory)(void *wanted, size_t size);
    /*
     * Puts memory whose first part has its pages already, zeroed, at that address,
     * where as many bytes of the caller's are mapped that were never touched. Returns
     * the size of that part, 0 if there is none; once.
     */
    size_t (*warm)(void *at, size_t size);
    /* Stands between the vendor's library and profilers of the program's own. */
    const ft_mux *mux;
    /*
     * Gives NVTX in this process, now and later, to the vendor's library: the
     * address of its function that takes NVTX's way to its tables and returns 0.
     */
    void (*join_nvtx)(uintptr_t initialize);
} ft_host;

/* What the second does. Each call may be made on any thread, at any time. */
typedef struct {
    uint32_t abi, bytes;
    /*
     * Starts the Go runtime, once. Until then the library has started no thread and
     * left no handler of a signal. 0, or -1 if there is nothing to start.
     */
    int (*begin)(const ft_host *host);
    int (*inject)(void);
    /* As in include/flagos_trace.h. */
    int (*start)(void);
    int (*stop)(void);
    int (*flush)(void);
    int (*push)(uint32_t stack, uint64_t id);
    int (*pop)(uint32_t stack, uint64_t *id);
} ft_calls;

/* The symbol, an ft_calls, that libflagos_trace_go.so exports. */
#define FT_CALLS_NAME flagos_trace_calls
#define FT_CALLS_SYMBOL "flagos_trace_calls"

#endif
