/* Structured output: any response_format, and any answer of a model under it. The first line is the
 * format, the rest the AI message or its text. What comes out is a response that holds together, or
 * a fault. */
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "json.h"
#include "output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static struct model_response *
on_send(void *arg, struct model_request *request, unsigned attempt, const char *tag)
{
	(void)attempt;
	(void)tag;
	return model_answer(request, arg);
}

/* Both strategies. */
static bool
on_gives_structured_output(void *arg, const char *model, bool with_tools)
{
	(void)model;
	(void)with_tools;
	return value_is(arg, VALUE_STR);
}

static size_t
count_answers(const struct value *messages, const struct value *id)
{
	size_t count = 0, i;

	for (i = 1; i < value_size(messages); i++)
		count +=
		    value_equal(value_get(value_at(messages, i), "tool_call_id"), id);
	return count;
}

/* Each call of an output tool has one answer at least: ids may be there twice. */
static void
check_calls(const struct value *format, const struct value *messages, const char *key)
{
	const struct value *calls = value_get(value_at(messages, 0), key);
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		if (output_schema(format, value_get_text(call, "name")) != NULL)
			require(count_answers(messages, value_get(call, "id")) > 0);
	}
}

static void
check_body(const struct value *format, const struct value *body, bool tools)
{
	const struct value *messages = value_get(body, "messages");
	const struct value *structured = value_get(body, "structured_response");

	require(value_has(body, "fault") || value_size(messages) > 0);
	require(structured == NULL || value_is(structured, VALUE_MAP));
	if (value_has(body, "fault") || !tools)
		return;
	check_calls(format, messages, "tool_calls");
	check_calls(format, messages, "invalid_tool_calls");
}

static void
check_answer(
    struct arena *arena, const struct value *format, const char *text, size_t size)
{
	const struct value *none = value_empty_array(), *message = NULL;
	const struct value *given =
	    json_parse(arena, text, size, &(const char *){ NULL });
	struct model_backend backend = { .send = on_send,
		.gives_structured_output = on_gives_structured_output };
	const struct value *profile =
	    value_map(arena, "agent", value_str(arena, "a"), "model",
		value_str(arena, "m:x"), "tools", none, "response_format", format, NULL);
	const char *error;

	if (value_is(given, VALUE_MAP))
		message = chat_normalise(arena, given, &error);
	message = value_at(message, 0);
	if (!chat_is(message, "ai"))
		message = value_strn(arena, text, size);
	backend.arg = (void *)message;
	check_body(format,
	    chain_model_call(arena, &(struct chain){ .count = 0 }, profile,
		value_map(arena, "messages", none, NULL), &backend),
	    !value_is(message, VALUE_STR) &&
		!value_text_is(value_get(format, "strategy"), "provider"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *path = NULL, *error = NULL;
	const char *line = size == 0 ? NULL : memchr(text, '\n', size);
	struct arena *arena = arena_new();
	const struct value *given, *format = NULL;

	if (line != NULL) {
		given = json_parse(arena, text, (size_t)(line - text), &error);
		if (given != NULL)
			format = output_format(arena, given, NULL, &path, &error);
		require(
		    given == NULL || format != NULL || (path != NULL && error != NULL));
		/* The one form stays as it is. */
		require(format == NULL ||
			value_equal(
			    output_format(arena, format, NULL, &path, &error), format));
	}
	if (format != NULL)
		check_answer(arena, format, line + 1, size - (size_t)(line + 1 - text));
	arena_destroy(&arena);
	return 0;
}
