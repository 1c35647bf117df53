/* pool.c - the buffer pool and the queue of completed buffers, without locks. */
#define _GNU_SOURCE
#include "shim.h"
#include "guard.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_BLOCKS = 1024, DISCARD_BYTES = 256 << 10, WARM_BLOCKS = 2 };

/* Who has a block. One that is completed twice, or was never given out, must not
   get into a list it is in already. */
enum { FREE, OUT, DONE, TAKEN };

/* What is known of a block beside its bytes. */
typedef struct {
    _Atomic uint32_t next; /* index + 1 of the next free or completed block */
    _Atomic uint8_t state;
    ft_block done;
} slot;

static slot slots[MAX_BLOCKS];
static uint8_t *arena;
static size_t block_bytes;
static uint32_t block_count;
static _Atomic uint32_t fresh; /* blocks from here on were never out */
static uint8_t discard[DISCARD_BYTES] __attribute__((aligned(4096)));

/*
 * Heads of two stacks: low half index + 1, high half a counter that changes with
 * every exchange, so that a head that came back is not taken for one that stayed.
 */
static _Atomic uint64_t free_head, done_head;
static _Atomic uint64_t requested, delivered, discarded, discarded_bytes, foreign, sequence;
static _Atomic int forced;

/* The writer's own: completed blocks taken off the stack, oldest first. */
static uint32_t taken;

static void stack_push(_Atomic uint64_t *head, uint32_t index)
{
    uint64_t old = atomic_load(head), fresh;
    do {
        atomic_store(&slots[index].next, (uint32_t)old);
        fresh = ((old >> 32) + 1) << 32 | (index + 1);
    } while (!atomic_compare_exchange_weak(head, &old, fresh));
}

static int stack_pop(_Atomic uint64_t *head, uint32_t *index)
{
    uint64_t old = atomic_load(head), fresh;
    do {
        uint32_t top = (uint32_t)old;
        if (top == 0)
            return 0;
        fresh = ((old >> 32) + 1) << 32 | atomic_load(&slots[top - 1].next);
    } while (!atomic_compare_exchange_weak(head, &old, fresh));
    *index = (uint32_t)old - 1;
    return 1;
}

int ft_pool_open(size_t bytes, uint32_t blocks)
{
    if (arena)
        return 0;
    if (blocks > MAX_BLOCKS)
        blocks = MAX_BLOCKS;
    /* Pages are only taken when written to; with no room for all, fewer do. */
    for (; blocks > 0; blocks /= 2) {
        void *p = mmap(NULL, bytes * blocks, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            continue;
        arena = p;
        block_bytes = bytes;
        block_count = blocks;
        return 0;
    }
    return -1;
}

void ft_pool_warm(void)
{
#ifdef MADV_POPULATE_WRITE
    /* It changes nothing in them, so they may be in use already. */
    if (arena)
        madvise(arena, block_bytes * (block_count < WARM_BLOCKS ? block_count : WARM_BLOCKS), MADV_POPULATE_WRITE);
#endif
}

/* A block that was never out. Their slots are not touched before. */
static int take_fresh(uint32_t *index)
{
    uint32_t n = atomic_load(&fresh);
    do
        if (n >= block_count)
            return 0;
    while (!atomic_compare_exchange_weak(&fresh, &n, n + 1));
    *index = n;
    return 1;
}

static int give(uint8_t **buffer, size_t *size)
{
    uint32_t index;
    if (!stack_pop(&free_head, &index) && !take_fresh(&index))
        return 0;
    atomic_store(&slots[index].state, OUT);
    *buffer = arena + (size_t)index * block_bytes;
    *size = block_bytes;
    memset(*buffer, 0, 4); /* see ft_pending */
    return 1;
}

static void count_request(void)
{
    if (atomic_fetch_add(&requested, 1) == 0)
        ft_wake(FT_FLUSHER); /* see ft_register_exit */
}

void ft_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = discard;
    *size = sizeof discard;
    *max_records = 0;
    if (!ft_alive())
        return;
    count_request();
    /* Never NULL: libraries before CUDA 12.9 crash on it. */
    if (!give(buffer, size))
        atomic_fetch_add(&discarded, 1);
}

int ft_try(uint8_t **buffer, size_t *size)
{
    if (!ft_alive() || !give(buffer, size))
        return 0;
    count_request();
    return 1;
}

int ft_owns(const uint8_t *buffer)
{
    uintptr_t at = (uintptr_t)buffer - (uintptr_t)arena;
    return buffer == discard || (arena && at < block_bytes * block_count);
}

uint32_t ft_pending(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block_count; i++)
        if (atomic_load(&slots[i].state) == OUT)
            n += __atomic_load_n((const uint32_t *)(arena + (size_t)i * block_bytes), __ATOMIC_RELAXED) != 0;
    return n;
}

void ft_lost(size_t bytes)
{
    atomic_fetch_add(&discarded, 1);
    atomic_fetch_add(&discarded_bytes, bytes);
}

void ft_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    if (!ft_alive())
        return;
    if (buffer == discard) {
        atomic_fetch_add(&discarded_bytes, valid);
        return;
    }
    uintptr_t at = (uintptr_t)buffer - (uintptr_t)arena; /* wraps round below the arena */
    if (!arena || at >= block_bytes * block_count || at % block_bytes != 0) {
        /* Another profiler's, handed to us because the callbacks changed hands. */
        atomic_fetch_add(&foreign, 1);
        return;
    }
    uint32_t index = (uint32_t)(at / block_bytes);
    uint8_t was = OUT;
    if (!atomic_compare_exchange_strong(&slots[index].state, &was, DONE)) {
        atomic_fetch_add(&foreign, 1); /* not out: handed back twice */
        return;
    }
    ft_block *b = &slots[index].done;
    b->index = index;
    b->forced = (uint32_t)atomic_load(&forced);
    b->stream = stream;
    b->context = (uint64_t)(uintptr_t)context;
    b->sequence = atomic_fetch_add(&sequence, 1);
    b->valid = valid <= block_bytes ? valid : block_bytes;
    b->data = buffer;
    atomic_fetch_add(&delivered, 1);
    stack_push(&done_head, index);
    ft_wake(FT_WRITER);
}

void ft_complete_short(uint8_t *buffer, size_t size, size_t valid)
{
    /* A library may hand back the buffer that it was not given. */
    if (buffer)
        ft_complete(NULL, 0, buffer, size, valid);
}

/* Takes the oldest completed block. Called by the writer alone. */
int ft_take(ft_block *out)
{
    if (taken == 0) {
        /* Take the whole stack and turn it round. */
        uint64_t all = atomic_load(&done_head);
        while (!atomic_compare_exchange_weak(&done_head, &all, ((all >> 32) + 1) << 32))
            ;
        for (uint32_t at = (uint32_t)all; at != 0;) {
            uint32_t next = atomic_load(&slots[at - 1].next);
            atomic_store(&slots[at - 1].next, taken);
            taken = at;
            at = next;
        }
    }
    if (taken == 0)
        return 0;
    atomic_store(&slots[taken - 1].state, TAKEN);
    *out = slots[taken - 1].done;
    taken = atomic_load(&slots[taken - 1].next);
    return 1;
}

void ft_release(uint32_t index)
{
    uint8_t was = TAKEN;
    if (index < block_count && atomic_compare_exchange_strong(&slots[index].state, &was, FREE))
        stack_push(&free_head, index);
}

int ft_requested(void) { return atomic_load(&requested) != 0; }

void ft_set_forced(int on) { atomic_store(&forced, on); }

void ft_read_counts(ft_counts *out)
{
    out->requested = atomic_load(&requested);
    out->delivered = atomic_load(&delivered);
    out->discarded = atomic_load(&discarded);
    out->discarded_bytes = atomic_load(&discarded_bytes);
    out->foreign = atomic_load(&foreign);
}
