/* run_effect: calls of tools that must not run twice.
 *
 * When the worker is lost under such a call, nobody knows whether it took effect: the call is
 * uncertain, and the tool's policy says what follows. To repeat it means another call with the
 * same idempotency key. Before that goes out, the run's stored outcomes say that it will:
 * {lost: [...]} under the id of the first, so that whoever takes the run over neither sends
 * a third one nor takes one that nobody has sent for lost. */
#include "run_round.h"

#include <string.h>

#include "bodies.h"
#include "chat.h"
#include "log.h"
#include "uncertain.h"

static const char *
tool_name_of(const struct effect *effect)
{
	const char *name = value_get_text(effect->tool_call, "name");

	return name != NULL ? name : "?";
}

/* The id of the call behind count lost ones. */
static const char *
id_of(struct arena *arena, const struct effect *effect, size_t count)
{
	return count == 0 ? effect->call.id
			  : arena_printf(arena, "%s~%zu", effect->call.id, count);
}

static const struct value *
lost_with(struct arena *arena, const struct value *lost, const struct effect *effect,
    const struct value *reason)
{
	return value_array_add(arena, lost != NULL ? lost : value_empty_array(),
	    value_map(arena, "call", value_str(arena, effect->last_id), "reason", reason,
		NULL));
}

bool
run_may_run_twice(const struct run *run, const struct value *definition)
{
	return value_get_bool(
	    definition, "idempotent", definition != NULL || !run->recovered);
}

/* --- what follows ------------------------------------------------------------------- */

static const struct value *
told_to_model(
    struct run *run, struct arena *arena, const struct effect *effect, const char *reason)
{
	const char *name = tool_name_of(effect);
	const struct value *message = chat_tool(arena,
	    arena_printf(arena,
		"Error: nobody knows whether this call of %s took effect: %s. It may "
		"have "
		"happened, or not, and it was not repeated. Find out which before you "
		"call %s again.",
		name, reason, name),
	    value_get_text(effect->tool_call, "id"), name, "error");
	const struct value *command, *update;

	message = value_map_with(arena, message, "artifact",
	    value_map(arena, "uncertain", value_bool(true), "call",
		value_str(arena, effect->last_id), "reason", value_str(arena, reason),
		NULL));
	update = run_pin_lost(run, arena, effect->tool, &message);
	update =
	    value_map_with(arena, update, "messages", value_array(arena, &message, 1));
	command = value_map(arena, "update", update, NULL);
	return value_map(arena, "commands", value_array(arena, &command, 1), NULL);
}

static const struct value *
asked(struct arena *arena, const struct effect *effect, const char *reason)
{
	return value_map(arena, "ask",
	    value_map(arena, "id", value_str(arena, effect->last_id), "value",
		value_map(arena, "type", value_str(arena, "uncertain"), "tool_call",
		    effect->tool_call, "reason", value_str(arena, reason), NULL),
		NULL),
	    NULL);
}

static const struct value *
poisoned(struct arena *arena, const struct effect *effect, size_t count)
{
	struct fault *fault = fault_new(arena, "PoisonError",
	    "%s was repeated and took %zu workers down", effect->call.service, count);

	fault->fatal = true;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

static const struct value *
with_lost(struct arena *arena, const struct value *outcome, const struct value *lost,
    enum uncertain policy)
{
	return value_map_with(arena, value_map_with(arena, outcome, "lost", lost), "then",
	    value_str(arena, uncertain_name(policy)));
}

/* Says in Redis that one more is about to be sent. */
static enum go
store_lost(struct run *run, struct arena *arena, const struct effect *effect,
    const struct value *lost)
{
	enum store_status status = run_store(run, arena,
	    value_map(
		arena, effect->call.id, value_map(arena, "lost", lost, NULL), NULL));

	if (status != STORE_OK) {
		/* Not ours any more, or nothing can be said: nor are the round's others. */
		run_give_up(run);
		return GO_DROP;
	}
	run->results_stored = true;
	caller_stored(run->coordinator->caller, effect->last_id);
	return run_must_stop(run) ? GO_DROP : GO_ON;
}

/* --- sending ------------------------------------------------------------------------ */

static enum go
send_one(struct run *run, struct arena *arena, struct effect *effect, size_t lost_count,
    bool is_new, const struct value **body_r)
{
	struct run_call call = effect->call;

	call.id = effect->last_id = id_of(arena, effect, lost_count);
	if (call.key == NULL)
		call.key = effect->call.id;
	call.is_new = call.is_new || is_new;
	return run_call(run, arena, &call, body_r);
}

/* The outcome of a call whose last sending was lost, or NULL: it is to be sent again. */
static const struct value *
outcome_of_lost(struct run *run, struct arena *arena, const struct effect *effect,
    const struct value *lost)
{
	enum uncertain policy = uncertain_of(effect->tool);
	size_t count = value_size(lost);
	const char *reason = value_get_text(value_at(lost, count - 1), "reason");

	log_info("call=%s tool=%s uncertain: %s; policy=%s", effect->last_id,
	    tool_name_of(effect), reason, uncertain_name(policy));
	switch (policy) {
	case UNCERTAIN_INTERRUPT:
		return with_lost(arena, asked(arena, effect, reason), lost, policy);
	case UNCERTAIN_REPEAT:
		return count < CALL_ATTEMPTS_MAX
			   ? NULL
			   : with_lost(
				 arena, poisoned(arena, effect, count), lost, policy);
	case UNCERTAIN_TELL_MODEL:
	default:
		return with_lost(
		    arena, told_to_model(run, arena, effect, reason), lost, policy);
	}
}

const struct value *
run_effect_cut_off(struct run *run, struct effect *effect, const char *reason)
{
	struct arena *arena = run->scratch;

	return outcome_of_lost(
	    run, arena, effect, lost_with(arena, NULL, effect, value_str(arena, reason)));
}

/* It only says that calls were lost, and that one more was about to be sent. */
static bool
is_to_be_sent(const struct value *stored)
{
	return value_size(stored) == 1 && value_has(stored, "lost");
}

enum go
run_effect(struct run *run, struct arena *arena, struct effect *effect,
    const struct value **outcome_r)
{
	const struct value *stored = value_get(run->results, effect->call.id);
	const struct value *lost = NULL, *body;
	bool is_new = false;
	enum go go;

	effect->last_id = effect->call.id;
	*outcome_r = effect->known;
	if (effect->known != NULL)
		return GO_ON;
	if (is_to_be_sent(stored)) {
		lost = value_get(stored, "lost");
	} else if (stored != NULL) {
		*outcome_r = stored;
		return GO_ON;
	}
	for (;;) {
		go = send_one(run, arena, effect, value_size(lost), is_new, &body);
		if (go != GO_ON)
			return go;
		if (!value_has(body, "lost"))
			break;
		lost = lost_with(arena, lost, effect, value_get(body, "lost"));
		*outcome_r = outcome_of_lost(run, arena, effect, lost);
		if (*outcome_r != NULL)
			return GO_ON;
		go = store_lost(run, arena, effect, lost);
		if (go != GO_ON)
			return go;
		is_new = true; /* until this was stored nobody could send it */
	}
	*outcome_r = lost == NULL ? body : with_lost(arena, body, lost, UNCERTAIN_REPEAT);
	return GO_ON;
}

void
run_effect_events(
    struct run *run, const struct effect *effect, const struct value *outcome)
{
	const struct value *lost = value_get(outcome, "lost");
	struct arena *arena = run->batch;
	size_t i;

	for (i = 0; i < value_size(lost); i++) {
		const struct value *one = value_copy(arena, value_at(lost, i));

		run_event(run, "uncertain",
		    value_map_merge(arena, one,
			value_map(arena, "tool", value_str(arena, tool_name_of(effect)),
			    "tool_call_id",
			    value_copy(arena, value_get(effect->tool_call, "id")), "then",
			    value_copy(arena, value_get(outcome, "then")), NULL)));
	}
}
