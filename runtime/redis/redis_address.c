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

static int
parse_tcp(struct arena *arena, const char *text, struct redis_address *address_r,
    const char **error_r)
{
	struct redis_address address = { .port = PORT };
	struct url url;

	if (strstr(text, "://") == NULL) {
		*error_r = "not redis://HOST:PORT or unix:///PATH";
		return -1;
	}
	if (url_parse(arena, text, &url, error_r) == -1)
		return -1;
	if (strcmp(url.scheme, "redis") != 0) {
		*error_r = "not redis://... or unix://... (for TLS use a tunnel)";
		return -1;
	}
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
	address.name = arena_printf(arena, "%s:%u", address.host, address.port);
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

/* What cannot be read as it was meant may have its password anywhere before the last '@'. */
const char *
redis_addresses_shown(struct arena *arena, const char *urls)
{
	static const char *const schemes[] = { "redis://", UNIX_SCHEME };
	const char *at = strrchr(urls, '@'), *scheme = "";
	size_t i;

	if (at == NULL)
		return urls;
	for (i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncmp(urls, schemes[i], strlen(schemes[i])) == 0)
			scheme = schemes[i];
	return arena_printf(arena, "%s***%s", scheme, at);
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
	host = strrchr(url, '@');
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

/* "/2" of the last URL, for those before it that name no database; "" for none. */
static const char *
database_of(const char *last)
{
	const char *scheme_end = strstr(last, SCHEME_END), *slash;

	if (strncmp(last, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
		return ""; /* of a path there is none */
	slash = strchr(scheme_end != NULL ? scheme_end + strlen(SCHEME_END) : last, '/');
	return slash != NULL ? slash : "";
}

int
redis_addresses_parse(struct arena *arena, const char *urls,
    struct redis_addresses *addresses_r, const char **error_r)
{
	const char *items[REDIS_ADDRESSES_MAX], *beginning, *database;
	size_t count = split(arena, urls, items), i;

	if (count == 0) {
		*error_r = "too many addresses";
		return -1;
	}
	beginning = beginning_of(arena, items[0]);
	database = database_of(items[count - 1]);
	for (i = 0; i < count; i++) {
		const char *url = items[i];

		if (*url == '\0') {
			*error_r = "an address is empty";
			return -1;
		}
		if (i > 0 && strstr(url, SCHEME_END) == NULL)
			url = arena_printf(arena, "%s%s", beginning, url);
		if (strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME)) != 0 &&
		    *database_of(url) == '\0')
			url = arena_printf(arena, "%s%s", url, database);
		if (parse_one(arena, url, &addresses_r->items[i], error_r) == -1)
			return -1;
	}
	addresses_r->count = count;
	return 0;
}
