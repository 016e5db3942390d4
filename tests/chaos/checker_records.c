/* The records and event logs of runs. */
#include "checker.h"

#include <string.h>

#include "json.h"
#include "mending.h"

#define ATTEMPTS_MAX 5

/* --- records ------------------------------------------------------------------------------- */

enum end
check_end_of(const struct value *record)
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

/* A command goes to no node where the thread stands in front of another: where the run before it was cut short it may. */
static bool
may_be_refused(const struct load_run *run)
{
	return run->by_command && run->before != NULL && !run->before->ended_well;
}

static bool
was_refused(const struct value *record)
{
	return value_text_is(value_get(value_get(record, "fault"), "type"), "ValueError");
}

/* A run that took five coordinators or workers down is ended, and that is a promise, too;
 * anything else that went wrong was to be survived. */
static bool
may_end_so(const struct load_run *run, const struct value *record)
{
	enum end end = check_end_of(record);
	bool is_ousted =
	    run->ousted_by != NULL &&
	    value_text_is(value_get(record, "replaced_by"), run->ousted_by->id);

	return end == END_SUCCESS ||
	       (end == END_CANCELLED && (run->cancel_asked || is_ousted)) ||
	       ((run->sort->asks || run->sort->fails) && run->cancels_back &&
		   !value_is_nil(value_get(record, "rolled_back"))) ||
	       end == END_QUARANTINED || end == END_POISON ||
	       (end == END_ERROR && may_be_refused(run) && was_refused(record));
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
	tally(check->tally, HOLDS_CANCEL,
	    run->multitask == NULL ||
		value_text_is(value_get(record, "multitask"), run->multitask),
	    "run %s was to take its place by %s, and has %s", run->id, run->multitask,
	    value_get_text(record, "multitask"));
	tally(check->tally, HOLDS_CANCEL, !is_put_back || is_asked || is_ousted,
	    "run %s was put back, and nobody wanted it", run->id);
	if (is_ousted)
		tally(check->tally, HOLDS_CANCEL, is_put_back,
		    "run %s made way by rollback, and was not put back", run->id);
	if (is_asked && run->cancel_answer != NULL &&
	    strcmp(run->cancel_answer, "CANCELLING") == 0)
		tally(check->tally, HOLDS_CANCEL, is_put_back,
		    "run %s was to be put back, and was not", run->id);
	if (run->cancel_answer != NULL && strcmp(run->cancel_answer, "GONE") == 0)
		tally(check->tally, HOLDS_CANCEL, is_put_back,
		    "run %s was not put back, and was not there by HTTP", run->id);
	check->put_back += is_put_back;
	check->ousted += !value_is_nil(replaced_by);
}

void
check_erased(struct check *check, struct load_run *run, const struct value *record)
{
	const struct value *events = NULL;

	run->ended_well = true;
	check->erased++;
	tally(check->tally, HOLDS_DELETED, value_is_nil(record),
	    "run %s was deleted, and is there: %s", run->id,
	    json_text(check->arena, record));
	tally(check->tally, HOLDS_DELETED,
	    store_events(check->load->direct, check->arena, run->thread, run->id, 0, 0,
		&events) != STORE_OK ||
		value_size(events) == 0,
	    "run %s was deleted, and its log is there", run->id);
}

void
check_refused(struct check *check, struct load_run *run)
{
	check->ended[END_ERROR]++;
	tally(check->tally, HOLDS_NO_LOST_RUN,
	    may_be_refused(run) && strncmp(run->refused, "422 ", 4) == 0 &&
		strstr(run->refused, "stands in front of") != NULL,
	    "run %s was refused by HTTP: %s", run->input, run->refused);
}

void
check_record(struct check *check, struct load_run *run, const struct value *record)
{
	struct tally *t = check->tally;
	enum end end = check_end_of(record);
	int64_t attempts = value_get_int(record, "attempts", 0);

	run->ended_well = end == END_SUCCESS;
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

/* Of a run, or of the one that brought the answer to what it asked. */
static struct log
read_log(struct check *check, const struct load_run *run, const char *id)
{
	const struct value *events = NULL;
	struct log log = { .step = -1 };
	size_t i;

	if (store_events(check->load->direct, check->arena, run->thread, id, 0, 0,
		&events) != STORE_OK)
		return log;
	for (i = 0; i < value_size(events); i++)
		check_event(check, run, value_at(events, i), i, &log);
	tally(check->tally, HOLDS_SUBMIT_ONCE, log.queued == 1 && log.started <= 1,
	    "run %s was queued %u times, begun %u times", id, log.queued, log.started);
	tally(check->tally, HOLDS_NO_LOST_RUN, log.finished == 1,
	    "run %s has %u ends in its log", id, log.finished);
	return log;
}

void
check_log(struct check *check, const struct load_run *run)
{
	struct log log = read_log(check, run, run->id);
	unsigned i;

	if (run->decision != NULL)
		read_log(check, run, run->last);
	for (i = 0; run->mending != NULL && i < run->mending->count; i++)
		read_log(check, run, run->mending->runs[i]);
	if (run->decided[0] != NULL)
		tally(check->tally, HOLDS_SUBMIT_ONCE,
		    run->decided[0]->id != NULL && run->decided[1]->id != NULL &&
			strcmp(run->decided[0]->id, run->decided[1]->id) == 0,
		    "the answer to %s was begun twice under one key: %s, %s", run->id,
		    run->decided[0]->id, run->decided[1]->id);
	if (run->cancel_answer != NULL && strcmp(run->cancel_answer, "CANCELLED") == 0)
		tally(check->tally, HOLDS_CANCEL, log.step == -1,
		    "run %s made steps although it was cancelled in its queue", run->id);
}
