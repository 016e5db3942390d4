/* store_counts: how much there is of what, over all shards: one command each, all of them on their
 * way at once. */
#include "fiber.h"
#include "store_private.h"

enum { LIVE, RUNS, DEAD, WEBHOOKS, ASKS, OLDEST_MS, NUMBERS }; /* as fl_counts has them */

struct counting {
	struct store *store;
	struct arena *arena;
	struct fiber *waiter;
	struct shard_count {
		struct counting *counting;
		struct fiber *fiber; /* while it asks */
		unsigned shard;
	} shards[SHARDS];
	unsigned asking;
	int64_t numbers[NUMBERS]; /* sums, of OLDEST_MS the most */
	enum store_status status;
};

static enum store_status
ask(struct counting *counting, unsigned shard, const struct value **reply_r)
{
	struct command command = { .arena = counting->arena };

	command_function(&command, "fl_counts",
	    arena_printf(counting->arena, "%sdue", store_prefix(counting->arena, shard)),
	    shard);
	return store_read(counting->store, &command, reply_r);
}

static void
add(struct counting *counting, const struct value *reply)
{
	int64_t oldest = store_number_at(reply, OLDEST_MS);
	size_t i;

	for (i = 0; i < OLDEST_MS; i++)
		counting->numbers[i] += store_number_at(reply, i);
	if (oldest > counting->numbers[OLDEST_MS])
		counting->numbers[OLDEST_MS] = oldest;
}

static void
count_main(void *arg)
{
	struct shard_count *count = arg;
	struct counting *counting = count->counting;
	const struct value *reply;
	enum store_status status = ask(counting, count->shard, &reply);

	if (status == STORE_OK)
		add(counting, reply);
	else
		counting->status = status;
	count->fiber = NULL;
	counting->asking--;
	fiber_wake(counting->waiter);
}

/* Waits for all; who is cancelled takes what they ask back. */
static void
wait_for_all(struct counting *counting)
{
	unsigned shard;

	while (counting->asking > 0 && fiber_wait() == 0)
		;
	if (counting->asking == 0)
		return;
	for (shard = 0; shard < SHARDS; shard++)
		if (counting->shards[shard].fiber != NULL)
			fiber_cancel(counting->shards[shard].fiber);
	fiber_shield(true);
	while (counting->asking > 0)
		fiber_wait();
	fiber_shield(false);
	counting->status = STORE_CANCELLED;
}

static enum store_status
count_shards(struct counting *counting)
{
	struct loop *loop = redis_loop(counting->store->redis);
	unsigned shard;

	for (shard = 0; shard < SHARDS; shard++) {
		struct shard_count *count = &counting->shards[shard];

		*count = (struct shard_count){ .counting = counting, .shard = shard };
		count->fiber = fiber_start(loop, "count", count_main, count);
		if (count->fiber != NULL)
			counting->asking++;
		else
			counting->status =
			    store_fail(counting->store, "no room to ask all shards");
	}
	wait_for_all(counting);
	return counting->status;
}

enum store_status
store_counts(struct store *store, struct arena *arena, const struct value **counts_r)
{
	struct counting counting = { .store = store,
		.arena = arena,
		.waiter = fiber_current(),
		.status = STORE_OK };
	const int64_t *numbers = counting.numbers;
	struct command command = { .arena = arena };
	enum store_status status;
	struct store_health health;
	const struct value *inbox;

	command_text(&command, "XLEN");
	command_text(&command, STORE_INBOX);
	status = store_read(store, &command, &inbox);
	if (status == STORE_OK)
		status = count_shards(&counting);
	if (status == STORE_OK)
		status = store_health(store, arena, 0, &health);
	if (status != STORE_OK)
		return status;
	*counts_r = value_map(arena, "inbox",
	    value_int(arena, value_is(inbox, VALUE_INT) ? inbox->integer : 0),
	    "live_threads", value_int(arena, numbers[LIVE]), "runs",
	    value_int(arena, numbers[RUNS]), "dead", value_int(arena, numbers[DEAD]),
	    "asks", value_int(arena, numbers[ASKS]), "asks_oldest_ms",
	    numbers[ASKS] > 0 ? value_int(arena, numbers[OLDEST_MS]) : NULL, "webhooks",
	    value_int(arena, numbers[WEBHOOKS]), "bytes",
	    value_int(arena, (int64_t)health.used), "bytes_max",
	    value_int(arena, (int64_t)health.max), "full",
	    value_int(arena, store_fullness(&health)), NULL);
	return STORE_OK;
}
