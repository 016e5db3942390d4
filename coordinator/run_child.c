/* run_child: what a tool's call has another agent do (middleware.h, tool_child): a run of its own, the
 * child, on a thread of its own, anywhere in the fleet. Its id is made of the call's, so that whoever takes the
 * parent over finds the same child; while it works nothing is held but the fiber that waits.
 *
 * A child that asks a human pauses its parent, which asks the same; the answers go to the child, in a run
 * that resumes its thread. docs/internals/coordinator.md, "Children". */
#include "run_child.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "awaited.h"
#include "bodies.h"
#include "bounds.h"
#include "chat.h"
#include "children.h"
#include "log.h"
#include "retention.h"
#include "shared_fields.h"
#include "store_agents.h"
#include "suspects.h"
#include "wire.h"

#define LOOK_FIRST_MS 50u /* a child that ends in this process wakes us */
#define LOOK_LAST_MS 2000u

/* --- who it is ------------------------------------------------------------------------ */

/* How much of a run's name says whose it is, "acme~" (cli/serve/tenant.h); 0: nothing does. */
static int
owner_size(const char *run)
{
	size_t size = strcspn(run, TENANT_MARK);

	return run[size] != '\0' && size <= TENANT_BYTES_MAX ? (int)size + 1 : 0;
}

const char *
child_digest(struct arena *arena, const struct value *value)
{
	struct digest *digest = digest_new();
	uint8_t bytes[DIGEST_BYTES];
	const char *text = "";
	size_t i;

	digest_add(digest, value_array(arena, &value, 1), 0, 1);
	digest_get(digest, bytes);
	digest_destroy(&digest);
	for (i = 0; i < DIGEST_BYTES; i++)
		text = arena_printf(arena, "%s%02x", text, bytes[i]);
	return text;
}

const char *
child_run(struct arena *arena, const struct run *run, const char *base, size_t number)
{
	const char *id = arena_printf(arena, "%s-%" PRIu64 "-%s-%zu", run->id, run->step,
	    strrchr(base, '.') + 1, number);

	if (wire_is_run_id(id) && strlen(id) <= RUN_ID_BYTES_MAX / 2)
		return id;
	return arena_printf(arena, "%.*schild-%s", owner_size(run->id), run->id,
	    child_digest(arena, value_str(arena, id)));
}

uint64_t
child_depth_above(const struct run *run)
{
	const char *text = run_record_text(run, "depth");

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

const struct value *
child_depth(struct arena *arena, const struct run *run)
{
	return value_printf(arena, "%" PRIu64, child_depth_above(run) + 1);
}

enum go
child_find_agent(struct run *run, struct arena *arena, struct child *child)
{
	struct coordinator *coordinator = run->coordinator;
	const char *middleware = value_get_text(child->wish, "middleware");
	const char *name = value_get_text(child->wish, "name"), *error = NULL;
	const struct value *known =
	    name == NULL || middleware == NULL
		? NULL
		: value_get(value_get(run->agent->spec->children, middleware), name);
	enum store_status status = STORE_OK;

	/* Agents of the fleet may name each other. */
	if (child_depth_above(run) >= CHILD_DEPTH_MAX) {
		child->fault = arena_printf(arena,
		    "this run is the last of %u that had one another work: it must do "
		    "the task itself",
		    CHILD_DEPTH_MAX);
		return GO_ON;
	}
	child->agent = value_get_text(known, "agent");
	child->forks = value_text_is(value_get(known, "mode"), "fork");
	child->is_part = child->agent == NULL;
	if (child->agent != NULL) {
		status = store_agent_version(
		    coordinator->store, arena, child->agent, &child->version);
	} else if (known != NULL) {
		child->agent = value_get_text(known, "name");
		child->version = value_get_text(known, "version");
		status = store_keep_source(coordinator->store, arena, child->version,
		    value_get(known, "source"));
	}
	if (known == NULL || status == STORE_NONE)
		child->fault = arena_printf(arena,
		    "agent '%s' is not known; see `flotilla agents list`",
		    child->agent != NULL ? child->agent
		    : name != NULL       ? name
					 : "?");
	if (status != STORE_OK || child->fault != NULL)
		return child->fault != NULL ? GO_ON : GO_DROP;
	child->compiled =
	    agents_get(coordinator->agents, arena, child->agent, child->version, &error);
	if (child->compiled == NULL)
		child->fault = error;
	return child->compiled != NULL || error != NULL ? GO_ON : GO_DROP;
}

/* --- its run -------------------------------------------------------------------------- */

const struct value *
child_input(struct arena *arena, struct child *child, const struct value *before,
    const struct value *more)
{
	struct value_list list = { .arena = arena };
	const char *error;
	const struct value *input,
	    *messages = chat_normalise(arena, value_get(child->wish, "messages"), &error);

	if (messages == NULL) {
		child->fault = arena_printf(arena, "its input: %s", error);
		return NULL;
	}
	if (before != NULL) {
		value_list_add_all(&list, before);
		value_list_add_all(&list, messages);
		messages = value_list_end(&list);
	}
	input = value_freeze(arena, value_map_with(arena, more, "messages", messages));
	if (input->packed_size > INPUT_BYTES_MAX)
		child->fault =
		    arena_printf(arena, "its input: %u bytes, over the limit of %u",
			input->packed_size, INPUT_BYTES_MAX);
	return input;
}

/* What was said before the message that makes the call. */
static const struct value *
said_before(struct run *run, struct arena *arena)
{
	const struct value *messages = state_messages(run->state);
	long ai = chat_last_ai(messages);

	return value_array_slice(arena, messages, 0, ai < 0 ? 0 : (size_t)ai);
}

/* The id of the last of that, for a child that goes on with it; or NULL. */
static const struct value *
last_said(struct run *run, struct arena *arena, const struct child *child)
{
	const struct value *said = child->forks ? said_before(run, arena) : NULL;

	return value_size(said) == 0
		   ? NULL
		   : value_get(value_at(said, value_size(said) - 1), "id");
}

/* What it begins with. */
static const struct value *
first_input(struct run *run, struct arena *arena, struct child *child)
{
	const struct spec *above = run->agent->spec, *below = child->compiled->spec;
	const struct value *before = NULL;

	if (child->forks)
		before = said_before(run, arena);
	/* What the conversation knows belongs to an agent that is part of it; another keeps its own. */
	if (child->forks && child->is_part)
		child->inherited = shared_with_fork(arena, above, below, run->state);
	return child_input(
	    arena, child, before, shared_fields(arena, above, below, run->state));
}

/* input: NULL for a run that goes on where its thread has paused. */
static const struct value *
record_of(struct run *run, struct arena *arena, const struct effect *effect,
    const struct child *child, const struct value *input)
{
	const struct value *answers = value_get_bool(effect->held, "asks_nothing", false)
					  ? value_nil()
					  : effect->given;
	const struct value *options = value_map(arena, "context", run->context, "stream",
	    run->stream ? value_bool(true) : NULL, "resume", answers, "inherited",
	    input != NULL ? child->inherited : NULL, NULL);

	return value_map(arena, "agent", value_str(arena, child->agent), "version",
	    value_str(arena, child->version), "usual_ttl",
	    retention_usual(run->coordinator, arena), "parent", value_str(arena, run->id),
	    "task", effect->name, "said", last_said(run, arena, child), "depth",
	    child_depth(arena, run), "tenant",
	    run->tenant != NULL ? value_str(arena, run->tenant) : NULL, "priority",
	    value_printf(arena, "%" PRIu64, run->priority), "traceparent",
	    child->traceparent, "input", input, "options", value_freeze(arena, options),
	    NULL);
}

/* For who watches: the report comes with the step. */
static void
tell(struct run *run, struct arena *arena, const struct effect *effect,
    const struct child *child)
{
	links_publish(run->coordinator->links, run->id,
	    arena_printf(arena, "run.%s.child", run->id),
	    value_map(arena, "kind", value_str(arena, "child"), "run",
		value_str(arena, run->id), "thread", value_str(arena, run->thread),
		"child", value_str(arena, child->run), "agent",
		value_str(arena, child->agent), "tool_call_id", effect->name, NULL));
}

enum store_status
child_look(struct run *run, struct arena *arena, const struct child *child,
    const struct value **record_r)
{
	struct store *store = run->coordinator->store;

	return strcmp(child->thread, child->run) == 0
		   ? store_first_run(store, arena, child->run, record_r)
		   : store_run(store, arena, child->thread, child->run, record_r);
}

/* Says that it is run's, before it is there: whoever cancels run finds it. */
static enum store_status
claim_id(struct run *run, struct arena *arena, const struct child *child)
{
	struct store *store = run->coordinator->store;
	const struct value *before = NULL;
	const char *other;
	bool is_late;
	enum store_status status = child_look(run, arena, child, &before);

	/* Only we give a run a task. */
	if (status == STORE_OK &&
	    (!value_has(before, "task") ||
		!value_text_is(value_get(before, "parent"), run->id)))
		return STORE_KNOWN;
	if (status == STORE_OK || status == STORE_NONE)
		status = store_bind_run(store, arena, child->run, child->thread, &other);
	if (status == STORE_OK)
		status = store_adopt(store, arena, run->thread, run->id, child->run,
		    child->thread, &is_late);
	return status;
}

enum go
child_queue(
    struct run *run, struct arena *arena, struct child *child, const struct value *record)
{
	struct coordinator *coordinator = run->coordinator;
	struct store *store = coordinator->store;
	enum store_status status = claim_id(run, arena, child);

	if (status == STORE_KNOWN) {
		child->fault = arena_printf(
		    arena, "run '%s', which it is to be, is another's", child->run);
		return GO_ON;
	}
	if (status == STORE_OK)
		status = store_submit_child(store, arena, run->thread, run->id,
		    child->thread, child->run, record);
	/* Who ended run has looked for its children, or will; or we are to, and have not heard so. */
	if (status == STORE_FENCED)
		run_stops_with_its_own(run);
	if (status == STORE_REJECTED || status == STORE_DAMAGED)
		child->fault = arena_strdup(arena, store_error(store));
	return status == STORE_OK || status == STORE_KNOWN || child->fault != NULL
		   ? GO_ON
		   : GO_DROP;
}

/* Who only waits takes no coordinator down, however many die meanwhile: it has made progress (fl_result). */
static void
note_waiting(struct run *run, struct arena *arena, const struct child *child)
{
	if (run_store(run, arena,
		value_map(arena, child->run, value_str(arena, "awaited"), NULL)) ==
	    STORE_OK)
		run->results_stored = true;
}

enum go
child_await(struct run *run, struct arena *arena, const struct child *child)
{
	struct coordinator *coordinator = run->coordinator;
	uint64_t wait_ms = LOOK_FIRST_MS;
	bool is_noted = !run->recovered, has_ended = false, is_queued = false;
	enum store_status status;
	struct arena *look;

	for (;;) {
		look = arena_new();
		status = store_has_ended(coordinator->store, look, child->thread,
		    child->run, &has_ended, &is_queued);
		arena_destroy(&look);
		if (has_ended || status == STORE_NONE || status == STORE_DAMAGED)
			return GO_ON;
		if (status != STORE_OK)
			return GO_DROP;
		if (!is_noted)
			note_waiting(run, arena, child);
		is_noted = true;
		/* There may be room for it that there is for no other (coordinator_room). */
		if (is_queued)
			coordinator_claim(coordinator, child->thread);
		if (awaited_wait(coordinator, child->run, wait_ms) == -1 ||
		    run_must_stop(run))
			return GO_DROP;
		wait_ms = 2 * wait_ms < LOOK_LAST_MS ? 2 * wait_ms : LOOK_LAST_MS;
	}
}

/* --- what came of it ------------------------------------------------------------------ */

const struct value *
child_failed(struct arena *arena, const struct child *child, const struct fault *fault)
{
	struct fault *own = fault_new(arena, fault->type, "%s", fault->message);

	own->retryable = fault->retryable;
	if (own->control)
		own = fault_new(arena, "RuntimeError", "%s", fault->message);
	return value_map(arena, "fault", fault_to_value(arena, own), "run",
	    value_str(arena, child->run), NULL);
}

const struct value *
child_failed_with(struct arena *arena, const struct child *child, const char *reason)
{
	return child_failed(arena, child,
	    fault_new(arena, "RuntimeError", "%s",
		reason != NULL ? reason : "its run is gone"));
}

/* Its questions, as its parent's own: under their ids, which no others have. */
static const struct value *
questions(struct run *run, struct arena *arena, const struct effect *effect,
    const struct child *child, const struct value *interrupts)
{
	struct value_list asks = { .arena = arena };
	const struct value *ask;
	size_t i;

	for (i = 0; i < value_size(interrupts); i++) {
		ask = value_at(interrupts, i);
		ask = value_map_with(
		    arena, ask, "node", value_str(arena, run_node(run)->name));
		ask = value_map_with(arena, ask, "tool_call_id", effect->name);
		ask = value_map_with(arena, ask, "tool_call_ids", NULL);
		value_list_add(&asks,
		    value_map_with(arena, ask, "run", value_str(arena, child->run)));
	}
	/* It stands before or behind one of its nodes. */
	if (asks.count == 0)
		value_list_add(&asks,
		    value_map(arena, "id", value_printf(arena, "%s:0", child->run),
			"value",
			value_map(arena, "type", value_str(arena, "paused"), "agent",
			    value_str(arena, child->agent), NULL),
			"node", value_str(arena, run_node(run)->name), "tool_call_id",
			effect->name, "run", value_str(arena, child->run), NULL));
	return value_list_end(&asks);
}

static const struct value *
outcome_of(struct run *run, struct arena *arena, const struct effect *effect,
    const struct child *child, const struct value *record)
{
	const char *status = value_get_text(record, "status");
	const struct value *output = value_get(record, "output");
	const struct value *answer = value_get(record, "answer");

	if (status == NULL)
		return child_failed_with(arena, child, NULL);
	if (strcmp(status, "interrupted") == 0)
		return value_map(arena, "asks",
		    questions(run, arena, effect, child, value_get(record, "interrupts")),
		    "held",
		    value_map(arena, "thread", value_str(arena, child->thread), "version",
			value_get(record, "final"), "child", child->wish, "asks_nothing",
			value_size(value_get(record, "interrupts")) == 0
			    ? value_bool(true)
			    : NULL,
			NULL),
		    NULL);
	if (strcmp(status, "success") == 0)
		return value_map(arena, "content",
		    value_is(answer, VALUE_STR) ? answer : value_str(arena, ""),
		    "structured_response", value_get(output, "structured_response"),
		    "update",
		    shared_update(arena, run->agent->spec, child->compiled->spec,
			run->state, output),
		    "run", value_str(arena, child->run), NULL);
	if (value_is(value_get(record, "fault"), VALUE_MAP))
		return child_failed(
		    arena, child, fault_from_value(arena, value_get(record, "fault")));
	return child_failed_with(arena, child, status);
}

/* Has it queued, if that is to be. What goes out for it may be large, and is held no longer than that. */
static enum go
begin(struct run *run, struct arena *arena, const struct effect *effect,
    struct child *child)
{
	struct arena *own = arena_new();
	const struct value *input = NULL;
	enum go go = GO_ON;

	if (effect->held == NULL)
		input = first_input(run, own, child);
	child->traceparent =
	    run_trace_child(run, own, effect->held == NULL ? effect->last_id : NULL);
	if (child->fault == NULL)
		go = child_queue(
		    run, own, child, record_of(run, own, effect, child, input));
	if (child->fault != NULL)
		child->fault = arena_strdup(arena, child->fault);
	child->inherited = child->traceparent = NULL;
	arena_destroy(&own);
	return go;
}

/* What came of it, from its record, which has all that went out for it. GO_DROP, too, when it ended with run. */
static enum go
read_outcome(struct run *run, struct arena *arena, const struct effect *effect,
    const struct child *child, const struct value **outcome_r)
{
	struct arena *own = arena_new();
	const struct value *record = NULL;
	enum store_status status =
	    store_run(run->coordinator->store, own, child->thread, child->run, &record);
	/* One that is damaged is gone: no trouble of its parent's. */
	bool is_known =
	    status == STORE_OK || status == STORE_NONE || status == STORE_DAMAGED;

	if (value_text_is(value_get(record, "status"), "cancelled") &&
	    run_stops_with_its_own(run))
		is_known = false;
	if (is_known)
		*outcome_r = value_copy(arena, outcome_of(run, own, effect, child,
						   status == STORE_OK ? record : NULL));
	arena_destroy(&own);
	return is_known ? GO_ON : GO_DROP;
}

enum go
child_run_to_end(struct run *run, struct arena *arena, const struct effect *effect,
    struct child *child, const struct value **outcome_r)
{
	const struct value *held = effect->held;
	const char *waits = value_get_text(held, "waits");
	enum go go = child_find_agent(run, arena, child);

	child->run =
	    child_run(arena, run, effect->call.id, value_size(effect->children) + 1);
	child->thread = held != NULL ? value_get_text(held, "thread") : child->run;
	if (waits != NULL)
		child->run = waits;
	awaited_begin(run);
	if (go == GO_ON && child->fault == NULL && waits == NULL)
		go = begin(run, arena, effect, child);
	if (go == GO_ON && child->fault == NULL && waits == NULL) {
		tell(run, arena, effect, child);
		suspects_wait(run);
		go = child_await(run, arena, child);
		suspects_go_on(run);
	}
	if (go == GO_ON && child->fault == NULL)
		go = read_outcome(run, arena, effect, child, outcome_r);
	awaited_end(run);
	if (go == GO_ON && child->fault != NULL)
		*outcome_r = child_failed_with(arena, child, child->fault);
	agents_unref(run->coordinator->agents, &child->compiled);
	return go;
}
