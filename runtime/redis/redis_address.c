#include "redis_address.h"

#include <string.h>
#include <sys/un.h>

#include "url.h"

#define UNIX_SCHEME "unix://"
#define PORT 6379

static const char *
filled(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* "me:secret@/run/redis": who we are stands where it does in any URL. Returns the path, or
 * NULL when what is before it cannot be read. */
static const char *
take_user(struct arena *arena, const char *text, struct redis_address *address,
    const char **error_r)
{
	size_t size = strcspn(text, "/@");
	struct url url;

	if (text[size] != '@')
		return text;
	if (url_parse(arena,
		arena_printf(arena, "redis://%.*s@localhost", (int)size, text), &url,
		error_r) == -1)
		return NULL;
	address->user = filled(url.user);
	address->password = filled(url.password);
	return text + size + 1;
}

static int
parse_unix(struct arena *arena, const char *text, struct redis_address *address_r,
    const char **error_r)
{
	const struct sockaddr_un *limits = NULL;
	struct redis_address address = { .port = 0 };
	const char *path = take_user(arena, text, &address, error_r);

	if (path == NULL)
		return -1;
	if (path[0] != '/') {
		*error_r = "unix:// wants an absolute path";
		return -1;
	}
	if (strlen(path) >= sizeof limits->sun_path) {
		*error_r = "the path of the unix socket is too long";
		return -1;
	}
	address.path = address.name = arena_strdup(arena, path);
	*address_r = address;
	return 0;
}

/* Sets *database_r from "/3", "/" and "". */
static int
parse_database(const char *path, const char **database_r)
{
	const char *digits = path[0] == '/' ? path + 1 : path;

	*database_r = filled(digits);
	return digits[strspn(digits, "0123456789")] == '\0' ? 0 : -1;
}

/* --- parameters ------------------------------------------------------------------------ */

/* Sets *flag_r by which of two words value is. */
static bool
take_word(const char *value, const char *no, const char *yes, bool *flag_r)
{
	*flag_r = strcmp(value, yes) == 0;
	return *flag_r || strcmp(value, no) == 0;
}

/* Returns whether there is such a parameter, and may be this. */
static bool
take_parameter(struct redis_tls_options *tls, const char *name, const char *value)
{
	const struct {
		const char *name, **place;
	} files[] = {
		{ "ssl_ca_certs", &tls->ca },
		{ "ssl_certfile", &tls->cert },
		{ "ssl_keyfile", &tls->key },
	};
	size_t i;

	for (i = 0; i < sizeof files / sizeof files[0]; i++)
		if (strcmp(name, files[i].name) == 0) {
			*files[i].place = value;
			return *value != '\0';
		}
	if (strcmp(name, "ssl_cert_reqs") == 0)
		return take_word(value, "required", "none", &tls->any_cert);
	return strcmp(name, "ssl_check_hostname") == 0 &&
	       take_word(value, "true", "false", &tls->any_hostname);
}

/* The query is not repeated to people: it may be the end of a password with a '?' in it. */
static int
parse_parameters(struct arena *arena, const char *query, struct redis_tls_options *tls,
    const char **error_r)
{
	size_t number = 1, size, name;

	for (; *query != '\0'; query += size + (query[size] == '&'), number++) {
		size = strcspn(query, "&");
		name = strcspn(query, "=&");
		if (name == size ||
		    !take_parameter(tls, arena_copy(arena, query, name),
			url_decode(arena, query + name + 1, size - name - 1))) {
			*error_r = arena_printf(arena,
			    "parameter %zu of the URL is none of ssl_ca_certs=FILE, "
			    "ssl_certfile=FILE, ssl_keyfile=FILE, "
			    "ssl_cert_reqs=required|none, ssl_check_hostname=true|false "
			    "(a '?' in a password is written %%3F)",
			    number);
			return -1;
		}
	}
	if (tls->key != NULL && tls->cert == NULL) {
		*error_r = "ssl_keyfile wants ssl_certfile, whose key it is";
		return -1;
	}
	return 0;
}

/* Sets *tls_r by scheme and query. */
static int
parse_tls(struct arena *arena, const struct url *url,
    const struct redis_tls_options **tls_r, const char **error_r)
{
	struct redis_tls_options *tls = arena_alloc(arena, sizeof *tls);

	if (strcmp(url->scheme, "rediss") == 0) {
		*tls_r = tls;
		return parse_parameters(
		    arena, url->query != NULL ? url->query : "", tls, error_r);
	}
	if (strcmp(url->scheme, "redis") != 0)
		*error_r = "not redis://..., rediss://... or unix://...";
	else if (url->query != NULL)
		*error_r = "a redis:// URL has no parameters; with TLS it is rediss://";
	else
		return 0;
	return -1;
}

static int
parse_tcp(struct arena *arena, const char *text, struct redis_address *address_r,
    const char **error_r)
{
	struct redis_address address = { .port = PORT };
	struct url url;

	if (strstr(text, "://") == NULL) {
		*error_r = "not redis://HOST:PORT, rediss://HOST:PORT or unix:///PATH";
		return -1;
	}
	if (url_parse(arena, text, &url, error_r) == -1)
		return -1;
	if (parse_tls(arena, &url, &address.tls, error_r) == -1)
		return -1;
	if (parse_database(url.path, &address.database) == -1) {
		*error_r = "the path of a redis:// URL is the number of a database";
		return -1;
	}
	address.host = filled(url.host) != NULL ? url.host : "127.0.0.1";
	address.is_number = filled(url.host) == NULL || url.is_address;
	if (url.port != 0)
		address.port = url.port;
	address.user = filled(url.user);
	address.password = filled(url.password);
	address.name =
	    arena_printf(arena, strchr(address.host, ':') != NULL ? "[%s]:%u" : "%s:%u",
		address.host, address.port);
	*address_r = address;
	return 0;
}

static int
parse_one(struct arena *arena, const char *url, struct redis_address *address_r,
    const char **error_r)
{
	if (strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
		return parse_unix(arena, url + strlen(UNIX_SCHEME), address_r, error_r);
	return parse_tcp(arena, url, address_r, error_r);
}

/* --- for people ------------------------------------------------------------------------ */

/* Whether behind a ':' stands something else than a port: a password without its '@'. */
static bool
has_odd_port(const char *text)
{
	const char *at;

	for (; *text != '\0' && *text != '?'; text++) {
		at = *text == '[' ? strchr(text, ']') : NULL;
		if (at != NULL)
			text = at;
		if (*text != ':')
			continue;
		if (strncmp(text, "://", 3) == 0) {
			text += 2;
			continue;
		}
		at = text + 1 + strspn(text + 1, "0123456789");
		if (at == text + 1 || strchr(",/?", *at) == NULL)
			return true;
	}
	return false;
}

/* Whether all parameters begin as ours do: "?password=" is somebody else's. */
static bool
has_our_query(const char *query)
{
	while (*query != '\0') {
		if (strncmp(query + 1, "ssl_", 4) != 0)
			return false;
		query += 1 + strcspn(query + 1, "&");
	}
	return true;
}

/* What cannot be read as it was meant may have its password anywhere before the last '@', or without one. */
const char *
redis_addresses_shown(struct arena *arena, const char *urls)
{
	static const char *const schemes[] = { "redis://", "rediss://", UNIX_SCHEME };
	const char *at = strrchr(urls, '@'), *scheme = "", *rest, *query;
	size_t i;

	for (i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncmp(urls, schemes[i], strlen(schemes[i])) == 0)
			scheme = schemes[i];
	rest = at != NULL ? at : urls + strlen(scheme);
	if (strcmp(scheme, UNIX_SCHEME) == 0 ? at == NULL && *rest != '/'
					     : has_odd_port(rest))
		return arena_printf(arena, "%s***", scheme);
	query = rest + strcspn(rest, "?");
	return arena_printf(arena, "%s%s%.*s%s", scheme, at != NULL ? "***" : "",
	    (int)(query - rest), rest, has_our_query(query) ? query : "?***");
}

/* --- several --------------------------------------------------------------------------- */

#define SCHEME_END "://"

/* "redis://me:secret@" of the first URL; "" when it has none. */
static const char *
beginning_of(struct arena *arena, const char *url)
{
	const char *scheme_end = strstr(url, SCHEME_END), *host;

	if (scheme_end == NULL)
		return "";
	host = memrchr(url, '@', strcspn(url, "?"));
	host = host != NULL ? host + 1 : scheme_end + strlen(SCHEME_END);
	return arena_copy(arena, url, (size_t)(host - url));
}

/* Splits urls at commas into items. Returns how many, or 0 when they are too many. */
static size_t
split(struct arena *arena, const char *urls, const char **items)
{
	size_t count = 0, size;

	for (; count < REDIS_ADDRESSES_MAX; urls += size + 1) {
		size = strcspn(urls, ",");
		items[count++] = arena_copy(arena, urls, size);
		if (urls[size] == '\0')
			return count;
	}
	return 0;
}

/* "/2?ssl_..." of a URL; "" for none. */
static const char *
end_of(const char *url)
{
	const char *scheme_end = strstr(url, SCHEME_END);

	if (strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
		return ""; /* of a path there is none */
	url = scheme_end != NULL ? scheme_end + strlen(SCHEME_END) : url;
	return url + strcspn(url, "/?");
}

int
redis_addresses_parse(struct arena *arena, const char *urls,
    struct redis_addresses *addresses_r, const char **error_r)
{
	const char *items[REDIS_ADDRESSES_MAX], *beginning, *end;
	size_t count = split(arena, urls, items), i;

	if (count == 0) {
		*error_r = "too many addresses";
		return -1;
	}
	beginning = beginning_of(arena, items[0]);
	end = end_of(items[count - 1]);
	for (i = 0; i < count; i++) {
		const char *url = items[i];

		if (*url == '\0') {
			*error_r = "an address is empty";
			return -1;
		}
		if (i > 0 && strstr(url, SCHEME_END) == NULL)
			url = arena_printf(arena, "%s%s", beginning, url);
		if (strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME)) != 0 &&
		    *end_of(url) == '\0')
			url = arena_printf(arena, "%s%s", url, end);
		if (parse_one(arena, url, &addresses_r->items[i], error_r) == -1)
			return -1;
	}
	addresses_r->count = count;
	return 0;
}

bool
redis_addresses_have_files(const struct redis_addresses *addresses, const char **error_r)
{
	size_t i;

	for (i = 0; i < addresses->count; i++) {
		const struct redis_tls_options *tls = addresses->items[i].tls;

		if (tls != NULL && !redis_tls_check(tls, error_r))
			return false;
	}
	return true;
}
