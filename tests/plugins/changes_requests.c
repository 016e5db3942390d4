/* A middleware that changes model requests: another model, more tools; and that runs the tools it
 * added, which the agent has not got, as those the fleet's workers serve by that name. */
#include "middleware.h"

#include <string.h>

static const struct option options[] = {
	{ .name = "model", .type = OPTION_TEXT, .text = "The model asked instead." },
	{ .name = "offer",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text = "Names of tools that each request offers besides its own." },
	{ .name = "run",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "Runs these." },
	{ 0 },
};

static const struct value *
definition(struct arena *arena, const char *name)
{
	return value_map(arena, "name", value_str(arena, name), "description",
	    value_str(arena, "brought in for this request"), "parameters",
	    value_map(arena, "type", value_str(arena, "object"), NULL), NULL);
}

static struct model_response *
change_request(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	const struct value *model = value_get(settings, "model");
	const struct value *offer = value_get(settings, "offer");
	const struct value *tools = model_tools(request);
	size_t i;

	for (i = 0; i < value_size(offer); i++)
		tools = value_array_add(model_arena(request), tools,
		    definition(model_arena(request), value_text(value_at(offer, i))));
	request = model_override(request, "tools", tools);
	if (!value_is_nil(model))
		request = model_override(request, "model", model);
	return model_next(next, request);
}

static struct tool_result *
run_offered(struct tool_request *request, struct tool_next *next)
{
	const char *name = tool_name(request);

	if (tool_definition(request) == NULL &&
	    value_contains(value_get(tool_settings_of(request), "offer"), name))
		request =
		    tool_override(request, "tool", definition(tool_arena(request), name));
	return tool_next(next, request);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	(void)arena;
	(void)error_r;
	use->hooks[HOOK_WRAP_TOOL_CALL] = value_get_bool(use->settings, "run", true);
	return 0;
}

static const struct middleware changes_requests = {
	.abi = MIDDLEWARE_ABI,
	.name = "changes_requests",
	.summary = "changes model requests",
	.options = options,
	.configure = configure,
	.wrap_model_call = change_request,
	.wrap_tool_call = run_offered,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &changes_requests, NULL };
