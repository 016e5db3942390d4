#include "job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "command_tool.h"
#include "fiber.h"
#include "function_tool.h"
#include "bounds.h"
#include "log.h"
#include "mcp_tool.h"
#include "memory.h"
#include "model_wish.h"
#include "remote_tool.h"
#include "seat.h"
#include "store_wish.h"

struct job {
	struct job_world *world;
	struct tool_table *table; /* as it was when the job began */
	struct kept_chain *kept;
	struct seat *seat;        /* or NULL */
	struct worker_call *call; /* NULL: its place is kept, or lost (peer/seat.h) */
	struct arena *arena;      /* the chain's: the call's, or its seat's */
	bool is_for_ours;         /* it came by way of tool:<name> */
	uint64_t end_ms;
	unsigned model_calls, store_calls, tool_calls;
};

static uint64_t
left_ms(const struct job *job)
{
	uint64_t now_ms = loop_now_ms(job->world->loop);

	return now_ms < job->end_ms ? job->end_ms - now_ms : 1;
}

/* A middleware that wraps the tool may call it more than once: the place in the gate is
 * taken for each. */
static struct tool_result *
run_entry(struct job *job, struct tool_entry *entry, struct tool_request *request)
{
	struct loop *loop = job->world->loop;
	struct tool_result *result =
	    entry->command == NULL ? chain_tool_unfit(request, entry->definition) : NULL;

	if (result != NULL)
		return result;
	if (gate_enter(entry->gate) == -1)
		return tool_fail(request, fault_cancelled(tool_arena(request)));
	if (entry->command != NULL)
		result = command_tool_run(loop, entry->command, request);
	else if (entry->server != NULL)
		result = mcp_tool_run(loop, entry->server, entry->remote, request);
	else
		result = function_tool_run(loop, entry->function, request);
	gate_leave(entry->gate);
	return result;
}

static struct tool_result *
run_brought(struct job *job, const struct tool *tool, struct tool_request *request)
{
	struct tool_result *result = chain_tool_unfit(request, NULL);

	return result != NULL ? result
			      : function_tool_run(job->world->loop, tool, request);
}

/* The coordinator says whose tool is meant: tool:<name> is ours, which the agent lists; for
 * `tools`, one that the agent's middleware brings comes before ours of the same name. */
static int
on_run(void *arg, struct tool_request *request, struct tool_result **result_r)
{
	struct job *job = arg;
	const char *name = tool_name(request);
	struct tool_entry *entry = tool_table_find(job->table, name);
	const struct tool *brought = chain_brought_tool(request);

	if (entry != NULL && (brought == NULL || job->is_for_ours))
		*result_r = run_entry(job, entry, request);
	else if (brought != NULL)
		*result_r = run_brought(job, brought, request);
	else if (remote_tool_is(job->call, name))
		*result_r =
		    remote_tool_run(job->call, request, left_ms(job), &job->tool_calls);
	else
		return -1;
	return 0;
}

static const struct value *
on_find(void *arg, const char *name)
{
	struct job *job = arg;
	struct tool_entry *entry = tool_table_find(job->table, name);

	return entry == NULL ? NULL : entry->definition;
}

/* What was answered to the call may be looked at when another one is there. */
static const struct value *
answered(const struct job *job, const struct value *body)
{
	return body == NULL || job->arena == job->call->arena
		   ? body
		   : value_copy(job->arena, body);
}

static const struct value *
on_call_model(void *arg, struct tool_request *request, const struct value *wish)
{
	struct job *job = arg;

	(void)request;
	return answered(job, model_wish_send(job->call, wish, ++job->model_calls,
				 left_ms(job), WIRE_INTERNAL));
}

static const struct value *
on_store(void *arg, const struct value *op)
{
	struct job *job = arg;

	return answered(
	    job, store_wish_send(job->call, op, ++job->store_calls, left_ms(job)));
}

static uint64_t
on_left(void *arg)
{
	return left_ms(arg);
}

static void
on_hook(void *arg, const char *node, bool failed, uint64_t us)
{
	const struct job *job = arg;

	if (job->call == NULL) /* its place is lost (seat.h) */
		return;
	log_debug("hook call=%s node=%s failed=%d us=%" PRIu64,
	    job->call->header->call_id, node, failed, us);
}

static const struct value *
on_await(void *arg, const struct value *ask, size_t index)
{
	return seat_await(((struct job *)arg)->seat, ask, index);
}

static bool
on_streams(void *arg)
{
	const struct job *job = arg;

	return job->call != NULL &&
	       (job->world->told != NULL || worker_streams(job->call));
}

static void
on_stream(void *arg, const char *middleware, const struct value *value)
{
	const struct job *job = arg;

	if (job->world->told != NULL)
		job->world->told(value);
	else if (job->call != NULL)
		worker_stream(job->call, middleware, value);
}

static const struct value *
run_chain(struct job *job, struct arena *arena, const struct value *profile,
    const struct value *request)
{
	const struct header *header = job->call->header;
	struct tool_backend backend = { on_run, on_find, on_call_model, on_store, job,
		job->world->worker, on_left, on_await, on_streams, on_stream };
	struct chain chain = *job->kept->chain;

	job->arena = arena;
	chain.trace = log_is_debug() ? on_hook : NULL;
	chain.trace_arg = job;
	return chain_tool_call(arena, &chain, profile, request,
	    header->idempotency_key != NULL ? arena_strdup(arena, header->idempotency_key)
					    : arena_strdup(arena, header->call_id),
	    &backend);
}

static const struct value *
without_chain(struct worker_call *call, const char *reason)
{
	struct fault *fault = fault_new(call->arena, "RuntimeError",
	    "this tool worker cannot run the agent's middleware: %s", reason);

	fault->retryable = false;
	fault->fatal = true;
	log_warnx("refused call=%s: %s", call->header->call_id, reason);
	return value_map(call->arena, "fault", fault_to_value(call->arena, fault), NULL);
}

static void
log_job(const struct worker_call *call, const struct value *body, uint64_t started_us)
{
	const struct value *fault = value_get(body, "fault");
	const char *type = value_get_text(fault, "type");
	const char *tool = value_get_text(value_get(call->request, "tool_call"), "name");

	log_debug("done call=%s tool=%s attempt=%" PRIu64 " outcome=%s us=%" PRIu64,
	    call->header->call_id, tool == NULL ? "?" : tool, call->header->attempt,
	    type == NULL ? "ok" : type, loop_now_us() - started_us);
}

/* --- calls ----------------------------------------------------------------------------- */

static void
attach(void *arg, struct worker_call *call)
{
	struct job *job = arg;
	uint64_t deadline_ms = call != NULL ? call->header->deadline_ms : 0;

	job->call = call;
	job->end_ms = loop_now_ms(job->world->loop) +
		      (deadline_ms == 0 ? CALL_DEADLINE_MS : deadline_ms);
	job->is_for_ours = call != NULL && call->header->service != NULL &&
			   strncmp(call->header->service, SERVICE_TOOL_PREFIX,
			       strlen(SERVICE_TOOL_PREFIX)) == 0;
}

static const struct value *
run_in_seat(void *arg, struct seat *seat, struct arena *arena,
    const struct value *profile, const struct value *request)
{
	struct job *job = arg;

	job->seat = seat;
	if (seat != NULL)
		fiber_note(job->call->header->service, job->call->header->call_id);
	return run_chain(job, arena, profile, request);
}

static void
done(void *arg)
{
	struct job *job = arg;

	tool_table_release(&job->table);
	chains_release(job->world->chains, &job->kept);
	free(job);
}

static const struct value *
run_job(struct job *job, struct worker_call *call)
{
	const struct seat_work work = { job, run_in_seat, attach, done };
	const struct value *body;

	/* What must not run twice goes on as any other, so that what becomes of it is known. */
	if (job->world->seats != NULL && (call->header->flags & WIRE_ONCE) == 0 &&
	    chain_may_wait(job->kept->chain,
		value_get_text(value_get(call->request, "tool_call"), "name")))
		return seat_begin(job->world->seats, call, &work);
	attach(job, call);
	body = run_chain(job, call->arena, call->profile, call->request);
	done(job);
	return body;
}

const struct value *
job_answer(struct job_world *world, struct worker_call *call)
{
	uint64_t started_us = loop_now_us();
	const struct value *body = seat_go_on(world->seats, call);
	struct kept_chain *kept;
	const char *reason;
	struct job *job;

	if (body == NULL) {
		kept = chains_hold(world->chains, call->profile_number, call->profile,
		    call->arena, &reason);
		if (kept == NULL)
			return without_chain(call, reason);
		job = xcalloc(1, sizeof *job);
		job->world = world;
		job->kept = kept;
		job->table = tool_table_hold(world->table);
		body = run_job(job, call);
	}
	log_job(call, body, started_us);
	return body;
}
