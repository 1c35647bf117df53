/* The lists of activity buffers, shared by the code that fills them and the code
 * that hands them back. */
#ifndef FAKECUPTI_BUFFERS_H
#define FAKECUPTI_BUFFERS_H

#include "cupti.h"

struct pending { size_t off; uint64_t due; };

struct cbuf {
	uint8_t *data;
	size_t cap, used, max_records, records;
	uint64_t due;              /* when the last of its device work ends */
	struct pending *pending;   /* its records of device work */
	size_t n_pending, cap_pending;
	struct cbuf *next;
};

struct slot {
	struct cbuf *cur;
	int taken;
	struct slot *next;
};

extern struct buffers {
	pthread_mutex_t lock;      /* guards what follows */
	pthread_cond_t work, idle; /* a buffer became full; a delivery ended */
	struct slot shared, *slots;
	struct cbuf *full, **full_end;
	struct cbuf *spare;        /* asked for and not needed yet */
	int delivering;            /* by the worker, at this moment */
	int worker_started;
	complete_fn complete;
} buffers;

/* Let go of the lock around a callback, unless a switch wants the bad case. */
void outside_lock(void);
void inside_lock(void);
/* start_worker: called with the lock. */
void start_worker(void);

#endif
