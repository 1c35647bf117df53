/* fakegpu-workload: options, and the ways a program can end. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static const char usage[] =
	"usage: fakegpu-workload [--kernels N] [--threads T] [--streams S] [--graphs N] [--step-sleep-ms MS]\n"
	"       [--step-kernels N] [--seconds S] [--forks N]\n"
	"       [--counts FILE] [--progress FILE] [--fork] [--subprocess] [--sleep SECONDS] [--print] [--no-cuda]\n"
	"       [--nvtx] [--hang-exit] [--exit-code N | --_exit | --abort | --crash | --signal N]\n";

static int count(const char *text, int least)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (*end || n < least || n > 100000000) {
		fprintf(stderr, "workload: %s: want a number from %d\n", text, least);
		exit(2);
	}
	return (int)n;
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"kernels", 1, NULL, 'k'}, {"threads", 1, NULL, 't'}, {"streams", 1, NULL, 's'},
		{"graphs", 1, NULL, 'g'}, {"step-sleep-ms", 1, NULL, 'm'}, {"counts", 1, NULL, 'c'},
		{"fork", 0, NULL, 'f'}, {"subprocess", 0, NULL, 'b'}, {"sleep", 1, NULL, 'z'},
		{"step-kernels", 1, NULL, 'K'}, {"seconds", 1, NULL, 'S'}, {"forks", 1, NULL, 'F'},
		{"print", 0, NULL, 'p'}, {"no-cuda", 0, NULL, 'n'}, {"exit-code", 1, NULL, 'e'},
		{"_exit", 0, NULL, 'x'}, {"abort", 0, NULL, 'a'}, {"signal", 1, NULL, 'i'},
		{"progress", 1, NULL, 'r'}, {"crash", 0, NULL, 'v'}, {"hang-exit", 0, NULL, 'h'}, {"nvtx", 0, NULL, 'N'}, {0}};
	struct options o = {.kernels = 90, .threads = 2, .streams = 2, .graphs = 1};
	int c;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'k': o.kernels = count(optarg, 0); break;
		case 't': o.threads = count(optarg, 1); break;
		case 's': o.streams = count(optarg, 1); break;
		case 'g': o.graphs = count(optarg, 0); break;
		case 'm': o.step_sleep_ms = count(optarg, 0); break;
		case 'K': o.step_kernels = count(optarg, 1); break;
		case 'S': o.seconds = count(optarg, 1); break;
		case 'F': o.forks = count(optarg, 1); break;
		case 'c': o.counts = optarg; break;
		case 'f': o.fork = 1; break;
		case 'b': o.subprocess = 1; break;
		case 'z': o.sleep = atof(optarg); break;
		case 'p': o.print = 1; break;
		case 'n': o.no_cuda = 1; break;
		case 'e': o.exit_code = count(optarg, 0); break;
		case 'x': o.underscore_exit = 1; break;
		case 'a': o.abort = 1; break;
		case 'i': o.signal = count(optarg, 1); break;
		case 'r': o.progress = optarg; break;
		case 'v': o.crash = 1; break;
		case 'h': o.hang_exit = 1; break;
		case 'N': o.nvtx = 1; break;
		default: fputs(usage, stderr); exit(2);
		}
	return o;
}

/* Known text on both outputs, and stdin copied to stdout. */
static void print(void)
{
	char line[4096];
	size_t n;
	fputs("workload: this line is for stdout\n", stdout);
	fputs("workload: this line is for stderr\n", stderr);
	while ((n = fread(line, 1, sizeof line, stdin)) > 0)
		fwrite(line, 1, n, stdout);
	fflush(stdout);
}

static void wait_for(pid_t pid, int want, const char *what)
{
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != want) {
		fprintf(stderr, "workload: %s did not exit %d\n", what, want);
		exit(93);
	}
}

/* A forked child in which CUDA must be unusable; it runs the exit handlers that
 * it inherited. */
static void forked(int cuda, int nvtx)
{
	pid_t pid = fork();
	if (pid == 0) {
		int d;
		/* More than a buffer of the parent's holds. */
		for (int i = 0; nvtx && i < 100000; i++) {
			nvtx_push("range of a forked child");
			nvtx_pop();
		}
		if (cuda && cudaGetDevice(&d) != 3)
			_exit(94);
		exit(3);
	}
	wait_for(pid, 3, "the forked child");
}

static void subprocess(char *self)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", self, "--kernels", "9", "--threads", "1", "--graphs", "0", (char *)NULL);
		_exit(95);
	}
	wait_for(pid, 0, "the subprocess");
}

static void hang(void)
{
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	if (o.hang_exit)
		atexit(hang);
	if (o.print)
		print();
	/* Ranges before the device is used, and one that reaches into its use. */
	if (o.nvtx) {
		nvtx_push("around all");
		nvtx_mark("early mark");
		nvtx_push("early range");
		nvtx_pop();
	}
	if (!o.no_cuda) {
		load_libraries();
		train(&o);
	}
	if (o.nvtx)
		nvtx_pop();
	if (o.fork)
		forked(!o.no_cuda, o.nvtx);
	if (o.subprocess)
		subprocess(argv[0]);
	if (o.sleep > 0) {
		struct timespec t = {(time_t)o.sleep, (long)((o.sleep - (double)(time_t)o.sleep) * 1e9)};
		nanosleep(&t, NULL);
	}
	if (o.signal)
		raise(o.signal);
	if (o.crash)
		*(volatile int *)8 = 0;
	if (o.abort)
		abort();
	if (o.underscore_exit)
		_exit(o.exit_code);
	return o.exit_code;
}
