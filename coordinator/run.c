#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bodies.h"
#include "log.h"

const struct node *
run_node(const struct run *run)
{
	return &run->agent->graph->nodes[run->at];
}

enum go
run_fail_with(struct run *run, const struct fault *fault)
{
	run->fault = fault_from_value(
	    run->arena, value_copy(run->arena, fault_to_value(run->arena, fault)));
	return GO_FAIL;
}

enum go
run_fail(struct run *run, const char *type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	run->fault =
	    fault_new(run->arena, type, "%s", arena_vprintf(run->arena, format, args));
	va_end(args);
	return GO_FAIL;
}

enum go
run_stopped_by(struct run *run, const struct fault *fault)
{
	if (run->cancel_wanted || run->releasing || fiber_cancelled())
		return GO_DROP;
	return run_fail_with(run, fault);
}

void
run_cancel(struct run *run)
{
	run->cancel_wanted = true;
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}

void
run_release(struct run *run)
{
	run->releasing = true;
	/* Its calls go on: who takes the run over asks for them under the same ids. */
	if (run->id != NULL)
		caller_disown(run->coordinator->caller, run->id);
	if (run->fiber != NULL)
		fiber_cancel(run->fiber);
}

/* --- beginning
 * --------------------------------------------------------------------------- */

static const char *
record_text(const struct run *run, const char *name)
{
	return redis_reply_text(value_get(run->record, name));
}

static const struct value *
record_value(const struct run *run, const char *name)
{
	const struct value *bytes = value_get(run->record, name), *value;
	const char *error;

	if (!value_is(bytes, VALUE_BIN) ||
	    value_unpack(run->arena, bytes->text, bytes->size, &value, &error) == -1)
		return NULL;
	return value;
}

/* The storage number of each message in order: order is [[first, last], ...]. */
static const struct value *
ordered_messages(struct run *run, const struct store_claim *claim, uint32_t **numbers_r)
{
	struct value_list list = { .arena = run->arena };
	size_t stored = value_size(claim->messages), count = 0, i;
	uint32_t *numbers = arena_alloc(run->arena, (stored + 1) * sizeof *numbers);

	for (i = 0; i < value_size(claim->order); i++) {
		const struct value *range = value_at(claim->order, i);
		int64_t n = (int64_t)value_number(value_at(range, 0), 0);
		int64_t last = (int64_t)value_number(value_at(range, 1), -1);

		for (; n >= 0 && n <= last && (size_t)n < stored && count < stored; n++) {
			numbers[count++] = (uint32_t)n;
			value_list_add(&list, value_at(claim->messages, (size_t)n));
		}
	}
	*numbers_r = numbers;
	return value_list_end(&list);
}

/* Waits until somebody serves the model and the tools that the agent names, so that a
 * fleet that is starting is no error, and a name that nobody serves is a clear one. */
static enum go
wait_served(struct run *run)
{
	struct coordinator *coordinator = run->coordinator;
	const struct spec *spec = run->agent->spec;
	const struct value *tools = spec_served_tools(run->arena, spec);
	uint64_t deadline = loop_now_ms(coordinator->loop) +
			    (uint64_t)coordinator->settings->served_wait_ms;
	size_t i;

	for (i = 0; i <= value_size(tools); i++) {
		const char *service =
		    i == 0 ? arena_printf(
				 run->arena, SERVICE_MODEL_PREFIX "%s", spec->provider)
			   : arena_printf(run->arena, SERVICE_TOOL_PREFIX "%s",
				 value_text(value_at(tools, i - 1)));
		const char *nearest;
		int waited = catalog_wait(coordinator->catalog, service, deadline);

		if (waited == -1)
			return GO_DROP;
		if (waited == 0)
			continue;
		nearest = catalog_nearest(coordinator->catalog, run->arena, service);
		return run_fail(run, "ValueError",
		    "agent '%s': no worker serves '%s'%s%s%s; start one that does, or "
		    "mend the name",
		    spec->name, service, nearest != NULL ? " (did you mean '" : "",
		    nearest != NULL ? nearest : "", nearest != NULL ? "'?)" : "");
	}
	return GO_ON;
}

static bool
has_tool_message(const struct value *messages)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool"))
			return true;
	return false;
}

static enum go
begin_new(struct run *run)
{
	const struct value *input = record_value(run, "input");
	const char *error;
	enum go go = GO_ON;

	state_step(run->state, arena_printf(run->arena, "%s-0", run->id));
	/* An input that brings tool messages may answer the open calls itself; what is
	 * still open then is answered before the model call. */
	if (!has_tool_message(value_get(input, "messages")))
		go = run_repair(run, run->arena, "input");
	if (go != GO_ON)
		return go;
	if (state_begin(run->state, run->arena, arena_printf(run->arena, "%s-0", run->id),
		input, &error) == -1)
		return run_fail(run, "ValueError", "input: %s", error);
	run->at = run->agent->graph->entry;
	run->step = run->first_step = 0;
	run->dirty = true;
	return GO_ON;
}

/* Goes on where head stands: after a takeover, or when a paused thread is resumed. */
static enum go
begin_at_head(struct run *run, const struct value *head)
{
	const char *next = value_get_text(head, "next");
	long at = next != NULL ? graph_find(run->agent->graph, next) : -1;

	if (at == -1)
		return run_fail(run, "RuntimeError",
		    "the checkpoint goes on at '%s', which this agent has not",
		    next != NULL ? next : "?");
	run->at = (size_t)at;
	run->step = (uint64_t)value_get_int(head, "step", 0);
	run->first_step = (uint64_t)value_get_int(head, "first_step", 0);
	return GO_ON;
}

static enum go
begin_resume(struct run *run, const struct value *head)
{
	if (head == NULL || !value_text_is(value_get(head, "status"), "interrupted"))
		return run_fail(run, "ValueError",
		    "thread '%s' waits for nothing: there is no interrupt to resume",
		    run->thread);
	run->passed_interrupt =
	    value_text_is(value_get(head, "paused"), "interrupt_before");
	if (begin_at_head(run, head) != GO_ON)
		return GO_FAIL;
	run->first_step = run->step;
	run->dirty = true;
	return GO_ON;
}

/* The storage numbers of messages that no event has told yet, as first and count. */
static const struct value *
untold_messages(struct run *run)
{
	struct state_changes changes;
	uint32_t first = run->numbered;

	state_changes(run->state, run->batch, &changes);
	run->numbered = changes.first_number + (uint32_t)value_size(changes.messages);
	return value_map(run->batch, "first", value_int(run->batch, first), "count",
	    value_int(run->batch, run->numbered - first), NULL);
}

static void
started_event(struct run *run)
{
	struct arena *batch = run->batch;
	const struct spec *spec = run->agent->spec;

	run_event(run, "started",
	    value_map_merge(batch,
		value_map(batch, "agent", value_str(batch, spec->name), "version",
		    value_str(batch, spec->version), "thread",
		    value_str(batch, run->thread), "coordinator",
		    value_str(batch, run->coordinator->settings->common.name), NULL),
		untold_messages(run)));
}

/* Loads agent and state. The run is then ready to advance at run->at. */
static enum go
begin(struct run *run, const struct store_claim *claim)
{
	const struct value *options = record_value(run, "options");
	const struct value *head = claim->head;
	const char *agent = record_text(run, "agent");
	const char *version = record_text(run, "version");
	const char *error = "no agent";
	const struct value *messages;
	uint32_t *numbers = NULL;
	bool resume = value_has(options, "resume");
	enum go go;
	bool continues =
	    claim->recovered && value_text_is(value_get(head, "run"), run->id);

	if (resume && value_get_text(head, "version") != NULL)
		version = value_get_text(head, "version"); /* pinned with the first run */
	if (agent != NULL && version != NULL)
		run->agent = agents_get(
		    run->coordinator->agents, run->arena, agent, version, &error);
	if (run->agent == NULL)
		return fiber_cancelled() ? GO_DROP
					 : run_fail(run, "ValueError", "%s", error);
	run->context = value_get(options, "context");
	run->stream = value_get_bool(options, "stream", false);
	run->state = state_new(run->agent->spec);
	messages = ordered_messages(run, claim, &numbers);
	state_restore(run->state, messages, numbers, claim->fields,
	    (uint32_t)value_size(claim->messages));
	run->numbered = (uint32_t)value_size(claim->messages);
	if (continues)
		return begin_at_head(run, head);
	go = resume ? begin_resume(run, head) : begin_new(run);
	started_event(run);
	return go;
}

/* --- advancing
 * --------------------------------------------------------------------------- */

static bool
listed(const struct value *names, const struct node *node)
{
	return value_contains(names, node->name);
}

static enum go
interrupt_at(struct run *run, const char *when, const char *node)
{
	run->paused = when;
	run_event(run, "interrupted",
	    value_map(run->batch, "when", value_str(run->batch, when), "node",
		value_str(run->batch, node), NULL));
	return run_commit_end(run, "interrupted", value_empty_array());
}

static enum go
execute(struct run *run, struct step_result *result)
{
	switch (run_node(run)->kind) {
	case NODE_HOOK:
		return run_hook_node(run, result);
	case NODE_MODEL:
		return run_model_node(run, result);
	case NODE_TOOLS:
		return run_tools_node(run, result);
	case NODE_END:
	default:
		return GO_FAIL;
	}
}

static enum go
apply(struct run *run, const struct step_result *result)
{
	size_t count = result->updates.count, i;
	struct state_write *writes =
	    arena_alloc(run->scratch, (count + 1) * sizeof *writes);
	const char *error;

	for (i = 0; i < count; i++) {
		writes[i].writer = value_text(result->writers.items[i]);
		writes[i].update = result->updates.items[i];
	}
	if (state_apply(run->state, run->scratch, writes, count, &error) == -1)
		return run_fail(run, "InvalidUpdateError", "%s", error);
	run->dirty = true;
	return GO_ON;
}

static long
route(struct run *run, const struct step_result *result, const char **error_r)
{
	struct step_outcome outcome = {
		.messages = state_messages(run->state),
		.has_structured_response =
		    state_field(run->state, "structured_response") != NULL,
		.all_direct = result->all_direct,
		.jump = result->jump,
	};
	long next;

	if (result->go_to != NULL) {
		next = graph_find(run->agent->graph, result->go_to);
		if (next == -1)
			*error_r = arena_printf(run->scratch,
			    "a tool's command goes to '%s', which is no node of agent "
			    "'%s'",
			    result->go_to, run->agent->spec->name);
		return next;
	}
	return graph_next(run->scratch, run->agent->graph, run->agent->spec, run->at,
	    &outcome, error_r);
}

/* What the step's event tells: the fields it wrote but private ones, and the storage
 * numbers of its new messages (they are stored once, in the thread). */
static void
step_event(struct run *run, const struct node *node, const struct step_result *result)
{
	struct value_fields shown = { .arena = run->batch };
	const struct value *output = state_output(run->state, run->scratch);
	size_t i, j;

	for (i = 0; i < result->updates.count; i++) {
		const struct value *update = result->updates.items[i];

		for (j = 0; j < value_size(update); j++) {
			const char *name = update->pairs[j].key->text;
			const struct value *now = value_get(output, name);

			if (now != NULL)
				value_fields_set(
				    &shown, name, value_copy(run->batch, now));
		}
	}
	run_event(run, "step",
	    value_map_merge(run->batch,
		value_map(run->batch, "step", value_int(run->batch, (int64_t)run->step),
		    "node", value_str(run->batch, node->name), "fields",
		    shown.count > 0 ? value_fields_end(&shown) : NULL, "notes",
		    result->notes != NULL ? value_copy(run->batch, result->notes) : NULL,
		    NULL),
		untold_messages(run)));
}

/* One superstep: execute, apply, route. */
static enum go
superstep(struct run *run)
{
	const struct node *node = run_node(run);
	struct step_result result = {
		.writers = { .arena = run->scratch },
		.updates = { .arena = run->scratch },
	};
	const char *error = NULL;
	long next;
	enum go go;

	run->step++;
	run->hook_calls = 0;
	state_step(
	    run->state, arena_printf(run->scratch, "%s-%" PRIu64, run->id, run->step));
	go = execute(run, &result);
	if (go != GO_ON)
		return go;
	go = apply(run, &result);
	if (go != GO_ON)
		return go;
	next = route(run, &result, &error);
	if (next == -1)
		return run_fail(run, "ValueError", "%s", error);
	step_event(run, node, &result);
	run->at = (size_t)next;
	run->passed_interrupt = false;
	if (listed(run->agent->spec->interrupt_after, node))
		return interrupt_at(run, "interrupt_after", node->name);
	return GO_ON;
}

static enum go
advance_once(struct run *run)
{
	const struct spec *spec = run->agent->spec;
	const struct node *node = run_node(run);

	if (run->cancel_wanted || run->releasing)
		return GO_DROP;
	if (run->step - run->first_step >= (uint64_t)spec->recursion_limit)
		return run_fail(run, "GraphRecursionError",
		    "the run took %" PRIu64 " steps without coming to its end; raise "
		    "recursion_limit (now %" PRId64 ") if it needs more",
		    run->step - run->first_step, spec->recursion_limit);
	if (node->kind == NODE_END)
		return run_commit_end(run, "success", NULL);
	if (!run->passed_interrupt && listed(spec->interrupt_before, node))
		return interrupt_at(run, "interrupt_before", node->name);
	return superstep(run);
}

static enum go
advance(struct run *run)
{
	enum go go = GO_ON;

	while (go == GO_ON) {
		run->scratch = arena_new();
		go = advance_once(run);
		arena_destroy(&run->scratch);
		if (go == GO_ON)
			state_compact(run->state);
	}
	return go;
}

/* --- ending
 * ------------------------------------------------------------------------------ */

/* Ends a run that failed, was cancelled, or is given back. The fiber may be cancelled:
 * what is left is bounded and must be done all the same. */
static void
end(struct run *run, enum go go)
{
	fiber_shield(true);
	if (go == GO_DROP && run->cancel_wanted && !run->releasing) {
		run_fail(run, "CancelledError", "cancelled");
		if (run->state != NULL)
			run_repair(run, run->arena, "cancel");
		go = run_commit_end(run, "cancelled", NULL);
	} else if (go == GO_FAIL) {
		log_info("run=%s thread=%s error=%s: %s", run->id, run->thread,
		    run->fault->type, run->fault->message);
		go = run_commit_end(run, "error", NULL);
	}
	if (go == GO_DROP)
		caller_disown(run->coordinator->caller, run->id);
	if (go == GO_DROP && run->releasing)
		store_release(
		    run->coordinator->store, run->arena, run->thread, run->epoch);
	fiber_shield(false);
}

static void
forget(struct run *run)
{
	state_destroy(&run->state);
	agents_unref(run->coordinator->agents, &run->agent);
	arena_destroy(&run->scratch);
	arena_destroy(&run->batch);
	arena_destroy(&run->arena);
	run->record = run->context = run->results = NULL;
	run->fault = NULL;
	run->id = run->paused = NULL;
	run->recovered = run->stream = run->passed_interrupt = run->dirty = false;
}

static void
start_batch(struct run *run)
{
	run->batch = arena_new();
	run->events = (struct value_list){ .arena = run->batch };
	run->answered = (struct value_list){ .arena = run->batch };
}

/* Claims what waits on the thread. Returns true when a run was advanced and there may be
 * another. */
static bool
run_next(struct run *run)
{
	struct coordinator *coordinator = run->coordinator;
	struct store_claim claim;
	enum store_status status;
	enum go go;

	run->arena = arena_new();
	status = store_claim(coordinator->store, run->arena, run->thread,
	    coordinator_owner(coordinator), LEASE_MS, &claim);
	if (status == STORE_FAILED)
		log_warnx("thread=%s not claimed: %s", run->thread,
		    store_error(coordinator->store));
	if (status == STORE_QUARANTINED)
		log_warnx("run=%s thread=%s quarantined", claim.run, run->thread);
	if (status != STORE_OK) {
		arena_destroy(&run->arena);
		return status == STORE_QUARANTINED;
	}
	start_batch(run);
	run->id = claim.run;
	run->epoch = claim.epoch;
	run->version = claim.version;
	run->recovered = claim.recovered;
	run->record = claim.record;
	run->results = claim.results;
	run->commits = 0;
	run->at = 0;
	run->step = run->first_step = 0;
	run->results_stored = value_size(claim.results) > 0;
	run->seq = (uint64_t)strtoull(record_text(run, "events"), NULL, 10);
	if (claim.recovered)
		log_info("run=%s thread=%s taken over epoch=%" PRIu64, run->id,
		    run->thread, run->epoch);
	go = begin(run, &claim);
	if (go == GO_ON)
		go = wait_served(run);
	if (go == GO_ON)
		go = advance(run);
	end(run, go);
	forget(run);
	return go == GO_END || go == GO_FAIL || run->cancel_wanted;
}

void
run_main(void *arg)
{
	struct run *run = arg;
	struct coordinator *coordinator = run->coordinator;
	bool more = true;

	run->fiber = fiber_current();
	while (more && !run->releasing && !run->cancel_wanted)
		more = run_next(run);
	coordinator->owned[run->shard]--;
	zhashx_delete(coordinator->runs, run->thread);
	/* A cancelled fiber cannot wait any more: what is next on the thread gets
	 * another. */
	if (run->cancel_wanted && !run->releasing)
		coordinator_claim(coordinator, run->thread);
	free(run->thread);
	free(run);
}
