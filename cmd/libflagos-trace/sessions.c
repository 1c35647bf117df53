/* sessions.c - what the pool does for profilers of the program's own, see mux.h. */
#define _GNU_SOURCE
#include "guard.h"
#include "shim.h"

#include <stdatomic.h>

static void read_clock(ft_moment *out)
{
    ft_clock c;
    ft_read_clock(&c);
    *out = (ft_moment){c.realtime, c.monotonic, c.raw, c.tsc};
}

static uint32_t state(void)
{
    return (ft_alive() && ft_active() ? FT_ACTIVE : 0) | (ft_requested() ? FT_IN_USE : 0);
}

static void wake(void) { ft_wake(FT_FLUSHER); }

static const ft_pool pool = {
    .version = FT_MUX_VERSION, .try = ft_try, .request = ft_request, .complete = ft_complete, .owns = ft_owns,
    .pending = ft_pending, .lost = ft_lost, .now = ft_now, .read_clock = read_clock, .state = state, .wake = wake};

static _Atomic(const ft_mux *) mux;

const ft_mux *ft_sessions(void) { return atomic_load(&mux); }

void ft_connect(void)
{
    const ft_host *h = ft_lender();
    if (!h || !h->mux || h->mux->version != FT_MUX_VERSION)
        return;
    h->mux->connect(&pool);
    atomic_store(&mux, h->mux);
}
