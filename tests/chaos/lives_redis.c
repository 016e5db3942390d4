#include "lives_redis.h"

#include <string.h>

#include "store.h"
#include "store_fleet.h"

#define WAIT_MS 60000u

/* NULL: it is not known. */
static const struct value *
ask(struct redis *redis, struct arena *arena, const char *verb, const char *key,
    const char *first, const char *second)
{
	const struct value *reply = NULL;

	return redis_text(redis, arena, WAIT_MS, &reply, verb, key, first, second,
		   NULL) == REDIS_OK
		   ? reply
		   : NULL;
}

static bool
names_run(const struct value *entry, const char *run)
{
	const struct value *flat = value_at(entry, 1);
	size_t i;

	for (i = 0; i + 1 < value_size(flat); i += 2) {
		const char *name = redis_reply_text(value_at(flat, i));
		const char *text = redis_reply_text(value_at(flat, i + 1));

		if (name != NULL && text != NULL && strcmp(name, "run") == 0 &&
		    strcmp(text, run) == 0)
			return true;
	}
	return false;
}

bool
lives_redis_waits(struct redis *redis, const char *run)
{
	struct arena *arena = arena_new();
	const struct value *entries = ask(redis, arena, "XRANGE", STORE_INBOX, "-", "+");
	bool waits = entries == NULL;
	size_t i;

	for (i = 0; i < value_size(entries) && !waits; i++)
		waits = names_run(value_at(entries, i), run);
	arena_destroy(&arena);
	return waits;
}

static const char *
find_key(struct redis *redis, struct arena *arena, const char *name)
{
	const struct value *keys =
	    ask(redis, arena, "KEYS", arena_printf(arena, "fl:*%s*", name), NULL, NULL);
	size_t i;

	if (keys == NULL)
		return "what nobody could see";
	for (i = 0; i < value_size(keys); i++) {
		const char *key = redis_reply_text(value_at(keys, i));
		size_t size = strlen(key);

		if (size < 2 || strcmp(key + size - 2, ":g") != 0)
			return key;
	}
	return NULL;
}

const char *
lives_redis_find(
    struct redis *redis, struct arena *arena, const char *thread, const char *run)
{
	static const struct {
		const char *verb, *key;
		bool has_threads;
	} places[] = { { "ZSCORE", "due", true }, { "ZSCORE", "ttl", true },
		{ "ZSCORE", "asks", true }, { "ZSCORE", "threads", true },
		{ "ZSCORE", "runs", false }, { "ZSCORE", "later", false },
		{ "ZSCORE", "dead", false }, { "ZSCORE", "hooks", false },
		{ "SISMEMBER", "bereft", false }, { "SISMEMBER", "cancels", false },
		{ "HGET", "forgotten", false } };
	const char *prefix = store_prefix(arena, store_shard(thread));
	const char *found = find_key(redis, arena, thread);
	size_t i;

	if (found == NULL)
		found = find_key(redis, arena, run);
	for (i = 0; i < sizeof places / sizeof *places && found == NULL; i++) {
		const char *key = arena_printf(arena, "%s%s", prefix, places[i].key);
		const struct value *reply = ask(redis, arena, places[i].verb, key,
		    places[i].has_threads ? thread : run, NULL);

		if (reply == NULL ||
		    !(value_is_nil(reply) ||
			(value_is(reply, VALUE_INT) && reply->integer == 0)))
			found = key;
	}
	return found;
}
