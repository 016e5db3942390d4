/* responses_answer: what OpenAI's Responses API answers, read with care. */
#ifndef RESPONSES_ANSWER_H
#define RESPONSES_ANSWER_H

#include "value.h"

/* Returns the AI message of an answer's body (parsed JSON), or NULL with a reason; both in arena. Its content is
 * text where there is no more than that and calls, else all that was answered (responses_kinds.h). */
const struct value *responses_answer(
    struct arena *arena, const struct value *body, const char **error_r);

#endif
