/* What a spec says of agents on other servers. */
#include "async_server.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "url.h"

bool
async_server_is_token(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
			return false;
	return size > 0;
}

static bool
is_kept_header(const char *name)
{
	static const char *const kept[] = { "Host", "Content-Length", "Content-Type",
		"Transfer-Encoding", "Connection", "Upgrade", "Expect", "TE", "Trailer",
		"Authorization", "Cookie", "X-Api-Key" };
	size_t i;

	for (i = 0; i < sizeof kept / sizeof *kept; i++)
		if (strcasecmp(kept[i], name) == 0)
			return true;
	return strncasecmp(name, "Proxy-", 6) == 0;
}

static const char *
headers_flaw(const struct value *headers)
{
	size_t i, at;

	if (!value_is(headers, VALUE_MAP) || value_size(headers) > SERVER_HEADERS_MAX)
		return "must be a map of header names and texts, 32 at most";
	for (i = 0; i < value_size(headers); i++) {
		const char *name = value_text(headers->pairs[i].key);
		const struct value *value = headers->pairs[i].value;

		if (name == NULL || !async_server_is_token(name, strlen(name)))
			return "has a name that HTTP does not allow";
		if (is_kept_header(name))
			return "cannot set what frames a request, nor what carries a "
			       "secret (Authorization, Cookie, X-Api-Key): keys stand "
			       "in the environment of tool workers, --agent-server";
		if (value_text(value) == NULL)
			return "has a value that is no text";
		for (at = 0; at < value->size; at++)
			if (iscntrl((unsigned char)value->text[at]))
				return "has a value that HTTP does not allow";
	}
	return NULL;
}

bool
async_server_is_url(const char *text)
{
	struct arena *arena = arena_new();
	const char *at = text, *error;
	struct url url;
	bool is_one;

	while (*at > ' ' && *at != 0x7f && *at != '?' && *at != '#')
		at++;
	is_one = *at == '\0' && url_parse(arena, text, &url, &error) == 0 &&
		 (strcmp(url.scheme, "http") == 0 || strcmp(url.scheme, "https") == 0) &&
		 *url.host != '\0' && url.user == NULL && url.password == NULL;
	arena_destroy(&arena);
	return is_one;
}

const char *
async_server_flaw(const struct value *entry, const char **key_r)
{
	const char *url = value_get_text(entry, "url");

	*key_r = "url";
	if (value_has(entry, "url") && (url == NULL || !async_server_is_url(url)))
		return "must be an address that begins with http:// or https://, without "
		       "user, `?` and `#`";
	*key_r = "headers";
	if (!value_has(entry, "headers"))
		return NULL;
	if (url == NULL)
		return "go with a url: agents of this fleet are sent none";
	return headers_flaw(value_get(entry, "headers"));
}
