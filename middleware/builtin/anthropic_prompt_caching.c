/* anthropic_prompt_caching: has Anthropic keep what every call of a thread begins with
 * (semantics.md 6.17). */
#include <string.h>

#include "prompt_caching.h"

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const char *dialect = model_dialect(request);

	if (dialect == NULL || strcmp(dialect, "anthropic") != 0)
		return prompt_caching_unsupported(request, next, "Anthropic");
	return prompt_caching_marked(request, next, true);
}

const struct middleware middleware_anthropic_prompt_caching = {
	.abi = MIDDLEWARE_ABI,
	.name = "anthropic_prompt_caching",
	.summary = "has Anthropic keep what every call of a thread begins with",
	.options = prompt_caching_options,
	.wrap_model_call = wrap_model_call,
};
