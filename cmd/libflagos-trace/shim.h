/*
 * shim.h - what of the agent must be C.
 *
 * The vendor library calls ft_request and ft_complete on any thread, in the
 * middle of a call of the program and while it holds locks of its own. They take
 * no lock, allocate nothing, enter no Go, and return at once in a forked child.
 */
#ifndef FT_SHIM_H
#define FT_SHIM_H

#include "mux.h"

#include <stddef.h>
#include <stdint.h>

/* Threads of the agent that can be woken. */
enum { FT_FLUSHER = 0, FT_WRITER = 1, FT_WAITERS = 2 };

/* A completed buffer. */
typedef struct {
    uint32_t index;
    uint32_t forced;
    uint32_t stream;
    uint64_t context;
    uint64_t sequence;
    uint64_t valid;
    void *data;
} ft_block;

typedef struct {
    uint64_t requested, delivered, discarded, discarded_bytes, foreign;
} ft_counts;

typedef struct {
    int64_t realtime, monotonic, raw;
    uint64_t tsc;
} ft_clock;

typedef int (*ft_push_fn)(uint32_t kind, uint64_t id);
typedef int (*ft_pop_fn)(uint32_t kind, uint64_t *id);

/* Maps the pool, and registers the exit handler, for quick_exit as well. 0, or -1
   without a pool. */
int ft_open(size_t block_bytes, uint32_t blocks, uint32_t exit_timeout_ms);
/* Has the system provide the memory of the first blocks. */
void ft_pool_warm(void);
/* Says whether this is the process the library was loaded in. */
int ft_alive(void);

void ft_request(uint8_t **buffer, size_t *size, size_t *max_records);
void ft_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
/* The same for libraries that give three arguments. */
void ft_complete_short(uint8_t *buffer, size_t size, size_t valid);
uint64_t ft_now(void);
/* A block as for a request, or 0 if there is none. */
int ft_try(uint8_t **buffer, size_t *size);
int ft_owns(const uint8_t *buffer);
/* The number of blocks out that hold something: a record begins with its kind, which
   is not 0. */
uint32_t ft_pending(void);
/* Counts bytes for which there was no block. */
void ft_lost(size_t bytes);

int ft_take(ft_block *out);
void ft_release(uint32_t index);
void ft_set_forced(int on);
void ft_set_push_pop(void *push, void *pop);
/* How the library numbers the stacks of external ids, and its answer that one is empty;
   CUPTI's numbers, if this is not called. */
void ft_set_stacks(uint32_t operators, uint32_t annotations, uint32_t empty);
void ft_read_counts(ft_counts *out);

/* Waits until ft_wake or the timeout. One thread a waiter. */
void ft_wait(int waiter, int64_t timeout_ns);
void ft_wake(int waiter);

/* Whether records are being taken, not before a start nor after a stop: what the C
   interface answers by. */
void ft_set_active(int on);
int ft_active(void);

int ft_exiting(void);
void ft_exit_done(void);

void ft_read_clock(ft_clock *out);
/* Blocks all signals but faults on the calling thread, and names it: with a fault
   blocked the kernel ends the process, where Go would make it a panic. */
void ft_quiet(const char *name);

/*
 * Stand round the flusher's calls of the vendor library, and only its, not one
 * within another. A fork waits for the end of the call, 20 ms at most, and the next
 * call for the end of the fork. Faults are blocked within: one ends the process
 * without a report of Go's.
 */
void ft_enter_vendor(void);
void ft_leave_vendor(void);
/*
 * Registers the exit handler again, once and only after a buffer was requested:
 * the driver has its own by then. Not called by ft_request itself, since atexit
 * takes a lock; that one wakes the flusher.
 */
void ft_register_exit(void);
/* Calls another injection library with the program's signal mask. */
int ft_chain(uintptr_t fn);
/* The ids of threads put aside for Go and not used yet, at most n; how many. */
size_t ft_idle(int32_t *tids, size_t n);
/* Gives the program's NVTX to the vendor library; see ft_host. */
void ft_join_nvtx(uintptr_t initialize);
/*
 * The recorder's side of mux.h. Connected by ft_open; ft_sessions is NULL where the
 * library that has the multiplexer lends none.
 */
const ft_mux *ft_sessions(void);
void ft_connect(void);
/* Whether the threads of Go are kept from signals of the program; see signals.c. */
int ft_marked(void);
/* Does not return. */
void ft_park(void);

#endif
