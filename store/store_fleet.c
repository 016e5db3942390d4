/* store_fleet: what lies in all shards: the newest runs and threads, who waits for a human, the dead letters. */
#include "store_fleet.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "store_private.h"

struct found_run {
	const char *run;
	double at;
	unsigned shard;
};

struct found {
	struct store *store;
	struct arena *arena;
	struct found_run *runs;
	size_t count, room;
	size_t most;   /* of the newest that are wanted; 0: all */
	double oldest; /* of them, so far: none before it is */
};

static int
newest_first(const void *a, const void *b)
{
	const struct found_run *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? 1 : -1;
	return strcmp(right->run, left->run);
}

static void
add(struct found *found, struct found_run run)
{
	if (found->count == found->room) {
		size_t room = found->room == 0 ? 256 : 2 * found->room;
		struct found_run *runs = arena_alloc(found->arena, room * sizeof *runs);

		if (found->count > 0)
			memcpy(runs, found->runs, found->count * sizeof *runs);
		found->runs = runs;
		found->room = room;
	}
	found->runs[found->count++] = run;
}

/* Adds {name, score, ...} of a shard. */
static void
add_all(struct found *found, const struct value *reply, unsigned shard)
{
	size_t i;

	for (i = 0; i + 1 < value_size(reply); i += 2) {
		const char *run = store_text_at(reply, i);
		const char *score = store_text_at(reply, i + 1);

		if (run != NULL && score != NULL && strtod(score, NULL) >= found->oldest)
			add(found, (struct found_run){ arena_strdup(found->arena, run),
				       strtod(score, NULL), shard });
	}
}

/* Adds the depth newest of a shard's index ("runs", "threads", "dead"). depth 0: all. */
static enum store_status
look_in(struct found *found, const char *index, unsigned shard, size_t depth)
{
	struct arena *arena = arena_new();
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "ZREVRANGE");
	command_text(
	    &command, arena_printf(arena, "%s%s", store_prefix(arena, shard), index));
	command_text(&command, "0");
	if (depth == 0)
		command_text(&command, "-1");
	else
		command_uint(&command, depth - 1);
	command_text(&command, "WITHSCORES");
	status = store_read(found->store, &command, &reply);
	if (status == STORE_OK)
		add_all(found, reply, shard);
	arena_destroy(&arena);
	return status;
}

static void
sort(struct found *found)
{
	if (found->count > 0)
		qsort(found->runs, found->count, sizeof *found->runs, newest_first);
}

/* Not for each shard: so none is sorted often. */
static void
cut(struct found *found)
{
	if (found->most == 0 || found->count <= 2 * found->most)
		return;
	sort(found);
	found->count = found->most;
	found->oldest = found->runs[found->most - 1].at;
}

/* The depth newest of each shard's index, newest first. */
static enum store_status
look_everywhere(struct found *found, const char *index, size_t depth)
{
	unsigned shard;

	for (shard = 0; shard < SHARDS; shard++) {
		enum store_status status = look_in(found, index, shard, depth);

		if (status != STORE_OK)
			return status;
		cut(found);
	}
	sort(found);
	return STORE_OK;
}

static const struct value *
read_record(const struct found *found, const struct found_run *run)
{
	const struct value *record;

	return store_run_in(found->store, found->arena, run->shard, run->run, &record) ==
		       STORE_OK
		   ? record
		   : NULL;
}

static bool
is_text(const struct value *run, const char *name, const char *wanted)
{
	return wanted == NULL || value_text_is(value_get(run, name), wanted);
}

static bool
is_like(struct arena *arena, const struct value *run, const struct run_filter *filter)
{
	const struct value *metadata = value_get(run, "metadata");
	const struct value *wanted = filter->metadata;
	size_t i;

	for (i = 0; wanted != NULL && i < value_size(wanted); i++) {
		const struct value_pair *pair = &wanted->pairs[i];
		const struct value *there = value_get(metadata, pair->key->text);
		const char *text;

		if (there == NULL)
			return false;
		text = value_is(there, VALUE_STR) ? there->text : json_text(arena, there);
		if (!value_text_is(pair->value, text))
			return false;
	}
	return is_text(run, "status", filter->status) &&
	       is_text(run, "tenant", filter->tenant);
}

/* The records of what was found, at most limit (0: all), that are like filter. */
static const struct value *
read_records(const struct found *found, size_t limit, const struct run_filter *filter)
{
	struct value_list list = { .arena = found->arena };
	size_t i;

	for (i = 0; i < found->count && (limit == 0 || list.count < limit); i++) {
		const struct value *run = read_record(found, &found->runs[i]);

		if (run != NULL && is_like(found->arena, run, filter))
			value_list_add(&list, run);
	}
	return value_list_end(&list);
}

enum store_status
store_find_runs(struct store *store, struct arena *arena, size_t limit,
    const struct run_filter *filter, const struct value **runs_r)
{
	struct found found = { .store = store, .arena = arena };
	bool is_open = filter->status == NULL && filter->tenant == NULL &&
		       value_size(filter->metadata) == 0;
	/* A filter looks further back than what it shows. */
	enum store_status answer =
	    look_everywhere(&found, "runs", is_open ? limit : 20 * limit);

	if (answer == STORE_OK)
		*runs_r = read_records(&found, limit, filter);
	return answer;
}

enum store_status
store_runs(struct store *store, struct arena *arena, size_t limit, const char *status,
    const struct value **runs_r)
{
	const struct run_filter filter = { .status = status };

	return store_find_runs(store, arena, limit, &filter, runs_r);
}

/* --- who waits ---------------------------------------------------------------------- */

enum store_status
store_asks(struct store *store, struct arena *arena, const struct value **threads_r)
{
	struct found found = { .store = store, .arena = arena };
	struct value_list list = { .arena = arena };
	enum store_status status = look_everywhere(&found, "asks", 0);
	size_t i;

	for (i = found.count; status == STORE_OK && i > 0; i--)
		value_list_add(&list,
		    value_map(arena, "thread", value_str(arena, found.runs[i - 1].run),
			"since", value_int(arena, (int64_t)found.runs[i - 1].at), NULL));
	*threads_r = value_list_end(&list);
	return status;
}

/* --- threads ------------------------------------------------------------------------ */

static enum store_status
count_in(struct store *store, struct arena *arena, const char *index, unsigned shard,
    uint64_t *total)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "ZCARD");
	command_text(
	    &command, arena_printf(arena, "%s%s", store_prefix(arena, shard), index));
	status = store_read(store, &command, &reply);
	if (status == STORE_OK && value_is(reply, VALUE_INT))
		*total += (uint64_t)reply->integer;
	return status;
}

/* The limit first of those found, as threads. */
static const struct value *
threads_value(const struct found *found, size_t limit)
{
	struct value_list list = { .arena = found->arena };
	size_t i;

	for (i = 0; i < found->count && i < limit; i++)
		value_list_add(
		    &list, value_map(list.arena, "thread",
			       value_str(list.arena, found->runs[i].run), "created",
			       value_int(list.arena, (int64_t)found->runs[i].at), NULL));
	return value_list_end(&list);
}

static const char *
index_of(struct arena *arena, const char *tenant)
{
	return tenant != NULL ? arena_printf(arena, "threads:%s", tenant) : "threads";
}

enum store_status
store_threads_in(struct store *store, struct arena *arena, const char *tenant,
    unsigned shard, const struct value **names_r)
{
	struct found found = { .store = store, .arena = arena };
	struct value_list names = { .arena = arena };
	enum store_status status = look_in(&found, index_of(arena, tenant), shard, 0);
	size_t i;

	for (i = 0; i < found.count; i++)
		value_list_add(&names, value_str(arena, found.runs[i].run));
	*names_r = value_list_end(&names);
	return status;
}

enum store_status
store_threads(struct store *store, struct arena *arena, const char *tenant, size_t limit,
    const struct value **threads_r, uint64_t *total_r)
{
	const char *index = index_of(arena, tenant);
	struct found found = { .store = store, .arena = arena, .most = limit };
	enum store_status status = look_everywhere(&found, index, limit);
	unsigned shard;

	*threads_r = threads_value(&found, limit);
	*total_r = 0;
	for (shard = 0; status == STORE_OK && shard < SHARDS; shard++)
		status = count_in(store, arena, index, shard, total_r);
	return status;
}

/* --- dead letters ------------------------------------------------------------------- */

enum store_status
store_dead(
    struct store *store, struct arena *arena, size_t limit, const struct value **runs_r)
{
	struct found found = { .store = store, .arena = arena };
	const struct run_filter all = { 0 };
	enum store_status status = look_everywhere(&found, "dead", limit);

	if (status == STORE_OK)
		*runs_r = read_records(&found, limit, &all);
	return status;
}

enum store_status
store_retry(struct store *store, struct arena *arena, const struct store_retry *retry,
    const char **instead_r)
{
	struct command command = { .arena = arena };
	const char *thread = retry->thread, *new_run = retry->new_run;
	const struct value *reply;
	const char *other = NULL;
	bool is_new;
	enum store_status status =
	    store_bind(store, arena, new_run, thread, &other, &is_new);

	*instead_r = "";
	if (status != STORE_OK)
		return status;
	command_function(
	    &command, "fl_retry", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, retry->run);
	command_text(&command, new_run);
	command_text(&command, retry->version);
	if (retry->left > 0)
		command_uint(&command, retry->left);
	if (retry->left > 0 && retry->options != NULL)
		command_value(&command, retry->options);
	status = store_read(store, &command, &reply);
	if (status == STORE_DAMAGED && is_new)
		store_unbind_run(store, arena, new_run, thread);
	if (status != STORE_OK || store_answers(reply, "QUEUED"))
		return status;
	if (store_answers(reply, "KNOWN"))
		return STORE_KNOWN;
	if (store_answers(reply, "NOT_DEAD") && store_text_at(reply, 2) != NULL)
		*instead_r = store_text_at(reply, 2);
	/* Our own, when the answer to the first try was lost. */
	if (strcmp(*instead_r, new_run) == 0)
		return STORE_OK;
	if (is_new)
		status = store_unbind_run(store, arena, new_run, thread);
	return status == STORE_OK ? STORE_NONE : status;
}

enum store_status
store_discard(
    struct store *store, struct arena *arena, const char *thread, const char *run)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool again;

	command_function(
	    &command, "fl_discard", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, run);
	status = store_ask(store, &command, &reply, &again);
	if (status == STORE_OK && !again && store_answers(reply, "NOT_DEAD"))
		return STORE_NONE;
	return status;
}
