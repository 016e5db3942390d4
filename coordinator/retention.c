#include "retention.h"

#include <inttypes.h>

#include "log.h"

#define EXPIRED_MAX 50u /* of a shard, at a time */
#define GONE_MAX 200u

const struct value *
retention_usual(const struct coordinator *coordinator, struct arena *arena)
{
	const struct coordinator_settings *settings = coordinator->settings;

	return settings->thread_ttl_ms > 0
		   ? value_printf(arena, "%" PRId64 " %s", settings->thread_ttl_ms,
			 settings->thread_ttl_action)
		   : NULL;
}

void
retention_sweep(struct coordinator *coordinator, struct arena *arena, unsigned shard)
{
	struct store *store = coordinator->store;
	const struct value *threads = value_empty_array();
	struct store_pruned pruned;
	size_t i;

	if (store_expire(store, arena, shard, EXPIRED_MAX, &threads) != STORE_OK)
		return;
	for (i = 0; i < value_size(threads); i++) {
		const char *thread = value_text(value_at(threads, i));

		/* One that is in use again has its time before it; one that changed comes
		 * back in a minute. */
		if (store_prune(store, arena, thread, 1, false, &pruned) == STORE_OK)
			log_info("thread=%s pruned checkpoints=%" PRIu64
				 " messages=%" PRIu64 " runs=%" PRIu64,
			    thread, pruned.checkpoints, pruned.messages, pruned.runs);
	}
	store_forget_gone(store, arena, shard, GONE_MAX);
}
