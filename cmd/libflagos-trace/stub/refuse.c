/*
 * refuse.c - how the recorder learns that the agent was not started: from a spool
 * with a header, the reason and an end. Package spool has the format and reads it;
 * no Go can be asked to write it here.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef FT_VERSION
#define FT_VERSION "unknown"
#endif

/* Types of frames. */
enum { HEADER = 1, DIAGNOSIS = 11, END = 13, LOSS = 15 };

/* Large enough for all that is put into one. */
enum { TEXT = 4096, SHORT = 128 };

typedef struct {
    char data[TEXT];
    size_t used;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(text *t, const char *format, ...)
{
    va_list list;
    size_t room = sizeof t->data - t->used;
    va_start(list, format);
    int n = vsnprintf(t->data + t->used, room, format, list);
    va_end(list);
    if (n > 0)
        t->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Adds the first bytes of a string as one of JSON, without control characters. */
static void add_string(text *t, const char *s, int most)
{
    add(t, "\"");
    for (int i = 0; s[i] && i < most; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            add(t, "\\%c", c);
        else if (c >= 0x20)
            add(t, "%c", c);
    }
    add(t, "\"");
}

void st_because(st_reason *why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(why->text, sizeof why->text, format, list);
    va_end(list);
}

static uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

/* Both machines that Go and CUDA share store numbers with the low byte first, as
   spools do. */
typedef struct {
    uint32_t type, length, crc, sequence;
} head;

typedef struct {
    uint8_t data[4 * (TEXT + 32) + 32];
    size_t used;
    uint32_t frames;
} image;

static void append(image *m, const void *data, size_t n)
{
    memcpy(m->data + m->used, data, n);
    m->used += n;
}

static void frame(image *m, uint32_t type, const text *payload)
{
    static const uint8_t zeros[8];
    head h = {type, (uint32_t)payload->used, 0, m->frames++};
    h.crc = crc32c(0, &h, 8);
    h.crc = crc32c(h.crc, &h.sequence, 4);
    h.crc = crc32c(h.crc, payload->data, payload->used);
    append(m, &h, sizeof h);
    append(m, payload->data, payload->used);
    append(m, zeros, -payload->used & 7);
}

static size_t read_file(const char *name, char *data, size_t size)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, data, size - 1);
    if (fd >= 0)
        close(fd);
    data[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* The start of the process, field 22 of its stat; the name in it, in parentheses,
   may hold anything. */
static void start_time(char *out, size_t size)
{
    char stat[1024];
    read_file("/proc/self/stat", stat, sizeof stat);
    char *at = strrchr(stat, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    size_t digits = at ? strspn(at + 1, "0123456789") : 0;
    snprintf(out, size, "%.*s", digits ? (int)digits : 1, digits ? at + 1 : "0");
}

static long long now(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void describe(text *t)
{
    char command[1024];
    struct utsname host = {0};
    uname(&host);
    read_file("/proc/self/cmdline", command, sizeof command);
    const char *slash = strrchr(command, '/');
    add(t, "{\"agent\":");
    add_string(t, FT_VERSION, SHORT);
    add(t, ",\"pid\":%d,\"ppid\":%d,\"process\":", (int)getpid(), (int)getppid());
    add_string(t, slash ? slash + 1 : command, SHORT);
    add(t, ",\"host\":");
    add_string(t, host.nodename, SHORT);
    add(t, ",\"start_ns\":%lld,\"requested\":[],\"env\":{", now());
    static const char *const variables[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK"};
    const char *comma = "";
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value || !*value)
            continue;
        add(t, "%s\"%s\":", comma, variables[i]);
        add_string(t, value, SHORT);
        comma = ",";
    }
    add(t, "}}");
}

/* Makes <pid>.<start time>.spool in the folder, or, after an exec, the next. */
static int create(const char *folder, char *name, size_t size)
{
    char start[32];
    start_time(start, sizeof start);
    for (int n = 0; n <= 1000; n++) {
        char number[16] = "";
        if (n > 0)
            snprintf(number, sizeof number, ".%d", n);
        int length = snprintf(name, size, "%s/%d.%s%s.spool", folder, (int)getpid(), start, number);
        if (length < 0 || (size_t)length >= size)
            return -1;
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

void st_refuse(const st_reason *why)
{
    const char *folder = getenv("FLAGOS_TRACE_DIR");
    /* Called once, by one thread whose stack may be small. */
    static image m;
    static text header, loss, diagnosis, end;
    static const struct {
        char magic[8];
        uint32_t version, zero;
    } preface = {"FLAGSPL", 1, 0};
    char name[4096 + 64];
    if (!folder || !*folder)
        return;
    int fd = create(folder, name, sizeof name);
    if (fd < 0)
        return;
    describe(&header);
    add(&diagnosis, "the agent was not started: %s", why->text);
    add(&loss, "{\"code\":\"agent_not_started\",\"text\":");
    add_string(&loss, diagnosis.data, TEXT);
    add(&loss, "}");
    add(&end, "{\"reason\":\"unavailable\",\"ns\":%lld,\"flushed\":false}", now());
    append(&m, &preface, sizeof preface);
    frame(&m, HEADER, &header);
    frame(&m, LOSS, &loss); /* older readers know only the other */
    frame(&m, DIAGNOSIS, &diagnosis);
    frame(&m, END, &end);
    if (write(fd, m.data, m.used) != (ssize_t)m.used)
        unlink(name);
    close(fd);
}
