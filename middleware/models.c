#include "models.h"

#include <fnmatch.h>
#include <string.h>

#include "model_profile.h"
#include "pointer.h"
#include "yaml_file.h"

enum known { UNKNOWN, NO, YES, ALONE };

static const struct row {
	const char *pattern;
	enum known output, tools;
	int64_t max_input, max_output;
	double input, cost_output, cache_read, cache_write, cache_write_1h;
} table[] = {
#define MODEL(...) { __VA_ARGS__ },
#include "models.def"
#undef MODEL
};

static struct {
	struct arena *arena;
	const struct value *rows; /* {pattern: profile}, in its order, or NULL */
} extra;                          /* the user's file */

/* A process asks for few models, for each at every call, and a look-up compares a name with a
 * hundred patterns. */
#define KEPT_MAX 32u
static struct {
	struct arena *arena; /* NULL: none */
	struct kept {
		const char *model;
		const struct value *profile;
	} all[KEPT_MAX];
	size_t count;
} kept;

static void
forget_kept(void)
{
	arena_destroy(&kept.arena);
	kept.count = 0;
}

/* --- the file ----------------------------------------------------------------------- */

/* Returns what is wrong with the table in yaml, or NULL. */
static const char *
flaw_of(struct arena *arena, const struct yaml *yaml, const struct value *given)
{
	size_t i;

	if (!value_is(given, VALUE_MAP))
		return arena_printf(arena,
		    "%s: must be a map of model names, as in \"gpt-4o*\": "
		    "{structured_output: true}, not %s",
		    yaml_place(yaml, arena, 0, ""), value_article_name(given));
	for (i = 0; i < given->size; i++) {
		const char *path = pointer_add(arena, "", given->pairs[i].key->text),
			   *key;
		const char *flaw = model_profile_flaw(arena, given->pairs[i].value, &key);

		if (flaw == NULL)
			continue;
		if (*key != '\0')
			path = pointer_add(arena, path, key);
		return arena_printf(
		    arena, "%s: %s", yaml_key_place(yaml, arena, 0, path), flaw);
	}
	return NULL;
}

/* Returns the rows of file in arena; NULL: there are none, or *flaw_r says why not. */
static const struct value *
rows_of(struct arena *arena, const char *file, const char **flaw_r)
{
	struct yaml *yaml = yaml_load(arena, file, flaw_r);
	const struct value *rows;

	if (yaml == NULL)
		return NULL;
	rows = yaml_root(yaml, 0);
	/* A file with nothing but comments in it is a table without rows. */
	*flaw_r = value_is_nil(rows) ? NULL : flaw_of(arena, yaml, rows);
	yaml_destroy(&yaml);
	return value_is_nil(rows) ? NULL : rows;
}

int
models_load(const char *file, struct arena *arena, const char **error_r)
{
	struct arena *own = arena_new();
	const struct value *rows = NULL;
	const char *flaw = NULL;

	if (file != NULL)
		rows = rows_of(own, file, &flaw);
	if (flaw != NULL) {
		*error_r = arena_strdup(arena, flaw);
		arena_destroy(&own);
		return -1;
	}
	models_unload();
	extra.arena = own;
	extra.rows = rows;
	return 0;
}

void
models_unload(void)
{
	arena_destroy(&extra.arena);
	extra.rows = NULL;
	forget_kept();
}

/* --- asking ------------------------------------------------------------------------- */

static const char *
bare_name(const char *model)
{
	const char *slash = strrchr(model, '/'), *colon = strchr(model, ':');

	if (slash != NULL)
		return slash + 1;
	model = colon == NULL ? model : colon + 1;
	return strncmp(model, "ft:", 3) == 0 ? model + 3 : model;
}

static bool
fits(const char *pattern, const char *model)
{
	const char *name = strchr(pattern, ':') != NULL ? model : bare_name(model);

	return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static const struct value *
price(struct arena *arena, double dollars)
{
	return dollars > 0 ? value_float(arena, dollars) : NULL;
}

static const struct value *
tokens(struct arena *arena, int64_t count)
{
	return count > 0 ? value_int(arena, count) : NULL;
}

static const struct value *
profile_of(struct arena *arena, const struct row *row)
{
	const struct value *cost = value_map(arena, "input", price(arena, row->input),
	    "output", price(arena, row->cost_output), "cache_read",
	    price(arena, row->cache_read), "cache_write", price(arena, row->cache_write),
	    "cache_write_1h", price(arena, row->cache_write_1h), NULL);

	return value_map(arena, "structured_output",
	    row->output == UNKNOWN ? NULL : value_bool(row->output != NO),
	    "except_with_tools", row->output == ALONE ? value_bool(true) : NULL,
	    "tool_calling", row->tools == UNKNOWN ? NULL : value_bool(row->tools != NO),
	    "max_input_tokens", tokens(arena, row->max_input), "max_output_tokens",
	    tokens(arena, row->max_output), "cost", value_size(cost) == 0 ? NULL : cost,
	    NULL);
}

static const struct value *
look_up(struct arena *arena, const char *model)
{
	const struct value *profile = value_empty_map();
	size_t i;

	for (i = 0; i < value_size(extra.rows); i++) {
		if (fits(extra.rows->pairs[i].key->text, model))
			profile = model_profile_over(arena, profile,
			    value_copy(arena, extra.rows->pairs[i].value));
	}
	for (i = 0; i < sizeof table / sizeof *table; i++) {
		if (fits(table[i].pattern, model))
			return model_profile_over(
			    arena, profile, profile_of(arena, &table[i]));
	}
	return profile;
}

static const struct kept *
keep(const char *model)
{
	struct kept *entry;

	if (kept.count == KEPT_MAX)
		forget_kept();
	if (kept.arena == NULL)
		kept.arena = arena_new();
	entry = &kept.all[kept.count++];
	*entry = (struct kept){ .model = arena_strdup(kept.arena, model),
		.profile = look_up(kept.arena, model) };
	return entry;
}

const struct value *
models_profile(struct arena *arena, const char *model)
{
	size_t i;

	for (i = 0; i < kept.count; i++)
		if (strcmp(kept.all[i].model, model) == 0)
			return value_copy(arena, kept.all[i].profile);
	return value_copy(arena, keep(model)->profile);
}
