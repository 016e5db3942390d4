#include "up_secrets.h"

#include <string.h>

#include "providers.h"

/* A list "name=base_url[,KEY_VARIABLE],..." names a variable wherever a piece has no "=". */
static void
add_key_variables(
    struct arena *arena, const char *providers, const char **names, size_t *n)
{
	const char *piece = providers;

	while (*piece != '\0') {
		size_t size = strcspn(piece, ",");

		if (size > 0 && memchr(piece, '=', size) == NULL)
			names[(*n)++] = arena_copy(arena, piece, size);
		piece += size + (piece[size] == ',');
	}
}

static size_t
secret_count(void)
{
	size_t count = 0;

	while (known_secrets[count] != NULL)
		count++;
	return count;
}

static size_t
count_pieces(const char *list)
{
	size_t count = 1;

	while ((list = strchr(list, ',')) != NULL) {
		list++;
		count++;
	}
	return count;
}

const char *const *
up_secrets(struct arena *arena, const char *kind, const char *providers)
{
	const char **names;
	size_t i, n = 0;

	if (providers == NULL)
		providers = "";
	names = arena_alloc(
	    arena, (count_pieces(providers) + known_provider_count + secret_count() + 3) *
		       sizeof *names);
	names[n++] = "FLOTILLA_REDIS"; /* a coordinator is told by a flag */
	if (strcmp(kind, "redis") == 0 || strcmp(kind, "broker") == 0 ||
	    strcmp(kind, "serve") == 0)
		names[n++] = "OTEL_EXPORTER_OTLP_HEADERS"; /* the others tell of runs */
	if (strcmp(kind, "worker-model") != 0) {
		for (i = 0; i < known_provider_count; i++)
			names[n++] = known_providers[i].key_variable;
		for (i = 0; known_secrets[i] != NULL; i++)
			names[n++] = known_secrets[i];
		add_key_variables(arena, providers, names, &n);
	}
	names[n] = NULL;
	return names;
}
