/* guard.h - between the C files of the shim. */
#ifndef FT_GUARD_H
#define FT_GUARD_H

#include "calls.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

int ft_pool_open(size_t bytes, uint32_t blocks);
/* Whether a buffer was ever requested. */
int ft_requested(void);
/* Takes note of the process. Called once, before Go starts. */
void ft_process_init(void);
/* Looks for what stack.c needs. Called once, before Go starts. */
void ft_stack_init(void);
/* Starts Go, which until then is held back; see ft_calls. */
int ft_begin(const ft_host *host);
/* What lends threads and memory; NULL before ft_begin. */
void ft_lend(const ft_host *host);
const ft_host *ft_lender(void);
/*
 * Stand round the start of Go and the first call into it; see warm.c. Between them it
 * is told of memory that Go has mapped; a thread that waits for Go does the rest.
 */
void ft_warm_begin(void);
void ft_warm_end(void);
void ft_warm_mapped(void *p, size_t size, int prot);
void ft_warm_rest(void);
/* Blocks or unblocks the faults Go makes panics of, on the calling thread. */
void ft_faults(int block);

/* What a thread of the program had when it called into Go. */
typedef struct {
    sigset_t mask, pending;
} ft_guest;

/* Stand round every call into Go on a thread of the program. */
void ft_enter_go(ft_guest *g);
void ft_leave_go(ft_guest *g);

#endif
