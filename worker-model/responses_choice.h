/* responses_choice: which of OpenAI's two APIs is asked. */
#ifndef RESPONSES_CHOICE_H
#define RESPONSES_CHOICE_H

#include "provider.h"

/* True when a request goes to the Responses API, as LangChain's ChatOpenAI chooses: `use_responses_api` of
 * the settings says it; else, where the endpoint leaves it to the request (RESPONSES_AS_FITS), a tool of
 * the provider's own, a setting that only this API has, or a model that is served, or served best, by it. */
bool responses_chosen(const struct endpoint *endpoint, const struct ask *ask);

#endif
