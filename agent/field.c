#include "field.h"

#include <math.h>
#include <string.h>

#include "json.h"

/* What a type or a reducer accepts. */
enum kind {
	KIND_ANY,
	KIND_INTEGER,
	KIND_NUMBER,
	KIND_STRING,
	KIND_BOOLEAN,
	KIND_ARRAY,
	KIND_OBJECT,
};

static const char *const kind_texts[] = {
	[KIND_ANY] = "any value",
	[KIND_INTEGER] = "an integer",
	[KIND_NUMBER] = "a number",
	[KIND_STRING] = "a string",
	[KIND_BOOLEAN] = "a boolean",
	[KIND_ARRAY] = "a list",
	[KIND_OBJECT] = "a map",
};

static const char *const type_names[] = { "integer", "number", "string", "array",
	"object", "boolean", NULL };
static const enum kind type_kinds[] = { KIND_INTEGER, KIND_NUMBER, KIND_STRING,
	KIND_ARRAY, KIND_OBJECT, KIND_BOOLEAN };

static const char *const fold_names[] = { "append", "add", "merge", NULL };
static const enum reducer folds[] = { REDUCE_APPEND, REDUCE_ADD, REDUCE_MERGE };

const char *const *
field_type_names(void)
{
	return type_names;
}

const char *const *
reducer_names(void)
{
	return fold_names;
}

enum reducer
reducer_from_name(const char *name)
{
	size_t i;

	for (i = 0; fold_names[i] != NULL; i++) {
		if (strcmp(fold_names[i], name) == 0)
			return folds[i];
	}
	return REDUCE_LAST;
}

static bool
kind_of_type(const char *type, enum kind *kind_r)
{
	size_t i;

	*kind_r = KIND_ANY;
	for (i = 0; type != NULL && type_names[i] != NULL; i++) {
		if (strcmp(type_names[i], type) == 0)
			*kind_r = type_kinds[i];
	}
	return type == NULL || *kind_r != KIND_ANY;
}

static enum kind
kind_of_reducer(enum reducer reducer)
{
	switch (reducer) {
	case REDUCE_APPEND:
	case REDUCE_MESSAGES:
		return KIND_ARRAY;
	case REDUCE_ADD:
		return KIND_NUMBER;
	case REDUCE_MERGE:
		return KIND_OBJECT;
	case REDUCE_LAST:
		break;
	}
	return KIND_ANY;
}

/* The type's kind, or without a type what the reducer needs. */
static enum kind
kind_of(const struct field *field)
{
	enum kind kind;

	if (field->type == NULL || !kind_of_type(field->type, &kind))
		return kind_of_reducer(field->reducer);
	return kind;
}

static bool
is_whole(const struct value *value)
{
	return value_is(value, VALUE_INT) ||
	       (value_is(value, VALUE_FLOAT) && isfinite(value->real) &&
		   value->real == floor(value->real));
}

static bool
kind_takes(enum kind kind, const struct value *value)
{
	switch (kind) {
	case KIND_INTEGER:
		return is_whole(value);
	case KIND_NUMBER:
		return value_is_number(value);
	case KIND_STRING:
		return value_is(value, VALUE_STR);
	case KIND_BOOLEAN:
		return value_is(value, VALUE_BOOL);
	case KIND_ARRAY:
		return value_is(value, VALUE_ARRAY);
	case KIND_OBJECT:
		return value_is(value, VALUE_MAP);
	case KIND_ANY:
		break;
	}
	return true;
}

const struct value *
field_overwrite(const struct field *field, const struct value *write)
{
	if (field->reducer == REDUCE_LAST || !value_is(write, VALUE_MAP) ||
	    value_size(write) != 1)
		return NULL;
	return value_get(write, "__overwrite__");
}

bool
field_takes(const struct field *field, const struct value *value)
{
	const struct value *over = field_overwrite(field, value);

	if (over != NULL)
		return kind_takes(kind_of(field), over);
	if (value_is_nil(value))
		return field->reducer == REDUCE_LAST;
	return kind_takes(kind_of(field), value);
}

const char *
field_takes_text(const struct field *field)
{
	return kind_texts[kind_of(field)];
}

/* About as many as when it is packed. */
static size_t
bytes_of(const struct value *value)
{
	size_t i, bytes = 5;

	if (value_is(value, VALUE_STR) || value_is(value, VALUE_BIN))
		bytes += value->size;
	for (i = 0; value_is(value, VALUE_ARRAY) && i < value->size; i++)
		bytes += bytes_of(value->items[i]);
	for (i = 0; value_is(value, VALUE_MAP) && i < value->size; i++)
		bytes += value->pairs[i].key->size + bytes_of(value->pairs[i].value);
	return bytes;
}

bool
field_has_room(
    const struct field *field, const struct value *old, const struct value *folded)
{
	size_t bytes;

	if (field->bytes_max == 0)
		return true;
	bytes = bytes_of(folded);
	return bytes <= field->bytes_max || bytes <= bytes_of(old);
}

bool
field_is_exact(
    const struct field *field, const struct value *old, const struct value *folded)
{
	return field->reducer != REDUCE_ADD || kind_of(field) != KIND_INTEGER ||
	       old == NULL || !value_is(folded, VALUE_FLOAT) ||
	       fabs(folded->real) < 0x1p63;
}

bool
field_is_stored(const struct field *field)
{
	return !field->untracked && !field->ephemeral;
}

/* --- the declaration ---------------------------------------------------------------- */

const struct value *
field_default(struct arena *arena, const struct field *field)
{
	const struct value *value;
	const char *error;

	if (field->otherwise == NULL)
		return NULL;
	value = json_parse(arena, field->otherwise, strlen(field->otherwise), &error);
	return value_is_nil(value) ? NULL : value;
}

static const char *
default_flaw(struct arena *arena, const struct field *field)
{
	const struct value *value;
	const char *error;

	value = json_parse(arena, field->otherwise, strlen(field->otherwise), &error);
	if (value == NULL)
		return arena_printf(arena, "is not JSON: %s", error);
	if (!value_is_nil(value) &&
	    (!field_takes(field, value) || field_overwrite(field, value) != NULL))
		return arena_printf(arena, "must be %s, as the field's type says",
		    field_takes_text(field));
	return NULL;
}

static bool
reducer_fits(const struct field *field, enum kind kind)
{
	enum kind needed = kind_of_reducer(field->reducer);

	return needed == KIND_ANY || field->type == NULL || kind == needed ||
	       (needed == KIND_NUMBER && kind == KIND_INTEGER);
}

/* Fields that every state has; nobody else may declare them. */
static bool
is_built_in(const char *name)
{
	return strcmp(name, "messages") == 0 || strcmp(name, "jump_to") == 0 ||
	       strcmp(name, "structured_response") == 0;
}

const char *
field_flaw(struct arena *arena, const struct field *field, const char **key_r)
{
	enum kind kind;

	*key_r = "";
	if (field->name[0] == '\0')
		return "a state field needs a name";
	if (is_built_in(field->name))
		return arena_printf(arena,
		    "the state field \"%s\" is built in: choose another name",
		    field->name);
	*key_r = "type";
	if (!kind_of_type(field->type, &kind))
		return arena_printf(arena,
		    "there is no field type \"%s\" (integer, number, string, array, "
		    "object "
		    "or boolean)",
		    field->type);
	*key_r = "reducer";
	if (field->reducer == REDUCE_MESSAGES)
		return "only messages are folded like messages";
	if (!reducer_fits(field, kind))
		return arena_printf(arena, "the reducer folds %s, but the type is %s",
		    kind_texts[kind_of_reducer(field->reducer)], field->type);
	*key_r = "default";
	return field->otherwise == NULL ? NULL : default_flaw(arena, field);
}

/* --- folding ------------------------------------------------------------------------ */

static const struct value *
add(struct arena *arena, const struct value *old, const struct value *write)
{
	int64_t sum;

	if (value_is(old, VALUE_INT) && value_is(write, VALUE_INT) &&
	    !__builtin_add_overflow(old->integer, write->integer, &sum))
		return value_int(arena, sum);
	return value_float(arena, value_number(old, 0) + value_number(write, 0));
}

static const struct value *
merge(struct arena *arena, const struct value *old, const struct value *write)
{
	const struct value *merged = value_map_merge(arena, old, write);
	struct value_fields fields = { .arena = arena };
	bool removes = false;
	size_t i;

	for (i = 0; i < write->size; i++)
		removes = removes || value_is_nil(write->pairs[i].value);
	if (!removes)
		return merged;
	for (i = 0; i < merged->size; i++) {
		if (!value_is_nil(merged->pairs[i].value))
			value_fields_set(
			    &fields, merged->pairs[i].key->text, merged->pairs[i].value);
	}
	return value_fields_end(&fields);
}

const struct value *
field_fold(struct arena *arena, const struct field *field, const struct value *old,
    const struct value *write)
{
	const struct value *over = field_overwrite(field, write);

	if (over != NULL)
		return over;
	/* A thread can be older than its agent's spec. */
	if (old != NULL && !field_takes(field, old))
		old = NULL;
	switch (field->reducer) {
	case REDUCE_APPEND:
		return value_array_concat(arena, old, write);
	case REDUCE_ADD:
		return old == NULL ? write : add(arena, old, write);
	case REDUCE_MERGE:
		return merge(arena, old, write);
	case REDUCE_LAST:
	case REDUCE_MESSAGES:
		break;
	}
	return value_is_nil(write) ? NULL : write;
}
