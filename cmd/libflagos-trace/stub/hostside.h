/* hostside.h - the functions for the host side, between C files; see host.c. */
#ifndef FT_HOSTSIDE_H
#define FT_HOSTSIDE_H

#include "../mux.h"

void ft_host_connect(const ft_pool *p);
void ft_host_tick(int cut_now);
void ft_host_in_child(void);

#endif
