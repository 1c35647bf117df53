/* guest.c - a program with signals of its own, traced: guest MODE. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*sync_device)(void);
static volatile sig_atomic_t got;

static void cuda(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    void *rt = dlopen("libcudart.so.13", RTLD_NOW);
    sync_device = rt ? (int (*)(void))dlsym(rt, "cudaDeviceSynchronize") : NULL;
    if (!init || !sync_device || init(0) || sync_device()) {
        puts("no device");
        exit(90);
    }
}

static void handler(int sig) { got = sig; }

/* Children are told of through a file: all threads of the program block SIGCHLD. */
static void children(void)
{
    sigset_t set, before, after;
    int missed = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    cuda();
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 0; i < 20; i++) {
        struct signalfd_siginfo info;
        struct pollfd p = {fd, POLLIN, 0};
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
        if (poll(&p, 1, 200) != 1 || read(fd, &info, sizeof info) != sizeof info)
            missed++;
    }
    /* A set of the kernel's is 64 signals. */
    printf("missed %d, mask %s\n", missed, memcmp(&before, &after, 8) == 0 ? "kept" : "changed");
}

static void urgent(void)
{
    signal(SIGURG, handler);
    cuda();
    for (int i = 0; i < 20; i++) {
        usleep(10000);
        sync_device();
    }
    int early = got;
    raise(SIGURG);
    printf("early %d, handler %s\n", early, got ? "ran" : "did not run");
}

/* What loading a library does. */
static void loaded(const char *path)
{
    enum { RESTORER = 0x04000000 }; /* the C library's own, and told once it was set */
    struct sigaction before[NSIG], after;
    sigset_t mask, now;
    int changed = 0, threads = 0;
    for (int sig = 1; sig < NSIG; sig++)
        sigaction(sig, NULL, &before[sig]);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        puts(dlerror());
    for (int sig = 1; sig < NSIG; sig++)
        if (sigaction(sig, NULL, &after) == 0)
            changed += after.sa_handler != before[sig].sa_handler || ((after.sa_flags ^ before[sig].sa_flags) & ~RESTORER);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    usleep(50000);
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));)
        threads += d->d_name[0] != '.';
    printf("%d threads, %d handlers changed, mask %s\n", threads, changed, memcmp(&mask, &now, 8) == 0 ? "kept" : "changed");
}

int main(int argc, char **argv)
{
    const char *m = argc > 1 ? argv[1] : "";
    if (!strcmp(m, "children"))
        children();
    else if (!strcmp(m, "urgent"))
        urgent();
    else if (!strcmp(m, "loaded"))
        loaded(argv[2]);
    else if (!strcmp(m, "quick_exit")) {
        cuda();
        puts("done");
        fflush(stdout);
        quick_exit(5);
    } else if (!strcmp(m, "main_gone")) {
        cuda();
        puts("done");
        pthread_exit(NULL);
    } else if (!strcmp(m, "closed")) {
        cuda();
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
        while (dup(1) >= 0 && dup(1) < 1000) /* others are there now */
            ;
        usleep(1300000);
        puts("done");
        return 6;
    }
    return 0;
}
