#include "checker.h"

#include <stdio.h>
#include <string.h>

#include "chat.h"
#include "json.h"
#include "mending.h"
#include "store_past.h"
#include "versions.h"

/* A thread that is looked at: its messages, and how far we are. */
struct reading {
	struct check *check;
	struct load_run *const *runs; /* of the thread */
	unsigned count;
	const char *thread;
	const struct value *messages;
	size_t at;
	unsigned turns_seen;
	bool ended_well
	    [8]; /* by turn: its record says success, and its thread is not put back */
	bool put_back[8]; /* by turn: the thread was, to what it was before it */
	const struct value *records[8];
	/* What the thread's field `seen` must be by what its messages are, and whether that can be known. */
	struct value_list seen;
	bool is_seen_known;
	unsigned version; /* that the run before had, of an agent that changes */
};

/* --- messages -------------------------------------------------------------------------------- */

static const struct value *
next(const struct reading *reading)
{
	return value_at(reading->messages, reading->at);
}

static enum told
told_by(const struct value *message, const struct sort_call *call)
{
	char noted[64];
	const char *text = value_get_text(message, "content");

	snprintf(noted, sizeof noted, "noted %s", call->name);
	if (value_text_is(value_get(message, "content"), noted))
		return TOLD_SUCCESS;
	/* Its reason may be that its call was cancelled. */
	if (value_get_bool(value_get(message, "artifact"), "uncertain", false))
		return TOLD_LOST;
	return value_text_is(value_get(message, "status"), "error") && text != NULL &&
		       strstr(text, "was cancelled") != NULL
		   ? TOLD_CANCELLED
		   : TOLD_OTHER;
}

/* A child that took five coordinators or workers down, as a run that did. */
static bool
is_lost_child(const struct sort_call *call, const struct value *message)
{
	const char *text = value_get_text(message, "content");

	return strcmp(call->tool, SORT_TASK) == 0 && text != NULL &&
	       value_text_is(value_get(message, "status"), "error") &&
	       (strstr(text, "PoisonError") != NULL ||
		   strstr(text, "Quarantined") != NULL);
}

/* The answers to the calls of ai, in their order; a cancelled run may lack the last ones. */
static void
read_answers(struct reading *reading, const struct load_run *run,
    const struct sort_turn *turn, const struct value *ai, bool whole)
{
	struct check *check = reading->check;
	const struct value *calls = value_get(ai, "tool_calls");
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const char *id = value_get_text(value_at(calls, i), "id");
		const struct sort_call *call = sort_find(turn, id);
		const struct value *message = next(reading);
		enum told told;

		if (!whole && !chat_is(message, "tool"))
			return;
		if (!tally(check->tally, HOLDS_MESSAGES,
			call != NULL && chat_is(message, "tool") &&
			    value_text_is(value_get(message, "tool_call_id"), id),
			"run %s: instead of the answer to %s there is %s", run->id, id,
			json_text(check->arena, message)) ||
		    call == NULL)
			return;
		told = told_by(message, call);
		tally(check->tally, HOLDS_MESSAGES,
		    told == TOLD_SUCCESS ||
			(told == TOLD_LOST && strcmp(call->tool, "pay") == 0) ||
			(told == TOLD_CANCELLED && !whole &&
			    (run->cancel_asked || run->ousted_by != NULL)) ||
			is_lost_child(call, message),
		    "run %s: %s", run->id, json_text(check->arena, message));
		check->uncertain += told == TOLD_LOST;
		if (strcmp(call->tool, SORT_TASK) != 0)
			effects_told(check, run->sort->asks ? run->last : run->id, call,
			    run->answers == 0 || run->sort->asks ? told : TOLD_NOTHING);
		reading->at++;
	}
}

static size_t
calls_of(const struct sort_turn *turn, unsigned round)
{
	size_t count = 0;

	while (round < SORT_ROUNDS_MAX && count < SORT_CALLS_MAX &&
	       turn->rounds[round][count].id != NULL)
		count++;
	return count;
}

static bool
is_answer(
    const struct load_run *run, const struct sort_turn *turn, const struct value *ai)
{
	const char *text = value_get_text(ai, "content");

	if (text == NULL)
		return false;
	return run->sort->changes ? strncmp(text, turn->answer, strlen(turn->answer)) == 0
				  : strcmp(text, turn->answer) == 0;
}

/* What follows the user's message of a run. turn: what is expected, by its place. */
static void
read_turn(struct reading *reading, const struct load_run *run,
    const struct sort_turn *turn, bool whole)
{
	struct check *check = reading->check;
	unsigned round;

	for (round = 0; round <= SORT_ROUNDS_MAX; round++) {
		const struct value *ai = next(reading);
		size_t expected = calls_of(turn, round),
		       found = value_size(value_get(ai, "tool_calls"));

		if (!whole && !chat_is(ai, "ai"))
			return;
		if (!tally(check->tally, HOLDS_MESSAGES,
			chat_is(ai, "ai") && found == expected, "run %s: answer %u is %s",
			run->id, round + 1, json_text(check->arena, ai)))
			return;
		reading->at++;
		if (expected == 0) {
			tally(check->tally, HOLDS_MESSAGES, is_answer(run, turn, ai),
			    "run %s: the last answer is %s", run->id,
			    json_text(check->arena, ai));
			return;
		}
		read_answers(reading, run, turn, ai, whole);
	}
}

/* The run whose input the next message is, or NULL. */
static const struct load_run *
next_run(const struct reading *reading, bool *ended_well_r)
{
	const struct value *message = next(reading);
	unsigned i;

	for (i = 0; chat_is(message, "human") && i < reading->count; i++)
		if (value_text_is(
			value_get(message, "content"), reading->runs[i]->input)) {
			*ended_well_r = reading->ended_well[i];
			return reading->runs[i];
		}
	return NULL;
}

/* The provider answers by the number of its answers so far: behind a turn that was cut short
 * the next ones are others, and only their form is known. */
static void
skip_turn(struct reading *reading)
{
	reading->at++;
	while (next(reading) != NULL && !chat_is(next(reading), "human"))
		reading->at++;
}

/* What was heard of the answers between there and here. */
static void
check_stream(const struct reading *reading, const struct load_run *run, size_t begin_at)
{
	const struct value *answers[SORT_ROUNDS_MAX + 1], *text;
	size_t count = 0, i;

	for (i = begin_at; i < reading->at && count <= SORT_ROUNDS_MAX; i++) {
		text = value_get(value_at(reading->messages, i), "content");
		if (chat_is(value_at(reading->messages, i), "ai") &&
		    value_is(text, VALUE_STR) && text->size > 0)
			answers[count++] = text;
	}
	if (run->told != NULL && run->last == run->id)
		client_check(run->told, reading->check->tally, reading->messages,
		    begin_at, reading->at);
	if (run->sort->stream)
		stream_check(reading->check->stream, reading->check->tally, run->id,
		    answers, count);
}

/* One that was submitted again has no place of its own. before_p: the last one that has. */
static void
check_order(
    struct check *check, const struct load_run **before_p, const struct load_run *run)
{
	const struct load_run *before = *before_p;

	if (run->tries > 1)
		return;
	*before_p = run;
	if (before != NULL)
		tally(check->tally, HOLDS_MESSAGES, before->turn < run->turn,
		    "run %s goes before %s, and was submitted after it", before->id,
		    run->id);
}

/* What a run writes to the field goes with its message; what an answer brings, with the answer. */
static void
add_seen(struct reading *reading, const struct load_run *run)
{
	struct arena *arena = reading->check->arena;

	value_list_add(&reading->seen, value_str(arena, run->input));
	if (run->decision == NULL)
		return;
	value_list_add(&reading->seen, value_str(arena, run->decision));
	reading->is_seen_known = reading->is_seen_known && reading->ended_well[run->turn];
}

/* Fields are as their messages: of each run that there is, once, in their order, and of no other. */
static void
check_seen(struct reading *reading, const struct value *state)
{
	struct check *check = reading->check;
	const struct value *found = value_get(value_get(state, "fields"), "seen");
	const struct value *expected = value_list_end(&reading->seen);

	if (!reading->is_seen_known)
		return;
	tally(check->tally, HOLDS_MESSAGES,
	    value_size(expected) == 0 ? value_size(found) == 0
				      : value_equal(found, expected),
	    "thread %s: its messages are of %s, its field of %s", reading->thread,
	    json_text(check->arena, expected), json_text(check->arena, found));
}

static void
check_messages(struct reading *reading)
{
	struct check *check = reading->check;
	const struct load_run *before = NULL;
	bool seen[8] = { false }, known = true;
	size_t begin_at;
	unsigned place = 0, i;

	while (next(reading) != NULL) {
		bool whole = true;
		const struct load_run *run = next_run(reading, &whole);

		if (!tally(check->tally, HOLDS_MESSAGES, run != NULL,
			"thread %s: unexpected message %s", reading->thread,
			json_text(check->arena, next(reading))) ||
		    run == NULL)
			return;
		tally(check->tally, HOLDS_MESSAGES, !seen[run->turn],
		    "run %s is twice in its thread", run->id);
		tally(check->tally, HOLDS_CANCEL, !reading->put_back[run->turn],
		    "run %s was put back, and its thread shows it", run->id);
		seen[run->turn] = true;
		add_seen(reading, run);
		check_order(check, &before, run);
		if (!known || place == run->sort->turns) {
			skip_turn(reading);
			continue;
		}
		reading->at++;
		begin_at = reading->at;
		read_turn(reading, run, &run->sort->turn[place++], whole);
		if (run->sort->changes)
			versions_check(check->load->versions, check->tally, run,
			    &(struct versions_said){ reading->records[run->turn],
				reading->messages, begin_at, reading->at },
			    &reading->version);
		if (whole)
			check_stream(reading, run, begin_at);
		known = whole;
	}
	for (i = 0; i < reading->count; i++)
		tally(check->tally, HOLDS_MESSAGES, seen[i] || !reading->ended_well[i],
		    "run %s ended, but the thread has nothing of it",
		    reading->runs[i]->id);
}

/* All messages are in the checkpoints, once, and each begins where the one before it ended. A run that was put back is
 * there, too, and is shown no more. */
static void
check_checkpoints(struct reading *reading, const struct value *state)
{
	struct check *check = reading->check;
	const char *thread = reading->thread;
	const struct value *history = NULL;
	int64_t stored = 0, shown = (int64_t)value_size(value_get(state, "messages"));
	bool put_back = false;
	size_t i;

	if (store_history(check->load->direct, check->arena, thread, &history) !=
	    STORE_OK)
		return;
	for (i = 0; i < value_size(history); i++) {
		const struct value *one = value_at(history, i);

		tally(check->tally, HOLDS_NO_DOUBLE_COMMIT,
		    value_get_int(one, "version", 0) == (int64_t)i + 1 &&
			(value_get_int(one, "count", 0) == 0 ||
			    value_get_int(one, "first", -1) == stored),
		    "thread %s: checkpoint %zu is %s", thread, i + 1,
		    json_text(check->arena, one));
		stored += value_get_int(one, "count", 0);
	}
	for (i = 0; i < reading->count; i++)
		put_back = put_back || reading->put_back[i];
	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT,
	    value_get_int(state, "version", 0) == (int64_t)value_size(history) &&
		(put_back ? stored >= shown : stored == shown),
	    "thread %s: %zu checkpoints of %d messages, version %d", thread,
	    value_size(history), (int)stored, (int)value_get_int(state, "version", 0));
}

/* Of a run that failed, and was gone on with. */
static void
check_mending(struct check *check, const struct load_run *run)
{
	const struct mending *mending = run->mending;
	const struct sort_call *calls = run->sort->turn->rounds[0];
	unsigned i;

	tally(check->tally, HOLDS_NO_LOST_RUN, mending->odd == NULL, "run %s: %s",
	    run->id, mending->odd);
	effects_goes_on(check, run->id, run->id, 0);
	for (i = 0; i < mending->count; i++)
		effects_goes_on(check, run->id, mending->runs[i], i + 1);
	for (i = 0; i < SORT_CALLS_MAX; i++)
		if (mending->kept[i] > 0)
			effects_kept(check, run->id, &calls[i], mending->kept[i]);
	check->gone_on += mending->count;
}

static void
check_run(struct reading *reading, struct load_run *run)
{
	struct check *check = reading->check;
	const struct value *record = NULL;
	bool is_put_back;

	store_run(check->load->direct, check->arena, run->thread, run->last, &record);
	check->asked += run->answers;
	if (run->mending != NULL)
		check_mending(check, run);
	reading->records[run->turn] = record;
	if (run->refused != NULL) {
		check_refused(check, run);
		return;
	}
	if (run->is_erased) {
		check_erased(check, run, record);
		reading->ended_well[run->turn] = true;
		return;
	}
	check_record(check, run, record);
	check_log(check, run);
	is_put_back = !value_is_nil(value_get(record, "rolled_back"));
	reading->put_back[run->turn] = is_put_back;
	reading->ended_well[run->turn] =
	    check_end_of(record) == END_SUCCESS && !is_put_back;
}

static void
check_thread(struct check *check, struct load_run *const *runs, unsigned count)
{
	struct reading reading = {
		.check = check, .runs = runs, .count = count, .thread = runs[0]->thread
	};
	const struct value *state = NULL;
	unsigned i;

	reading.seen.arena = check->arena = arena_new();
	reading.is_seen_known = true;
	for (i = 0; i < count; i++)
		check_run(&reading, runs[i]);
	if (store_thread(check->load->direct, check->arena, reading.thread, &state) ==
	    STORE_OK) {
		reading.messages = value_get(state, "messages");
		check_messages(&reading);
		check_seen(&reading, state);
		check_checkpoints(&reading, state);
	}
	arena_destroy(&check->arena);
}

void
check_runs(struct check *check)
{
	struct load *load = check->load;
	size_t i;

	for (i = 0; i < load->count; i += load->runs[i]->sort->turns)
		check_thread(check, &load->runs[i], load->runs[i]->sort->turns);
}
