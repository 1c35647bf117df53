/* libfakekineto: the device side of a framework's profiler. It calls the activity
 * library in the order in which Kineto was seen to, through imports that the loader
 * binds, as libtorch_cpu does. */
#ifndef FAKEKINETO_H
#define FAKEKINETO_H

#include <stdint.h>

/* What a session got. */
struct fk_counts {
	uint64_t kernels, watched;     /* all; those of the name that is watched */
	uint64_t copies, sets, runtime, driver, externals, overheads;
	uint64_t unexpected;           /* records of kinds it did not ask for */
	uint64_t unfinished;           /* work without an end */
	uint64_t outside;              /* records that are not of the time of the session */
	uint64_t unordered;            /* watched kernels that start before their call */
	uint64_t buffers;              /* that came back with records */
	uint64_t dropped;
};

/* begin starts a session, with records of the device or of calls alone: 0, or the
 * result of the call that failed. end ends it and counts. */
int fk_begin(int device);
int fk_end(struct fk_counts *out);
/* watch has kernels of this name counted apart. The string must stay. */
void fk_watch(const char *name);
/* push and pop name an operator on the calling thread. */
void fk_push(uint64_t id);
void fk_pop(void);

#endif
