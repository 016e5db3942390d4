#include "bodies.h"

#include <string.h>

#include "bounds.h"
#include "fault.h"

enum kind { A_TEXT, A_MAP, A_LIST, SOME_TEXTS, SOME_MAPS };

static const struct shape {
	const char *key;
	enum kind kind;
	const char *refusal;
} profile_shapes[] = {
	{ "agent", A_TEXT, "its profile's agent is no text" },
	{ "version", A_TEXT, "its profile's version is no text" },
	{ "model", A_TEXT, "its profile's model is no text" },
	{ "model_settings", A_MAP, "its profile's model_settings are no map" },
	{ "model_profile", A_MAP, "its profile's model_profile is no map" },
	{ "system_prompt", A_TEXT, "its profile's system_prompt is no text" },
	{ "middleware", SOME_MAPS, "its profile's middleware is no list of maps" },
	{ "response_format", A_MAP, "its profile's response_format is no map" },
	{ "script", A_MAP, "its profile's script is no map" },
	{ "name", A_TEXT, "its profile's name is no text" },
}, middleware_shapes[] = {
	{ "name", A_TEXT, "the name of a middleware of its profile is no text" },
	{ "settings", A_MAP, "the settings of a middleware of its profile are no map" },
	{ "models", A_MAP, "the models of a middleware of its profile are no map" },
}, request_shapes[] = {
	{ "run", A_TEXT, "its request's run is no text" },
	{ "thread", A_TEXT, "its request's thread is no text" },
	{ "messages", SOME_MAPS, "its request's messages are no list of maps" },
	{ "behind", SOME_MAPS, "its request's behind is no list of maps" },
	{ "state", A_MAP, "its request's state is no map" },
	{ "providers", SOME_TEXTS, "its request's providers are no list of texts" },
	{ "answers", A_LIST, "its request's answers are no list" },
	{ "askers", A_LIST, "its request's askers are no list" },
	{ "children", SOME_MAPS, "its request's children are no list of maps" },
	{ "tool_call", A_MAP, "its request's tool_call is no map" },
	{ "tool", A_MAP, "its request's tool is no map" },
	{ "internal", A_TEXT, "its request's internal is no text" },
}, answer_shapes[] = {
	{ "messages", SOME_MAPS, "its answer's messages are no list of maps" },
	{ "updates", SOME_MAPS, "its answer's updates are no list of maps" },
	{ "writers", SOME_TEXTS, "its answer's writers are no list of texts" },
	{ "notes", SOME_MAPS, "its answer's notes are no list of maps" },
	{ "usage", SOME_MAPS, "its answer's usage is no list of maps" },
	{ "fault", A_MAP, "its answer's fault is no map" },
	{ "about", A_MAP, "its answer's about is no map" },
	{ "child", A_MAP, "its answer's child is no map" },
	{ "kept_by", A_TEXT, "its answer's kept_by is no text" },
}, child_shapes[] = {
	{ "middleware", A_TEXT, "the middleware of its answer's child is no text" },
	{ "name", A_TEXT, "the name of its answer's child is no text" },
	{ "messages", SOME_MAPS, "the messages of its answer's child are no list of maps" },
	{ "op", A_TEXT, "the op of its answer's child is no text" },
	{ "run", A_TEXT, "the run of its answer's child is no text" },
	{ "thread", A_TEXT, "the thread of its answer's child is no text" },
	{ "runs", SOME_MAPS, "the runs of its answer's child are no list of maps" },
}, about_shapes[] = {
	{ "tool_call_ids", SOME_TEXTS, "its answer's tool_call_ids are no list of texts" },
	{ "asker", A_TEXT, "its answer's asker is no text" },
}, model_tools = { "tools", SOME_MAPS, "its profile's tools are no list of maps" },
  tools_tools = { "tools", SOME_TEXTS, "its profile's tools are no list of names" };

#define COUNT(shapes) (sizeof(shapes) / sizeof *(shapes))

static bool
are_all(const struct value *list, enum value_type type)
{
	size_t i;

	if (!value_is(list, VALUE_ARRAY))
		return false;
	for (i = 0; i < value_size(list); i++)
		if (!value_is(value_at(list, i), type))
			return false;
	return true;
}

static bool
is_of(const struct value *value, enum kind kind)
{
	switch (kind) {
	case A_TEXT:
		return value_is(value, VALUE_STR);
	case A_MAP:
		return value_is(value, VALUE_MAP);
	case A_LIST:
		return value_is(value, VALUE_ARRAY);
	case SOME_TEXTS:
		return are_all(value, VALUE_STR);
	case SOME_MAPS:
		return are_all(value, VALUE_MAP);
	}
	return false;
}

/* Returns what is wrong with body, or NULL. Nil is absent. */
static const char *
check(const struct value *body, const struct shape *shapes, size_t count)
{
	const struct value *value;
	size_t i;

	for (i = 0; i < count; i++) {
		value = value_get(body, shapes[i].key);
		if (!value_is_nil(value) && !is_of(value, shapes[i].kind))
			return shapes[i].refusal;
	}
	return NULL;
}

static bool
begins_with(const char *service, const char *prefix)
{
	return strncmp(service, prefix, strlen(prefix)) == 0;
}

const char *
bodies_wrong(
    const char *service, const struct value *profile, const struct value *request)
{
	bool is_model = begins_with(service, SERVICE_MODEL_PREFIX);
	const struct value *middleware = value_get(profile, "middleware");
	const char *wrong;
	size_t i;

	if (!is_model && strcmp(service, SERVICE_TOOLS) != 0 &&
	    strcmp(service, SERVICE_WRAPS) != 0 &&
	    !begins_with(service, SERVICE_TOOL_PREFIX) &&
	    !begins_with(service, SERVICE_WORKER_PREFIX))
		return NULL;
	wrong = check(profile, profile_shapes, COUNT(profile_shapes));
	if (wrong == NULL)
		wrong = check(profile, is_model ? &model_tools : &tools_tools, 1);
	for (i = 0; wrong == NULL && i < value_size(middleware); i++)
		wrong = check(
		    value_at(middleware, i), middleware_shapes, COUNT(middleware_shapes));
	if (wrong == NULL)
		wrong = check(request, request_shapes, COUNT(request_shapes));
	return wrong;
}

/* What is folded into the state one by one: each fold may copy what is there. */
static bool
has_too_many(const struct value *body)
{
	const struct value *updates = value_get(body, "updates");
	const struct value *commands = value_get(body, "commands");

	return (value_is(updates, VALUE_ARRAY) && updates->size > ANSWER_PARTS_MAX) ||
	       (value_is(commands, VALUE_ARRAY) && commands->size > ANSWER_PARTS_MAX);
}

/* A fault of nil is none, and one is whole, whatever a worker has left out. */
static const struct value *
with_whole_fault(struct arena *arena, const struct value *body)
{
	const struct value *fault = value_get(body, "fault");

	if (fault == NULL)
		return body;
	return value_map_with(arena, body, "fault",
	    value_is_nil(fault) ? NULL
				: fault_to_value(arena, fault_from_value(arena, fault)));
}

const char *
bodies_answer(struct arena *arena, const struct value **body_p)
{
	const char *wrong;

	if (!value_is(*body_p, VALUE_MAP))
		return "its answer is no map";
	if (value_depth(*body_p, ANSWER_DEPTH_MAX + 1) > ANSWER_DEPTH_MAX)
		return "its answer is nested too deep";
	if (has_too_many(*body_p))
		return "its answer has too many updates or commands";
	wrong = check(*body_p, answer_shapes, COUNT(answer_shapes));
	if (wrong == NULL)
		wrong =
		    check(value_get(*body_p, "about"), about_shapes, COUNT(about_shapes));
	if (wrong == NULL)
		wrong =
		    check(value_get(*body_p, "child"), child_shapes, COUNT(child_shapes));
	if (wrong == NULL)
		*body_p = with_whole_fault(arena, *body_p);
	return wrong;
}
