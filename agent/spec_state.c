/* `state`: the agent's own fields, over those of its middleware. */
#include <string.h>

#include "field.h"
#include "json.h"
#include "bounds.h"
#include "loader.h"
#include "pointer.h"

static const char *const keys[] = { "type", "default", "reducer", "untracked",
	"ephemeral", "private", "omit_from_input", "omit_from_output", NULL };

/* Fields under construction: a later definition of a name wins, in the first's place. */
struct fields {
	struct field *items;
	size_t count;
};

static void
put(struct fields *fields, const struct field *field)
{
	size_t i;

	for (i = 0; i < fields->count; i++) {
		if (strcmp(fields->items[i].name, field->name) == 0)
			break;
	}
	fields->items[i] = *field;
	if (i == fields->count)
		fields->count++;
}

/* --- one field ---------------------------------------------------------------------- */

static int
load_text(struct loader *loader, const char *path, const struct value *map,
    const char *key, const char **text_r)
{
	const struct value *given = value_get(map, key);

	*text_r = value_text(given);
	if (value_is_nil(given) || value_is(given, VALUE_STR))
		return 0;
	return loader_fail(loader, pointer_add(loader->arena, path, key),
	    "must be a string, not %s", value_article_name(given));
}

static int
load_flag(struct loader *loader, const char *path, const struct value *map,
    const char *key, bool *flag_r)
{
	const struct value *given = value_get(map, key);

	*flag_r = value_get_bool(map, key, false);
	if (given == NULL || value_is(given, VALUE_BOOL))
		return 0;
	return loader_fail(loader, pointer_add(loader->arena, path, key),
	    "must be true or false, not %s", value_article_name(given));
}

static int
load_flags(
    struct loader *loader, const char *path, const struct value *map, struct field *field)
{
	bool private;

	if (load_flag(loader, path, map, "untracked", &field->untracked) == -1 ||
	    load_flag(loader, path, map, "ephemeral", &field->ephemeral) == -1 ||
	    load_flag(loader, path, map, "private", &private) == -1 ||
	    load_flag(loader, path, map, "omit_from_input", &field->omit_from_input) ==
		-1 ||
	    load_flag(loader, path, map, "omit_from_output", &field->omit_from_output) ==
		-1)
		return -1;
	field->omit_from_input |= private;
	field->omit_from_output |= private;
	return 0;
}

static int
load_reducer(
    struct loader *loader, const char *path, const struct value *map, struct field *field)
{
	const char *name;

	if (load_text(loader, path, map, "reducer", &name) == -1)
		return -1;
	field->reducer = name == NULL ? REDUCE_LAST : reducer_from_name(name);
	if (name == NULL || field->reducer != REDUCE_LAST)
		return 0;
	return loader_fail(loader, pointer_add(loader->arena, path, "reducer"),
	    "there is no reducer \"%s\" (append, add or merge)%s", name,
	    loader_hint(loader->arena, name, reducer_names()));
}

static int
refuse_field(struct loader *loader, const char *path, const struct field *field,
    const char *key, const char *flaw)
{
	const char *hint = "";

	if (strcmp(key, "type") == 0)
		hint = loader_hint(loader->arena, field->type, field_type_names());
	if (key[0] != '\0')
		path = pointer_add(loader->arena, path, key);
	return loader_fail(loader, path, "%s%s", flaw, hint);
}

static int
load_field(struct loader *loader, const char *path, const char *name,
    const struct value *map, struct field *field)
{
	const struct value *otherwise = value_get(map, "default");
	const char *key, *flaw;

	*field = (struct field){ .name = name };
	if (!value_is(map, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a map, as in {type: integer, reducer: add}, not %s",
		    value_article_name(map));
	if (loader_known_keys(loader, path, map, keys, "a state field") == -1)
		return -1;
	if (load_text(loader, path, map, "type", &field->type) == -1 ||
	    load_reducer(loader, path, map, field) == -1 ||
	    load_flags(loader, path, map, field) == -1)
		return -1;
	if (!value_is_nil(otherwise))
		field->otherwise = json_text(loader->arena, otherwise);
	flaw = field_flaw(loader->arena, field, &key);
	return flaw == NULL ? 0 : refuse_field(loader, path, field, key, flaw);
}

/* --- all ---------------------------------------------------------------------------- */

static int
put_fields_of(
    struct loader *loader, struct fields *fields, const struct middleware_use *use)
{
	const char *key, *flaw;
	size_t i;

	for (i = 0; i < use->field_count; i++) {
		flaw = field_flaw(loader->arena, &use->fields[i], &key);
		if (flaw != NULL)
			return loader_fail(loader, "/middleware",
			    "the state field \"%s\" of the middleware \"%s\": %s%s%s",
			    use->fields[i].name, use->name, key,
			    key[0] == '\0' ? "" : " ", flaw);
		put(fields, &use->fields[i]);
	}
	return 0;
}

int
load_state(struct loader *loader, const char *path, const struct value *given)
{
	struct spec *spec = loader->spec;
	struct fields fields = { 0 };
	struct field field;
	size_t i, room;

	if (given == NULL)
		given = value_empty_map();
	if (!value_is(given, VALUE_MAP))
		return loader_fail(loader, path,
		    "must be a map of field names to their definitions, not %s",
		    value_article_name(given));
	room = given->size;
	for (i = 0; i < spec->use_count; i++)
		room += spec->uses[i]->field_count;
	if (room > STATE_FIELDS_MAX)
		return loader_fail(
		    loader, path, "more than %u state fields", STATE_FIELDS_MAX);
	fields.items = arena_alloc(loader->arena, room * sizeof *fields.items);
	for (i = 0; i < spec->use_count; i++) {
		if (put_fields_of(loader, &fields, spec->uses[i]) == -1)
			return -1;
	}
	for (i = 0; i < given->size; i++) {
		const char *name = given->pairs[i].key->text;

		if (load_field(loader, pointer_add(loader->arena, path, name), name,
			given->pairs[i].value, &field) == -1)
			return -1;
		put(&fields, &field);
	}
	spec->fields = fields.items;
	spec->field_count = fields.count;
	return 0;
}

const struct field *
spec_field(const struct spec *spec, const char *name)
{
	size_t i;

	for (i = 0; i < spec->field_count; i++)
		if (strcmp(spec->fields[i].name, name) == 0)
			return &spec->fields[i];
	return NULL;
}
