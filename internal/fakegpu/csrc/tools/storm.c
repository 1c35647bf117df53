/* Forks in the middle of launches, from whichever thread. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

/* Ways a child ends, in turn. What it exits with says that it came to its end. */
enum { BY_EXIT_NOW, BY_EXIT, AS_OTHER, WITH_DEVICE, WAYS };

/* The child may only call what is safe after fork() in a program with threads,
 * and, for BY_EXIT, the exit handlers that it inherited. */
static void child(int way)
{
	switch (way) {
	case BY_EXIT_NOW: _exit(3);
	case BY_EXIT: exit(3);
	case AS_OTHER: execl("/proc/self/exe", "other", "--no-cuda", "--exit-code", "3", (char *)NULL); break;
	default: execl("/proc/self/exe", "user", "--kernels", "9", "--threads", "1", "--graphs", "0", "--exit-code", "3", (char *)NULL);
	}
	_exit(95);
}

void storm(int n)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		child(n % WAYS);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3) {
		fprintf(stderr, "workload: forked child %d did not exit 3, status %#x\n", n, status);
		exit(93);
	}
}
