#include "answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "bounds.h"
#include "service.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TOKENS_MAX ((int64_t)1 << 40)

static bool
has_id(const struct value_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (value_text_is(value_get(list->items[i], "id"), id))
			return true;
	return false;
}

static const struct value *
usable_id(struct answer *answer, const char *id)
{
	char fresh[33];

	if (id != NULL && *id != '\0' && !has_id(&answer->calls, id) &&
	    !has_id(&answer->invalid, id))
		return value_str(answer->arena, id);
	service_session(fresh);
	return value_printf(answer->arena, "call_%.24s", fresh);
}

static bool
is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* Packs text with what stands raw in its strings and JSON wants escaped: line breaks above all,
 * when a model writes a file. */
static void
pack_escaped(struct packet *packet, const struct value *text)
{
	bool inside = false, is_shielded = false; /* by the backslash before it */

	for (size_t i = 0; i < text->size; i++) {
		char at = text->text[i], escape[8];
		bool was_shielded = is_shielded;

		if (at == '"' && !was_shielded)
			inside = !inside;
		is_shielded = inside && at == '\\' && !was_shielded;
		if (inside && !was_shielded && (unsigned char)at < ' ')
			packet_append(packet, escape,
			    (size_t)snprintf(escape, sizeof escape, "\\u%04x", at));
		else
			packet_append(packet, &at, 1);
	}
}

/* As json.loads of Python with strict=False, by which LangChain reads arguments. */
static const struct value *
parse_leniently(struct arena *arena, const struct value *text, const char **error_r)
{
	const struct value *parsed = json_parse(arena, text->text, text->size, error_r);
	struct packet packet = { 0 };
	const char *error;

	if (parsed != NULL)
		return parsed;
	pack_escaped(&packet, text);
	parsed = json_parse(arena, packet.data, packet.size, &error);
	packet_release(&packet);
	return parsed;
}

/* Returns the arguments as a map, or NULL with a reason. */
static const struct value *
arguments(struct arena *arena, const struct value *args, const char **error_r)
{
	const struct value *parsed = args;

	if (value_is(args, VALUE_STR)) {
		if (is_blank(value_text(args)))
			return value_empty_map();
		parsed = parse_leniently(arena, args, error_r);
		if (parsed == NULL)
			return NULL;
	}
	if (value_is_nil(parsed))
		return value_empty_map();
	*error_r = "the arguments are not a JSON object";
	return value_is(parsed, VALUE_MAP) ? parsed : NULL;
}

static const struct value *
arguments_text(struct arena *arena, const struct value *args)
{
	return value_is(args, VALUE_STR) ? args
					 : value_str(arena, json_text(arena, args));
}

/* args: a map, or with error the text that it came as. */
static const struct value *
call_of(struct arena *arena, const struct value *id, const char *name,
    const struct value *args, const char *error)
{
	const struct value_pair call[] = {
		{ VALUE_TEXT("name"), value_str(arena, name) },
		{ VALUE_TEXT("args"), args },
		{ VALUE_TEXT("id"), id },
		{ VALUE_TEXT("error"), error != NULL ? value_str(arena, error) : NULL },
		{ VALUE_TEXT("type"), error != NULL ? VALUE_TEXT("invalid_tool_call")
						    : VALUE_TEXT("tool_call") },
	};

	return value_map_of(arena, call, COUNT(call));
}

static_assert(TOOL_CALLS_MAX == 128u, "ANSWER_CALLS_FAULT says it");

int
answer_call(
    struct answer *answer, const char *id, const char *name, const struct value *args)
{
	struct arena *arena = answer->arena;
	const struct value *call_id, *parsed;
	const char *error = NULL;

	if (answer->calls.count + answer->invalid.count >= TOOL_CALLS_MAX)
		return -1;
	answer->calls.arena = answer->invalid.arena = arena;
	call_id = usable_id(answer, id);
	parsed = arguments(arena, args, &error);
	if (parsed != NULL)
		value_list_add(
		    &answer->calls, call_of(arena, call_id, name, parsed, NULL));
	else
		value_list_add(&answer->invalid,
		    call_of(arena, call_id, name, arguments_text(arena, args), error));
	return 0;
}

static const struct value *
list_or_nothing(struct value_list *list)
{
	return list->count > 0 ? value_list_end(list) : NULL;
}

const struct value *
answer_message(struct answer *answer)
{
	const struct value *content = answer->content;

	if (value_is_nil(content))
		content = VALUE_TEXT("");

	const struct value_pair message[] = {
		{ VALUE_TEXT("type"), VALUE_TEXT("ai") },
		{ VALUE_TEXT("content"), content },
		{ VALUE_TEXT("tool_calls"), list_or_nothing(&answer->calls) },
		{ VALUE_TEXT("invalid_tool_calls"), list_or_nothing(&answer->invalid) },
		{ VALUE_TEXT("usage_metadata"), answer->usage },
		{ VALUE_TEXT("response_metadata"), answer->metadata },
		{ VALUE_TEXT("additional_kwargs"), answer->extra },
	};
	return value_map_of(answer->arena, message, COUNT(message));
}

int64_t
answer_tokens(const struct value *map, const char *key, int64_t otherwise)
{
	int64_t count = value_get_int(map, key, otherwise);

	return count >= 0 && count < TOKENS_MAX ? count : otherwise;
}
