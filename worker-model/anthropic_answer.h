/* anthropic_answer: what a server of Anthropic's Messages API answers, read with care. */
#ifndef ANTHROPIC_ANSWER_H
#define ANTHROPIC_ANSWER_H

#include "value.h"

/* Returns the AI message of an answer's body (parsed JSON), or NULL with a reason; both in arena.
 * Its content is the text, when there is only that before the calls; else the list of blocks as they
 * came, thinking with its signature. */
const struct value *anthropic_answer(
    struct arena *arena, const struct value *body, const char **error_r);

/* usage_metadata of a `usage`, as LangChain has it: input_tokens with those read from and written to
 * the cache, which input_token_details tells apart. NULL for NULL. */
const struct value *anthropic_usage(struct arena *arena, const struct value *usage);

#endif
