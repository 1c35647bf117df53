/* A file that says how far each thread is, for a reader that looks while the
 * program runs or after it was killed. The kernel keeps it: what stands in a
 * shared mapping outlives SIGKILL. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

/* 64-bit numbers: {threads, launches of a thread}, then for each thread
 * {its id, launches that have ended, when each of them had, ns of CLOCK_REALTIME}. */
static uint64_t *file;
static size_t row;

void open_progress(const struct options *o)
{
	if (!o->progress)
		return;
	row = 2 + (size_t)o->kernels;
	size_t bytes = (2 + row * (size_t)o->threads) * sizeof *file;
	int fd = open(o->progress, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) ||
	    (file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
		perror(o->progress);
		exit(92);
	}
	close(fd);
	file[1] = (uint64_t)o->kernels;
	__atomic_store_n(&file[0], (uint64_t)o->threads, __ATOMIC_RELEASE);
}

void progress(int thread, int launches)
{
	if (!file)
		return;
	struct timespec t;
	uint64_t *r = file + 2 + row * (size_t)thread;
	clock_gettime(CLOCK_REALTIME, &t);
	for (uint64_t i = r[1]; i < (uint64_t)launches; i++)
		r[2 + i] = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	r[0] = (uint64_t)syscall(SYS_gettid);
	__atomic_store_n(&r[1], (uint64_t)launches, __ATOMIC_RELEASE);
}
