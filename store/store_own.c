/* store_own: the steps of an owner with a run: claim, commit, results, attempts, release. */
#include "store_private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "warm.h"
#include "wire.h"

#define AGAIN_MAX 20u
#define AGAIN_MS 250u

/* Sends a step that may be repeated (a commit by its id, a claim by its owner) until its answer is known: whether it was
 * done, nobody knows. A claim says that it is sent again, so that it counts once; so often, and no more: its answer may be
 * what ends the connection, each time. Those whose answers were too much for one do not come together again. */
static enum store_status
send_until_answered(struct store *store, struct command *command, bool is_claim,
    const struct value **reply_r)
{
	uint64_t deadline_us = loop_now_us() + store->wait_ms * 1000;
	unsigned count = 0;
	enum store_status status;
	bool lost;

	do {
		if (is_claim && count > 0 &&
		    fiber_sleep(arc4random_uniform(AGAIN_MS)) == -1)
			return STORE_CANCELLED;
		status = store_send(store, command, reply_r, &lost);
		if (is_claim && count == 0)
			command_text(command, "1");
		else if (is_claim && count == AGAIN_MAX)
			command->count--;
		count++;
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

/* The run that is rolled back itself goes on where it is, to its end. */
static int64_t
rollback_for(const struct value *head, const char *run)
{
	const char *version = redis_reply_text(value_get(head, "rollback"));
	const char *rolled = redis_reply_text(value_get(head, "rolled"));

	if (version == NULL || rolled == NULL || strcmp(rolled, run) == 0)
		return -1;
	return strtoll(version, NULL, 10);
}

/* bytes: as Redis has answered, nil when it has what is kept. Without a head, a copy's, which go where it comes to nothing. */
static void
read_messages(struct store *store, struct arena *arena, const char *thread,
    const struct warm_thread *kept, const struct value *bytes, struct store_claim *claim)
{
	claim->kept = kept != NULL && value_is_nil(bytes) ? kept : NULL;
	if (claim->kept != NULL) {
		warm_claimed(store->warm, kept, claim->epoch);
	} else if (store->warm != NULL && !value_is_nil(claim->head) &&
		   value_size(bytes) >= WARM_MESSAGES_MIN) {
		claim->kept = warm_read(
		    store->warm, arena, thread, claim->epoch, claim->version, bytes);
	} else if (store->warm != NULL) {
		warm_forget(store->warm, thread);
	}
	claim->messages = claim->kept != NULL ? warm_messages(claim->kept, arena)
					      : decode_all(arena, bytes);
}

/* What a claim says of who asks: session. */
static void
add_claimer(struct command *command, const struct store *store, const char *session,
    const char *thread, uint64_t lease_ms, const struct warm_thread *kept)
{
	command_text(command, thread);
	command_text(command, session);
	command_uint(command, lease_ms);
	command_uint(command, store->epoch_newest);
	command_text(command, store->name);
	if (kept != NULL) {
		command_uint(command, warm_epoch(kept));
		command_uint(command, warm_version(kept));
	} else {
		command_text(command, "");
		command_text(command, "");
	}
}

/* Whether bytes are there and nobody has made anything of them. */
static bool
is_unread(const struct value *bytes, const struct value *decoded)
{
	return decoded == NULL && value_is(bytes, VALUE_BIN) && bytes->size > 0;
}

static const char *
find_damage(
    const struct store_claim *claim, const struct value *head, const struct value *fields)
{
	if (is_unread(value_get(head, "order"), claim->order))
		return "order";
	if (claim->recovered && is_unread(value_get(head, "head"), claim->head))
		return "head";
	return 2 * value_size(claim->fields) < value_size(fields) ? STORE_DAMAGED_FIELD
								  : NULL;
}

/* A number of a run's record as it was; 0: it has none. */
static uint64_t
count_of(const struct value *record, const char *name)
{
	const char *text = redis_reply_text(value_get(record, name));

	return text != NULL ? (uint64_t)strtoull(text, NULL, 10) : 0;
}

/* Of an answer that gives a run; claim_r->run is there, and its record, when the answer has none. */
static void
read_claim(struct store *store, struct arena *arena, const char *thread,
    const struct warm_thread *kept, const struct value *reply,
    struct store_claim *claim_r)
{
	const struct value *head;

	claim_r->epoch = (uint64_t)store_number_at(reply, 2);
	if (claim_r->epoch > store->epoch_newest)
		store->epoch_newest = claim_r->epoch;
	claim_r->version = (uint64_t)store_number_at(reply, 3);
	claim_r->recovered = store_number_at(reply, 4) != 0;
	head = store_pairs(arena, value_at(reply, 5), false);
	claim_r->rollback = rollback_for(head, claim_r->run);
	claim_r->head = store_decode(arena, value_get(head, "head"));
	claim_r->order = store_decode(arena, value_get(head, "order"));
	if (claim_r->record == NULL)
		claim_r->record = store_pairs(arena, value_at(reply, 6), false);
	claim_r->fields = store_pairs(arena, value_at(reply, 7), true);
	claim_r->attempts = count_of(claim_r->record, "attempts") + 1;
	claim_r->late = count_of(claim_r->record, "late");
	read_messages(store, arena, thread, kept, value_at(reply, 8), claim_r);
	claim_r->results = store_pairs(arena, value_at(reply, 9), true);
	claim_r->left_ms = value_size(reply) > 10 ? store_number_at(reply, 10) : -1;
	claim_r->damaged = find_damage(claim_r, head, value_at(reply, 7));
}

static const struct warm_thread *
find_kept(struct store *store, struct arena *arena, const char *thread)
{
	return store->warm != NULL ? warm_find(store->warm, arena, thread) : NULL;
}

enum store_status
store_claim(struct store *store, struct arena *arena, const char *thread,
    uint64_t lease_ms, struct store_claim *claim_r)
{
	return store_claim_within(store, arena, thread, lease_ms, UINT64_MAX, claim_r);
}

enum store_status
store_claim_within(struct store *store, struct arena *arena, const char *thread,
    uint64_t lease_ms, uint64_t attempts_max, struct store_claim *claim_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	const struct warm_thread *kept = find_kept(store, arena, thread);
	enum store_status status;

	command_function(
	    &command, "fl_claim", store_thread_key(arena, thread), store_shard(thread));
	add_claimer(&command, store, store->session, thread, lease_ms, kept);
	command_uint(&command, attempts_max);
	status = send_until_answered(store, &command, true, &reply);
	if (status != STORE_OK)
		return status;
	if (store_answers(reply, "BUSY"))
		return STORE_BUSY;
	if (store_answers(reply, "NONE"))
		return STORE_NONE;
	*claim_r = (struct store_claim){ .run = store_text_at(reply, 1) };
	if (claim_r->run == NULL || !wire_is_id(claim_r->run, ID_BYTES_MAX))
		return store_odd(store, reply);
	if (store_answers(reply, "QUARANTINED"))
		return STORE_QUARANTINED;
	if (store_answers(reply, "SUSPECT")) {
		claim_r->attempts = (uint64_t)store_number_at(reply, 2);
		return STORE_SUSPECT;
	}
	if (!store_answers(reply, "OK"))
		return store_odd(store, reply);
	read_claim(store, arena, thread, kept, reply, claim_r);
	return STORE_OK;
}

/* The record of a run that was claimed as it came, as Redis would answer it: what it was submitted with,
 * and its first event. */
static const struct value *
record_of(struct arena *arena, const struct value *fields)
{
	struct value_fields record = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(fields); i++) {
		const struct value *value = fields->pairs[i].value;

		if (value_is(value, VALUE_STR) || value_is(value, VALUE_BIN)) {
			value = value_copy(arena, value);
		} else {
			value = value_freeze(arena, value);
			value = value_bin(arena, value->packed, value->packed_size);
		}
		value_fields_set(&record, value_text(fields->pairs[i].key), value);
	}
	value_fields_set(&record, "events", value_str(arena, "1"));
	return value_fields_end(&record);
}

enum store_status
store_arrive(struct store *store, struct arena *arena, const struct store_newcomer *comer,
    uint64_t lease_ms, bool *claimed_r, struct store_claim *claim_r)
{
	/* What is asked goes with the answer: what is claimed stays as long as the run. */
	struct arena *asking = arena_new();
	struct command command = { .arena = asking };
	const struct value *reply;
	const struct warm_thread *kept = find_kept(store, arena, comer->thread);
	enum store_status status;

	*claimed_r = false;
	command_arrival(&command, comer);
	add_claimer(&command, store, claim_r != NULL ? store->session : "", comer->thread,
	    lease_ms, kept);
	command_text(&command, comer->run);
	command_fields(&command, comer->fields);
	command.arena = arena;
	status = store_read(store, &command, &reply);
	arena_destroy(&asking);
	if (status != STORE_OK)
		return status;
	if (claim_r == NULL || !store_answers(reply, "OK"))
		return store_submitted(store, reply);
	*claim_r = (struct store_claim){ .run = arena_strdup(arena, comer->run),
		.record = record_of(arena, comer->fields) };
	read_claim(store, arena, comer->thread, kept, reply, claim_r);
	*claimed_r = true;
	return STORE_OK;
}

static void
add_list(struct command *command, const struct value *list)
{
	size_t i;

	for (i = 0; i < value_size(list); i++)
		command_value(command, value_at(list, i));
}

static void
add_map(struct command *command, const struct value *map, bool nil_is_gone)
{
	size_t i;

	for (i = 0; i < value_size(map); i++) {
		const struct value *value = map->pairs[i].value;

		command_raw(command, map->pairs[i].key);
		command_value(command, nil_is_gone && value_is_nil(value) ? NULL : value);
	}
}

/* Each with its id in the run's log. */
static void
add_events(struct command *command, const struct store_commit *commit)
{
	size_t i;

	for (i = 0; i < value_size(commit->events); i++) {
		command_text(command, arena_printf(command->arena, "%" PRIu64 "-0",
					  commit->last_event + i + 1));
		command_value(command, value_at(commit->events, i));
	}
}

/* What `look` of the thread is as a commit by owner finds it, or 1 version on; id "": behind its claim. */
static const char *
gate_of(struct arena *arena, const char *owner, const struct store_commit *commit,
    uint64_t on, const char *id)
{
	return arena_printf(arena, "%s %" PRIu64 " %" PRIu64 " %s", owner, commit->epoch,
	    commit->version + on, id);
}

static void
build_commit(
    struct command *command, const char *owner, const struct store_commit *commit)
{
	struct arena *arena = command->arena;

	command_function(command, "fl_advance", store_thread_key(arena, commit->thread),
	    store_shard(commit->thread));
	command_text(command, gate_of(arena, owner, commit, 0,
				  commit->last_id != NULL ? commit->last_id : ""));
	command_text(command, gate_of(arena, owner, commit, 1, commit->id));
	command_uint(command, commit->version + 1);
	command_text(command, commit->run);
	command_text(
	    command, arena_printf(arena, "%s %u %zu %zu %zu", commit->status,
			 commit->drop_results ? 1u : 0u, value_size(commit->messages),
			 value_size(commit->fields), value_size(commit->events)));
	command_value(command, commit->head);
	command_value(command, commit->order);
	command_value(command, commit->checkpoint);
	add_list(command, commit->messages);
	add_map(command, commit->fields, true);
	add_events(command, commit);
	add_map(command, commit->run_fields, false);
}

/* Waits until so many replicas as are wanted have what this connection has written. */
static enum store_status
wait_for_replicas(struct store *store, struct arena *arena, bool *lost_r)
{
	uint64_t deadline_us = loop_now_us() + store->wait_ms * 1000;
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	bool lacks = false;

	command_text(&command, "WAIT");
	command_uint(&command, store->replicas);
	command_uint(&command, store->replicas_ms);
	do {
		status = store_send(store, &command, &reply, lost_r);
		store->lacking -= lacks ? 1 : 0;
		if (status != STORE_OK)
			return status;
		lacks = !value_is(reply, VALUE_INT) ||
			reply->integer < (int64_t)store->replicas;
		store->lacking += lacks ? 1 : 0;
	} while (lacks && loop_now_us() < deadline_us);
	store->lacking -= lacks ? 1 : 0;
	if (lacks)
		return store_fail(
		    store, "fewer than %u replicas have the commit", store->replicas);
	return STORE_OK;
}

/* A commit's short answer: done, and nothing else is to be said. */
static bool
is_done(const struct value *reply)
{
	return value_is(reply, VALUE_INT) && reply->integer == 1;
}

/* Sends a commit, or outcomes, until the answer is known and replicas have it. When the connection is lost
 * between the two, another server may answer the next, who has not got it: it is sent again. */
static enum store_status
send_commit(struct store *store, struct command *command, const struct value **reply_r)
{
	enum store_status status;
	bool lost = false;

	do {
		status = send_until_answered(store, command, false, reply_r);
		if (status != STORE_OK || store->replicas == 0 ||
		    !(is_done(*reply_r) || store_answers(*reply_r, "OK")))
			return status;
		status = wait_for_replicas(store, command->arena, &lost);
	} while (status == STORE_FAILED && lost);
	return status;
}

static enum store_status
refused(struct store *store, const struct value *reply)
{
	if (store_answers(reply, "FENCED"))
		return STORE_FENCED;
	if (store_answers(reply, "STALE"))
		return STORE_STALE;
	return store_odd(store, reply);
}

enum store_status
store_commit(struct store *store, struct arena *arena, const struct store_commit *commit,
    struct store_committed *committed_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	build_commit(&command, store->session, commit);
	status = send_commit(store, &command, &reply);
	if (status == STORE_OK && !is_done(reply) && !store_answers(reply, "OK"))
		status = refused(store, reply);
	if (status != STORE_OK) {
		if (store->warm != NULL)
			warm_forget(store->warm, commit->thread);
		return status;
	}
	*committed_r = is_done(reply)
			   ? (struct store_committed){ .version = commit->version + 1 }
			   : (struct store_committed){
				     .version = (uint64_t)store_number_at(reply, 1),
				     .cancel_wanted = store_number_at(reply, 2) != 0,
				     .waiting = (uint64_t)store_number_at(reply, 3),
			     };
	if (store->warm != NULL)
		warm_committed(store->warm, arena, commit->thread, commit->epoch,
		    commit->version, commit->messages,
		    strcmp(commit->status, "running") != 0);
	return STORE_OK;
}

enum store_status
store_results(struct store *store, struct arena *arena, const struct store_hold *hold,
    const struct value *outcomes)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;
	size_t i;

	command_function(&command, "fl_result", store_thread_key(arena, hold->thread),
	    store_shard(hold->thread));
	command_text(&command, store->session);
	command_uint(&command, hold->epoch);
	command_text(&command, hold->run);
	if (hold->version == STORE_ANY_VERSION)
		command_text(&command, "");
	else
		command_uint(&command, hold->version);
	for (i = 0; i < value_size(outcomes); i++) {
		command_raw(&command, outcomes->pairs[i].key);
		command_value(&command, outcomes->pairs[i].value);
	}
	/* Who asks whether a run is still its own has sent nothing: giving it up says that it may have. */
	status = value_size(outcomes) > 0
		     ? send_commit(store, &command, &reply)
		     : send_until_answered(store, &command, false, &reply);
	if (status != STORE_OK || store_answers(reply, "OK"))
		return status;
	return refused(store, reply);
}

enum store_status
store_attempts(struct store *store, struct arena *arena, const struct store_hold *hold,
    uint64_t attempts, uint64_t late)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(&command, "fl_attempts", store_thread_key(arena, hold->thread),
	    store_shard(hold->thread));
	command_text(&command, store->session);
	command_uint(&command, hold->epoch);
	command_text(&command, hold->run);
	command_uint(&command, attempts);
	command_uint(&command, late);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "OK"))
		return status;
	return refused(store, reply);
}

enum store_status
store_release(struct store *store, struct arena *arena, const struct store_hold *hold,
    const struct value *sent)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	command_function(&command, "fl_release", store_thread_key(arena, hold->thread),
	    store_shard(hold->thread));
	command_text(&command, hold->thread);
	command_text(&command, store->session);
	command_uint(&command, hold->epoch);
	command_value(&command, sent);
	command_uint(&command, hold->version);
	status = store_read(store, &command, &reply);
	if (status != STORE_OK || store_answers(reply, "OK"))
		return status;
	return store_answers(reply, "FENCED") ? STORE_FENCED : store_odd(store, reply);
}
