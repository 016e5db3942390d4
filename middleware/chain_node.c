/* Node hooks, and what they may ask of the run. */
#include "chain.h"

#include <assert.h>
#include <stdarg.h>

#include "chain_link.h"
#include "fiber.h"
#include "registry.h"

typedef const struct value *node_hook(struct turn *turn);

static node_hook *
find_hook(const struct middleware *type, enum hook hook)
{
	switch (hook) {
	case HOOK_BEFORE_AGENT:
		return type->before_agent;
	case HOOK_BEFORE_MODEL:
		return type->before_model;
	case HOOK_AFTER_MODEL:
		return type->after_model;
	case HOOK_AFTER_AGENT:
		return type->after_agent;
	default:
		return NULL;
	}
}

const struct value *
chain_node_hook(struct turn *turn, enum hook hook)
{
	node_hook *run = find_hook(turn->use->type, hook);
	const struct value *update;

	assert(run != NULL && turn->use->hooks[hook]);
	turn->fault = NULL;
	update = run(turn);
	/* A cancelled run ends as cancelled whatever its hook made of that. */
	if (fiber_cancelled() && (turn->fault == NULL || !turn->fault->control))
		turn->fault = fault_cancelled(turn->arena);
	/* One that asks is not done: what else it made counts when it runs again. */
	else if (turn->interrupts.asked != NULL)
		turn->fault = NULL;
	if (turn->fault != NULL || turn->interrupts.asked != NULL || value_is_nil(update))
		return NULL;
	if (!value_is(update, VALUE_MAP)) {
		turn->fault = chain_hook_fault(turn->arena, turn->use, hook,
		    "InvalidUpdateError", "gave an update that is not a map");
		return NULL;
	}
	return update;
}

struct arena *
turn_arena(struct turn *turn)
{
	return turn->arena;
}

const struct value *
turn_settings(struct turn *turn)
{
	return turn->use->settings;
}

const struct value *
turn_messages(struct turn *turn)
{
	return turn->messages;
}

const struct value *
turn_get(struct turn *turn, const char *field)
{
	return value_get(turn->state, field);
}

const struct value *
turn_state(struct turn *turn)
{
	return value_map_with(turn->arena, turn->state, "messages", turn->messages);
}

const struct value *
turn_sealed(struct turn *turn, const struct value *message)
{
	const struct value *input;

	if (turn->seal == NULL)
		return message;
	input = value_map(
	    turn->arena, "messages", value_array(turn->arena, &message, 1), NULL);
	return value_at(value_get(turn->seal(turn, input), "messages"), 0);
}

const struct value *
turn_context(struct turn *turn)
{
	return turn->context;
}

const char *
turn_run(struct turn *turn)
{
	return turn->run;
}

const char *
turn_thread(struct turn *turn)
{
	return turn->thread;
}

const char *
turn_agent(struct turn *turn)
{
	return turn->agent;
}

const char *
turn_tenant(struct turn *turn)
{
	return turn->tenant;
}

const char *
turn_middleware(struct turn *turn)
{
	return turn->use->name;
}

const struct value *
turn_tool_calls(struct turn *turn)
{
	long last = chat_last_ai(turn->messages);
	struct value_list list = { .arena = turn->arena };
	const struct value *calls;
	size_t i;

	if (last == -1)
		return value_empty_array();
	calls = value_get(value_at(turn->messages, (size_t)last), "tool_calls");
	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		if (turn->is_output_tool == NULL ||
		    !turn->is_output_tool(turn, value_get_text(call, "name")))
			value_list_add(&list, call);
	}
	return value_list_end(&list);
}

const struct value *
turn_model_profile(struct turn *turn, const char *model)
{
	return use_known_model(turn->arena, turn->use, model);
}

const struct value *
turn_call_profile(struct turn *turn)
{
	return turn->profile;
}

const struct value *
turn_fail(struct turn *turn, const char *type, const char *format, ...)
{
	const char *message;
	va_list args;

	va_start(args, format);
	message = arena_vprintf(turn->arena, format, args);
	va_end(args);
	turn->fault = fault_new(turn->arena, type, "%s", message);
	turn->fault->fatal = true;
	return NULL;
}

void
turn_note(struct turn *turn, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	turn->notes.arena = turn->arena;
	chain_note(&turn->notes, turn->use, format, args);
	va_end(args);
}

bool
turn_streams(struct turn *turn)
{
	return turn->streams != NULL && turn->streams(turn);
}

void
turn_stream(struct turn *turn, const struct value *value)
{
	if (turn->stream != NULL)
		turn->stream(turn, value != NULL ? value : value_nil());
}

const struct value *
turn_call_model(struct turn *turn, const struct value *request)
{
	const struct value *body;

	if (turn->interrupts.asked != NULL)
		return NULL;
	body = turn->call_model(turn, request);
	if (body == NULL)
		turn->fault = fault_cancelled(turn->arena);
	return body;
}

const struct value *
turn_store(struct turn *turn, const struct value *op)
{
	const struct value *answer;

	if (turn->interrupts.asked != NULL)
		return NULL;
	answer = turn->store(turn, op);
	if (answer == NULL)
		turn->fault = fault_cancelled(turn->arena);
	return answer;
}

const struct value *
turn_interrupt(struct turn *turn, const struct value *value)
{
	return turn_interrupt_about(turn, value, NULL);
}

const struct value *
turn_interrupt_about(
    struct turn *turn, const struct value *value, const struct value *about)
{
	return interrupts_take(&turn->interrupts, value, about);
}

const struct value *
turn_answered_calls(const struct turn *turn)
{
	const struct interrupts *interrupts = &turn->interrupts;
	const struct value *calls =
	    value_at(interrupts->answered_calls, interrupts->taken);

	return value_is(calls, VALUE_ARRAY) ? calls : NULL;
}

const struct value *
turn_call_tool(struct turn *turn, const char *name, const struct value *args)
{
	const struct tool *tool = chain_find_tool(turn->use->type, name);
	const struct value *body;

	if (turn->interrupts.asked != NULL)
		return NULL;
	assert(tool != NULL && tool->internal);
	if (turn->call_tool == NULL)
		return value_map(turn->arena, "fault",
		    fault_to_value(
			turn->arena, fault_new(turn->arena, "NotImplementedError",
					 "this process cannot call tool workers")),
		    NULL);
	body = turn->call_tool(turn, tool, args);
	if (body == NULL)
		turn->fault = fault_cancelled(turn->arena);
	return body;
}
