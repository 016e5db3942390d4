#include "checker.h"

#include <stdio.h>
#include <string.h>

#include "chat.h"
#include "json.h"
#include "store_past.h"

#define ATTEMPTS_MAX 5

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
};

/* --- records ------------------------------------------------------------------------------- */

static enum end
end_of(const struct value *record)
{
	const struct value *fault = value_get(record, "fault");

	if (value_text_is(value_get(record, "status"), "success"))
		return END_SUCCESS;
	if (value_text_is(value_get(record, "status"), "cancelled"))
		return END_CANCELLED;
	if (!value_text_is(value_get(record, "status"), "error"))
		return END_OTHER;
	if (value_text_is(value_get(fault, "type"), "Quarantined"))
		return END_QUARANTINED;
	return value_text_is(value_get(fault, "type"), "PoisonError") ? END_POISON
								      : END_ERROR;
}

/* A run that took five coordinators or workers down is ended, and that is a promise, too;
 * anything else that went wrong was to be survived. */
static bool
may_end_so(const struct load_run *run, const struct value *record)
{
	enum end end = end_of(record);
	bool is_ousted =
	    run->ousted_by != NULL &&
	    value_text_is(value_get(record, "replaced_by"), run->ousted_by->id);

	return end == END_SUCCESS ||
	       (end == END_CANCELLED && (run->cancel_asked || is_ousted)) ||
	       end == END_QUARANTINED || end == END_POISON;
}

/* Who was told that a run goes on and will be cancelled, and its thread put back, can rely on it, however it ended; nobody's
 * thread is put back otherwise. */
static void
check_put_back(
    struct check *check, const struct load_run *run, const struct value *record)
{
	bool is_put_back = !value_is_nil(value_get(record, "rolled_back"));
	const struct value *replaced_by = value_get(record, "replaced_by");
	bool is_asked = run->cancel_asked && run->cancels_back;
	bool is_ousted = run->ousted_by != NULL &&
			 value_text_is(replaced_by, run->ousted_by->id) &&
			 strcmp(run->ousted_by->multitask, "rollback") == 0;

	tally(check->tally, HOLDS_CANCEL,
	    value_is_nil(replaced_by) ||
		(run->ousted_by != NULL &&
		    value_text_is(replaced_by, run->ousted_by->id)),
	    "run %s: %s took its place", run->id, value_text(replaced_by));
	tally(check->tally, HOLDS_CANCEL, !is_put_back || is_asked || is_ousted,
	    "run %s was put back, and nobody wanted it", run->id);
	if (is_ousted)
		tally(check->tally, HOLDS_CANCEL, is_put_back,
		    "run %s made way by rollback, and was not put back", run->id);
	if (is_asked && run->cancel_answer != NULL &&
	    strcmp(run->cancel_answer, "CANCELLING") == 0)
		tally(check->tally, HOLDS_CANCEL, is_put_back,
		    "run %s was to be put back, and was not", run->id);
	check->put_back += is_put_back;
	check->ousted += !value_is_nil(replaced_by);
}

static void
check_record(struct check *check, const struct load_run *run, const struct value *record)
{
	struct tally *t = check->tally;
	enum end end = end_of(record);
	int64_t attempts = value_get_int(record, "attempts", 0);

	check->ended[end]++;
	check->resubmitted += run->tries > 1;
	tally(t, HOLDS_NO_LOST_RUN, run->ended && may_end_so(run, record),
	    "run %s: %s %s", run->id, value_get_text(record, "status"),
	    json_text(check->arena, value_get(record, "fault")));
	check_put_back(check, run, record);
	tally(t, HOLDS_ATTEMPTS, attempts >= 0 && attempts <= ATTEMPTS_MAX,
	    "run %s: %d attempts", run->id, (int)attempts);
	if (run->cancel_answer != NULL && strcmp(run->cancel_answer, "CANCELLED") == 0)
		tally(t, HOLDS_CANCEL, end == END_CANCELLED,
		    "run %s was cancelled in its queue, and ended as %s", run->id,
		    value_get_text(record, "status"));
}

/* --- event logs ---------------------------------------------------------------------------- */

struct log {
	unsigned queued, started, finished;
	int64_t step;
};

static void
check_event(struct check *check, const struct load_run *run, const struct value *event,
    size_t index, struct log *log)
{
	const struct value *kind = value_get(event, "kind");

	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT,
	    value_get_int(event, "seq", 0) == (int64_t)index + 1,
	    "run %s: event %zu has the number %d", run->id, index + 1,
	    (int)value_get_int(event, "seq", 0));
	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT, log->finished == 0,
	    "run %s: %s after its end", run->id, value_text(kind));
	log->queued += value_text_is(kind, "queued");
	log->started += value_text_is(kind, "started");
	log->finished += value_text_is(kind, "finished");
	if (!value_text_is(kind, "step"))
		return;
	tally(check->tally, HOLDS_NO_DOUBLE_COMMIT,
	    log->step < 0 || value_get_int(event, "step", -1) == log->step + 1,
	    "run %s: step %d after step %d", run->id,
	    (int)value_get_int(event, "step", -1), (int)log->step);
	log->step = value_get_int(event, "step", -1);
}

static void
check_log(struct check *check, const struct load_run *run)
{
	const struct value *events = NULL;
	struct log log = { .step = -1 };
	size_t i;

	if (store_events(check->load->direct, check->arena, run->thread, run->id, 0, 0,
		&events) != STORE_OK)
		return;
	for (i = 0; i < value_size(events); i++)
		check_event(check, run, value_at(events, i), i, &log);
	tally(check->tally, HOLDS_SUBMIT_ONCE, log.queued == 1 && log.started <= 1,
	    "run %s was queued %u times, begun %u times", run->id, log.queued,
	    log.started);
	tally(check->tally, HOLDS_NO_LOST_RUN, log.finished == 1,
	    "run %s has %u ends in its log", run->id, log.finished);
	if (run->cancel_answer != NULL && strcmp(run->cancel_answer, "CANCELLED") == 0)
		tally(check->tally, HOLDS_CANCEL, log.step == -1,
		    "run %s made steps although it was cancelled in its queue", run->id);
}

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
	if (value_text_is(value_get(message, "status"), "error") && text != NULL &&
	    strstr(text, "was cancelled") != NULL)
		return TOLD_CANCELLED;
	return value_get_bool(value_get(message, "artifact"), "uncertain", false)
		   ? TOLD_LOST
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
			effects_told(check, run->id, call,
			    run->answers == 0 ? told : TOLD_NOTHING);
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
			tally(check->tally, HOLDS_MESSAGES,
			    value_text_is(value_get(ai, "content"), turn->answer),
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
	if (run->told != NULL && run->answers == 0)
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
		check_order(check, &before, run);
		if (!known) {
			skip_turn(reading);
			continue;
		}
		reading->at++;
		begin_at = reading->at;
		read_turn(reading, run, &run->sort->turn[place++], whole);
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

static void
check_thread(struct check *check, struct load_run *const *runs, unsigned count)
{
	struct reading reading = {
		.check = check, .runs = runs, .count = count, .thread = runs[0]->thread
	};
	const struct value *state = NULL;
	unsigned i;

	check->arena = arena_new();
	for (i = 0; i < count; i++) {
		const struct value *record = NULL;

		store_run(check->load->direct, check->arena, runs[i]->thread,
		    runs[i]->last, &record);
		check->asked += runs[i]->answers;
		check_record(check, runs[i], record);
		check_log(check, runs[i]);
		reading.put_back[runs[i]->turn] =
		    !value_is_nil(value_get(record, "rolled_back"));
		reading.ended_well[runs[i]->turn] =
		    end_of(record) == END_SUCCESS && !reading.put_back[runs[i]->turn];
	}
	if (store_thread(check->load->direct, check->arena, reading.thread, &state) ==
	    STORE_OK) {
		reading.messages = value_get(state, "messages");
		check_messages(&reading);
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
