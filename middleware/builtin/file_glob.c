#include "file_glob.h"

#include <string.h>

#define COMPONENTS_MAX 128u

struct file_glob {
	const char **alternatives; /* without braces */
	size_t count, bytes;
	size_t depth;
	bool has_folders;
};

/* --- braces --------------------------------------------------------------------------- */

/* Returns the end of the set that begins at text, "[", behind its "]", or NULL. A "]" at
 * the begin is of the set. */
static const char *
set_end(const char *text)
{
	const char *at = text + 1;

	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	for (; *at != '\0' && *at != '/'; at++)
		if (*at == ']')
			return at + 1;
	return NULL;
}

/* Finds the first brace outside of sets. */
static const char *
find_brace(const char *text)
{
	while (*text != '\0' && *text != '{')
		text = *text == '[' ? set_end(text) : text + 1;
	return *text == '{' ? text : NULL;
}

/* The end of the alternative at text: its "," or "}" on this level, or NULL. */
static const char *
alternative_end(const char *text)
{
	size_t level = 0;

	while (*text != '\0') {
		if (*text == '[') {
			text = set_end(text);
			continue;
		}
		if (level == 0 && (*text == ',' || *text == '}'))
			return text;
		if (*text == '{')
			level++;
		else if (*text == '}')
			level--;
		text++;
	}
	return NULL;
}

static int
add(struct arena *arena, struct file_glob *glob, const char *text, const char **error_r)
{
	if (glob->count == FILE_GLOB_ALTERNATIVES_MAX) {
		*error_r = arena_printf(arena, "its braces make more than %u patterns",
		    FILE_GLOB_ALTERNATIVES_MAX);
		return -1;
	}
	glob->bytes += strlen(text);
	if (glob->bytes > FILE_GLOB_EXPANDED_BYTES_MAX) {
		*error_r =
		    arena_printf(arena, "its braces make patterns of more than %u bytes",
			FILE_GLOB_EXPANDED_BYTES_MAX);
		return -1;
	}
	glob->alternatives[glob->count++] = text;
	return 0;
}

/* text without the braces that have one alternative alone. Of what is left each pair makes more patterns, of which
 * there are not many. */
static const char *
without_single_braces(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text), *brace, *end;
	size_t at = 0;

	while ((brace = (char *)find_brace(copy + at)) != NULL) {
		at = (size_t)(brace - copy);
		end = (char *)alternative_end(brace + 1);
		if (end == NULL || *end == ',') {
			at++;
			continue;
		}
		memmove(end, end + 1, strlen(end));
		memmove(brace, brace + 1, strlen(brace));
	}
	return copy;
}

/* Adds what text's braces make. Each level of the recursion takes one pair of them away, and
 * the end of adding ends all. */
static int
expand(
    struct arena *arena, struct file_glob *glob, const char *text, const char **error_r)
{
	const char *brace = find_brace(text), *from, *end, *close = brace;

	if (brace == NULL)
		return add(arena, glob, text, error_r);
	do {
		close = alternative_end(close + 1);
	} while (close != NULL && *close == ',');
	if (close == NULL) {
		*error_r = "a { is not closed";
		return -1;
	}
	for (from = brace + 1; from <= close; from = end + 1) {
		end = alternative_end(from);
		if (expand(arena, glob,
			arena_printf(arena, "%.*s%.*s%s", (int)(brace - text), text,
			    (int)(end - from), from, close + 1),
			error_r) == -1)
			return -1;
	}
	return 0;
}

/* --- reading -------------------------------------------------------------------------- */

static const char *
flaw_of(struct arena *arena, const char *text)
{
	const char *at;

	if (*text == '\0')
		return "it is empty";
	if (strlen(text) > FILE_GLOB_BYTES_MAX)
		return arena_printf(
		    arena, "it has more than %u bytes", FILE_GLOB_BYTES_MAX);
	for (at = text; *at != '\0';) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return "it has a control character";
		at = *at == '[' ? set_end(at) : at + 1;
		if (at == NULL)
			return "a [ is not closed";
	}
	return NULL;
}

/* The components of text, without empty ones and ".". Returns how many; more than
 * COMPONENTS_MAX are COMPONENTS_MAX + 1. */
static size_t
split(struct arena *arena, const char *text, const char **components)
{
	size_t count = 0, size;

	for (; *text != '\0'; text += size) {
		text += strspn(text, "/");
		size = strcspn(text, "/");
		if (size == 0 || (size == 1 && *text == '.'))
			continue;
		if (count == COMPONENTS_MAX)
			return count + 1;
		components[count++] = arena_copy(arena, text, size);
	}
	return count;
}

/* Looks at one alternative and adds to what is known of all. */
static const char *
look_at(struct arena *arena, struct file_glob *glob, const char *text, bool *deep)
{
	const char *components[COMPONENTS_MAX];
	size_t count = split(arena, text, components), i;

	if (count > COMPONENTS_MAX)
		return "it has too many components";
	for (i = 0; i < count; i++) {
		if (strcmp(components[i], "..") == 0)
			return "a component is \"..\"";
		*deep = *deep || strcmp(components[i], "**") == 0;
	}
	if (count > glob->depth)
		glob->depth = count;
	glob->has_folders = glob->has_folders || strchr(text, '/') != NULL;
	return NULL;
}

const struct file_glob *
file_glob_parse(struct arena *arena, const char *text, const char **error_r)
{
	struct file_glob *glob = arena_alloc(arena, sizeof *glob);
	bool deep = false;
	size_t i;

	*error_r = flaw_of(arena, text);
	if (*error_r != NULL)
		return NULL;
	glob->alternatives =
	    arena_alloc(arena, FILE_GLOB_ALTERNATIVES_MAX * sizeof *glob->alternatives);
	if (expand(arena, glob, without_single_braces(arena, text), error_r) == -1)
		return NULL;
	for (i = 0; i < glob->count && *error_r == NULL; i++)
		*error_r = look_at(arena, glob, glob->alternatives[i], &deep);
	if (deep)
		glob->depth = 0;
	return *error_r == NULL ? glob : NULL;
}

/* --- matching ------------------------------------------------------------------------- */

/* The bytes of the character at text, which is UTF-8 or some bytes. */
static size_t
character(const char *text)
{
	size_t size = 1;

	while (((unsigned char)text[size] & 0xc0) == 0x80)
		size++;
	return size;
}

/* Orders characters of size bytes: UTF-8 sorts as its code points do. */
static int
compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t size = a_size < b_size ? a_size : b_size;
	int order = memcmp(a, b, size);

	if (order != 0)
		return order;
	return a_size < b_size ? -1 : a_size > b_size;
}

/* Whether the character at name is in the set at text. */
static bool
in_set(const char *text, const char *end, const char *name)
{
	size_t size = character(name), low, high;
	const char *at = text + 1;
	bool negated = *at == '!' || *at == '^', found = false;

	for (at += negated; at < end - 1; at += low) {
		low = character(at);
		if (at[low] == '-' && at + low + 1 < end - 1) {
			const char *last = at + low + 1;

			high = character(last);
			found = found || (compare(at, low, name, size) <= 0 &&
					     compare(name, size, last, high) <= 0);
			low += 1 + high;
		} else {
			found = found || compare(at, low, name, size) == 0;
		}
	}
	return found != negated;
}

/* Matches one character of the pattern that is no star. Returns how far the pattern goes on,
 * 0 when it does not match. */
static size_t
step(const char *pattern, const char *pattern_end, const char *name, size_t size)
{
	const char *end;

	if (pattern == pattern_end)
		return 0;
	if (*pattern == '?')
		return 1;
	if (*pattern == '[') {
		end = set_end(pattern);
		return in_set(pattern, end, name) ? (size_t)(end - pattern) : 0;
	}
	return character(pattern) == size && memcmp(pattern, name, size) == 0 ? size : 0;
}

/* One component. Only the last star is ever gone back to: what the ones before it took is as
 * good as any. */
static bool
component_matches(const char *pattern, size_t pattern_size, const char *name, size_t size)
{
	const char *pattern_end = pattern + pattern_size, *name_end = name + size;
	const char *star = NULL, *from = NULL;
	size_t went, bytes;

	while (name < name_end) {
		bytes = character(name);
		if (pattern < pattern_end && *pattern == '*') {
			star = ++pattern;
			from = name;
		} else if ((went = step(pattern, pattern_end, name, bytes)) > 0) {
			pattern += went;
			name += bytes;
		} else if (star != NULL) {
			from += character(from);
			pattern = star;
			name = from;
		} else {
			return false;
		}
	}
	while (pattern < pattern_end && *pattern == '*')
		pattern++;
	return pattern == pattern_end;
}

/* The component at *at_p, which goes on behind it; NULL: there is none. */
static const char *
next_component(const char **at_p, size_t *size_r)
{
	const char *at = *at_p;

	for (;;) {
		at += strspn(at, "/");
		*size_r = strcspn(at, "/");
		*at_p = at + *size_r;
		if (*size_r == 0)
			return NULL;
		if (*size_r != 1 || *at != '.')
			return at;
		at = *at_p;
	}
}

/* As component_matches, one level up: "**" is the star, components are the characters. */
static bool
path_matches(const char *pattern, const char *path)
{
	const char *star = NULL, *from = NULL, *part, *name, *ahead, *rest;
	size_t part_size, name_size;

	for (;;) {
		rest = path;
		name = next_component(&rest, &name_size);
		ahead = pattern;
		part = next_component(&ahead, &part_size);
		if (part != NULL && part_size == 2 && memcmp(part, "**", 2) == 0) {
			star = pattern = ahead;
			from = path;
		} else if (name == NULL) {
			return part == NULL;
		} else if (part != NULL &&
			   component_matches(part, part_size, name, name_size)) {
			pattern = ahead;
			path = rest;
		} else if (star != NULL) {
			next_component(&from, &name_size);
			pattern = star;
			path = from;
		} else {
			return false;
		}
	}
}

bool
file_glob_matches(const struct file_glob *glob, const char *path)
{
	size_t i;

	for (i = 0; i < glob->count; i++)
		if (path_matches(glob->alternatives[i], path))
			return true;
	return false;
}

size_t
file_glob_depth(const struct file_glob *glob)
{
	return glob->depth;
}

bool
file_glob_has_folders(const struct file_glob *glob)
{
	return glob->has_folders;
}
