/*
 * mux.h - two clients of one activity library: the recorder and a profiler that
 * the program brings along, torch's Kineto above all.
 *
 * libcupti has one pair of buffer functions, one clock, and one switch a kind. A
 * profiler that starts takes the first two and at its end turns off the third,
 * also where the recorder needs it. So its calls are caught where they leave it,
 * in the import table of the object it is in (got.c), and either passed on, or
 * answered here, or made to mean something else:
 *
 *  - Own session (ft_mux_own): the recorder started that profiler, for its
 *    operators. Nothing of it must reach the library: all is answered.
 *  - The program's session, recorder armed: the recorder's buffer functions stay.
 *    Each buffer is copied to the program's profiler before it goes to the spool,
 *    and what that profiler turns off stays on where the recorder has it on.
 *  - The program's session, recorder not armed: all is passed on. Should the
 *    recorder be armed meanwhile, it comes in beside the session, and leaves it
 *    running when it is disarmed.
 *
 * Life cycle: the library with the recorder connects its pool (connect), in the
 * process that is recorded; scans patch the imports of what is loaded. Before
 * that, and in forked children, the patched functions only pass on.
 *
 * Traps:
 *  - The buffer functions are called by the library on any thread, in the middle of
 *    a call of the program. They take one lock, and only while a session of the
 *    program's is on.
 *  - Work in flight when the session begins is in the program's trace as well.
 *  - A forced flush of the session's is turned into unforced ones, because it would
 *    cut off what the device still works on, for both. The profiler gets what has
 *    come back within FT_SETTLE_MS.
 */
#ifndef FT_MUX_H
#define FT_MUX_H

#include <stddef.h>
#include <stdint.h>

/* The interface between the two libraries. */
enum { FT_MUX_VERSION = 1 };

/* How long the end of a session waits for the device, ms. */
enum { FT_SETTLE_MS = 300 };

/* Clocks read together; see ft_clock in shim.h. */
typedef struct {
    int64_t realtime, monotonic, raw;
    uint64_t tsc;
} ft_moment;

/* Records are taken; and the device is in use, so a buffer was asked for. */
enum { FT_ACTIVE = 1, FT_IN_USE = 2 };

/* What the recorder's pool does for the multiplexer. */
typedef struct {
    uint32_t version;
    /* A block, or 0 if there is none. */
    int (*try)(uint8_t **buffer, size_t *size);
    void (*request)(uint8_t **buffer, size_t *size, size_t *max_records);
    void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
    int (*owns)(const uint8_t *buffer);
    /* Blocks that are with the library and hold something. */
    uint32_t (*pending)(void);
    /* Counts bytes for which there was no block. */
    void (*lost)(size_t bytes);
    uint64_t (*now)(void); /* CLOCK_REALTIME, ns */
    void (*read_clock)(ft_moment *out);
    uint32_t (*state)(void); /* FT_ACTIVE, FT_IN_USE */
    void (*wake)(void);      /* the flusher */
} ft_pool;

/* What the recorder has the library do. */
typedef struct {
    uint64_t kinds;           /* bit k: activity kind k is on */
    uint32_t api;             /* all API calls that a profiler shows are recorded */
    uintptr_t register_calls; /* the library's cuptiActivityRegisterCallbacks */
} ft_armed;

enum { FT_NOTE_BEGIN = 1, FT_NOTE_END = 2 };

/* Something to be told of in the spool. */
typedef struct {
    uint32_t what;
    uint32_t late;     /* END: blocks that had not come back by then */
    uint64_t kinds;    /* END: bit k: the session recorded kind k */
    uint64_t buffers;  /* END: that were copied */
    uint64_t vendor;   /* the session's clock, 0 if it brought none */
    ft_moment at;
} ft_note;

typedef struct {
    uint32_t patched;   /* objects whose imports are caught */
    uint32_t session;   /* a session of the program's is on */
    uint32_t clock;     /* with its own clock */
    uint32_t changes;   /* of the clock, made by a session or at its end; odd while one is made */
    uint32_t lost_notes;
} ft_mux_state;

/* What the multiplexer does for the recorder. */
typedef struct {
    uint32_t version;
    /* Makes the calling process the recorded one. */
    void (*connect)(const ft_pool *pool);
    void (*request)(uint8_t **buffer, size_t *size, size_t *max_records);
    void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
    /* Stand round arming and disarming: the program's calls wait meanwhile. */
    void (*enter)(void);
    void (*leave)(void);
    void (*armed)(const ft_armed *what);
    void (*disarmed)(void);
    /* Kinds that are to stay on for the program's session, as bits. */
    uint64_t (*kept)(void);
    /* Takes what the library says it dropped since the last call, and adds what the
       session was told in between. */
    uint64_t (*dropped)(uint64_t n);
    int (*take)(ft_note *out);
    void (*state)(ft_mux_state *out);
    /* Catches the imports of objects loaded since the last scan. */
    void (*scan)(void);
    /* Called by the flusher whenever it wakes, see host.c. With cut what the host side
       is recording is to be written, so that it can be read. */
    void (*tick)(int cut);
} ft_mux;

extern const ft_mux ft_the_mux;

/* Whether the calls of profilers belong to a session the recorder started. */
void ft_mux_own(int on);
/* Patches what is loaded; any thread. */
void ft_mux_scan(void);
/* 1 where this is the recorded process, 0 where there is none yet, -1 in a child
   of it. */
int ft_mux_here(void);
/* Whether the recorder is armed, on the library whose calls are caught. */
int ft_mux_serving(void);

#endif
