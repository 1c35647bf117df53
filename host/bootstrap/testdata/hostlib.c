/*
 * A stand-in for libflagos_trace.so: the functions that the start-up file calls, with a switch for each of the things
 * that the real library finds out by itself, and the functions that the stand-in for torch calls in its device.
 * Every call is a line in the file named by HOSTLIB_LOG.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *callable;
static int (*add_pending)(int (*)(void *), void *);
static void *(*call_object)(void *, void *);
static void (*decref)(void *);
static int window = -1, device, cut;
static pid_t owner;

static void say(const char *what, int value) {
    char line[80];
    const char *name = getenv("HOSTLIB_LOG");
    int fd = name ? open(name, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0) return;
    int n = snprintf(line, sizeof line, "%s %d\n", what, value);
    if (write(fd, line, (size_t)n) < 0) abort();
    close(fd);
}

static int pending(void *unused) {
    (void)unused;
    if (getpid() != owner) return 0;
    void *out = call_object(callable, NULL);
    if (!out) return -1;
    decref(out);
    return 0;
}

static int queue(void) { return callable && getpid() == owner ? add_pending(pending, NULL) : 0; }

int flagos_trace_host_attach(void *object) {
    const char *code = getenv("HOSTLIB_ATTACH");
    add_pending = (int (*)(int (*)(void *), void *))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    call_object = (void *(*)(void *, void *))dlsym(RTLD_DEFAULT, "PyObject_CallObject");
    decref = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_DecRef");
    callable = object;
    owner = getpid();
    if (window < 0) window = !getenv("HOSTLIB_PAUSED");
    say("attach", add_pending && call_object && decref);
    return code ? atoi(code) : 0;
}

uint32_t flagos_trace_host_state(void) {
    if (getpid() != owner) return 0;
    uint32_t state = (window > 0 ? 1u : 0u) | (device ? 2u : 0u) | (cut ? 4u : 0u);
    cut = 0;
    return state;
}

int flagos_trace_host_own(int on) { say("own", on); return 0; }
int flagos_trace_start(void) { say("start", 0); window = 1; queue(); return 0; }
int flagos_trace_stop(void) { say("stop", 0); window = 0; queue(); return 0; }
int hostlib_window(int on) { window = on; return queue(); }
int hostlib_cut(void) { cut = 1; return queue(); }
int hostlib_queue(void) { return queue(); }
int faketorch_init(void) { say("init", 0); return 0; }
int faketorch_launch(void) {
    if (!device) { device = 1; if (!getenv("HOSTLIB_QUIET")) queue(); }
    return 0;
}
