#include "trail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "blueprint.h"
#include "graph.h"
#include "memory.h"
#include "room.h"
#include "shape.h"
#include "store_past.h"
#include "thread_walk.h"

#define BACK 100u /* events that are looked through for where a reader is */
/* Up to which step checkpoints are told: none is left, or those that a run begins with. */
#define ALL INT64_MAX
#define FIRST INT64_C(-1)

/* The node that runs; step 0: none. */
struct task {
	int64_t step, version; /* version: of the checkpoint that it began at, or 0 */
	char *node;
};

struct trail {
	struct call *call;
	struct trail_run run;
	uint64_t seen; /* where its reader is, until that was looked for */
	struct arena *arena;
	const struct value *untold; /* checkpoints, from at on */
	size_t at;
	uint64_t known, newest; /* the run's last that was read, and the thread's */
	struct task task;
	int64_t step; /* the last that was told as done */
};

/* What an event tells. */
struct telling {
	struct trail *trail;
	struct arena *arena;
	const struct value *event;
	struct value_list items;
};

/* --- life --------------------------------------------------------------------------------- */

struct trail *
trail_new(struct call *call, const struct trail_run *run, uint64_t seen)
{
	struct trail *trail = xcalloc(1, sizeof *trail);

	trail->call = call;
	trail->run = *run;
	trail->seen = seen;
	trail->arena = arena_new();
	trail->untold = value_empty_array();
	return trail;
}

void
trail_destroy(struct trail **trail_p)
{
	struct trail *trail = *trail_p;

	if (trail == NULL)
		return;
	*trail_p = NULL;
	arena_destroy(&trail->arena);
	free(trail->task.node);
	free(trail);
}

/* --- the run's checkpoints ---------------------------------------------------------------- */

static const struct value *
first_untold(const struct trail *trail)
{
	return value_at(trail->untold, trail->at);
}

/* Reads those that have come since. */
static enum store_status
read_more(struct trail *trail, struct arena *scratch)
{
	const struct value *found;
	enum store_status status = room_for_state(trail->call);

	if (status != STORE_OK)
		return status;
	status = store_run_checkpoints(api_store(trail->call->api), scratch,
	    trail->run.thread, trail->run.run, trail->known, &found, &trail->newest);
	room_leave_state(trail->call);
	if (status != STORE_OK)
		return thread_walk_is_away(status) ? status : STORE_OK;
	arena_destroy(&trail->arena);
	trail->arena = arena_new();
	trail->untold = value_copy(trail->arena, found);
	trail->at = 0;
	if (value_size(found) > 0)
		trail->known = (uint64_t)value_get_int(
		    value_at(found, value_size(found) - 1), "version", 0);
	return STORE_OK;
}

static bool
is_running(const struct value *checkpoint)
{
	return value_text_is(value_get(checkpoint, "status"), "running");
}

/* A run's last one is told with its end, which may be of the same step as the one before. */
static bool
is_due(const struct value *checkpoint, int64_t up_to)
{
	int64_t step = value_get_int(checkpoint, "step", 0);

	if (up_to == FIRST)
		up_to = value_get_int(checkpoint, "first_step", step);
	return up_to == ALL || (is_running(checkpoint) && step <= up_to);
}

/* The next one that is to be told, or NULL. */
static enum store_status
next_due(struct trail *trail, struct arena *scratch, int64_t up_to,
    const struct value **checkpoint_r)
{
	enum store_status status = STORE_OK;

	if (first_untold(trail) == NULL)
		status = read_more(trail, scratch);
	*checkpoint_r = first_untold(trail);
	if (*checkpoint_r != NULL && !is_due(*checkpoint_r, up_to))
		*checkpoint_r = NULL;
	return status;
}

static void
set_task(struct trail *trail, int64_t step, int64_t version, const char *node)
{
	free(trail->task.node);
	trail->task = (struct task){ step, version, node != NULL ? xstrdup(node) : NULL };
}

/* The node that runs behind a checkpoint, if one does. */
static void
begin_behind(struct trail *trail, const struct value *checkpoint)
{
	const char *node = value_get_text(checkpoint, "next");

	if (is_running(checkpoint) && node != NULL && strcmp(node, GRAPH_END) != 0)
		set_task(trail, value_get_int(checkpoint, "step", 0) + 1,
		    value_get_int(checkpoint, "version", 0), node);
	else
		set_task(trail, 0, 0, NULL);
}

/* --- where its reader is ------------------------------------------------------------------ */

/* Up to which step an event tells checkpoints; otherwise for one that tells none. */
static int64_t
steps_of(const struct value *event, int64_t otherwise)
{
	const struct value *kind = value_get(event, "kind");

	if (value_text_is(kind, "started"))
		return FIRST;
	if (value_text_is(kind, "interrupted") || value_text_is(kind, "finished"))
		return ALL;
	return value_text_is(kind, "step") ? value_get_int(event, "step", 0) : otherwise;
}

/* The last event up to the one that was seen which tells any. Who says what was seen may say what never was. */
static enum store_status
find_steps(struct trail *trail, struct arena *scratch, int64_t *steps_r)
{
	uint64_t end = 0;
	enum store_status status = store_last_event(api_store(trail->call->api), scratch,
	    trail->run.thread, trail->run.run, &end);

	end = end < trail->seen ? end : trail->seen;
	*steps_r = INT64_MIN;
	while (status == STORE_OK && *steps_r == INT64_MIN && end > 0) {
		uint64_t from = end > BACK ? end - BACK : 0;
		const struct value *events = NULL;
		size_t i;

		status = store_events(api_store(trail->call->api), scratch,
		    trail->run.thread, trail->run.run, from, 0, &events);
		for (i = 0; status == STORE_OK && i < value_size(events); i++)
			if ((uint64_t)value_get_int(value_at(events, i), "seq", 0) <= end)
				*steps_r = steps_of(value_at(events, i), *steps_r);
		end = from;
	}
	return status;
}

/* Passes over what its reader has. */
static enum store_status
find_place(struct trail *trail, struct arena *scratch)
{
	const struct value *checkpoint;
	int64_t steps;
	enum store_status status = find_steps(trail, scratch, &steps);

	while (status == STORE_OK && steps != INT64_MIN) {
		status = next_due(trail, scratch, steps, &checkpoint);
		if (status != STORE_OK || checkpoint == NULL)
			break;
		begin_behind(trail, checkpoint);
		trail->at++;
	}
	if (steps > 0 && steps != ALL)
		trail->step = steps;
	if (trail->task.step <= steps)
		set_task(trail, 0, 0, NULL);
	if (!thread_walk_is_away(status))
		trail->seen = 0;
	return status;
}

/* --- states ------------------------------------------------------------------------------- */

/* The thread at version, as of store_thread_at. It is read whole where it stands there still: that takes less. */
static enum store_status
read_thread(struct trail *trail, struct arena *arena, uint64_t version,
    const struct value **thread_r)
{
	struct store *store = api_store(trail->call->api);
	const char *name = trail->run.thread;
	const struct value *after = NULL;
	enum store_status status = STORE_NONE;

	if (version == trail->newest)
		status = store_thread(store, arena, name, thread_r);
	if (status == STORE_OK)
		status = store_thread_outline(store, arena, name, &after);
	if (status == STORE_OK &&
	    (uint64_t)value_get_int(*thread_r, "version", 0) == version &&
	    (uint64_t)value_get_int(after, "version", 0) == version)
		return STORE_OK;
	return thread_walk_is_away(status)
		   ? status
		   : store_thread_at(store, arena, name, version, thread_r);
}

static enum store_status
read_values(struct trail *trail, struct arena *arena, uint64_t version,
    const struct value **thread_r, const struct value **values_r)
{
	struct shape_view view;
	enum store_status status = room_for_state(trail->call);

	if (status != STORE_OK)
		return status;
	status = read_thread(trail, arena, version, thread_r);
	room_leave_state(trail->call);
	if (status == STORE_OK)
		status = blueprint_view(
		    trail->call, arena, value_get(*thread_r, "head"), &view);
	if (status == STORE_OK)
		*values_r = shape_values(arena, value_get(*thread_r, "messages"),
		    value_get(*thread_r, "fields"), &view);
	return status;
}

static const struct value *
config_of(struct arena *arena, const struct value *checkpoint)
{
	return value_is(checkpoint, VALUE_MAP)
		   ? value_map(arena, "configurable", checkpoint, NULL)
		   : value_nil();
}

/* A checkpoint as it is told: as the thread's state, and by LangGraph's older names. */
static const struct value *
describe(struct telling *telling, const struct value *thread,
    const struct value *checkpoint, const struct value *values)
{
	const struct trail_run *run = &telling->trail->run;
	struct arena *arena = telling->arena;
	const struct value *state;

	thread = value_map(arena, "thread", value_str(arena, run->thread), "version",
	    value_get(checkpoint, "version"), "head", value_get(thread, "head"), "fault",
	    value_get(telling->event, "error"), "run_metadata", run->metadata, NULL);
	state = shape_state(
	    arena, thread, checkpoint, values, asks_of(arena, value_get(thread, "head")));
	return value_map_merge(arena, state,
	    value_map(arena, "config", config_of(arena, value_get(state, "checkpoint")),
		"parent_config", config_of(arena, value_get(state, "parent_checkpoint")),
		NULL));
}

/* --- telling ------------------------------------------------------------------------------ */

static void
add(struct telling *telling, const char *type, int64_t step, const struct value *at,
    const struct value *payload)
{
	struct arena *arena = telling->arena;

	value_list_add(&telling->items,
	    value_map(arena, "type", value_str(arena, type), "step",
		value_int(arena, step), "at", at, "payload", payload, NULL));
}

static const struct value *
task_id(const struct telling *telling)
{
	const struct task *task = &telling->trail->task;
	const struct trail_run *run = &telling->trail->run;

	return task->version > 0
		   ? value_printf(
			 telling->arena, "%s:%" PRId64, run->thread, task->version)
		   : value_printf(telling->arena, "%s:%" PRId64, run->run, task->step);
}

/* The trail's task begins. */
static void
add_task(struct telling *telling, const struct value *at, const struct value *input)
{
	const struct task *task = &telling->trail->task;
	struct arena *arena = telling->arena;
	const struct value *trigger = value_printf(arena, "branch:to:%s", task->node);

	add(telling, "task", task->step, at,
	    value_map(arena, "id", task_id(telling), "name", value_str(arena, task->node),
		"input", input, "triggers",
		value_array_add(arena, value_empty_array(), trigger), "interrupts",
		value_empty_array(), NULL));
}

/* It has ended. */
static void
add_result(struct telling *telling, const struct value *result,
    const struct value *interrupts, const struct value *error)
{
	struct trail *trail = telling->trail;
	struct arena *arena = telling->arena;

	add(telling, "task_result", trail->task.step, value_get(telling->event, "at"),
	    value_map(arena, "id", task_id(telling), "name",
		value_str(arena, trail->task.node), "error", error, "result", result,
		"interrupts", interrupts, NULL));
	set_task(trail, 0, 0, NULL);
}

/* The checkpoint, and the node that begins there. Its state may be gone: then nobody can say what it was. */
static enum store_status
tell_checkpoint(struct telling *telling, const struct value *checkpoint)
{
	struct trail *trail = telling->trail;
	struct arena *arena = telling->arena;
	const struct value *values = value_nil(), *thread = NULL;
	const struct value *at = value_int(arena, value_get_int(checkpoint, "at", 0));
	enum store_status status = STORE_OK;

	if (!trail->run.names_only)
		status = read_values(trail, arena,
		    (uint64_t)value_get_int(checkpoint, "version", 0), &thread, &values);
	if (thread_walk_is_away(status))
		return status;
	if (status == STORE_OK)
		add(telling, "checkpoint", value_get_int(checkpoint, "step", 0), at,
		    describe(telling, thread, checkpoint, values));
	begin_behind(trail, checkpoint);
	if (trail->task.step > 0)
		add_task(telling, at, values);
	return STORE_OK;
}

static enum store_status
tell_checkpoints(struct telling *telling, int64_t up_to)
{
	struct trail *trail = telling->trail;
	const struct value *checkpoint;
	enum store_status status;

	for (;;) {
		status = next_due(trail, telling->arena, up_to, &checkpoint);
		if (status != STORE_OK || checkpoint == NULL)
			return status;
		status = tell_checkpoint(telling, value_copy(telling->arena, checkpoint));
		if (status != STORE_OK)
			return status;
		trail->at++;
	}
}

/* A node hook that shares a commit with others has begun and ended when that comes. */
static void
tell_step(struct telling *telling, const struct value *messages)
{
	struct trail *trail = telling->trail;
	const struct value *event = telling->event;
	const char *node = value_get_text(event, "node");
	int64_t step = value_get_int(event, "step", 0);

	if (node == NULL)
		return;
	if (trail->task.step != step) {
		set_task(trail, step, 0, node);
		add_task(telling, value_get(event, "at"), value_nil());
	}
	add_result(telling,
	    shape_update(telling->arena, messages, value_get(event, "fields")),
	    value_empty_array(), value_nil());
	trail->step = step;
}

/* Whether it was within a node, which is the trail's task then. A hook that nobody told of yet begins: its checkpoint names
 * it. */
static enum store_status
was_within(struct telling *telling, bool is_done, bool *was_r)
{
	struct trail *trail = telling->trail;
	const struct value *checkpoint = NULL;
	enum store_status status = STORE_OK;
	int64_t step;

	if (trail->task.step == 0)
		status = next_due(trail, telling->arena, ALL, &checkpoint);
	step = value_get_int(checkpoint, "step", 0) + !is_done;
	if (checkpoint != NULL && step > trail->step &&
	    step > value_get_int(checkpoint, "first_step", 0) &&
	    value_get_text(checkpoint, "next") != NULL) {
		set_task(trail, step, 0, value_get_text(checkpoint, "next"));
		add_task(telling, value_get(telling->event, "at"), value_nil());
	}
	*was_r = trail->task.step > 0;
	return status;
}

/* Of a pause in front of a node, or behind one, no node is told. */
static enum store_status
tell_pause(struct telling *telling)
{
	const struct value *asks = value_get(telling->event, "interrupts");
	bool was;
	enum store_status status;

	if (!value_is(asks, VALUE_ARRAY))
		return STORE_OK;
	status = was_within(telling, false, &was);
	if (was)
		add_result(telling, value_empty_map(),
		    shape_interrupts(telling->arena, asks), value_nil());
	return status;
}

/* One that is cancelled has no result. */
static enum store_status
tell_end(struct telling *telling)
{
	const struct value *error = value_get(telling->event, "error");
	enum store_status status = STORE_OK;
	bool was = false;

	if (value_text_is(value_get(telling->event, "status"), "error"))
		status = was_within(telling, true, &was);
	if (was)
		add_result(telling, value_empty_map(), value_empty_array(),
		    shape_error(telling->arena, error));
	set_task(telling->trail, 0, 0, NULL);
	return status;
}

enum store_status
trail_event(struct trail *trail, struct arena *arena, const struct value *event,
    const struct value *messages, const struct value **items_r)
{
	struct telling telling = { .trail = trail,
		.arena = arena,
		.event = event,
		.items = { .arena = arena } };
	const struct value *kind = value_get(event, "kind");
	int64_t steps = steps_of(event, INT64_MIN);
	enum store_status status = STORE_OK;

	*items_r = value_empty_array();
	if (steps == INT64_MIN)
		return STORE_OK;
	if (trail->seen > 0)
		status = find_place(trail, arena);
	if (thread_walk_is_away(status))
		return status;
	if (value_text_is(kind, "step"))
		tell_step(&telling, messages);
	else if (value_text_is(kind, "interrupted"))
		status = tell_pause(&telling);
	else if (value_text_is(kind, "finished"))
		status = tell_end(&telling);
	if (status == STORE_OK)
		status = tell_checkpoints(&telling, steps);
	*items_r = value_list_end(&telling.items);
	return status;
}
