/* Switches, the log of calls and forced results. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti.h"

struct quirks quirk;

static const char *failures;
static int log_fd = -1;

static void read_block(void)
{
	const char *v = getenv("FAKECUPTI_FLUSH_BLOCK");
	if (!v || !*v)
		return;
	const char *n = v;
	if (strncmp(n, "forced:", 7) == 0) {
		quirk.flush_block_forced = 1;
		n += 7;
	}
	char *end;
	quirk.flush_block_ms = strcmp(n, "forever") == 0 ? -1 : strtoll(n, &end, 10);
	if (quirk.flush_block_ms == 0 || (quirk.flush_block_ms > 0 && *end))
		env_die("FAKECUPTI_FLUSH_BLOCK", v, "[forced:]forever or [forced:]milliseconds");
}

static int choice(const char *name, const char *const *words, int unset)
{
	const char *v = getenv(name);
	if (!v || !*v)
		return unset;
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], v) == 0)
			return i;
	env_die(name, v, words[0]);
	return unset;
}

__attribute__((constructor)) static void read_quirks(void)
{
	static const char *const fork_words[] = {"ok", "hang", NULL};
	static const char *const exit_words[] = {"ok", "error", "hang", NULL};
	quirk.version = (uint32_t)env_u64("FAKECUPTI_VERSION", FAKECUPTI_DEFAULT_VERSION);
	layout_init((uint32_t)env_u64("FAKECUPTI_LAYOUT", quirk.version));
	quirk.stop_after = env_i64("FAKECUPTI_STOP_AFTER", -1);
	quirk.unknown_every = env_u64("FAKECUPTI_UNKNOWN_EVERY", 0);
	quirk.unknown_kind = env_u64("FAKECUPTI_UNKNOWN_KIND", 777);
	quirk.wild_name_every = env_u64("FAKECUPTI_WILD_NAME_EVERY", 0);
	quirk.wild_marker_every = env_u64("FAKECUPTI_WILD_MARKER_EVERY", 0);
	quirk.null_name_every = env_u64("FAKECUPTI_NULL_NAME_EVERY", 0);
	quirk.drop_every = env_u64("FAKECUPTI_DROP_EVERY", 0);
	quirk.zero_times_every = env_u64("FAKECUPTI_ZERO_TIMES_EVERY", 0);
	quirk.negative_ns = env_i64("FAKECUPTI_NEGATIVE_NS", 0);
	quirk.negative_every = env_u64("FAKECUPTI_NEGATIVE_EVERY", quirk.negative_ns ? 1 : 0);
	quirk.at_completion = env_flag("FAKECUPTI_AT_COMPLETION", 0);
	quirk.late = env_flag("FAKECUPTI_LATE", 0);
	quirk.clock_slow_ms = env_u64("FAKECUPTI_CLOCK_SLOW", 0);
	quirk.locked_callbacks = env_flag("FAKECUPTI_LOCKED_CALLBACKS", 0);
	quirk.crash_on_null = env_flag("FAKECUPTI_CRASH_ON_NULL", quirk.version < 27);
	quirk.fork_flush_hangs = choice("FAKECUPTI_FORK_FLUSH", fork_words, 1);
	quirk.after_exit = choice("FAKECUPTI_AFTER_EXIT", exit_words, 0);
	quirk.subscribed = env_flag("FAKECUPTI_SUBSCRIBED", 0);
	quirk.supported = env_flag("FAKECUPTI_SUPPORTED", 1);
	quirk.play = getenv("FAKECUPTI_PLAY");
	quirk.play_names = getenv("FAKECUPTI_PLAY_NAMES");
	quirk.play_all = env_flag("FAKECUPTI_PLAY_ALL", 0);
	quirk.play_pid = env_flag("FAKECUPTI_PLAY_PID", 0);
	set_per_thread(env_flag("FAKECUPTI_PER_THREAD", quirk.version >= 130000));
	read_block();
	failures = getenv("FAKECUPTI_FAIL");
	/* A library that does not know the device says nothing and delivers nothing. */
	if (!quirk.supported)
		quirk.stop_after = 0;
	const char *log = getenv("FAKECUPTI_LOG");
	if (log && *log)
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

int hit(uint64_t *counter, uint64_t every)
{
	return every && (__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED)) % every == 0;
}

void log_line(const char *what, uint64_t a, uint64_t b)
{
	char line[200];
	if (log_fd < 0)
		return;
	int n = snprintf(line, sizeof line, "%d %ld %s %llu %llu\n", getpid(), syscall(SYS_gettid), what, (unsigned long long)a, (unsigned long long)b);
	/* One write a line: lines of several threads do not mix. */
	if (n > 0 && write(log_fd, line, (size_t)n) < 0)
		log_fd = -1;
}

/* FAKECUPTI_FAIL is name=result[,...]; a name is a function, a function with
 * its first number as in cuptiActivityEnable(10), or * for all. */
int forced_result(const char *function, int64_t arg, int exempt)
{
	if (!failures)
		return 0;
	char with[96];
	snprintf(with, sizeof with, "%s(%lld)", function, (long long)arg);
	for (const char *p = failures; p && *p;) {
		const char *eq = strchr(p, '=');
		if (!eq)
			env_die("FAKECUPTI_FAIL", failures, "name=result[,name=result...]");
		size_t n = (size_t)(eq - p);
		char *end;
		int result = (int)strtol(eq + 1, &end, 10);
		int all = n == 1 && *p == '*' && !exempt;
		if (all || (strlen(function) == n && strncmp(p, function, n) == 0) || (strlen(with) == n && strncmp(p, with, n) == 0))
			return result;
		p = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			env_die("FAKECUPTI_FAIL", failures, "name=result[,name=result...]");
	}
	return 0;
}

int entry(const char *function, int64_t arg, int exempt)
{
	char line[96];
	if (log_fd >= 0) {
		if (arg >= 0)
			snprintf(line, sizeof line, "%s(%lld)", function, (long long)arg);
		else
			snprintf(line, sizeof line, "%s", function);
		log_line(line, 0, 0);
	}
	return forced_result(function, arg, exempt);
}
