/* guard.h - between the C files of the shim. */
#ifndef FT_GUARD_H
#define FT_GUARD_H

#include <stddef.h>
#include <stdint.h>

int ft_pool_open(size_t bytes, uint32_t blocks);
/* Registers the exit handler again, once: now the driver has its own. */
void ft_lazy_exit_handler(void);

#endif
