/* Addresses: of providers and pages, and of Redis. A text is refused with a reason, or its parts are
 * there; the name that people see of a Redis does not have its password. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redis_address.h"
#include "url.h"

#define PASSWORD "hunter2-and-more"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool fact)
{
	if (!fact)
		abort();
}

static void
check_url(struct arena *arena, const char *text)
{
	const char *error = NULL;
	struct url url;

	if (url_parse(arena, text, &url, &error) == -1) {
		require(error != NULL && *error != '\0');
		return;
	}
	require(url.scheme != NULL && url.host != NULL && url.path != NULL);
	require(url.path[0] == '/');
	require(!url.is_loopback || url.host[0] != '\0');
}

static void
check_address(const struct redis_address *address)
{
	require((address->path == NULL) != (address->host == NULL));
	require(address->path != NULL || address->port != 0);
	require(address->name != NULL);
	/* A host or a path may be the same word. */
	if (address->password != NULL && strstr(address->password, PASSWORD) != NULL &&
	    strstr(address->path != NULL ? address->path : address->host, PASSWORD) ==
		NULL)
		require(strstr(address->name, PASSWORD) == NULL);
}

static void
check_redis(struct arena *arena, const char *text)
{
	struct redis_addresses addresses;
	const char *error = NULL;
	size_t i;

	require(redis_addresses_shown(arena, text) != NULL);
	if (redis_addresses_parse(arena, text, &addresses, &error) == -1) {
		require(error != NULL && *error != '\0');
		require(strstr(error, PASSWORD) == NULL);
		return;
	}
	require(addresses.count >= 1 && addresses.count <= REDIS_ADDRESSES_MAX);
	for (i = 0; i < addresses.count; i++)
		check_address(&addresses.items[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	const char *text = arena_copy(arena, data, size);

	check_url(arena, text);
	check_redis(arena, text);
	arena_destroy(&arena);
	return 0;
}
