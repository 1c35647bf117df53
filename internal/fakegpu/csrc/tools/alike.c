/* fakegpu-<vendor>: a loop that looks like training to a recorder, on a runtime that
 * looks like CUDA's. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../alike/runtime.h"

int fakert_round(int launches, void *stream);

static struct { int rounds, launches, threads, exit_code, signal, step_sleep_ms; double sleep; const char *counts; } o = {.rounds = 5, .launches = 9, .threads = 2};

static void nap(double s)
{
	if (s > 0)
		nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL);
}

static void *run(void *stream)
{
	for (int i = 0; i < o.rounds; i++) {
		if (fakert_round(o.launches, stream))
			exit(91);
		nap(o.step_sleep_ms / 1e3);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"rounds", 1, NULL, 'r'}, {"launches", 1, NULL, 'l'}, {"threads", 1, NULL, 't'}, {"counts", 1, NULL, 'c'},
		{"exit-code", 1, NULL, 'e'}, {"signal", 1, NULL, 'i'}, {"sleep", 1, NULL, 'z'}, {"step-sleep-ms", 1, NULL, 'm'}, {0}};
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		switch (c) {
		case 'r': o.rounds = atoi(optarg); break;
		case 'l': o.launches = atoi(optarg); break;
		case 't': o.threads = atoi(optarg); break;
		case 'c': o.counts = optarg; break;
		case 'e': o.exit_code = atoi(optarg); break;
		case 'i': o.signal = atoi(optarg); break;
		case 'z': o.sleep = atof(optarg); break;
		case 'm': o.step_sleep_ms = atoi(optarg); break;
		default: return 2;
		}
	int devices;
	if (RT(GetDeviceCount)(&devices) || devices < 1 || RT(SetDevice)(0))
		return 92;
	pthread_t others[64];
	if (o.threads < 1 || o.threads > 64)
		return 2;
	for (int i = 1; i < o.threads; i++) {
		void *stream;
		if (RT(StreamCreate)(&stream) || pthread_create(&others[i], NULL, run, stream))
			return 92;
	}
	run(NULL);
	for (int i = 1; i < o.threads; i++)
		pthread_join(others[i], NULL);
	RT(DeviceSynchronize)();
	if (o.counts) {
		FILE *f = fopen(o.counts, "w");
		if (!f) {
			perror(o.counts);
			return 92;
		}
		int n = o.rounds * o.threads;
		fprintf(f, "{\"launches\":%d,\"graph_kernels\":%d,\"memcpys\":%d,\"memsets\":%d}\n", n * o.launches, n * 2, n * 2, n);
		fclose(f);
	}
	nap(o.sleep);
	if (o.signal)
		raise(o.signal);
	return o.exit_code;
}
