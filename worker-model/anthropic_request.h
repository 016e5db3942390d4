/* anthropic_request: a model request in the words of Anthropic's Messages API. */
#ifndef ANTHROPIC_REQUEST_H
#define ANTHROPIC_REQUEST_H

#include "provider.h"

/* What an answer may be long where nobody says: the model's own limit, if it is known, else this. */
#define ANTHROPIC_TOKENS_OTHERWISE 4096

/* Returns the request's body in ask->arena, or NULL with a reason there: a message that a
 * model cannot be sent.
 *
 * Settings of ours: cache_control ({type, ttl}) goes into the last block of the last message,
 * system_cache_control into the last block of the system prompt; a tool's `extras` (cache_control,
 * defer_loading, ...) go out beside its name. */
const struct value *anthropic_request(
    const struct ask *ask, bool stream, const char **error_r);

/* Returns schema as structured output takes it: objects are closed, keywords that the provider refuses
 * are left out. What it answers is checked with the whole schema. */
const struct value *anthropic_schema(struct arena *arena, const struct value *schema);

#endif
