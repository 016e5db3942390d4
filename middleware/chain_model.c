/* The model chain: modify_model_request, the wraps, the provider. */
#include <stdarg.h>
#include <string.h>

#include "chain_link.h"
#include "fiber.h"
#include "loop.h"
#include "model_request.h"
#include "model_usage.h"
#include "output.h"

/* The rest of the chain as one layer sees it. */
struct model_next {
	struct model_run *run;
	size_t from; /* position in the chain of the first use behind this layer */
	/* What the layers behind it returned beside the last response, [{by, update}], inner
	 * first. */
	const struct value *updates;
};

static struct model_response *run_from(struct model_run *run, size_t from,
    struct model_request *request, const struct value **updates_r);

/* --- the end of the chain ----------------------------------------------------------- */

/* A provider's own tool is a map with a type the provider knows: nothing of ours runs it.
 */
static bool
is_provider_tool(const struct value *tool)
{
	const char *type = value_get_text(tool, "type");

	return type != NULL && strcmp(type, "function") != 0;
}

static bool
is_offered(const struct value *tools, const char *name)
{
	size_t i;

	for (i = 0; i < value_size(tools); i++) {
		if (value_text_is(value_get(value_at(tools, i), "name"), name))
			return true;
	}
	return false;
}

static const struct value *
names_of(struct arena *arena, const struct value *tools)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tools); i++)
		value_list_add(&list, value_get(value_at(tools, i), "name"));
	return value_list_end(&list);
}

/* Tools that nobody could run, of those request offers; empty when all is well. */
static const struct value *
unknown_tools(const struct model_request *request)
{
	struct value_list unknown = { .arena = request->run->arena };
	const struct value *known = value_get(request->run->profile, "tools");
	size_t i;

	if (value_get_bool(request->run->profile, "wraps_tools", false))
		return value_empty_array();
	for (i = 0; i < value_size(request->tools); i++) {
		const struct value *tool = value_at(request->tools, i);
		const char *name = value_get_text(tool, "name");

		if (name != NULL && !is_provider_tool(tool) && !is_offered(known, name))
			value_list_add(&unknown, value_get(tool, "name"));
	}
	return value_list_end(&unknown);
}

static struct fault *
unknown_tools_fault(const struct model_request *request, const struct value *unknown)
{
	struct arena *arena = request->run->arena;
	const struct value *known =
	    names_of(arena, value_get(request->run->profile, "tools"));
	struct fault *fault = fault_new(arena, "ValueError",
	    "a wrap_model_call offers tools that the agent has not got: %s (it has: %s). "
	    "Either add them to the agent's tools, or answer their calls in a middleware "
	    "with wrap_tool_call",
	    chain_join(arena, unknown), chain_join(arena, known));

	fault->retryable = false;
	fault->fatal = true;
	return fault;
}

/* Returns response with the agent's name on its AI messages. */
static struct model_response *
named(struct model_run *run, struct model_response *response)
{
	const struct value *name = value_get(run->profile, "name");
	struct value_list list = { .arena = run->arena };
	struct model_response *copy;
	size_t i;

	if (value_is_nil(name))
		return response;
	for (i = 0; i < value_size(response->messages); i++) {
		const struct value *message = value_at(response->messages, i);

		if (chat_is(message, "ai"))
			message = value_map_with(run->arena, message, "name", name);
		value_list_add(&list, message);
	}
	copy = arena_alloc(run->arena, sizeof *copy);
	*copy = *response;
	copy->messages = value_list_end(&list);
	return copy;
}

/* Notes cancellation, which no layer may turn into something else. */
static void
watch_control(struct model_run *run, const struct model_response *response)
{
	if (run->control != NULL)
		return;
	if (response != NULL && response->fault != NULL && response->fault->control)
		run->control = response->fault;
	else if (fiber_cancelled())
		run->control = fault_cancelled(run->arena);
}

/* Notes what a call that was answered has used, whatever becomes of the answer. */
static void
note_used(struct model_run *run, const struct model_request *request,
    const struct model_response *response)
{
	const struct model_usage call = { .model = request->model,
		.system_prompt = request->system_prompt,
		.tools = request->tools,
		.messages = request->messages,
		.answer = response->messages };

	value_list_add(
	    &run->used, model_usage_entry(run->arena, &call,
			    value_get_bool(run->profile, "tells_usage", false)));
}

/* What the answer is to say of it, or NULL: it was not asked for, and the answer's own usage_metadata says all. */
static const struct value *
told_usage(struct model_run *run)
{
	const char *model = value_get_text(run->profile, "model");
	bool says_all = run->used.count == 1 && model != NULL &&
			value_text_is(value_get(run->used.items[0], "model"), model);

	if (run->used.count == 0 ||
	    (says_all && !value_get_bool(run->profile, "tells_usage", false)))
		return NULL;
	return value_list_end(&run->used);
}

static struct model_response *
ask_backend(struct model_run *run, struct model_request *request, const char *tag)
{
	const struct fault *fault = NULL;
	struct model_response *response;
	unsigned attempt;

	request = output_request(request, &fault);
	if (request == NULL)
		return model_response_failed(run->arena, fault);
	attempt = tag == NULL ? ++run->sends : ++run->own_sends;
	response = run->backend->send(run->backend->arg, request, attempt, tag);
	watch_control(run, response);
	if (run->control != NULL)
		return model_response_failed(run->arena, run->control);
	if (response == NULL)
		return model_response_failed(
		    run->arena, fault_new(run->arena, "APIResponseError",
				    "no answer to %s", request->model));
	if (response->fault != NULL)
		return response;
	note_used(run, request, response);
	return output_response(request, response);
}

static struct model_response *
run_backend(struct model_run *run, struct model_request *request)
{
	const struct value *unknown = unknown_tools(request);
	struct model_response *response;

	if (value_size(unknown) > 0)
		return model_response_failed(
		    run->arena, unknown_tools_fault(request, unknown));
	response = ask_backend(run, model_request_for(request, NULL), NULL);
	if (response->fault != NULL)
		return response;
	response = named(run, response);
	run->settled = response->messages;
	return response;
}

/* --- one layer ---------------------------------------------------------------------- */

static bool
has_ai_message(const struct value *messages)
{
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		if (chat_is(value_at(messages, i), "ai"))
			return true;
	}
	return false;
}

/* What is wrong with a hook's response, or NULL. Its messages are brought into form. */
static const char *
settle(struct model_run *run, struct model_response *response)
{
	const struct value *messages;
	const char *error;

	if (!value_is_nil(response->update) && !value_is(response->update, VALUE_MAP))
		return "gave an update that is not a map";
	if (value_has(response->update, "jump_to"))
		return "gave an update with jump_to: only node hooks jump";
	if (response->messages == run->settled && run->settled != NULL)
		return NULL;
	if (response->messages == NULL)
		return "gave neither messages nor a fault";
	messages = chat_normalise(run->arena, response->messages, &error);
	if (messages == NULL)
		return arena_printf(run->arena, "gave a message that is none: %s", error);
	if (!has_ai_message(messages))
		return "gave no AI message";
	response->messages = run->settled = messages;
	return NULL;
}

/* Judges what use's hook returned: cancellation before all, then misuse, then form.
 * Returns what the layer in front gets. */
static struct model_response *
judge(struct model_run *run, const struct middleware_use *use,
    struct model_response *response)
{
	const struct fault *broken = run->broken;
	const char *flaw;

	run->broken = NULL;
	watch_control(run, response);
	if (run->control != NULL)
		return model_response_failed(run->arena, run->control);
	if (broken != NULL)
		return model_response_failed(run->arena, broken);
	if (response != NULL && response->fault != NULL)
		return response;
	flaw = response == NULL ? "gave no response" : settle(run, response);
	if (flaw == NULL)
		return response;
	return model_response_failed(run->arena,
	    chain_hook_fault(run->arena, use, HOOK_WRAP_MODEL_CALL, "TypeError", flaw));
}

static struct model_response *
run_layer(struct model_run *run, size_t at, struct model_request *request,
    const struct value **updates_r)
{
	const struct middleware_use *use = run->chain->uses[at];
	struct model_next next = { .run = run, .from = at + 1 };
	uint64_t started_us = loop_now_us();
	struct model_response *response;

	response = use->type->wrap_model_call(model_request_for(request, use), &next);
	response = judge(run, use, response);
	chain_trace_hook(
	    run->chain, use, HOOK_WRAP_MODEL_CALL, response->fault != NULL, started_us);
	*updates_r = NULL;
	if (response->fault != NULL)
		return response;
	*updates_r = next.updates;
	if (!value_is_nil(response->update))
		*updates_r = value_array_add(run->arena,
		    next.updates == NULL ? value_empty_array() : next.updates,
		    value_map(run->arena, "by", value_str(run->arena, use->name),
			"update", response->update, NULL));
	return response;
}

static struct model_response *
run_from(struct model_run *run, size_t from, struct model_request *request,
    const struct value **updates_r)
{
	size_t at = chain_next_use(run->chain, HOOK_WRAP_MODEL_CALL, from);

	*updates_r = NULL;
	return at < run->chain->count ? run_layer(run, at, request, updates_r)
				      : run_backend(run, request);
}

/* What an outer layer may hold of an inner one's response: a copy, so that what it does
 * to it is its own, without the update, which the runner has. */
static struct model_response *
handed_out(struct model_run *run, const struct model_response *response)
{
	struct model_response *copy = arena_alloc(run->arena, sizeof *copy);

	*copy = *response;
	copy->update = NULL;
	return copy;
}

struct model_response *
model_next(struct model_next *next, struct model_request *request)
{
	struct model_run *run = next->run;

	next->updates = NULL;
	if (run->control != NULL)
		return model_response_failed(run->arena, run->control);
	/* A request that could not be made must not be sent. */
	if (run->broken != NULL)
		return model_response_failed(run->arena, run->broken);
	if (request == NULL)
		return model_response_failed(run->arena,
		    fault_new(run->arena, "TypeError", "model_next without a request"));
	return handed_out(run, run_from(run, next->from, request, &next->updates));
}

struct model_response *
model_call(struct model_request *request, const struct value *wish)
{
	struct model_run *run = request->run;
	struct model_request *wished = model_request_wished(request, wish);
	const char *tag = request->use == NULL ? "model_call" : request->use->name;

	if (run->control != NULL)
		return model_response_failed(run->arena, run->control);
	if (run->broken != NULL)
		return model_response_failed(run->arena, run->broken);
	return ask_backend(run, wished, tag);
}

/* The first key of command that a model's wrap cannot have, or NULL. */
static const char *
unfit_key(const struct value *command)
{
	size_t i;

	for (i = 0; i < value_size(command); i++)
		if (strcmp(value_text(command->pairs[i].key), "update") != 0 &&
		    !value_is_nil(command->pairs[i].value))
			return value_text(command->pairs[i].key);
	return NULL;
}

struct model_response *
model_command(struct model_request *request, struct model_response *response,
    const struct value *command)
{
	struct model_run *run = request->run;
	const char *key = NULL, *reason = NULL;

	if (!value_is(command, VALUE_MAP))
		reason = "gave a command that is not a map";
	else if ((key = unfit_key(command)) != NULL)
		reason = arena_printf(run->arena,
		    "gave a command with %s: around a model call only update counts; a "
		    "node hook may jump",
		    key);
	if (reason != NULL && request->use != NULL)
		run->broken =
		    chain_hook_fault(run->arena, request->use, HOOK_WRAP_MODEL_CALL,
			key != NULL ? "NotImplementedError" : "TypeError", reason);
	else
		response->update = value_get(command, "update");
	return response;
}

const struct value *
model_store(struct model_request *request, const struct value *op)
{
	struct model_run *run = request->run;

	return chain_ask_store(
	    run->arena, run->backend->store, run->backend->arg, op, &run->control);
}

const struct value *
model_interrupt(struct model_request *request, const struct value *value)
{
	struct model_run *run = request->run;

	return interrupts_ask(&run->interrupts, run->arena, value, NULL, &run->control);
}

void
model_note(struct model_request *request, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	chain_note(&request->run->notes, request->use, format, args);
	va_end(args);
}

/* --- the whole call ----------------------------------------------------------------- */

/* Returns the request after use's hook, or NULL with *fault_r. */
static struct model_request *
modify(struct model_run *run, const struct middleware_use *use,
    struct model_request *request, const struct fault **fault_r)
{
	uint64_t started_us = loop_now_us();

	request = use->type->modify_model_request(model_request_for(request, use));
	watch_control(run, NULL);
	if (run->control != NULL)
		*fault_r = run->control;
	else if (run->broken != NULL)
		*fault_r = run->broken;
	else if (request == NULL)
		*fault_r = chain_hook_fault(run->arena, use, HOOK_MODIFY_MODEL_REQUEST,
		    "TypeError", "gave no request");
	chain_trace_hook(
	    run->chain, use, HOOK_MODIFY_MODEL_REQUEST, *fault_r != NULL, started_us);
	return *fault_r == NULL ? request : NULL;
}

static struct model_request *
modify_all(struct model_run *run, const struct fault **fault_r)
{
	struct model_request *request = model_request_new(run);
	const struct chain *chain = run->chain;
	size_t at = chain_next_use(chain, HOOK_MODIFY_MODEL_REQUEST, 0);

	while (at < chain->count && request != NULL) {
		request = modify(run, chain->uses[at], request, fault_r);
		at = chain_next_use(chain, HOOK_MODIFY_MODEL_REQUEST, at + 1);
	}
	return request;
}

static const struct value *
fault_body(struct model_run *run, const struct fault *fault)
{
	if (run->interrupts.asked != NULL && fault == run->control)
		return interrupts_body(
		    &run->interrupts, run->arena, chain_notes_end(&run->notes));
	return value_map(run->arena, "fault", fault_to_value(run->arena, fault), "notes",
	    chain_notes_end(&run->notes), NULL);
}

/* One value of each row, or NULL when there are no rows. */
static const struct value *
column(struct arena *arena, const struct value *rows, const char *key)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		value_list_add(&list, value_get(value_at(rows, i), key));
	return list.count == 0 ? NULL : value_list_end(&list);
}

const struct value *
chain_model_call(struct arena *arena, const struct chain *chain,
    const struct value *profile, const struct value *request,
    const struct model_backend *backend)
{
	struct model_run run = { .arena = arena,
		.chain = chain,
		.profile = profile,
		.request = request,
		.backend = backend,
		.interrupts = { .answers = value_get(request, "answers") },
		.notes = { .arena = arena },
		.used = { .arena = arena } };
	const struct fault *fault = NULL;
	struct model_request *modified = modify_all(&run, &fault);
	const struct value *updates = NULL;
	struct model_response *response;

	if (modified == NULL)
		return fault_body(&run, fault);
	response = run_from(&run, 0, modified, &updates);
	if (response->fault != NULL)
		return fault_body(&run, response->fault);
	return value_map(arena, "messages", response->messages, "structured_response",
	    value_is_nil(response->structured_response) ? NULL
							: response->structured_response,
	    "updates", column(arena, updates, "update"), "writers",
	    column(arena, updates, "by"), "notes", chain_notes_end(&run.notes), "usage",
	    told_usage(&run), NULL);
}
