#include "openai_answer.h"

#include <string.h>

#include "answer.h"
#include "bounds.h"
#include "json.h"
#include "openai_blocks.h"
#include "provider_fault.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- pieces ------------------------------------------------------------------------ */

static const struct value *
detail(struct arena *arena, const struct value *map, const char *key)
{
	return value_is(value_get(map, key), VALUE_INT)
		   ? value_int(arena, answer_tokens(map, key, 0))
		   : NULL;
}

/* Returns a map of the count pairs, or NULL when none of them has a value. */
static const struct value *
details(struct arena *arena, const struct value_pair *pairs, size_t count)
{
	const struct value *map = value_map_of(arena, pairs, count);

	return value_size(map) > 0 ? map : NULL;
}

const struct openai_counts openai_chat_counts = {
	.input = "prompt_tokens",
	.output = "completion_tokens",
	.of_input = "prompt_tokens_details",
	.of_output = "completion_tokens_details",
};

const struct value *
openai_usage(
    struct arena *arena, const struct value *usage, const struct openai_counts *counts)
{
	const struct value *input = value_get(usage, counts->of_input);
	const struct value *output = value_get(usage, counts->of_output);
	int64_t in = answer_tokens(usage, counts->input, 0);
	int64_t out = answer_tokens(usage, counts->output, 0);

	if (!value_is(usage, VALUE_MAP))
		return NULL;

	const struct value_pair of_input[] = {
		{ VALUE_TEXT("cache_read"), detail(arena, input, "cached_tokens") },
		{ VALUE_TEXT("cache_creation"),
		    detail(arena, input, "cache_write_tokens") },
		{ VALUE_TEXT("audio"), detail(arena, input, "audio_tokens") },
	};
	const struct value_pair of_output[] = {
		{ VALUE_TEXT("reasoning"), detail(arena, output, "reasoning_tokens") },
		{ VALUE_TEXT("audio"), detail(arena, output, "audio_tokens") },
	};
	const struct value_pair all[] = {
		{ VALUE_TEXT("input_tokens"), value_int(arena, in) },
		{ VALUE_TEXT("output_tokens"), value_int(arena, out) },
		{ VALUE_TEXT("total_tokens"),
		    value_int(arena, answer_tokens(usage, "total_tokens", in + out)) },
		{ VALUE_TEXT("input_token_details"),
		    details(arena, of_input, COUNT(of_input)) },
		{ VALUE_TEXT("output_token_details"),
		    details(arena, of_output, COUNT(of_output)) },
	};
	return value_map_of(arena, all, COUNT(all));
}

static const struct value *
text_or_nothing(const struct value *map, const char *key)
{
	const struct value *text = value_get(map, key);

	return value_is(text, VALUE_STR) && text->size > 0 ? text : NULL;
}

const struct value *
openai_metadata(
    struct arena *arena, const struct value *body, const struct value *finish_reason)
{
	const struct value_pair metadata[] = {
		{ VALUE_TEXT("finish_reason"),
		    value_is(finish_reason, VALUE_STR) ? finish_reason : NULL },
		{ VALUE_TEXT("model_name"), text_or_nothing(body, "model") },
		{ VALUE_TEXT("id"), text_or_nothing(body, "id") },
		{ VALUE_TEXT("system_fingerprint"),
		    text_or_nothing(body, "system_fingerprint") },
		{ VALUE_TEXT("service_tier"), text_or_nothing(body, "service_tier") },
	};

	return value_map_of(arena, metadata, COUNT(metadata));
}

const struct value *
openai_extra(struct arena *arena, const struct value *refusal,
    const struct value *thought, const struct value *thoughts)
{
	const struct value_pair extra[] = {
		{ VALUE_TEXT("refusal"),
		    value_is(refusal, VALUE_STR) && refusal->size > 0 ? refusal : NULL },
		{ VALUE_TEXT("reasoning_content"),
		    value_is(thought, VALUE_STR) ? thought : NULL },
		{ VALUE_TEXT("reasoning_details"),
		    value_is(thoughts, VALUE_ARRAY) && thoughts->size > 0 ? thoughts
									  : NULL },
	};

	return details(arena, extra, COUNT(extra));
}

int
openai_call(struct answer *answer, const char *id, const char *name,
    const struct value *args, const struct value *beside)
{
	struct arena *arena = answer->arena;
	const struct value_list *list = &answer->calls;
	size_t valid = list->count;
	const struct value *kept = value_get(answer->extra, OPENAI_BESIDE);

	if (answer_call(answer, id, name, args) == -1)
		return -1;
	if (!value_is(beside, VALUE_MAP))
		return 0;
	if (list->count == valid)
		list = &answer->invalid;
	id = value_get_text(list->items[list->count - 1], "id"); /* it may be ours */
	answer->extra = value_map_with(
	    arena, answer->extra, OPENAI_BESIDE, value_map_with(arena, kept, id, beside));
	return 0;
}

/* --- the whole --------------------------------------------------------------------- */

static int
read_call(struct answer *answer, const struct value *call, const char **error_r)
{
	const struct value *function = value_get(call, "function");
	const char *name = value_get_text(function, "name");

	if (name == NULL || *name == '\0') {
		*error_r = "a tool call names no function";
		return -1;
	}
	if (openai_call(answer, value_get_text(call, "id"), name,
		value_get(function, "arguments"), value_get(call, OPENAI_BESIDE)) == 0)
		return 0;
	*error_r = ANSWER_CALLS_FAULT;
	return -1;
}

static int
read_calls(struct answer *answer, const struct value *calls, const char **error_r)
{
	for (size_t i = 0; i < value_size(calls); i++)
		if (read_call(answer, value_at(calls, i), error_r) == -1)
			return -1;
	return 0;
}

static bool
is_content(const struct value *content)
{
	return value_is_nil(content) || value_is(content, VALUE_STR) ||
	       value_is(content, VALUE_ARRAY);
}

static bool
is_too_long(const struct value *list)
{
	return value_is(list, VALUE_ARRAY) && list->size > ANSWER_BLOCKS_MAX;
}

const struct value *
openai_answer(struct arena *arena, const struct value *body, const char **error_r)
{
	const struct value *choice = value_at(value_get(body, "choices"), 0);
	const struct value *message = value_get(choice, "message");
	struct answer answer = { .arena = arena,
		.content = value_get(message, "content") };

	*error_r = "it has no message";
	if (!value_is(message, VALUE_MAP))
		return NULL;
	*error_r = "its content is neither text nor a list";
	if (!is_content(answer.content))
		return NULL;
	*error_r = "too many blocks in one message";
	if (is_too_long(answer.content) ||
	    is_too_long(value_get(message, "reasoning_details")))
		return NULL;
	answer.extra = openai_extra(arena, value_get(message, "refusal"),
	    value_get(message, "reasoning_content"),
	    value_get(message, "reasoning_details"));
	if (read_calls(&answer, value_get(message, "tool_calls"), error_r) == -1)
		return NULL;
	answer.usage = openai_usage(arena, value_get(body, "usage"), &openai_chat_counts);
	answer.metadata =
	    openai_metadata(arena, body, value_get(choice, "finish_reason"));
	return answer_message(&answer);
}
