/* model_usage: what model calls have used, by model. A list of entries, one a call, is what a worker
 * tells of a call ([{model, usage, estimated?}]; usage is the answer's usage_metadata); totals are what
 * a field with counts_usage holds:
 *
 *	{model: {calls, estimated?, input_tokens, output_tokens, total_tokens,
 *	         input_token_details?, output_token_details?}}
 *
 * Without estimated and calls a model's totals are a usage_metadata, for model_profile_cost. A call whose
 * provider says nothing is counted by the rule of token_count.h, and in estimated: a limit must not
 * be blind to it. */
#ifndef MODEL_USAGE_H
#define MODEL_USAGE_H

#include "value.h"

/* A call that was answered. */
struct model_usage {
	const char *model; /* "provider:name" */
	const char *system_prompt;
	const struct value *tools, *messages; /* what was sent; either may be NULL */
	const struct value *answer;           /* [message] */
};

/* Returns its entry in arena. estimates: usage is estimated where the provider says nothing; else there is
 * none then. */
const struct value *model_usage_entry(
    struct arena *arena, const struct model_usage *call, bool estimates);
/* Of a call that was asked as turn_call_model's wish of model, with its RESULT body; NULL when it
 * failed. */
const struct value *model_usage_of_wish(struct arena *arena, const char *model,
    const struct value *wish, const struct value *body, bool estimates);

/* Returns the sum of two usage_metadata; either may be NULL. */
const struct value *model_usage_sum(
    struct arena *arena, const struct value *a, const struct value *b);

/* Returns totals (NULL: none yet) with entries added, in arena. What is no entry is skipped. */
const struct value *model_usage_add(struct arena *arena, const struct value *totals,
    const struct value *const *entries, size_t count);

#endif
