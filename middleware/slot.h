/* slot: a "{name}" in a text, where a value goes. "{{name}}" is the literal "{name}"; every other
 * brace is itself. What tools' commands and prompts share. */
#ifndef SLOT_H
#define SLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

struct slot {
	const char *start; /* its first "{" */
	const char *end;   /* behind its last "}" */
	const char *name;
	size_t name_size;
	bool is_literal; /* "{{name}}" */
};

/* Finds the next slot at or behind text; true when there is one. A name begins with a letter or "_"
 * and has letters, digits, "_", "-" and the bytes of also. */
bool slot_find(const char *text, const char *also, struct slot *slot_r);

/* Returns text with value(arg, name) for each slot, in arena; what a value holds is not looked at
 * again. NULL as soon as a value is. */
const char *slot_fill(struct arena *arena, const char *text, const char *also,
    const char *(*value)(void *arg, const char *name), void *arg);

#endif
