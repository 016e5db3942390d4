/* scripted_anthropic: an entry of a script (scripted_reply.h) as the body of an answer of Anthropic's
 * Messages API. Pure.
 *
 * Of an entry: content, tool_calls, usage (input_tokens, output_tokens, cache_read_input_tokens,
 * cache_creation_input_tokens ...: as it is), structured, finish_reason (the stop_reason),
 * stream_error, open_end; and
 *   thinking   {thinking, signature}: a block in front
 *   blocks     the whole content, instead */
#ifndef SCRIPTED_ANTHROPIC_H
#define SCRIPTED_ANTHROPIC_H

#include "value.h"

/* All return the body in arena; the last one that of an error. */
const char *scripted_anthropic_plain(
    struct arena *arena, const struct value *entry, const struct value *request);
const char *scripted_anthropic_stream(
    struct arena *arena, const struct value *entry, const struct value *request);
const char *scripted_anthropic_error(
    struct arena *arena, int status, const char *message);

#endif
