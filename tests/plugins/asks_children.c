/* A middleware whose tools have children do whatever their calls say, or what is none. */
#include "middleware.h"

#include <string.h>

#include "json.h"

static const struct option options[] = {
	{ .name = "agent",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text =
		"The fleet's agent that `helper` is; without it there are no children." },
	{ 0 },
};

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *agent = value_get(use->settings, "agent");

	(void)error_r;
	if (!value_is_nil(agent))
		use->children = value_map(arena, "helper",
		    value_map(arena, "agent", agent, "place", value_str(arena, ""), NULL),
		    NULL);
	return 0;
}

static const struct value *
messages_of(struct arena *arena, int64_t count, int64_t depth)
{
	struct value_list list = { .arena = arena };
	const struct value *deep = value_str(arena, "deep"), *message;
	int64_t i;

	for (i = 0; i < depth; i++)
		deep = value_array(arena, &deep, 1);
	for (i = 0; i < count; i++) {
		message = chat_human(arena, "do it");
		if (depth > 0)
			message = value_map_with(arena, message, "additional_kwargs",
			    value_map(arena, "deep", deep, NULL));
		value_list_add(&list, message);
	}
	return value_list_end(&list);
}

static struct tool_result *
run_wish(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *args = tool_args(request), *came = NULL;
	const char *name = value_get_text(args, "name"), *content;
	int64_t times = value_get_int(args, "times", 1), i;

	for (i = 0; i < times; i++) {
		came = tool_child(request, name != NULL ? name : "helper",
		    messages_of(arena, value_get_int(args, "messages", 1),
			value_get_int(args, "depth", 0)));
		if (came == NULL)
			return NULL;
	}
	if (value_has(came, "fault"))
		return tool_fail(
		    request, fault_from_value(arena, value_get(came, "fault")));
	content = value_get_text(came, "content");
	return tool_answer(
	    request, arena_printf(arena, "%d: %s", (int)i, content), "success");
}

static const struct tool wish = {
	.name = "wish",
	.description = "has something done",
	.parameters = "{\"type\": \"object\"}",
	.run = run_wish,
};

/* Wants just what its call says, and answers with what came of it. */
static struct tool_result *
run_want(struct tool_request *request)
{
	const struct value *came =
	    tool_children_ask(request, value_get(tool_args(request), "ask"));

	return came == NULL ? NULL
			    : tool_answer(request, json_text(tool_arena(request), came),
				  "success");
}

static const struct tool want = {
	.name = "want",
	.description = "wants something",
	.parameters = "{\"type\": \"object\"}",
	.run = run_want,
};

static const struct tool *const tools[] = { &wish, &want, NULL };

static const struct middleware asks_children = {
	.abi = MIDDLEWARE_ABI,
	.name = "asks_children",
	.summary = "has children do what its tool's calls say",
	.options = options,
	.tools = tools,
	.configure = configure,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &asks_children, NULL };
