#include "url.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

/* Returns the part in arena, or NULL when there is none. */
static const char *
part(struct arena *arena, CURLU *curl, CURLUPart which, unsigned flags)
{
	const char *copy = NULL;
	char *text = NULL;

	if (curl_url_get(curl, which, &text, flags) == CURLUE_OK)
		copy = arena_strdup(arena, text);
	curl_free(text);
	return copy;
}

/* Returns host without the brackets of an IPv6 address. */
static const char *
bare_host(struct arena *arena, const char *host)
{
	if (host == NULL)
		return "";
	if (host[0] != '[')
		return host;
	return arena_copy(arena, host + 1, strcspn(host + 1, "]"));
}

static void
judge_host(struct url *url)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, url->host, &v4) == 1) {
		url->is_address = true;
		url->is_loopback = ntohl(v4.s_addr) >> 24 == 127;
	} else if (inet_pton(AF_INET6, url->host, &v6) == 1) {
		url->is_address = true;
		url->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
	} else {
		url->is_loopback = strcasecmp(url->host, "localhost") == 0;
	}
}

static void
take_parts(struct arena *arena, CURLU *curl, struct url *url_r)
{
	const char *port = part(arena, curl, CURLUPART_PORT, CURLU_DEFAULT_PORT);

	*url_r = (struct url){
		.scheme = part(arena, curl, CURLUPART_SCHEME, 0),
		.host = bare_host(arena, part(arena, curl, CURLUPART_HOST, 0)),
		.port = port == NULL ? 0 : (uint16_t)strtoul(port, NULL, 10),
		.user = part(arena, curl, CURLUPART_USER, CURLU_URLDECODE),
		.password = part(arena, curl, CURLUPART_PASSWORD, CURLU_URLDECODE),
		.path = part(arena, curl, CURLUPART_PATH, 0),
		.query = part(arena, curl, CURLUPART_QUERY, 0),
	};
	judge_host(url_r);
}

int
url_parse(struct arena *arena, const char *text, struct url *url_r, const char **error_r)
{
	CURLU *curl = curl_url();
	CURLUcode code;

	if (curl == NULL)
		arena_exhausted();
	code = curl_url_set(
	    curl, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME | CURLU_NO_AUTHORITY);
	if (code == CURLUE_OK)
		take_parts(arena, curl, url_r);
	else
		*error_r = arena_strdup(arena, curl_url_strerror(code));
	curl_url_cleanup(curl);
	return code == CURLUE_OK ? 0 : -1;
}

const char *
url_shown(struct arena *arena, const char *text, size_t size)
{
	const char *copy = arena_copy(arena, text, size);

	return strstr(copy, "://") != NULL && strpbrk(copy, "@?#") == NULL ? copy : "...";
}

const char *
url_decode(struct arena *arena, const char *text, size_t size)
{
	char *decoded =
	    size == 0 ? NULL : curl_easy_unescape(NULL, text, (int)size, NULL);
	const char *copy = decoded != NULL ? arena_strdup(arena, decoded) : "";

	curl_free(decoded);
	return copy;
}
