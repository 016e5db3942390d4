/* providers: the model providers that are known by name (providers.def). A model worker serves them, a coordinator says
 * which key one wants, and who starts a fleet keeps their keys from all others. */
#ifndef PROVIDERS_H
#define PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>

#define AZURE_URL_VARIABLE "AZURE_OPENAI_ENDPOINT"

struct known_provider {
	const char *name;         /* "groq" of "groq:llama-3.3-70b-versatile" */
	const char *key_variable; /* of the environment */
	const char *
	    url; /* its base; NULL: only its owner knows it, and says it by AZURE_URL_VARIABLE */
	bool counts_streams; /* a streamed answer may be asked for its token counts */
	bool takes_any_id;   /* a call may have an id that another model has given it */
};

extern const struct known_provider known_providers[];
extern const size_t known_provider_count;

/* Variables of the environment with secrets of providers that are not their key_variable; NULL-ended. */
extern const char *const known_secrets[];

/* Returns the one of that name, or NULL. */
const struct known_provider *known_provider(const char *name);

#endif
