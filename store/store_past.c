/* store_past: a thread as it was at a checkpoint. */
#include "store_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 5u /* to read a checkpoint while others come */
#define FEW 8u       /* checkpoints that are looked through at first for a run's */

/* What a checkpoint's record has beside the head that was stored with it. */
static const char *const own_names[] = { "spec", "run", "version", "at", "first", "count",
	"order", "fields", "parent", "source", "node" };

/* A head's `version` is the agent's: the record keeps it as `spec`, since its own is another. */
static const struct value *
head_of(struct arena *arena, const struct value *checkpoint)
{
	const struct value *head = checkpoint;
	size_t i;

	for (i = 0; i < sizeof own_names / sizeof *own_names; i++)
		head = value_map_with(arena, head, own_names[i], NULL);
	return value_map_merge(arena, head,
	    value_map(arena, "version", value_get(checkpoint, "spec"), "run",
		value_get(checkpoint, "run"), NULL));
}

bool
store_is_order(const struct value *order)
{
	size_t i;

	for (i = 0; i < value_size(order); i++) {
		const struct value *range = value_at(order, i);

		if (!value_is(range, VALUE_ARRAY) || value_size(range) != 2 ||
		    !value_is(value_at(range, 0), VALUE_INT) ||
		    !value_is(value_at(range, 1), VALUE_INT))
			return false;
	}
	return value_is(order, VALUE_ARRAY);
}

static void
fold(struct value_fields *fields, const struct value *changes)
{
	size_t i;

	for (i = 0; i < value_size(changes); i++)
		value_fields_put(fields, changes->pairs[i].key, changes->pairs[i].value);
}

/* Fields that are gone were written as nil. */
static const struct value *
without_gone(struct arena *arena, const struct value *fields)
{
	struct value_fields left = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(fields); i++)
		if (!value_is_nil(fields->pairs[i].value))
			value_fields_put(
			    &left, fields->pairs[i].key, fields->pairs[i].value);
	return value_fields_end(&left);
}

/* The empty thread. */
static void
set_empty(struct store_past *past_r)
{
	*past_r = (struct store_past){ .order = value_empty_array(),
		.fields = value_empty_map() };
}

/* fields: what checkpoint and those before it have changed. */
static void
set_past(struct arena *arena, const struct value *checkpoint, struct value_fields *fields,
    struct store_past *past_r)
{
	const struct value *order = value_get(checkpoint, "order");

	*past_r = (struct store_past){ .version = (uint64_t)value_get_int(
					   checkpoint, "version", 0),
		.checkpoint = checkpoint,
		.head = head_of(arena, checkpoint),
		.order = value_is(order, VALUE_ARRAY) ? order : value_empty_array(),
		.fields = without_gone(arena, value_fields_end(fields)) };
}

int
store_past_of(struct arena *arena, const struct value *history, uint64_t version,
    struct store_past *past_r)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	if (version == 0) {
		set_empty(past_r);
		return 0;
	}
	for (i = 0; i < value_size(history); i++) {
		const struct value *checkpoint = value_at(history, i);

		if (value_is_nil(checkpoint))
			return -1;
		fold(&fields, value_get(checkpoint, "fields"));
		if (value_get_int(checkpoint, "version", -1) == (int64_t)version) {
			set_past(arena, checkpoint, &fields, past_r);
			return 0;
		}
	}
	return -1;
}

static bool
is_before(const struct value *checkpoint, uint64_t before)
{
	int64_t version = value_get_int(checkpoint, "version", 0);

	return version > 0 && (uint64_t)version < before;
}

size_t
store_pasts_of(struct arena *arena, const struct value *history, uint64_t before,
    size_t limit, struct store_past *pasts_r)
{
	struct value_fields fields = { .arena = arena };
	size_t whole = 0, count = 0, from, left, i;

	while (whole < value_size(history) && !value_is_nil(value_at(history, whole)))
		whole++;
	for (from = whole; from > 0 && count < limit; from--)
		if (is_before(value_at(history, from - 1), before))
			count++;
	for (i = 0, left = count; left > 0; i++) {
		const struct value *checkpoint = value_at(history, i);

		fold(&fields, value_get(checkpoint, "fields"));
		if (i >= from && is_before(checkpoint, before))
			set_past(arena, checkpoint, &fields, &pasts_r[--left]);
	}
	if (before > 0 && count < limit)
		set_empty(&pasts_r[count++]);
	return count;
}

const char *
store_history_damage(struct arena *arena, const char *thread, const struct value *history)
{
	size_t i;

	for (i = 0; i < value_size(history); i++)
		if (value_is_nil(value_at(history, i)))
			return arena_printf(arena,
			    "a checkpoint of thread '%s' is damaged in Redis: restore "
			    "entry %zu of its list %s:c",
			    thread, i, store_thread_key(arena, thread));
	return NULL;
}

enum store_status
store_past(struct store *store, struct arena *arena, const char *thread, uint64_t version,
    struct store_past *past_r)
{
	const struct value *history = value_empty_array();
	const char *damage;
	enum store_status status =
	    version > 0 ? store_history(store, arena, thread, &history) : STORE_OK;

	if (status != STORE_OK)
		return status;
	if (store_past_of(arena, history, version, past_r) == 0)
		return STORE_OK;
	damage = store_history_damage(arena, thread, history);
	return damage != NULL ? store_damaged(store, damage) : STORE_NONE;
}

static enum store_status
read_from_end(struct store *store, struct arena *arena, const char *thread, int64_t index,
    const struct value **checkpoint_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "LINDEX");
	command_text(
	    &command, arena_printf(arena, "%s:c", store_thread_key(arena, thread)));
	command_text(&command, arena_printf(arena, "%" PRId64, index));
	status = store_read(store, &command, &reply);
	*checkpoint_r = status == STORE_OK ? store_decode(arena, reply) : NULL;
	return status;
}

/* The checkpoint of that version, of a thread that was at version now; NULL: it is not there, or cannot be read. What was
 * committed since then stands behind it. */
static enum store_status
read_checkpoint(struct store *store, struct arena *arena, const char *thread, int64_t now,
    int64_t version, const struct value **checkpoint_r)
{
	int64_t index, found = now;
	enum store_status status = STORE_OK;
	unsigned tries;

	*checkpoint_r = NULL;
	if (version <= 0 || version >= now)
		return STORE_OK;
	index = version - now - 1;
	for (tries = 0; tries < TRIES_MAX && found > version; tries++) {
		status = read_from_end(store, arena, thread, index, checkpoint_r);
		found = value_get_int(*checkpoint_r, "version", -1);
		index -= found - version;
	}
	if (found != version || !store_is_order(value_get(*checkpoint_r, "order")))
		*checkpoint_r = NULL;
	return status;
}

static enum store_status
read_messages(struct store *store, struct arena *arena, const char *thread,
    const struct value *order, const struct value **messages_r)
{
	struct value_list list = { .arena = arena };
	enum store_status status = STORE_OK;
	size_t i;

	for (i = 0; status == STORE_OK && i < value_size(order); i++) {
		uint64_t first = (uint64_t)value_at(value_at(order, i), 0)->integer;
		uint64_t last = (uint64_t)value_at(value_at(order, i), 1)->integer;
		const struct value *messages = NULL;

		status = store_messages(
		    store, arena, thread, first, last - first + 1, &messages);
		value_list_add_all(&list, messages);
	}
	*messages_r = value_list_end(&list);
	return status;
}

/* Puts a thread back to what run ended with: its last checkpoint has the messages, its record the fields, so that no others
 * are read. */
static enum store_status
set_back_to_end(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **thread_r)
{
	struct command command = { .arena = arena };
	const struct value *reply, *fields, *checkpoint = NULL, *messages = NULL;
	const char *final;
	enum store_status status;

	command_text(&command, "HMGET");
	command_text(&command, store_run_key(arena, thread, run));
	command_text(&command, "final");
	command_text(&command, "output");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	final = store_text_at(reply, 0);
	fields = store_decode(arena, value_at(reply, 1));
	if (final == NULL)
		return STORE_OK;
	if (!value_is(fields, VALUE_MAP)) /* none came out */
		fields = value_empty_map();
	status =
	    read_checkpoint(store, arena, thread, value_get_int(*thread_r, "version", 0),
		strtoll(final, NULL, 10), &checkpoint);
	if (status == STORE_OK && checkpoint != NULL)
		status = read_messages(
		    store, arena, thread, value_get(checkpoint, "order"), &messages);
	if (status == STORE_OK && messages != NULL)
		*thread_r = value_map_merge(arena, *thread_r,
		    value_map(arena, "version", value_get(checkpoint, "version"), "head",
			head_of(arena, checkpoint), "messages", messages, "fields",
			fields, NULL));
	return status;
}

enum store_status
store_thread_left(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **thread_r)
{
	enum store_status status = store_thread(store, arena, thread, thread_r);

	return status != STORE_OK ||
		       value_text_is(value_get(value_get(*thread_r, "head"), "run"), run)
		   ? status
		   : set_back_to_end(store, arena, thread, run, thread_r);
}

int64_t
store_put_back(const struct value *head)
{
	const char *run = redis_reply_text(value_get(head, "run"));
	const char *rolled = redis_reply_text(value_get(head, "rolled"));
	const char *version = redis_reply_text(value_get(head, "rollback"));

	if (version == NULL || rolled == NULL ||
	    (run != NULL && strcmp(rolled, run) == 0))
		return -1;
	return strtoll(version, NULL, 10);
}

enum store_status
store_standing(struct store *store, struct arena *arena, const char *thread,
    const struct value **checkpoint_r)
{
	static const char *const names[] = { "run", "rolled", "rollback" };
	struct command command = { .arena = arena };
	struct value_fields head = { .arena = arena };
	struct store_past past = { 0 };
	const struct value *reply;
	enum store_status status;
	int64_t back;
	size_t i;

	command_text(&command, "HMGET");
	command_text(&command, store_thread_key(arena, thread));
	for (i = 0; i < 3; i++)
		command_text(&command, names[i]);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < 3; i++)
		if (!value_is_nil(value_at(reply, i)))
			value_fields_put(
			    &head, value_str(arena, names[i]), value_at(reply, i));
	back = store_put_back(value_fields_end(&head));
	if (back < 0)
		return store_last_checkpoint(store, arena, thread, checkpoint_r);
	status = store_past(store, arena, thread, (uint64_t)back, &past);
	*checkpoint_r = past.checkpoint;
	return status == STORE_OK && past.checkpoint == NULL ? STORE_NONE : status;
}

/* Whether no checkpoint before this one, the first of those that were read, is of the run: found: one behind it is. */
static bool
is_before_run(const struct value *checkpoint, const char *run, uint64_t after, bool found)
{
	int64_t version = value_get_int(checkpoint, "version", -1);

	if (version < 0) /* it cannot be read */
		return false;
	return (uint64_t)version <= after ||
	       (found && !value_text_is(value_get(checkpoint, "run"), run));
}

static const struct value *
of_run(struct arena *arena, const struct value *reply, const char *run, uint64_t after,
    uint64_t *newest_r)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(reply); i++) {
		const struct value *one = store_decode(arena, value_at(reply, i));
		int64_t version = value_get_int(one, "version", -1);

		if (version > 0)
			*newest_r = (uint64_t)version;
		if (version <= 0 || (uint64_t)version <= after ||
		    !value_text_is(value_get(one, "run"), run))
			continue;
		one = value_map_with(arena, one, "order", NULL);
		value_list_add(&list, value_map_with(arena, one, "fields", NULL));
	}
	return value_list_end(&list);
}

enum store_status
store_run_checkpoints(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t after, const struct value **checkpoints_r,
    uint64_t *newest_r)
{
	const char *key = arena_printf(arena, "%s:c", store_thread_key(arena, thread));
	uint64_t count = after > 0 ? 2 : FEW;

	*checkpoints_r = value_empty_array();
	*newest_r = 0;
	for (;; count *= FEW) {
		struct command command = { .arena = arena };
		const struct value *reply;
		enum store_status status;

		command_text(&command, "LRANGE");
		command_text(&command, key);
		command_text(&command, arena_printf(arena, "-%" PRIu64, count));
		command_text(&command, "-1");
		status = store_read(store, &command, &reply);
		if (status != STORE_OK)
			return status;
		*checkpoints_r = of_run(arena, reply, run, after, newest_r);
		if (value_size(reply) < count ||
		    is_before_run(store_decode(arena, value_at(reply, 0)), run, after,
			value_size(*checkpoints_r) > 0))
			return STORE_OK;
	}
}
