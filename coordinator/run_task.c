/* run_task: a tool's call that may have other agents do something (middleware.h, tool_child).
 *
 * It ends with {child: what is wanted}, which is stored as any outcome; when the child has ended (run_child.c), or what is
 * not waited for has been done (run_async.c), the call is sent once more, as <call id>+<n>, with what came of its n
 * children. docs/protocol.md, "Children". */
#include "run_child.h"

#include <string.h>

#include "bodies.h"
#include "bounds.h"
#include "fiber.h"

/* What it wants is known from here on, whoever goes on with the run; its worker may forget it. */
static enum go
store_wish(struct run *run, struct arena *arena, const struct effect *effect,
    const char *id, const struct value *body)
{
	enum store_status status;

	if (body == value_get(run->results, id)) {
		value_list_add(&run->answered, value_str(run->batch, effect->last_id));
		return GO_ON;
	}
	status = run_store(run, arena, value_map(arena, id, body, NULL));
	if (status != STORE_OK) {
		run_give_up(run);
		return GO_DROP;
	}
	run->results_stored = true;
	caller_stored(run->coordinator->caller, effect->last_id);
	return run_must_stop(run) ? GO_DROP : GO_ON;
}

/* The same of what came of it: its thread may be over when somebody goes on with the run, and it would begin anew. What
 * asks is kept by its own thread. */
static enum go
store_came(struct run *run, struct arena *arena, const char *id, const struct value *came)
{
	if (!value_has(came, "asks") &&
	    run_store(run, arena, value_map(arena, id, came, NULL)) == STORE_OK)
		run->results_stored = true;
	return run_must_stop(run) ? GO_DROP : GO_ON;
}

static bool
is_control(const struct value *body)
{
	return value_get_bool(value_get(body, "fault"), "control", false);
}

static const struct value *
too_many(struct arena *arena)
{
	const struct fault *fault = fault_new(arena, "RuntimeError",
	    "the call has had %u children, and wants one more", CALL_CHILDREN_MAX);

	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

/* came is added to what came of the children so far. A call that could not be sent would end the run: what is too
 * large for it is a child's failure. */
static void
add_came(struct arena *arena, struct effect *effect, const struct child *child,
    const struct value *came)
{
	const struct value *before =
	    effect->children != NULL ? effect->children : value_empty_array();

	effect->children = value_freeze(arena, value_array_add(arena, before, came));
	if (effect->children->packed_size > CALL_CHILDREN_BYTES_MAX)
		effect->children = value_array_add(arena, before,
		    child_failed_with(arena, child,
			arena_printf(arena,
			    "what came of it is too large: the agents that a call has "
			    "work may bring %u bytes together, in text and state",
			    CALL_CHILDREN_BYTES_MAX)));
}

const char *
child_call_id(struct arena *arena, const char *first, size_t count)
{
	return count == 0 ? first : arena_printf(arena, "%s+%zu", first, count);
}

/* The call that goes on with the children that have ended so far. */
static void
set_call(struct arena *arena, struct effect *effect, const struct run_call *first)
{
	size_t count = value_size(effect->children);

	effect->call = *first;
	if (count == 0)
		return;
	effect->call.id = child_call_id(arena, first->id, count);
	effect->call.key = first->key != NULL ? first->key : first->id;
	effect->call.request =
	    value_map_with(arena, first->request, "children", effect->children);
}

/* Sends it: to the worker that keeps the call's place, if one does. Without that one, or its place, the call is as
 * any other, under an id of its own; and so it is from the start when it must not run twice. */
static enum go
send_on(struct run *run, struct arena *arena, struct effect *effect, const char *kept_by,
    const struct value **outcome_r)
{
	struct run_call call = effect->call;
	const char *anew = arena_printf(arena, "%sr", call.id);
	bool worked;
	enum go go;

	if ((call.flags & WIRE_ONCE) != 0 || kept_by == NULL ||
	    strlen(kept_by) != SESSION_BYTES || !wire_is_id(kept_by, SESSION_BYTES))
		return run_effect(run, arena, effect, outcome_r);
	/* Who had the run before us has found that worker gone. */
	if (value_has(run->results, anew)) {
		effect->call.id = anew;
		return run_effect(run, arena, effect, outcome_r);
	}
	call.service = arena_printf(arena, SERVICE_WORKER_PREFIX "%s", kept_by);
	effect->last_id = call.id;
	go = run_call_worked(run, arena, &call, outcome_r, &worked);
	if (go != GO_ON || worked || is_control(*outcome_r))
		return go;
	/* Nobody stores that it was lost. */
	value_list_add(&run->answered, value_str(run->batch, call.id));
	effect->call.id = anew;
	return run_effect(run, arena, effect, outcome_r);
}

/* What a run needs to go on with a child that has failed, or is cancelled with this one (run_failed.c). */
static const struct value *
at_work(struct arena *arena, const struct effect *effect, const struct child *child)
{
	const struct value *thread = value_get(effect->held, "thread");
	/* Where it ends before it has taken them, another one is given them. */
	const struct value *answers =
	    value_is(effect->given, VALUE_MAP) ? effect->given : NULL;

	return value_map(arena, "thread",
	    thread != NULL ? thread : value_str(arena, child->run), "run",
	    value_str(arena, child->run), "child", child->wish, "asks_nothing",
	    value_bool(true), "at_work", value_bool(true), "answers", answers,
	    "asked_nothing",
	    answers != NULL ? value_get(effect->held, "asks_nothing") : NULL, NULL);
}

/* Does what is wanted, unless who had the run before us has. */
static enum go
see_to(struct run *run, struct arena *arena, struct effect *effect, struct child *child,
    const char *call, const struct value **came_r)
{
	size_t number = value_size(effect->children) + 1;
	const char *id = arena_printf(arena, "%s=%zu", call, number);
	const struct value *stored;
	bool is_async = value_has(child->wish, "op");
	enum go go = GO_ON;

	child->run = child_run(arena, run, effect->call.id, number);
	*came_r = stored = value_get(run->results, id);
	effect->begun = number;
	effect->at_work = is_async ? NULL : at_work(arena, effect, child);
	if (stored == NULL && is_async) {
		/* What Redis may have done is known to the end: it has no thread of its own to be found at. */
		fiber_shield(true);
		go = run_async(run, arena, effect, child, came_r);
		fiber_shield(false);
	} else if (stored == NULL) {
		go = child_run_to_end(run, arena, effect, child, came_r);
	}
	return go != GO_ON || stored != NULL ? go : store_came(run, arena, id, *came_r);
}

/* It has ended. If it has failed it goes on where it stands, where the call fails the run. */
static void
end_child(struct arena *arena, struct effect *effect, const struct child *child,
    const struct value *came)
{
	const struct value *last;

	add_came(arena, effect, child, came);
	last = value_at(effect->children, value_size(effect->children) - 1);
	if (!value_has(last, "fault") || (effect->call.flags & WIRE_ONCE) != 0)
		effect->at_work = NULL;
}

enum go
run_effect_with_children(struct run *run, struct arena *arena, struct effect *effect,
    const struct value **outcome_r)
{
	const struct run_call first = effect->call;
	const struct value *came;
	const char *kept_by = NULL;
	enum go go;

	effect->last_id = first.id;
	for (;;) {
		struct child child = { 0 };

		go = run_children_stand(run, arena, effect);
		if (go != GO_ON)
			return go;
		if (effect->held == NULL || effect->known != NULL) {
			set_call(arena, effect, &first);
			go = send_on(run, arena, effect, kept_by, outcome_r);
			child.wish = value_get(*outcome_r, "child");
			if (go != GO_ON || !value_is(child.wish, VALUE_MAP) ||
			    value_has(*outcome_r, "fault"))
				return go;
			kept_by = value_get_text(*outcome_r, "kept_by");
			if (value_size(effect->children) >= CALL_CHILDREN_MAX) {
				*outcome_r = too_many(arena);
				return GO_ON;
			}
			go = store_wish(run, arena, effect, effect->call.id, *outcome_r);
			effect->call = first;
		} else {
			child.wish = value_get(effect->held, "child");
		}
		if (go == GO_ON)
			go = see_to(run, arena, effect, &child, first.id, &came);
		if (go != GO_ON)
			return go;
		effect->given = NULL;
		if (value_has(came, "asks")) {
			*outcome_r = came;
			return GO_ON;
		}
		effect->held = NULL;
		end_child(arena, effect, &child, came);
	}
}
