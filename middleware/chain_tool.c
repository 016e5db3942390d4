/* The tool chain: the wraps, look-up, argument check, the tool's body. */
#include <stdarg.h>

#include <string.h>

#include "chain_link.h"
#include "fiber.h"
#include "json.h"
#include "loop.h"
#include "model_usage.h"
#include "nearest.h"
#include "schema.h"
#include "tool_request.h"
#include "utf8.h"

#define ARGS_SHOWN_BYTES 1000u /* of the arguments, in the message that refuses them */
#define NAMES_MAX 256u         /* looked at for the nearest one */

/* The rest of the chain as one layer sees it. */
struct tool_next {
	struct tool_run *run;
	size_t from; /* position in the chain of the first use behind this layer */
};

/* --- faults: whose is it? ----------------------------------------------------------- */

/* An error of the tool's body is the agent's to judge (tool_errors). A hook's own failure
 * ends the run. What tells them apart: a hook's own fault is one that no layer behind it
 * has returned. */

static bool
is_known(const struct tool_run *run, const struct fault *fault)
{
	const struct known_fault *known;

	for (known = run->known; known != NULL; known = known->next) {
		if (known->fault == fault)
			return true;
	}
	return false;
}

static const struct fault *
make_known(struct tool_run *run, const struct fault *fault)
{
	struct known_fault *known = arena_alloc(run->arena, sizeof *known);

	known->fault = fault;
	known->next = run->known;
	run->known = known;
	return fault;
}

static const struct fault *
made_fatal(struct tool_run *run, const struct fault *fault)
{
	struct fault *copy = arena_alloc(run->arena, sizeof *copy);

	*copy = *fault;
	copy->fatal = true;
	return copy;
}

static void
watch_control(struct tool_run *run, const struct tool_result *result)
{
	if (run->control != NULL)
		return;
	if (result != NULL && result->fault != NULL && result->fault->control)
		run->control = result->fault;
	else if (fiber_cancelled())
		run->control = fault_cancelled(run->arena);
}

/* --- the end of the chain ----------------------------------------------------------- */

static const char *
nearest_tool(const struct value *tools, const char *name)
{
	const char *names[NAMES_MAX];
	size_t count;

	for (count = 0; count < value_size(tools) && count < NAMES_MAX; count++)
		names[count] = value_text(value_at(tools, count));
	return nearest_name(name, names, count);
}

static struct tool_result *
answer_unknown(struct tool_request *request)
{
	struct arena *arena = request->run->arena;
	const struct value *tools = value_get(request->run->profile, "tools");
	const char *near = nearest_tool(tools, request->name);

	return tool_answer(request,
	    arena_printf(arena, "Error: %s is not a valid tool%s%s Use one of [%s].",
		request->name, near == NULL ? "." : "; did you mean ",
		near == NULL ? "" : arena_printf(arena, "%s?", near),
		chain_join(arena, tools)),
	    "error");
}

static struct tool_result *
answer_bad_arguments(struct tool_request *request, const char *reason)
{
	struct arena *arena = request->run->arena;
	const char *args = json_text(arena, request->args);
	size_t size = strlen(args), shown = utf8_prefix(args, size, ARGS_SHOWN_BYTES);

	return tool_answer(request,
	    arena_printf(arena,
		"Error: the tool %s was not run, its arguments do not fit: %s\n"
		"It was called with %.*s%s\n"
		"Correct the arguments and call it again.",
		request->name, reason, (int)shown, args, shown < size ? "..." : ""),
	    "error");
}

const struct tool *
chain_find_tool(const struct middleware *type, const char *name)
{
	const struct tool *const *tools = type->tools;
	size_t i;

	for (i = 0; tools != NULL && tools[i] != NULL; i++) {
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	}
	return NULL;
}

/* The tool that use brings by this name, which configure() may have given it: then the definition's
 * `body` has its own. */
static const struct tool *
find_tool(const struct middleware_use *use, const char *name, bool *is_renamed_r,
    const struct value **definition_r)
{
	size_t i;

	*is_renamed_r = false;
	for (i = 0; use != NULL && i < value_size(use->tools); i++) {
		const struct value *tool = value_at(use->tools, i);
		const char *body = value_get_text(tool, "body");

		if (!value_text_is(value_get(tool, "name"), name))
			continue;
		*is_renamed_r = body != NULL;
		*definition_r = tool;
		return chain_find_tool(use->type, body != NULL ? body : name);
	}
	return NULL;
}

const struct tool *
chain_brought_tool(const struct tool_request *request)
{
	const struct value *definition;
	bool is_renamed;

	return find_tool(tool_bringer(request->run, request->name), request->name,
	    &is_renamed, &definition);
}

struct tool_result *
chain_tool_unfit(struct tool_request *request, const struct value *definition)
{
	struct tool_run *run = request->run;
	const char *reason;
	bool is_renamed;

	if (definition == NULL)
		find_tool(tool_bringer(run, request->name), request->name, &is_renamed,
		    &definition);
	if (schema_check(run->arena, value_get(definition, "parameters"), request->args,
		&reason) == 0)
		return NULL;
	return tool_fail(
	    request, fault_new(run->arena, "ToolInvocationError", "%s", reason));
}

/* Runs the body: this worker's own tool, or one that a middleware of the agent brings,
 * which sees that use's settings. NULL: nobody has it. */
static struct tool_result *
run_body(struct tool_run *run, struct tool_request *request)
{
	const struct middleware_use *use = tool_bringer(run, request->name);
	bool is_renamed;
	const struct value *own = NULL;
	const struct tool *tool = find_tool(use, request->name, &is_renamed, &own);
	struct tool_result *result = NULL;

	request = tool_request_for(request, use);
	/* A worker's own tool of the name that it has here is not meant. */
	if ((is_renamed && tool != NULL) ||
	    run->backend->run(run->backend->arg, request, &result) == -1) {
		if (tool == NULL)
			return NULL;
		result = chain_tool_unfit(request, own);
		if (result == NULL)
			result = tool->run(request);
	}
	return result == NULL ? tool_result_failed(run->arena, NULL) : result;
}

/* What the body gave, as a result that can travel outward. */
static struct tool_result *
accept_body(struct tool_request *request, struct tool_result *result)
{
	struct tool_run *run = request->run;
	const char *flaw;

	run->broken = NULL;
	watch_control(run, result);
	if (run->control != NULL)
		return tool_result_failed(run->arena, run->control);
	/* A tool may know better than its schema what it cannot take. */
	if (result->fault != NULL &&
	    fault_type_is(result->fault->type, "ToolInvocationError"))
		return answer_bad_arguments(request, result->fault->message);
	if (result->fault == NULL) {
		flaw = tool_result_settle(request, result, true);
		if (flaw == NULL)
			return result;
		result = tool_result_failed(
		    run->arena, fault_new(run->arena, "ValueError", "tool %s %s",
				    request->name, flaw));
	}
	make_known(run, result->fault);
	return result;
}

static struct tool_result *
run_tool(struct tool_run *run, struct tool_request *request)
{
	struct tool_result *result;
	const char *reason;

	if (request->definition == NULL)
		return answer_unknown(request);
	if (schema_check(run->arena, value_get(request->definition, "parameters"),
		request->args, &reason) == -1)
		return answer_bad_arguments(request, reason);
	result = run_body(run, request);
	return result == NULL ? answer_unknown(request) : accept_body(request, result);
}

/* --- one layer ---------------------------------------------------------------------- */

/* Judges what use's hook returned for request: cancellation before all, then misuse, then
 * form. Returns what the layer in front gets. */
static struct tool_result *
judge(struct tool_run *run, struct tool_request *request, struct tool_result *result)
{
	const struct fault *fault = run->broken;
	const char *flaw;

	run->broken = NULL;
	watch_control(run, result);
	if (run->control != NULL)
		return tool_result_failed(run->arena, run->control);
	if (fault == NULL && result != NULL)
		fault = result->fault;
	if (fault != NULL) {
		if (is_known(run, fault))
			return result;
		fault = made_fatal(run, fault);
		return tool_result_failed(run->arena, make_known(run, fault));
	}
	flaw = result == NULL ? "gave no result"
			      : tool_result_settle(request, result, false);
	if (flaw == NULL)
		return result;
	fault = chain_hook_fault(
	    run->arena, request->use, HOOK_WRAP_TOOL_CALL, "ValueError", flaw);
	return tool_result_failed(run->arena, make_known(run, fault));
}

static struct tool_result *
run_from(struct tool_run *run, size_t from, struct tool_request *request)
{
	size_t at = chain_next_use(run->chain, HOOK_WRAP_TOOL_CALL, from);
	struct tool_next next = { .run = run, .from = at + 1 };
	const struct middleware_use *use;
	uint64_t started_us = loop_now_us();
	struct tool_result *result;

	if (at == run->chain->count)
		return run_tool(run, request);
	use = run->chain->uses[at];
	request = tool_request_for(request, use);
	result = use->type->wrap_tool_call(request, &next);
	result = judge(run, request, result);
	chain_trace_hook(
	    run->chain, use, HOOK_WRAP_TOOL_CALL, result->fault != NULL, started_us);
	return result;
}

struct tool_result *
tool_next(struct tool_next *next, struct tool_request *request)
{
	struct tool_run *run = next->run;
	struct tool_result *result;

	if (run->control != NULL)
		return tool_result_failed(run->arena, run->control);
	/* A request that could not be made must not run. */
	if (run->broken != NULL)
		return tool_result_failed(run->arena, run->broken);
	if (request == NULL)
		return tool_result_failed(run->arena,
		    fault_new(run->arena, "TypeError", "tool_next without a request"));
	result = arena_alloc(run->arena, sizeof *result);
	*result = *run_from(run, next->from, request);
	return result;
}

/* Notes what a tool's own call of a model has used. */
static void
note_used(struct tool_run *run, const struct value *wish, const struct value *body)
{
	const char *model = value_get_text(wish, "model");
	const struct value *used;

	if (model == NULL)
		model = value_get_text(run->profile, "model");
	used = model_usage_of_wish(run->arena, model, wish, body,
	    value_get_bool(run->profile, "tells_usage", false));
	if (used != NULL)
		value_list_add(&run->used, used);
}

const struct value *
tool_call_model(struct tool_request *request, const struct value *wish)
{
	struct tool_run *run = request->run;
	const struct value *body;

	if (run->control != NULL)
		return NULL;
	if (run->backend->call_model == NULL)
		return value_map(run->arena, "fault",
		    fault_to_value(
			run->arena, fault_new(run->arena, "NotImplementedError",
					"this process cannot call models from tools")),
		    NULL);
	body = run->backend->call_model(run->backend->arg, request, wish);
	if (body == NULL)
		run->control = fault_cancelled(run->arena);
	else
		note_used(run, wish, body);
	return body;
}

const struct value *
tool_store(struct tool_request *request, const struct value *op)
{
	struct tool_run *run = request->run;

	return chain_ask_store(
	    run->arena, run->backend->store, run->backend->arg, op, &run->control);
}

const struct value *
tool_interrupt(struct tool_request *request, const struct value *value)
{
	return tool_interrupt_about(request, value, NULL);
}

const struct value *
tool_interrupt_about(
    struct tool_request *request, const struct value *value, const struct value *about)
{
	struct tool_run *run = request->run;

	if (request->use != NULL)
		about = value_map_merge(run->arena, about,
		    value_map(run->arena, "asker",
			value_str(run->arena, request->use->name), NULL));
	return interrupts_ask(&run->interrupts, run->arena, value, about, &run->control);
}

bool
tool_was_answered(const struct tool_request *request)
{
	const struct interrupts *interrupts = &request->run->interrupts;

	return request->use != NULL && interrupts->asked == NULL &&
	       value_text_is(
		   value_at(interrupts->askers, interrupts->taken), request->use->name);
}

const struct value *
tool_answers(struct tool_request *request)
{
	struct tool_run *run = request->run;
	struct interrupts *interrupts = &run->interrupts;
	size_t from = interrupts->taken;

	if (chain_next_use(run->chain, HOOK_WRAP_TOOL_CALL, 0) < run->chain->count)
		return value_empty_array();
	interrupts->taken = value_size(interrupts->answers);
	return value_array_slice(
	    run->arena, interrupts->answers, from, interrupts->taken);
}

void
tool_note(struct tool_request *request, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	chain_note(&request->run->notes, request->use, format, args);
	va_end(args);
}

/* --- for hooks ---------------------------------------------------------------------- */

/* An internal tool of the use of that name. */
static struct tool_result *
run_internal(struct tool_run *run, struct tool_request *request, const char *name)
{
	const struct tool *tool = NULL;
	struct tool_result *result;
	size_t i;

	for (i = 0; i < run->chain->count && tool == NULL; i++) {
		const struct middleware_use *use = run->chain->uses[i];

		if (strcmp(use->name, name) != 0)
			continue;
		tool = chain_find_tool(use->type, request->name);
		request = tool_request_for(request, use);
	}
	if (tool == NULL || !tool->internal)
		return tool_result_failed(
		    run->arena, fault_new(run->arena, "RuntimeError",
				    "this tool worker has no internal tool %s of %s",
				    request->name, name));
	result = tool->run(request);
	return accept_body(
	    request, result != NULL ? result : tool_result_failed(run->arena, NULL));
}

/* --- the whole call ----------------------------------------------------------------- */

static const struct value *
fault_body(struct tool_run *run, const struct fault *fault)
{
	if (run->interrupts.asked != NULL && fault == run->control)
		return interrupts_body(
		    &run->interrupts, run->arena, chain_notes_end(&run->notes));
	if (run->child != NULL && fault == run->control)
		return value_map(run->arena, "child", run->child, "notes",
		    chain_notes_end(&run->notes), NULL);
	return value_map(run->arena, "fault", fault_to_value(run->arena, fault), "notes",
	    chain_notes_end(&run->notes), NULL);
}

const struct value *
chain_tool_call(struct arena *arena, const struct chain *chain,
    const struct value *profile, const struct value *request, const char *idempotency_key,
    const struct tool_backend *backend)
{
	struct tool_run run = { .arena = arena,
		.chain = chain,
		.profile = profile,
		.request = request,
		.key = idempotency_key,
		.backend = backend,
		.interrupts = { .answers = value_get(request, "answers"),
		    .askers = value_get(request, "askers") },
		.notes = { .arena = arena },
		.used = { .arena = arena } };
	struct tool_request *first = tool_request_new(&run);
	const char *internal = value_get_text(request, "internal");
	struct tool_result *result;

	if (first->name == NULL || first->id == NULL)
		return fault_body(&run,
		    fault_new(arena, "ValueError", "a tool call without name or id"));
	result = internal != NULL ? run_internal(&run, first, internal)
				  : run_from(&run, 0, first);
	if (result->fault != NULL)
		return fault_body(&run, result->fault);
	return value_map(arena, "commands", result->commands, "notes",
	    chain_notes_end(&run.notes), "usage",
	    run.used.count > 0 ? value_list_end(&run.used) : NULL, NULL);
}
