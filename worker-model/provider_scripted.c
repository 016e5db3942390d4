/* provider_scripted: answers from the script in the agent's spec: for demos, tests and
 * load tests without key and network.
 *
 * The script is {model name: [entry]}. An entry is a reply {content, tool_calls [{id,
 * name, args}], usage} or a fault {http_error, message, retry_after}, {drop: true},
 * {timeout: true}, {error, error_type}; each with an optional delay_ms. Where in the
 * script a call is follows from the call alone, so that a worker that dies changes
 * nothing: the request's AI messages number the reply, and faults right before a reply
 * are played one an attempt.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "chat.h"
#include "fiber.h"
#include "json.h"
#include "provider.h"
#include "provider_fault.h"
#include "scripted_embeddings.h"

#define DELAY_MS_MAX 3600000

static bool
is_fault(const struct value *entry)
{
	static const char *const keys[] = { "http_error", "drop", "timeout", "error" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (value_truthy(value_get(entry, keys[i])))
			return true;
	return false;
}

static size_t
count_replies(const struct value *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < value_size(entries); i++)
		count += is_fault(value_at(entries, i)) ? 0 : 1;
	return count;
}

static size_t
count_ai(const struct value *messages)
{
	size_t count = 0;

	for (size_t i = 0; i < value_size(messages); i++)
		count += chat_is(value_at(messages, i), "ai") ? 1 : 0;
	return count;
}

/* Returns where the faults that lead up to reply number n begin, or the reply itself. */
static size_t
begin_of(const struct value *entries, size_t n)
{
	size_t at = 0;

	for (; n > 0 && at < value_size(entries); at++)
		n -= is_fault(value_at(entries, at)) ? 0 : 1;
	return at;
}

/* Returns the entry that attempt (from 1) at reply number n gets, or NULL behind the
 * end. */
static const struct value *
entry_for(const struct value *entries, size_t n, unsigned attempt)
{
	size_t at = begin_of(entries, n);

	while (attempt > 1 && is_fault(value_at(entries, at))) {
		at++;
		attempt--;
	}
	return value_at(entries, at);
}

/* --- playing ----------------------------------------------------------------------- */

static int64_t
retry_after_ms(const struct value *entry)
{
	const struct value *given = value_get(entry, "retry_after");
	double seconds = value_number(given, 0);

	if (value_is(given, VALUE_STR))
		seconds = strtod(value_text(given), NULL);
	return seconds > 0 && seconds < 1e6 ? (int64_t)(seconds * 1000) : 0;
}

static struct fault *
fault_of(struct arena *arena, const char *endpoint, const struct value *entry)
{
	const char *message = value_get_text(entry, "message");
	const char *type = value_get_text(entry, "error_type");
	long status = (long)value_get_int(entry, "http_error", 0);

	if (status != 0)
		return provider_fault_status(
		    arena, endpoint, status, message, retry_after_ms(entry));
	if (value_truthy(value_get(entry, "drop")))
		return provider_fault_http(
		    arena, endpoint, HTTP_CONNECTION, "dropped, as the script says");
	if (value_truthy(value_get(entry, "timeout")))
		return provider_fault_http(
		    arena, endpoint, HTTP_TIMEOUT, "as the script says");
	message = value_get_text(entry, "error");
	return fault_new(arena, type == NULL ? "Exception" : type, "%s",
	    message == NULL ? "error" : message);
}

static const struct value *
usage_of(struct arena *arena, const struct value *usage)
{
	int64_t input = answer_tokens(usage, "input_tokens", 0);
	int64_t output = answer_tokens(usage, "output_tokens", 0);

	if (!value_is(usage, VALUE_MAP))
		return NULL;
	return value_map(arena, "input_tokens", value_int(arena, input), "output_tokens",
	    value_int(arena, output), "total_tokens",
	    value_int(arena, answer_tokens(usage, "total_tokens", input + output)), NULL);
}

static bool
wants_output_tool(const struct ask *ask)
{
	return value_text_is(value_get(ask->response_format, "strategy"), "tool");
}

static const struct value *
wanted_tool(const struct ask *ask)
{
	const struct value *choice = ask->tool_choice;
	const struct value *function = value_get(choice, "function");

	if (value_is(choice, VALUE_MAP))
		return value_get(function == NULL ? choice : function, "name");
	if (wants_output_tool(ask))
		return value_get(
		    value_at(value_get(ask->response_format, "schemas"), 0), "title");
	for (size_t i = 0; i < value_size(ask->tools); i++) {
		const struct value *name = value_get(value_at(ask->tools, i), "name");

		if (value_is(choice, VALUE_STR) && value_equal(name, choice))
			return name;
	}
	return value_get(value_at(ask->tools, 0), "name");
}

/* Turns {structured} into content or a call, as the request asks for it. */
static const struct value *
plain_entry(const struct ask *ask, const struct value *entry)
{
	struct arena *arena = ask->arena;
	const struct value *structured = value_get(entry, "structured");
	const struct value *call;

	if (value_is_nil(structured))
		return entry;
	if ((!value_is_nil(ask->response_format) && !wants_output_tool(ask)) ||
	    value_size(ask->tools) == 0)
		return value_map_with(arena, entry, "content",
		    value_str(arena, json_text(arena, structured)));
	call = value_map(arena, "id", value_str(arena, "structured"), "name",
	    wanted_tool(ask), "args", structured, NULL);
	return value_map_with(arena, entry, "tool_calls", value_array(arena, &call, 1));
}

/* Returns the AI message of a reply, or NULL when its calls are none. */
static const struct value *
message_of(const struct ask *ask, const struct value *entry)
{
	struct arena *arena = ask->arena;
	const struct value *calls = value_get(entry, "tool_calls");
	struct answer answer = { .arena = arena,
		.content = value_get(entry, "content"),
		.usage = usage_of(arena, value_get(entry, "usage")) };

	for (size_t i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		const char *name = value_get_text(call, "name");

		if (name == NULL || answer_call(&answer, value_get_text(call, "id"), name,
					value_get(call, "args")) == -1)
			return NULL;
	}
	answer.metadata = value_map(arena, "finish_reason",
	    value_str(arena, value_size(calls) > 0 ? "tool_calls" : "stop"), "model_name",
	    value_str(arena, ask->model), NULL);
	return answer_message(&answer);
}

/* A word goes with the blanks behind it. */
static size_t
word_size(const char *text)
{
	size_t size = strcspn(text, " \n");

	return size + strspn(text + size, " \n");
}

static uint64_t
count_words(const char *text)
{
	uint64_t count = 0;

	for (; *text != '\0'; text += word_size(text))
		count++;
	return count;
}

/* Shows text word by word, spread over delay_ms, as a model writes. Returns 0, or -1 when
 * cancelled. */
static int
show(struct tokens *tokens, const char *text, uint64_t delay_ms)
{
	uint64_t words = count_words(text);

	for (uint64_t i = 0; i < words; i++, text += word_size(text)) {
		uint64_t pause_ms = delay_ms * (i + 1) / words - delay_ms * i / words;

		if (pause_ms > 0 && fiber_sleep(pause_ms) == -1)
			return -1;
		tokens_add(tokens, text, word_size(text));
	}
	return 0;
}

/* Takes the time that entry says. Returns 0, or -1 when cancelled. */
static int
take_time(const struct ask *ask, const struct value *entry)
{
	const char *text = value_get_text(entry, "content");
	int64_t delay_ms = value_get_int(entry, "delay_ms", 0);

	if (delay_ms < 0 || delay_ms > DELAY_MS_MAX)
		delay_ms = 0;
	if (ask->tokens != NULL && text != NULL && *text != '\0' && !is_fault(entry))
		return show(ask->tokens, text, (uint64_t)delay_ms);
	return delay_ms == 0 ? 0 : fiber_sleep((uint64_t)delay_ms);
}

/* A script at its end is the author's mistake: trying again would not help. */
static struct fault *
mistake(struct arena *arena, const char *text)
{
	struct fault *fault = fault_new(arena, "ValueError", "%s", text);

	fault->retryable = false;
	return fault;
}

static const struct value *
scripted_send(
    const struct endpoint *endpoint, const struct ask *ask, struct fault **fault_r)
{
	struct arena *arena = ask->arena;
	const struct value *entries = value_get(ask->script, ask->model);
	const struct value *entry =
	    entry_for(entries, count_ai(ask->messages), ask->attempt);
	const struct value *message = NULL;

	if (ask->task == TASK_EMBEDDINGS)
		return scripted_embeddings(ask);
	if (!value_is(entries, VALUE_ARRAY))
		*fault_r = mistake(arena,
		    arena_printf(arena, "the script has no model '%s'", ask->model));
	else if (entry == NULL)
		*fault_r = mistake(arena,
		    arena_printf(arena, "the script of model '%s' has only %zu replies",
			ask->model, count_replies(entries)));
	else if (take_time(ask, entry) == -1)
		*fault_r = fault_cancelled(arena);
	else if (is_fault(entry))
		*fault_r = fault_of(arena, endpoint->name, entry);
	else if ((message = message_of(ask, plain_entry(ask, entry))) == NULL)
		*fault_r = mistake(arena,
		    "a scripted reply has a tool call without a name, or too many");
	return message;
}

const struct provider provider_scripted = {
	.name = "scripted",
	.embeds = true,
	.send = scripted_send,
};
