/* store_notes: threads as who asks for them by HTTP has them: made before their first run, with metadata, listed. */
#include "store_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "json.h"
#include "store_runs.h"

#define TRIES_MAX 40u /* of a change, when others change the same at the same time */
#define TRY_MS_MAX 1024u

enum store_status
store_open_thread(struct store *store, struct arena *arena, const char *thread,
    const struct value *metadata, const char *ttl)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(
	    &command, "fl_open", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_value(&command, metadata != NULL ? metadata : value_empty_map());
	command_text(&command, ttl != NULL ? ttl : "");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "OPENED"))
		return status;
	return store_answers(reply, "KNOWN") ? STORE_KNOWN : store_odd(store, reply);
}

/* What was kept becomes what is to be kept. */
static const struct value *
merged(struct arena *arena, const struct value *kept, const struct value *changes)
{
	const struct value *all =
	    value_map_merge(arena, value_is(kept, VALUE_MAP) ? kept : NULL, changes);
	struct value_lookup lookup = { .map = changes, .arena = arena };
	struct value_fields left = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(all); i++) {
		const struct value_pair *pair = &all->pairs[i];

		if (!value_is_nil(pair->value) || value_look(&lookup, pair->key) == NULL)
			value_fields_put(&left, pair->key, pair->value);
	}
	return value_fields_end(&left);
}

static enum store_status
note_once(struct store *store, struct arena *arena, const char *thread,
    const struct value *metadata, const char *ttl)
{
	const char *key = store_thread_key(arena, thread);
	struct command read = { .arena = arena }, command = { .arena = arena };
	const struct value *kept, *all, *reply;
	enum store_status status;

	command_text(&read, "HGET");
	command_text(&read, key);
	command_text(&read, "metadata");
	status = store_read(store, &read, &kept);
	if (status != STORE_OK)
		return status;
	all = merged(arena, store_decode(arena, kept), metadata);
	if (strlen(json_text(arena, all)) > METADATA_BYTES_MAX)
		return STORE_REJECTED;
	command_function(&command, "fl_note", key, store_shard(thread));
	command_text(&command, thread);
	command_value(&command, all);
	command_add(&command, value_is(kept, VALUE_BIN) ? kept->text : "",
	    value_is(kept, VALUE_BIN) ? kept->size : 0);
	command_text(&command, ttl != NULL ? ttl : "");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "NOTED"))
		return status;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	return store_answers(reply, "UNKNOWN") ? STORE_NONE : store_odd(store, reply);
}

/* Those that began together do not come together again. */
bool
store_try_again(unsigned *tries)
{
	unsigned ms = *tries < 10 ? 1u << *tries : TRY_MS_MAX;

	return *tries < TRIES_MAX &&
	       ((*tries)++ == 0 || fiber_sleep(1 + arc4random_uniform(ms)) == 0);
}

enum store_status
store_note_thread(struct store *store, struct arena *arena, const char *thread,
    const struct value *metadata, const char *ttl)
{
	enum store_status status = STORE_STALE;
	unsigned tries = 0;

	while (status == STORE_STALE && store_try_again(&tries))
		status = note_once(store, arena, thread, metadata, ttl);
	return status;
}

static enum store_status
read_range(struct store *store, struct arena *arena, const char *key, const char *first,
    const char *last, const struct value **reply_r)
{
	struct command command = { .arena = arena };

	command_text(&command, "LRANGE");
	command_text(&command, key);
	command_text(&command, first);
	command_text(&command, last);
	return store_read(store, &command, reply_r);
}

/* What the thread says of its list of runs: "holes", how many were deleted alone, at least; "cut", how many pruning took in front. */
static enum store_status
count_of(struct store *store, struct arena *arena, const char *thread, const char *name,
    uint64_t *count_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HGET");
	command_text(&command, store_thread_key(arena, thread));
	command_text(&command, name);
	status = store_read(store, &command, &reply);
	*count_r = status == STORE_OK && redis_reply_text(reply) != NULL
		       ? strtoull(redis_reply_text(reply), NULL, 10)
		       : 0;
	return status;
}

/* Of runs, the newest last, those that are there, without the newest offset, at most limit. */
static const struct value *
without_holes(struct arena *arena, const struct value *runs, size_t offset, size_t limit)
{
	struct value_list list = { .arena = arena };
	size_t begin = value_size(runs), end = begin, i;

	for (; end > 0 && offset > 0; end--)
		offset -= value_at(runs, end - 1)->size > 0;
	for (begin = end; begin > 0 && limit > 0; begin--)
		limit -= value_at(runs, begin - 1)->size > 0;
	for (i = begin; i < end; i++)
		if (value_at(runs, i)->size > 0)
			value_list_add(&list, value_at(runs, i));
	return value_list_end(&list);
}

enum store_status
store_newest_runs(struct store *store, struct arena *arena, const char *thread,
    size_t offset, size_t limit, const struct value **runs_r)
{
	const char *key = arena_printf(arena, "%s:r", store_thread_key(arena, thread));
	uint64_t holes;
	enum store_status status;

	*runs_r = value_empty_array();
	if (limit == 0)
		return STORE_OK;
	status = count_of(store, arena, thread, "holes", &holes);
	if (status != STORE_OK)
		return status;
	/* Behind -1, the last one, they count backwards. */
	status = read_range(store, arena, key,
	    arena_printf(arena, "-%" PRIu64, offset + limit + holes),
	    arena_printf(arena, "-%zu", holes > 0 ? 1 : offset + 1), runs_r);
	if (status == STORE_OK && holes > 0)
		*runs_r = without_holes(arena, *runs_r, offset, limit);
	return status;
}

enum store_status
store_forget_run(struct store *store, struct arena *arena, const char *thread,
    const char *run, const char **answer_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool again;

	command_function(
	    &command, "fl_forget", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, run);
	status = store_ask(store, &command, &reply, &again);
	if (status == STORE_OK)
		*answer_r = again && store_answers(reply, "UNKNOWN")
				? "FORGOTTEN"
				: store_text_at(reply, 0);
	return status == STORE_OK && *answer_r == NULL ? store_odd(store, reply) : status;
}

enum store_status
store_run_brief(struct store *store, struct arena *arena, const char *thread,
    const char *run, const struct value **record_r)
{
	static const char *const names[] = { "thread", "agent", "status", "created",
		"started", "ended", "fault", "metadata", "multitask", "events",
		"fingerprint", "assistant", "rolled_back" };
	enum { COUNT = sizeof names / sizeof *names };
	struct command command = { .arena = arena };
	struct value_list pairs = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_text(&command, "HMGET");
	command_text(&command, store_run_key(arena, thread, run));
	for (i = 0; i < COUNT; i++)
		command_text(&command, names[i]);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	for (i = 0; i < COUNT; i++)
		if (!value_is_nil(value_at(reply, i))) {
			value_list_add(
			    &pairs, value_bin(arena, names[i], strlen(names[i])));
			value_list_add(&pairs, value_at(reply, i));
		}
	if (pairs.count == 0)
		return STORE_NONE;
	*record_r = value_map_with(arena, store_record(arena, value_list_end(&pairs)),
	    "run", value_str(arena, run));
	return STORE_OK;
}

enum store_status
store_thread_runs(struct store *store, struct arena *arena, const char *thread,
    size_t offset, size_t limit, const struct value **runs_r)
{
	struct value_list list = { .arena = arena };
	const struct value *runs, *record;
	enum store_status status =
	    store_newest_runs(store, arena, thread, offset, limit, &runs);
	size_t i;

	for (i = value_size(runs); status == STORE_OK && i > 0; i--) {
		const char *run = store_text_at(runs, i - 1);

		status = run == NULL ? STORE_NONE
				     : store_run(store, arena, thread, run, &record);
		if (status == STORE_OK)
			value_list_add(&list, record);
		else if (status == STORE_NONE)
			status = STORE_OK; /* it was deleted meanwhile */
	}
	*runs_r = value_list_end(&list);
	return status;
}

enum store_status
store_run_ids(struct store *store, struct arena *arena, const char *thread,
    uint64_t first, size_t limit, struct store_run_ids *ids_r)
{
	const char *key = arena_printf(arena, "%s:r", store_thread_key(arena, thread));
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status = count_of(store, arena, thread, "cut", &ids_r->cut);

	if (status != STORE_OK)
		return status;
	command_text(&command, "LLEN");
	command_text(&command, key);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	ids_r->count = value_is(reply, VALUE_INT) ? (uint64_t)reply->integer : 0;
	status = read_range(store, arena, key, arena_printf(arena, "%" PRIu64, first),
	    arena_printf(arena, "%" PRIu64, first + limit - 1), &reply);
	if (status == STORE_OK)
		ids_r->runs = store_texts(arena, reply);
	return status;
}

enum store_status
store_last_checkpoint(struct store *store, struct arena *arena, const char *thread,
    const struct value **checkpoint_r)
{
	const struct value *last;
	enum store_status status = read_range(store, arena,
	    arena_printf(arena, "%s:c", store_thread_key(arena, thread)), "-1", "-1",
	    &last);

	if (status == STORE_OK)
		*checkpoint_r = store_decode(arena, value_at(last, 0));
	return status == STORE_OK && !value_is(*checkpoint_r, VALUE_MAP) ? STORE_NONE
									 : status;
}

/* The text of a field or a score, or NULL. */
static enum store_status
read_text(struct store *store, struct arena *arena, const char *verb, const char *key,
    const char *name, const char **text_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, verb);
	command_text(&command, key);
	command_text(&command, name);
	status = store_read(store, &command, &reply);
	*text_r = status == STORE_OK ? redis_reply_text(reply) : NULL;
	return status;
}

enum store_status
store_thread_ttl(struct store *store, struct arena *arena, const char *thread,
    const char **ttl_r, uint64_t *until_ms_r)
{
	const char *until = NULL;
	enum store_status status = read_text(
	    store, arena, "HGET", store_thread_key(arena, thread), "ttl", ttl_r);

	if (status == STORE_OK)
		status = read_text(store, arena, "ZSCORE",
		    arena_printf(
			arena, "%sttl", store_prefix(arena, store_shard(thread))),
		    thread, &until);
	*until_ms_r = until != NULL ? strtoull(until, NULL, 10) : 0;
	return status;
}
