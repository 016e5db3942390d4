#include "redis_address.h"

#include <string.h>
#include <sys/un.h>

#include "url.h"

#define UNIX_SCHEME "unix://"
#define PORT 6379

static int
parse_unix(struct arena *arena, const char *path, struct redis_address *address_r,
    const char **error_r)
{
	const struct sockaddr_un *limits = NULL;

	if (path[0] != '/') {
		*error_r = "unix:// wants an absolute path";
		return -1;
	}
	if (strlen(path) >= sizeof limits->sun_path) {
		*error_r = "the path of the unix socket is too long";
		return -1;
	}
	*address_r = (struct redis_address){ .path = arena_strdup(arena, path) };
	address_r->name = address_r->path;
	return 0;
}

static const char *
filled(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
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

int
redis_address_parse(struct arena *arena, const char *url, struct redis_address *address_r,
    const char **error_r)
{
	if (strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0)
		return parse_unix(arena, url + strlen(UNIX_SCHEME), address_r, error_r);
	return parse_tcp(arena, url, address_r, error_r);
}
