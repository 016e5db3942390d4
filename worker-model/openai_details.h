/* openai_details: what a model thought, as OpenRouter tells it (reasoning_details), put together of the pieces of a
 * stream: it wants the list back with the message. */
#ifndef OPENAI_DETAILS_H
#define OPENAI_DETAILS_H

#include "answer_stream.h"

struct openai_detail;

/* Zero it. */
struct openai_details {
	struct openai_detail *items;
	size_t count, room;
};

/* Takes in the list of a delta; what is none counts as nothing. Returns 0, or -1 with stream's fault. */
int openai_details_add(struct openai_details *details, struct answer_stream *stream,
    const struct value *list);

/* Returns the list of all, in arena, or NULL when there is nothing. */
const struct value *openai_details_list(
    const struct openai_details *details, struct arena *arena);

void openai_details_release(struct openai_details *details);

#endif
