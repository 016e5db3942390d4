/* openai_answer: what a server of OpenAI's chat completions answers, read with care. */
#ifndef OPENAI_ANSWER_H
#define OPENAI_ANSWER_H

#include "answer.h"

/* Returns the AI message of an answer's body (parsed JSON), or NULL with a reason; both
 * in arena. */
const struct value *openai_answer(
    struct arena *arena, const struct value *body, const char **error_r);

/* How an API calls its counts of tokens. */
struct openai_counts {
	const char *input, *output;       /* all of either */
	const char *of_input, *of_output; /* maps of what is among them */
};

/* usage_metadata of a `usage` with these counts; NULL for NULL. */
const struct value *openai_usage(
    struct arena *arena, const struct value *usage, const struct openai_counts *counts);

/* Those of the chat completions. */
extern const struct openai_counts openai_chat_counts;

/* response_metadata: of body (or of a stream's first event) and a finish_reason. */
const struct value *openai_metadata(
    struct arena *arena, const struct value *body, const struct value *finish_reason);

/* As answer_call. beside: what the server says with it and wants back with it (extra_content: Google's signature of what
 * was thought before it); a map is kept under the call's id, in answer->extra. */
int openai_call(struct answer *answer, const char *id, const char *name,
    const struct value *args, const struct value *beside);

/* additional_kwargs: a refusal, and what the model thought, as text (which may be empty) and in details. What is not of
 * its kind is not there; NULL when there is nothing. */
const struct value *openai_extra(struct arena *arena, const struct value *refusal,
    const struct value *thought, const struct value *thoughts);

#endif
