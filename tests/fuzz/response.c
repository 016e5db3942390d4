#include "response.h"

#include <stdlib.h>
#include <string.h>

#include "../../worker-model/anthropic_messages.h"
#include "../../worker-model/bedrock_request.h"
#include "../../worker-model/openai_messages.h"
#include "../../worker-model/provider_error.h"
#include "../../worker-model/responses_items.h"

#include "bounds.h"
#include "chat.h"
#include "json.h"

#define NAME "server"
#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* --- the message ----------------------------------------------------------------------- */

static void
check_call(const struct value *calls, size_t index, enum value_type args)
{
	const struct value *call = value_at(calls, index);
	const char *id = value_get_text(call, "id");

	if (id == NULL || *id == '\0' || value_size(value_get(call, "name")) == 0 ||
	    !value_is(value_get(call, "args"), args))
		abort();
	for (size_t i = 0; i < index; i++)
		if (strcmp(value_get_text(value_at(calls, i), "id"), id) == 0)
			abort();
}

static void
check_calls(const struct value *message, const char *key, enum value_type args)
{
	const struct value *calls = value_get(message, key);

	if (value_size(calls) > TOOL_CALLS_MAX)
		abort();
	for (size_t i = 0; i < value_size(calls); i++)
		check_call(calls, i, args);
}

/* --- as Anthropic is sent it ----------------------------------------------------------- */

static bool
is_type(const struct value *block, const char *type)
{
	return value_text_is(value_get(block, "type"), type);
}

/* Returns how many blocks of that type in turn have id under key. */
static size_t
count_of(const struct value *turn, const char *type, const char *key, const char *id)
{
	const struct value *blocks = value_get(turn, "content");
	size_t count = 0;

	for (size_t i = 0; i < value_size(blocks); i++)
		if (is_type(value_at(blocks, i), type) &&
		    value_text_is(value_get(value_at(blocks, i), key), id))
			count++;
	return count;
}

/* No id twice, none with characters that are refused; each is answered in the turn behind. */
static void
check_use(const struct value *turns, size_t at, const struct value *block)
{
	const char *id = value_get_text(block, "id");
	size_t count = 0;

	if (id == NULL || *id == '\0' || id[strspn(id, SAFE)] != '\0')
		abort();
	for (size_t i = 0; i < value_size(turns); i++)
		count += count_of(value_at(turns, i), "tool_use", "id", id);
	if (count != 1 ||
	    count_of(value_at(turns, at + 1), "tool_result", "tool_use_id", id) == 0)
		abort();
}

static void
check_turn(const struct value *turns, size_t at)
{
	const struct value *turn = value_at(turns, at);
	const struct value *blocks = value_get(turn, "content");

	if (value_size(blocks) == 0 ||
	    (at > 0 && value_equal(value_get(turn, "role"),
			   value_get(value_at(turns, at - 1), "role"))))
		abort();
	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *block = value_at(blocks, i);

		if (is_type(block, "text") && value_size(value_get(block, "text")) == 0)
			abort();
		if (is_type(block, "tool_use"))
			check_use(turns, at, block);
	}
}

/* --- as the Responses API is sent it ---------------------------------------------------- */

static bool
is_call(const struct value *item)
{
	return is_type(item, "function_call") || is_type(item, "custom_tool_call") ||
	       is_type(item, "computer_call");
}

/* Every call is answered behind it, in its own kind. */
static void
check_item(const struct value *items, size_t at)
{
	const struct value *item = value_at(items, at);
	const char *id = value_get_text(item, "call_id");
	const char *type = value_get_text(item, "type");
	size_t type_size = type == NULL ? 0 : strlen(type);

	if (type == NULL)
		abort();
	if (is_type(item, "reasoning") && at + 1 == value_size(items))
		abort();
	if (!is_call(item))
		return;
	while (++at < value_size(items)) {
		const struct value *output = value_at(items, at);
		const char *answer = value_get_text(output, "type");

		if (value_text_is(value_get(output, "call_id"), id) &&
		    strncmp(answer, type, type_size) == 0 &&
		    strcmp(answer + type_size, "_output") == 0)
			return;
	}
	abort();
}

static void
check_items(struct arena *arena, const struct value *messages, bool keeps)
{
	const struct ask ask = {
		.arena = arena, .provider = NAME, .model = "m", .messages = messages
	};
	const struct responses_reader reader = {
		.ask = &ask, .provider = NAME, .keeps = keeps
	};
	const char *error = NULL;
	const struct value *items =
	    responses_items(arena, &reader, NULL, messages, &error);

	if (items == NULL)
		abort();
	for (size_t i = 0; i < value_size(items); i++)
		check_item(items, i);
}

/* --- as Bedrock is sent it -------------------------------------------------------------- */

/* Every turn has something in it, and is another's than the one before. */
static void
check_converse(struct arena *arena, const struct value *messages)
{
	const struct ask ask = {
		.arena = arena, .provider = NAME, .model = "claude", .messages = messages
	};
	const char *error = NULL;
	const struct value *body = bedrock_request(&ask, false, &error), *turns, *turn;

	if (body == NULL)
		abort();
	turns = value_get(body, "messages");
	for (size_t i = 0; i < value_size(turns); i++) {
		turn = value_at(turns, i);
		if (value_size(value_get(turn, "content")) == 0 ||
		    (i > 0 && value_equal(value_get(turn, "role"),
				  value_get(value_at(turns, i - 1), "role"))))
			abort();
	}
}

/* The message stands there twice, as from a server that numbers its calls anew. */
static void
check_sent(struct arena *arena, const struct value *message)
{
	const struct value *twice[] = { message, message };
	const struct value *messages =
	    chat_answer_dangling(arena, value_array(arena, twice, 2));
	struct value_list system = { .arena = arena };
	const char *error = NULL;
	const struct ask ask = {
		.arena = arena, .provider = "openai", .model = "m", .messages = messages
	};
	const struct value *turns = anthropic_messages(&ask, messages, &system, &error);

	if (turns == NULL || openai_messages(&ask, &error) == NULL)
		abort();
	for (size_t i = 0; i < value_size(turns); i++)
		check_turn(turns, i);
	check_converse(arena, messages);
	check_items(arena, messages, true);
	check_items(arena, messages, false);
}

/* --- the answer ------------------------------------------------------------------------ */

static void
check_message(struct arena *arena, const struct value *message)
{
	if (!chat_is(message, "ai") || value_is_nil(value_get(message, "content")))
		abort();
	check_calls(message, "tool_calls", VALUE_MAP);
	check_calls(message, "invalid_tool_calls", VALUE_STR);
	check_sent(arena, message);
}

static void
check_fault(const struct fault *fault)
{
	if (fault == NULL || fault->type == NULL || *fault->message == '\0')
		abort();
}

static void
read_plain(
    const struct stream_type *type, struct arena *arena, const char *text, size_t size)
{
	const char *error = NULL;
	const struct value *body = json_parse(arena, text, size, &error);
	const struct value *message;
	const struct fault *fault;

	check_fault(provider_refusal(arena, NAME, 500, text, 0));
	if (body == NULL)
		return;
	fault = provider_hidden_error(arena, NAME, body);
	if (fault != NULL)
		check_fault(fault);
	error = NULL;
	message = type->answer(arena, body, &error);
	if (message != NULL)
		check_message(arena, message);
	else if (error == NULL)
		abort();
}

static void
read_stream(const struct stream_type *type, struct arena *arena, const char *text,
    size_t size, size_t piece)
{
	struct answer_stream *stream = answer_stream_open(type, arena, NAME);
	const struct value *message = NULL;
	struct fault *fault = NULL;

	while (size > 0 && fault == NULL) {
		size_t now = size < piece ? size : piece;

		if (answer_stream_feed(stream, text, now) == -1)
			check_fault(fault = stream->fault);
		text += now;
		size -= now;
	}
	if (fault == NULL)
		message = answer_stream_end(stream, &fault);
	if (message != NULL)
		check_message(arena, message);
	else
		check_fault(fault);
	answer_stream_close(stream);
}

void
response_check(const struct stream_type *type, const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	char *text;

	if (size > 0) {
		text = arena_copy(arena, data + 1, size - 1);
		if (data[0] & 0x80)
			read_plain(type, arena, text, size - 1);
		else
			read_stream(type, arena, text, size - 1, data[0] % 32 + 1u);
	}
	arena_destroy(&arena);
}
