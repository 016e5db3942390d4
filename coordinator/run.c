#include "run.h"

#include <assert.h>
#include <czmq.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "arrival.h"
#include "awaited.h"
#include "chat.h"
#include "log.h"
#include "suspects.h"
#include "webhooks.h"

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

/* --- advancing ---------------------------------------------------------------------- */

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
	run->dirty = run->applied = true;
	return GO_ON;
}

/* Whether the step may lead where it wants to: asked before it is applied, so that a run which
 * fails of it ends with the state before. */
static enum go
check_route(struct run *run, const struct step_result *result)
{
	const struct agent *agent = run->agent;
	const char *error;

	if (graph_check_jump(run->scratch, agent->graph, run->at, result->jump, &error) ==
	    -1)
		return run_fail(run, "ValueError", "%s", error);
	return GO_ON;
}

/* LangChain's tools node fails without an AI message; one whose calls are all answered just has nothing to do. */
static bool
jumps_to_no_calls(const struct run *run, const struct step_result *result)
{
	return result->jump != NULL && strcmp(result->jump, "tools") == 0 &&
	       chat_last_ai(state_messages(run->state)) == -1;
}

static size_t
route(struct run *run, const struct step_result *result)
{
	struct step_outcome outcome = {
		.messages = state_messages(run->state),
		.has_structured_response =
		    state_field(run->state, "structured_response") != NULL,
		.all_direct = result->all_direct,
		.jump = result->jump,
	};
	const char *error;
	long next = result->go_to != NULL
			? graph_find(run->agent->graph, result->go_to)
			: graph_next(run->scratch, run->agent->graph, run->agent->spec,
			      run->at, &outcome, &error);

	assert(next != -1); /* check_route */
	return (size_t)next;
}

/* What the step's event tells: the fields it wrote but private ones, and the storage
 * numbers of its new messages (they are stored once, in the thread). */
static void
step_event(struct run *run, const struct node *node, const struct step_result *result)
{
	struct arena *batch = run->batch;
	struct value_fields shown = { .arena = run->scratch };
	const struct value *output = state_output(run->state, run->scratch);
	size_t i, j;

	for (i = 0; i < result->updates.count; i++) {
		const struct value *update = result->updates.items[i];

		for (j = 0; j < value_size(update); j++) {
			const char *name = update->pairs[j].key->text;
			const struct value *now = value_get(output, name);

			if (now != NULL)
				value_fields_set(&shown, name, now);
		}
	}
	run_event(run, "step",
	    value_map_merge(batch,
		value_map_of(batch,
		    (const struct value_pair[]){
			{ VALUE_TEXT("step"), value_int(batch, (int64_t)run->step) },
			{ VALUE_TEXT("node"), value_str(batch, node->name) },
			{ VALUE_TEXT("fields"),
			    shown.count > 0 ? value_copy(batch, value_fields_end(&shown))
					    : NULL },
			{ VALUE_TEXT("notes"), value_copy(batch, result->notes) },
		    },
		    4),
		run_untold_messages(run)));
}

/* With `debug`: all that was written, by whom. Step events keep private fields to themselves. */
static void
debug_event(struct run *run, const struct node *node, const struct step_result *result)
{
	struct value_list writes = { .arena = run->batch };
	size_t i;

	if (!run->agent->spec->debugs)
		return;
	for (i = 0; i < result->updates.count; i++)
		value_list_add(&writes,
		    value_map(run->batch, "writer",
			value_copy(run->batch, result->writers.items[i]), "update",
			value_copy(run->batch, result->updates.items[i]), NULL));
	run_event(run, "debug",
	    value_map(run->batch, "step", value_int(run->batch, (int64_t)run->step),
		"node", value_str(run->batch, node->name), "writes",
		value_list_end(&writes), "jump_to",
		result->jump != NULL ? value_str(run->batch, result->jump) : NULL, "next",
		value_str(run->batch, run_node(run)->name), NULL));
}

/* Whether node is among those at which its agent pauses, or this run. */
static bool
pauses_at(const struct value *agents, const struct value *own, const struct node *node)
{
	return value_contains(agents, node->name) ||
	       (own != NULL &&
		   (value_contains(own, node->name) || value_contains(own, "*")));
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
	enum go go;

	run->step++;
	run->hook_calls = 0;
	run->used = (struct value_list){ .arena = run->scratch };
	state_step(
	    run->state, arena_printf(run->scratch, "%s-%" PRIu64, run->id, run->step));
	run->entered = true;
	go = run_unless_cancelled(run, execute(run, &result));
	if (go != GO_ON)
		return go;
	run_count_used(run, &result);
	go = check_route(run, &result);
	if (go == GO_ON)
		go = apply(run, &result);
	if (go != GO_ON)
		return go;
	step_event(run, node, &result);
	run->node = node->name;
	if (jumps_to_no_calls(run, &result)) {
		run->at = run->agent->graph->tools;
		return run_fail(run, "ValueError",
		    "%s jumped to \"tools\", but there is no answer of the model whose "
		    "calls could run",
		    node->name);
	}
	run->at = route(run, &result);
	debug_event(run, node, &result);
	run->passed_interrupt = run->entered = false;
	run->recovered = false; /* what the owner before us sent is answered */
	run->round = NULL;
	if (run_node(run)->kind != NODE_END && /* behind the last one nothing waits */
	    pauses_at(run->agent->spec->interrupt_after, run->pauses_after, node))
		return interrupt_at(run, "interrupt_after", node->name);
	return GO_ON;
}

/* LangGraph gives a run that goes on behind a pause two steps more: it counts none for an input. */
static uint64_t
steps_max(const struct run *run)
{
	return (uint64_t)run->recursion_limit + (run->goes_on ? 2 : 0);
}

static enum go
advance_once(struct run *run)
{
	const struct spec *spec = run->agent->spec;
	const struct node *node = run_node(run);

	if (run_must_stop(run))
		return GO_DROP;
	if (run->step - run->first_step >= steps_max(run))
		return run_fail(run, "GraphRecursionError",
		    "the run took %" PRIu64 " steps without coming to its end; raise "
		    "recursion_limit (now %" PRId64 ") if it needs more",
		    run->step - run->first_step, run->recursion_limit);
	if (node->kind == NODE_END)
		return run_commit_end(run, "success", NULL);
	if (!run->passed_interrupt &&
	    pauses_at(spec->interrupt_before, run->pauses_before, node))
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
		run_round_end(run, go == GO_FAIL);
		arena_destroy(&run->scratch);
		if (go == GO_ON)
			state_compact(run->state);
	}
	return go;
}

/* --- ending ------------------------------------------------------------------------- */

/* Ends a run that failed, was cancelled, or is given back. The fiber may be cancelled:
 * what is left is bounded and must be done all the same. Returns GO_END, or GO_DROP when it has not ended. */
static enum go
end(struct run *run, enum go go)
{
	run->is_ending = true;
	fiber_shield(true);
	/* The events of a commit that came to nothing would be told once more, an end beside another one: who finds the run,
	 * finds what is in Redis, and that it is to end. */
	if (go == GO_DROP && run->cancel_wanted && !run->releasing && !run->is_unsure)
		go = run_end_early(run);
	else if (go == GO_FAIL)
		go = run_end_failed(run);
	/* One that pauses goes on with what it has there; a pause that it has left as it was, too. */
	if (go == GO_END && run->state != NULL && run->paused == NULL &&
	    !run_leaves_nothing(run))
		run_pins_release(run);
	if (go == GO_DROP)
		run_give_up(run);
	if (go == GO_DROP && run->releasing) {
		suspects_give_back(run);
		store_release(run->coordinator->store, run->arena,
		    &(struct store_hold){
			run->thread, run->id, run->epoch, run->version },
		    run_sent(run));
	}
	fiber_shield(false);
	return go;
}

static void
forget(struct run *run)
{
	timer_stop(&run->deadline);
	timer_stop(&run->held_cancel);
	suspects_leave(run);
	run_trace_forget(run);
	run_leave(run);
	agents_unref(run->coordinator->agents, &run->agent);
	arena_destroy(&run->scratch);
	arena_destroy(&run->batch);
	arena_destroy(&run->arena);
	run->record = run->head = run->order = run->context = run->results = NULL;
	run->pauses_before = run->pauses_after = run->sent_before = NULL;
	run->round = run->unconfirmed = run->rest = run->kept_input = NULL;
	run->fault = NULL;
	run->id = run->paused = run->source = run->node = run->tenant = NULL;
	run->recovered = run->stream = run->passed_interrupt = run->dirty = run->goes_on =
	    run->keeps_context = run->entered = false;
}

static void
start_batch(struct run *run)
{
	run->batch = arena_new();
	run->events = (struct value_list){ .arena = run->batch };
	run->answered = (struct value_list){ .arena = run->batch };
	run->sent = (struct value_list){ .arena = run->batch };
}

/* A record that is damaged has none: the run fails with it, the process does not. */
static uint64_t
events_so_far(const struct run *run)
{
	const char *text = run_record_text(run, "events");

	return text != NULL ? (uint64_t)strtoull(text, NULL, 10) : 0;
}

enum store_status
run_claim(struct run *run, struct store_claim *claim_r)
{
	struct store *store = run->coordinator->store;
	enum store_status status = store_claim_within(
	    store, run->arena, run->thread, LEASE_MS, SUSPECT_AFTER, claim_r);

	if (status != STORE_SUSPECT)
		return status;
	if (suspects_enter(run, claim_r->attempts) == -1)
		return STORE_CANCELLED;
	run->owned_ms = loop_now_ms(run->coordinator->loop);
	status = store_claim(store, run->arena, run->thread, LEASE_MS, claim_r);
	if (status == STORE_OK)
		suspects_claimed(run, claim_r);
	else
		suspects_leave(run);
	return status;
}

/* *more_r: whether there may be another when this comes to nothing. */
static enum store_status
claim_next(struct run *run, struct store_claim *claim_r, bool *more_r)
{
	struct coordinator *coordinator = run->coordinator;
	bool arrives = run->arrival != NULL;
	enum store_status status;

	if (!arrives) {
		run->more_wait = false;
		run->owned_ms = loop_now_ms(coordinator->loop);
	}
	status = arrives ? arrival_claim(run, claim_r) : run_claim(run, claim_r);
	if (status == STORE_FAILED || status == STORE_DAMAGED)
		log_warnx("thread=%s not claimed: %s", run->thread,
		    store_error(coordinator->store));
	if (status == STORE_QUARANTINED)
		log_warnx("run=%s thread=%s quarantined", claim_r->run, run->thread);
	/* Who was told to wait for an arrival is not forgotten when that comes to nothing. */
	*more_r = status == STORE_QUARANTINED || (arrives && run->more_wait);
	return status;
}

/* Claims what waits on the thread. Returns true when a run was advanced and there may be
 * another. */
static bool
run_next(struct run *run)
{
	struct coordinator *coordinator = run->coordinator;
	struct store_claim claim;
	bool may_be_more;
	enum go go;

	run->arena = arena_new();
	if (claim_next(run, &claim, &may_be_more) != STORE_OK) {
		arena_destroy(&run->arena);
		return may_be_more;
	}
	start_batch(run);
	run->id = claim.run;
	run->epoch = claim.epoch;
	run->version = claim.version;
	run->last_ms = claim.left_ms >= 0
			   ? loop_now_ms(coordinator->loop) + (uint64_t)claim.left_ms
			   : 0;
	run->recovered = claim.recovered;
	run->record = claim.record;
	run_age_begin(run);
	run->head = claim.head;
	run->order = claim.order;
	run->applied = run->is_dropped = run->is_lost = run->is_unsure = false;
	run->is_ending = false;
	run->past = run->undone = (struct run_past){ .version = -1 };
	run->results = claim.results;
	run->commits = 0;
	run->misses = 0;
	run->at = 0;
	run->step = run->first_step = 0;
	run->results_stored = value_size(claim.results) > 0;
	run->seq = events_so_far(run);
	run_trace_begin(run);
	if (claim.recovered)
		log_info("run=%s thread=%s taken over epoch=%" PRIu64 " attempt=%" PRIu64,
		    run->id, run->thread, run->epoch, claim.attempts);
	go = run_begin(run, &claim);
	if (go == GO_ON) {
		run_settle(run);
		go = advance(run);
	}
	go = end(run, go);
	awaited_ended(coordinator, run->id);
	if (value_has(run->record, "webhook"))
		webhooks_wake(coordinator, run->shard);
	forget(run);
	/* The commit of the end has told what waits; what has come since has set it, too. */
	return go == GO_END ? run->more_wait : run->cancel_wanted;
}

void
run_main(void *arg)
{
	struct run *run = arg;
	struct coordinator *coordinator = run->coordinator;
	bool more = true;

	run->fiber = fiber_current();
	fiber_set_data(run->fiber, run);
	while (more && !run->releasing && !run->cancel_wanted)
		more = run_next(run);
	arrival_leave(run);
	coordinator->owned[run->shard]--;
	zhashx_delete(coordinator->runs, run->thread);
	/* A cancelled fiber cannot wait any more: what is next on the thread gets
	 * another. */
	if (run->cancel_wanted && !run->releasing)
		coordinator_claim(coordinator, run->thread);
	free(run->thread);
	free(run);
}
