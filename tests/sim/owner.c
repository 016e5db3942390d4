/* owner: a run at its coordinator, as a state machine: what coordinator/run.c, run_steps.c,
 * run_tools.c and run_commit.c do at the level of ownership. Those are on fibers and on the loop;
 * this mirrors them, and its comments name the function it mirrors. Change both together. What
 * a run computes is left out: its supersteps are fixed by the plan, odd ones are a model call, even
 * ones the tools. Its claim and its end are here, its commits and calls in owner_commit.c and
 * owner_calls.c. */
#include <stdlib.h>

#include "owner_private.h"

#define SUSPECT_AFTER 2u /* suspects.h */
#define ASKS_AFTER                                                                       \
	1u /* which claims ask for their turn: one earlier here, since third ones are rare */

/* --- the end of it --------------------------------------------------------------------- */

/* run_main: the thread is free here; what waits on it is claimed. */
void
owner_leave(struct held_run *run, bool more)
{
	struct coordinator_node *coordinator = run->coordinator;

	run->state = RUN_NONE;
	run->life++;
	if (!run->releasing && (more || run->cancel_wanted || run->more_wait))
		coordinator_claim(coordinator, run->thread);
}

void
owner_drop(struct held_run *run)
{
	TRACE(world_of(run), "%s drops %s", run->coordinator->peer.process.name,
	    run->fact->id);
	tell_ledger(run, LEDGER_DISOWN, run->fact->id);
	run->more_wait = run->cancel_wanted = false;
	owner_leave(run, false);
}

static void on_released(struct redis_request *request, const struct reply *reply);

/* end(): GO_DROP of a coordinator that leaves. */
static void
give_back(struct held_run *run)
{
	struct world *world = world_of(run);
	/* Not "" when nothing was sent: the packed list is an empty one. */
	const char *before = run->recovered ? run->sent_before : "[", *sent = before;
	unsigned i;

	tell_ledger(run, LEDGER_DISOWN, run->fact->id);
	for (i = 0; before != NULL && i < run->call_count; i++)
		if (run->sent[i])
			sent = world_text(world, "%s%s,", sent, run->calls[i].fact->id);
	run->state = RUN_RELEASING;
	ask(run, "fl_release",
	    (const char *const[]){ thread_of(run)->key, SIM_PREFIX, thread_of(run)->id,
		owner_name(run),
		world_text(world, "%llu", (unsigned long long)run->epoch),
		before == NULL ? "" : sent,
		world_text(world, "%llu", (unsigned long long)run->version) },
	    7, on_released, run);
}

/* store_release asks twice at most. */
static void
on_released(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (request->arg_life != run->life)
		return;
	if (reply == NULL && !run->asked_twice) {
		run->asked_twice = true;
		give_back(run);
		return;
	}
	owner_leave(run, false);
}

void
owner_commit_end(struct held_run *run, const char *status)
{
	run->state = RUN_ENDING;
	run->status = status;
	owner_commit(run);
}

/* end(): GO_DROP of a cancelled run. */
void
owner_leave_calls(struct held_run *run)
{
	run->state = RUN_LEAVING;
	if (!ledger_is_cancelling(run->coordinator->ledger, run->fact->id))
		owner_commit_end(run, "cancelled");
}

void
owner_stop(struct held_run *run)
{
	if (run->releasing)
		give_back(run);
	else if (run->cancel_wanted)
		owner_leave_calls(run);
	else
		owner_drop(run);
}

/* --- advancing ------------------------------------------------------------------------- */

void
owner_advance(struct held_run *run)
{
	if (must_stop(run)) {
		owner_stop(run);
	} else if (run->step == run_steps(run->fact)) {
		owner_commit_end(run, "success");
	} else if (run->dirty) {
		run->state = RUN_COMMITTING;
		owner_commit(run);
	} else {
		owner_call(run);
	}
}

static const char *
pair_of(const struct reply *flat, const char *name)
{
	size_t i;

	for (i = 0; i + 1 < flat->count; i += 2)
		if (strcmp(flat->items[i].text, name) == 0)
			return flat->items[i + 1].text;
	return NULL;
}

/* Outcomes that an owner before us has stored: "value:code". */
static void
find_stored(struct held_run *run, const struct reply *results)
{
	unsigned i;

	for (i = 0; i < step_calls(run->fact, run->step + 1); i++) {
		struct call_fact *fact = &run->fact->calls[run->step + 1][i];
		const char *text = pair_of(results, fact->id);

		run->calls[i] = (struct held_call){ .run = run, .fact = fact };
		if (text == NULL)
			continue;
		run->calls[i].has_outcome = true;
		run->calls[i].value = (unsigned)strtoul(text, NULL, 10);
		run->calls[i].code =
		    (enum wire_code)strtoul(strchr(text, ':') + 1, NULL, 10);
	}
}

static void
count(struct held_run *run, uint64_t attempts, redis_answer_fn *answer)
{
	struct world *world = world_of(run);

	ask(run, "fl_attempts",
	    (const char *const[]){ thread_of(run)->key, SIM_PREFIX, owner_name(run),
		world_text(world, "%llu", (unsigned long long)run->epoch), run->fact->id,
		world_text(world, "%llu", (unsigned long long)attempts) },
	    6, answer, run);
}

/* suspects.c's tell(): what cannot be told keeps nobody from going on. */
static void
on_rest(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (request->arg_life != run->life)
		return;
	if (reply != NULL && REFUSED(reply))
		owner_drop(run);
	else
		owner_advance(run);
}

/* A suspect rests; here before its calls go out, not when they have. */
static void
rest(struct held_run *run)
{
	run->rests = true;
	count(run, SUSPECT_AFTER, on_rest);
}

static void
on_go_on(struct redis_request *request, const struct reply *reply)
{
	(void)request;
	(void)reply;
}

/* suspects_go_on(); the answer, which changes nothing, is not awaited here. */
void
owner_go_on(struct held_run *run)
{
	if (run->rests)
		count(run, run->attempts, on_go_on);
	run->rests = false;
}

/* The answer to its claim has come. */
static void
note_heard(struct held_run *run)
{
	struct thread_fact *thread = thread_of(run);
	unsigned i;

	for (i = 0; i < thread->claim_count; i++)
		if (thread->epochs[i] == run->epoch &&
		    strcmp(thread->owners[i], owner_name(run)) == 0)
			thread->heard[i] = true;
}

/* run_next() and run_begin.c's load() */
static void
take_over(struct held_run *run, const struct reply *reply)
{
	struct world *world = world_of(run);
	const struct reply *items = reply->items;
	const char *head = pair_of(&items[5], "head"), *events;
	const char *before = pair_of(&items[6], "attempts");
	size_t length;

	run->fact = run_fact_of(world, items[1].text);
	length = strlen(run->fact->id);
	run->epoch = (uint64_t)items[2].integer;
	run->version = (uint64_t)items[3].integer;
	note_heard(run);
	if (run->epoch > run->coordinator->newest_epoch)
		run->coordinator->newest_epoch = run->epoch;
	run->recovered = items[4].integer != 0 && head != NULL &&
			 strncmp(head, run->fact->id, length) == 0 && head[length] == '/';
	run->step = run->recovered ? (unsigned)strtoul(head + length + 1, NULL, 10) : 0;
	run->dirty = !run->recovered;
	events = pair_of(&items[6], "events");
	run->last_event = events != NULL ? strtoull(events, NULL, 10) : 1;
	run->sent_before = pair_of(&items[6], "sent");
	run->results_stored = items[9].count > 0;
	run->commits = run->answered_count = run->call_count = 0;
	run->more_wait = run->rests = false;
	memset(run->sent, 0, sizeof run->sent);
	memset(run->calls, 0, sizeof run->calls);
	TRACE(world, "%s has %s, epoch %llu, step %u%s",
	    run->coordinator->peer.process.name, run->fact->id,
	    (unsigned long long)run->epoch, run->step,
	    run->recovered ? ", recovered" : "");
	if (run->step < run_steps(run->fact))
		find_stored(run, &items[9]);
	run->attempts = before != NULL ? strtoull(before, NULL, 10) + 1 : 1;
	if (run->attempts > ASKS_AFTER)
		rest(run);
	else
		owner_advance(run);
}

static void on_claimed(struct redis_request *request, const struct reply *reply);

/* Of suspects, too, when their turn has come. */
static void
send_claim(struct held_run *run, bool of_suspects)
{
	struct world *world = world_of(run);
	const char *const args[] = { thread_of(run)->key, SIM_PREFIX, thread_of(run)->id,
		owner_name(run), world_text(world, "%u", LEASE_MS),
		world_text(
		    world, "%llu", (unsigned long long)run->coordinator->newest_epoch),
		run->coordinator->peer.process.name, "", "",
		of_suspects ? "" : world_text(world, "%u", ASKS_AFTER) };

	run->state = RUN_CLAIMING;
	ask(run, "fl_claim", args, sizeof args / sizeof args[0], on_claimed, run);
}

static void
on_claimed(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (request->arg_life != run->life)
		return;
	if (reply == NULL)
		send_claim(run, false);
	else if (strcmp(reply->items[0].text, "SUSPECT") == 0 && !must_stop(run))
		send_claim(run, true);
	else if (strcmp(reply->items[0].text, "OK") == 0)
		take_over(run, reply);
	else
		owner_leave(run, strcmp(reply->items[0].text, "QUARANTINED") == 0);
}

static void
begin(struct held_run *run)
{
	run->fact = NULL;
	run->cancel_wanted = run->releasing = run->more_wait = run->asked_twice = false;
	run->owned_ms = world_of(run)->now_ms;
}

void
owner_begin(struct held_run *run)
{
	begin(run);
	send_claim(run, false);
}

static void on_begun(struct redis_request *request, const struct reply *reply);

/* store_begin() */
static void
send_begin(struct held_run *run)
{
	struct world *world = world_of(run);
	const char *const args[] = { thread_of(run)->key, SIM_PREFIX, thread_of(run)->id,
		owner_name(run), world_text(world, "%u", LEASE_MS),
		world_text(
		    world, "%llu", (unsigned long long)run->coordinator->newest_epoch),
		run->coordinator->peer.process.name, "", "", run->arrival->id, "agent",
		"a" };

	run->state = RUN_CLAIMING;
	ask(run, "fl_begin", args, sizeof args / sizeof args[0], on_begun, run);
}

/* It asks twice at most: then the entry stays in the inbox. */
static void
on_begun(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;

	if (request->arg_life != run->life)
		return;
	if (reply == NULL && !run->asked_twice) {
		run->asked_twice = true;
		send_begin(run);
		return;
	}
	if (reply == NULL) {
		owner_leave(run, false);
		return;
	}
	run->arrival->inbox = false;
	if (reply->count > 0 && strcmp(reply->items[0].text, "OK") == 0)
		take_over(run, reply);
	else
		send_claim(run, false);
}

void
owner_arrive(struct held_run *run, struct run_fact *arrival)
{
	begin(run);
	run->arrival = arrival;
	send_begin(run);
}

/* --- from outside ---------------------------------------------------------------------- */

/* run_release() */
void
owner_release(struct held_run *run)
{
	if (run->releasing)
		return;
	run->releasing = true;
	if (run->fact != NULL)
		tell_ledger(run, LEDGER_DISOWN, run->fact->id);
}
