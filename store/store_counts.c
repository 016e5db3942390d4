/* store_counts: how much there is of what, over all shards, which are asked at once. Plain commands:
 * whoever looks may not load the library, and looks where nobody has. */
#include <stdlib.h>

#include "fiber.h"
#include "store_private.h"

enum { LIVE, RUNS, DEAD, WEBHOOKS, ASKS, INDEXES };
static const char *const indexes[INDEXES] = { "due", "runs", "dead", "hooks", "asks" };

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
	int64_t numbers[INDEXES]; /* sums */
	int64_t first_ask;        /* ms; 0: none */
	enum store_status status;
};

/* A number of Redis's, between 0 and what can be summed and subtracted: beyond that it makes no sense
 * anyway. */
static int64_t
bounded(int64_t number)
{
	const int64_t most = INT64_C(1000000000000000);

	return number < 0 ? 0 : number < most ? number : most;
}

/* Adds how many there are in a shard's index. */
static enum store_status
add_size(struct counting *counting, unsigned shard, size_t index)
{
	struct arena *arena = counting->arena;
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "ZCARD");
	command_text(&command,
	    arena_printf(arena, "%s%s", store_prefix(arena, shard), indexes[index]));
	status = store_read(counting->store, &command, &reply);
	if (status == STORE_OK && value_is(reply, VALUE_INT))
		counting->numbers[index] += bounded(reply->integer);
	return status;
}

/* Looks at the thread of a shard that has waited longest. */
static enum store_status
add_first_ask(struct counting *counting, unsigned shard)
{
	static const char *const range[] = { "-inf", "+inf", "WITHSCORES", "LIMIT", "0",
		"1" };
	struct arena *arena = counting->arena;
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	int64_t since;
	size_t i;

	command_text(&command, "ZRANGEBYSCORE");
	command_text(&command, arena_printf(arena, "%sasks", store_prefix(arena, shard)));
	for (i = 0; i < sizeof range / sizeof range[0]; i++)
		command_text(&command, range[i]);
	status = store_read(counting->store, &command, &reply);
	if (status != STORE_OK || store_text_at(reply, 1) == NULL)
		return status;
	since = bounded(strtoll(store_text_at(reply, 1), NULL, 10));
	if (counting->first_ask == 0 || since < counting->first_ask)
		counting->first_ask = since;
	return status;
}

static void
count_main(void *arg)
{
	struct shard_count *count = arg;
	struct counting *counting = count->counting;
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; i < INDEXES && status == STORE_OK; i++)
		status = add_size(counting, count->shard, i);
	if (status == STORE_OK)
		status = add_first_ask(counting, count->shard);
	if (status != STORE_OK)
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

/* Redis' clock, which the times are of; 0 when it does not say. */
static enum store_status
ask_now(struct store *store, struct arena *arena, int64_t *now_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	const char *seconds;

	command_text(&command, "TIME");
	status = store_read(store, &command, &reply);
	seconds = status == STORE_OK ? store_text_at(reply, 0) : NULL;
	*now_r = seconds != NULL ? bounded(strtoll(seconds, NULL, 10)) * 1000 : 0;
	return status;
}

static enum store_status
ask_inbox(struct store *store, struct arena *arena, int64_t *size_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "XLEN");
	command_text(&command, STORE_INBOX);
	status = store_read(store, &command, &reply);
	*size_r = status == STORE_OK && value_is(reply, VALUE_INT) ? reply->integer : 0;
	return status;
}

/* For how long the first has waited, or NULL. */
static const struct value *
oldest(const struct counting *counting, int64_t now)
{
	int64_t ms = now - counting->first_ask;

	if (counting->first_ask == 0)
		return NULL;
	return value_int(counting->arena, ms > 0 ? ms : 0);
}

enum store_status
store_counts(struct store *store, struct arena *arena, const struct value **counts_r)
{
	struct counting counting = { .store = store,
		.arena = arena,
		.waiter = fiber_current(),
		.status = STORE_OK };
	const int64_t *numbers = counting.numbers;
	int64_t inbox, now = 0;
	enum store_status status = ask_inbox(store, arena, &inbox);
	struct store_health health;

	if (status == STORE_OK)
		status = count_shards(&counting);
	if (status == STORE_OK)
		status = ask_now(store, arena, &now);
	if (status == STORE_OK)
		status = store_health(store, arena, 0, &health);
	if (status != STORE_OK)
		return status;
	*counts_r = value_map(arena, "inbox", value_int(arena, inbox), "live_threads",
	    value_int(arena, numbers[LIVE]), "runs", value_int(arena, numbers[RUNS]),
	    "dead", value_int(arena, numbers[DEAD]), "asks",
	    value_int(arena, numbers[ASKS]), "asks_oldest_ms", oldest(&counting, now),
	    "webhooks", value_int(arena, numbers[WEBHOOKS]), "bytes",
	    value_int(arena, (int64_t)health.used), "bytes_max",
	    value_int(arena, (int64_t)health.max), "full",
	    value_int(arena, store_fullness(&health)), NULL);
	return STORE_OK;
}
