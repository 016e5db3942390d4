#include "providers.h"

#include <string.h>

const struct known_provider known_providers[] = {
#define PROVIDER(name, key_variable, url, counts_streams, takes_any_id)                  \
	{ #name, #key_variable, url, counts_streams, takes_any_id },
#include "providers.def"
#undef PROVIDER
};
const size_t known_provider_count = sizeof known_providers / sizeof *known_providers;

const char *const known_secrets[] = { "AZURE_OPENAI_AD_TOKEN", NULL };

const struct known_provider *
known_provider(const char *name)
{
	for (size_t i = 0; i < known_provider_count; i++)
		if (strcmp(known_providers[i].name, name) == 0)
			return &known_providers[i];
	return NULL;
}
