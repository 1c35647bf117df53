/* muxdata.h - records on their way to two clients; see mux.h. */
#ifndef FT_MUXDATA_H
#define FT_MUXDATA_H

#include <stddef.h>
#include <stdint.h>

#include "../mux.h"

typedef void (*ft_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*ft_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t (*ft_clock_fn)(void);
typedef int (*ft_next_fn)(uint8_t *buffer, size_t valid, uint8_t **record);

void ft_data_pool(const ft_pool *p);
/* The thread whose calls of the vendor's libraries are the recorder's, by its id. */
void ft_data_own_thread(uint32_t tid);

/* A session begins: its buffer functions, its clock if it has one, and the library's
   way from one record to the next. */
void ft_data_begin(ft_request_fn request, ft_complete_fn complete, ft_clock_fn clock, ft_next_fn next);
/* What it wants: a kind, and calls of an API kind one by one. */
void ft_data_kind(uint32_t kind, int on);
void ft_data_api(uint32_t kind, uint32_t id, int on);
/* Asks it for a buffer ahead: Kineto fetches nothing if it never gave one. */
void ft_data_prepare(void);
/* Hands it what has been copied so far, and has the next buffer ready if again. */
void ft_data_hand_over(int again);
/* It is over. Returns how many buffers were copied. */
uint64_t ft_data_end(void);

/* The buffer functions that the library is given while the recorder is armed. */
void ft_data_request(uint8_t **buffer, size_t *size, size_t *max_records);
void ft_data_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* Whether a thread has a buffer of the library in hand. */
int ft_data_under_way(void);
void ft_data_in_child(void);

#endif
