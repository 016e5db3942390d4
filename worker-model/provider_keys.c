#include "provider_keys.h"

#include <stdlib.h>
#include <string.h>

#include "azure.h"
#include "bedrock.h"

static bool
is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

static bool
is_bedrock(const struct known_provider *known)
{
	return strcmp(known->name, provider_bedrock.name) == 0;
}

/* A variable that is not set is no mistake: a server of one's own may need no key. One that was read from a file has often
 * the file's newline behind it, and no header may. */
static const char *
key_from(struct arena *arena, const char *variable)
{
	const char *key = getenv(variable);
	size_t size = key == NULL ? 0 : strlen(key);

	while (size > 0 && strchr(" \t\r\n", key[size - 1]) != NULL)
		size--;
	return size > 0 ? arena_copy(arena, key, size) : NULL;
}

/* --- Bedrock ------------------------------------------------------------------------- */

static const char *
region(struct arena *arena)
{
	const char *named = key_from(arena, "AWS_REGION");

	return named != NULL ? named : key_from(arena, "AWS_DEFAULT_REGION");
}

static void
set_up_bedrock(struct arena *arena, struct endpoint *endpoint, const char *base)
{
	struct bedrock *bedrock = arena_alloc(arena, sizeof *bedrock);

	bedrock->region = bedrock_region_in(arena, base);
	if (bedrock->region == NULL)
		bedrock->region = region(arena);
	endpoint->bedrock = bedrock;
	if (!is_given(getenv("AWS_ACCESS_KEY_ID")))
		return;
	endpoint->key = key_from(arena, "AWS_SECRET_ACCESS_KEY");
	if (endpoint->key == NULL)
		return;
	bedrock->key_id = key_from(arena, "AWS_ACCESS_KEY_ID");
	bedrock->session = key_from(arena, "AWS_SESSION_TOKEN");
}

/* --- all ----------------------------------------------------------------------------- */

bool
provider_keys_there(const struct known_provider *known)
{
	if (is_given(getenv(known->key_variable)))
		return true;
	return is_bedrock(known) && is_given(getenv("AWS_ACCESS_KEY_ID")) &&
	       is_given(getenv("AWS_SECRET_ACCESS_KEY"));
}

const char *
provider_keys_url(struct arena *arena, const struct known_provider *known)
{
	return is_bedrock(known) ? bedrock_usual_url(arena, region(arena)) : known->url;
}

void
provider_keys_set_up(struct arena *arena, struct endpoint *endpoint, const char *base)
{
	if (endpoint->provider == &provider_bedrock)
		set_up_bedrock(arena, endpoint, base);
	if (endpoint->provider != &provider_azure)
		return;
	endpoint->key_header = "api-key";
	if (!azure_is_v1(base))
		endpoint->api_version = key_from(arena, "OPENAI_API_VERSION");
}

/* Of Bedrock's it is a token: what signs is not wanted any more. */
void
provider_keys_take(struct arena *arena, struct endpoint *endpoint, const char *variable)
{
	struct bedrock *bedrock;

	provider_keys_forget(endpoint);
	endpoint->key = key_from(arena, variable);
	if (endpoint->bedrock == NULL)
		return;
	bedrock = arena_alloc(arena, sizeof *bedrock);
	bedrock->region = endpoint->bedrock->region;
	endpoint->bedrock = bedrock;
}

/* Azure's alone: a token of Entra ID is sent as others' keys are, and comes before the resource's own key. Of Bedrock the token
 * comes before the keys that sign, as in AWS's own programs. */
void
provider_keys_take_known(
    struct arena *arena, struct endpoint *endpoint, const struct known_provider *known)
{
	const char *token = endpoint->provider == &provider_azure
				? key_from(arena, "AZURE_OPENAI_AD_TOKEN")
				: NULL;

	if (endpoint->bedrock != NULL && !is_given(getenv(known->key_variable)))
		return;
	if (token == NULL) {
		provider_keys_take(arena, endpoint, known->key_variable);
		return;
	}
	endpoint->key = token;
	endpoint->key_header = NULL;
}

static void
forget(const char *key)
{
	if (key != NULL)
		explicit_bzero((char *)key, strlen(key));
}

void
provider_keys_forget(struct endpoint *endpoint)
{
	forget(endpoint->key);
	if (endpoint->bedrock != NULL)
		forget(endpoint->bedrock->session);
}
