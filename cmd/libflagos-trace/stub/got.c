/*
 * got.c - replaces functions in the import tables of loaded objects.
 *
 * An import is a word that the loader fills in: at once (-z now, where the page is
 * then made read-only), or at the first call (lazy binding, where until then it
 * points back into the object). Another thread may be loading an object at this
 * moment: a word is replaced only if it holds what the loader puts there, and a page
 * is unlocked only if it is locked, which is the last thing the loader does with it.
 */
#define _GNU_SOURCE
#include "got.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = -1, GLOB_DAT = -1 };
#endif

enum { MAX_IMPORTS = 16, MAX_OBJECTS = 4, PATH_BYTES = 512 };

/* The import table of one object. */
typedef struct {
    uintptr_t base, low, high; /* of what is mapped */
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Rela) *lists[2];
    size_t counts[2];
} table;

static uintptr_t address(const struct dl_phdr_info *o, uintptr_t p)
{
    /* glibc relocates the pointers of the dynamic section in place, others do not. */
    return p < o->dlpi_addr ? p + o->dlpi_addr : p;
}

static int read_table(const struct dl_phdr_info *o, table *t)
{
    const ElfW(Dyn) *d = NULL;
    *t = (table){.base = o->dlpi_addr, .low = UINTPTR_MAX};
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];
        uintptr_t at = o->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)at;
        if (p->p_type == PT_LOAD && at < t->low)
            t->low = at;
        if (p->p_type == PT_LOAD && at + p->p_memsz > t->high)
            t->high = at + p->p_memsz;
    }
    if (!d)
        return 0;
    uintptr_t bytes[2] = {0, 0}, lists[2] = {0, 0};
    size_t relative = 0; /* entries that come first and import nothing, often nearly all */
    for (; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: t->symbols = (const ElfW(Sym) *)address(o, d->d_un.d_ptr); break;
        case DT_STRTAB: t->strings = (const char *)address(o, d->d_un.d_ptr); break;
        case DT_JMPREL: lists[0] = address(o, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: bytes[0] = d->d_un.d_val; break;
        case DT_RELA: lists[1] = address(o, d->d_un.d_ptr); break;
        case DT_RELASZ: bytes[1] = d->d_un.d_val; break;
        case DT_RELACOUNT: relative = d->d_un.d_val; break;
        case DT_PLTREL:
            if (d->d_un.d_val != DT_RELA)
                return 0;
        }
    for (int i = 0; i < 2; i++) {
        t->lists[i] = (const ElfW(Rela) *)lists[i];
        t->counts[i] = lists[i] ? bytes[i] / sizeof(ElfW(Rela)) : 0;
    }
    if (relative <= t->counts[1]) {
        t->lists[1] += relative;
        t->counts[1] -= relative;
    }
    return t->symbols && t->strings;
}

typedef void each_fn(void *arg, const table *t, const char *name, void **word);

/* Calls fn for each import of a function whose name begins as the first one's. */
static void each_import(const table *t, each_fn *fn, void *arg)
{
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < t->counts[l]; i++) {
            const ElfW(Rela) *r = &t->lists[l][i];
            uint32_t type = (uint32_t)r->r_info, symbol = (uint32_t)(r->r_info >> 32);
            if ((int)type != JUMP_SLOT && (int)type != GLOB_DAT)
                continue;
            const ElfW(Sym) *s = &t->symbols[symbol];
            if (s->st_shndx != SHN_UNDEF || !s->st_name)
                continue;
            const char *name = t->strings + s->st_name;
            if (strncmp(name, "cupti", 5) == 0)
                fn(arg, t, name, (void **)(t->base + r->r_offset));
        }
}

/* An object that imports the first function. */
typedef struct {
    char path[PATH_BYTES];
    uintptr_t base;
    void *real[MAX_IMPORTS];
} importer;

typedef struct {
    ft_import *list;
    size_t n;
    importer *objects;
    size_t found;
    importer *object; /* at hand */
    int first;        /* the first function is imported, unpatched */
    unsigned patched;
} search;

static int inside(const table *t, const void *p) { return (uintptr_t)p >= t->low && (uintptr_t)p < t->high; }

static void look(void *arg, const table *t, const char *name, void **word)
{
    search *s = arg;
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(name, s->list[i].name) != 0)
            continue;
        void *now = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (i == 0 && now != s->list[0].with)
            s->first = 1;
        if (now && !inside(t, now) && (uintptr_t)now >= 65536 && now != s->list[i].with)
            s->object->real[i] = now; /* bound already */
    }
}

/* First pass: who imports, and what is bound already. */
static int find(struct dl_phdr_info *o, size_t bytes, void *arg)
{
    search *s = arg;
    table t;
    (void)bytes;
    if (s->found == MAX_OBJECTS || !read_table(o, &t) || strlen(o->dlpi_name) >= PATH_BYTES)
        return 0;
    s->object = &s->objects[s->found];
    memset(s->object, 0, sizeof *s->object);
    s->first = 0;
    each_import(&t, look, s);
    if (s->first) {
        strcpy(s->object->path, o->dlpi_name);
        s->object->base = o->dlpi_addr;
        s->found++;
    }
    return 0;
}

/* What the loader would bind: the global scope first, then the object's own. */
static void resolve(importer *o, const ft_import *list, size_t n)
{
    void *own = NULL;
    for (size_t i = 0; i < n; i++) {
        if (o->real[i])
            continue;
        void *p = dlsym(RTLD_DEFAULT, list[i].name);
        if (!p) {
            if (!own && !(own = dlopen(o->path[0] ? o->path : NULL, RTLD_LAZY | RTLD_NOLOAD)))
                return;
            p = dlsym(own, list[i].name);
        }
        o->real[i] = p;
    }
    if (own)
        dlclose(own);
}

/* Whether the page of p can be written to, by /proc; -1 if that cannot be told. */
static int writable(const void *p)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), answer = -1;
    char line[512], c[4096];
    size_t n = 0;
    ssize_t got;
    if (fd < 0)
        return -1;
    while (answer < 0 && (got = read(fd, c, sizeof c)) > 0)
        for (ssize_t i = 0; i < got && answer < 0; i++) {
            if (c[i] != '\n') {
                if (n < sizeof line - 1)
                    line[n++] = c[i];
                continue;
            }
            line[n] = 0;
            n = 0;
            char *dash, *space;
            uintptr_t low = strtoull(line, &dash, 16), high = *dash == '-' ? strtoull(dash + 1, &space, 16) : 0;
            if ((uintptr_t)p >= low && (uintptr_t)p < high && *space == ' ')
                answer = space[2] == 'w';
        }
    close(fd);
    return answer;
}

static int put(void **word, void *value)
{
    static long page;
    if (!page)
        page = sysconf(_SC_PAGESIZE);
    int free_to = writable(word);
    if (free_to < 0)
        return 0;
    void *at = (void *)((uintptr_t)word & ~((uintptr_t)page - 1));
    if (!free_to && mprotect(at, (size_t)page, PROT_READ | PROT_WRITE) != 0)
        return 0;
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    if (!free_to)
        mprotect(at, (size_t)page, PROT_READ);
    return 1;
}

static void replace(void *arg, const table *t, const char *name, void **word)
{
    search *s = arg;
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(name, s->list[i].name) != 0 || !s->list[i].real || !s->list[i].with)
            continue;
        void *now = __atomic_load_n(word, __ATOMIC_RELAXED);
        /* Not relocated yet, it holds neither. */
        if (now == s->list[i].real || inside(t, now))
            s->first += put(word, s->list[i].with);
    }
}

/* Second pass, with the list of objects held: none goes away under it. */
static int patch(struct dl_phdr_info *o, size_t bytes, void *arg)
{
    search *s = arg;
    table t;
    (void)bytes;
    for (size_t i = 0; i < s->found; i++) {
        importer *f = &s->objects[i];
        if (f->base != o->dlpi_addr || strcmp(f->path, o->dlpi_name) != 0 || f->real[0] != s->list[0].real)
            continue;
        s->first = 0;
        if (read_table(o, &t))
            each_import(&t, replace, s);
        s->patched += s->first > 0;
    }
    return 0;
}

unsigned ft_got_replace(ft_import *list, size_t n)
{
    static importer objects[MAX_OBJECTS];
    if (n > MAX_IMPORTS)
        return 0;
    search s = {.list = list, .n = n, .objects = objects};
    dl_iterate_phdr(find, &s);
    if (s.found == 0)
        return 0;
    for (size_t i = 0; i < s.found; i++) {
        /* Not within the passes: it takes a lock that loaders hold while they wait
           for the one of the passes. */
        resolve(&objects[i], list, n);
        if (!list[0].real && objects[i].real[0])
            for (size_t k = 0; k < n; k++)
                list[k].real = objects[i].real[k];
    }
    if (list[0].real)
        dl_iterate_phdr(patch, &s);
    return s.patched;
}
