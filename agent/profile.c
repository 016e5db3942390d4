/* The profiles of an agent's calls (proto/bodies.h): what is equal for all of them. */
#include "spec.h"

static bool
in_model_worker(const struct middleware_use *use)
{
	return use->hooks[HOOK_MODIFY_MODEL_REQUEST] ||
	       use->hooks[HOOK_WRAP_MODEL_CALL] || use->filters_tokens;
}

static bool
has_internal_tool(const struct middleware *type)
{
	size_t i;

	for (i = 0; type->tools != NULL && type->tools[i] != NULL; i++)
		if (type->tools[i]->internal)
			return true;
	return false;
}

/* The tools that a middleware brings run there too, with its settings: those that no model is told of
 * among them. */
static bool
in_tool_worker(const struct middleware_use *use)
{
	return use->hooks[HOOK_WRAP_TOOL_CALL] || value_size(use->tools) > 0 ||
	       has_internal_tool(use->type);
}

/* The uses that belong in a worker, as [{name, settings, models?}]: it makes its chain of them by
 * the type's name. */
static const struct value *
slice(struct arena *arena, const struct spec *spec,
    bool (*belongs)(const struct middleware_use *use))
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < spec->use_count; i++) {
		const struct middleware_use *use = spec->uses[i];

		if (belongs(use))
			value_list_add(&list,
			    value_map(arena, "name", value_str(arena, use->type->name),
				"settings", use->settings, "models", use->models, NULL));
	}
	return value_list_end(&list);
}

bool
spec_counts_usage(const struct spec *spec)
{
	size_t i;

	for (i = 0; i < spec->field_count; i++)
		if (spec->fields[i].counts_usage)
			return true;
	return false;
}

bool
spec_answers_open_calls(const struct spec *spec)
{
	size_t i;

	for (i = 0; i < spec->use_count; i++)
		if (spec->uses[i]->answers_open_calls)
			return true;
	return false;
}

/* True, for a profile, when the agent counts what its model calls use; else NULL. */
static const struct value *
tells_usage(const struct spec *spec)
{
	return spec_counts_usage(spec) ? value_bool(true) : NULL;
}

const struct value *
spec_hides(const struct spec *spec)
{
	size_t i;

	for (i = 0; i < spec->use_count; i++)
		if (spec->uses[i]->filters_tokens)
			return value_bool(true);
	return NULL;
}

const struct value *
spec_model_profile(
    struct arena *arena, const struct spec *spec, const struct value *catalog)
{
	struct value_fields fields = { .arena = arena };
	const struct value *system = NULL, *settings = NULL, *name = NULL;

	if (spec->system_prompt != NULL)
		system = value_str(arena, spec->system_prompt);
	if (value_size(spec->model_settings) > 0)
		settings = spec->model_settings;
	if (spec->names_messages)
		name = value_str(arena, spec->name);
	value_fields_set(&fields, "agent", value_str(arena, spec->name));
	value_fields_set(&fields, "version", value_str(arena, spec->version));
	value_fields_set(&fields, "model", value_str(arena, spec->model));
	value_fields_set(&fields, "model_settings", settings);
	value_fields_set(&fields, "model_profile", spec->model_profile);
	value_fields_set(&fields, "system_prompt", system);
	value_fields_set(&fields, "tools", spec_offered_tools(arena, spec, catalog));
	value_fields_set(&fields, "middleware", slice(arena, spec, in_model_worker));
	value_fields_set(&fields, "response_format", spec->response_format);
	value_fields_set(&fields, "script", spec->script);
	value_fields_set(&fields, "wraps_tools", value_bool(spec->wraps_tools));
	value_fields_set(&fields, "name", name);
	value_fields_set(&fields, "tells_usage", tells_usage(spec));
	return value_freeze(arena, value_fields_end(&fields));
}

const struct value *
spec_tool_profile(
    struct arena *arena, const struct spec *spec, const struct value *catalog)
{
	return value_freeze(arena,
	    value_map(arena, "agent", value_str(arena, spec->name), "version",
		value_str(arena, spec->version), "model", value_str(arena, spec->model),
		"tools", spec_valid_tools(arena, spec, catalog), "middleware",
		slice(arena, spec, in_tool_worker), "script", spec->script, "tells_usage",
		tells_usage(spec), "hides", spec_hides(spec), NULL));
}
