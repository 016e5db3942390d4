/* providers: the model providers that are known by name (providers.def). A model worker serves them, a coordinator says
 * which key one wants, and who starts a fleet keeps their keys from all others. */
#ifndef PROVIDERS_H
#define PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>

#define AZURE_URL_VARIABLE "AZURE_OPENAI_ENDPOINT"
#define BEDROCK_URL_VARIABLE "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"

struct known_provider {
	const char *name;         /* "groq" of "groq:llama-3.3-70b-versatile" */
	const char *key_variable; /* of the environment */
	const char *
	    url; /* its base; NULL: only its owner knows it, and says it by other variables */
	bool counts_streams; /* a streamed answer may be asked for its token counts */
	unsigned
	    call_id_bytes; /* the longest id of a call in a thread, 9: these and no others (Mistral); 0: any */
	const char *
	    names_also; /* names of tools may have, besides letters, digits, '_' and '-'; NULL: all */
	bool wants_thoughts; /* each answer in a thread has one */
};

extern const struct known_provider known_providers[];
extern const size_t known_provider_count;

/* Variables of the environment with secrets of providers that are not their key_variable; NULL-ended. */
extern const char *const known_secrets[];

/* Returns the one of that name, or NULL. */
const struct known_provider *known_provider(const char *name);

/* Returns what has to be in a worker's environment for it to be there: the names of variables. */
const char *known_provider_wants(const struct known_provider *provider);

#endif
