/*
 * table.c - the table of descriptors, made long enough for the numbers that the agent's
 * are moved to (internal/guest/fd.go).
 *
 * The system makes it longer by a copy, and where several threads share it waits until
 * none of them can still be reading the old one: seen to take a third of a
 * millisecond. So it is asked for while the process has one thread, or
 * else by a thread that has nothing else to do.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOWEST = 900 };

int st_alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

void st_lengthen_table(void)
{
    struct rlimit limit;
    int at = LOWEST;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LOWEST + 100)
        at = (int)(limit.rlim_cur * 3 / 4);
    /* The C library's own calls may end a thread that is to be cancelled. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, at);
    syscall(SYS_close, fd);
    if (high >= 0)
        syscall(SYS_close, high);
}
