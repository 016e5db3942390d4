#include "bedrock.h"

#include <ctype.h>
#include <string.h>

#include "sigv4.h"

#define SERVICE "bedrock"
#define HOST "bedrock-runtime"

/* --- URLs ---------------------------------------------------------------------------- */

/* What stands between the scheme and the path. */
static const char *
authority_of(const char *url, size_t *size_r)
{
	const char *at = strstr(url, "://");

	at = at == NULL ? url : at + strlen("://");
	*size_r = strcspn(at, "/?#");
	return at;
}

const char *
bedrock_base(struct arena *arena, const char *given)
{
	size_t size = strlen(given), host_size;
	const char *host = authority_of(given, &host_size);
	char *base;

	while (size > 0 && given[size - 1] == '/')
		size--;
	if (strpbrk(given, "?#") != NULL || strstr(given, "/model/") != NULL ||
	    memchr(host, '@', host_size) != NULL)
		return NULL;
	base = arena_copy(arena, given, size);
	for (size_t i = 0; i < host_size; i++) {
		char *at = base + (host - given) + i;

		*at = (char)tolower((unsigned char)*at);
	}
	return base;
}

static size_t
label_span(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

const char *
bedrock_usual_url(struct arena *arena, const char *region)
{
	if (region == NULL || *region == '\0' || region[label_span(region)] != '\0')
		return NULL;
	return arena_printf(arena, "https://" HOST ".%s.amazonaws.com%s", region,
	    strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

const char *
bedrock_region_in(struct arena *arena, const char *url)
{
	static const char *const hosts[] = { HOST ".", HOST "-fips." };
	size_t size;
	const char *authority = authority_of(url, &size), *at;

	authority = arena_copy(arena, authority, size);
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		at = strstr(authority, hosts[i]);
		if (at == NULL)
			continue;
		at += strlen(hosts[i]);
		size = label_span(at);
		if (size > 0 && at[size] == '.')
			return arena_copy(arena, at, size);
	}
	return NULL;
}

const char *
bedrock_url(
    struct arena *arena, const struct endpoint *endpoint, const char *model, bool stream)
{
	return arena_printf(arena, "%s/model/%s/converse%s", endpoint->url,
	    sigv4_escaped(arena, model), stream ? "-stream" : "");
}

/* --- who asks ------------------------------------------------------------------------ */

static bool
ends_with(const char *text, size_t size, const char *end)
{
	size_t end_size = strlen(end);

	return size >= end_size && memcmp(text + size - end_size, end, end_size) == 0;
}

const char *
bedrock_host(struct arena *arena, const char *url)
{
	const char *usual = strncmp(url, "https:", 6) == 0 ? ":443" : ":80";
	size_t size;
	const char *host = authority_of(url, &size);

	if (ends_with(host, size, usual))
		size -= strlen(usual);
	return arena_copy(arena, host, size);
}

static const char *
path_of(const char *url)
{
	size_t size;
	const char *authority = authority_of(url, &size);

	return authority + size;
}

size_t
bedrock_headers(const struct endpoint *endpoint, const struct ask *ask,
    const struct packet *body, const char *headers_r[])
{
	struct arena *arena = ask->arena;
	const struct bedrock *bedrock = endpoint->bedrock;
	struct sigv4 signature;

	if (endpoint->key == NULL)
		return 0;
	if (bedrock->key_id == NULL) {
		headers_r[0] =
		    arena_printf(arena, "Authorization: Bearer %s", endpoint->key);
		return 1;
	}
	sigv4_sign(arena,
	    &(struct sigv4_keys){ .id = bedrock->key_id,
		.secret = endpoint->key,
		.session = bedrock->session },
	    &(struct sigv4_request){ .method = "POST",
		.host = bedrock_host(arena, endpoint->url),
		.path = path_of(endpoint->url),
		.content_type = "application/json",
		.body = body->data,
		.body_size = body->size,
		.region = bedrock->region,
		.service = SERVICE,
		.now = time(NULL) },
	    &signature);
	headers_r[0] = signature.authorization;
	headers_r[1] = signature.date;
	headers_r[2] = signature.token;
	return signature.token == NULL ? 2 : 3;
}
