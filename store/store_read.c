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
	{ "coordinator", KEPT_TEXT },
	{ "retried", KEPT_TEXT },
	{ "retry_of", KEPT_TEXT },
	{ "entry", KEPT_TEXT },
	{ "parent", KEPT_TEXT },
	{ "task", KEPT_TEXT },
	{ "said", KEPT_INSIDE },
	{ "started_by", KEPT_TEXT },
	{ "depth", KEPT_NUMBER },
	{ "children", KEPT_INSIDE },
	{ "tenant", KEPT_TEXT },
	{ "priority", KEPT_NUMBER },
	{ "at", KEPT_NUMBER },
	{ "after", KEPT_INSIDE },
	{ "deadline_ms", KEPT_NUMBER },
	{ "deadline", KEPT_NUMBER },
	{ "multitask", KEPT_TEXT },
	{ "traceparent", KEPT_TEXT },
	{ "fingerprint", KEPT_TEXT },
	{ "assistant", KEPT_TEXT },
	{ "ttl", KEPT_TEXT },
	{ "usual_ttl", KEPT_INSIDE },
	{ "replaced_by", KEPT_TEXT },
	{ "rolled_back", KEPT_NUMBER },
	{ "base", KEPT_NUMBER },
	{ "webhook", KEPT_TEXT },
	{ "webhook_state", KEPT_TEXT },
	{ "webhook_said", KEPT_TEXT },
	{ "webhook_tries", KEPT_NUMBER },
	{ "webhook_waited", KEPT_NUMBER },
	{ "webhook_at", KEPT_INSIDE },
	{ "given", KEPT_INSIDE },
	{ "discarded", KEPT_NUMBER },
	{ "run", KEPT_TEXT },
	{ "epoch", KEPT_NUMBER },
	{ "created", KEPT_NUMBER },
	{ "started", KEPT_NUMBER },
	{ "ended", KEPT_NUMBER },
	{ "attempts", KEPT_NUMBER },
	{ "again", KEPT_NUMBER },
	{ "final", KEPT_NUMBER },
	{ "events", KEPT_NUMBER },
	{ "last_commit", KEPT_INSIDE },
	{ "late", KEPT_INSIDE },
	{ "lost", KEPT_INSIDE },
	{ "taken", KEPT_INSIDE },
	{ "slow", KEPT_INSIDE },
	{ "last_entry", KEPT_INSIDE },
	{ "cancelling", KEPT_INSIDE },
	{ "rejected", KEPT_INSIDE },
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
	for (size_t i = 0; i < sizeof kept_fields / sizeof *kept_fields; i++) {
		if (strcmp(kept_fields[i].name, name) != 0)
			continue;
		if (kept_fields[i].kept == KEPT_INSIDE)
			return NULL;
		if (kept_fields[i].kept == KEPT_NUMBER)
			return number(arena, bytes);
		return value_str(arena, redis_reply_text(bytes));
	}
	return store_decode(arena, bytes);
}

const struct value *
store_record(struct arena *arena, const struct value *flat)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i + 1 < value_size(flat); i += 2) {
		const char *name = redis_reply_text(value_at(flat, i));

		if (name != NULL)
			value_fields_set(&fields, name,
			    kept_value(arena, name, value_at(flat, i + 1)));
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
	return store_run_in(store, arena, store_shard(thread), run, record_r);
}

enum store_status
store_run_in(struct store *store, struct arena *arena, unsigned shard, const char *run,
    const struct value **record_r)
{
	const struct value *reply;
	enum store_status status = get(store, arena, "HGETALL",
	    arena_printf(arena, "%sr:%s", store_prefix(arena, shard), run), &reply);

	if (status != STORE_OK)
		return status;
	if (value_size(reply) == 0)
		return STORE_NONE;
	*record_r = value_map_with(
	    arena, store_record(arena, reply), "run", value_str(arena, run));
	return STORE_OK;
}

enum store_status
store_has_thread(struct store *store, struct arena *arena, const char *thread)
{
	const struct value *reply;
	enum store_status status =
	    get(store, arena, "EXISTS", store_thread_key(arena, thread), &reply);

	if (status != STORE_OK)
		return status;
	return value_is(reply, VALUE_INT) && reply->integer == 1 ? STORE_OK : STORE_NONE;
}

enum store_status
store_has_run(
    struct store *store, struct arena *arena, const char *thread, const char *run)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HGET");
	command_text(&command, store_run_key(arena, thread, run));
	command_text(&command, "thread");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	return redis_reply_text(reply) != NULL &&
		       strcmp(redis_reply_text(reply), thread) == 0
		   ? STORE_OK
		   : STORE_NONE;
}

enum store_status
store_head(struct store *store, struct arena *arena, const char *thread,
    const struct value **head_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HGET");
	command_text(&command, store_thread_key(arena, thread));
	command_text(&command, "head");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	*head_r = store_decode(arena, reply);
	return value_is(*head_r, VALUE_MAP) ? STORE_OK : STORE_NONE;
}

/* The messages of a thread in order: order is [[first, last], ...] of numbers; stored: as Redis has them, or decoded. */
static const struct value *
in_order(struct arena *arena, const struct value *stored, const struct value *order)
{
	struct value_list list = { .arena = arena };
	int64_t left = (int64_t)value_size(stored); /* each is in it once at most */
	size_t i;

	for (i = 0; i < value_size(order); i++) {
		const struct value *range = value_at(order, i);
		int64_t n = value_is(value_at(range, 0), VALUE_INT)
				? store_number_at(range, 0)
				: -1;
		int64_t last = store_number_at(range, 1);

		for (; n >= 0 && n <= last && left > 0; n++, left--) {
			const struct value *message = value_at(stored, (size_t)n);

			if (value_is(message, VALUE_BIN))
				message = store_decode(arena, message);
			if (value_is_nil(message))
				break;
			value_list_add(&list, message);
		}
	}
	return value_list_end(&list);
}

/* A thread's hash, and the keys beside it. */
struct stored {
	const struct value *head; /* {name: bytes} */
	const struct value *messages, *queue;
	const struct value *order, *state, *fields; /* state: the checkpoint head */
};

static enum store_status
read_outline(
    struct store *store, struct arena *arena, const char *thread, struct stored *stored)
{
	const char *key = store_thread_key(arena, thread);
	const struct value *head;
	enum store_status status = get(store, arena, "HGETALL", key, &head);

	/* One on which runs were only refused is none yet: it has no more than `ttl`. */
	if (status == STORE_OK && value_size(head) <= 2 &&
	    !value_has(store_pairs(arena, head, false), "created"))
		return STORE_NONE;
	if (status == STORE_OK)
		status = get(store, arena, "LRANGE", arena_printf(arena, "%s:q", key),
		    &stored->queue);
	if (status != STORE_OK)
		return status;
	stored->head = store_pairs(arena, head, false);
	stored->state = store_decode(arena, value_get(stored->head, "head"));
	stored->order = store_decode(arena, value_get(stored->head, "order"));
	return STORE_OK;
}

static enum store_status
read_stored(
    struct store *store, struct arena *arena, const char *thread, struct stored *stored)
{
	const char *key = store_thread_key(arena, thread);
	const struct value *fields;
	enum store_status status = read_outline(store, arena, thread, stored);

	if (status == STORE_OK)
		status = get(
		    store, arena, "HGETALL", arena_printf(arena, "%s:f", key), &fields);
	if (status == STORE_OK)
		status = get(store, arena, "LRANGE", arena_printf(arena, "%s:m", key),
		    &stored->messages);
	if (status == STORE_OK)
		stored->fields = store_pairs(arena, fields, true);
	return status;
}

/* The thread is as a checkpoint left it. */
static enum store_status
set_back(struct store *store, struct arena *arena, const char *thread, uint64_t version,
    struct stored *stored, struct store_past *past)
{
	enum store_status status = store_past(store, arena, thread, version, past);

	if (status != STORE_OK)
		return status;
	stored->state = past->head;
	stored->order = past->order;
	stored->fields = past->fields;
	return STORE_OK;
}

static const struct value *
thread_value(struct arena *arena, const char *thread, const struct stored *stored,
    const struct value *version)
{
	struct value_list waiting = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(stored->queue); i++)
		value_list_add(&waiting,
		    value_str(arena, redis_reply_text(value_at(stored->queue, i))));
	return value_map(arena, "thread", value_str(arena, thread), "run",
	    value_str(arena, redis_reply_text(value_get(stored->head, "run"))), "epoch",
	    number(arena, value_get(stored->head, "epoch")), "version", version, "head",
	    stored->state, "queue", value_list_end(&waiting), "messages",
	    in_order(arena, stored->messages, stored->order), "fields", stored->fields,
	    "created", number(arena, value_get(stored->head, "created")), "metadata",
	    store_decode(arena, value_get(stored->head, "metadata")), NULL);
}

typedef enum store_status read_fn(
    struct store *store, struct arena *arena, const char *thread, struct stored *stored);

static enum store_status
read_thread(struct store *store, struct arena *arena, const char *thread,
    read_fn *read_all, const struct value **thread_r)
{
	struct stored stored = { 0 };
	struct store_past past;
	enum store_status status = read_all(store, arena, thread, &stored);
	const int64_t back = status == STORE_OK ? store_put_back(stored.head) : -1;

	if (back >= 0)
		status = set_back(store, arena, thread, (uint64_t)back, &stored, &past);
	if (status == STORE_OK)
		*thread_r = value_map_with(arena,
		    thread_value(arena, thread, &stored,
			number(arena, value_get(stored.head, "version"))),
		    "standing",
		    back >= 0 ? value_int(arena, back)
			      : number(arena, value_get(stored.head, "version")));
	return status;
}

enum store_status
store_thread(struct store *store, struct arena *arena, const char *thread,
    const struct value **thread_r)
{
	return read_thread(store, arena, thread, read_stored, thread_r);
}

enum store_status
store_thread_outline(struct store *store, struct arena *arena, const char *thread,
    const struct value **thread_r)
{
	return read_thread(store, arena, thread, read_outline, thread_r);
}

enum store_status
store_thread_at(struct store *store, struct arena *arena, const char *thread,
    uint64_t version, const struct value **thread_r)
{
	struct stored stored = { 0 };
	struct store_past past;
	enum store_status status = read_stored(store, arena, thread, &stored);

	if (status == STORE_OK)
		status = set_back(store, arena, thread, version, &stored, &past);
	if (status == STORE_OK)
		*thread_r = value_map_merge(arena,
		    thread_value(
			arena, thread, &stored, value_int(arena, (int64_t)version)),
		    value_map(arena, "checkpoint", past.checkpoint, NULL));
	return status;
}

/* The thread as it was then, added to list. */
static void
add_past(struct value_list *list, const char *thread, const struct stored *now,
    const struct store_past *past)
{
	struct arena *arena = list->arena;
	struct stored stored = *now;

	stored.state = past->head;
	stored.order = past->order;
	stored.fields = past->fields;
	value_list_add(list, value_map_merge(arena,
				 thread_value(arena, thread, &stored,
				     value_int(arena, (int64_t)past->version)),
				 value_map(arena, "checkpoint", past->checkpoint, NULL)));
}

/* Once for all that they are shown in. What cannot be read is nil. */
static const struct value *
decoded(struct arena *arena, const struct value *stored)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(stored); i++) {
		const struct value *message = store_decode(arena, value_at(stored, i));

		value_list_add(&list, message != NULL ? message : value_nil());
	}
	return value_list_end(&list);
}

enum store_status
store_pasts(struct store *store, struct arena *arena, const char *thread, uint64_t before,
    size_t limit, const struct value **pasts_r)
{
	struct value_list list = { .arena = arena };
	struct stored stored = { 0 };
	const struct value *history = value_empty_array();
	struct store_past *pasts;
	enum store_status status = read_stored(store, arena, thread, &stored);
	const int64_t back = status == STORE_OK ? store_put_back(stored.head) : -1;
	size_t count = 0, i;

	if (back >= 0 && before > (uint64_t)back)
		before = (uint64_t)back + 1;
	if (status == STORE_OK)
		status = store_history(store, arena, thread, &history);
	if (status == STORE_OK) {
		if (limit > value_size(history) + 1) /* with the empty thread */
			limit = value_size(history) + 1;
		pasts = arena_alloc(arena, limit * sizeof *pasts);
		count = store_pasts_of(arena, history, before, limit, pasts);
		stored.messages = decoded(arena, stored.messages);
	}
	for (i = 0; i < count; i++)
		add_past(&list, thread, &stored, &pasts[i]);
	if (status == STORE_NONE && stored.head != NULL)
		status = STORE_OK; /* no run has begun there */
	*pasts_r = value_list_end(&list);
	return status;
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

static bool
is_checkpoint(const struct value *value)
{
	return value_get_int(value, "version", 0) > 0 &&
	       store_is_order(value_get(value, "order"));
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
		const struct value *one = store_decode(arena, value_at(reply, i));

		value_list_add(&list, is_checkpoint(one) ? one : value_nil());
	}
	*history_r = value_list_end(&list);
	return value_size(*history_r) > 0 ? STORE_OK : STORE_NONE;
}
