/*
 * roctracer.h - what roctracer calls. It hands over memory of its own, which is copied
 * into blocks of the pool, and shows calls to a function of ours, which makes records of
 * them of the same size. See package tracer/roctracer for the layout.
 */
#ifndef FT_ROCTRACER_H
#define FT_ROCTRACER_H

#include <stdint.h>

enum { FT_ROC_RECORD = 64, FT_ROC_CALLS = 4096 };

/* The library's clock, and what is to be taken of a call's arguments, by its id. */
void ft_roc_open(void *timestamp, const uint8_t *shapes, uint32_t n);
/* Completes the block with records of calls, if there is one. */
void ft_roc_flush(void);

void ft_roc_complete(const char *begin, const char *end, void *arg);
void ft_roc_call(uint32_t domain, uint32_t id, const void *data, void *arg);
int ft_roc_push(uint32_t stack, uint64_t id);
int ft_roc_pop(uint32_t stack, uint64_t *id);

#endif
