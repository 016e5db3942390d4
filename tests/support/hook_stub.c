#include "hook_stub.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "literal.h"

static char written[4096];

const char *
stub_log(void)
{
	return written;
}

void
stub_log_clear(void)
{
	written[0] = '\0';
}

void
stub_log_add(const char *text)
{
	size_t size = strlen(written);

	snprintf(
	    written + size, sizeof written - size, "%s%s", size == 0 ? "" : " ", text);
}

static void
log_hook(const char *name, const char *mark)
{
	char text[64];

	snprintf(text, sizeof text, "%s%s", name, mark);
	stub_log_add(text);
}

static const struct fault *
raised(struct arena *arena, const struct value *raise)
{
	return fault_new(
	    arena, value_get_text(raise, "type"), "%s", value_get_text(raise, "message"));
}

static const struct value *
with_suffix(struct arena *arena, const struct value *message, const char *suffix)
{
	return value_map_with(arena, message, "content",
	    value_printf(arena, "%s%s", value_get_text(message, "content"), suffix));
}

static void
log_answer(const char *name, const struct value *answer)
{
	char text[64];

	snprintf(text, sizeof text, "=%s", value_text(answer));
	log_hook(name, text);
}

/* --- worker-model ------------------------------------------------------------------- */

static struct model_request *
override_all(struct model_request *request, const struct value *list)
{
	size_t i;

	for (i = 0; i < value_size(list); i++) {
		const struct value *one = value_at(list, i);

		request = model_override(
		    request, value_text(value_at(one, 0)), value_at(one, 1));
	}
	return request;
}

/* Whether every question of the list has an answer. */
static bool
model_knows(struct model_request *request, const struct value *questions)
{
	const struct value *answer;
	size_t i;

	for (i = 0; i < value_size(questions); i++) {
		answer = model_interrupt(request, value_at(questions, i));
		if (answer == NULL)
			return false;
		log_answer(model_middleware(request), answer);
	}
	return true;
}

static struct model_request *
modify_model_request(struct model_request *request)
{
	const struct value *settings = model_settings_of(request);
	const struct value *raise = value_get(settings, "raise");

	log_hook(model_middleware(request), "*");
	if (!model_knows(request, value_get(settings, "asks")))
		return NULL;
	if (raise != NULL)
		return model_refuse(request, raised(model_arena(request), raise));
	if (value_get_bool(settings, "nothing", false))
		return NULL;
	return override_all(request, value_get(settings, "override"));
}

static struct model_response *
model_finish(struct model_request *request, struct model_response *response)
{
	const struct value *settings = model_settings_of(request), *message;
	const char *suffix = value_get_text(settings, "suffix");
	struct arena *arena = model_arena(request);

	if (response->fault != NULL && value_has(settings, "catch"))
		response = model_answer(
		    request, chat_ai(arena, value_get_text(settings, "catch")));
	if (suffix != NULL && response->fault == NULL) {
		message = with_suffix(arena, value_at(response->messages, 0), suffix);
		response->messages = value_array(arena, &message, 1);
	}
	response->update = value_get(settings, "update");
	if (value_has(settings, "command"))
		return model_command(request, response, value_get(settings, "command"));
	return response;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	const struct value *raise = value_get(settings, "raise");
	int64_t calls = value_get_int(settings, "calls", 1);
	const char *name = model_middleware(request);
	struct model_response *response;

	log_hook(name, ">");
	if (!model_knows(request, value_get(settings, "asks")))
		return NULL;
	if (raise != NULL)
		return model_fail(request, raised(model_arena(request), raise));
	request = override_all(request, value_get(settings, "override"));
	response = calls == 0 ? model_answer(request, value_get(settings, "response"))
			      : model_next(next, request);
	for (; calls > 1; calls--)
		response = model_next(next, request);
	if (!model_knows(request, value_get(settings, "asks_after")))
		return NULL;
	response = model_finish(request, response);
	log_hook(name, "<");
	return value_get_bool(settings, "nothing", false) ? NULL : response;
}

/* --- worker-tools ------------------------------------------------------------------- */

static bool
tool_knows(struct tool_request *request, const struct value *questions)
{
	const struct value *answer;
	size_t i;

	for (i = 0; i < value_size(questions); i++) {
		answer = tool_interrupt(request, value_at(questions, i));
		if (answer == NULL)
			return false;
		log_answer(tool_middleware(request), answer);
	}
	return true;
}

static struct tool_result *
tool_finish(struct tool_request *request, struct tool_result *result)
{
	const struct value *settings = tool_settings_of(request);
	const char *suffix = value_get_text(settings, "suffix");
	struct arena *arena = tool_arena(request);

	if (result->fault != NULL && value_has(settings, "catch"))
		return tool_answer(request, value_get_text(settings, "catch"), "error");
	if (result->fault != NULL && value_get_bool(settings, "remake", false))
		return tool_fail(request, fault_new(arena, "RuntimeError", "again: %s",
					      result->fault->message));
	if (suffix != NULL && result->fault == NULL)
		return tool_answer(request,
		    value_get_text(
			with_suffix(arena, tool_message_of(request, result), suffix),
			"content"),
		    "success");
	if (value_has(settings, "goto"))
		return tool_goto(request, value_get(settings, "update"),
		    value_get_text(settings, "goto"));
	if (value_has(settings, "update"))
		return tool_command(request, value_get(settings, "update"));
	return result;
}

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	const struct value *settings = tool_settings_of(request);
	const struct value *raise = value_get(settings, "raise"), *list;
	int64_t calls = value_get_int(settings, "calls", 1);
	const char *name = tool_middleware(request);
	struct tool_result *result;
	size_t i;

	log_hook(name, ">");
	if (!tool_knows(request, value_get(settings, "asks")))
		return NULL;
	if (raise != NULL)
		return tool_fail(request, raised(tool_arena(request), raise));
	list = value_get(settings, "override");
	for (i = 0; i < value_size(list); i++)
		request =
		    tool_override(request, value_text(value_at(value_at(list, i), 0)),
			value_at(value_at(list, i), 1));
	result = calls == 0 ? tool_answer(request, value_get_text(settings, "response"),
				  "success")
			    : tool_next(next, request);
	for (; calls > 1; calls--)
		result = tool_next(next, request);
	if (!tool_knows(request, value_get(settings, "asks_after")))
		return NULL;
	result = tool_finish(request, result);
	log_hook(name, "<");
	return value_get_bool(settings, "nothing", false) ? NULL : result;
}

const struct middleware hook_stub = {
	.abi = MIDDLEWARE_ABI,
	.name = "hook_stub",
	.modify_model_request = modify_model_request,
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = wrap_tool_call,
};

/* --- making ------------------------------------------------------------------------- */

const struct middleware_use *
stub_use(struct arena *arena, const char *name, const char *settings)
{
	struct middleware_use *use = arena_alloc(arena, sizeof *use);
	const struct value *hooks;

	use->type = &hook_stub;
	use->name = name;
	use->settings = literal(arena, settings);
	use->tools = use->reads = value_empty_array();
	hooks = value_get(use->settings, "hooks");
	use->hooks[HOOK_WRAP_MODEL_CALL] = hooks == NULL;
	use->hooks[HOOK_WRAP_TOOL_CALL] = hooks == NULL;
	use->hooks[HOOK_MODIFY_MODEL_REQUEST] = value_contains(hooks, "modify");
	return use;
}

struct chain *
stub_chain(struct arena *arena, ...)
{
	const struct middleware_use **uses = arena_alloc(arena, 16 * sizeof *uses), *use;
	struct chain *chain = arena_alloc(arena, sizeof *chain);
	va_list args;

	va_start(args, arena);
	while ((use = va_arg(args, const struct middleware_use *)) != NULL) {
		ck_assert_uint_lt(chain->count, 16);
		uses[chain->count++] = use;
	}
	va_end(args);
	chain->uses = uses;
	return chain;
}

const char *
stub_outcome(struct arena *arena, const struct value *body)
{
	const struct value *fault = value_get(body, "fault");
	const struct value *messages = value_get(body, "messages");

	if (fault != NULL)
		return arena_printf(arena, "fault: %s: %s", value_get_text(fault, "type"),
		    value_get_text(fault, "message"));
	if (messages == NULL)
		messages = value_get(
		    value_get(value_at(value_get(body, "commands"), 0), "update"),
		    "messages");
	return chat_text(arena, value_at(messages, 0));
}
