/* Reading switches from the environment. All switches are read when a library
 * is loaded, so that a program changing its environment later changes nothing. */
#ifndef FAKEGPU_ENV_H
#define FAKEGPU_ENV_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A switch that cannot be read is a mistake in a test: say so and stop, rather
 * than run without it. */
static inline void env_die(const char *name, const char *value, const char *want)
{
	fprintf(stderr, "fakegpu: %s=%s: want %s\n", name, value, want);
	abort();
}

static inline uint64_t env_u64(const char *name, uint64_t unset)
{
	const char *v = getenv(name);
	if (!v || !*v)
		return unset;
	char *end;
	uint64_t n = strtoull(v, &end, 0);
	if (*end)
		env_die(name, v, "a number");
	return n;
}

static inline int64_t env_i64(const char *name, int64_t unset)
{
	const char *v = getenv(name);
	if (!v || !*v)
		return unset;
	char *end;
	int64_t n = strtoll(v, &end, 0);
	if (*end)
		env_die(name, v, "a number");
	return n;
}

static inline int env_flag(const char *name, int unset)
{
	return env_u64(name, (uint64_t)unset) != 0;
}

#endif
