/* run_go_on: a run that brings no input: it goes on where its thread stands, with an answer or without, once more from a checkpoint, or
 * at a node that a command names. */
#include "run_round.h"

#include <string.h>

/* The agent may have been mended by leaving out the middleware that failed at node: *at_r is where it goes on without it, or -1. What
 * it was may be gone, or not to be loaded here any more. */
static enum go
find_instead(struct run *run, const struct value *head, const char *node, long *at_r)
{
	struct agents *agents = run->coordinator->agents;
	const char *version = value_get_text(head, "version"), *error = "";
	struct step_outcome outcome = {
		.messages = state_messages(run->state),
		.has_structured_response =
		    state_field(run->state, "structured_response") != NULL,
	};
	struct agent *old = NULL;

	if (version != NULL)
		old = agents_get(
		    agents, run->arena, run_record_text(run, "agent"), version, &error);
	if (old == NULL && error == NULL)
		return GO_DROP;
	*at_r = graph_instead(run->arena, run->agent->graph, run->agent->spec,
	    old != NULL ? old->graph : NULL, node, &outcome);
	if (old != NULL)
		agents_unref(agents, &old);
	return GO_ON;
}

static bool
stands_at(const struct run *run, const struct value *head)
{
	return value_text_is(value_get(head, "next"), run_node(run)->name);
}

/* Goes on where head stands: after a takeover, or when a paused thread is resumed. */
enum go
run_begin_at_head(struct run *run, const struct value *head)
{
	const char *next = value_get_text(head, "next");
	long at = next != NULL ? graph_find(run->agent->graph, next) : -1;

	if (at == -1 && graph_has_failed(head) &&
	    find_instead(run, head, next, &at) != GO_ON)
		return GO_DROP;
	if (at == -1)
		return run_fail(run, "RuntimeError",
		    "the checkpoint goes on at '%s', which this agent has not",
		    next != NULL ? next : "?");
	run->at = (size_t)at;
	run->step = (uint64_t)value_get_int(head, "step", 0);
	run->first_step = (uint64_t)value_get_int(head, "first_step", 0);
	run->round = stands_at(run, head) ? value_get(head, "round") : NULL;
	state_recall(run->state, value_get(head, "ephemeral"));
	return GO_ON;
}

static const struct value *
counts_of(struct run *run, const struct middleware_use *use, const struct value *counts)
{
	for (size_t i = 0; i < use->field_count; i++)
		if (use->fields[i].counts_model_calls && use->fields[i].untracked)
			counts = value_map_with(run->arena, counts, use->fields[i].name,
			    value_int(run->arena, 1));
	return counts;
}

/* A run's own count of model calls begins anew, but in LangChain it is the hook behind the model that counts a call: where
 * that has not run yet, the call in front of the pause is this run's (semantics.md 6.2). */
static void
count_call_behind(struct run *run)
{
	const struct graph *graph = run->agent->graph;
	const struct value *counts = value_empty_map();
	size_t at = run->at;

	while (graph->nodes[at].kind == NODE_HOOK &&
	       graph->nodes[at].hook == HOOK_AFTER_MODEL) {
		counts = counts_of(run, graph->nodes[at].use, counts);
		at = graph->nodes[at].next;
	}
	state_recall(run->state, counts);
}

/* The same for another run than the one that has come there. */
static enum go
begin_there(struct run *run, const struct value *head)
{
	enum go go = run_begin_at_head(run, head);

	if (go == GO_ON)
		count_call_behind(run);
	return go;
}

/* Whether head is of the agent that the run is to be of. */
enum go
run_check_agent(struct run *run, const struct value *head, const char *stands)
{
	if (value_text_is(value_get(head, "agent"), run_record_text(run, "agent")))
		return GO_ON;
	return run_fail(run, "ValueError", "thread '%s' %s in agent '%s', not in '%s'",
	    run->thread, stands, value_get_text(head, "agent"),
	    run_record_text(run, "agent"));
}

/* Runs once more what followed a checkpoint. */
enum go
run_begin_replay(struct run *run, const struct value *head)
{
	enum go go = run_check_agent(run, head, "was");

	if (go == GO_ON)
		go = begin_there(run, head);
	/* Anew: also what a failure has left (run_failed.c). */
	if (!value_text_is(value_get(head, "status"), "interrupted"))
		run->round = NULL;
	run->passed_interrupt = go == GO_ON && run_answer_wanted(run->round);
	run->first_step = run->step;
	run->dirty = true;
	run->source = "fork";
	return go;
}

/* Applies answer to what the pause asks; one of interrupt_before or _after asks nothing. */
static enum go
take_answer(struct run *run, const struct value *head, const struct value *answer)
{
	const char *node = value_get_text(head, "next");

	if (run_answer_wanted(run->round))
		return run_answer(run, run->round, answer);
	if (value_is_nil(answer))
		return GO_ON;
	return run_fail(run, "ValueError",
	    "thread '%s' stands at '%s' and asks nothing: resume it with null",
	    run->thread, node != NULL ? node : "?");
}

static enum go
nothing_waits(struct run *run)
{
	return run_fail(run, "ValueError",
	    "thread '%s' waits for nothing: there is no interrupt to resume, and no "
	    "failure to go on behind",
	    run->thread);
}

/* Whoever was at it has ended without a commit: given up as a dead letter, or its agent could not be loaded any more. A checkpoint of
 * the past that a run names is what another has come through; where a rollback leads, the thread stood so. */
static bool
is_left(const struct run *run, const struct value *head)
{
	return !run->past.is_named && graph_stands(head) &&
	       value_text_is(value_get(head, "status"), "running");
}

static enum go
refuse_left(struct run *run, const struct value *head)
{
	return run_fail(run, "ValueError",
	    "thread '%s' was left in '%s' by a run that was given up, and nobody knows "
	    "what came of its calls: begin with an input; if that run had one, `flotilla "
	    "retry %s` says it again",
	    run->thread, value_get_text(head, "next"), value_get_text(head, "run"));
}

/* As in LangGraph there is nothing to do then, which is no mistake. */
static bool
is_done(const struct value *head, const struct value *answer)
{
	return value_is_nil(answer) && value_has(head, "next") && !graph_stands(head);
}

/* A jump has failed of it (run.c), and does so again. */
static bool
has_no_calls(const struct run *run)
{
	return run_node(run)->kind == NODE_TOOLS &&
	       chat_last_ai(state_messages(run->state)) == -1;
}

/* Without an answer: what its round asked, it asks. */
static enum go
go_on_behind_failure(
    struct run *run, const struct value *head, const struct value *answer)
{
	bool entered = stands_at(run, head) && value_get_bool(head, "entered", false);
	bool asked = run_answer_wanted(run->round);

	/* What failed in front of a node has not paused there yet. */
	run->passed_interrupt = entered || asked;
	if (has_no_calls(run))
		return run_fail(run, "ValueError",
		    "thread '%s' stands in front of the tools, but has no answer of the "
		    "model whose calls could run: begin with an input",
		    run->thread);
	if (value_is_nil(answer))
		return GO_ON;
	/* What it asked in front of the failure was answered, by "fail": of two who answer the first one counts. */
	if (asked && entered)
		return take_answer(run, head, answer);
	return run_fail(run, "ValueError",
	    "thread '%s' waits for nothing: its last run has ended at '%s', where null "
	    "goes on",
	    run->thread, value_get_text(head, "next"));
}

enum go
run_begin_resume(struct run *run, const struct value *head, const struct value *answer)
{
	bool waits = value_text_is(value_get(head, "status"), "interrupted");
	enum go go;

	if (!waits && !graph_has_failed(head) && !is_done(head, answer))
		return is_left(run, head) ? refuse_left(run, head) : nothing_waits(run);
	if (run_check_agent(run, head, waits ? "waits" : "stands") != GO_ON)
		return GO_FAIL;
	go = begin_there(run, head);
	if (go != GO_ON)
		return go;
	run->first_step = run->step;
	run->dirty = true;
	if (!waits)
		return go_on_behind_failure(run, head, answer);
	/* As in LangGraph: behind a pause the next one in front of a node is that of a later node. */
	run->passed_interrupt = true;
	return take_answer(run, head, answer);
}

/* --- commands ----------------------------------------------------------------------------- */

/* What a command writes comes in as an input does, but into any field. */
static enum go
write_update(struct run *run, const struct value *update)
{
	const struct state_write write = { GRAPH_START, update };
	const char *error;

	if (run_check_fields(run, update) != GO_ON)
		return GO_FAIL;
	state_step(run->state, arena_printf(run->arena, "%s-0", run->id));
	if (state_apply(run->state, run->arena, &write, 1, &error) == -1)
		return run_fail(run, "InvalidUpdateError", "update: %s", error);
	return GO_ON;
}

/* What the thread's pause asks is about calls that the update has left as they are; else it is asked anew. */
static enum go
answer_command(struct run *run, const struct value *head, const struct value *command,
    bool same_calls)
{
	if (!same_calls)
		run->round = NULL;
	if (!value_has(command, "resume"))
		return GO_ON;
	if (graph_has_failed(head) && value_is_nil(value_get(command, "resume")))
		return GO_ON;
	if (!value_text_is(value_get(head, "status"), "interrupted"))
		return nothing_waits(run);
	if (!same_calls)
		return run_fail(run, "ValueError",
		    "the update changes the calls that thread '%s' asks about: answer, "
		    "or "
		    "update",
		    run->thread);
	return take_answer(run, head, value_get(command, "resume"));
}

/* Where a thread stands in front of a node that is the one which runs, and no other with it. */
static enum go
go_on_at(struct run *run, const struct value *head, const struct value *command,
    bool same_calls)
{
	const char *node = value_get_text(command, "goto");
	enum go go = run_check_agent(run, head, "stands");

	/* What of its round has ended, and under which keys, is nowhere. At a checkpoint that the run names all is made anew. */
	if (go == GO_ON && is_left(run, head))
		return refuse_left(run, head);
	if (go == GO_ON)
		go = begin_there(run, head);
	if (go != GO_ON)
		return go;
	if (node != NULL && strcmp(node, run_node(run)->name) != 0)
		return run_fail(run, "ValueError",
		    "goto: thread '%s' stands in front of '%s', and one node runs at a "
		    "time, so not '%s' as well",
		    run->thread, run_node(run)->name, node);
	return answer_command(run, head, command, same_calls);
}

/* Nothing is to run but what the command names. */
static enum go
go_to(struct run *run, const struct value *head, const struct value *command)
{
	const struct graph *graph = run->agent->graph;
	const char *node = value_get_text(command, "goto");
	long at = node != NULL ? graph_find(graph, node) : (long)graph->end;

	if (value_has(command, "resume"))
		return nothing_waits(run);
	if (node != NULL && (at == -1 || (size_t)at == graph->end))
		return run_unknown_node(run, node);
	run->at = (size_t)at;
	run->step = (uint64_t)value_get_int(head, "step", 0);
	return GO_ON;
}

enum go
run_begin_command(struct run *run, const struct value *head, const struct value *command)
{
	const struct spec *spec = run->agent->spec;
	const struct value *update = value_get(command, "update");
	const struct value *calls =
	    graph_tool_calls(run->arena, spec, state_messages(run->state));
	enum go go = value_size(update) > 0 ? write_update(run, update) : GO_ON;
	bool same_calls = value_equal(
	    calls, graph_tool_calls(run->arena, spec, state_messages(run->state)));

	if (go == GO_ON)
		go = graph_stands(head) ? go_on_at(run, head, command, same_calls)
					: go_to(run, head, command);
	if (go != GO_ON)
		return go;
	/* As in LangGraph: the first node is not paused in front of. */
	run->passed_interrupt = true;
	run->first_step = run->step;
	run->dirty = true;
	run->applied = value_size(update) > 0;
	if (!value_has(command, "resume"))
		run->source = "input";
	return GO_ON;
}
