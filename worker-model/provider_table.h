/* provider_table: the providers this worker is set up for. */
#ifndef PROVIDER_TABLE_H
#define PROVIDER_TABLE_H

#include <stddef.h>

#include "provider.h"

struct provider_table {
	struct arena *arena;
	struct endpoint *endpoints;
	size_t count;
	const char **names; /* of the endpoints, in their order */
};

#define PROVIDER_FORM                                                                    \
	"name=[anthropic+|responses+|azure+|bedrock+]http(s)://base_url"                 \
	"[,KEY_VARIABLE], each name once"

/* Makes the table: "scripted" always; the given ones, NULL-ended: PROVIDER_FORM each, where a list
 * split at its commas is fine too; and of the known ones (proto/providers.h) that no given one is
 * called like, those whose key is in the environment, or whose URL (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, AZURE_OPENAI_ENDPOINT,
 * AWS_ENDPOINT_URL_BEDROCK_RUNTIME; Bedrock is at its region, too: AWS_REGION); an empty one is none. Keys come from the environment alone. Every endpoint gets defaults' http and
 * timeouts. Returns 0 and fills *table_r, or -1 with what may be shown of the item that is wrong, lent until
 * the next call: of the variable *source_r, or, it being NULL, of given. */
int provider_table_init(struct provider_table *table_r, const struct endpoint *defaults,
    const char *const *given, const char **source_r, const char **item_r);
void provider_table_release(struct provider_table *table);

/* Returns the kind that a provider of that name is known to be, wherever it is served; NULL: it is not known. */
const char *provider_kind(const char *name);

/* Finds the endpoint of a model, "provider:name"; *model_r is what follows the colon.
 * NULL: the reason is in *fault_r, in arena. */
const struct endpoint *provider_table_find(const struct provider_table *table,
    struct arena *arena, const char *name, const char **model_r, struct fault **fault_r);

#endif
