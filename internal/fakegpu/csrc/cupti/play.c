/* Recorded buffers in place of generated records.
 *
 * The file is a sequence of {u64 valid size, u64 context, u64 stream id, bytes},
 * not compressed. Name pointers in kernel records are those of the recorded
 * process; the table beside it (hex pointer, tab, mangled name) gives each its
 * string, which is put into this process. The sizes in force must be those of
 * the recording, else the records cannot be walked. */
#include <stdlib.h>
#include <unistd.h>

#include "cupti.h"

struct name { uint64_t pointer; char *text; };

static uint8_t *dump;
static size_t dump_size, at;
static struct name *names;
static size_t n_names;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int playing(void) { return quirk.play && *quirk.play; }

static void fail(const char *what, size_t offset)
{
	fprintf(stderr, "fakegpu: FAKECUPTI_PLAY=%s: offset %zu: %s\n", quirk.play, offset, what);
	abort();
}

static void *whole_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		fail(path, 0);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	char *p = malloc(*size + 1);
	if (!p || fread(p, 1, *size, f) != *size)
		fail("cannot be read", 0);
	p[*size] = 0;
	fclose(f);
	return p;
}

static int by_pointer(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	return x->pointer < y->pointer ? -1 : x->pointer > y->pointer;
}

static void load_names(void)
{
	if (!quirk.play_names || !*quirk.play_names)
		return;
	size_t size, cap = 0;
	char *line = whole_file(quirk.play_names, &size);
	while (*line) {
		char *end = strchr(line, '\n'), *tab;
		uint64_t p = strtoull(line, &tab, 16);
		if (end)
			*end = 0;
		if (*tab == '\t') {
			if (n_names == cap) {
				cap = cap ? 2 * cap : 256;
				names = realloc(names, cap * sizeof *names);
				if (!names)
					abort();
			}
			names[n_names++] = (struct name){p, tab + 1};
		}
		line = end ? end + 1 : line + strlen(line);
	}
	qsort(names, n_names, sizeof *names, by_pointer);
}

static void adjust(struct record *r, uint32_t kind)
{
	if (kind == CONCURRENT_KERNEL || kind == KERNEL) {
		struct name key, *found = NULL;
		memcpy(&key.pointer, r->b + KERNEL_name, sizeof key.pointer);
		if (n_names)
			found = bsearch(&key, names, n_names, sizeof *names, by_pointer);
		put64(r, KERNEL_name, found ? (uint64_t)(uintptr_t)found->text : 0);
	}
	if ((kind == DRIVER || kind == RUNTIME) && quirk.play_pid)
		put32(r, API_processId, (uint32_t)getpid());
}

static uint64_t u64(size_t off)
{
	uint64_t v;
	memcpy(&v, dump + off, sizeof v);
	return v;
}

/* Plays the next recorded buffer: 0 when there is none left. */
static int play_one(void)
{
	pthread_mutex_lock(&lock);
	if (!dump) {
		dump = whole_file(quirk.play, &dump_size);
		load_names();
	}
	size_t head = at, p = at + 24, end = p;
	if (head < dump_size) {
		if (p > dump_size || u64(head) > dump_size - p)
			fail("buffer is cut short", head);
		end = p + u64(head);
		at = end;
	}
	pthread_mutex_unlock(&lock);
	if (head >= dump_size)
		return 0;
	while (p < end) {
		uint32_t kind;
		struct record r;
		memcpy(&kind, dump + p, sizeof kind);
		r.size = layout_size(kind);
		r.due = 0;
		if (r.size == 0)
			fail("record of unknown kind: does FAKECUPTI_VERSION fit the recording?", p);
		if (r.size > end - p)
			fail("record is cut short: does FAKECUPTI_VERSION fit the recording?", p);
		memcpy(r.b, dump + p, r.size);
		adjust(&r, kind);
		emit(&r, 0);
		p += r.size;
	}
	seal_current();
	return 1;
}

void play_step(void)
{
	if (!have_callbacks())
		return;
	while (play_one() && quirk.play_all)
		;
}

void play_rest(void)
{
	while (have_callbacks() && play_one())
		;
}
