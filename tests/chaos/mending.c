#include "mending.h"

#include "fiber.h"
#include "store_agents.h"
#include "submission.h"

#define POLL_MS 200u

/* How a run has left its thread. */
enum left { LEFT_DONE, LEFT_FAILED, LEFT_ASKING };

static void
note_odd(struct load *load, struct mending *mending, const char *what, const char *run)
{
	if (mending->odd == NULL)
		mending->odd = arena_printf(load->arena, "%s %s", run, what);
}

/* --- what is found ------------------------------------------------------------------------ */

/* A call or a run that took five processes down is no failure to go on behind; nor is what was put back. */
static enum left
left_by(struct load *load, struct load_run *run, const struct value *record)
{
	const struct value *status = value_get(record, "status");
	const struct value *fault = value_get(record, "fault");

	if (!value_is_nil(value_get(record, "rolled_back")))
		return LEFT_DONE;
	if (value_text_is(status, "interrupted"))
		return LEFT_ASKING;
	if (!value_text_is(status, "error") ||
	    value_text_is(value_get(fault, "type"), "Quarantined") ||
	    value_text_is(value_get(fault, "type"), "PoisonError"))
		return LEFT_DONE;
	if (!value_text_is(value_get(fault, "message"), SORT_STUMBLED))
		note_odd(load, run->mending,
		    arena_printf(load->arena, "failed of another thing: %s",
			value_get_text(fault, "message")),
		    run->last);
	return LEFT_FAILED;
}

/* Waits until the run is over that stands for run now. */
static enum left
wait_end(struct load *load, struct load_run *run)
{
	enum left left = LEFT_DONE;
	bool has_ended = false;

	while (!has_ended) {
		struct arena *arena = arena_new();
		const struct value *record = NULL;

		fiber_sleep(POLL_MS);
		if (store_run(load->direct, arena, run->thread, run->last, &record) ==
			STORE_OK &&
		    !value_is_nil(value_get(record, "ended"))) {
			has_ended = true;
			left = left_by(load, run, record);
		}
		arena_destroy(&arena);
	}
	return left;
}

/* Nobody is at the thread. */
static const struct value *
read_thread(struct load *load, struct arena *arena, const struct load_run *run)
{
	const struct value *thread = NULL;

	while (
	    store_thread_outline(load->direct, arena, run->thread, &thread) != STORE_OK)
		fiber_sleep(POLL_MS);
	return thread;
}

/* What has ended once stays so. */
static void
note_kept(struct load *load, struct load_run *run, const struct value *head)
{
	struct mending *mending = run->mending;
	const struct value *round = value_get(head, "round"), *call;
	unsigned i;

	if (!value_text_is(value_get(head, "run"), run->last))
		note_odd(
		    load, mending, "has failed, and its thread is another's", run->last);
	for (i = 0; i < SORT_CALLS_MAX; i++) {
		call = value_get(round, arena_printf(load->arena, "%u", i));
		if (value_has(call, "outcome") && mending->kept[i] == 0)
			mending->kept[i] = mending->count + 1;
		else if (!value_has(call, "outcome") && mending->kept[i] > 0)
			note_odd(
			    load, mending, "has lost what had ended before", run->last);
	}
}

/* --- what is done ------------------------------------------------------------------------- */

/* Under that name of ours, several times at once; over HTTP a name is given. what: of the body there. */
static void
submit(struct load *load, struct load_run *run, const char *field, const char *value,
    const char *what)
{
	struct mending *mending = run->mending;
	unsigned at = mending->count++;
	const char *key = arena_printf(load->arena, "%s+%u", run->input, at + 1),
		   *refused;
	struct client_run *told;

	if (run->told == NULL) {
		submission_insist_all(load->redis,
		    &(struct submission){ .agent = run->sort->agent,
			.thread = run->thread,
			.run = key,
			.field = field,
			.value = value },
		    SUBMISSION_WAIT_MS, 2);
		run->last = mending->runs[at] = key;
		return;
	}
	told = mending->told[at] = arena_alloc(load->arena, sizeof *told);
	client_run_init(told, run->thread, run->sort->agent, key, what, false);
	refused = client_begin(load->client, told);
	if (refused != NULL)
		note_odd(load, mending, refused, key);
	else
		run->last = told->id;
	mending->runs[at] = run->last;
}

/* As the command does (cli/runs/retry.c). False: it is refused. */
static bool
retry(struct load *load, struct load_run *run)
{
	struct mending *mending = run->mending;
	struct arena *arena = arena_new();
	const char *instead = "", *key = arena_printf(load->arena, "%s+%u", run->input,
				      mending->count + 1);
	struct store_retry retry = { .thread = run->thread,
		.run = run->last,
		.new_run = key,
		.left =
		    (uint64_t)value_get_int(read_thread(load, arena, run), "version", 0),
		.options = value_map(arena, "resume", value_nil(), NULL) };
	enum store_status status;

	while (store_agent_version(
		   load->direct, arena, run->sort->agent, &retry.version) != STORE_OK)
		fiber_sleep(POLL_MS);
	while (
	    (status = store_retry(load->store, arena, &retry, &instead)) == STORE_FAILED)
		fiber_sleep(SUBMISSION_AGAIN_MS);
	if (status == STORE_OK)
		run->last = mending->runs[mending->count++] = key;
	else
		note_odd(load, mending, "may not be retried", run->last);
	arena_destroy(&arena);
	return status == STORE_OK;
}

/* Once by the command, where the inbox is his way, then by the inbox. */
static bool
go_on(struct load *load, struct load_run *run)
{
	struct mending *mending = run->mending;
	struct arena *arena = arena_new();

	note_kept(load, run, value_get(read_thread(load, arena, run), "head"));
	arena_destroy(&arena);
	if (mending->failures++ == 0 && run->told == NULL)
		return retry(load, run);
	submit(load, run, "resume", "null", "\"input\": null");
	return true;
}

void
mending_give(struct load *load, struct load_run *run)
{
	struct mending *mending = run->mending =
	    arena_alloc(load->arena, sizeof *run->mending);
	enum left left;
	bool goes_on = true;

	while (goes_on && (left = wait_end(load, run)) != LEFT_DONE) {
		if (mending->count == MENDING_RUNS_MAX) {
			note_odd(load, mending, "is one failure too many", run->last);
			return;
		}
		if (left == LEFT_FAILED) {
			goes_on = go_on(load, run);
			continue;
		}
		run->answers++;
		submit(load, run, "resume", "{\"respond\": \"" SORT_RESPONSE "\"}",
		    "\"command\": {\"resume\": {\"respond\": \"" SORT_RESPONSE "\"}}");
	}
}

void
mending_release(struct load_run *run)
{
	unsigned i;

	for (i = 0; run->mending != NULL && i < MENDING_RUNS_MAX; i++)
		if (run->mending->told[i] != NULL)
			client_run_release(run->mending->told[i]);
}
