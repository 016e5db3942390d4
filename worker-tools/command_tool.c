#include "command_tool.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "bounds.h"
#include "chain.h"
#include "process.h"
#include "utf8.h"
#include "verdict.h"

/* What a child is started with, under construction; in arena. */
struct launch {
	struct arena *arena;
	const struct command_tool *tool;
	struct tool_request *request;
	const struct value *args;
	const char **argv;
	const char **env;
	size_t env_count;
	const char *input;
	size_t input_size;
	const struct value *answers; /* of a tool with interrupts, so far */
	const char *error;           /* why these arguments cannot be passed on */
};

/* The arguments the model left out get the schema's defaults, as it was told. */
static const struct value *
args_with_defaults(
    struct arena *arena, const struct command_tool *tool, const struct value *args)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(tool->properties); i++) {
		const struct value_pair *pair = &tool->properties->pairs[i];

		value_fields_set(
		    &fields, pair->key->text, value_get(pair->value, "default"));
	}
	return value_map_merge(arena, value_fields_end(&fields), args);
}

/* --- command ------------------------------------------------------------------------ */

static int
fill_items(struct launch *launch)
{
	const struct command_tool *tool = launch->tool;
	bool options_end = false;
	size_t i, count = 0;

	launch->argv =
	    arena_alloc(launch->arena, (tool->item_count + 1) * sizeof *launch->argv);
	for (i = 0; i < tool->item_count; i++) {
		const char *text;

		if (template_fill(launch->arena, &tool->items[i], launch->args,
			options_end, &text, &launch->error) == -1)
			return -1;
		if (text == NULL)
			continue;
		launch->argv[count++] = text;
		options_end = options_end || strcmp(text, "--") == 0;
	}
	return 0;
}

static int
fill_command(struct launch *launch)
{
	const char *argv[] = { "/bin/sh", "-c", launch->tool->shell, launch->tool->name,
		NULL };

	if (launch->tool->items != NULL)
		return fill_items(launch);
	launch->argv = arena_alloc(launch->arena, sizeof argv);
	memcpy(launch->argv, argv, sizeof argv);
	return 0;
}

/* --- environment -------------------------------------------------------------------- */

static void
add_variable(struct launch *launch, const char *name, const char *value)
{
	if (value != NULL)
		launch->env[launch->env_count++] =
		    arena_printf(launch->arena, "%s=%s", name, value);
}

static void
add_listed_variables(struct launch *launch)
{
	const char *const *entry;

	for (entry = launch->tool->environment; *entry != NULL; entry++)
		if (strchr(*entry, '=') != NULL)
			launch->env[launch->env_count++] = *entry;
		else
			add_variable(launch, *entry, getenv(*entry));
}

/* A shell command has its arguments as variables. */
static int
add_arguments(struct launch *launch)
{
	const struct value *properties = launch->tool->properties;
	size_t i;

	for (i = 0; launch->tool->shell != NULL && i < value_size(properties); i++) {
		const char *name = properties->pairs[i].key->text;
		const struct value *value = value_get(launch->args, name);
		const char *text;

		if (value_is_nil(value))
			continue;
		text = argument_text(launch->arena, name, value, &launch->error);
		if (text == NULL)
			return -1;
		add_variable(launch, tool_file_variable(launch->arena, name), text);
	}
	return 0;
}

static bool
has_variable(const struct launch *launch, const char *prefix)
{
	size_t i;

	for (i = 0; i < launch->env_count; i++)
		if (strncmp(launch->env[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/* Returns value as JSON that a variable can hold, or NULL. */
static const char *
json_argument(struct launch *launch, const char *name, const struct value *value)
{
	return argument_text(launch->arena, name,
	    value_str(launch->arena, json_text(launch->arena, value)), &launch->error);
}

/* Of a tool with interrupts: all answers so far, and the last one. */
static int
add_answers(struct launch *launch)
{
	size_t count = value_size(launch->answers);
	const char *all, *last;

	if (!launch->tool->interrupts)
		return 0;
	all = json_argument(launch, "FLOTILLA_ANSWERS", launch->answers);
	if (all == NULL)
		return -1;
	add_variable(launch, "FLOTILLA_ANSWERS", all);
	if (count == 0)
		return 0;
	last = argument_text(launch->arena, "FLOTILLA_ANSWER",
	    value_at(launch->answers, count - 1), &launch->error);
	add_variable(launch, "FLOTILLA_ANSWER", last);
	return last == NULL ? -1 : 0;
}

/* What the file asks for of the run's state and context. */
static int
add_surroundings(struct launch *launch)
{
	const struct command_tool *tool = launch->tool;
	const struct value *context = tool_context(launch->request);
	struct value_fields state = { .arena = launch->arena };
	const char *text;
	size_t i;

	for (i = 0; i < value_size(tool->reads); i++) {
		const char *name = value_at(tool->reads, i)->text;

		value_fields_set(&state, name, tool_state(launch->request, name));
	}
	if (tool->reads != NULL) {
		text = json_argument(launch, "FLOTILLA_STATE", value_fields_end(&state));
		if (text == NULL)
			return -1;
		add_variable(launch, "FLOTILLA_STATE", text);
	}
	if (!tool->context)
		return 0;
	text = json_argument(
	    launch, "FLOTILLA_CONTEXT", context != NULL ? context : value_nil());
	add_variable(launch, "FLOTILLA_CONTEXT", text);
	return text == NULL ? -1 : 0;
}

/* The file's and PATH, with room for so many more. */
static void
begin_environment(struct launch *launch, size_t more)
{
	size_t room = more + 2; /* PATH, and the end */
	const char *const *entry;

	for (entry = launch->tool->environment; *entry != NULL; entry++)
		room++;
	launch->env = arena_alloc(launch->arena, room * sizeof *launch->env);
	add_listed_variables(launch);
	if (!has_variable(launch, "PATH="))
		add_variable(launch, "PATH", tool_file_path());
}

/* Nothing reaches a tool but what its file lists, PATH, and what identifies the call. */
static int
fill_environment(struct launch *launch)
{
	const char *tenant = tool_tenant(launch->request);
	size_t own = 11;

	begin_environment(launch, own + value_size(launch->tool->properties));
	add_variable(launch, "FLOTILLA_TOOL", launch->tool->name);
	add_variable(launch, "FLOTILLA_RUN", tool_run(launch->request));
	add_variable(launch, "FLOTILLA_THREAD", tool_thread(launch->request));
	if (tenant != NULL)
		add_variable(launch, "FLOTILLA_TENANT", tenant);
	add_variable(launch, "FLOTILLA_TOOL_CALL_ID", tool_call_id(launch->request));
	add_variable(
	    launch, "FLOTILLA_IDEMPOTENCY_KEY", tool_idempotency_key(launch->request));
	if (launch->tool->streams)
		add_variable(launch, "FLOTILLA_STREAM_FD", PROCESS_STREAM_FD_TEXT);
	if (add_answers(launch) == -1 || add_surroundings(launch) == -1)
		return -1;
	return add_arguments(launch);
}

/* --- input -------------------------------------------------------------------------- */

static void
fill_input(struct launch *launch)
{
	const struct value *value = launch->args;

	if (launch->tool->input == TOOL_INPUT_NONE)
		return;
	launch->input = "";
	if (launch->tool->input == TOOL_INPUT_ARGUMENT)
		value = value_get(launch->args, launch->tool->input_argument);
	if (value == NULL)
		return;
	launch->input =
	    value_is(value, VALUE_STR) ? value->text : json_text(launch->arena, value);
	launch->input_size =
	    value_is(value, VALUE_STR) ? value->size : strlen(launch->input);
}

static int
fill_launch(struct launch *launch)
{
	launch->args =
	    args_with_defaults(launch->arena, launch->tool, tool_args(launch->request));
	fill_input(launch);
	return fill_command(launch) == -1 ? -1 : fill_environment(launch);
}

const char *const *
command_tool_argv(struct arena *arena, const struct command_tool *tool)
{
	struct launch launch = { .arena = arena, .tool = tool };

	fill_command(&launch);
	return launch.argv;
}

const char *const *
command_tool_env(struct arena *arena, const struct command_tool *tool)
{
	struct launch launch = { .arena = arena, .tool = tool };

	begin_environment(&launch, 0);
	return launch.env;
}

/* --- a call ------------------------------------------------------------------------- */

static const struct value *
text_of(struct arena *arena, const char *line, size_t size)
{
	const char *text = utf8_repair(arena, line, size, &size);

	return value_strn(arena, text, size);
}

/* A line that is no JSON is told as a text. */
static void
on_line(void *arg, const char *line, size_t size)
{
	const struct tool_request *request = arg;
	const struct value *value;
	struct arena *arena;
	const char *error;

	if (!tool_streams(request))
		return;
	arena = arena_new();
	value = json_parse(arena, line, size, &error);
	tool_stream(request, value != NULL ? value : text_of(arena, line, size));
	arena_destroy(&arena);
}

/* Runs the program once. */
static struct verdict
run_program(struct loop *loop, const struct command_tool *tool,
    struct tool_request *request, const struct value *answers)
{
	struct arena *arena = tool_arena(request);
	struct launch launch = {
		.arena = arena, .tool = tool, .request = request, .answers = answers
	};
	struct process_result result;
	struct process_options options;

	if (fill_launch(&launch) == -1)
		return (struct verdict){ .fault = fault_new(arena, "ToolInvocationError",
					     "%s", launch.error) };
	options = (struct process_options){
		.argv = launch.argv,
		.env = launch.env,
		.directory = tool->directory,
		.input = launch.input,
		.input_size = launch.input_size,
		.output_bytes_max = tool->output_bytes_max,
		.error_bytes_max = TOOL_STDERR_BYTES_MAX,
		.timeout_ms = tool->timeout_ms,
		.grace_ms = tool->grace_ms,
		.limits = tool->limits,
		.on_line = tool->streams ? on_line : NULL,
		.line_arg = request,
		.line_bytes_max = STREAM_VALUE_BYTES_MAX,
	};
	process_run(loop, arena, &options, &result);
	return verdict_of(arena, tool, &result);
}

/* A program that asks begins anew with the answer, when there is one. */
struct tool_result *
command_tool_run(
    struct loop *loop, const struct command_tool *tool, struct tool_request *request)
{
	const struct value *answers = NULL, *answer;
	struct verdict verdict;

	if (tool->interrupts)
		answers = tool_answers(request);
	for (;;) {
		verdict = run_program(loop, tool, request, answers);
		if (verdict.asked == NULL)
			break;
		answer = tool_interrupt(request, verdict.asked);
		if (answer == NULL)
			return NULL;
		answers = value_array_add(tool_arena(request), answers, answer);
	}
	if (verdict.fault != NULL)
		return tool_fail(request, verdict.fault);
	if (verdict.command != NULL)
		return tool_commands(
		    request, value_array(tool_arena(request), &verdict.command, 1));
	return tool_answer(request, verdict.content, "success");
}
