/* Whatever Anthropic, or who speaks as it does, answers becomes a message that the rest can rely on,
 * or a fault; and what became a message can be sent back, to OpenAI as well. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../worker-model/anthropic_answer.h"
#include "../../worker-model/anthropic_messages.h"
#include "../../worker-model/anthropic_stream.h"
#include "../../worker-model/openai_messages.h"
#include "../../worker-model/provider_error.h"

#include "chat.h"
#include "json.h"
#include "bounds.h"

#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* No id twice, none with characters that are refused, no text that is empty. */
static void
check_sent(const struct value *messages)
{
	const struct value *blocks = value_get(value_at(messages, 0), "content");

	if (messages == NULL || value_size(messages) > 1)
		abort();
	for (size_t i = 0; i < value_size(blocks); i++) {
		const struct value *block = value_at(blocks, i);
		const char *id = value_get_text(block, "id");

		if (value_text_is(value_get(block, "type"), "text") &&
		    value_size(value_get(block, "text")) == 0)
			abort();
		if (value_text_is(value_get(block, "type"), "tool_use") &&
		    (id == NULL || id[strspn(id, SAFE)] != '\0'))
			abort();
	}
}

static void
check_message(struct arena *arena, const struct value *message)
{
	const struct value *messages = value_array(arena, &message, 1);
	struct value_list system = { .arena = arena };
	const char *error = NULL;

	if (!chat_is(message, "ai") || value_is_nil(value_get(message, "content")))
		abort();
	check_calls(message, "tool_calls", VALUE_MAP);
	check_calls(message, "invalid_tool_calls", VALUE_STR);
	check_sent(anthropic_messages(arena, messages, &system, &error));
	if (openai_messages(arena, NULL, messages, &error) == NULL)
		abort();
}

static void
check_fault(const struct fault *fault)
{
	if (fault == NULL || fault->type == NULL || *fault->message == '\0')
		abort();
}

static void
read_plain(struct arena *arena, const char *text, size_t size)
{
	const char *error = NULL;
	const struct value *body = json_parse(arena, text, size, &error);
	const struct value *message;
	const struct fault *fault;

	check_fault(provider_refusal(arena, "anthropic", 500, text, 0));
	if (body == NULL)
		return;
	fault = provider_hidden_error(arena, "anthropic", body);
	if (fault != NULL)
		check_fault(fault);
	error = NULL;
	message = anthropic_answer(arena, body, &error);
	if (message != NULL)
		check_message(arena, message);
	else if (error == NULL)
		abort();
}

static void
read_stream(struct arena *arena, const char *text, size_t size, size_t piece)
{
	struct anthropic_stream stream;
	const struct value *message = NULL;
	struct fault *fault = NULL;

	anthropic_stream_init(&stream, arena, "anthropic");
	while (size > 0 && fault == NULL) {
		size_t now = size < piece ? size : piece;

		if (anthropic_stream_feed(&stream, text, now) == -1)
			check_fault(fault = stream.fault);
		text += now;
		size -= now;
	}
	if (fault == NULL)
		message = anthropic_stream_end(&stream, &fault);
	if (message != NULL)
		check_message(arena, message);
	else
		check_fault(fault);
	anthropic_stream_release(&stream);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	char *text;

	if (size > 0) {
		text = arena_copy(arena, data + 1, size - 1);
		if (data[0] & 0x80)
			read_plain(arena, text, size - 1);
		else
			read_stream(arena, text, size - 1, data[0] % 32 + 1u);
	}
	arena_destroy(&arena);
	return 0;
}
