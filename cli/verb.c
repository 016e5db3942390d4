/* verb: the words behind a command that has several, `flotilla agents WORD`. */
#include "verb.h"

#include <string.h>

#include "arena.h"
#include "command.h"
#include "nearest.h"

#define VERBS_MAX 16u

static const char *
name_at(const void *verbs, size_t index, size_t size)
{
	return *(const char *const *)((const char *)verbs + index * size);
}

static void
complain_of(const char *command, const char *word, const char *const *names, size_t count)
{
	struct arena *arena = arena_new();
	const char *near = nearest_name(word, names, count), *list = "";
	size_t i;

	for (i = 0; i < count; i++)
		list = arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "", names[i]);
	complain("%s knows no '%s'%s%s%s there are: %s", command, word,
	    near != NULL ? "; did you mean '" : ";", near != NULL ? near : "",
	    near != NULL ? "'?" : "", list);
	arena_destroy(&arena);
}

size_t
verb_find(
    const char *command, const char *word, const void *verbs, size_t count, size_t size)
{
	const char *names[VERBS_MAX];
	size_t i;

	for (i = 0; i < count; i++) {
		names[i] = name_at(verbs, i, size);
		if (strcmp(word, names[i]) == 0)
			return i;
	}
	complain_of(command, word, names, count);
	return count;
}
