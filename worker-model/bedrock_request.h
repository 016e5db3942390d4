/* bedrock_request: a model request in the words of Bedrock's Converse API. */
#ifndef BEDROCK_REQUEST_H
#define BEDROCK_REQUEST_H

#include "provider.h"

/* Returns the request's body in ask->arena, or NULL with a reason there: a message that a model cannot be sent. The model, and
 * whether it is to be streamed, stand in the URL.
 *
 * Settings that the API has not got are the model's own: they go into additionalModelRequestFields. Of ours cache_control ({type,
 * ttl}) is a cachePoint behind the last block of the last message, system_cache_control one behind the system prompt, and so is the
 * cache_control of a tool's `extras`. */
const struct value *bedrock_request(
    const struct ask *ask, bool stream, const char **error_r);

#endif
