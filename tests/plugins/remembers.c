/* A middleware that keeps what it knows of a user in long-term memory: from a node hook, a wrap
 * and a tool. */
#include "middleware.h"

static const struct field fields[] = {
	{ .name = "visits", .type = "integer" },
	{ .name = "known", .type = "integer" },
	{ 0 },
};

static const struct value *
user(struct arena *arena, const struct value *context)
{
	const struct value *labels[] = { value_str(arena, "users"),
		value_get(context, "user") };

	return value_array(arena, labels, 2);
}

static const struct value *
op_of(struct arena *arena, const char *op, const struct value *context, const char *key,
    const struct value *value)
{
	return value_map(arena, "op", value_str(arena, op), "namespace",
	    user(arena, context), "key", value_str(arena, key), "value", value, NULL);
}

static const struct value *
before_agent(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const struct value *context = turn_context(turn), *answer, *count;
	int64_t visits;

	answer = turn_store(turn, op_of(arena, "get", context, "visits", NULL));
	if (answer == NULL)
		return NULL;
	visits = value_get_int(value_get(value_get(answer, "item"), "value"), "count", 0);
	count = value_int(arena, visits + 1);
	answer = turn_store(turn, op_of(arena, "put", context, "visits",
				      value_map(arena, "count", count, NULL)));
	if (answer == NULL)
		return NULL;
	if (value_has(answer, "fault"))
		return turn_fail(turn, "RuntimeError", "%s",
		    value_get_text(value_get(answer, "fault"), "message"));
	return value_map(arena, "visits", count, NULL);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct arena *arena = model_arena(request);
	const struct value *known = model_store(
	    request, value_map(arena, "op", value_str(arena, "search"), "namespace",
			 user(arena, model_context(request)), NULL));
	struct model_response *response;

	if (known == NULL)
		return NULL;
	response = model_next(next, request);
	response->update = value_map(arena, "known",
	    value_int(arena, (int64_t)value_size(value_get(known, "items"))), NULL);
	return response;
}

static struct tool_result *
run_remember(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *answer = tool_store(
	    request, op_of(arena, "put", tool_context(request),
			 value_get_text(tool_args(request), "key"), tool_args(request)));

	if (answer == NULL)
		return tool_fail(request, fault_cancelled(arena));
	if (value_has(answer, "fault"))
		return tool_fail(
		    request, fault_from_value(arena, value_get(answer, "fault")));
	return tool_answer(request, "remembered", "success");
}

static const struct tool remember = {
	.name = "remember",
	.description = "Keeps something about the user.",
	.parameters = "{\"type\": \"object\", \"properties\": {\"key\": {\"type\": "
		      "\"string\"}}, \"required\": [\"key\"]}",
	.run = run_remember,
};
static const struct tool *const tools[] = { &remember, NULL };

static const struct middleware remembers = {
	.abi = MIDDLEWARE_ABI,
	.name = "remembers",
	.summary = "Knows its user again.",
	.fields = fields,
	.tools = tools,
	.before_agent = before_agent,
	.wrap_model_call = wrap_model_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &remembers, NULL };
