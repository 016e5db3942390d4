/* What users and hooks write for messages, brought into one form. What has the form
 * already is passed on as it is, so that its packed bytes stay known. */
#include <string.h>

#include "chat.h"

/* Where we are, for reasons: the first failure stays. */
struct place {
	struct arena *arena;
	size_t index;
	const char *error;
};

static void
fail(struct place *place, const char *field, const char *reason)
{
	if (place->error == NULL)
		place->error = arena_printf(
		    place->arena, "messages[%zu]%s: %s", place->index, field, reason);
}

/* Returns what we call a message of that type or role, or NULL. */
static const char *
type_of(const char *name)
{
	static const struct {
		const char *name, *type;
	} types[] = {
		{ "human", "human" },
		{ "user", "human" },
		{ "ai", "ai" },
		{ "assistant", "ai" },
		{ "AIMessageChunk", "ai" },
		{ "system", "system" },
		{ "developer", "system" },
		{ "tool", "tool" },
		{ "remove", "remove" },
	};
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].type;
	return NULL;
}

static const struct value *
set(struct place *place, const struct value *map, const char *key, const char *text)
{
	return value_map_with(place->arena, map, key, value_str(place->arena, text));
}

/* {remove: id|"all"} to {type: "remove", id}. */
static const struct value *
removal(struct place *place, const struct value *what)
{
	const char *id = value_text(what);

	if (id == NULL || *id == '\0') {
		fail(place, ".remove", "must be an id or \"all\"");
		return NULL;
	}
	return value_map(place->arena, "type", value_str(place->arena, "remove"), "id",
	    strcmp(id, "all") == 0 ? value_str(place->arena, REMOVE_ALL) : what, NULL);
}

/* Beside a type of somebody else's ({type: "message", role: "user"}) the role says it. */
static bool
is_told_by_role(const struct value *message)
{
	const char *type = value_get_text(message, "type");
	const char *role = value_get_text(message, "role");

	if (!value_has(message, "type"))
		return true;
	return type != NULL && type_of(type) == NULL && role != NULL &&
	       type_of(role) != NULL;
}

static const struct value *
with_type(struct place *place, const struct value *message)
{
	const char *key = is_told_by_role(message) ? "role" : "type";
	const char *name = value_get_text(message, key);
	const char *type = name == NULL ? NULL : type_of(name);

	if (type == NULL) {
		fail(place, strcmp(key, "type") == 0 ? ".type" : ".role",
		    "must be one of human, ai, system, tool, remove");
		return message;
	}
	if (strcmp(key, "role") == 0)
		return set(place, value_map_with(place->arena, message, "role", NULL),
		    "type", type);
	return strcmp(name, type) == 0 ? message : set(place, message, "type", type);
}

static const struct value *
with_id(struct place *place, const struct value *message)
{
	const struct value *id = value_get(message, "id");

	if (value_is(id, VALUE_STR) && value_size(id) > 0)
		return message;
	if (!value_is_nil(id) && !value_is(id, VALUE_STR))
		fail(place, ".id", "must be a string");
	return value_map_with(place->arena, message, "id", NULL);
}

static void
check_blocks(struct place *place, const struct value *blocks)
{
	const struct value *block;
	size_t i;

	for (i = 0; i < value_size(blocks); i++) {
		block = value_at(blocks, i);
		if (!value_is(block, VALUE_STR) && value_get_text(block, "type") == NULL)
			fail(place, arena_printf(place->arena, ".content[%zu]", i),
			    "must be a string or a block with a type");
	}
}

static const struct value *
with_content(struct place *place, const struct value *message)
{
	const struct value *content = value_get(message, "content");

	if (value_is(content, VALUE_ARRAY))
		check_blocks(place, content);
	if (value_is(content, VALUE_STR) || value_is(content, VALUE_ARRAY))
		return message;
	/* Models leave it out beside tool calls. Whoever says null means that there is none. */
	if (value_is_nil(content) &&
	    (chat_is(message, "ai") || value_has(message, "content")))
		return set(place, message, "content", "");
	fail(place, ".content", "must be a string or a list of blocks");
	return message;
}

/* What is wrong with a call, or NULL. */
static const char *
flaw_of(const struct value *call, bool valid)
{
	const struct value *id = value_get(call, "id");

	if (!value_is(call, VALUE_MAP))
		return "must be a map with name, args and id";
	if (valid && value_get_text(call, "name") == NULL)
		return "needs a name";
	if (valid && !value_is(value_get(call, "args"), VALUE_MAP))
		return "needs args, a map";
	if (!value_is_nil(id) && !value_is(id, VALUE_STR))
		return "has an id that is no string";
	return NULL;
}

static const struct value *
call_in_form(struct place *place, const struct value *call, size_t index, bool valid)
{
	const char *flaw = flaw_of(call, valid);

	if (flaw != NULL)
		fail(place,
		    arena_printf(place->arena,
			valid ? ".tool_calls[%zu]" : ".invalid_tool_calls[%zu]", index),
		    flaw);
	if (place->error != NULL || !valid || value_has(call, "type"))
		return call;
	return set(place, call, "type", "tool_call");
}

static const struct value *
with_calls(struct place *place, const struct value *message, const char *key, bool valid)
{
	const struct value *calls = value_get(message, key), *call;
	struct value_list list = { .arena = place->arena };
	bool changed = false;
	size_t i;

	if (value_is_nil(calls))
		return value_map_with(place->arena, message, key, NULL);
	if (!value_is(calls, VALUE_ARRAY)) {
		fail(place, valid ? ".tool_calls" : ".invalid_tool_calls",
		    "must be a list");
		return message;
	}
	for (i = 0; i < value_size(calls); i++) {
		call = call_in_form(place, value_at(calls, i), i, valid);
		changed = changed || call != value_at(calls, i);
		value_list_add(&list, call);
	}
	if (!changed)
		return message;
	return value_map_with(place->arena, message, key, value_list_end(&list));
}

static const struct value *
with_answer(struct place *place, const struct value *message)
{
	const struct value *status = value_get(message, "status");

	if (value_get_text(message, "tool_call_id") == NULL)
		fail(place, ".tool_call_id", "a tool message needs one, a string");
	if (value_is_nil(status))
		return set(place, message, "status", "success");
	if (!value_text_is(status, "success") && !value_text_is(status, "error"))
		fail(place, ".status", "must be success or error");
	return message;
}

/* LangChain's messages of JavaScript as JSON.stringify writes them: {lc: 1, type: "constructor", id: [..., "HumanMessage"],
 * kwargs: {content, ...}}. Returns what they say of themselves. */
static const struct value *
constructed(struct place *place, const struct value *message)
{
	static const struct {
		const char *name, *type;
	} classes[] = {
		{ "HumanMessage", "human" },
		{ "AIMessage", "ai" },
		{ "SystemMessage", "system" },
		{ "ToolMessage", "tool" },
		{ "RemoveMessage", "remove" },
	};
	const struct value *path = value_get(message, "id");
	const struct value *kwargs = value_get(message, "kwargs");
	const char *name = value_text(value_at(path, value_size(path) - 1));
	size_t size, i;

	for (i = 0; name != NULL && i < sizeof classes / sizeof *classes; i++) {
		size = strlen(classes[i].name);
		if (strncmp(name, classes[i].name, size) != 0 ||
		    (name[size] != '\0' && strcmp(name + size, "Chunk") != 0))
			continue;
		if (!value_has(kwargs, "content") && value_has(kwargs, "content_blocks"))
			kwargs = value_map_with(place->arena, kwargs, "content",
			    value_get(kwargs, "content_blocks"));
		kwargs = value_map_with(place->arena, kwargs, "content_blocks", NULL);
		kwargs = value_map_with(place->arena, kwargs, "role", NULL);
		return set(place, kwargs, "type", classes[i].type);
	}
	return message; /* of a type that is none */
}

static const struct value *
map_in_form(struct place *place, const struct value *message)
{
	if (!value_has(message, "type") && value_has(message, "remove"))
		return removal(place, value_get(message, "remove"));
	if (value_text_is(value_get(message, "type"), "constructor") &&
	    value_is(value_get(message, "id"), VALUE_ARRAY) &&
	    value_is(value_get(message, "kwargs"), VALUE_MAP))
		message = constructed(place, message);
	message = with_type(place, message);
	message = with_id(place, message);
	if (place->error != NULL)
		return NULL;
	if (chat_is(message, "remove")) {
		if (!value_has(message, "id"))
			fail(place, ".id", "a removal needs one");
		return message;
	}
	message = with_content(place, message);
	if (chat_is(message, "ai")) {
		message = with_calls(place, message, "tool_calls", true);
		message = with_calls(place, message, "invalid_tool_calls", false);
	}
	if (chat_is(message, "tool"))
		message = with_answer(place, message);
	return message;
}

static const struct value *
in_form(struct place *place, const struct value *given)
{
	if (value_is(given, VALUE_STR))
		return value_map(place->arena, "type", value_str(place->arena, "human"),
		    "content", given, NULL);
	/* ["user", "hello"], as Python's tuples arrive. */
	if (value_size(given) == 2 && value_is(value_at(given, 0), VALUE_STR))
		given = value_map(place->arena, "role", value_at(given, 0), "content",
		    value_at(given, 1), NULL);
	if (value_is(given, VALUE_MAP))
		return map_in_form(place, given);
	fail(place, "", "must be a string or a map");
	return NULL;
}

const struct value *
chat_normalise(struct arena *arena, const struct value *given, const char **error_r)
{
	struct value_list list = { .arena = arena };
	struct place place = { .arena = arena };
	const struct value *message;
	bool changed = false;

	if (!value_is(given, VALUE_ARRAY))
		given = value_array(arena, &given, 1);
	for (; place.index < value_size(given) && place.error == NULL; place.index++) {
		message = in_form(&place, value_at(given, place.index));
		changed = changed || message != value_at(given, place.index);
		value_list_add(&list, message);
	}
	if (place.error != NULL) {
		*error_r = place.error;
		return NULL;
	}
	return changed ? value_list_end(&list) : given;
}
