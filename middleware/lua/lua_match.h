/* lua_match: one match of a Lua pattern (its manual, 6.4.1), with a bound on the work: each
 * step, and so many bytes of a set, count as an instruction (lua_vm.h). For lua_pattern.c. */
#ifndef LUA_MATCH_H
#define LUA_MATCH_H

#include <lua.h>
#include <stddef.h>

#define CAPTURES_MAX 32
#define CAPTURE_OPEN (-1)
#define CAPTURE_POSITION (-2)

struct capture {
	const char *start;
	ptrdiff_t size; /* or CAPTURE_OPEN, CAPTURE_POSITION */
};

struct matcher {
	lua_State *L;
	const char *text, *text_end;
	const char *pattern_end;
	struct capture captures[CAPTURES_MAX];
	int count, depth;
	size_t steps;
};

/* For the size bytes of text, which must outlive it. */
struct matcher matcher_new(
    lua_State *L, const char *text, size_t size, const char *pattern_end);

/* Returns the end of the match of pattern that begins at `at`, with its captures, or NULL.
 * What is wrong with the pattern raises an error. */
const char *matcher_match(struct matcher *m, const char *at, const char *pattern);

#endif
