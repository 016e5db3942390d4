#include "template.h"

#include <string.h>

#include "json.h"
#include "bounds.h"
#include "nearest.h"
#include "slot.h"

static const struct value *
property_named(const struct value *properties, const char *name, size_t size)
{
	size_t i;

	for (i = 0; value_is(properties, VALUE_MAP) && i < properties->size; i++) {
		const struct value *key = properties->pairs[i].key;

		if (key->size == size && memcmp(key->text, name, size) == 0)
			return key;
	}
	return NULL;
}

static const char *
unknown_argument(
    struct arena *arena, const struct value *properties, const struct slot *slot)
{
	const char *name = arena_copy(arena, slot->name, slot->name_size);
	size_t i, count = value_size(properties);
	const char **names = arena_alloc(arena, count * sizeof *names);
	const char *nearest;

	for (i = 0; i < count; i++)
		names[i] = properties->pairs[i].key->text;
	nearest = nearest_name(name, names, count);
	return arena_printf(arena,
	    "{%s} names no argument of 'parameters'%s%s%s; write {{%s}} for literal "
	    "braces",
	    name, nearest == NULL ? "" : "; did you mean {",
	    nearest == NULL ? "" : nearest, nearest == NULL ? "" : "}?", name);
}

int
template_parse(struct arena *arena, const char *text, const struct value *properties,
    struct template *template_r, const char **error_r)
{
	/* A slot has three bytes or more and gives two parts at most. */
	struct template_part *parts =
	    arena_alloc(arena, (strlen(text) / 3 * 2 + 1) * sizeof *parts);
	struct slot slot;
	size_t count = 0;

	for (; slot_find(text, "", &slot); text = slot.end) {
		if (!slot.is_literal &&
		    property_named(properties, slot.name, slot.name_size) == NULL) {
			*error_r = unknown_argument(arena, properties, &slot);
			return -1;
		}
		/* Of a literal slot the outer braces go. */
		if (slot.start > text || slot.is_literal)
			parts[count++].text =
			    slot.is_literal
				? arena_printf(arena, "%.*s{%.*s}",
				      (int)(slot.start - text), text, (int)slot.name_size,
				      slot.name)
				: arena_copy(arena, text, (size_t)(slot.start - text));
		if (!slot.is_literal)
			parts[count++] = (struct template_part){
				arena_copy(arena, slot.name, slot.name_size), true
			};
	}
	if (*text != '\0' || count == 0)
		parts[count++].text = arena_strdup(arena, text);
	*template_r = (struct template){ parts, count };
	return 0;
}

const char *
template_finds(const char *text, const struct value *properties)
{
	struct slot slot;

	for (; slot_find(text, "", &slot); text = slot.end) {
		const struct value *key =
		    property_named(properties, slot.name, slot.name_size);

		if (key != NULL)
			return key->text;
	}
	return NULL;
}

bool
template_is_argument(const struct template *template)
{
	return template->count == 1 && template->parts[0].is_argument;
}

const char *
argument_text(struct arena *arena, const char *name, const struct value *value,
    const char **error_r)
{
	bool is_text = value_is(value, VALUE_STR);
	const char *text = is_text ? value->text : json_text(arena, value);
	size_t size = is_text ? value->size : strlen(text);

	if (strlen(text) != size) {
		*error_r = arena_printf(arena,
		    "argument '%s' holds a NUL character, which a program cannot be "
		    "given",
		    name);
		return NULL;
	}
	if (size > TOOL_ARGUMENT_BYTES_MAX) {
		*error_r = arena_printf(arena,
		    "argument '%s' has %zu bytes and a program can be given %u; the tool "
		    "must read it from its standard input",
		    name, size, TOOL_ARGUMENT_BYTES_MAX);
		return NULL;
	}
	return text;
}

/* Returns part's text: NULL and no error when its argument is absent. */
static const char *
part_text(struct arena *arena, const struct template_part *part, const struct value *args,
    const char **error_r)
{
	const struct value *value;

	if (!part->is_argument)
		return part->text;
	value = value_get(args, part->text);
	return value_is_nil(value) ? NULL
				   : argument_text(arena, part->text, value, error_r);
}

/* A model that has read a hostile page must not get to say `-delete` to find. A negative
 * number is no option anybody could abuse. */
static bool
is_option(const struct template *template, const struct value *args, const char *text)
{
	const struct template_part *first = &template->parts[0];

	return first->is_argument && text[0] == '-' &&
	       value_is(value_get(args, first->text), VALUE_STR);
}

int
template_fill(struct arena *arena, const struct template *template,
    const struct value *args, bool options_end, const char **text_r, const char **error_r)
{
	const char *text = "", *error = NULL;
	size_t i;

	for (i = 0; i < template->count; i++) {
		const char *part = part_text(arena, &template->parts[i], args, &error);

		if (part == NULL) {
			*text_r = NULL;
			*error_r = error;
			return error == NULL ? 0 : -1;
		}
		text = i == 0 ? part : arena_printf(arena, "%s%s", text, part);
	}
	if (!options_end && is_option(template, args, text)) {
		*error_r = arena_printf(arena,
		    "argument '%s' begins with '-' and could be taken for an option; "
		    "only a "
		    "tool whose command has \"--\" before it takes such text",
		    template->parts[0].text);
		return -1;
	}
	*text_r = text;
	return 0;
}
