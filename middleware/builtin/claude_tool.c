#include "claude_tool.h"

#include <string.h>

/* {type, name}, with what others have said beside it: that it is cached, that it is loaded late. */
static const struct value *
own_form(struct arena *arena, const struct value *given, const struct claude_tool *tool)
{
	return value_map_merge(arena,
	    value_map(arena, "type", value_str(arena, tool->type), "name",
		value_str(arena, tool->name), NULL),
	    value_get(given, "extras"));
}

/* NULL: it is not offered. */
static const struct value *
with_own_form(
    struct arena *arena, const struct value *tools, const struct claude_tool *tool)
{
	struct value_list list = { .arena = arena };
	bool is_there = false;
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		const struct value *given = value_at(tools, i);
		bool is_it = value_text_is(value_get(given, "name"), tool->name) &&
			     value_has(given, "parameters");

		value_list_add(&list, is_it ? own_form(arena, given, tool) : given);
		is_there = is_there || is_it;
	}
	return is_there ? value_list_end(&list) : NULL;
}

struct model_request *
claude_with_beta(struct model_request *request, const char *beta)
{
	struct arena *arena = model_arena(request);
	const struct value *settings = model_model_settings(request);
	const struct value *betas = value_get(settings, "betas");

	if (value_is(betas, VALUE_STR))
		betas = value_array(arena, &betas, 1);
	if (value_contains(betas, beta))
		return request;
	betas = value_array_add(
	    arena, betas == NULL ? value_empty_array() : betas, value_str(arena, beta));
	return model_override(
	    request, "model_settings", value_map_with(arena, settings, "betas", betas));
}

struct model_request *
claude_tool_offer(struct model_request *request, const struct claude_tool *tool)
{
	const char *dialect = model_dialect(request);
	const struct value *tools;

	if (dialect == NULL || strcmp(dialect, "anthropic") != 0)
		return request;
	tools = with_own_form(model_arena(request), model_tools(request), tool);
	if (tools == NULL)
		return request;
	request = model_override(request, "tools", tools);
	return tool->beta == NULL ? request : claude_with_beta(request, tool->beta);
}
