/* store_read: runs, threads, history and events as values, for people and programs. */
#include "store_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How a field of a run's or thread's hash is kept. */
enum kept { KEPT_TEXT, KEPT_NUMBER, KEPT_PACKED, KEPT_INSIDE };

static const struct {
	const char *name;
	enum kept kept;
} kept_fields[] = {
	{ "status", KEPT_TEXT },
	{ "thread", KEPT_TEXT },
	{ "agent", KEPT_TEXT },
	{ "version", KEPT_TEXT },
	{ "owner", KEPT_TEXT },
	{ "run", KEPT_TEXT },
	{ "epoch", KEPT_NUMBER },
	{ "created", KEPT_NUMBER },
	{ "started", KEPT_NUMBER },
	{ "ended", KEPT_NUMBER },
	{ "attempts", KEPT_NUMBER },
	{ "events", KEPT_NUMBER },
	{ "last_commit", KEPT_INSIDE },
	{ "cancelling", KEPT_INSIDE },
};

static const struct value *
number(struct arena *arena, const struct value *bytes)
{
	const char *text = redis_reply_text(bytes);

	return value_int(arena, text != NULL ? strtoll(text, NULL, 10) : 0);
}

static const struct value *
kept_value(struct arena *arena, const char *name, const struct value *bytes)
{
	size_t i;

	for (i = 0; i < sizeof kept_fields / sizeof *kept_fields; i++) {
		if (strcmp(kept_fields[i].name, name) != 0)
			continue;
		if (kept_fields[i].kept == KEPT_INSIDE)
			return NULL;
		return kept_fields[i].kept == KEPT_NUMBER
			   ? number(arena, bytes)
			   : value_str(arena, redis_reply_text(bytes));
	}
	return store_decode(arena, bytes);
}

/* A hash as HGETALL answers it, to a map of typed values. */
static const struct value *
record(struct arena *arena, const struct value *flat)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i + 1 < value_size(flat); i += 2) {
		const char *name = redis_reply_text(value_at(flat, i));

		value_fields_set(
		    &fields, name, kept_value(arena, name, value_at(flat, i + 1)));
	}
	return value_fields_end(&fields);
}

static enum store_status
get(struct store *store, struct arena *arena, const char *verb, const char *key,
    const struct value **reply_r)
{
	struct command command = { .arena = arena };

	command_text(&command, verb);
	command_text(&command, key);
	if (strcmp(verb, "LRANGE") == 0) {
		command_text(&command, "0");
		command_text(&command, "-1");
	}
	return store_read(store, &command, reply_r);
}

enum store_status
store_run(struct store *store, struct arena *arena, const char *thread, const char *run,
    const struct value **record_r)
{
	const struct value *reply;
	enum store_status status =
	    get(store, arena, "HGETALL", store_run_key(arena, thread, run), &reply);

	if (status != STORE_OK)
		return status;
	if (value_size(reply) == 0)
		return STORE_NONE;
	*record_r =
	    value_map_with(arena, record(arena, reply), "run", value_str(arena, run));
	return STORE_OK;
}

/* The messages of a thread in order: order is [[first, last], ...] of numbers. */
static const struct value *
in_order(struct arena *arena, const struct value *stored, const struct value *order)
{
	struct value_list list = { .arena = arena };
	size_t i;
	int64_t n;

	for (i = 0; i < value_size(order); i++) {
		const struct value *first = value_at(value_at(order, i), 0);
		const struct value *last = value_at(value_at(order, i), 1);

		if (!value_is(first, VALUE_INT) || !value_is(last, VALUE_INT))
			continue;
		for (n = first->integer; n <= last->integer; n++) {
			const struct value *message =
			    store_decode(arena, value_at(stored, (size_t)n));

			if (message == NULL)
				break;
			value_list_add(&list, message);
		}
	}
	return value_list_end(&list);
}

enum store_status
store_thread(struct store *store, struct arena *arena, const char *thread,
    const struct value **thread_r)
{
	const char *key = store_thread_key(arena, thread);
	const struct value *head, *fields, *messages, *queue, *map;
	enum store_status status = get(store, arena, "HGETALL", key, &head);
	struct value_list waiting = { .arena = arena };
	size_t i;

	if (status == STORE_OK && value_size(head) == 0)
		return STORE_NONE;
	if (status == STORE_OK)
		status = get(
		    store, arena, "HGETALL", arena_printf(arena, "%s:f", key), &fields);
	if (status == STORE_OK)
		status = get(
		    store, arena, "LRANGE", arena_printf(arena, "%s:m", key), &messages);
	if (status == STORE_OK)
		status =
		    get(store, arena, "LRANGE", arena_printf(arena, "%s:q", key), &queue);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(queue); i++)
		value_list_add(
		    &waiting, value_str(arena, redis_reply_text(value_at(queue, i))));
	map = store_pairs(arena, head, false);
	*thread_r = value_map(arena, "thread", value_str(arena, thread), "run",
	    value_str(arena, redis_reply_text(value_get(map, "run"))), "epoch",
	    number(arena, value_get(map, "epoch")), "version",
	    number(arena, value_get(map, "version")), "head",
	    store_decode(arena, value_get(map, "head")), "queue",
	    value_list_end(&waiting), "messages",
	    in_order(arena, messages, store_decode(arena, value_get(map, "order"))),
	    "fields", store_pairs(arena, fields, true), NULL);
	return STORE_OK;
}

enum store_status
store_messages(struct store *store, struct arena *arena, const char *thread,
    uint64_t first, uint64_t count, const struct value **messages_r)
{
	struct command command = { .arena = arena };
	struct value_list list = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	*messages_r = value_empty_array();
	if (count == 0)
		return STORE_OK;
	command_text(&command, "LRANGE");
	command_text(
	    &command, arena_printf(arena, "%s:m", store_thread_key(arena, thread)));
	command_uint(&command, first);
	command_uint(&command, first + count - 1);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(reply); i++) {
		const struct value *message = store_decode(arena, value_at(reply, i));

		if (message != NULL)
			value_list_add(&list, message);
	}
	*messages_r = value_list_end(&list);
	return STORE_OK;
}

enum store_status
store_history(struct store *store, struct arena *arena, const char *thread,
    const struct value **history_r)
{
	const struct value *reply;
	struct value_list list = { .arena = arena };
	size_t i;
	enum store_status status = get(store, arena, "LRANGE",
	    arena_printf(arena, "%s:c", store_thread_key(arena, thread)), &reply);

	if (status != STORE_OK)
		return status;
	for (i = 0; i < value_size(reply); i++) {
		const struct value *checkpoint = store_decode(arena, value_at(reply, i));

		if (checkpoint != NULL)
			value_list_add(&list, checkpoint);
	}
	*history_r = value_list_end(&list);
	return value_size(*history_r) > 0 ? STORE_OK : STORE_NONE;
}

/* --- runs of all shards ------------------------------------------------------------- */

struct found_run {
	const char *run;
	double created;
	unsigned shard;
};

static int
newest_first(const void *a, const void *b)
{
	const struct found_run *left = a, *right = b;

	if (left->created != right->created)
		return left->created < right->created ? 1 : -1;
	return strcmp(right->run, left->run);
}

static enum store_status
find_runs(struct store *store, struct arena *arena, unsigned shard, size_t limit,
    struct found_run *found, size_t *count)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_text(&command, "ZREVRANGE");
	command_text(&command, arena_printf(arena, "%sruns", store_prefix(arena, shard)));
	command_text(&command, "0");
	command_uint(&command, limit > 0 ? limit - 1 : 0);
	command_text(&command, "WITHSCORES");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i + 1 < value_size(reply) && i / 2 < limit; i += 2) {
		found[*count].run = redis_reply_text(value_at(reply, i));
		found[*count].created =
		    strtod(redis_reply_text(value_at(reply, i + 1)), NULL);
		found[(*count)++].shard = shard;
	}
	return STORE_OK;
}

static const struct value *
found_record(struct store *store, struct arena *arena, const struct found_run *found)
{
	const struct value *reply;
	const char *key =
	    arena_printf(arena, "%sr:%s", store_prefix(arena, found->shard), found->run);

	if (get(store, arena, "HGETALL", key, &reply) != STORE_OK ||
	    value_size(reply) == 0)
		return NULL;
	return value_map_with(
	    arena, record(arena, reply), "run", value_str(arena, found->run));
}

enum store_status
store_runs(struct store *store, struct arena *arena, size_t limit, const char *status,
    const struct value **runs_r)
{
	/* A filter looks further back than what it shows. */
	size_t depth = status != NULL ? 20 * limit : limit, count = 0, i;
	struct found_run *found = arena_alloc(arena, SHARDS * depth * sizeof *found);
	struct value_list list = { .arena = arena };
	unsigned shard;

	for (shard = 0; shard < SHARDS; shard++) {
		enum store_status answer =
		    find_runs(store, arena, shard, depth, found, &count);

		if (answer != STORE_OK)
			return answer;
	}
	qsort(found, count, sizeof *found, newest_first);
	for (i = 0; i < count && list.count < limit; i++) {
		const struct value *run = found_record(store, arena, &found[i]);

		if (run != NULL &&
		    (status == NULL || value_text_is(value_get(run, "status"), status)))
			value_list_add(&list, run);
	}
	*runs_r = value_list_end(&list);
	return STORE_OK;
}

/* --- events ------------------------------------------------------------------------- */

/* One stream entry [id, [name, bytes]] as the event with its number. */
static const struct value *
event(struct arena *arena, const struct value *entry)
{
	const char *id = redis_reply_text(value_at(entry, 0));
	const struct value *body = store_decode(arena, value_at(value_at(entry, 1), 1));

	if (id == NULL || !value_is(body, VALUE_MAP))
		return NULL;
	return value_map_with(
	    arena, body, "seq", value_int(arena, strtoll(id, NULL, 10)));
}

enum store_status
store_events(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t after, uint64_t block_ms, const struct value **events_r)
{
	struct command command = { .arena = arena };
	struct value_list list = { .arena = arena };
	const struct value *reply, *entries;
	enum store_status status;
	size_t i;

	command_text(&command, "XREAD");
	command_text(&command, "COUNT");
	command_text(&command, "500");
	if (block_ms > 0) {
		command_text(&command, "BLOCK");
		command_uint(&command, block_ms);
	}
	command_text(&command, "STREAMS");
	command_text(
	    &command, arena_printf(arena, "%s:e", store_run_key(arena, thread, run)));
	command_text(&command, arena_printf(arena, "%" PRIu64 "-0", after));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	entries = value_at(value_at(value_at(reply, 0), 1), 0) != NULL
		      ? value_at(value_at(reply, 0), 1)
		      : NULL;
	for (i = 0; i < value_size(entries); i++) {
		const struct value *one = event(arena, value_at(entries, i));

		if (one != NULL)
			value_list_add(&list, one);
	}
	*events_r = value_list_end(&list);
	return STORE_OK;
}

/* --- counts ------------------------------------------------------------------------- */

static enum store_status
count(struct store *store, struct arena *arena, const char *verb, const char *key,
    int64_t *total)
{
	const struct value *reply;
	enum store_status status = get(store, arena, verb, key, &reply);

	if (status == STORE_OK && value_is(reply, VALUE_INT))
		*total += reply->integer;
	return status;
}

enum store_status
store_counts(struct store *store, struct arena *arena, const struct value **counts_r)
{
	int64_t live = 0, runs = 0, inbox = 0;
	enum store_status status = count(store, arena, "XLEN", STORE_INBOX, &inbox);
	unsigned shard;

	for (shard = 0; shard < SHARDS && status == STORE_OK; shard++) {
		const char *prefix = store_prefix(arena, shard);

		status = count(
		    store, arena, "ZCARD", arena_printf(arena, "%sdue", prefix), &live);
		if (status == STORE_OK)
			status = count(store, arena, "ZCARD",
			    arena_printf(arena, "%sruns", prefix), &runs);
	}
	if (status != STORE_OK)
		return status;
	*counts_r = value_map(arena, "inbox", value_int(arena, inbox), "live_threads",
	    value_int(arena, live), "runs", value_int(arena, runs), NULL);
	return STORE_OK;
}
