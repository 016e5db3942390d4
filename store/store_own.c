/* store_own: the steps of an owner: claim, commit, results, release, renew, sweep. */
#include "store_private.h"

#include <assert.h>
#include <string.h>

static bool
answers(const struct value *reply, const char *word)
{
	const char *text = redis_reply_text(value_at(reply, 0));

	return text != NULL && strcmp(text, word) == 0;
}

static uint64_t
number_at(const struct value *reply, size_t index)
{
	const struct value *number = value_at(reply, index);

	return value_is(number, VALUE_INT) ? (uint64_t)number->integer : 0;
}

/* Sends a step that may be repeated (a commit by its id, a claim by its owner) until its answer
 * is known: whether a step whose answer was lost was done, nobody knows. */
static enum store_status
send_until_answered(
    struct store *store, const struct command *command, const struct value **reply_r)
{
	uint64_t deadline_us = loop_now_us() + store->wait_ms * 1000;
	enum store_status status;
	bool lost;

	do {
		status = store_send(store, command, reply_r, &lost);
	} while (status == STORE_FAILED && lost && loop_now_us() < deadline_us);
	return status;
}

static const struct value *
decode_all(struct arena *arena, const struct value *array)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(array); i++) {
		const struct value *item = store_decode(arena, value_at(array, i));

		value_list_add(&list, item != NULL ? item : value_nil());
	}
	return value_list_end(&list);
}

enum store_status
store_claim(struct store *store, struct arena *arena, const char *thread,
    const char *owner, uint64_t lease_ms, struct store_claim *claim_r)
{
	struct command command = { .arena = arena };
	const struct value *reply, *head;
	enum store_status status;

	command_function(
	    &command, "fl_claim", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_text(&command, owner);
	command_uint(&command, lease_ms);
	status = send_until_answered(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (answers(reply, "BUSY"))
		return STORE_BUSY;
	if (answers(reply, "NONE"))
		return STORE_NONE;
	claim_r->run = redis_reply_text(value_at(reply, 1));
	if (answers(reply, "QUARANTINED"))
		return STORE_QUARANTINED;
	claim_r->epoch = number_at(reply, 2);
	claim_r->version = number_at(reply, 3);
	claim_r->recovered = number_at(reply, 4) != 0;
	head = store_pairs(arena, value_at(reply, 5), false);
	claim_r->head = store_decode(arena, value_get(head, "head"));
	claim_r->order = store_decode(arena, value_get(head, "order"));
	claim_r->record = store_pairs(arena, value_at(reply, 6), false);
	claim_r->fields = store_pairs(arena, value_at(reply, 7), true);
	claim_r->messages = decode_all(arena, value_at(reply, 8));
	claim_r->results = store_pairs(arena, value_at(reply, 9), true);
	return STORE_OK;
}

static void
add_list(struct command *command, const struct value *list)
{
	size_t i;

	command_uint(command, value_size(list));
	for (i = 0; i < value_size(list); i++)
		command_value(command, value_at(list, i));
}

static void
add_map(struct command *command, const struct value *map, bool nil_is_gone)
{
	size_t i;

	command_uint(command, value_size(map));
	for (i = 0; i < value_size(map); i++) {
		const struct value *value = map->pairs[i].value;

		command_raw(command, map->pairs[i].key);
		command_value(command, nil_is_gone && value_is_nil(value) ? NULL : value);
	}
}

static void
build_commit(struct command *command, const struct store_commit *commit)
{
	command_function(command, "fl_commit",
	    store_thread_key(command->arena, commit->thread),
	    store_shard(commit->thread));
	command_text(command, commit->thread);
	command_uint(command, commit->epoch);
	command_uint(command, commit->version);
	command_text(command, commit->id);
	command_text(command, commit->run);
	command_value(command, commit->head);
	command_value(command, commit->order);
	command_value(command, commit->checkpoint);
	command_text(command, commit->status);
	command_text(command, commit->drop_results ? "1" : "0");
	add_list(command, commit->messages);
	add_map(command, commit->fields, true);
	add_list(command, commit->events);
	add_map(command, commit->run_fields, false);
}

enum store_status
store_commit(struct store *store, struct arena *arena, const struct store_commit *commit,
    struct store_committed *committed_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	build_commit(&command, commit);
	status = send_until_answered(store, &command, &reply);
	if (status != STORE_OK)
		return status;
	if (answers(reply, "FENCED"))
		return STORE_FENCED;
	if (answers(reply, "STALE"))
		return STORE_STALE;
	committed_r->version = number_at(reply, 1);
	committed_r->cancel_wanted = number_at(reply, 2) != 0;
	committed_r->waiting = number_at(reply, 3);
	return STORE_OK;
}

enum store_status
store_results(struct store *store, struct arena *arena, const char *thread,
    const char *run, uint64_t epoch, const struct value *outcomes)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_function(
	    &command, "fl_result", store_thread_key(arena, thread), store_shard(thread));
	command_uint(&command, epoch);
	command_text(&command, run);
	for (i = 0; i < value_size(outcomes); i++) {
		command_raw(&command, outcomes->pairs[i].key);
		command_value(&command, outcomes->pairs[i].value);
	}
	status = store_read(store, &command, &reply);
	if (status == STORE_OK && answers(reply, "FENCED"))
		return STORE_FENCED;
	return status;
}

enum store_status
store_release(struct store *store, struct arena *arena, const char *thread,
    uint64_t epoch, const struct value *sent)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(
	    &command, "fl_release", store_thread_key(arena, thread), store_shard(thread));
	command_text(&command, thread);
	command_uint(&command, epoch);
	command_value(&command, sent);
	status = store_read(store, &command, &reply);
	if (status == STORE_OK && answers(reply, "FENCED"))
		return STORE_FENCED;
	return status;
}

bool
store_cancel_wanted(
    struct store *store, struct arena *arena, const char *thread, const char *run)
{
	struct command command = { .arena = arena };
	const struct value *reply;

	command_text(&command, "HEXISTS");
	command_text(&command, store_run_key(arena, thread, run));
	command_text(&command, "cancelling");
	return store_read(store, &command, &reply) == STORE_OK &&
	       value_is(reply, VALUE_INT) && reply->integer == 1;
}

static const struct value *
texts(struct arena *arena, const struct value *reply)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(reply); i++)
		value_list_add(
		    &list, value_str(arena, redis_reply_text(value_at(reply, i))));
	return value_list_end(&list);
}

static enum store_status
call_shard(struct store *store, struct command *command, const struct value **texts_r)
{
	const struct value *reply;
	enum store_status status = store_send(store, command, &reply, NULL);

	if (status == STORE_OK)
		*texts_r = texts(command->arena, reply);
	return status;
}

enum store_status
store_renew(struct store *store, struct arena *arena, unsigned shard, const char *owner,
    uint64_t lease_ms, struct store_renewed *renewed_r)
{
	struct command command = { .arena = arena };
	const struct value *words;
	enum store_status status;

	command_function(&command, "fl_renew",
	    arena_printf(arena, "%sdue", store_prefix(arena, shard)), shard);
	command_text(&command, owner);
	command_uint(&command, lease_ms);
	status = call_shard(store, &command, &words);
	if (status != STORE_OK)
		return status;
	renewed_r->lapsed = value_text_is(value_at(words, 0), "LAPSED");
	renewed_r->cancels = value_array_slice(arena, words, 1, value_size(words));
	return STORE_OK;
}

enum store_status
store_sweep(struct store *store, struct arena *arena, unsigned shard, const char *owner,
    unsigned limit, const struct value **threads_r)
{
	struct command command = { .arena = arena };

	command_function(&command, "fl_sweep",
	    arena_printf(arena, "%sdue", store_prefix(arena, shard)), shard);
	command_text(&command, owner);
	command_uint(&command, limit);
	return call_shard(store, &command, threads_r);
}
