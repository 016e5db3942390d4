#include "prompt_caching.h"

#include <string.h>

static const char *const types[] = { "ephemeral", NULL };
static const char *const ttls[] = { "5m", "1h", NULL };
static const char *const behaviors[] = { "warn", "ignore", "raise", NULL };

const struct option prompt_caching_options[] = {
	{ .name = "type",
	    .type = OPTION_TEXT,
	    .otherwise = "\"ephemeral\"",
	    .choices = types,
	    .text = "The kind of cache; there is one." },
	{ .name = "ttl",
	    .type = OPTION_TEXT,
	    .otherwise = "\"5m\"",
	    .choices = ttls,
	    .text = "How long it is kept behind its last use." },
	{ .name = "min_messages_to_cache",
	    .type = OPTION_INTEGER,
	    .otherwise = "0",
	    .min = 0,
	    .max = 1e9,
	    .text =
		"Requests with fewer messages, the system message counted, are left as "
		"they are." },
	{ .name = "unsupported_model_behavior",
	    .type = OPTION_TEXT,
	    .otherwise = "\"warn\"",
	    .choices = behaviors,
	    .text = "For models of other providers: `warn` puts a line into the run's "
		    "events, `ignore` says nothing, `raise` ends the run. Nothing is "
		    "cached." },
	{ 0 },
};

struct model_response *
prompt_caching_unsupported(
    struct model_request *request, struct model_next *next, const char *whose)
{
	const char *behavior =
	    value_get_text(model_settings_of(request), "unsupported_model_behavior");
	struct fault *fault;

	if (strcmp(behavior, "raise") == 0) {
		fault = fault_new(model_arena(request), "ValueError",
		    "%s is for models of %s, not '%s'", model_middleware(request), whose,
		    model_name(request));
		fault->retryable = false;
		fault->fatal = true;
		return model_fail(request, fault);
	}
	if (strcmp(behavior, "warn") == 0)
		model_note(request, "%s is no model of %s: nothing is cached",
		    model_name(request), whose);
	return model_next(next, request);
}

/* A tool that the provider loads later cannot be cached. */
static bool
may_be_cached(const struct value *tool)
{
	return !value_get_bool(tool, "defer_loading", false) &&
	       !value_get_bool(value_get(tool, "extras"), "defer_loading", false);
}

/* A provider's own tool goes out as it is; of ours `extras` do beside its name. */
static const struct value *
cached_tool(struct arena *arena, const struct value *tool, const struct value *control)
{
	if (!value_has(tool, "parameters"))
		return value_map_with(arena, tool, "cache_control", control);
	return value_map_with(arena, tool, "extras",
	    value_map_with(arena, value_get(tool, "extras"), "cache_control", control));
}

/* tools with control in the last that may have it; NULL: none may. */
static const struct value *
cached_tools(struct arena *arena, const struct value *tools, const struct value *control)
{
	struct value_list list = { .arena = arena };
	size_t last = value_size(tools), i;

	while (last > 0 && !may_be_cached(value_at(tools, last - 1)))
		last--;
	for (i = 0; i < value_size(tools); i++)
		value_list_add(
		    &list, i + 1 == last ? cached_tool(arena, value_at(tools, i), control)
					 : value_at(tools, i));
	return last == 0 ? NULL : value_list_end(&list);
}

static struct model_request *
cached(struct model_request *request, bool with_tools)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request), *tools;
	const struct value *control = value_map(arena, "type",
	    value_get(settings, "type"), "ttl", value_get(settings, "ttl"), NULL);
	const struct value *sent = value_map_with(
	    arena, model_model_settings(request), "cache_control", control);

	if (model_system_prompt(request) != NULL)
		sent = value_map_with(arena, sent, "system_cache_control", control);
	request = model_override(request, "model_settings", sent);
	tools = with_tools ? cached_tools(arena, model_tools(request), control) : NULL;
	return tools == NULL ? request : model_override(request, "tools", tools);
}

struct model_response *
prompt_caching_marked(struct model_request *request, struct model_next *next, bool tools)
{
	int64_t least =
	    value_get_int(model_settings_of(request), "min_messages_to_cache", 0);
	int64_t count = (int64_t)value_size(model_messages(request)) +
			(model_system_prompt(request) != NULL);

	return model_next(next, count < least ? request : cached(request, tools));
}
