/* The bundled workload: what a training thread does, said once for the programs of all
 * vendors, so that recordings of it can be held against each other. A step copies a
 * batch in, fills a part of it, launches kernels in turn, copies a loss out and waits;
 * at the end a graph of kernels is captured and replayed on a stream of its own. */
#ifndef PLAN_H
#define PLAN_H

enum {
	PLAN_BATCH = 1 << 20, PLAN_FILL = PLAN_BATCH / 4, PLAN_LOSS = 4,              /* bytes */
	PLAN_GRAPH_FIRST = 1, PLAN_GRAPH_KERNELS = 4, PLAN_GRAPH_GRID = 8, PLAN_GRAPH_BLOCK = 128,
};

struct plan_kernel { const char *name; unsigned dim[6]; unsigned shared; }; /* grid, block, bytes of dynamic shared memory */

static const struct plan_kernel plan_kernels[] = {
#define KERNEL(name, gx, gy, gz, bx, by, bz, shared) {name, {gx, gy, gz, bx, by, bz}, shared},
#include "kernels.inc"
#undef KERNEL
};
enum { PLAN_KERNELS = sizeof plan_kernels / sizeof *plan_kernels };

/* A vendor's calls, on a thread's own job. They end the program when one fails; those
 * that may be NULL say so. */
struct plan_calls {
	int (*over)(void *job);                  /* true: no step more; may be NULL */
	void (*begin_step)(void *job);           /* may be NULL */
	void (*copy_in)(void *job);              /* of PLAN_BATCH, without waiting */
	void (*fill)(void *job);                 /* of PLAN_FILL */
	void (*launch)(void *job, int kernel);
	void (*launched)(void *job);             /* all of a step; may be NULL */
	void (*copy_out)(void *job);             /* of PLAN_LOSS, without waiting */
	void (*wait)(void *job);                 /* for the stream */
	void (*end_step)(void *job);             /* may be NULL */
	void (*begin_capture)(void *job);
	void (*capture)(void *job, int kernel);  /* of PLAN_GRAPH_GRID and PLAN_GRAPH_BLOCK */
	void (*end_capture)(void *job);
	void (*replay)(void *job);
	void (*end_graph)(void *job);            /* waits for it */
};

struct plan_counts { int launches, graph_launches, graph_kernels, copies, sets; };

/* plan_run does a thread's part: launches in all, in steps of step_kernels (0: each
 * kernel once), and replays of the graph; n is kept up while it runs. */
static inline void plan_run(const struct plan_calls *c, void *job, int launches, int step_kernels, int replays, struct plan_counts *n)
{
	if (!step_kernels)
		step_kernels = PLAN_KERNELS;
	for (int i = 0; i < launches && !(c->over && c->over(job));) {
		if (c->begin_step)
			c->begin_step(job);
		c->copy_in(job);
		c->fill(job);
		n->copies++;
		n->sets++;
		for (int k = 0; k < step_kernels && i < launches; k++, i++) {
			c->launch(job, k % PLAN_KERNELS);
			n->launches++;
		}
		if (c->launched)
			c->launched(job);
		c->copy_out(job);
		n->copies++;
		c->wait(job);
		if (c->end_step)
			c->end_step(job);
	}
	if (!replays)
		return;
	c->begin_capture(job);
	for (int k = 0; k < PLAN_GRAPH_KERNELS; k++)
		c->capture(job, PLAN_GRAPH_FIRST + k);
	c->end_capture(job);
	for (int i = 0; i < replays; i++) {
		c->replay(job);
		n->graph_launches++;
		n->graph_kernels += PLAN_GRAPH_KERNELS;
	}
	c->end_graph(job);
}

#endif
