/* template: one item of a tool's command, with {name} where an argument goes.
 *
 * An argument always stays within its item, whatever it holds: there is no shell that
 * could take it apart. What is left is an argument that a program would read as an
 * option; that is refused too. "{{name}}" is the literal "{name}"; every other brace is
 * itself. */
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

struct template_part {
	const char *text; /* literal text, or an argument's name */
	bool is_argument;
};

struct template
{
	const struct template_part *parts;
	size_t count;
};

/* Takes text apart; its arguments are keys of properties (a schema's; may be NULL).
 * Returns 0, or -1 with a reason in arena: no such argument. */
int template_parse(struct arena *arena, const char *text, const struct value *properties,
    struct template *template_r, const char **error_r);

/* Finds the first key of properties that stands in text as {key}; "{{key}}" counts as
 * well. Returns it, or NULL: for text in which arguments have no place. */
const char *template_finds(const char *text, const struct value *properties);

/* True when template is one argument and nothing else. */
bool template_is_argument(const struct template *template);

/* Fills in args. *text_r is NULL when an argument is absent: the item is left out.
 * options_end: the items so far had a "--". Returns 0, or -1 with a reason in arena that
 * names the argument. */
int template_fill(struct arena *arena, const struct template *template,
    const struct value *args, bool options_end, const char **text_r,
    const char **error_r);

/* Returns argument value as the text a program gets (strings as they are, the rest as
 * JSON) in arena, or NULL with a reason: it holds a NUL or is longer than the kernel
 * passes on. */
const char *argument_text(struct arena *arena, const char *name,
    const struct value *value, const char **error_r);

#endif
