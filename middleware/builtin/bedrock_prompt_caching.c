/* bedrock_prompt_caching: has Amazon Bedrock keep what every call of a thread begins with (semantics.md 6.17). */
#include <string.h>

#include "prompt_caching.h"

/* By the model's id, as LangChain looks. Nova keeps no tools. */
static bool
is_claude(const char *model)
{
	return strcasestr(model, "anthropic") != NULL;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const char *dialect = model_dialect(request), *model = model_name(request);

	if (dialect == NULL || strcmp(dialect, "bedrock_converse") != 0 ||
	    (!is_claude(model) && strcasestr(model, "amazon.nova") == NULL))
		return prompt_caching_unsupported(
		    request, next, "Anthropic or Nova at Bedrock");
	return prompt_caching_marked(request, next, is_claude(model));
}

const struct middleware middleware_bedrock_prompt_caching = {
	.abi = MIDDLEWARE_ABI,
	.name = "bedrock_prompt_caching",
	.summary = "has Amazon Bedrock keep what every call of a thread begins with",
	.options = prompt_caching_options,
	.wrap_model_call = wrap_model_call,
};
