#include "providers.h"

#include <string.h>

const struct known_provider known_providers[] = {
#define PROVIDER(                                                                        \
    name, key_variable, url, counts_streams, call_id_bytes, names_also, wants_thoughts)  \
	{ #name, #key_variable, url, counts_streams, call_id_bytes, names_also,          \
		wants_thoughts },
#include "providers.def"
#undef PROVIDER
};
const size_t known_provider_count = sizeof known_providers / sizeof *known_providers;

/* An id of AWS without its secret is worse than none: who finds it looks no further. */
const char *const known_secrets[] = { "AZURE_OPENAI_AD_TOKEN", "AWS_ACCESS_KEY_ID",
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", NULL };

const struct known_provider *
known_provider(const char *name)
{
	for (size_t i = 0; i < known_provider_count; i++)
		if (strcmp(known_providers[i].name, name) == 0)
			return &known_providers[i];
	return NULL;
}

const char *
known_provider_wants(const struct known_provider *provider)
{
	if (provider->url != NULL)
		return provider->key_variable;
	return strcmp(provider->name, "bedrock_converse") == 0
		   ? "AWS_REGION with AWS_BEARER_TOKEN_BEDROCK, or with "
		     "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
		   : AZURE_URL_VARIABLE;
}
