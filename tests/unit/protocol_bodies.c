#include "protocol_bodies.h"

#include "digest.h"

/* The catalog and the bodies of the tool call in the page. */
static const struct value *
catalog(struct arena *arena)
{
	const struct value *integer =
	    value_map(arena, "type", value_str(arena, "integer"), NULL);
	const struct value *names[] = { value_str(arena, "a"), value_str(arena, "b") };
	const struct value *parameters =
	    value_map(arena, "type", value_str(arena, "object"), "properties",
		value_map(arena, "a", integer, "b", integer, NULL), "required",
		value_array(arena, names, 2), NULL);

	return value_array_add(arena, NULL,
	    value_map(arena, "name", value_str(arena, "add"), "description",
		value_str(arena, "Adds two numbers."), "parameters", parameters, NULL));
}

static const struct value *
request(struct arena *arena)
{
	const struct value *args =
	    value_map(arena, "a", value_int(arena, 1), "b", value_int(arena, -200), NULL);
	const struct value *call =
	    value_map(arena, "name", value_str(arena, "add"), "args", args, "id",
		value_str(arena, "call_1"), "type", value_str(arena, "tool_call"), NULL);

	return value_map(arena, "run", value_str(arena, "run-7"), "thread",
	    value_str(arena, "thread-2"), "tool_call", call, NULL);
}

static const struct value *
result(struct arena *arena)
{
	const struct value *message = value_map(arena, "type", value_str(arena, "tool"),
	    "content", value_str(arena, "-199"), "tool_call_id",
	    value_str(arena, "call_1"), "name", value_str(arena, "add"), "status",
	    value_str(arena, "success"), NULL);
	const struct value *update =
	    value_map(arena, "messages", value_array_add(arena, NULL, message), NULL);

	return value_map(arena, "commands",
	    value_array_add(arena, NULL, value_map(arena, "update", update, NULL)), NULL);
}

static const struct value *
interrupt(struct arena *arena)
{
	return value_map(arena, "interrupt",
	    value_map(arena, "question", value_str(arena, "Add 1 and -200?"), NULL),
	    NULL);
}

static const struct value *
answered(struct arena *arena)
{
	return value_map_with(arena, request(arena), "answers",
	    value_array_add(arena, NULL, value_str(arena, "yes")));
}

/* A thread of two messages, one of which the worker has kept. */
static const struct value *
message(struct arena *arena, const char *type, const char *id, const char *content)
{
	return value_map(arena, "type", value_str(arena, type), "id",
	    value_str(arena, id), "content", value_str(arena, content), NULL);
}

static const struct value *
digest_of(struct arena *arena, const struct value *list)
{
	struct digest *digest = digest_new();
	uint8_t bytes[DIGEST_BYTES];

	digest_add(digest, list, 0, value_size(list));
	digest_get(digest, bytes);
	digest_destroy(&digest);
	return digest_value(arena, bytes);
}

static const struct value *
whole(struct arena *arena)
{
	const struct value *list = value_array_add(
	    arena, NULL, message(arena, "human", "run-7-0-1", "What is 1 - 200?"));

	return value_map(arena, "run", value_str(arena, "run-7"), "thread",
	    value_str(arena, "thread-2"), "messages", list, "digest",
	    digest_of(arena, list), NULL);
}

static const struct value *
brief(struct arena *arena)
{
	const struct value *first = value_get(whole(arena), "messages");
	const struct value *all =
	    value_array_add(arena, first, message(arena, "ai", "run-7-1-1", "-199"));

	return value_map(arena, "run", value_str(arena, "run-7"), "thread",
	    value_str(arena, "thread-2"), "base", digest_of(arena, first), "behind",
	    value_array_slice(arena, all, 1, 2), "digest", digest_of(arena, all), NULL);
}

const struct protocol_body protocol_bodies[PROTOCOL_BODIES] = {
	{ "catalog", catalog },
	{ "request", request },
	{ "result", result },
	{ "interrupt", interrupt },
	{ "answered", answered },
	{ "whole", whole },
	{ "brief", brief },
};
