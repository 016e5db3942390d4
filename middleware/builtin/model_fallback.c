/* model_fallback: other models, one after the other, when one fails (semantics.md 6.4). */
#include "middleware.h"

#include <string.h>

#include "model_name.h"
#include "pointer.h"

#define MODELS_MAX 32u

static const struct option options[] = {
	{ .name = "models",
	    .type = OPTION_LIST,
	    .required = true,
	    .text = "The models to ask instead, in this order, each a name as in "
		    "`openai:gpt-4o` or `{model, model_settings}`." },
	{ 0 },
};

/* What a model of any provider takes: docs/models.md. */
static const char *const portable[] = { "temperature", "top_p", "max_tokens", "stop",
	"stop_sequences", "timeout", "request_timeout", "max_retries", "streaming",
	"stream_usage", "tool_choice" };

/* --- settings ----------------------------------------------------------------------- */

/* The name in an entry, or NULL. */
static const struct value *
name_in(const struct value *entry)
{
	return value_is(entry, VALUE_MAP) ? value_get(entry, "model") : entry;
}

/* Returns what is wrong with an entry, *at_r the place in it, or NULL. */
static const char *
entry_flaw(struct arena *arena, const struct value *entry, const char **at_r)
{
	const struct value *settings = value_get(entry, "model_settings");
	size_t i;

	*at_r = "";
	for (i = 0; value_is(entry, VALUE_MAP) && i < entry->size; i++) {
		const char *key = entry->pairs[i].key->text;

		if (strcmp(key, "model") == 0 || strcmp(key, "model_settings") == 0)
			continue;
		*at_r = pointer_add(arena, "", key);
		return "is not known here; an entry has model and model_settings";
	}
	if (settings != NULL && !value_is(settings, VALUE_MAP)) {
		*at_r = "/model_settings";
		return arena_printf(
		    arena, "must be a map, not %s", value_article_name(settings));
	}
	if (value_is(entry, VALUE_MAP))
		*at_r = "/model";
	return model_name_flaw(arena, name_in(entry));
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *models = value_get(use->settings, "models");
	struct value_list names = { .arena = arena };
	const char *flaw, *at;
	size_t i;

	if (value_size(models) == 0 || value_size(models) > MODELS_MAX) {
		*error_r = arena_printf(arena, "/models: must be 1 to %u models, not %zu",
		    MODELS_MAX, value_size(models));
		return -1;
	}
	for (i = 0; i < value_size(models); i++) {
		flaw = entry_flaw(arena, value_at(models, i), &at);
		if (flaw != NULL) {
			*error_r = arena_printf(arena, "/models/%zu%s: %s", i, at, flaw);
			return -1;
		}
		value_list_add(&names, name_in(value_at(models, i)));
	}
	use->asks_models = value_list_end(&names);
	return 0;
}

/* --- another provider --------------------------------------------------------------- */

static bool
is_portable(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof portable / sizeof *portable; i++)
		if (strcmp(portable[i], name) == 0)
			return true;
	return false;
}

/* A tool that the provider runs itself means nothing to another. */
static bool
is_provider_tool(const struct value *tool)
{
	const char *type = value_get_text(tool, "type");

	return type != NULL && strcmp(type, "function") != 0;
}

/* What is left of request for another provider, and a note of what is not. */
static struct model_request *
without_the_providers_own(struct model_request *request)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_model_settings(request);
	const struct value *all = model_tools(request);
	struct value_fields kept = { .arena = arena };
	struct value_list tools = { .arena = arena };
	const char *left_out = "";
	size_t i;

	for (i = 0; i < value_size(settings); i++) {
		const char *name = settings->pairs[i].key->text;

		if (is_portable(name))
			value_fields_set(&kept, name, settings->pairs[i].value);
		else
			left_out = arena_printf(arena, "%s %s", left_out, name);
	}
	for (i = 0; i < value_size(all); i++) {
		if (!is_provider_tool(value_at(all, i)))
			value_list_add(&tools,
			    value_map_with(arena, value_at(all, i), "extras", NULL));
		else
			left_out = arena_printf(arena, "%s %s", left_out,
			    value_get_text(value_at(all, i), "type"));
	}
	if (left_out[0] != '\0')
		model_note(request, "left out for another provider:%s", left_out);
	request = model_override(request, "model_settings", value_fields_end(&kept));
	return model_override(request, "tools", value_list_end(&tools));
}

static struct model_request *
request_for(struct model_request *request, const struct value *entry)
{
	const struct value *name = name_in(entry);

	if (!model_name_same_provider(model_name(request), name->text))
		request = without_the_providers_own(request);
	request = model_override(request, "model", name);
	return model_override(request, "model_settings",
	    value_map_merge(model_arena(request), model_model_settings(request),
		value_get(entry, "model_settings")));
}

/* --- the hook ----------------------------------------------------------------------- */

/* A fatal fault is a mistake in the agent, which no other model mends. */
static bool
is_final(const struct model_response *response)
{
	return response->fault == NULL || response->fault->control ||
	       response->fault->fatal;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *models = value_get(model_settings_of(request), "models");
	struct model_response *response = model_next(next, request);
	const char *asked = model_name(request);
	size_t i;

	for (i = 0; i < value_size(models) && !is_final(response); i++) {
		const struct value *entry = value_at(models, i);

		model_note(request, "%s failed with %s: %s; asking %s", asked,
		    response->fault->type, response->fault->message,
		    value_text(name_in(entry)));
		asked = value_text(name_in(entry));
		response = model_next(next, request_for(request, entry));
	}
	if (i > 0 && response->fault == NULL)
		model_note(request, "%s answered", asked);
	else if (!is_final(response))
		model_note(request, "%s failed with %s: %s; there is no other model",
		    asked, response->fault->type, response->fault->message);
	return response;
}

const struct middleware middleware_model_fallback = {
	.abi = MIDDLEWARE_ABI,
	.name = "model_fallback",
	.summary = "asks other models when one fails",
	.options = options,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
