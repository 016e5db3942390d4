/* scripted_responses: an entry of a script (scripted_reply.h) as the body of an answer of OpenAI's Responses
 * API. Pure.
 *
 * Of an entry: content, tool_calls, usage (input_tokens, output_tokens ...: as it is), structured, finish_reason
 * ("length": an answer that was cut off), stream_error, open_end; and
 *   thought   {summary, encrypted_content}: a reasoning item in front
 *   items     the whole output, instead */
#ifndef SCRIPTED_RESPONSES_H
#define SCRIPTED_RESPONSES_H

#include "value.h"

/* Both return the body in arena. */
const char *scripted_responses_plain(
    struct arena *arena, const struct value *entry, const struct value *request);
const char *scripted_responses_stream(
    struct arena *arena, const struct value *entry, const struct value *request);

#endif
