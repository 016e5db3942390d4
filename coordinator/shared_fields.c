#include "shared_fields.h"

#include <string.h>

#include "field.h"

/* What belongs to a conversation. */
static const char *const of_talk[] = { "todos", "skills_metadata", "memory_contents",
	"summarization_event" };

static bool
is_own(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof of_talk / sizeof *of_talk; i++)
		if (strcmp(of_talk[i], name) == 0)
			return true;
	return strcmp(name, "messages") == 0 || strcmp(name, "structured_response") == 0;
}

/* A field of that name is the parent's as well as the child's, and private to neither. */
static bool
is_shared(const struct spec *parent, const struct spec *child, const char *name)
{
	const struct field *above = spec_field(parent, name);
	const struct field *below = spec_field(child, name);

	return above != NULL && below != NULL && !is_own(name) &&
	       !above->omit_from_input && !above->omit_from_output &&
	       !below->omit_from_input && !below->omit_from_output;
}

const struct value *
shared_fields(struct arena *arena, const struct spec *parent, const struct spec *child,
    const struct state *state)
{
	struct value_fields shared = { .arena = arena };
	size_t i;

	for (i = 0; i < child->field_count; i++) {
		const char *name = child->fields[i].name;
		const struct value *value = state_field(state, name);

		if (value != NULL && is_shared(parent, child, name) &&
		    field_takes(&child->fields[i], value))
			value_fields_set(&shared, name, value_copy(arena, value));
	}
	return value_fields_end(&shared);
}

const struct value *
shared_with_fork(struct arena *arena, const struct spec *parent, const struct spec *child,
    const struct state *state)
{
	struct value_fields shared = { .arena = arena };
	size_t i;

	for (i = 0; i < sizeof of_talk / sizeof *of_talk; i++) {
		const struct field *below = spec_field(child, of_talk[i]);
		const struct value *value = state_field(state, of_talk[i]);

		if (value != NULL && below != NULL &&
		    spec_field(parent, of_talk[i]) != NULL && field_takes(below, value))
			value_fields_set(&shared, of_talk[i], value_copy(arena, value));
	}
	return value_fields_end(&shared);
}

/* What of a merged map is new or another, and nil for what is gone. */
static const struct value *
changed_keys(struct arena *arena, const struct value *before, const struct value *after)
{
	struct value_fields changed = { .arena = arena };
	struct value_lookup old = { .map = before, .arena = arena };
	struct value_lookup new = { .map = after, .arena = arena };
	size_t i;

	for (i = 0; i < value_size(after); i++) {
		const struct value_pair *pair = &after->pairs[i];

		if (!value_equal(value_look(&old, pair->key), pair->value))
			value_fields_put(&changed, pair->key, pair->value);
	}
	for (i = 0; i < value_size(before); i++)
		if (value_look(&new, before->pairs[i].key) == NULL)
			value_fields_put(&changed, before->pairs[i].key, value_nil());
	return changed.count > 0 ? value_fields_end(&changed) : NULL;
}

/* What is behind what the child began with; all of it when that is not what it still begins with. */
static const struct value *
appended(struct arena *arena, const struct value *before, const struct value *after)
{
	size_t i, count = value_size(before);

	if (count > value_size(after))
		return after;
	for (i = 0; i < count; i++)
		if (!value_equal(value_at(before, i), value_at(after, i)))
			return after;
	return count < value_size(after)
		   ? value_array_slice(arena, after, count, value_size(after))
		   : NULL;
}

static const struct value *
difference(struct arena *arena, const struct value *before, const struct value *after)
{
	int64_t difference;

	if (value_is(before, VALUE_INT) && value_is(after, VALUE_INT) &&
	    !__builtin_sub_overflow(after->integer, before->integer, &difference))
		return value_int(arena, difference);
	return value_float(arena, value_number(after, 0) - value_number(before, 0));
}

/* The write that makes the parent's field what the child's has become; NULL: nothing changed. So two children
 * side by side, which both began with all of it, do not undo each other's changes. */
static const struct value *
write_of(struct arena *arena, const struct field *field, const struct value *before,
    const struct value *after)
{
	if (before == NULL || value_equal(before, after))
		return before == NULL ? after : NULL;
	switch (field->reducer) {
	case REDUCE_MERGE:
		return changed_keys(arena, before, after);
	case REDUCE_APPEND:
		return appended(arena, before, after);
	case REDUCE_ADD:
		return difference(arena, before, after);
	default:
		return after;
	}
}

/* The same of the field of that name; after is the child's, which may be of any kind. */
static const struct value *
update_of(struct arena *arena, const struct field *above, const struct field *below,
    const struct value *before, const struct value *after)
{
	/* A thread can be older than its agent's spec. */
	if (before != NULL && !field_takes(above, before))
		before = NULL;
	if (!field_takes(above, after) ||
	    (before == NULL && value_equal(field_default(arena, below), after)))
		return NULL;
	return write_of(arena, above, before, after);
}

const struct value *
shared_update(struct arena *arena, const struct spec *parent, const struct spec *child,
    const struct state *state, const struct value *output)
{
	struct value_fields update = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(output); i++) {
		const char *name = value_text(output->pairs[i].key);

		if (is_shared(parent, child, name))
			value_fields_set(&update, name,
			    update_of(arena, spec_field(parent, name),
				spec_field(child, name), state_field(state, name),
				output->pairs[i].value));
	}
	return update.count > 0 ? value_fields_end(&update) : NULL;
}
