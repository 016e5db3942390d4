#include "run_trace.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"
#include "run.h"

/* Where a run stands: above it, as its record says, or where it begins a trace. Returns whether there is something
 * above. */
static bool
place_run(const struct coordinator *coordinator, const char *run, const char *above,
    struct trace_context *context_r, uint8_t parent_r[SPAN_ID_BYTES])
{
	bool is_below = trace_context_read(above, context_r) == 0;

	if (is_below) {
		memcpy(parent_r, context_r->span, SPAN_ID_BYTES);
	} else {
		trace_id_make(run, context_r->trace);
		context_r->is_sampled =
		    trace_is_sampled(context_r->trace, coordinator->trace_ratio);
	}
	trace_span_id_make(context_r->span, "run %s", run);
	return is_below;
}

/* --- the run -------------------------------------------------------------------------- */

void
run_trace_begin(struct run *run)
{
	const struct coordinator *coordinator = run->coordinator;
	const char *started = run_record_text(run, "started");
	struct trace_context context;
	uint8_t parent[SPAN_ID_BYTES];
	bool is_below;
	int64_t started_ms;

	run->trace = NULL;
	if (coordinator->trace == NULL)
		return;
	run->trace = xcalloc(1, sizeof *run->trace);
	is_below = place_run(
	    coordinator, run->id, run_record_text(run, "traceparent"), &context, parent);
	span_begin(&run->trace->root, SPAN_RUN, NULL, &context, is_below ? parent : NULL);
	/* Redis's clock may be ahead of ours, its record be damaged. */
	started_ms = started != NULL ? strtoll(started, NULL, 10) : 0;
	if (started_ms > 0 && started_ms <= run->trace->root.begin_ns / 1000000)
		run->trace->started_ns = started_ms * 1000000;
}

void
run_trace_forget(struct run *run)
{
	free(run->trace);
	run->trace = NULL;
}

static const char *
agent_name(const struct run *run)
{
	return run->agent != NULL ? run->agent->spec->name
				  : run_record_text(run, "agent");
}

/* What all of a run's spans say. */
static void
describe(const struct run *run, struct span *span)
{
	span_text(span, ATTRIBUTE_AGENT, agent_name(run));
	span_text(span, ATTRIBUTE_CONVERSATION, run->thread);
	span_text(span, ATTRIBUTE_RUN, run->id);
	span_number(span, ATTRIBUTE_STEP, (int64_t)run->step);
}

void
run_trace_end(struct run *run, const char *status)
{
	struct span *root;

	if (run->trace == NULL)
		return;
	root = &run->trace->root;
	span_end(root);
	if (run->trace->started_ns > 0)
		root->begin_ns = run->trace->started_ns;
	root->what = agent_name(run);
	span_text(root, ATTRIBUTE_OPERATION, "invoke_agent");
	span_text(root, ATTRIBUTE_STATUS, status);
	describe(run, root);
	span_fail(root, run->fault != NULL ? run->fault->type : NULL);
	trace_put(run->coordinator->trace, root);
}

/* --- its calls ------------------------------------------------------------------------ */

static void
describe_tool(struct span *span, const struct run_call *call)
{
	const struct value *tool_call = value_get(call->request, "tool_call");

	span->what = value_get_text(tool_call, "name");
	span_text(span, ATTRIBUTE_OPERATION, "execute_tool");
	span_text(span, ATTRIBUTE_TOOL_NAME, span->what);
	span_text(span, ATTRIBUTE_TOOL_CALL, value_get_text(tool_call, "id"));
}

static void
describe_model(struct span *span, struct arena *arena, const struct run_call *call)
{
	const char *task = value_get_text(call->profile, "task");

	span_model(span, arena, value_get_text(call->profile, "model"));
	span_text(span, ATTRIBUTE_OPERATION, task != NULL ? task : "chat");
}

void
run_trace_call(struct run *run, struct arena *arena, const struct run_call *call,
    struct run_trace_call *traced_r, struct call_request *request)
{
	struct trace_context context = run->trace->root.context;
	struct span *span = &traced_r->span;

	trace_span_id_make(context.span, "call %s", call->id);
	trace_context_write(&context, traced_r->traceparent);
	request->traceparent = traced_r->traceparent;
	span_begin(span, call->is_tool ? SPAN_TOOL : SPAN_CHAT, NULL, &context,
	    run->trace->root.context.span);
	if (call->is_tool)
		describe_tool(span, call);
	else
		describe_model(span, arena, call);
	describe(run, span);
	span_text(span, ATTRIBUTE_CALL, call->id);
}

void
run_trace_answered(
    struct run *run, struct run_trace_call *traced, const struct value *outcome)
{
	struct span *span = &traced->span;

	/* Who has it now goes on with it, and tells of it. */
	if (outcome == NULL && (run->releasing || !fiber_cancelled()))
		return;
	span_end(span);
	if (outcome == NULL)
		span_fail(span, "CancelledError");
	else if (!value_has(outcome, "whole")) /* it is asked again, and has not failed */
		span_fail(span, value_get_text(value_get(outcome, "fault"), "type"));
	trace_put(run->coordinator->trace, span);
}

/* --- runs that it begins -------------------------------------------------------------- */

static const struct value *
written(struct arena *arena, const struct trace_context *context)
{
	char text[TRACEPARENT_BYTES + 1];

	trace_context_write(context, text);
	return value_str(arena, text);
}

const struct value *
run_trace_child(const struct run *run, struct arena *arena, const char *call)
{
	struct trace_context context;

	if (run->trace == NULL)
		return NULL;
	context = run->trace->root.context;
	if (call != NULL)
		trace_span_id_make(context.span, "call %s", call);
	return written(arena, &context);
}

const struct value *
run_trace_of_parent(
    struct coordinator *coordinator, struct arena *arena, const char *parent)
{
	struct store *store = coordinator->store;
	const struct value *record = NULL;
	const char *thread;
	struct trace_context context;
	uint8_t above[SPAN_ID_BYTES];

	/* Without it the run is not less of a run: it begins a trace of its own. */
	if (store_run_thread(store, arena, parent, &thread) != STORE_OK ||
	    store_run(store, arena, thread, parent, &record) != STORE_OK) {
		log_debug("parent=%s not found for its trace", parent);
		return NULL;
	}
	place_run(
	    coordinator, parent, value_get_text(record, "traceparent"), &context, above);
	return written(arena, &context);
}
