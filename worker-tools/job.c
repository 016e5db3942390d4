#include "job.h"

#include <inttypes.h>
#include <string.h>

#include "bodies.h"
#include "command_tool.h"
#include "function_tool.h"
#include "bounds.h"
#include "log.h"
#include "model_wish.h"
#include "registry.h"
#include "remote_tool.h"
#include "store_wish.h"

struct job {
	struct job_world *world;
	struct tool_table *table; /* as it was when the job began */
	struct worker_call *call;
	bool is_for_ours; /* it came by way of tool:<name> */
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
	result = entry->command != NULL
		     ? command_tool_run(loop, entry->command, request)
		     : function_tool_run(loop, entry->function, request);
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
	const struct tool *brought =
	    tool_middleware(request) == NULL ? NULL : registry_tool(name);

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

static const struct value *
on_call_model(void *arg, struct tool_request *request, const struct value *wish)
{
	struct job *job = arg;

	(void)request;
	return model_wish_send(
	    job->call, wish, ++job->model_calls, left_ms(job), WIRE_INTERNAL);
}

static const struct value *
on_store(void *arg, const struct value *op)
{
	struct job *job = arg;

	return store_wish_send(job->call, op, ++job->store_calls, left_ms(job));
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

	log_debug("hook call=%s node=%s failed=%d us=%" PRIu64,
	    job->call->header->call_id, node, failed, us);
}

static const struct value *
run_chain(struct job *job, const struct chain *shared)
{
	struct worker_call *call = job->call;
	const struct header *header = call->header;
	struct tool_backend backend = { on_run, on_find, on_call_model, on_store, job,
		job->world->worker, on_left };
	struct chain chain = *shared;

	chain.trace = log_is_debug() ? on_hook : NULL;
	chain.trace_arg = job;
	return chain_tool_call(call->arena, &chain, call->profile, call->request,
	    header->idempotency_key != NULL ? header->idempotency_key : header->call_id,
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
log_job(const struct job *job, const struct value *body, uint64_t started_us)
{
	const struct value *fault = value_get(body, "fault");
	const char *type = value_get_text(fault, "type");
	const char *tool =
	    value_get_text(value_get(job->call->request, "tool_call"), "name");

	log_debug("done call=%s tool=%s attempt=%" PRIu64 " outcome=%s us=%" PRIu64,
	    job->call->header->call_id, tool == NULL ? "?" : tool,
	    job->call->header->attempt, type == NULL ? "ok" : type,
	    loop_now_us() - started_us);
}

const struct value *
job_answer(struct job_world *world, struct worker_call *call)
{
	uint64_t started_us = loop_now_us(), deadline_ms = call->header->deadline_ms;
	struct job job = { .world = world, .call = call };
	struct kept_chain *kept;
	const struct value *body;
	const char *reason;

	kept = chains_hold(
	    world->chains, call->profile_number, call->profile, call->arena, &reason);
	if (kept == NULL)
		return without_chain(call, reason);
	job.end_ms = loop_now_ms(world->loop) +
		     (deadline_ms == 0 ? CALL_DEADLINE_MS : deadline_ms);
	job.is_for_ours = call->header->service != NULL &&
			  strncmp(call->header->service, SERVICE_TOOL_PREFIX,
			      strlen(SERVICE_TOOL_PREFIX)) == 0;
	job.table = tool_table_hold(world->table);
	body = run_chain(&job, kept->chain);
	tool_table_release(&job.table);
	chains_release(world->chains, &kept);
	log_job(&job, body, started_us);
	return body;
}
