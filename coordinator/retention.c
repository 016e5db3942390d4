#include "retention.h"

#include <inttypes.h>

#include "log.h"

/* Of a shard, at a time; Redis does nothing else meanwhile, some 80 us a thread. */
#define EXPIRED_MAX 50u
#define GONE_MAX 200u
#define MUCH 4u /* so many times as many, where there is much */

const struct value *
retention_usual(const struct coordinator *coordinator, struct arena *arena)
{
	const struct coordinator_settings *settings = coordinator->settings;

	return settings->thread_ttl_ms > 0
		   ? value_printf(arena, "%" PRId64 " %s", settings->thread_ttl_ms,
			 settings->thread_ttl_action)
		   : NULL;
}

/* A thread at a time is in memory. One that is in use again has its time before it; one that changed
 * comes back in a minute. */
static void
prune(struct store *store, const char *thread)
{
	struct arena *arena = arena_new();
	struct store_pruned pruned;
	enum store_status status = store_prune(store, arena, thread, 1, false, &pruned);

	if (status == STORE_DAMAGED)
		log_warnx("thread=%s not pruned: %s", thread, store_error(store));
	if (status == STORE_OK)
		log_info("thread=%s pruned checkpoints=%" PRIu64 " messages=%" PRIu64
			 " runs=%" PRIu64,
		    thread, pruned.checkpoints, pruned.messages, pruned.runs);
	arena_destroy(&arena);
}

void
retention_sweep(const struct coordinator *coordinator, struct store *store,
    unsigned shard, bool is_much)
{
	unsigned times = is_much ? MUCH : 1;
	struct arena *arena = arena_new();
	const struct value *threads = value_empty_array();
	enum store_status status = store_expire(store, arena, shard, times * EXPIRED_MAX,
	    retention_usual(coordinator, arena), &threads);
	size_t i;

	for (i = 0; i < value_size(threads) && !coordinator->draining; i++)
		prune(store, value_text(value_at(threads, i)));
	if (status == STORE_OK && !coordinator->draining)
		store_forget_gone(store, arena, shard, times * GONE_MAX);
	arena_destroy(&arena);
}
