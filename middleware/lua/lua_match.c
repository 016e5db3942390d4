#include "lua_match.h"

#include <assert.h>
#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "lua_vm.h"

#define DEPTH_MAX 200 /* nested calls of match */
#define STEPS_AT_ONCE 256u
#define SET_STEP 16 /* bytes of a set that are looked at in a step */

static const char *match(struct matcher *m, const char *at, const char *p);

static void
step(struct matcher *m, size_t amount)
{
	m->steps += amount;
	if (m->steps < STEPS_AT_ONCE)
		return;
	amount = m->steps;
	m->steps = 0;
	vm_spend(m->L, amount);
}

/* A set may be as long as any text, and is walked through anew each time. */
static void
step_set(struct matcher *m, const char *p, const char *end)
{
	step(m, (size_t)(end - p) / SET_STEP);
}

/* --- one character ------------------------------------------------------------------ */

/* Returns what is behind the class that begins at p. */
static const char *
class_end(struct matcher *m, const char *p)
{
	const char *begin = p;

	if (*p++ == '%') {
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (ends with '%%')");
		return p + 1;
	}
	if (p[-1] != '[')
		return p;
	if (p < m->pattern_end && *p == '^')
		p++;
	do {
		if (p == m->pattern_end) {
			step_set(m, begin, p);
			luaL_error(m->L, "malformed pattern (missing ']')");
		}
		if (*p++ == '%' && p < m->pattern_end)
			p++;
	} while (p == m->pattern_end || *p != ']');
	step_set(m, begin, p);
	return p + 1;
}

static bool
in_class(int c, int class)
{
	bool is;

	switch (tolower(class)) {
	case 'a':
		is = isalpha(c);
		break;
	case 'c':
		is = iscntrl(c);
		break;
	case 'd':
		is = isdigit(c);
		break;
	case 'g':
		is = isgraph(c);
		break;
	case 'l':
		is = islower(c);
		break;
	case 'p':
		is = ispunct(c);
		break;
	case 's':
		is = isspace(c);
		break;
	case 'u':
		is = isupper(c);
		break;
	case 'w':
		is = isalnum(c);
		break;
	case 'x':
		is = isxdigit(c);
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !is : is;
}

/* p: the '[', end: the ']'. */
static bool
in_set(int c, const char *p, const char *end)
{
	bool wanted = true;

	if (p[1] == '^') {
		wanted = false;
		p++;
	}
	while (++p < end) {
		if (*p == '%') {
			p++;
			if (in_class(c, (unsigned char)*p))
				return wanted;
		} else if (p[1] == '-' && p + 2 < end) {
			if ((unsigned char)*p <= c && c <= (unsigned char)p[2])
				return wanted;
			p += 2;
		} else if ((unsigned char)*p == c) {
			return wanted;
		}
	}
	return !wanted;
}

static bool
is_one(struct matcher *m, const char *at, const char *p, const char *end)
{
	int c;

	assert(at != NULL);
	step(m, 1);
	if (at >= m->text_end)
		return false;
	c = (unsigned char)*at;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return in_class(c, (unsigned char)p[1]);
	case '[':
		step_set(m, p, end);
		return in_set(c, p, end - 1);
	default:
		return (unsigned char)*p == c;
	}
}

/* --- repeated ----------------------------------------------------------------------- */

static const char *
most(struct matcher *m, const char *at, const char *p, const char *end)
{
	ptrdiff_t count = 0;

	while (is_one(m, at + count, p, end))
		count++;
	for (; count >= 0; count--) {
		const char *found = match(m, at + count, end + 1);

		if (found != NULL)
			return found;
	}
	return NULL;
}

static const char *
least(struct matcher *m, const char *at, const char *p, const char *end)
{
	for (;; at++) {
		const char *found = match(m, at, end + 1);

		if (found != NULL)
			return found;
		if (!is_one(m, at, p, end))
			return NULL;
	}
}

/* --- captures, %b, %f --------------------------------------------------------------- */

static const char *
begin_capture(struct matcher *m, const char *at, const char *p, ptrdiff_t size)
{
	const char *found;

	if (m->count >= CAPTURES_MAX)
		luaL_error(m->L, "too many captures");
	m->captures[m->count].start = at;
	m->captures[m->count].size = size;
	m->count++;
	found = match(m, at, p);
	if (found == NULL)
		m->count--;
	return found;
}

static const char *
end_capture(struct matcher *m, const char *at, const char *p)
{
	int last = m->count - 1;
	const char *found;

	while (last >= 0 && m->captures[last].size != CAPTURE_OPEN)
		last--;
	if (last < 0)
		luaL_error(m->L, "invalid pattern capture");
	m->captures[last].size = at - m->captures[last].start;
	found = match(m, at, p);
	if (found == NULL)
		m->captures[last].size = CAPTURE_OPEN;
	return found;
}

/* %1 */
static const char *
match_back(struct matcher *m, const char *at, int digit)
{
	int index = digit - '1';
	size_t size;

	if (index < 0 || index >= m->count || m->captures[index].size < 0) {
		luaL_error(m->L, "invalid capture index %%%d", index + 1);
		return NULL;
	}
	size = (size_t)m->captures[index].size;
	vm_spend(m->L, size / 64);
	if ((size_t)(m->text_end - at) < size ||
	    memcmp(m->captures[index].start, at, size) != 0)
		return NULL;
	return at + size;
}

/* %bxy */
static const char *
match_balance(struct matcher *m, const char *at, const char *p)
{
	int depth = 1;

	if (p + 1 >= m->pattern_end)
		luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
	if (at >= m->text_end || *at != p[0])
		return NULL;
	while (++at < m->text_end) {
		step(m, 1);
		if (*at == p[1]) {
			if (--depth == 0)
				return at + 1;
		} else if (*at == p[0]) {
			depth++;
		}
	}
	return NULL;
}

/* %f[set]: returns what is behind it in the pattern, or NULL. */
static const char *
match_frontier(struct matcher *m, const char *at, const char *p)
{
	int before = at == m->text ? 0 : (unsigned char)at[-1];
	int behind = at == m->text_end ? 0 : (unsigned char)*at;
	const char *end;

	if (p >= m->pattern_end || *p != '[')
		luaL_error(m->L, "missing '[' after '%%f' in pattern");
	end = class_end(m, p);
	step_set(m, p, end);
	step_set(m, p, end);
	return !in_set(before, p, end - 1) && in_set(behind, p, end - 1) ? end : NULL;
}

/* --- all ---------------------------------------------------------------------------- */

/* One class at p, perhaps repeated. True: go on at *at, *p; else *at is the answer. */
static bool
match_class(struct matcher *m, const char **at, const char **p)
{
	const char *end = class_end(m, *p);
	char suffix = '\0';

	if (end < m->pattern_end)
		suffix = *end;
	switch (suffix) {
	case '?':
		if (is_one(m, *at, *p, end)) {
			const char *found = match(m, *at + 1, end + 1);

			if (found != NULL) {
				*at = found;
				return false;
			}
		}
		*p = end + 1;
		return true;
	case '+':
		*at = is_one(m, *at, *p, end) ? most(m, *at + 1, *p, end) : NULL;
		return false;
	case '*':
		*at = most(m, *at, *p, end);
		return false;
	case '-':
		*at = least(m, *at, *p, end);
		return false;
	default:
		if (!is_one(m, *at, *p, end)) {
			*at = NULL;
			return false;
		}
		++*at;
		*p = end;
		return true;
	}
}

/* What begins with '%' and is no class. True: go on; else *at is the answer. */
static bool
match_special(struct matcher *m, const char **at, const char **p)
{
	char kind = '\0';

	if (*p + 1 < m->pattern_end)
		kind = (*p)[1];
	if (kind == 'b') {
		*at = match_balance(m, *at, *p + 2);
		*p += 4;
		return *at != NULL;
	}
	if (kind == 'f') {
		*p = match_frontier(m, *at, *p + 2);
		if (*p == NULL)
			*at = NULL;
		return *p != NULL;
	}
	if (isdigit((unsigned char)kind)) {
		*at = match_back(m, *at, kind);
		*p += 2;
		return *at != NULL;
	}
	return match_class(m, at, p);
}

static bool
match_item(struct matcher *m, const char **at, const char **p)
{
	switch (**p) {
	case '(':
		*at = *p + 1 < m->pattern_end && (*p)[1] == ')'
			  ? begin_capture(m, *at, *p + 2, CAPTURE_POSITION)
			  : begin_capture(m, *at, *p + 1, CAPTURE_OPEN);
		return false;
	case ')':
		*at = end_capture(m, *at, *p + 1);
		return false;
	case '$':
		if (*p + 1 != m->pattern_end)
			return match_class(m, at, p);
		if (*at != m->text_end)
			*at = NULL;
		return false;
	case '%':
		return match_special(m, at, p);
	default:
		return match_class(m, at, p);
	}
}

/* Returns the end of the match of what is left of the pattern from p on, or NULL. */
static const char *
match(struct matcher *m, const char *at, const char *p)
{
	if (++m->depth > DEPTH_MAX)
		luaL_error(m->L, "pattern too complex");
	/* An empty pattern matches everywhere. */
	step(m, 1);
	while (p != m->pattern_end) {
		step(m, 1);
		if (!match_item(m, &at, &p))
			break;
	}
	m->depth--;
	return at;
}

struct matcher
matcher_new(lua_State *L, const char *text, size_t size, const char *pattern_end)
{
	return (struct matcher){
		.L = L, .text = text, .text_end = text + size, .pattern_end = pattern_end
	};
}

const char *
matcher_match(struct matcher *m, const char *at, const char *pattern)
{
	m->count = m->depth = 0;
	return match(m, at, pattern);
}
