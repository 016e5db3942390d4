/* run_begin: what a claim answered becomes a run that is ready to advance. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "model_wish.h"
#include "nearest.h"
#include "providers.h"
#include "store_past.h"
#include "suspects.h"

const char *
run_record_text(const struct run *run, const char *name)
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

/* What the agent and its middleware name: models' services, then tools', each once. */
static const struct value *
services_of(struct run *run)
{
	const struct spec *spec = run->agent->spec;
	const struct value *tools = spec_served_tools(run->arena, spec);
	struct value_fields seen = { .arena = run->arena };
	size_t i, j;

	value_fields_set(&seen,
	    arena_printf(run->arena, SERVICE_MODEL_PREFIX "%s", spec->provider),
	    value_nil());
	for (i = 0; i < spec->use_count; i++) {
		const struct value *models = spec->uses[i]->asks_models;

		for (j = 0; j < value_size(models); j++)
			value_fields_set(&seen,
			    model_wish_service(
				run->arena, value_text(value_at(models, j))),
			    value_nil());
	}
	for (i = 0; i < value_size(tools); i++)
		value_fields_set(&seen,
		    arena_printf(run->arena, SERVICE_TOOL_PREFIX "%s",
			value_text(value_at(tools, i))),
		    value_nil());
	return value_fields_end(&seen);
}

/* The variable whose presence makes model workers serve it, or NULL: another says it. */
static const char *
key_of(const char *service)
{
	size_t prefix = strlen(SERVICE_MODEL_PREFIX);
	const struct known_provider *known = NULL;

	if (strncmp(service, SERVICE_MODEL_PREFIX, prefix) == 0)
		known = known_provider(service + prefix);
	return known == NULL ? NULL : known_provider_wants(known);
}

static enum go
fail_unserved(struct run *run, const char *service)
{
	const char *agent = run->agent->spec->name, *nearest;

	if (key_of(service) != NULL)
		return run_fail(run, "ValueError",
		    "agent '%s': no worker serves '%s'; a worker-model does when "
		    "%s is in its environment",
		    agent, service, key_of(service));
	nearest = catalog_nearest(run->coordinator->catalog, run->arena, service);
	return run_fail(run, "ValueError",
	    "agent '%s': no worker serves '%s'%s%s%s; start one that does, or "
	    "mend the name",
	    agent, service, nearest != NULL ? " (did you mean '" : "",
	    nearest != NULL ? nearest : "", nearest != NULL ? "'?)" : "");
}

/* Whether run was taken over in a round of tools. It goes on there whoever is away: what it has of the round would be lost with its
 * end, and who goes on behind that would make all calls anew, those, too, that must not run twice. They wait for their workers, as
 * they would if these had gone while their coordinator lived; those of a tool that nobody knows are not begun (run_may_run_twice). */
static bool
is_in_round(const struct run *run)
{
	return run->recovered && run_node(run)->kind == NODE_TOOLS;
}

/* Waits until somebody serves the models and the tools that the agent names, so that a
 * fleet that is starting is no error, and a name that nobody serves is a clear one. */
static enum go
wait_served(struct run *run)
{
	struct coordinator *coordinator = run->coordinator;
	const struct value *services = services_of(run);
	uint64_t since = loop_now_ms(coordinator->loop);
	size_t i;

	for (i = 0; i < value_size(services); i++) {
		const char *service = value_text(services->pairs[i].key);
		int waited;

		suspects_wait_served(run);
		waited = catalog_wait(coordinator->catalog, service, since,
		    (uint64_t)coordinator->settings->served_wait_ms);
		suspects_go_on(run);
		if (waited == 1 && is_in_round(run))
			waited = catalog_recall(coordinator->catalog, service);
		if (waited == -1)
			return GO_DROP;
		if (waited == 1)
			return fail_unserved(run, service);
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

const struct value *
run_sealed_input(const struct run *run, struct arena *arena, const struct value *input)
{
	const struct spec *spec = run->agent->spec;
	size_t i;

	for (i = 0; i < spec->use_count; i++)
		if (spec->uses[i]->type->seal_input != NULL)
			input =
			    spec->uses[i]->type->seal_input(arena, spec->uses[i], input);
	return input;
}

/* What the record keeps of input when hooks have seen it. */
static void
seal_input(struct run *run, const struct value *input)
{
	const struct value *sealed = run_sealed_input(run, run->arena, input);

	if (sealed != input)
		run->kept_input = sealed;
}

/* The fields of the conversation that a child goes on with (run_child.c): no user can give them. */
static int
inherit(struct run *run, const struct value *fields, const char **error_r)
{
	const struct state_write write = { "parent", fields };

	return value_size(fields) == 0
		   ? 0
		   : state_apply(run->state, run->arena, &write, 1, error_r);
}

static int
take_input(struct run *run, const struct value *input, const char **error_r)
{
	const char *prefix = arena_printf(run->arena, "%s-0", run->id);

	if (run_record_text(run, "parent") != NULL)
		return state_begin_child(run->state, run->arena, prefix, input, error_r);
	return state_begin(run->state, run->arena, prefix, input, error_r);
}

static enum go
begin_new(struct run *run, const struct value *options)
{
	const struct value *input = record_value(run, "input");
	const char *error;
	enum go go = GO_ON;

	state_step(run->state, arena_printf(run->arena, "%s-0", run->id));
	/* An input that brings tool messages may answer the open calls itself; what is
	 * still open then is answered before the model call. */
	if (!has_tool_message(value_get(input, "messages")) &&
	    !spec_answers_open_calls(run->agent->spec))
		go = run_repair(run, run->arena);
	if (go != GO_ON)
		return go;
	if (take_input(run, input, &error) == -1 ||
	    inherit(run, value_get(options, "inherited"), &error) == -1)
		return run_fail(run, "ValueError", "input: %s", error);
	seal_input(run, input);
	run->at = run->agent->graph->entry;
	run->step = run->first_step = 0;
	run->dirty = run->applied = true;
	run->source = "input";
	return GO_ON;
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
		run_untold_messages(run)));
}

/* One that is no priority, after a hand was at the record, is the usual one. */
static uint64_t
priority_of(const struct run *run)
{
	const char *text = run_record_text(run, "priority");
	char *end = NULL;
	unsigned long number = text != NULL ? strtoul(text, &end, 10) : 0;

	return end != NULL && end != text && number <= PRIORITY_MAX ? number
								    : PRIORITY_USUAL;
}

/* The agent's version is pinned with the run that made head, where its nodes go on; but not where it has failed: the agent may
 * have been mended. */
static const char *
version_of(const struct run *run, const struct value *head, const struct value *options)
{
	if ((value_has(options, "resume") || value_has(options, "command")) &&
	    graph_has_failed(head))
		return run_record_text(run, "version");
	return run->goes_on && value_get_text(head, "version") != NULL
		   ? value_get_text(head, "version")
		   : run_record_text(run, "version");
}

static enum go
begin_update(struct run *run, const struct value *head, const struct value *options)
{
	enum go go = head != NULL ? run_check_agent(run, head, "stands") : GO_ON;

	started_event(run);
	return go == GO_ON ? run_update(run, head, options) : go;
}

/* Where it begins, in a state that is loaded. */
static enum go
begin(struct run *run, const struct value *options, const struct value *head)
{
	if (value_has(options, "update")) /* which nobody has a context for */
		return begin_update(run, head, options);
	if (run_check_context(run) != GO_ON)
		return GO_FAIL;
	if (value_has(options, "command"))
		return run_begin_command(run, head, value_get(options, "command"));
	if (value_has(options, "resume"))
		return run_begin_resume(run, head, value_get(options, "resume"));
	if (value_has(options, "checkpoint") && !value_has(run->record, "input"))
		return run_begin_replay(run, head);
	return begin_new(run, options);
}

static const char *
hint_of(struct run *run, const char *given)
{
	const struct graph *graph = run->agent->graph;
	const char **names = arena_alloc(run->arena, graph->count * sizeof *names), *near;
	size_t i;

	for (i = 0; i < graph->count; i++)
		names[i] = graph->nodes[i].name;
	near = nearest_name(given, names, graph->count);
	return near == NULL ? "" : arena_printf(run->arena, "; did you mean '%s'?", near);
}

static enum go
take_nodes(struct run *run, const struct value *options, const char *name,
    const struct value **nodes_r)
{
	const struct graph *graph = run->agent->graph;
	const struct value *nodes = value_get(options, name);
	size_t i;

	for (i = 0; i < value_size(nodes); i++) {
		const char *node = value_text(value_at(nodes, i));
		long at;

		if (node == NULL) /* a damaged record's */
			return run_fail(run, "ValueError",
			    "%s: must be a list of names of nodes", name);
		at = graph_find(graph, node);
		if (strcmp(node, "*") != 0 && (at == -1 || (size_t)at == graph->end))
			return run_fail(run, "ValueError",
			    "%s: this agent has no node '%s' to pause at%s", name, node,
			    hint_of(run, node));
	}
	*nodes_r = nodes;
	return GO_ON;
}

/* Takes the nodes at which the run is to pause. */
static enum go
take_pauses(struct run *run, const struct value *options)
{
	enum go go = take_nodes(run, options, "interrupt_before", &run->pauses_before);

	return go == GO_ON
		   ? take_nodes(run, options, "interrupt_after", &run->pauses_after)
		   : go;
}

/* What it says itself counts, as what is said to an invoke of LangGraph's. */
static int64_t
count_of(const struct value *options, const char *name, int64_t agents)
{
	int64_t count = value_get_int(options, name, 0);

	return count >= 1 ? count : agents;
}

static void
take_counts(struct run *run, const struct value *options)
{
	const struct spec *spec = run->agent->spec;

	run->recursion_limit =
	    count_of(options, "recursion_limit", spec->recursion_limit);
	run->max_concurrency =
	    count_of(options, "max_concurrency", spec->max_concurrency);
}

/* *head_r: where the thread stands; of a run that goes on at a checkpoint of the past, or where the thread was put back to by one
 * that came to nothing, with questions of its own there, since what was asked then may have been answered. */
static enum go
find_head(struct run *run, const struct store_claim *claim, const struct value *options,
    const struct value **head_r)
{
	*head_r = claim->head;
	run->goes_on = !value_has(run->record, "input") &&
		       (!value_has(options, "command") || graph_stands(claim->head));
	return run->goes_on &&
		       (run->past.version >= 0 || value_has(claim->head, "put_back"))
		   ? run_copy_children(run, claim->head, head_r)
		   : GO_ON;
}

/* Whether head is this run's own, and not of one that had its id and was deleted: a run's commits are behind the version that it
 * began at, and its first one puts the thread back, where that is wanted. */
static bool
has_committed(const struct run *run, const struct store_claim *claim)
{
	const char *base = run_record_text(run, "base");

	return claim->recovered && claim->rollback < 0 &&
	       value_text_is(value_get(claim->head, "run"), run->id) &&
	       (base == NULL || claim->version > strtoull(base, NULL, 10));
}

/* Loads agent and state. */
static enum go
load(struct run *run, struct store_claim *claim)
{
	const struct value *options = record_value(run, "options");
	const struct value *head;
	const char *agent = run_record_text(run, "agent");
	const char *version, *error = "no agent";
	enum go go = GO_ON;
	bool continues = has_committed(run, claim);
	bool is_used =
	    claim->head != NULL; /* the thread, also when all of it is undone */

	/* One that only changes its thread invokes nobody. */
	if (value_has(options, "update") || value_has(options, "copy_of"))
		run_trace_forget(run);
	if (!continues)
		go = run_past_begin(run, claim, options);
	if (go != GO_ON)
		return go;
	if (value_has(options, "copy_of"))
		return run_copy(run, is_used, options);
	go = find_head(run, claim, options, &head);
	if (go != GO_ON)
		return go;
	version = version_of(run, head, options);
	if (agent != NULL && version != NULL)
		run->agent = agents_get(
		    run->coordinator->agents, run->arena, agent, version, &error);
	if (run->agent == NULL)
		return error == NULL ? GO_DROP : run_fail(run, "ValueError", "%s", error);
	/* Calls follow a commit: without one nobody has sent any. */
	run->recovered = continues;
	run->sent_before = record_value(run, "sent");
	run_take_context(run, head, options);
	run->stream = value_get_bool(options, "stream", false);
	take_counts(run, options);
	run->tenant = run_record_text(run, "tenant");
	run->priority = priority_of(run);
	go = run_restore(run, claim);
	if (go != GO_ON)
		return go;
	go = take_pauses(run, options);
	if (continues && go == GO_ON) {
		/* The node that a running head names was entered before. */
		run->applied = run->passed_interrupt = run->entered = true;
		state_recall(run->state, value_get(head, "untracked"));
		return run_begin_at_head(run, head);
	}
	if (go == GO_ON)
		go = begin(run, options, head);
	/* What a beginning that failed has changed already is not stored. */
	if (go != GO_ON)
		state_destroy(&run->state);
	if (!value_has(options, "update"))
		started_event(run);
	return go;
}

/* The order stays as it is; the checkpoint of this end has that of the one before it, or nothing could go
 * back to it when the order has been restored. */
static void
take_last_order(struct run *run)
{
	const struct value *history, *last;

	if (store_history(run->coordinator->store, run->arena, run->thread, &history) !=
	    STORE_OK)
		return;
	last = value_at(history, value_size(history) - 1);
	run->order = value_get(last, "order");
}

/* As for a message (run_restore): a disk, a hand or a restore did it. */
static enum go
fail_damaged(struct run *run, const char *what)
{
	if (run->order == NULL)
		take_last_order(run);
	return run_fail(run, "RuntimeError",
	    "%s of thread '%s' is damaged in Redis: restore its hash %s%s", what,
	    run->thread, store_thread_key(run->arena, run->thread),
	    strcmp(what, STORE_DAMAGED_FIELD) == 0 ? ":f" : "");
}

enum go
run_begin(struct run *run, const struct store_claim *claim)
{
	struct store_claim there = *claim;
	enum go go;

	run->is_damaged = claim->damaged != NULL;
	go = run->is_damaged ? fail_damaged(run, claim->damaged) : load(run, &there);
	if (go != GO_ON)
		return go;
	run_watch_deadline(run);
	run_hold_cancel(run);
	return run_let_cancel(run, wait_served(run));
}
