/* What the look-alike of Ascend's runtime tells the profiling library, as the real
 * one does through its report functions. */
#ifndef FAKEACL_OBSERVER_H
#define FAKEACL_OBSERVER_H

#include <stdint.h>

/* Levels of API rows. */
enum { FA_ACL = 1, FA_NODE = 2, FA_RUNTIME = 3 };

/* Work of a device. Times are CLOCK_REALTIME nanoseconds, device is physical. */
struct fa_task {
	uint64_t start, end, correlation;
	uint32_t device, stream;
	const char *type, *name;
	/* Of a collective operation; NULL for a kernel. */
	const char *communicator, *algorithm;
	uint64_t count, bytes;
	uint32_t data_type;
};

/* Flags of marks, as the activity library has them. */
enum { FA_INSTANT = 1, FA_BEGIN = 2, FA_END = 4 };

struct fa_observer {
	/* A call has ended on the calling thread. */
	void (*api)(uint32_t level, const char *name, uint64_t start, uint64_t end);
	/* The calling thread puts work into a stream; gives the work's id. node: it is a
	 * task of a collective operation. */
	uint64_t (*launch)(int node);
	void (*task)(const struct fa_task *t);
	void (*mark)(uint32_t flag, uint64_t id, const char *name, const char *domain, uint64_t at);
};

/* NULL ends it. */
void fakeacl_observe(const struct fa_observer *o);

#endif
