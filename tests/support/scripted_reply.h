/* scripted_reply: one entry of a script as the HTTP answer of an OpenAI-compatible
 * server. Pure: entry and request in, bytes out.
 *
 * An entry is one of conformance/README.md ("script"): content, tool_calls [{id, name,
 * args}] (args a map, or a string that is sent as it is), usage, http_error + message +
 * retry_after, drop, structured. Beyond those, for tests of what goes wrong on the way:
 *   finish_reason   instead of "stop" or "tool_calls"
 *   stream_error    {message, type, code}: an error event behind the content of a stream
 *   open_end        true: a stream without finish_reason and [DONE]
 *   raw             text sent as the body (status 200), with content_type if given
 *   delta_bytes     a stream's content comes in so many bytes at once, not word by word
 *   moderation      {flagged, categories, category_scores}: the result of POST .../moderations
 *   delay_ms        before the first byte
 *   piece_bytes     the body goes out in pieces of so many bytes
 *   piece_delay_ms  between two pieces
 *   cut_after       the connection is closed behind so many bytes of the body; below
 * zero: so many bytes before its end hang            true: the request is never answered
 * usage is {input_tokens, output_tokens, total_tokens}, or OpenAI's names. */
#ifndef SCRIPTED_REPLY_H
#define SCRIPTED_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"

struct scripted_reply {
	int status;
	const char *content_type;
	const char *retry_after; /* or NULL */
	const char *error_type;  /* of x-amzn-ErrorType, or NULL */
	const char *body;
	size_t body_size;
	bool drop, hang;
	uint64_t delay_ms, piece_delay_ms;
	size_t piece_bytes; /* 0: whole */
	long cut_after;     /* bytes; -1: not cut */
};

/* Whose words are spoken: OpenAI's chat completions, as above, its Responses API (scripted_responses.h),
 * Anthropic's Messages API (scripted_anthropic.h), Bedrock's Converse API (scripted_bedrock.h). The rest of what is above applies
 * to all. */
enum scripted_words { WORDS_CHAT, WORDS_RESPONSES, WORDS_ANTHROPIC, WORDS_BEDROCK };

/* Fills *reply_r with entry's answer to request, in arena. */
void scripted_reply_make(struct arena *arena, const struct value *entry,
    const struct value *request, enum scripted_words words,
    struct scripted_reply *reply_r);

/* The answer of an OpenAI-compatible server that refuses: {error: {message, type}}. */
void scripted_reply_error(
    struct arena *arena, int status, const char *message, struct scripted_reply *reply_r);

#endif
