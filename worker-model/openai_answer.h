/* openai_answer: what a server of OpenAI's chat completions answers, read with care. */
#ifndef OPENAI_ANSWER_H
#define OPENAI_ANSWER_H

#include "fault.h"
#include "value.h"

/* Returns the AI message of an answer's body (parsed JSON), or NULL with a reason; both
 * in arena. */
const struct value *openai_answer(
    struct arena *arena, const struct value *body, const char **error_r);

/* Returns the fault of an answer with an error status; text is its body. */
struct fault *openai_refusal(struct arena *arena, const char *endpoint, long status,
    const char *text, int64_t retry_after_ms);

/* Returns the fault that body, which came with status 200, really is; NULL when it is
 * none. */
struct fault *openai_hidden_error(
    struct arena *arena, const char *endpoint, const struct value *body);

/* usage_metadata of a `usage`; NULL for NULL. */
const struct value *openai_usage(struct arena *arena, const struct value *usage);

/* response_metadata: of body (or of a stream's first event) and a finish_reason. */
const struct value *openai_metadata(
    struct arena *arena, const struct value *body, const struct value *finish_reason);

/* additional_kwargs of a refusal; NULL for NULL. */
const struct value *openai_extra(struct arena *arena, const struct value *refusal);

#endif
