/* azure: what Azure OpenAI wants otherwise than OpenAI: a deployment's name in the URL, with a version of the API behind
 * it; the newer v1 API, which has no versions, wants neither. Words and answers are OpenAI's. */
#ifndef AZURE_H
#define AZURE_H

#include "provider.h"

/* Returns the resource's URL, https://name.openai.azure.com, of what is given as it: with /openai or /openai/v1 behind, or
 * without. NULL: it goes on with a deployment or a query, and is none. */
const char *azure_resource(struct arena *arena, const char *given);

/* True when what is given as a resource's URL asks for the v1 API: it ends with /openai/v1. */
bool azure_is_v1(const char *given);

/* Returns where a request to model, a deployment, goes; path is OpenAI's, such as "/chat/completions". */
const char *azure_url(struct arena *arena, const struct endpoint *endpoint,
    const char *model, const char *path);

/* Returns settings with what a version of the API has not got switched off: it counts the tokens of a stream since
 * 2024-09-01-preview. What they say themselves stays. */
const struct value *azure_settings(
    struct arena *arena, const struct endpoint *endpoint, const struct value *settings);

#endif
