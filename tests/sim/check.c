/* check: the invariants of a fleet that loses nothing. Redis carries out one function after the
 * other: what it does, in this order, is the history that is checked, and each step of it at once.
 * The numbers are those of docs/reliability.md's list. */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define LONG_DEADLINE_MS 100000u

static bool
answers(const struct reply *reply, const char *word)
{
	return reply->count > 0 && reply->items[0].type == REPLY_TEXT &&
	       strcmp(reply->items[0].text, word) == 0;
}

static struct thread_fact *
thread_of(struct world *world, const char *id)
{
	return &world->threads[id[1] - '0'];
}

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static uint64_t
number(const char *text)
{
	return strtoull(text, NULL, 10);
}

/* --- effects and outcomes ------------------------------------------------------------- */

/* What was begun before may have its effect later: a call that does not stop at its deadline is
 * uncertain for that very reason. With a long deadline check_lost holds that against the broker. */
void
check_begin(struct world *world, struct call_fact *call)
{
	call->executions++;
	if (call->once && call->given_up && !world->workers_hurt && !world->failed_over)
		violate(world,
		    "6: %s is begun after its run was told that it is uncertain",
		    call->id);
}

void
check_effect(struct world *world, struct call_fact *call)
{
	call->effects++;
	TRACE(world, "        effect %u of %s%s", call->effects, call->id,
	    call->once ? ", which must happen once" : "");
	/* What was acknowledged and is lost with its Redis is done again; docs/operations.md. */
	if (call->once && call->effects > 1 && !world->failed_over)
		violate(world, "6: %s must not run twice, and had its effect %u times",
		    call->id, call->effects);
}

/* A call that a worker runs, whom nothing has happened to, is not lost, whatever became of the
 * broker: that worker has announced it. */
static void
check_lost(struct world *world, const struct call_fact *call)
{
	unsigned i, j;

	for (i = 0; i < world->plan.workers && !world->workers_hurt; i++)
		for (j = 0; j < JOBS; j++) {
			const struct job *job = &world->workers[i].jobs[j];

			if (job->used && !job->stopped && job->call == call)
				violate(world, "6: %s is taken for lost while %s runs it",
				    call->id, world->workers[i].peer.process.name);
		}
}

void
check_outcome(struct world *world, struct call_fact *call, enum wire_code code)
{
	if (code == CODE_OK)
		return;
	call->failed = true;
	if (code == CODE_WORKER_LOST && !call->once && !call->pinned)
		violate(world, "13: %s may be repeated, and was given up", call->id);
	/* Of one that must not run twice nobody may know whether it was sent. */
	if (code == CODE_WORKER_LOST && !call->once && call->pinned &&
	    !world->workers_hurt && !world->brokers_hurt)
		violate(
		    world, "19: %s is taken for lost, and its worker is there", call->id);
	if (code == CODE_WORKER_LOST && world->plan.deadline_ms >= LONG_DEADLINE_MS)
		check_lost(world, call);
	/* An owner that a failover has deposed may wait for what goes to another. */
	if ((code == CODE_EXPIRED || code == CODE_NOT_SERVED) && !world->failed_over &&
	    world->plan.deadline_ms >= LONG_DEADLINE_MS)
		violate(world, "16: %s ended as %s", call->id, wire_code_name(code));
}

/* A worker keeps what cannot be had again until it is in Redis. */
void
check_forgotten(struct world *world, const char *call_id)
{
	const struct call_fact *call = call_fact_of(world, call_id);

	if (call->was_stored || call->run->was_over || !call->run->known ||
	    call->failed || call->run->was_cancelled || call->good == 0 ||
	    call->good > 1 || world->plan.deadline_ms < LONG_DEADLINE_MS)
		return;
	violate(world,
	    "9: the worker of %s was told to forget its result, and Redis has none",
	    call_id);
}

void
check_broker(struct broker_node *broker)
{
	const char *error;

	if (core_audit(broker->core, &error) == -1)
		violate(broker->process.world, "11: %s does not add up: %s",
		    broker->process.name, error);
}

/* --- ownership ------------------------------------------------------------------------- */

static void
check_lease(struct world *world, const struct thread_fact *thread, const char *owner)
{
	const char *until;

	if (thread->owner == NULL || strcmp(thread->owner, owner) == 0)
		return;
	until =
	    redis_memory_field(world->redis.memory, SIM_PREFIX "leases", thread->owner);
	/* One that ends in a far future was written before the clock was set back. */
	if (until != NULL && number(until) > redis_clock_ms(world) &&
	    number(until) <= redis_clock_ms(world) + UINT64_C(2) * LEASE_MS)
		violate(world, "5: %s was claimed by %.4s while the lease of %.4s lasts",
		    thread->id, owner, thread->owner);
}

/* fl_claim key; prefix, thread, owner, lease, floor, name */
static void
on_claim(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	struct thread_fact *thread = thread_of(world, request->args[2]);
	struct run_fact *run;
	uint64_t epoch;
	unsigned i;

	if (answers(reply, "QUARANTINED")) {
		run = run_fact_of(world, reply->items[1].text);
		blame_quarantined(world, thread, run);
		run->over = run->was_over = true;
		thread->owner = NULL;
	}
	if (!answers(reply, "OK"))
		return;
	run = run_fact_of(world, reply->items[1].text);
	epoch = (uint64_t)reply->items[2].integer;
	check_lease(world, thread, request->args[3]);
	/* A replica that lacks some may give an epoch to another owner, never to the same once
	 * that one has it; the answer to its claim may have been lost with the claim. */
	for (i = 0; i < thread->claim_count; i++)
		if (world->failed_over
			? thread->epochs[i] == epoch && thread->heard[i] &&
			      strcmp(thread->owners[i], request->args[3]) == 0
			: thread->epochs[i] >= epoch)
			violate(world, "4: epoch %llu of %s after %llu",
			    (unsigned long long)epoch, thread->id,
			    (unsigned long long)thread->epochs[i]);
	if (thread->claim_count < CLAIMS) {
		thread->owners[thread->claim_count] = request->args[3];
		thread->epochs[thread->claim_count++] = epoch;
	}
	once_claimed(thread, run, request);
	blame_claimed(world, thread, run, request, reply->items[4].integer != 0);
	thread->owner = request->args[3];
	thread->epoch = epoch;
	if (run->over)
		violate(world, "3: %s was claimed after its end", run->id);
}

/* --- commits --------------------------------------------------------------------------- */

/* "r0.2.1=3:0": of call r0.2.1, execution 3, code 0. */
static void
check_message(struct world *world, struct run_fact *run, unsigned index, const char *text)
{
	struct call_fact *call = &run->calls[run->next_step][index];
	size_t length = strlen(call->id);
	const char *colon = strchr(text, ':');
	unsigned value;

	if (strncmp(text, call->id, length) != 0 || text[length] != '=' ||
	    colon == NULL) {
		violate(
		    world, "7: %s commits %s where %s belongs", run->id, text, call->id);
		return;
	}
	value = (unsigned)strtoul(text + length + 1, NULL, 10);
	if (call->stored && call->value != value)
		violate(world, "7: %s was stored as %u and committed as %u", call->id,
		    call->value, value);
	call->stored = call->was_stored = true;
	call->value = value;
	call->given_up = strtoul(colon + 1, NULL, 10) == CODE_WORKER_LOST;
	if (strtoul(colon + 1, NULL, 10) == CODE_OK && call->effects == 0)
		violate(world, "6: %s succeeded without its effect", call->id);
}

/* args[12] begins with the number of messages: none of a run that ends where it stood, else those of the
 * superstep that comes next. */
static void
check_messages(struct world *world, struct run_fact *run, struct thread_fact *thread,
    const struct redis_request *request)
{
	unsigned count = 0, i;
	bool is_end = !begins(request->args[6], "running ");

	sscanf(request->args[6], "%*s %*u %u", &count);
	thread->messages += count;
	if (count == 0 && is_end)
		return;
	if (run->next_step == 0 && count == 1 &&
	    strstr(request->args[10], ".in") != NULL) {
		run->next_step = 1;
		return;
	}
	if (run->next_step == 0 || run->next_step > run_steps(run) ||
	    count != step_calls(run, run->next_step)) {
		violate(world, "3: %s commits %u messages (%s) where step %u is next",
		    run->id, count, count > 0 ? request->args[10] : "", run->next_step);
		return;
	}
	for (i = 0; i < count; i++)
		check_message(world, run, i, request->args[10 + i]);
	run->next_step++;
}

static void
check_cancel(struct world *world, struct run_fact *run, uint64_t epoch)
{
	if (!run->cancel_asked)
		return;
	if (run->cancel_epoch == epoch)
		violate(world, "14: %s goes on although it is cancelled", run->id);
	run->cancel_epoch = epoch;
}

/* One that was lost and came late finds others there; nobody hears of it. And an owner whose
 * claim a replica has, but not its commits, learns of that here. */
static void
check_stale(struct world *world, const struct redis_request *request,
    const struct reply *reply, const struct run_fact *run)
{
	if (answers(reply, "STALE") && !request->lost && !world->failed_over)
		violate(world, "3: the owner of %s is at another version", run->id);
}

static bool
is_it(const char *next_gate, const struct redis_request *request)
{
	return next_gate != NULL && strcmp(next_gate, request->args[3]) == 0;
}

/* fl_advance key; prefix, gate ("owner epoch version id"), next gate, version, run, what ("status drop
 * messages fields events"), head, order, checkpoint, messages..., fields..., events..., run fields... */
static void
on_commit(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	struct run_fact *run = run_fact_of(world, request->args[5]);
	struct thread_fact *thread = &world->threads[run->thread];
	const char *owner = request->args[2], *space = strchr(owner, ' ');
	uint64_t epoch = number(space), version;
	bool is_end = !begins(request->args[6], "running ");
	bool is_short = reply->type == REPLY_INTEGER && reply->integer == 1;

	check_stale(world, request, reply, run);
	if (answers(reply, "FENCED"))
		blame_fenced(run, epoch);
	if (!is_short && !answers(reply, "OK"))
		return;
	version = is_short ? number(request->args[4]) : (uint64_t)reply->items[1].integer;
	/* One that was done and comes again is answered as the first. The thread remembers an end until its
	 * next one, so this may be behind commits of the next run. */
	if (is_it(thread->last_commit, request) ||
	    (is_end && is_it(thread->last_end, request)))
		return;
	if (thread->epoch != epoch || thread->owner == NULL ||
	    strlen(thread->owner) != (size_t)(space - owner) ||
	    !begins(owner, thread->owner))
		violate(world,
		    "4: %s is committed by %.4s, epoch %llu, who does not own it",
		    run->id, owner, (unsigned long long)epoch);
	if (version != thread->version + 1)
		violate(world, "3: version %llu of %s after %llu",
		    (unsigned long long)version, thread->id,
		    (unsigned long long)thread->version);
	if (run->over)
		violate(world, "3: %s is committed after its end", run->id);
	thread->version++;
	thread->last_commit = request->args[3];
	check_messages(world, run, thread, request);
	blame_progress(run);
	run->unsaid = false;
	if (!is_end) {
		check_cancel(world, run, epoch);
		return;
	}
	run->over = run->was_over = true;
	thread->owner = NULL;
	thread->last_end = request->args[3];
	if (begins(request->args[6], "success ") && run->next_step != run_steps(run) + 1)
		violate(world, "3: %s succeeded before step %u", run->id, run->next_step);
}

/* fl_result key; prefix, owner, epoch, run, version, call, "value:code" */
static void
on_result(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	struct run_fact *run = run_fact_of(world, request->args[4]);
	struct thread_fact *thread = &world->threads[run->thread];
	struct call_fact *call;
	unsigned value;

	check_stale(world, request, reply, run);
	if (answers(reply, "FENCED"))
		blame_fenced(run, number(request->args[3]));
	if (!answers(reply, "OK"))
		return;
	if (thread->epoch != number(request->args[3]))
		violate(world, "4: a result of %s is stored by a former owner", run->id);
	if (request->count < 8)
		return;
	call = call_fact_of(world, request->args[6]);
	if (call->step != run->next_step) {
		violate(world, "3: %s is stored where step %u is next", call->id,
		    run->next_step);
		return;
	}
	value = (unsigned)number(request->args[7]);
	if (call->stored && call->value != value)
		violate(world, "7: %s is stored as %u, and was as %u", call->id, value,
		    call->value);
	call->stored = call->was_stored = true;
	call->value = value;
	blame_progress(run);
}

static void
on_release(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	struct thread_fact *thread = thread_of(world, request->args[2]);
	unsigned i;

	for (i = 0; i < world->plan.runs; i++) {
		struct run_fact *run = &world->runs[i];

		if (run->thread != (unsigned)(thread - world->threads) || run->over)
			continue;
		if (answers(reply, "FENCED"))
			blame_fenced(run, number(request->args[4]));
		if (answers(reply, "OK") && run->blame.claims > 0)
			blame_released(world, run);
	}
	if (answers(reply, "OK"))
		thread->owner = NULL;
}

static void
on_submit(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	if (reply->type == REPLY_INTEGER)
		run_fact_of(world, request->args[3])->known = true;
}

/* fl_begin key; as fl_claim, epoch, version, run, fields... */
static void
on_begin(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	if (reply->type == REPLY_INTEGER || answers(reply, "OK"))
		run_fact_of(world, request->args[9])->known = true;
	on_claim(world, request, reply);
}

void
check_step(
    struct world *world, const struct redis_request *request, const struct reply *reply)
{
	static const struct {
		const char *function;
		void (*check)(struct world *world, const struct redis_request *request,
		    const struct reply *reply);
	} checks[] = {
		{ "fl_claim", on_claim },
		{ "fl_advance", on_commit },
		{ "fl_result", on_result },
		{ "fl_release", on_release },
		{ "fl_attempts", blame_counted },
		{ "fl_submit", on_submit },
		{ "fl_begin", on_begin },
	};
	size_t i;

	TRACE(world, "%s redis %s %s %s: %s", request->coordinator->peer.process.name,
	    request->function, request->args[0],
	    request->count > 11 ? request->args[8] : "",
	    reply->type == REPLY_ERROR ? reply->text
	    : reply->count > 0 && reply->items[0].type == REPLY_TEXT
		? reply->items[0].text
		: "");
	if (reply->type == REPLY_ERROR)
		violate(world, "%s fails: %s", request->function, reply->text);
	for (i = 0; i < sizeof checks / sizeof checks[0]; i++)
		if (strcmp(checks[i].function, request->function) == 0)
			checks[i].check(world, request, reply);
}
