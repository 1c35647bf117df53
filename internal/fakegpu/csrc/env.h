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

/* The result that a list of them, f=2,g(7)=1, forces on a function with this argument; 0
 * if none. */
static inline int env_forced(const char *list, const char *function, int64_t arg)
{
	char with[96], plain[96];
	snprintf(with, sizeof with, "%s(%lld)=", function, (long long)arg);
	snprintf(plain, sizeof plain, "%s=", function);
	for (const char *p = list; p && *p;) {
		size_t n = strncmp(p, with, strlen(with)) == 0 ? strlen(with) : strncmp(p, plain, strlen(plain)) == 0 ? strlen(plain) : 0;
		if (n)
			return atoi(p + n);
		p = strchr(p, ',');
		p = p ? p + 1 : NULL;
	}
	return 0;
}

#endif
