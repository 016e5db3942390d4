/* answer: the AI message that a provider's answer becomes, under construction.
 *
 * Zero it but for the arena, set, add calls, answer_message. Everything is shared, not
 * copied. */
#ifndef ANSWER_H
#define ANSWER_H

#include "value.h"

struct answer {
	struct arena *arena;
	const struct value *content; /* a string or a list of parts; NULL: "" */
	struct value_list calls;     /* set by answer_call */
	struct value_list invalid;
	const struct value *usage;    /* usage_metadata, or NULL */
	const struct value *metadata; /* response_metadata, or NULL */
	const struct value *extra;    /* additional_kwargs, or NULL */
};

/* Adds a call. args is what the model wrote: JSON text (empty: no arguments), in whose strings
 * line breaks and the like may stand as they are, or, from providers that parse it themselves,
 * a map. What is not a JSON object makes an invalid call that keeps the text. An id that is
 * missing, or taken by another call of this message, is replaced: everything behind this tells
 * calls apart by it. Returns 0, or -1 when TOOL_CALLS_MAX are there. */
int answer_call(
    struct answer *answer, const char *id, const char *name, const struct value *args);

#define ANSWER_CALLS_FAULT "more than 128 tool calls in one message" /* TOOL_CALLS_MAX */

const struct value *answer_message(struct answer *answer);

/* A number of tokens in map that can be believed, so that sums of them can be too. */
int64_t answer_tokens(const struct value *map, const char *key, int64_t otherwise);

#endif
