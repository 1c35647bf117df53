/* got.h - replacing functions that a loaded object imports. */
#ifndef FT_GOT_H
#define FT_GOT_H

#include <stddef.h>

/* A function by name. */
typedef struct {
    const char *name;
    void *with; /* what importers are to call */
    void *real; /* what they called; NULL until it is known */
} ft_import;

/*
 * Replaces the imports of every loaded object that imports list[0]. What is in
 * `real` already must be what an object calls, or the object is left alone; what is
 * not is filled in from the first object. Returns the number of objects patched by
 * this call. One thread at a time; others may call the functions, load and unload
 * objects meanwhile.
 */
unsigned ft_got_replace(ft_import *list, size_t n);

#endif
