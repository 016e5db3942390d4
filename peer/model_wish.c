#include "model_wish.h"

#include <string.h>

#include "bodies.h"
#include "caller.h"
#include "fault.h"
#include "middleware.h"
#include "utf8.h"

#define SHOWN_BYTES_MAX 80u /* of what is no model's name, in a message */

static const struct value *
failed(struct arena *arena, const struct fault *fault)
{
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

const char *
model_wish_service(struct arena *arena, const char *model)
{
	const char *colon = model != NULL ? strchr(model, ':') : NULL, *service;

	if (colon == NULL || colon == model)
		return NULL;
	service =
	    arena_printf(arena, SERVICE_MODEL_PREFIX "%.*s", (int)(colon - model), model);
	return wire_is_id(service, SERVICE_BYTES_MAX) ? service : NULL;
}

const struct value *
model_wish_refused(struct arena *arena, const char *model)
{
	size_t shown;

	if (model == NULL)
		return failed(arena, fault_new(arena, "ValueError",
					 "a middleware asked for a model and named none; "
					 "its settings need model: provider:name"));
	shown = utf8_prefix(model, strlen(model), SHOWN_BYTES_MAX);
	return failed(arena,
	    fault_new(arena, "ValueError",
		"a middleware asked for the model \"%.*s%s\"; a model is provider:name, "
		"the provider at most %zu printable ASCII characters without spaces",
		(int)shown, model, model[shown] != '\0' ? "..." : "",
		SERVICE_BYTES_MAX - strlen(SERVICE_MODEL_PREFIX)));
}

/* What the agent's profile would say, were it asked this. */
static const struct value *
profile_of(struct worker_call *call, const char *model, const struct value *wish)
{
	struct arena *arena = call->arena;
	const struct value *tools = value_get(wish, "tools");
	const struct value *middleware = value_get(wish, "middleware");

	return value_freeze(arena,
	    value_map(arena, "agent", value_get(call->profile, "agent"), "version",
		value_get(call->profile, "version"), "model", value_str(arena, model),
		"system_prompt", value_get(wish, "system_prompt"), "model_settings",
		value_get(wish, "model_settings"), "tools",
		tools != NULL ? tools : value_empty_array(), "tool_choice",
		value_get(wish, "tool_choice"), "response_format",
		value_get(wish, "response_format"), "middleware",
		middleware != NULL ? middleware : value_empty_array(), "wraps_tools",
		value_bool(true), "script", value_get(call->profile, "script"), "hides",
		value_get(call->profile, "hides"), NULL));
}

static const struct value *
request_of(struct worker_call *call, const struct value *wish)
{
	return value_map(call->arena, "run", value_get(call->request, "run"), "thread",
	    value_get(call->request, "thread"), "messages", value_get(wish, "messages"),
	    "context", value_get(call->request, "context"), NULL);
}

/* An outcome without a worker's answer, as the client of a model would see it. */
static const struct value *
failed_outcome(struct arena *arena, const struct call_outcome *outcome)
{
	const char *type = "APIConnectionError";
	struct fault *fault;

	if (outcome->code == CODE_CANCELLED)
		return NULL;
	if (outcome->code == CODE_EXPIRED || outcome->code == CODE_NOT_SERVED)
		type = "APITimeoutError";
	else if (outcome->code == CODE_WORKER_LOST || outcome->code == CODE_POISON)
		type = "WorkerLostError";
	else if (outcome->code == CODE_TOO_LARGE || outcome->code == CODE_MALFORMED)
		type = "RuntimeError";
	fault = fault_new(arena, type, "the model call was not answered: %s",
	    outcome->reason != NULL ? outcome->reason : wire_code_text(outcome->code));
	if (outcome->code == CODE_TOO_LARGE || outcome->code == CODE_MALFORMED)
		fault->retryable = false;
	return failed(arena, fault);
}

static const struct value *
ask(struct worker_call *call, const struct call_request *request)
{
	struct call_outcome outcome;

	if (worker_nested_call(call, request, &outcome) == -1)
		return NULL;
	return outcome.code == CODE_OK ? outcome.body
				       : failed_outcome(call->arena, &outcome);
}

const struct value *
model_wish_send(struct worker_call *call, const struct value *wish, unsigned number,
    uint64_t left_ms, unsigned flags)
{
	struct arena *arena = call->arena;
	const char *model = value_get_text(wish, "model");
	struct call_request request = {
		.id = arena_printf(arena, "%s/m%u", call->header->call_id, number),
		.run = call->header->run,
		.step = call->header->step,
		.epoch = call->header->epoch,
		.deadline_ms = left_ms,
		.priority = call->header->priority,
		.tenant = call->header->tenant,
		.flags = flags,
	};

	if (model == NULL)
		model = value_get_text(call->profile, "model");
	request.service = model_wish_service(arena, model);
	if (request.service == NULL)
		return model_wish_refused(arena, model);
	request.profile = profile_of(call, model, wish);
	request.request = request_of(call, wish);
	return ask(call, &request);
}
