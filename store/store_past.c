/* store_past: a thread as it was at a checkpoint. */
#include "store_private.h"

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

/* The last of the run's checkpoints, or 0. */
static uint64_t
last_version(const struct value *history, const char *run)
{
	const struct value *checkpoint;
	size_t i;

	for (i = value_size(history); i > 0; i--) {
		checkpoint = value_at(history, i - 1);
		if (value_text_is(value_get(checkpoint, "run"), run))
			return (uint64_t)value_get_int(checkpoint, "version", 0);
	}
	return 0;
}

enum store_status
store_thread_left(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **thread_r)
{
	const struct value *history = NULL, *past = NULL;
	uint64_t version;
	enum store_status status = store_thread(store, arena, thread, thread_r);

	if (status != STORE_OK ||
	    value_text_is(value_get(value_get(*thread_r, "head"), "run"), run))
		return status;
	status = store_history(store, arena, thread, &history);
	version = last_version(history, run);
	if (status == STORE_OK && version > 0)
		status = store_thread_at(store, arena, thread, version, &past);
	if (status == STORE_OK && past != NULL)
		*thread_r = past;
	return status == STORE_NONE || status == STORE_DAMAGED ? STORE_OK : status;
}
