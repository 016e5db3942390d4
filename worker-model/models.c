#include "models.h"

#include <fnmatch.h>
#include <string.h>

#include "model_profile.h"
#include "options.h"
#include "yaml.h"

static const struct {
	const char *pattern;
	bool structured_output, except_with_tools;
} table[] = {
#define MODEL(pattern, structured_output, except_with_tools)                             \
	{ pattern, structured_output, except_with_tools },
#include "models.def"
#undef MODEL
};

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

int
models_init(
    struct models *models_r, const char *file, struct arena *arena, const char **error_r)
{
	struct arena *own = arena_new();
	struct yaml *yaml = file == NULL ? NULL : yaml_load(own, file, error_r);
	const char *flaw = NULL;

	*models_r = (struct models){ .arena = own };
	if (yaml != NULL) {
		models_r->given = yaml_root(yaml, 0);
		/* A file with nothing but comments in it is a table without rows. */
		if (value_is_nil(models_r->given))
			models_r->given = NULL;
		else
			flaw = flaw_of(own, yaml, models_r->given);
		yaml_destroy(&yaml);
	} else if (file != NULL) {
		flaw = *error_r;
	}
	if (flaw == NULL)
		return 0;
	*error_r = arena_strdup(arena, flaw);
	models_release(models_r);
	return -1;
}

void
models_release(struct models *models)
{
	arena_destroy(&models->arena);
	models->given = NULL;
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

bool
models_give_output(const struct models *models, const char *model, bool with_tools)
{
	size_t i;

	for (i = 0; i < value_size(models->given); i++) {
		const struct value_pair *pair = &models->given->pairs[i];

		if (fits(pair->key->text, model))
			return model_profile_gives_output(pair->value, with_tools);
	}
	for (i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (fits(table[i].pattern, model))
			return table[i].structured_output &&
			       !(with_tools && table[i].except_with_tools);
	}
	return false;
}
