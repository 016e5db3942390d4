/* store_counts: how much there is of what, over all shards, which are asked at once. Plain commands:
 * whoever looks may not load the library, and looks where nobody has. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "spread.h"
#include "store_fleet.h"
#include "store_private.h"

#define TOKENS "fl:tokens"
#define TIMES "fl:times" /* "<bound in ms> <status>", "more <status>", "sum <status>" */
#define MORE "more"
#define SUM "sum"

/* What is asked of each shard: a number each. */
enum { LIVE, WAITING, RUNS, DELAYED, DEAD, WEBHOOKS, ASKS, CRONS, LEASES, SIZES };
static const struct {
	const char *verb, *key;
	const char *from, *to; /* the scores that count, or NULL */
} sizes[SIZES] = {
	[LIVE] = { "ZCARD", "due", NULL, NULL },
	[WAITING] = { "ZCOUNT", "due", "10000000000000",
	    "+inf" }, /* line.lua's WAITING */
	[RUNS] = { "ZCARD", "runs", NULL, NULL },
	[DELAYED] = { "ZCARD", "later", NULL, NULL },
	[DEAD] = { "ZCARD", "dead", NULL, NULL },
	[WEBHOOKS] = { "ZCARD", "hooks", NULL, NULL },
	[ASKS] = { "ZCARD", "asks", NULL, NULL },
	[CRONS] = { "ZCOUNT", "crons", "-inf", "(+inf" }, /* that are due some time */
	[LEASES] = { "HLEN", "leases", NULL, NULL },
};

/* Of which the first is looked at, by its time in ms. */
enum { FIRST_ASK, FIRST_CRON, FIRSTS };
static const char *const first_keys[FIRSTS] = {
	[FIRST_ASK] = "asks", [FIRST_CRON] = "crons"
};

/* How a run ends: the fields of `ended`. */
static const char *const ends[] = { "success", "error", "interrupted", "cancelled",
	"refused" };
#define ENDS (sizeof ends / sizeof ends[0])

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
	int64_t numbers[SIZES]; /* sums */
	int64_t ended[ENDS];
	int64_t firsts[FIRSTS]; /* ms; 0: none */
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

static void
add_key(struct command *command, unsigned shard, const char *name)
{
	command_text(command, arena_printf(command->arena, "%s%s",
				  store_prefix(command->arena, shard), name));
}

/* Adds how many there are in a shard's index. */
static enum store_status
add_size(struct counting *counting, unsigned shard, size_t index)
{
	struct command command = { .arena = counting->arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, sizes[index].verb);
	add_key(&command, shard, sizes[index].key);
	if (sizes[index].from != NULL) {
		command_text(&command, sizes[index].from);
		command_text(&command, sizes[index].to);
	}
	status = store_read(counting->store, &command, &reply);
	if (status == STORE_OK && value_is(reply, VALUE_INT))
		counting->numbers[index] += bounded(reply->integer);
	return status;
}

/* Adds how the runs of a shard have ended. */
static enum store_status
add_ended(struct counting *counting, unsigned shard)
{
	struct command command = { .arena = counting->arena };
	const struct value *reply;
	enum store_status status;
	size_t i, j;

	command_text(&command, "HGETALL");
	add_key(&command, shard, "ended");
	status = store_read(counting->store, &command, &reply);
	for (i = 0; status == STORE_OK && i + 1 < value_size(reply); i += 2)
		for (j = 0; j < ENDS; j++)
			if (store_text_at(reply, i) != NULL &&
			    strcmp(store_text_at(reply, i), ends[j]) == 0 &&
			    store_text_at(reply, i + 1) != NULL)
				counting->ended[j] += bounded(
				    strtoll(store_text_at(reply, i + 1), NULL, 10));
	return status;
}

/* Looks at what in a shard has the lowest time. */
static enum store_status
add_first(struct counting *counting, unsigned shard, size_t index)
{
	static const char *const range[] = { "-inf", "(+inf", "WITHSCORES", "LIMIT", "0",
		"1" };
	struct command command = { .arena = counting->arena };
	const struct value *reply;
	enum store_status status;
	int64_t since;
	size_t i;

	command_text(&command, "ZRANGEBYSCORE");
	add_key(&command, shard, first_keys[index]);
	for (i = 0; i < sizeof range / sizeof range[0]; i++)
		command_text(&command, range[i]);
	status = store_read(counting->store, &command, &reply);
	if (status != STORE_OK || store_text_at(reply, 1) == NULL)
		return status;
	since = bounded(strtoll(store_text_at(reply, 1), NULL, 10));
	if (counting->firsts[index] == 0 || since < counting->firsts[index])
		counting->firsts[index] = since;
	return status;
}

static void
count_main(void *arg)
{
	struct shard_count *count = arg;
	struct counting *counting = count->counting;
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; i < SIZES && status == STORE_OK; i++)
		status = add_size(counting, count->shard, i);
	if (status == STORE_OK)
		status = add_ended(counting, count->shard);
	for (i = 0; i < FIRSTS && status == STORE_OK; i++)
		status = add_first(counting, count->shard, i);
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

/* In key, as field "kind name". */
static enum store_status
add_count(struct store *store, struct arena *arena, const char *key, const char *kind,
    const char *name, int64_t count)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool lost = false;

	command_text(&command, "HINCRBY");
	command_text(&command, key);
	command_text(&command, arena_printf(arena, "%s %s", kind, name));
	command_text(&command, arena_printf(arena, "%" PRId64, count));
	status = store_send(store, &command, &reply, &lost);
	return lost ? STORE_OK : status;
}

enum store_status
store_count_tokens(struct store *store, struct arena *arena, const char *model,
    const char *kind, int64_t count)
{
	return add_count(store, arena, TOKENS, kind, model, count);
}

enum store_status
store_count_ended(struct store *store, struct arena *arena, const char *status,
    unsigned bound, int64_t count)
{
	const char *kind = bound < SPREAD_BOUND_COUNT
			       ? arena_printf(arena, "%" PRIu32, spread_bound(bound))
			       : MORE;

	return add_count(store, arena, TIMES, kind, status, count);
}

enum store_status
store_count_took(struct store *store, struct arena *arena, const char *status, int64_t ms)
{
	return add_count(store, arena, TIMES, SUM, status, ms);
}

/* Adds what a field of TIMES says: kind is a bound, or one of the two words. One that is no bound of ours counts as the next that
 * is. */
static void
add_time(struct spread *spread, const char *kind, int64_t number)
{
	int64_t bound_ms = strtoll(kind, NULL, 10);
	unsigned i = 0;

	if (strcmp(kind, SUM) == 0) {
		spread->sum_ms += (uint64_t)number;
		return;
	}
	if (strcmp(kind, MORE) == 0)
		i = SPREAD_BOUND_COUNT;
	while (i < SPREAD_BOUND_COUNT && bound_ms > spread_bound(i))
		i++;
	spread->counts[i] += (uint64_t)number;
}

static enum store_status
ask_times(struct store *store, struct arena *arena, const struct value **times_r)
{
	struct command command = { .arena = arena };
	struct spread spreads[ENDS] = { 0 };
	struct value_fields fields = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i, j;

	command_text(&command, "HGETALL");
	command_text(&command, TIMES);
	status = store_read(store, &command, &reply);
	for (i = 0; status == STORE_OK && i + 1 < value_size(reply); i += 2) {
		const char *field = store_text_at(reply, i);
		const char *count = store_text_at(reply, i + 1);
		const char *end = field != NULL ? strchr(field, ' ') : NULL;

		for (j = 0; end != NULL && count != NULL && j < ENDS; j++)
			if (strcmp(end + 1, ends[j]) == 0)
				add_time(&spreads[j],
				    arena_copy(arena, field, (size_t)(end - field)),
				    bounded(strtoll(count, NULL, 10)));
	}
	for (i = 0; i < ENDS; i++)
		value_fields_set(&fields, ends[i], spread_value(arena, &spreads[i]));
	*times_r = value_map(arena, "bounds_ms", spread_bounds(arena), "ended",
	    value_fields_end(&fields), NULL);
	return status;
}

static enum store_status
ask_tokens(struct store *store, struct arena *arena, const struct value **tokens_r)
{
	struct command command = { .arena = arena };
	struct value_list list = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_text(&command, "HGETALL");
	command_text(&command, TOKENS);
	status = store_read(store, &command, &reply);
	for (i = 0; status == STORE_OK && i + 1 < value_size(reply); i += 2) {
		const char *field = store_text_at(reply, i);
		const char *count = store_text_at(reply, i + 1);
		const char *model = field != NULL ? strchr(field, ' ') : NULL;

		if (model != NULL && count != NULL)
			value_list_add(&list,
			    value_map(arena, "model", value_str(arena, model + 1), "kind",
				value_str(arena,
				    arena_copy(arena, field, (size_t)(model - field))),
				"count",
				value_int(arena, bounded(strtoll(count, NULL, 10))),
				NULL));
	}
	*tokens_r = value_list_end(&list);
	return status;
}

struct inbox {
	int64_t size;
	int64_t first; /* when its oldest entry was made, ms; 0: there is none */
};

/* An entry's id is when it was made, and a number. */
static enum store_status
ask_inbox(struct store *store, struct arena *arena, struct inbox *inbox_r)
{
	static const char *const words[] = { "XRANGE", STORE_INBOX, "-", "+", "COUNT",
		"1" };
	struct command size = { .arena = arena }, first = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	const char *id;
	size_t i;

	*inbox_r = (struct inbox){ 0 };
	command_text(&size, "XLEN");
	command_text(&size, STORE_INBOX);
	status = store_read(store, &size, &reply);
	if (status != STORE_OK || !value_is(reply, VALUE_INT))
		return status;
	inbox_r->size = bounded(reply->integer);
	for (i = 0; i < sizeof words / sizeof words[0]; i++)
		command_text(&first, words[i]);
	status = store_read(store, &first, &reply);
	id = status == STORE_OK ? store_text_at(value_at(reply, 0), 0) : NULL;
	if (id != NULL)
		inbox_r->first = bounded(strtoll(id, NULL, 10));
	return status;
}

/* For how long something has waited since, or NULL. */
static const struct value *
age(struct arena *arena, int64_t since, int64_t now)
{
	if (since == 0)
		return NULL;
	return value_int(arena, now > since ? now - since : 0);
}

static const struct value *
ended_value(const struct counting *counting)
{
	struct value_fields fields = { .arena = counting->arena };
	size_t i;

	for (i = 0; i < ENDS; i++)
		value_fields_set(
		    &fields, ends[i], value_int(fields.arena, counting->ended[i]));
	return value_fields_end(&fields);
}

static const struct value *
counts_value(const struct counting *counting, const struct inbox *inbox, int64_t now)
{
	struct arena *arena = counting->arena;
	const int64_t *numbers = counting->numbers;
	int64_t first_cron = counting->firsts[FIRST_CRON];

	return value_map(arena, "inbox", value_int(arena, inbox->size), "inbox_oldest_ms",
	    age(arena, inbox->first, now), "live_threads",
	    value_int(arena, numbers[LIVE]), "waiting_threads",
	    value_int(arena, numbers[WAITING]), "runs", value_int(arena, numbers[RUNS]),
	    "delayed", value_int(arena, numbers[DELAYED]), "dead",
	    value_int(arena, numbers[DEAD]), "asks", value_int(arena, numbers[ASKS]),
	    "asks_oldest_ms", age(arena, counting->firsts[FIRST_ASK], now), "webhooks",
	    value_int(arena, numbers[WEBHOOKS]), "crons",
	    value_int(arena, numbers[CRONS]), "crons_late_ms",
	    first_cron < now ? age(arena, first_cron, now) : NULL, "leases",
	    value_int(arena, numbers[LEASES]), "ended", ended_value(counting), NULL);
}

static const struct value *
health_value(struct arena *arena, const struct store_health *health)
{
	return value_map(arena, "bytes", value_int(arena, (int64_t)health->used),
	    "bytes_max", value_int(arena, (int64_t)health->max), "full",
	    value_int(arena, store_fullness(health)), "logged",
	    value_bool(health->is_logged), "log_broken",
	    value_bool(health->is_log_broken), NULL);
}

enum store_status
store_counts(struct store *store, struct arena *arena, const struct value **counts_r)
{
	struct counting counting = { .store = store,
		.arena = arena,
		.waiter = fiber_current(),
		.status = STORE_OK };
	const struct value *tokens = NULL, *times = NULL;
	struct inbox inbox;
	int64_t now = 0;
	enum store_status status = ask_inbox(store, arena, &inbox);
	struct store_health health;

	if (status == STORE_OK)
		status = count_shards(&counting);
	if (status == STORE_OK)
		status = ask_tokens(store, arena, &tokens);
	if (status == STORE_OK)
		status = ask_times(store, arena, &times);
	if (status == STORE_OK)
		status = ask_now(store, arena, &now);
	if (status == STORE_OK)
		status = store_health(store, arena, 0, &health);
	if (status != STORE_OK)
		return status;
	*counts_r = value_map_with(arena,
	    value_map_merge(arena, counts_value(&counting, &inbox, now),
		health_value(arena, &health)),
	    "tokens", tokens);
	*counts_r = value_map_with(arena, *counts_r, "times", times);
	return STORE_OK;
}
