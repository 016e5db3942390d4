/* store_cache: results of model calls, kept for equal ones. */
#include "store_private.h"

static const char *
cache_key(struct arena *arena, const char *key)
{
	return arena_printf(arena, "fl:cache:%s", key);
}

enum store_status
store_cache(struct store *store, struct arena *arena, const char *key,
    const struct value *value, uint64_t ttl_ms)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "SET");
	command_text(&command, cache_key(arena, key));
	command_value(&command, value);
	if (ttl_ms > 0) {
		command_text(&command, "PX");
		command_uint(&command, ttl_ms);
	}
	return store_read(store, &command, &reply);
}

enum store_status
store_cached(struct store *store, struct arena *arena, const char *key,
    const struct value **value_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "GET");
	command_text(&command, cache_key(arena, key));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*value_r = store_decode(arena, reply);
	return value_is(*value_r, VALUE_MAP) ? STORE_OK : STORE_NONE;
}
