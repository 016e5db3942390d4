/* store_keep: threads as a whole: filled from another, pruned, deleted. */
#include "store_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warm.h"

#define CHUNK_ITEMS 200u   /* of a list, at a time */
#define MESSAGES_MAX 1000u /* dropped at a time: that of threads.lua */
#define RUNS_MAX 1000u     /* likewise: FORGOTTEN_MAX */

static enum store_status
ask_range(struct store *store, struct arena *arena, const char *key, uint64_t first,
    uint64_t count, const struct value **reply_r)
{
	struct command command = { .arena = arena };

	command_text(&command, "LRANGE");
	command_text(&command, key);
	command_uint(&command, first);
	command_text(&command, arena_printf(arena, "%" PRIi64,
				   count == 0 ? -1 : (int64_t)(first + count - 1)));
	return store_read(store, &command, reply_r);
}

/* --- filling ------------------------------------------------------------------------- */

struct filling {
	struct store *store;
	const char *thread, *run, *source;
	uint64_t epoch;
	const struct value *last; /* the checkpoint that is copied */
};

static enum store_status
fill_chunk(const struct filling *filling, struct arena *arena, const char *list,
    uint64_t at, const struct value *items, const char *version)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_function(&command, "fl_fill", store_thread_key(arena, filling->thread),
	    store_shard(filling->thread));
	command_text(&command, filling->store->session);
	command_uint(&command, filling->epoch);
	command_text(&command, filling->run);
	command_text(&command, list);
	command_uint(&command, at);
	command_text(&command, version);
	for (i = 0; i < value_size(items); i++)
		command_raw(&command, value_at(items, i));
	status = store_read(filling->store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "OK"))
		return status;
	if (store_answers(reply, "FENCED"))
		return STORE_FENCED;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	return store_answers(reply, "USED") ? STORE_BUSY
					    : store_odd(filling->store, reply);
}

/* Whether the last of these checkpoints is the one that is copied. Another one has its place when the source was
 * pruned, or deleted and made anew, since its history was read: messages may be gone then, too. */
static bool
ends_as_read(
    const struct filling *filling, struct arena *arena, const struct value *items)
{
	static const char *const names[] = { "version", "run", "at" };
	const struct value *found =
	    store_decode(arena, value_at(items, value_size(items) - 1));
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!value_equal(
			value_get(found, names[i]), value_get(filling->last, names[i])))
			return false;
	return true;
}

/* Reads count items of source's list from place at on. */
static enum store_status
read_chunk(const struct filling *filling, struct arena *arena, const char *list,
    uint64_t at, uint64_t count, const struct value **items_r)
{
	const char *key =
	    arena_printf(arena, "%s:%s", store_thread_key(arena, filling->source), list);
	enum store_status status = STORE_OK;

	*items_r = value_empty_array();
	if (count > 0)
		status = ask_range(filling->store, arena, key, at, count, items_r);
	if (status == STORE_OK && value_size(*items_r) < count)
		return store_fail(filling->store,
		    "thread '%s' lacks what its checkpoints name", filling->source);
	return status;
}

/* Copies the first count items of source's list; with the last of them the thread gets the version, unless it is "". */
static enum store_status
fill_list(
    const struct filling *filling, const char *list, uint64_t count, const char *version)
{
	enum store_status status = STORE_OK;
	uint64_t at = 0;

	do {
		struct arena *arena = arena_new();
		uint64_t some = count - at < CHUNK_ITEMS ? count - at : CHUNK_ITEMS;
		const char *given = at + some == count ? version : "";
		const struct value *items;

		status = read_chunk(filling, arena, list, at, some, &items);
		if (status == STORE_OK && *given != '\0' &&
		    !ends_as_read(filling, arena, items))
			status = store_fail(filling->store,
			    "thread '%s' was pruned or deleted meanwhile",
			    filling->source);
		if (status == STORE_OK)
			status = fill_chunk(filling, arena, list, at, items, given);
		arena_destroy(&arena);
		at += some;
	} while (status == STORE_OK && at < count);
	return status;
}

/* How many messages a thread had stored at its checkpoint number index. */
static uint64_t
stored_by(const struct value *history, size_t index)
{
	int64_t most = 0;
	size_t i;

	for (i = 0; i <= index; i++) {
		const struct value *checkpoint = value_at(history, i);
		int64_t end = value_get_int(checkpoint, "first", 0) +
			      value_get_int(checkpoint, "count", 0);

		most = end > most ? end : most;
	}
	return (uint64_t)most;
}

enum store_status
store_fill(struct store *store, const char *thread, const char *run, uint64_t epoch,
    const struct store_copy *copy)
{
	struct filling filling = { .store = store,
		.thread = thread,
		.run = run,
		.source = copy->source,
		.epoch = epoch };
	const struct value *history = copy->history;
	char version[24];
	size_t last = 0;
	enum store_status status;

	if (store->warm != NULL)
		warm_forget(store->warm, thread); /* these are no commit's messages */
	while (last < value_size(history) && value_get_int(value_at(history, last),
						 "version", 0) != (int64_t)copy->version)
		last++;
	if (last == value_size(history))
		return STORE_NONE;
	snprintf(version, sizeof version, "%" PRIu64, copy->version);
	filling.last = value_at(history, last);
	status = fill_list(&filling, "m", stored_by(history, last), "");
	return status == STORE_OK ? fill_list(&filling, "c", last + 1, version) : status;
}

/* --- pruning ------------------------------------------------------------------------- */

static void
mark(bool *kept, size_t count, const struct value *order)
{
	size_t i;

	for (i = 0; i < value_size(order); i++) {
		int64_t n = store_number_at(value_at(order, i), 0);
		int64_t last = store_number_at(value_at(order, i), 1);

		for (; n >= 0 && n <= last && (size_t)n < count; n++)
			kept[n] = true;
	}
}

struct cut {
	const char *thread;
	const char *stamp; /* "version created", as of before the rest was read */
	const struct value *order, *history, *messages;
	uint64_t keep;
	bool force;
};

/* The oldest checkpoint that is left. */
static size_t
first_kept(const struct cut *cut)
{
	size_t count = value_size(cut->history);

	return count > cut->keep ? count - (size_t)cut->keep : 0;
}

/* The numbers of stored messages that neither the thread names nor a checkpoint that is left. */
static const struct value *
unnamed(struct arena *arena, const struct cut *cut)
{
	struct value_list numbers = { .arena = arena };
	const struct value *history = cut->history, *messages = cut->messages;
	size_t count = value_size(messages), i;
	bool *kept = arena_alloc(arena, count + 1);

	memset(kept, 0, count + 1);
	mark(kept, count, cut->order);
	for (i = first_kept(cut); i < value_size(history); i++)
		mark(kept, count, value_get(value_at(history, i), "order"));
	for (i = 0; i < count; i++)
		if (!kept[i] && value_at(messages, i)->size > 0)
			value_list_add(&numbers, value_int(arena, (int64_t)i));
	return value_list_end(&numbers);
}

/* The oldest checkpoint that is left has all fields from now on. */
static const struct value *
whole(struct arena *arena, const struct value *history, size_t index)
{
	const struct value *checkpoint = value_at(history, index);
	struct store_past past;

	if (store_past_of(arena, history,
		(uint64_t)value_get_int(checkpoint, "version", 0), &past) == -1)
		return checkpoint;
	return value_map_with(arena, checkpoint, "fields", past.fields);
}

static enum store_status
refused(struct store *store, const struct value *reply, struct store_pruned *pruned)
{
	pruned->busy = store_text_at(reply, 1);
	if (store_answers(reply, "BUSY"))
		return STORE_BUSY;
	if (store_answers(reply, "WAITS"))
		return STORE_WAITS;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	return store_answers(reply, "UNKNOWN") ? STORE_NONE : store_odd(store, reply);
}

/* And the order, of that version. */
static enum store_status
read_stamp(struct store *store, struct arena *arena, struct cut *cut)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_text(&command, "HMGET");
	command_text(&command, store_thread_key(arena, cut->thread));
	command_text(&command, "version");
	command_text(&command, "created");
	command_text(&command, "order");
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (store_text_at(reply, 0) == NULL)
		return STORE_NONE;
	cut->stamp = arena_printf(arena, "%s %s", store_text_at(reply, 0),
	    store_text_at(reply, 1) != NULL ? store_text_at(reply, 1) : "");
	cut->order = value_empty_array();
	if (value_at(reply, 2)->size > 0)
		cut->order = store_decode(arena, value_at(reply, 2));
	return store_is_order(cut->order)
		   ? STORE_OK
		   : store_damaged(store,
			 arena_printf(arena,
			     "the order of thread '%s' is damaged in Redis: restore "
			     "its hash %s",
			     cut->thread, store_thread_key(arena, cut->thread)));
}

static void
begin_prune(struct command *command, const char *function, const struct cut *cut)
{
	command_function(command, function, store_thread_key(command->arena, cut->thread),
	    store_shard(cut->thread));
	command_text(command, cut->thread);
	command_text(command, cut->stamp);
	command_text(command, cut->force ? "1" : "0");
}

/* Adds the numbers of gone from index on, at most MESSAGES_MAX. Returns how many. */
static size_t
add_numbers(struct command *command, const struct value *gone, size_t index)
{
	size_t count = 0;

	for (; index < value_size(gone) && count < MESSAGES_MAX; index++, count++)
		command_uint(command, (uint64_t)value_at(gone, index)->integer);
	return count;
}

/* Drops the drop oldest checkpoints there are, the first of the messages that are gone, and runs. Adds to
 * pruned; *runs_r is how many runs. */
static enum store_status
prune_some(struct store *store, struct arena *arena, const struct cut *cut, size_t drop,
    const struct value *gone, struct store_pruned *pruned, uint64_t *runs_r)
{
	struct command command = { .arena = arena };
	const struct value *reply, *history = cut->history;
	size_t count = value_size(history), first = first_kept(cut), i;
	size_t some = value_size(gone) < MESSAGES_MAX ? value_size(gone) : MESSAGES_MAX;
	enum store_status status;

	begin_prune(&command, "fl_prune", cut);
	command_uint(&command, drop);
	command_value(&command, whole(arena, history, first));
	command_uint(
	    &command, (uint64_t)value_get_int(value_at(history, first), "at", 0));
	command_uint(&command, some);
	add_numbers(&command, gone, 0);
	for (i = first; i < count; i++)
		command_text(&command, value_get_text(value_at(history, i), "run"));
	status = store_read(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (!store_answers(reply, "PRUNED"))
		return refused(store, reply, pruned);
	*runs_r = (uint64_t)store_number_at(reply, 1);
	pruned->checkpoints += drop;
	pruned->messages += some;
	pruned->runs += *runs_r;
	return STORE_OK;
}

/* Drops the others, and tells by a chunk that is not full that there are no more. What is left when
 * the thread is used again is dropped the next time. */
static enum store_status
prune_rest(struct store *store, const struct cut *cut, const struct value *gone,
    struct store_pruned *pruned)
{
	enum store_status status = STORE_OK;
	size_t some = MESSAGES_MAX;

	while (status == STORE_OK && some == MESSAGES_MAX) {
		struct arena *arena = arena_new();
		struct command command = { .arena = arena };
		const struct value *reply;

		begin_prune(&command, "fl_prune_rest", cut);
		some = add_numbers(&command, gone, (size_t)pruned->messages);
		status = store_read(store, &command, &reply);
		if (status == STORE_OK && store_answers(reply, "PRUNED"))
			pruned->messages += some;
		else
			some = 0;
		arena_destroy(&arena);
	}
	return status;
}

/* Drops the other runs. What is left when the thread is used again is dropped the next time, too. */
static enum store_status
prune_runs(struct store *store, const struct cut *cut, struct store_pruned *pruned)
{
	enum store_status status = STORE_OK;
	uint64_t runs = RUNS_MAX;

	while (status == STORE_OK && runs == RUNS_MAX) {
		struct arena *arena = arena_new();
		struct store_pruned more = *pruned;

		status = prune_some(store, arena, cut, 0, NULL, &more, &runs);
		if (status == STORE_OK)
			*pruned = more;
		arena_destroy(&arena);
	}
	return status == STORE_FAILED || status == STORE_CANCELLED ? status : STORE_OK;
}

static enum store_status
prune(struct store *store, struct arena *arena, const struct cut *cut,
    struct store_pruned *pruned)
{
	const char *damage = store_history_damage(arena, cut->thread, cut->history);
	const struct value *gone;
	enum store_status status;
	uint64_t runs = 0;

	if (damage != NULL)
		return store_damaged(store, damage);
	gone = unnamed(arena, cut);
	status = prune_some(store, arena, cut, first_kept(cut), gone, pruned, &runs);
	if (status == STORE_OK && pruned->messages == MESSAGES_MAX)
		status = prune_rest(store, cut, gone, pruned);
	if (status == STORE_OK && runs == RUNS_MAX)
		status = prune_runs(store, cut, pruned);
	return status;
}

enum store_status
store_prune(struct store *store, struct arena *arena, const char *thread, uint64_t keep,
    bool force, struct store_pruned *pruned_r)
{
	struct cut cut = {
		.thread = thread, .keep = keep > 0 ? keep : 1, .force = force
	};
	enum store_status status = read_stamp(store, arena, &cut);

	*pruned_r = (struct store_pruned){ 0 };
	if (status == STORE_OK)
		status = store_history(store, arena, thread, &cut.history);
	if (status == STORE_OK)
		status = ask_range(store, arena,
		    arena_printf(arena, "%s:m", store_thread_key(arena, thread)), 0, 0,
		    &cut.messages);
	return status == STORE_OK ? prune(store, arena, &cut, pruned_r) : status;
}

/* Returns STORE_OK with *more_r: whether runs are left, and the thread. */
static enum store_status
erase_some(struct store *store, struct arena *arena, const char *thread, bool force,
    struct store_pruned *pruned, bool *more_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool again;

	command_function(
	    &command, "fl_erase", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, force ? "1" : "0");
	status = store_ask(store, &command, &reply, &again);
	if (status != STORE_OK)
		return status;
	*more_r = store_answers(reply, "MORE");
	if (again && store_answers(reply, "UNKNOWN"))
		return STORE_OK; /* nobody knows how many runs */
	if (!*more_r && !store_answers(reply, "ERASED"))
		return refused(store, reply, pruned);
	pruned->runs += (uint64_t)store_number_at(reply, 1);
	return STORE_OK;
}

enum store_status
store_erase(struct store *store, struct arena *arena, const char *thread, bool force,
    struct store_pruned *pruned_r)
{
	enum store_status status;
	bool more = false;

	*pruned_r = (struct store_pruned){ 0 };
	do
		status = erase_some(store, arena, thread, force, pruned_r, &more);
	while (status == STORE_OK && more);
	return status;
}
