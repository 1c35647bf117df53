/* stub.h - between the C files of libflagos_trace.so. */
#ifndef FT_STUB_H
#define FT_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "../calls.h"

/* Why the agent is not started. */
typedef struct {
    char text[512];
} st_reason;

void st_because(st_reason *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Puts aside what Go needs. 0, or -1 with the reason, and then nothing is left of
 * it. All signals have to be blocked. The threads are made while the caller goes on:
 * st_startable waits until there are enough to start Go, and st_reserved for all; they
 * are -1 with the reason if there are not.
 */
int st_reserve(st_reason *why);
int st_startable(st_reason *why);
int st_reserved(st_reason *why);
/* Gives back what st_reserve took, before Go is started. */
void st_unreserve(void);
extern const ft_host st_host;

/* Maps n stacks, and returns n, or 0 without them. */
uint32_t st_map_stacks(uint32_t n);
/* Has attr give a thread the nth stack; 0 if it cannot. */
int st_with_stack(pthread_attr_t *attr, uint32_t n);
/* Gives back those from first up to n, which no thread has any more. */
void st_unmap_stacks(uint32_t first, uint32_t n);

/*
 * Asks for pages while the library of that path is loaded, until it is; see ahead.c.
 * The memory is mapped before, and st_ahead_heap is as warm in ft_host.
 */
void st_ahead_map(void);
void st_ahead_unmap(void);
void st_ahead(const char *path);
void st_ahead_over(void);
size_t st_ahead_heap(void *at, size_t size);

/* Whether the calling thread is the only one, as far as is known. */
int st_alone(void);
/* Makes the table of descriptors as long as the agent needs it. */
void st_lengthen_table(void);

/* See ft_host. */
void st_join_nvtx(uintptr_t initialize);

/* The path of the Go library, empty if it is not known. */
const char *st_path(void);
/* That library, ready to begin; NULL with the reason. */
const ft_calls *st_open(st_reason *why);

/* Leaves a spool that holds nothing but the reason. */
void st_refuse(const st_reason *why);

#endif
