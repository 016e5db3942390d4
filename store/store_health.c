/* store_health: whether Redis can be trusted with runs, and how full it is. */
#include "store_private.h"

#include <stdlib.h>
#include <string.h>

#include "store_fleet.h"

/* The text behind "name:" in what INFO answers, in arena; NULL when there is none. */
static const char *
info(struct arena *arena, const char *text, const char *name)
{
	size_t size = strlen(name);

	while (text != NULL) {
		if (strncmp(text, name, size) == 0 && text[size] == ':')
			return arena_copy(
			    arena, text + size + 1, strcspn(text + size + 1, "\r\n"));
		text = strchr(text, '\n');
		text = text != NULL ? text + 1 : NULL;
	}
	return NULL;
}

static uint64_t
info_number(struct arena *arena, const char *text, const char *name)
{
	const char *number = info(arena, text, name);

	return number != NULL ? strtoull(number, NULL, 10) : 0;
}

static bool
info_is(struct arena *arena, const char *text, const char *name, const char *expected)
{
	const char *found = info(arena, text, name);

	return found != NULL && strcmp(found, expected) == 0;
}

/* An ACL may forbid one and allow the other. */
static const char *
ask_policy(struct store *store, struct arena *arena, uint64_t wait_ms)
{
	const struct value *reply;

	if (redis_text(store->redis, arena, wait_ms, &reply, "CONFIG", "GET",
		"maxmemory-policy", NULL) != REDIS_OK)
		return NULL;
	return redis_reply_text(value_at(reply, 1));
}

unsigned
store_fullness(const struct store_health *health)
{
	return health->max > 0 ? (unsigned)(health->used * 100 / health->max) : 0;
}

enum store_status
store_health(struct store *store, struct arena *arena, uint64_t wait_ms,
    struct store_health *health_r)
{
	const struct value *reply = NULL;
	const char *text = NULL;
	enum redis_status status = redis_text(store->redis, arena, wait_ms, &reply,
	    "INFO", "server", "memory", "persistence", NULL);
	uint64_t apart;

	if (status == REDIS_CANCELLED)
		return STORE_CANCELLED;
	if (status == REDIS_LOST || status == REDIS_AWAY)
		return store_fail(
		    store, "Redis is gone: %s", redis_trouble(store->redis));
	if (status == REDIS_OK)
		text = redis_reply_text(reply);
	*health_r = (struct store_health){
		.used = info_number(arena, text, "used_memory"),
		.max = info_number(arena, text, "maxmemory"),
		.policy = info(arena, text, "maxmemory_policy"),
		.is_logged = !info_is(arena, text, "aof_enabled", "0"),
		.is_log_broken = info_is(arena, text, "aof_last_write_status", "err"),
		.is_cluster = info_is(arena, text, "redis_mode", "cluster"),
	};
	apart = info_number(arena, text, "mem_not_counted_for_evict");
	health_r->used -= apart < health_r->used ? apart : health_r->used;
	if (health_r->policy == NULL)
		health_r->policy = ask_policy(store, arena, wait_ms);
	return STORE_OK;
}
