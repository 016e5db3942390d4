#include "provider_table.h"

#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "bounds.h"
#include "nearest.h"
#include "wire.h"

#define OPENAI_URL "https://api.openai.com/v1"
#define ENDPOINTS_MAX 64u

/* --- making ------------------------------------------------------------------------ */

static bool
is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

static struct endpoint *
find(const struct provider_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->endpoints[i].name, name) == 0)
			return &table->endpoints[i];
	return NULL;
}

/* Appends an endpoint with defaults' settings; its name is one that nobody has. */
static struct endpoint *
add(struct provider_table *table, const struct endpoint *defaults,
    const struct provider *provider, const char *name)
{
	struct endpoint *endpoint = &table->endpoints[table->count];

	*endpoint = *defaults;
	endpoint->name = name;
	endpoint->provider = provider;
	table->names[table->count++] = name;
	return endpoint;
}

static const char *
chat_url(struct arena *arena, const char *base, size_t size)
{
	while (size > 0 && base[size - 1] == '/')
		size--;
	return arena_printf(arena, "%.*s/chat/completions", (int)size, base);
}

static bool
is_url(const char *text)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

static bool
is_name(const char *name)
{
	return wire_is_id(name, SERVICE_BYTES_MAX - strlen(SERVICE_MODEL_PREFIX)) &&
	       strchr(name, ':') == NULL;
}

/* A variable that is not set is no mistake: a server of one's own may need no key. */
static const char *
key_from(struct arena *arena, const char *variable)
{
	const char *key = getenv(variable);

	return is_given(key) ? arena_strdup(arena, key) : NULL;
}

/* Adds "name=base_url[,KEY_VARIABLE]". Returns 0, or -1 when it is none. */
static int
add_given(struct provider_table *table, const struct endpoint *defaults, const char *item)
{
	const char *equals = strchr(item, '=');
	const char *comma = strchr(item, ',');
	struct endpoint *endpoint;
	const char *name;

	if (equals == NULL || (comma != NULL && comma < equals) || !is_url(equals + 1))
		return -1;
	name = arena_copy(table->arena, item, (size_t)(equals - item));
	if (!is_name(name) || find(table, name) != NULL || table->count == ENDPOINTS_MAX)
		return -1;
	endpoint = add(table, defaults, &provider_openai, name);
	endpoint->url = chat_url(table->arena, equals + 1, strcspn(equals + 1, ","));
	if (comma != NULL)
		endpoint->key = key_from(table->arena, comma + 1);
	return 0;
}

/* Adds all items. One without "=" is the key variable of the one before it: the
 * environment's list was split at every comma. */
static int
add_all_given(struct provider_table *table, const struct endpoint *defaults,
    const char *const *given, const char **item_r)
{
	for (; given != NULL && *given != NULL; given++) {
		const char *variable = given[1];
		struct endpoint *endpoint;

		*item_r = *given;
		if (add_given(table, defaults, *given) == -1)
			return -1;
		if (variable == NULL || strchr(variable, '=') != NULL)
			continue;
		endpoint = &table->endpoints[table->count - 1];
		endpoint->key = key_from(table->arena, variable);
		given++;
	}
	return 0;
}

static void
add_openai(struct provider_table *table, const struct endpoint *defaults, const char *key,
    const char *url)
{
	struct endpoint *endpoint = add(table, defaults, &provider_openai, "openai");

	if (!is_given(url))
		url = OPENAI_URL;
	endpoint->url = chat_url(table->arena, url, strlen(url));
	endpoint->key = is_given(key) ? arena_strdup(table->arena, key) : NULL;
}

static int
add_all(struct provider_table *table, const struct endpoint *defaults,
    const char *openai_key, const char *openai_url, const char *const *given,
    const char **item_r)
{
	add(table, defaults, &provider_scripted, "scripted");
	*item_r = openai_url;
	if (is_given(openai_url) && !is_url(openai_url))
		return -1;
	if (is_given(openai_key) || is_given(openai_url))
		add_openai(table, defaults, openai_key, openai_url);
	return add_all_given(table, defaults, given, item_r);
}

int
provider_table_init(struct provider_table *table_r, const struct endpoint *defaults,
    const char *openai_key, const char *openai_url, const char *const *given,
    const char **item_r)
{
	struct arena *arena = arena_new();

	*table_r = (struct provider_table){ .arena = arena };
	table_r->endpoints = arena_alloc(arena, ENDPOINTS_MAX * sizeof(struct endpoint));
	table_r->names = arena_alloc(arena, ENDPOINTS_MAX * sizeof(const char *));
	if (add_all(table_r, defaults, openai_key, openai_url, given, item_r) == 0)
		return 0;
	provider_table_release(table_r);
	return -1;
}

void
provider_table_release(struct provider_table *table)
{
	for (size_t i = 0; table->arena != NULL && i < table->count; i++)
		if (table->endpoints[i].key != NULL)
			explicit_bzero((char *)table->endpoints[i].key,
			    strlen(table->endpoints[i].key));
	arena_destroy(&table->arena);
	table->count = 0;
}

/* --- finding ----------------------------------------------------------------------- */

static const char *
names_text(const struct provider_table *table, struct arena *arena)
{
	const char *text = table->names[0];

	for (size_t i = 1; i < table->count; i++)
		text = arena_printf(arena, "%s, %s", text, table->names[i]);
	return text;
}

static struct fault *
unknown_provider(
    const struct provider_table *table, struct arena *arena, const char *name)
{
	const char *near = nearest_name(name, table->names, table->count);
	struct fault *fault = fault_new(arena, "ValueError",
	    "this model worker has no provider '%s'; it has: %s%s", name,
	    names_text(table, arena),
	    near == NULL ? "" : arena_printf(arena, "; did you mean '%s'?", near));

	fault->retryable = false;
	return fault;
}

const struct endpoint *
provider_table_find(const struct provider_table *table, struct arena *arena,
    const char *name, const char **model_r, struct fault **fault_r)
{
	const char *colon = name == NULL ? NULL : strchr(name, ':');
	const struct endpoint *endpoint = NULL;
	const char *provider;

	if (colon == NULL || colon[1] == '\0') {
		*fault_r = fault_new(arena, "ValueError",
		    "the model '%s' is not of the form provider:name",
		    name == NULL ? "" : name);
		(*fault_r)->retryable = false;
		return NULL;
	}
	provider = arena_copy(arena, name, (size_t)(colon - name));
	endpoint = find(table, provider);
	if (endpoint == NULL)
		*fault_r = unknown_provider(table, arena, provider);
	else
		*model_r = colon + 1;
	return endpoint;
}
