/* token_count: how many tokens a conversation is, about, without asking anybody.
 *
 * The rule of Python's langchain_core (semantics.md 6.10): characters (code points) of content, role,
 * name, id of the answered call and calls as Python writes them, divided by what a token has, rounded
 * up, and three for each message; an image is a flat number. What the provider itself reported of an
 * AI message (`usage_metadata`) is nearer to the truth, and corrects the rule by up to a quarter.
 *
 * Costs what there is to read, a few instructions for each eight bytes, and no memory. */
#ifndef TOKEN_COUNT_H
#define TOKEN_COUNT_H

#include "value.h"

#define TOKENS_IN_IMAGE 85

/* How many characters a token of model ("provider:name", or NULL) has. */
double token_chars(const char *model);

/* Of one message, as one of several: counts add up. */
int64_t token_count_message(const struct value *message, double chars);
int64_t token_count_messages(const struct value *messages, double chars);
/* Of what stands in front of them; either may be NULL. */
int64_t token_count_head(
    const char *system_prompt, const struct value *tools, double chars);

/* What provider (of "provider:name") reported with the last AI message of messages: total_tokens of
 * its usage, which is all that was sent and the answer. -1: nothing, or it is not that provider's.
 * A message that does not say whose it is (response_metadata.model_provider) is otherwise's.
 * *at_r, if any, is its position. */
int64_t token_reported(
    const struct value *messages, const char *model, const char *otherwise, size_t *at_r);

/* A whole request, corrected by what was reported. */
struct token_request {
	const char *model;  /* whose tokens */
	const char *sender; /* the model that answers by default; or NULL: model */
	const char *system_prompt;
	const struct value *tools;
	const struct value *messages;
	const char
	    *stale; /* id of an AI message whose report is of an older history; or NULL */
};
int64_t token_count_request(const struct token_request *request);

#endif
