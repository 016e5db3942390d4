/* A use: one middleware with one agent's settings, made from what its type declares. */
#include "registry.h"

#include <string.h>

#include "json.h"
#include "model_name.h"
#include "model_profile.h"
#include "models.h"
#include "nearest.h"
#include "options.h"

const struct value *
tool_to_value(struct arena *arena, const struct tool *tool)
{
	const struct value *parameters = NULL;
	const char *error;

	if (tool->parameters != NULL)
		parameters =
		    json_parse(arena, tool->parameters, strlen(tool->parameters), &error);
	if (parameters == NULL)
		parameters = value_map(arena, "type", value_str(arena, "object"), NULL);
	return value_map(arena, "name", value_str(arena, tool->name), "description",
	    value_str(arena, tool->description), "parameters", parameters,
	    "return_direct", tool->return_direct ? value_bool(true) : NULL, "idempotent",
	    value_bool(!tool->once), "uncertain",
	    tool->uncertain == NULL ? NULL : value_str(arena, tool->uncertain),
	    "timeout_ms",
	    tool->timeout_ms == 0 ? NULL : value_int(arena, (int64_t)tool->timeout_ms),
	    "pin", tool->pin == NULL ? NULL : value_str(arena, tool->pin), "lost",
	    tool->lost == NULL ? NULL : value_str(arena, tool->lost), NULL);
}

static const struct value *
tools_of(struct arena *arena, const struct middleware *type)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; type->tools != NULL && type->tools[i] != NULL; i++)
		if (!type->tools[i]->internal)
			value_list_add(&list, tool_to_value(arena, type->tools[i]));
	return value_list_end(&list);
}

static const struct value *
reads_of(struct arena *arena, const struct middleware *type)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; type->reads != NULL && type->reads[i] != NULL; i++)
		value_list_add(&list, value_str(arena, type->reads[i]));
	return value_list_end(&list);
}

/* Those its settings name. */
static const struct value *
asks_of(struct arena *arena, const struct middleware *type, const struct value *settings)
{
	struct value_list list = { .arena = arena };
	const struct option *option;

	for (option = type->options; option != NULL && option->name != NULL; option++) {
		const struct value *given = value_get(settings, option->name);

		if (option->type == OPTION_MODEL && !value_is_nil(given))
			value_list_add(&list, given);
	}
	return value_list_end(&list);
}

static void
hooks_of(const struct middleware *type, bool hooks[HOOK_COUNT])
{
	hooks[HOOK_BEFORE_AGENT] = type->before_agent != NULL;
	hooks[HOOK_BEFORE_MODEL] = type->before_model != NULL;
	hooks[HOOK_AFTER_MODEL] = type->after_model != NULL;
	hooks[HOOK_AFTER_AGENT] = type->after_agent != NULL;
	hooks[HOOK_MODIFY_MODEL_REQUEST] = type->modify_model_request != NULL;
	hooks[HOOK_WRAP_MODEL_CALL] = type->wrap_model_call != NULL;
	hooks[HOOK_WRAP_TOOL_CALL] = type->wrap_tool_call != NULL;
}

/* What type does when no setting says otherwise. */
static struct middleware_use *
use_of(struct arena *arena, const struct middleware *type, const struct value *settings)
{
	struct middleware_use *use = arena_alloc(arena, sizeof *use);

	use->type = type;
	use->name = type->name;
	use->settings = settings;
	use->filters_tokens = type->filter_tokens != NULL;
	hooks_of(type, use->hooks);
	memcpy(use->jumps, type->jumps, sizeof use->jumps);
	use->fields = type->fields;
	while (type->fields != NULL && type->fields[use->field_count].name != NULL)
		use->field_count++;
	use->tools = tools_of(arena, type);
	use->reads = reads_of(arena, type);
	use->asks_models = asks_of(arena, type, settings);
	return use;
}

/* --- what is known of models --------------------------------------------------------- */

const struct value *
use_known_model(struct arena *arena, const struct middleware_use *use, const char *model)
{
	const char *own = use == NULL ? NULL : use->agent_model;
	const struct value *said = NULL;

	if (model == NULL)
		model = own == NULL ? "" : own;
	if (use != NULL && value_has(use->models, model))
		return value_get(use->models, model);
	if (own != NULL && strcmp(own, model) == 0)
		said = use->agent_profile;
	return model_profile_over(arena, said, models_profile(arena, model));
}

const struct value *
use_model_profile(struct arena *arena, struct middleware_use *use, const char *model)
{
	const struct value *profile = use_known_model(arena, use, model);

	if (model == NULL)
		model = use->agent_model == NULL ? "" : use->agent_model;
	use->models = value_map_with(arena, use->models, model, profile);
	return profile;
}

/* --- configure ------------------------------------------------------------------------ */

/* configure gives one text; "/max_retries: must be ..." names the place in front. */
static void
split_reason(
    struct arena *arena, const char *text, const char **path_r, const char **error_r)
{
	const char *colon = text[0] == '/' ? strstr(text, ": ") : NULL;

	*path_r = colon == NULL ? "" : arena_copy(arena, text, (size_t)(colon - text));
	*error_r = colon == NULL ? text : colon + 2;
}

static bool
are_models(struct arena *arena, const struct value *models)
{
	size_t i;

	for (i = 0; i < value_size(models); i++)
		if (model_name_flaw(arena, value_at(models, i)) != NULL)
			return false;
	return value_is(models, VALUE_ARRAY);
}

/* configure may narrow: it must not turn on what the type has not got. */
static bool
is_sound(struct arena *arena, const struct middleware_use *use)
{
	bool has[HOOK_COUNT];
	int hook;

	hooks_of(use->type, has);
	for (hook = 0; hook < HOOK_COUNT; hook++) {
		if (use->hooks[hook] && !has[hook])
			return false;
	}
	return use->name != NULL && use->name[0] != '\0' &&
	       value_is(use->settings, VALUE_MAP) && value_is(use->tools, VALUE_ARRAY) &&
	       value_is(use->reads, VALUE_ARRAY) && are_models(arena, use->asks_models);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **path_r,
    const char **error_r)
{
	const char *reason = NULL;

	if (use->type->configure == NULL)
		return 0;
	if (use->type->configure(arena, use, &reason) == -1) {
		if (reason == NULL)
			reason = arena_printf(
			    arena, "%s refuses its settings", use->type->name);
		split_reason(arena, reason, path_r, error_r);
		return -1;
	}
	if (is_sound(arena, use))
		return 0;
	*path_r = "";
	*error_r = arena_printf(arena,
	    "%s configured itself to something it is not (a mistake in the middleware)",
	    use->type->name);
	return -1;
}

static const char *
unknown_text(struct arena *arena, const char *name)
{
	const char *const *names = registry_names();
	const char *near;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	near = nearest_name(name, names, count);
	return near == NULL ? arena_printf(arena, "there is no middleware \"%s\"", name)
			    : arena_printf(arena,
				  "there is no middleware \"%s\"; did you mean \"%s\"?",
				  name, near);
}

struct middleware_use *
registry_use(struct arena *arena, const char *name, const struct value *settings,
    const char **path_r, const char **error_r)
{
	return registry_use_of(arena, NULL, NULL, name, settings, path_r, error_r);
}

struct middleware_use *
registry_use_of(struct arena *arena, const struct use_agent *agent,
    const struct value *models, const char *name, const struct value *settings,
    const char **path_r, const char **error_r)
{
	const struct middleware *type = registry_find(name);
	const struct value *checked;
	struct middleware_use *use;

	if (type == NULL) {
		*path_r = "";
		*error_r = unknown_text(arena, name);
		return NULL;
	}
	checked = options_check(arena, name, type->options, settings, path_r, error_r);
	if (checked == NULL)
		return NULL;
	use = use_of(arena, type, checked);
	use->models = models;
	if (agent != NULL) {
		use->agent_model = agent->model;
		use->agent_profile = agent->model_profile;
		use->agent_source = agent->source;
	}
	return configure(arena, use, path_r, error_r) == 0 ? use : NULL;
}
