/* run_begin: what a claim answered becomes a run that is ready to advance. */
#include "run.h"

#include <string.h>

#include "bodies.h"

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
	uint64_t since = loop_now_ms(coordinator->loop);
	size_t i;

	for (i = 0; i <= value_size(tools); i++) {
		const char *service =
		    i == 0 ? arena_printf(
				 run->arena, SERVICE_MODEL_PREFIX "%s", spec->provider)
			   : arena_printf(run->arena, SERVICE_TOOL_PREFIX "%s",
				 value_text(value_at(tools, i - 1)));
		const char *nearest;
		int waited = catalog_wait(coordinator->catalog, service, since,
		    (uint64_t)coordinator->settings->served_wait_ms);

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
		go = run_repair(run, run->arena);
	if (go != GO_ON)
		return go;
	if (state_begin(run->state, run->arena, arena_printf(run->arena, "%s-0", run->id),
		input, &error) == -1)
		return run_fail(run, "ValueError", "input: %s", error);
	run->at = run->agent->graph->entry;
	run->step = run->first_step = 0;
	run->dirty = run->applied = true;
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
	if (!value_text_is(value_get(head, "agent"), run_record_text(run, "agent")))
		return run_fail(run, "ValueError",
		    "thread '%s' waits in agent '%s', not in '%s'", run->thread,
		    value_get_text(head, "agent"), run_record_text(run, "agent"));
	run->passed_interrupt =
	    value_text_is(value_get(head, "paused"), "interrupt_before");
	if (begin_at_head(run, head) != GO_ON)
		return GO_FAIL;
	run->first_step = run->step;
	run->dirty = true;
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

/* Loads agent and state. */
static enum go
load(struct run *run, const struct store_claim *claim)
{
	const struct value *options = record_value(run, "options");
	const struct value *head = claim->head;
	const char *agent = run_record_text(run, "agent");
	const char *version = run_record_text(run, "version");
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
		return error == NULL ? GO_DROP : run_fail(run, "ValueError", "%s", error);
	/* Calls follow a commit: without one nobody has sent any. */
	run->recovered = continues;
	run->sent_before = record_value(run, "sent");
	run->context = value_get(options, "context");
	run->stream = value_get_bool(options, "stream", false);
	run->state = state_new(run->agent->spec);
	messages = ordered_messages(run, claim, &numbers);
	state_restore(run->state, messages, numbers, claim->fields,
	    (uint32_t)value_size(claim->messages));
	run->numbered = (uint32_t)value_size(claim->messages);
	if (continues) {
		/* The node that a running head names was entered before. */
		run->applied = run->passed_interrupt = true;
		return begin_at_head(run, head);
	}
	go = resume ? begin_resume(run, head) : begin_new(run);
	/* What a beginning that failed has changed already is not stored. */
	if (go != GO_ON)
		state_destroy(&run->state);
	started_event(run);
	return go;
}

enum go
run_begin(struct run *run, const struct store_claim *claim)
{
	enum go go = load(run, claim);

	return go == GO_ON ? wait_served(run) : go;
}
