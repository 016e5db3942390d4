#include "provider_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azure.h"
#include "bedrock.h"
#include "bodies.h"
#include "bounds.h"
#include "nearest.h"
#include "provider_keys.h"
#include "providers.h"
#include "url.h"
#include "wire.h"

#define ENDPOINTS_MAX 64u /* beside the known ones */
#define SHOWN_BYTES 256u

static const char *openai_url(struct arena *arena, const char *base);
static const char *anthropic_url(struct arena *arena, const char *base);

/* The kinds that go out over HTTP. A URL says by its prefix which one it is of; a known provider by its name, or it is of
 * the first. */
static const struct kind {
	const struct provider *provider;
	const char *url_variable; /* of the one that is called as the kind is; or NULL */
	const char *prefix;       /* of a given URL, in front of http */
	const char *(*endpoint)(
	    struct arena *arena, const char *base); /* NULL: it is none */
	enum responses_use by_name, given;          /* of either endpoint */
} kinds[] = {
	{ .provider = &provider_openai,
	    .url_variable = "OPENAI_BASE_URL",
	    .prefix = "openai+",
	    .endpoint = openai_url,
	    .by_name = RESPONSES_AS_FITS },
	{ .provider = &provider_openai,
	    .prefix = "responses+",
	    .endpoint = openai_url,
	    .given = RESPONSES_ALWAYS },
	{ .provider = &provider_anthropic,
	    .url_variable = "ANTHROPIC_BASE_URL",
	    .prefix = "anthropic+",
	    .endpoint = anthropic_url },
	{ .provider = &provider_azure,
	    .url_variable = AZURE_URL_VARIABLE,
	    .prefix = "azure+",
	    .endpoint = azure_resource,
	    .by_name = RESPONSES_AS_FITS,
	    .given = RESPONSES_AS_FITS },
	{ .provider = &provider_bedrock,
	    .url_variable = BEDROCK_URL_VARIABLE,
	    .prefix = "bedrock+",
	    .endpoint = bedrock_base },
};
#define KINDS (sizeof kinds / sizeof *kinds)

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
	endpoint->takes_no_base64 = arena_alloc(table->arena, sizeof(bool));
	*endpoint->takes_no_base64 = false;
	table->names[table->count++] = name;
	return endpoint;
}

/* Without the slashes at its end. */
static const char *
trimmed(struct arena *arena, const char *base)
{
	size_t size = strlen(base);

	while (size > 0 && base[size - 1] == '/')
		size--;
	return arena_copy(arena, base, size);
}

static const char *
openai_url(struct arena *arena, const char *base)
{
	return arena_printf(arena, "%s/chat/completions", trimmed(arena, base));
}

/* Their client wants the host alone; those who have used others write the version, too. */
static const char *
anthropic_url(struct arena *arena, const char *base)
{
	size_t size;

	base = trimmed(arena, base);
	size = strlen(base);
	if (size >= 3 && strcmp(base + size - 3, "/v1") == 0)
		return arena_printf(arena, "%s/messages", base);
	return arena_printf(arena, "%s/v1/messages", base);
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

/* The kind that a given URL asks for, whose prefix is left behind; without one OpenAI's. */
static const struct kind *
kind_of(const char **url_p)
{
	for (size_t i = 0; i < KINDS; i++) {
		size_t size = strlen(kinds[i].prefix);

		if (strncmp(*url_p, kinds[i].prefix, size) == 0) {
			*url_p += size;
			return &kinds[i];
		}
	}
	return &kinds[0];
}

/* Adds "name=base_url[,KEY_VARIABLE]". Returns 0, or -1 when it is none. */
static int
add_given(struct provider_table *table, const struct endpoint *defaults, const char *item)
{
	const char *equals = strchr(item, '='), *comma = strchr(item, ',');
	const char *name, *url = equals == NULL ? NULL : equals + 1, *base;
	const struct kind *kind;
	struct endpoint *endpoint;

	if (url == NULL || (comma != NULL && comma < equals))
		return -1;
	kind = kind_of(&url);
	if (!is_url(url))
		return -1;
	name = arena_copy(table->arena, item, (size_t)(equals - item));
	if (!is_name(name) || find(table, name) != NULL || table->count == ENDPOINTS_MAX)
		return -1;
	base = arena_copy(table->arena, url, strcspn(url, ","));
	url = kind->endpoint(table->arena, base);
	if (url == NULL)
		return -1;
	endpoint = add(table, defaults, kind->provider, name);
	endpoint->url = url;
	endpoint->responses = kind->given;
	provider_keys_set_up(table->arena, endpoint, base);
	if (comma != NULL)
		provider_keys_take(table->arena, endpoint, comma + 1);
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
		provider_keys_take(table->arena, endpoint, variable);
		given++;
	}
	return 0;
}

/* The kind of that name; NULL: it is only a server that speaks as the first does. */
static const struct kind *
kind_named(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].provider->name, name) == 0)
			return &kinds[i];
	return NULL;
}

/* Adds a known provider, if the environment wants it and no given one has its name. Returns 0, or -1 when its URL, of
 * the variable *source_r, is none. */
static int
add_known(struct provider_table *table, const struct endpoint *defaults,
    const struct known_provider *known, const char **source_r)
{
	const struct kind *named = kind_named(known->name),
			  *kind = named != NULL ? named : &kinds[0];
	const char *url = NULL, *sent;
	struct endpoint *endpoint;

	if (named != NULL) {
		*source_r = named->url_variable;
		url = getenv(named->url_variable);
	}
	if (is_given(url) && !is_url(url))
		return -1;
	if ((!provider_keys_there(known) && !is_given(url)) ||
	    find(table, known->name) != NULL)
		return 0;
	if (!is_given(url))
		url = provider_keys_url(table->arena, known);
	if (url == NULL) /* a key alone says not where to go */
		return 0;
	sent = kind->endpoint(table->arena, url);
	if (sent == NULL)
		return -1;
	endpoint = add(table, defaults, kind->provider, known->name);
	endpoint->url = sent;
	provider_keys_set_up(table->arena, endpoint, url);
	provider_keys_take_known(table->arena, endpoint, known);
	endpoint->responses = named != NULL ? kind->by_name : kind->given;
	return 0;
}

/* Of an item what may be shown, lent until the next call: its name, and its URL. */
static const char *
shown(struct arena *arena, const char *item)
{
	static char text[SHOWN_BYTES];
	size_t name = strcspn(item, "=");

	if (item[name] == '\0')
		return "...";
	name++;
	snprintf(text, sizeof text, "%.*s%s", (int)name, item,
	    url_shown(arena, item + name, strcspn(item + name, ",")));
	return text;
}

static int
add_all(struct provider_table *table, const struct endpoint *defaults,
    const char *const *given, const char **source_r, const char **item_r)
{
	add(table, defaults, &provider_scripted, "scripted");
	*source_r = NULL;
	if (add_all_given(table, defaults, given, item_r) == -1)
		return -1;
	for (size_t i = 0; i < known_provider_count; i++)
		if (add_known(table, defaults, &known_providers[i], source_r) == -1) {
			*item_r = "..."; /* its key, maybe */
			return -1;
		}
	return 0;
}

int
provider_table_init(struct provider_table *table_r, const struct endpoint *defaults,
    const char *const *given, const char **source_r, const char **item_r)
{
	struct arena *arena = arena_new();
	size_t room = ENDPOINTS_MAX + known_provider_count;

	*table_r = (struct provider_table){ .arena = arena };
	table_r->endpoints = arena_alloc(arena, room * sizeof(struct endpoint));
	table_r->names = arena_alloc(arena, room * sizeof(const char *));
	if (add_all(table_r, defaults, given, source_r, item_r) == 0)
		return 0;
	if (*source_r == NULL)
		*item_r = shown(arena, *item_r);
	provider_table_release(table_r);
	return -1;
}

void
provider_table_release(struct provider_table *table)
{
	for (size_t i = 0; table->arena != NULL && i < table->count; i++)
		provider_keys_forget(&table->endpoints[i]);
	arena_destroy(&table->arena);
	table->count = 0;
}

const char *
provider_kind(const char *name)
{
	const struct kind *kind = kind_named(name);

	if (kind == NULL && known_provider(name) != NULL)
		kind = &kinds[0];
	if (kind != NULL && kind->provider == &provider_azure)
		kind = &kinds[0]; /* their words are the same */
	return kind != NULL ? kind->provider->name : NULL;
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
