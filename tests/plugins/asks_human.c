/* A middleware that asks a human wherever it is told to, and tools that ask and command. What was
 * answered goes into the field `answers`. */
#include "middleware.h"

#include <string.h>

#define ANSWERS "answers"

static const char *const places[] = { "before_agent", "before_model", "after_model",
	"after_agent", "modify_model_request", "wrap_model_call", "wrap_tool_call",
	"nowhere", NULL };

static const struct option options[] = {
	{ .name = "at",
	    .type = OPTION_TEXT,
	    .otherwise = "\"nowhere\"",
	    .choices = places,
	    .text = "The hook that asks." },
	{ .name = "questions",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "What it asks, one after the other." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = ANSWERS,
	    .type = "array",
	    .otherwise = "[]",
	    .reducer = REDUCE_APPEND,
	    .omit_from_input = true },
	{ .name = "note", .type = "string" },
	{ 0 },
};

/* --- node hooks --------------------------------------------------------------------- */

static const struct value *
ask_turn(struct turn *turn)
{
	const struct value *questions = value_get(turn_settings(turn), "questions");
	struct value_list list = { .arena = turn_arena(turn) };
	const struct value *answer;
	size_t i;

	for (i = 0; i < value_size(questions); i++) {
		answer = turn_interrupt(turn, value_at(questions, i));
		if (answer == NULL)
			return NULL;
		if (value_text_is(answer, "refuse"))
			return turn_fail(turn, "ValueError", "it was refused");
		value_list_add(&list, answer);
	}
	return value_map(turn_arena(turn), ANSWERS, value_list_end(&list), NULL);
}

/* --- calls of models ------------------------------------------------------------------ */

/* The answers, or NULL: one is asked for. */
static const struct value *
ask_model(struct model_request *request)
{
	const struct value *questions =
	    value_get(model_settings_of(request), "questions");
	struct value_list list = { .arena = model_arena(request) };
	const struct value *answer;
	size_t i;

	for (i = 0; i < value_size(questions); i++) {
		answer = model_interrupt(request, value_at(questions, i));
		if (answer == NULL)
			return NULL;
		value_list_add(&list, answer);
	}
	return value_list_end(&list);
}

static struct model_request *
modify_model_request(struct model_request *request)
{
	return ask_model(request) == NULL ? NULL : request;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *answers = ask_model(request);
	struct model_response *response;

	if (answers == NULL)
		return NULL;
	response = model_next(next, request);
	response->update = value_map(model_arena(request), ANSWERS, answers, NULL);
	return response;
}

/* --- calls of tools ------------------------------------------------------------------- */

static struct tool_result *
wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	const struct value *questions = value_get(tool_settings_of(request), "questions");
	struct arena *arena = tool_arena(request);
	struct value_list list = { .arena = arena };
	const struct value *answer, *message;
	struct tool_result *result;
	size_t i;

	for (i = 0; i < value_size(questions); i++) {
		answer = tool_interrupt(request, value_at(questions, i));
		if (answer == NULL)
			return NULL;
		value_list_add(&list, answer);
	}
	result = tool_next(next, request);
	message = tool_message_of(request, result);
	if (message == NULL)
		return result;
	return tool_command(
	    request, value_map(arena, ANSWERS, value_list_end(&list), "messages",
			 value_array(arena, &message, 1), NULL));
}

/* Asks what it is given and answers with the answer. */
static struct tool_result *
run_confirm(struct tool_request *request)
{
	const struct value *answer =
	    tool_interrupt(request, value_get(tool_args(request), "question"));

	if (answer == NULL)
		return NULL;
	return tool_answer(request, value_text(answer), "success");
}

/* Gives the command that it is given, with a message that answers unless it is `mute`. */
static struct tool_result *
run_command(struct tool_request *request)
{
	const struct value *args = tool_args(request), *message, *command;
	struct arena *arena = tool_arena(request);
	struct tool_result *result;

	message = chat_tool(
	    arena, "done", tool_call_id(request), tool_name(request), "success");
	command = value_map(arena, "update",
	    value_map(arena, "note", value_get(args, "note"), "messages",
		value_get_bool(args, "mute", false) ? NULL
						    : value_array(arena, &message, 1),
		NULL),
	    "goto", value_get(args, "goto"), NULL);
	result = tool_command(request, value_empty_map());
	result->commands = value_array(arena, &command, 1);
	return result;
}

static const struct tool confirm = {
	.name = "confirm",
	.description = "Asks a human.",
	.parameters = "{\"type\": \"object\", \"properties\": {\"question\": {}}}",
	.run = run_confirm,
};
static const struct tool command_tool = {
	.name = "command",
	.description = "Commands.",
	.parameters = "{\"type\": \"object\"}",
	.run = run_command,
};
static const struct tool *const tools[] = { &confirm, &command_tool, NULL };

/* --- the struct ----------------------------------------------------------------------- */

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *at = value_get_text(use->settings, "at");
	enum hook hook;

	(void)arena;
	(void)error_r;
	for (hook = 0; hook < HOOK_COUNT; hook++)
		use->hooks[hook] = use->hooks[hook] && strcmp(hook_name(hook), at) == 0;
	return 0;
}

static const struct middleware asks_human = {
	.abi = MIDDLEWARE_ABI,
	.name = "asks_human",
	.summary = "Asks a human wherever it is told to.",
	.options = options,
	.fields = fields,
	.tools = tools,
	.configure = configure,
	.before_agent = ask_turn,
	.before_model = ask_turn,
	.after_model = ask_turn,
	.after_agent = ask_turn,
	.modify_model_request = modify_model_request,
	.wrap_model_call = wrap_model_call,
	.wrap_tool_call = wrap_tool_call,
};

extern const struct middleware *const flotilla_middleware[];
const struct middleware *const flotilla_middleware[] = { &asks_human, NULL };
