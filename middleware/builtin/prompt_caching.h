/* prompt_caching: marks in a request for what a provider is to keep of it, for the middleware of each provider that has them. */
#ifndef PROMPT_CACHING_H
#define PROMPT_CACHING_H

#include "middleware.h"

/* The settings of such a middleware: type, ttl, min_messages_to_cache, unsupported_model_behavior. */
extern const struct option prompt_caching_options[];

/* Goes on with request, which has marks in it (cache_control, system_cache_control, and those of the last tool unless told
 * otherwise) where it has enough messages. */
struct model_response *prompt_caching_marked(
    struct model_request *request, struct model_next *next, bool tools);

/* Goes on without, or fails, as the settings have it; whose: "Anthropic". */
struct model_response *prompt_caching_unsupported(
    struct model_request *request, struct model_next *next, const char *whose);

#endif
