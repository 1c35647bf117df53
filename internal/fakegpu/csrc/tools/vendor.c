/* fakegpu-workload-<vendor>: the bundled workload on a vendor's runtime. What is the
 * vendor's own is in the header that VENDOR_CALLS names: it defines struct device, and
 * the calls on one. */
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan.h"

static void check(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "workload: %s: error %d\n", what, rc);
		exit(91);
	}
}
#define CHECK(call) check((call), #call)

static char host[PLAN_BATCH];

#include VENDOR_CALLS

static struct { int kernels, threads, streams, graphs; const char *counts; } o = {.kernels = 90, .threads = 2, .streams = 2, .graphs = 1};

static void **streams; /* the first is the default stream */

struct job { pthread_t thread; int index; struct device d; struct plan_counts n; };

static void *run(void *arg)
{
	struct job *j = arg;
	open_device(&j->d, streams[j->index % o.streams]);
	plan_run(&vendor_calls, &j->d, o.kernels, 0, o.graphs, &j->n);
	close_device(&j->d);
	return NULL;
}

static void write_counts(const struct job *jobs)
{
	struct plan_counts n = {0};
	for (int i = 0; i < o.threads; i++) {
		n.launches += jobs[i].n.launches;
		n.graph_launches += jobs[i].n.graph_launches;
		n.graph_kernels += jobs[i].n.graph_kernels;
		n.copies += jobs[i].n.copies;
		n.sets += jobs[i].n.sets;
	}
	FILE *f = fopen(o.counts, "w");
	if (!f) {
		perror(o.counts);
		exit(92);
	}
	fprintf(f, "{\"launches\":%d,\"graph_launches\":%d,\"graph_kernels\":%d,\"memcpys\":%d,\"memsets\":%d}\n",
		n.launches, n.graph_launches, n.graph_kernels, n.copies, n.sets);
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"kernels", 1, NULL, 'k'}, {"threads", 1, NULL, 't'}, {"streams", 1, NULL, 's'},
		{"graphs", 1, NULL, 'g'}, {"counts", 1, NULL, 'c'}, {0}};
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		switch (c) {
		case 'k': o.kernels = atoi(optarg); break;
		case 't': o.threads = atoi(optarg); break;
		case 's': o.streams = atoi(optarg); break;
		case 'g': o.graphs = atoi(optarg); break;
		case 'c': o.counts = optarg; break;
		default: return 2;
		}
	if (o.threads < 1 || o.streams < 1)
		return 2;
	start();
	streams = calloc((size_t)o.streams, sizeof *streams);
	struct job *jobs = calloc((size_t)o.threads, sizeof *jobs);
	if (!streams || !jobs)
		return 92;
	for (int i = 1; i < o.streams; i++)
		streams[i] = new_stream();
	for (int i = 0; i < o.threads; i++) {
		jobs[i].index = i;
		if (i > 0 && pthread_create(&jobs[i].thread, NULL, run, &jobs[i]))
			return 92;
	}
	run(&jobs[0]);
	for (int i = 1; i < o.threads; i++)
		pthread_join(jobs[i].thread, NULL);
	finish();
	if (o.counts)
		write_counts(jobs);
	return 0;
}
