/* provider_tool_search: the model finds tools by the provider's own search instead of having all of
 * them before it (semantics.md 6.14). */
#include <string.h>

#include "claude_tool.h"

#define ANTHROPIC_BETA "advanced-tool-use-2025-11-20"

static const struct option options[] = {
	{ .name = "searchable_tools",
	    .type = OPTION_TEXTS,
	    .otherwise = "[]",
	    .text =
		"Names of the tools that the model does not see until it searches for "
		"them, beside those whose `extras` say `defer_loading: true`." },
	{ 0 },
};

/* The search tool of each provider that has one. */
static const struct {
	const char *dialect, *type, *name;
} searches[] = {
	{ "anthropic", "tool_search_tool_bm25_20251119", "tool_search_tool_bm25" },
	{ "openai", "tool_search", NULL },
};
#define SEARCHES (sizeof searches / sizeof *searches)

static const struct value *
search_tool(struct arena *arena, const char *dialect)
{
	size_t i;

	for (i = 0; i < SEARCHES; i++)
		if (dialect != NULL && strcmp(searches[i].dialect, dialect) == 0)
			return value_map(arena, "type",
			    value_str(arena, searches[i].type), "name",
			    searches[i].name == NULL ? NULL
						     : value_str(arena, searches[i].name),
			    NULL);
	return NULL;
}

static struct model_response *
refuse(struct model_request *request, const char *reason)
{
	struct fault *fault = fault_new(
	    model_arena(request), "ValueError", "provider_tool_search: %s", reason);

	fault->retryable = false;
	fault->fatal = true;
	return model_fail(request, fault);
}

static bool
is_deferred(const struct value *tool, const struct value *names)
{
	const char *name = value_get_text(tool, "name");

	return value_get_bool(value_get(tool, "extras"), "defer_loading", false) ||
	       (name != NULL && value_contains(names, name));
}

static bool
defers(const struct value *tools, const struct value *names)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		if (is_deferred(value_at(tools, i), names))
			return true;
	return false;
}

static const struct value *
deferred(struct arena *arena, const struct value *tool)
{
	if (!value_has(tool, "parameters") && value_has(tool, "type"))
		return value_map_with(arena, tool, "defer_loading", value_bool(true));
	return value_map_with(arena, tool, "extras",
	    value_map_with(
		arena, value_get(tool, "extras"), "defer_loading", value_bool(true)));
}

/* The first of names that no tool has, or NULL. */
static const char *
unknown_name(const struct value *names, const struct value *tools)
{
	size_t i, j;

	for (i = 0; i < value_size(names); i++) {
		const struct value *name = value_at(names, i);

		for (j = 0; j < value_size(tools); j++)
			if (value_equal(value_get(value_at(tools, j), "name"), name))
				break;
		if (j == value_size(tools))
			return value_text(name);
	}
	return NULL;
}

static const char *
names_of(struct arena *arena, const struct value *tools)
{
	const char *all = "none";
	size_t i, count = 0;

	for (i = 0; i < value_size(tools); i++) {
		const char *name = value_get_text(value_at(tools, i), "name");

		if (name != NULL)
			all = count++ == 0 ? name
					   : arena_printf(arena, "%s, %s", all, name);
	}
	return all;
}

static struct model_request *
with_search(struct model_request *request, const struct value *search)
{
	struct arena *arena = model_arena(request);
	const struct value *names =
	    value_get(model_settings_of(request), "searchable_tools");
	const struct value *tools = model_tools(request);
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		const struct value *tool = value_at(tools, i);

		value_list_add(
		    &list, is_deferred(tool, names) ? deferred(arena, tool) : tool);
	}
	value_list_add(&list, search);
	return model_override(request, "tools", value_list_end(&list));
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *names =
	    value_get(model_settings_of(request), "searchable_tools");
	const char *dialect = model_dialect(request);
	const struct value *search = search_tool(arena, dialect);
	const char *unknown = unknown_name(names, model_tools(request));

	if (unknown != NULL)
		return refuse(request,
		    arena_printf(arena,
			"searchable_tools names '%s', which the request does not offer "
			"(it offers: %s)",
			unknown, names_of(arena, model_tools(request))));
	if (!defers(model_tools(request), names))
		return model_next(next, request);
	if (search == NULL)
		return refuse(request, arena_printf(arena,
					   "the provider of '%s' has no search for "
					   "tools; those of Anthropic "
					   "and OpenAI have",
					   model_name(request)));
	request = with_search(request, search);
	if (strcmp(dialect, "anthropic") == 0)
		request = claude_with_beta(request, ANTHROPIC_BETA);
	return model_next(next, request);
}

const struct middleware middleware_provider_tool_search = {
	.abi = MIDDLEWARE_ABI,
	.name = "provider_tool_search",
	.summary = "lets the model find tools by the provider's own search",
	.options = options,
	.wrap_model_call = wrap_model_call,
};
