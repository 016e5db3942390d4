/* What all documents of tool files have in common while they are read. */
#include "tool_reading.h"

#include <stdarg.h>
#include <string.h>

#include "nearest.h"

#define KEYS_MAX 32u

/* --- refusing ----------------------------------------------------------------------- */

static int
refuse_at(struct reading *reading, const char *place, const char *reason)
{
	reading->error = arena_printf(reading->arena, "%s: %s", place, reason);
	return -1;
}

int
reading_refuse(struct reading *reading, const char *path, const char *format, ...)
{
	const char *reason;
	va_list args;

	va_start(args, format);
	reason = arena_vprintf(reading->arena, format, args);
	va_end(args);
	return refuse_at(reading,
	    yaml_place(reading->yaml, reading->arena, reading->index, path), reason);
}

static const char *
path_of(struct reading *reading, const char *key)
{
	return arena_printf(reading->arena, "/%s", key);
}

const char *
reading_text(struct reading *reading, const char *key, const struct value *value)
{
	if (value_is(value, VALUE_STR) && value->size > 0 &&
	    strlen(value->text) == value->size)
		return value->text;
	if (!value_is(value, VALUE_STR))
		reading_refuse(reading, path_of(reading, key),
		    "%s must be text, not %s; put it in quotes", key,
		    value_type_name(value->type));
	else
		reading_refuse(reading, path_of(reading, key),
		    "%s must not be empty or hold a NUL", key);
	return NULL;
}

int
reading_flag(struct reading *reading, const char *key, const struct value *value,
    bool otherwise, bool *flag_r)
{
	if (value != NULL && !value_is(value, VALUE_BOOL))
		return reading_refuse(reading, path_of(reading, key),
		    "%s must be true or false, not %s", key,
		    value_type_name(value->type));
	*flag_r = value == NULL ? otherwise : value->boolean;
	return 0;
}

/* Reads a whole number from min to max into *number_r, which holds the default. */
int
reading_number(struct reading *reading, const char *key, const struct value *value,
    int64_t min, int64_t max, uint64_t *number_r)
{
	if (value == NULL)
		return 0;
	if (!value_is(value, VALUE_INT) || value->integer < min || value->integer > max)
		return reading_refuse(reading, path_of(reading, key),
		    "%s must be a whole number from %lld to %lld", key, (long long)min,
		    (long long)max);
	*number_r = (uint64_t)value->integer;
	return 0;
}

/* --- a document ----------------------------------------------------------------------- */

static int
check_key(struct reading *reading, const struct reading_keys *keys, const char *given)
{
	const char *names[KEYS_MAX], *nearest;
	size_t i;

	for (i = 0; i < keys->count; i++) {
		if (strcmp(keys->all[i].name, given) == 0)
			return 0;
		names[i] = keys->all[i].name;
	}
	nearest = nearest_name(given, names, keys->count);
	return refuse_at(reading,
	    yaml_key_place(
		reading->yaml, reading->arena, reading->index, path_of(reading, given)),
	    nearest != NULL ? arena_printf(reading->arena,
				  "unknown key '%s'; did you mean '%s'?", given, nearest)
			    : arena_printf(reading->arena, "unknown key '%s'; %s", given,
				  keys->manual));
}

static int
read_key(
    struct reading *reading, const struct reading_key *key, const struct value *document)
{
	const struct value *value = value_get(document, key->name);

	if (value == NULL && key->why != NULL)
		return reading_refuse(
		    reading, "", "key '%s' is missing: %s", key->name, key->why);
	return key->read(reading, value);
}

int
reading_document(struct reading *reading, const struct reading_keys *keys,
    const struct value *document)
{
	size_t i;

	for (i = 0; i < document->size; i++)
		if (check_key(reading, keys, document->pairs[i].key->text) == -1)
			return -1;
	for (i = 0; i < keys->count; i++)
		if (read_key(reading, &keys->all[i], document) == -1)
			return -1;
	return 0;
}
