/* The setting `backend`: what it may be, and which part of it a path is in. */
#include "backend_part.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "nearest.h"
#include "slot.h"

#define SECONDS_MAX 86400.0
#define SECONDS_USUAL 120.0 /* of a command */
#define OUTPUT_BYTES_MAX 1048576.0

static const char *const kinds[] = { "state", "store", "filesystem", "local_shell",
	"composite" };
#define KINDS (sizeof kinds / sizeof *kinds)

/* A setting of a kind. */
struct row {
	const char *name;
	enum value_type type; /* VALUE_FLOAT: any number */
	double min, max;
};

static const struct row state_rows[] = { { 0 } };
static const struct row store_rows[] = { { "namespace", VALUE_ARRAY, 0, 0 }, { 0 } };
static const struct row folder_rows[] = { { "root_dir", VALUE_STR, 0, 0 },
	{ "virtual_mode", VALUE_BOOL, 0, 0 }, { "max_file_size_mb", VALUE_INT, 1, 1024 },
	{ 0 } };
static const struct row shell_rows[] = { { "root_dir", VALUE_STR, 0, 0 },
	{ "virtual_mode", VALUE_BOOL, 0, 0 }, { "max_file_size_mb", VALUE_INT, 1, 1024 },
	{ "timeout", VALUE_FLOAT, 0.01, SECONDS_MAX },
	{ "max_output_bytes", VALUE_INT, 1, OUTPUT_BYTES_MAX },
	{ "env", VALUE_MAP, 0, 0 }, { "inherit_env", VALUE_BOOL, 0, 0 }, { 0 } };
static const struct row composite_rows[] = { { "default", VALUE_NIL, 0, 0 },
	{ "routes", VALUE_MAP, 0, 0 }, { 0 } };

static const struct row *const rows_of_kind[] = { state_rows, store_rows, folder_rows,
	shell_rows, composite_rows };

/* --- checks --------------------------------------------------------------------------- */

/* The kind of a setting and its own settings: a name, or a map of one. -1: it is neither. */
static int
kind_of(const struct value *setting, const struct value **settings_r)
{
	const char *name = value_text(setting);
	size_t i;

	*settings_r = NULL;
	if (setting == NULL || value_is_nil(setting))
		return 0;
	if (value_is(setting, VALUE_MAP) && value_size(setting) == 1) {
		name = setting->pairs[0].key->text;
		*settings_r = setting->pairs[0].value;
	}
	for (i = 0; name != NULL && i < KINDS; i++)
		if (strcmp(kinds[i], name) == 0)
			return (int)i;
	return -1;
}

static const char *
flaw_of_kind(struct arena *arena, const struct value *setting, const char *place)
{
	const char *name = value_text(setting), *near;

	if (value_is(setting, VALUE_MAP) && value_size(setting) == 1)
		name = setting->pairs[0].key->text;
	near = name == NULL ? NULL : nearest_name(name, kinds, KINDS);
	return arena_printf(arena,
	    "%s: must be state, store, filesystem, local_shell or composite, or a map "
	    "of one of them to its settings%s",
	    place, near == NULL ? "" : arena_printf(arena, "; did you mean %s?", near));
}

static const char *
flaw_of_value(
    struct arena *arena, const struct row *row, const struct value *value, const char *at)
{
	double number = value_number(value, 0);

	if (row->type == VALUE_NIL ||
	    (row->type == VALUE_FLOAT && value_is_number(value)) ||
	    value_is(value, row->type)) {
		if (row->max == 0 || (number >= row->min && number <= row->max))
			return NULL;
		return arena_printf(
		    arena, "%s: must be from %g to %g", at, row->min, row->max);
	}
	return arena_printf(arena, "%s: must be %s", at,
	    row->type == VALUE_BOOL    ? "true or false"
	    : row->type == VALUE_INT   ? "a whole number"
	    : row->type == VALUE_FLOAT ? "a number of seconds"
	    : row->type == VALUE_STR   ? "a text"
	    : row->type == VALUE_MAP   ? "a map"
				       : "a list");
}

static const struct row *
find_row(const struct row *row, const char *name)
{
	while (row->name != NULL && strcmp(row->name, name) != 0)
		row++;
	return row->name == NULL ? NULL : row;
}

#define ROWS_MAX 16u /* of one kind */

static const char *
flaw_of_name(
    struct arena *arena, const struct row *rows, const char *name, const char *at)
{
	const char *names[ROWS_MAX], *near;
	size_t count = 0;

	for (; rows->name != NULL && count < ROWS_MAX; rows++)
		names[count++] = rows->name;
	near = nearest_name(name, names, count);
	return arena_printf(arena, "%s: there is no setting '%s' here%s", at, name,
	    near == NULL ? "" : arena_printf(arena, "; did you mean %s?", near));
}

static const char *
flaw_of_settings(struct arena *arena, const struct row *rows,
    const struct value *settings, const char *place)
{
	const char *flaw = NULL;
	size_t i;

	if (!value_is_nil(settings) && !value_is(settings, VALUE_MAP))
		return arena_printf(arena, "%s: must be a map of settings", place);
	for (i = 0; i < value_size(settings) && flaw == NULL; i++) {
		const char *name = settings->pairs[i].key->text;
		const char *at = arena_printf(arena, "%s/%s", place, name);
		const struct row *row = find_row(rows, name);

		if (row == NULL)
			flaw = flaw_of_name(arena, rows, name, at);
		else
			flaw = flaw_of_value(arena, row, settings->pairs[i].value, at);
	}
	return flaw;
}

static bool
is_label(const struct value *label)
{
	const char *text = value_text(label);
	size_t i;

	if (text == NULL || label->size == 0 || label->size > ITEM_LABEL_BYTES_MAX)
		return false;
	for (i = 0; i < label->size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

/* The first slot of a label that nothing fills, or NULL. */
static const char *
unknown_slot(struct arena *arena, const char *label)
{
	struct slot slot;

	for (; slot_find(label, ".", &slot); label = slot.end) {
		const char *name = arena_copy(arena, slot.name, slot.name_size);

		if (!slot.is_literal && !backend_is_slot(name))
			return name;
	}
	return NULL;
}

static const char *
flaw_of_namespace(struct arena *arena, const struct value *settings, const char *place)
{
	const struct value *namespace = value_get(settings, "namespace");
	size_t i;

	if (namespace == NULL)
		return NULL;
	if (namespace->size == 0 || namespace->size > ITEM_LABELS_MAX)
		return arena_printf(arena, "%s/namespace: must have 1 to %u labels",
		    place, ITEM_LABELS_MAX);
	for (i = 0; i < namespace->size; i++) {
		const char *slot;

		if (!is_label(namespace->items[i]))
			return arena_printf(arena,
			    "%s/namespace/%zu: must be a text of 1 to %u bytes without "
			    "control characters",
			    place, i, ITEM_LABEL_BYTES_MAX);
		slot = unknown_slot(arena, namespace->items[i]->text);
		if (slot != NULL)
			return arena_printf(arena,
			    "%s/namespace/%zu: {%s} is none of {tenant}, {thread}, "
			    "{agent} and {context.NAME}",
			    place, i, slot);
	}
	return NULL;
}

static const char *
flaw_of_folder(struct arena *arena, const struct value *settings, const char *place)
{
	const struct value *env = value_get(settings, "env");
	const char *root = value_get_text(settings, "root_dir");
	size_t i;

	if (root == NULL || root[0] != '/' ||
	    strlen(root) != value_get(settings, "root_dir")->size)
		return arena_printf(arena,
		    "%s/root_dir: root_dir must be there, an absolute path", place);
	for (i = 0; i < value_size(env); i++) {
		const struct value_pair *pair = &env->pairs[i];

		if (!value_is(pair->value, VALUE_STR) || pair->key->size == 0 ||
		    memchr(pair->key->text, '=', pair->key->size) != NULL ||
		    strlen(pair->key->text) != pair->key->size ||
		    strlen(pair->value->text) != pair->value->size)
			return arena_printf(arena,
			    "%s/env/%s: must be the text of a variable", place,
			    pair->key->text);
	}
	return NULL;
}

static const char *flaw_of(
    struct arena *arena, const struct value *setting, const char *place, bool is_inner);

/* Its routes end by a slash, have a form, and lead to what is no composite. */
static const char *
flaw_of_composite(struct arena *arena, const struct value *settings, const char *place)
{
	const struct value *routes = value_get(settings, "routes");
	const char *flaw, *why, *path;
	size_t i;

	flaw = flaw_of(arena, value_get(settings, "default"),
	    arena_printf(arena, "%s/default", place), true);
	if (flaw == NULL && value_size(routes) > BACKEND_ROUTES_MAX)
		flaw = arena_printf(
		    arena, "%s/routes: must be at most %u", place, BACKEND_ROUTES_MAX);
	for (i = 0; i < value_size(routes) && flaw == NULL; i++) {
		const char *route = routes->pairs[i].key->text;
		const char *at = arena_printf(arena, "%s/routes/%s", place, route);

		path = backend_path(arena, route, &why);
		if (path == NULL || path[1] == '\0' ||
		    strcmp(route, arena_printf(arena, "%s/", path)) != 0)
			flaw = arena_printf(arena,
			    "%s: a route is a path with a slash before and behind, as "
			    "/memories/",
			    at);
		else
			flaw = flaw_of(arena, routes->pairs[i].value, at, true);
	}
	return flaw;
}

static const char *
flaw_of(
    struct arena *arena, const struct value *setting, const char *place, bool is_inner)
{
	const struct value *settings;
	int kind = kind_of(setting, &settings);
	const char *flaw;

	if (kind == -1)
		return flaw_of_kind(arena, setting, place);
	if (!value_is_nil(setting) && value_is(setting, VALUE_MAP))
		place = arena_printf(arena, "%s/%s", place, kinds[kind]);
	flaw = flaw_of_settings(arena, rows_of_kind[kind], settings, place);
	if (flaw != NULL)
		return flaw;
	if (strcmp(kinds[kind], "store") == 0)
		return flaw_of_namespace(arena, settings, place);
	if (rows_of_kind[kind] == folder_rows || rows_of_kind[kind] == shell_rows)
		return flaw_of_folder(arena, settings, place);
	if (rows_of_kind[kind] != composite_rows)
		return NULL;
	if (is_inner)
		return arena_printf(
		    arena, "%s: a composite has no other composite in it", place);
	return flaw_of_composite(arena, settings, place);
}

/* --- for configure() -------------------------------------------------------------------- */

static void
drop_field(struct arena *arena, struct middleware_use *use, const char *field)
{
	struct field *fields =
	    arena_alloc(arena, (use->field_count + 1) * sizeof *fields);
	size_t i, count = 0;

	for (i = 0; i < use->field_count; i++)
		if (strcmp(use->fields[i].name, field) != 0)
			fields[count++] = use->fields[i];
	use->fields = fields;
	use->field_count = count;
}

/* names with the field, which may be there. */
static const struct value *
with_field(struct arena *arena, const struct value *names, const char *field)
{
	return value_contains(names, field)
		   ? names
		   : value_array_add(arena, names == NULL ? value_empty_array() : names,
			 value_str(arena, field));
}

int
backend_configure(struct arena *arena, struct middleware_use *use,
    enum backend_readers readers, const char **error_r)
{
	return backend_configure_field(arena, use, BACKEND_FILES, readers, error_r);
}

int
backend_configure_field(struct arena *arena, struct middleware_use *use,
    const char *field, enum backend_readers readers, const char **error_r)
{
	const struct value *setting = value_get(use->settings, "backend");
	const char *flaw = flaw_of(arena, setting, "/backend", false);

	if (flaw != NULL) {
		*error_r = flaw;
		return -1;
	}
	if (!backend_has_state(setting))
		drop_field(arena, use, field);
	else if (readers == BACKEND_READ_BY_WORKERS)
		use->reads = with_field(arena, use->reads, field);
	else if (readers == BACKEND_READ_BY_TOOLS)
		use->tool_reads = with_field(arena, use->tool_reads, field);
	return 0;
}

/* --- its parts -------------------------------------------------------------------------- */

static struct backend_part
part_of_setting(const struct value *setting, const char *route)
{
	const struct value *settings;
	int kind = kind_of(setting, &settings);

	return (struct backend_part){
		.kind = kinds[kind < 0 ? 0 : kind], .settings = settings, .route = route
	};
}

static const struct value *
composite_of(const struct value *setting)
{
	const struct value *composite = value_get(setting, "composite");

	return value_is(composite, VALUE_MAP) ? composite : NULL;
}

bool
backend_part_at(
    const struct value *setting, const char *route, struct backend_part *part_r)
{
	const struct value *composite = composite_of(setting);
	const struct value *routes = value_get(composite, "routes");

	if (route[0] == '\0')
		setting = composite == NULL && value_has(setting, "composite") ? NULL
			  : composite == NULL                                  ? setting
					      : value_get(composite, "default");
	else if (value_has(routes, route))
		setting = value_get(routes, route);
	else
		return false;
	*part_r = part_of_setting(setting, route);
	return true;
}

static const char *
longest_route(const struct value *setting, const char *path)
{
	const struct value *routes = value_get(composite_of(setting), "routes");
	const char *best = "";
	size_t i, size;

	for (i = 0; i < value_size(routes); i++) {
		const char *route = routes->pairs[i].key->text;

		size = strlen(route) - 1; /* without the slash behind */
		if (strncmp(path, route, size) == 0 &&
		    (path[size] == '/' || path[size] == '\0') && size + 1 > strlen(best))
			best = route;
	}
	return best;
}

struct backend_part
backend_part_of(struct arena *arena, const struct value *setting, const char *path,
    const char **inside_r)
{
	const char *route = longest_route(setting, path);
	struct backend_part part;

	*inside_r = path;
	if (route[0] != '\0') {
		path += strlen(route) - 1;
		*inside_r = path[0] == '\0' ? "/" : arena_strdup(arena, path);
	}
	backend_part_at(setting, route, &part);
	return part;
}

const struct value *
backend_routes(struct arena *arena, const struct value *setting)
{
	const struct value *routes = value_get(composite_of(setting), "routes");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(routes); i++)
		value_list_add(&list, routes->pairs[i].key);
	return value_list_end(&list);
}

/* Whether a part is one of these kinds; of a composite the default alone unless anywhere. */
static bool
has_kind(const struct value *setting, const char *kind, const char * or, bool anywhere)
{
	const struct value *routes = value_get(composite_of(setting), "routes");
	struct backend_part part;
	size_t i;

	backend_part_at(setting, "", &part);
	if (strcmp(part.kind, kind) == 0 || strcmp(part.kind, or) == 0)
		return true;
	for (i = 0; anywhere && i < value_size(routes); i++) {
		part = part_of_setting(routes->pairs[i].value, "");
		if (strcmp(part.kind, kind) == 0 || strcmp(part.kind, or) == 0)
			return true;
	}
	return false;
}

bool
backend_executes(const struct value *setting)
{
	return has_kind(setting, "local_shell", "local_shell", false);
}

double
backend_seconds_of(const struct backend_part *part)
{
	return value_get_number(part->settings, "timeout", SECONDS_USUAL);
}

double
backend_execute_seconds(const struct value *setting)
{
	struct backend_part part;

	backend_part_at(setting, "", &part);
	return backend_seconds_of(&part);
}

bool
backend_has_state(const struct value *setting)
{
	return has_kind(setting, "state", "state", true);
}

bool
backend_has_folder(const struct value *setting)
{
	return has_kind(setting, "filesystem", "local_shell", true);
}
