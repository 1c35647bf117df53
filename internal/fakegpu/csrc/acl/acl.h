/* Internals of the libascendcl look-alike. */
#ifndef FAKEACL_H
#define FAKEACL_H

#include <stddef.h>
#include <stdint.h>

#include "../env.h"
#include "observer.h"

#define API __attribute__((visibility("default")))

/* Public result codes of ACL that are used: 0, and "no device is set". */
enum { ACL_SUCCESS = 0, ACL_ERROR_INVALID = 100000, ACL_ERROR_NO_DEVICE = 107002 };

struct stream {
	uint32_t id;
	uint32_t device;             /* physical */
	uint64_t busy_until;
	struct graph *capture;       /* being recorded into */
};

uint64_t fa_now(void);
const struct fa_observer *fa_observer(void);
/* The stream for a handle: NULL is the default stream of the thread's device. */
struct stream *fa_stream(void *handle);
int fa_have_device(void);
/* Puts work into a stream, or into the graph that is recorded from it. */
void fa_enqueue(struct stream *s, struct fa_task *t, uint64_t ns, int node);
void fa_run(struct stream *s, struct fa_task *t, uint64_t ns);
void fa_wait(uint64_t until);
uint64_t fa_busy_until(struct stream *s);
uint64_t fa_all_busy_until(void);

/* A call of the program, from CALL to RETURN. */
#define CALL uint64_t began_ = fa_now()
#define REPORT(level, name)                                              \
	do {                                                             \
		const struct fa_observer *o_ = fa_observer();            \
		if (o_)                                                  \
			o_->api(level, name, began_, fa_now());          \
	} while (0)

#endif
