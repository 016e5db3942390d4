/* owner_commit: after coordinator/run_commit.c. */
#include "owner_private.h"
#include "planted.h"

static void on_committed(struct redis_request *request, const struct reply *reply);

/* What `look` of the thread is behind the commit of that number, 0: behind the claim. */
static const char *
gate_of(struct held_run *run, uint64_t version, unsigned number)
{
	struct world *world = world_of(run);

	return world_text(world, "%s %llu %llu %s", owner_name(run),
	    (unsigned long long)run->epoch, (unsigned long long)version,
	    number > 0 ? world_text(world, "%u", number) : "");
}

/* How many messages a commit has: those of the superstep that was applied last, one a call, or what
 * was submitted. */
static unsigned
message_count(const struct held_run *run)
{
	if (!run->dirty)
		return 0;
	return run->step == 0 ? 1 : run->answered_count;
}

static void
add_messages(struct held_run *run)
{
	struct world *world = world_of(run);
	size_t *count = &run->commit_arg_count;
	unsigned i;

	if (!run->dirty)
		return;
	if (run->step == 0) {
		run->commit_args[(*count)++] = world_text(world, "%s.in", run->fact->id);
		return;
	}
	for (i = 0; i < run->answered_count; i++)
		run->commit_args[(*count)++] =
		    world_text(world, "%s=%u:%u", run->answered[i].fact->id,
			run->answered[i].value, (unsigned)run->answered[i].code);
}

/* commit(): the same arguments however often it is sent. An event is always there. */
void
owner_commit(struct held_run *run)
{
	struct world *world = world_of(run);
	const char *status = run->state == RUN_ENDING ? run->status : "running";
	const char *gate = gate_of(run, run->version, run->commits);
	const char *const head[] = {
		thread_of(run)->key,
		SIM_PREFIX,
		gate,
		gate_of(run, run->version + 1, ++run->commits),
		world_text(world, "%llu", (unsigned long long)run->version + 1),
		run->fact->id,
		world_text(world, "%s %d %u 0 1", status, run->results_stored ? 1 : 0,
		    message_count(run)),
		world_text(world, "%s/%u", run->fact->id, run->step),
		"order",
		"checkpoint",
	};

	memcpy(run->commit_args, head, sizeof head);
	run->commit_arg_count = sizeof head / sizeof head[0];
	add_messages(run);
	run->commit_args[run->commit_arg_count++] =
	    world_text(world, "%llu-0", (unsigned long long)run->last_event + 1);
	run->commit_args[run->commit_arg_count++] = "event";
	if (PLANTED(ACKNOWLEDGE_EARLY)) {
		unsigned i;

		for (i = 0; i < run->answered_count; i++)
			tell_ledger(run, LEDGER_STORED, run->answered[i].fact->id);
	}
	run->asked_ms = world->now_ms;
	ask(run, "fl_advance", run->commit_args, run->commit_arg_count, on_committed,
	    run);
}

/* committed() */
static void
committed(struct held_run *run, const struct reply *reply)
{
	bool is_short = reply->type == REPLY_INTEGER && reply->integer == 1;
	unsigned i;

	run->version = is_short ? run->version + 1 : (uint64_t)reply->items[1].integer;
	run->last_event++;
	run->owned_ms = run->asked_ms;
	run->dirty = run->results_stored = false;
	for (i = 0; i < run->answered_count; i++)
		tell_ledger(run, LEDGER_STORED, run->answered[i].fact->id);
	run->answered_count = 0;
	memset(run->sent, 0, sizeof run->sent);
	if (is_short)
		return;
	if (reply->items[2].integer != 0)
		run->cancel_wanted = true;
	if (reply->items[3].integer > 0)
		run->more_wait = true;
}

static void
on_committed(struct redis_request *request, const struct reply *reply)
{
	struct held_run *run = request->arg;
	bool ended = run->state == RUN_ENDING;

	if (request->arg_life != run->life)
		return;
	if (reply == NULL) { /* nobody knows: again, under the same id */
		if (PLANTED(COMMIT_ID_NEW))
			run->commit_args[3] =
			    gate_of(run, run->version + 1, ++run->commits);
		ask(run, "fl_advance", run->commit_args, run->commit_arg_count,
		    on_committed, run);
		return;
	}
	if (REFUSED(reply)) {
		if (PLANTED(FENCED_KEEPS) && !ended) {
			owner_call(run);
			return;
		}
		owner_drop(run);
		return;
	}
	committed(run, reply);
	if (ended)
		owner_leave(run, false);
	else if (must_stop(run))
		owner_stop(run);
	else
		owner_call(run);
}
