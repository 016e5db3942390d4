/* todo_list: a plan the model keeps for itself (semantics.md 6.9). */
#include "middleware.h"

#include <string.h>

#include "json.h"
#include "prompt.h"

#define TOOL "write_todos"
#define FIELD "todos"

#define SYSTEM_PROMPT                                                                    \
	"## Planning with `" TOOL "`\n\n"                                                \
	"You have the tool `" TOOL "` to plan work that takes several steps and to "     \
	"show how far you are.\n"                                                        \
	"- Plan when a task has three steps or more, or when its steps are not clear "   \
	"yet. Do not plan for what you can answer or finish at once.\n"                  \
	"- Each call replaces the whole list: repeat the entries that stay.\n"           \
	"- Set an entry to in_progress before you start on it, and to completed as "     \
	"soon as it is done, not later together with others.\n"                          \
	"- Call `" TOOL "` once in a message, never several times side by side.\n"       \
	"- Change the plan when you learn something: add what is missing, drop what "    \
	"is no longer needed."

#define TOOL_DESCRIPTION                                                                 \
	"Writes your list of todos for the task at hand. The list you give replaces "    \
	"the one before.\n\n"                                                            \
	"Use it for work of three steps or more, for several requests at once, or when " \
	"the user asks for a plan. Do not use it for a single simple step, or for "      \
	"conversation.\n\n"                                                              \
	"Each todo has a content (what is to be done, short and concrete) and a "        \
	"status:\n"                                                                      \
	"- pending: not started\n"                                                       \
	"- in_progress: you are working on it; keep at least one so while work is "      \
	"left, and more only when they really go on at the same time\n"                  \
	"- completed: wholly done; what failed or is only half done stays "              \
	"in_progress, with a new todo for what is in its way\n\n"                        \
	"Mark the first todos in_progress in the call that makes the plan. Update the "  \
	"list as you go, and take out what has become pointless."

static const struct option options[] = {
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "Stands behind the agent's own prompt instead of the built-in "
		    "instructions; empty: nothing does." },
	{ .name = "tool_description",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What the model is told of `write_todos`, instead of the built-in "
		    "text." },
	{ .name = "inject_current_todos",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Shows the model the list as it stands with each request: for long "
		    "threads whose history is shortened." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = FIELD,
	    .type = "array",
	    .reducer = REDUCE_LAST,
	    .omit_from_input = true },
	{ 0 },
};

/* --- the tool ----------------------------------------------------------------------- */

/* The todos without whatever else the model put into them. */
static const struct value *
plain(struct arena *arena, const struct value *todos)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(todos); i++) {
		const struct value *todo = value_at(todos, i);

		value_list_add(
		    &list, value_map(arena, "content", value_get(todo, "content"),
			       "status", value_get(todo, "status"), NULL));
	}
	return value_list_end(&list);
}

static struct tool_result *
run_write_todos(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *todos = plain(arena, value_get(tool_args(request), FIELD));
	const struct value *message = chat_tool(arena,
	    arena_printf(arena, "The list of todos is now %s", json_text(arena, todos)),
	    tool_call_id(request), tool_name(request), "success");

	return tool_command(request, value_map(arena, FIELD, todos, "messages",
					 value_array(arena, &message, 1), NULL));
}

static const struct tool write_todos = {
	.name = TOOL,
	.description = TOOL_DESCRIPTION,
	.parameters =
	    "{\"type\": \"object\", \"properties\": {\"todos\": {\"type\": \"array\","
	    " \"description\": \"The whole list, in order.\","
	    " \"items\": {\"type\": \"object\", \"properties\": {"
	    "  \"content\": {\"type\": \"string\", \"description\": \"What to do.\"},"
	    "  \"status\": {\"type\": \"string\","
	    "   \"enum\": [\"pending\", \"in_progress\", \"completed\"]}},"
	    " \"required\": [\"content\", \"status\"]}}},"
	    " \"required\": [\"todos\"]}",
	.run = run_write_todos,
};

static const struct tool *const tools[] = { &write_todos, NULL };

/* --- hooks -------------------------------------------------------------------------- */

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *description = value_get_text(use->settings, "tool_description");
	const struct value *definition = value_at(use->tools, 0), *field;

	(void)error_r;
	if (description != NULL) {
		definition = value_map_with(arena, definition, "description",
		    value_get(use->settings, "tool_description"));
		use->tools = value_array(arena, &definition, 1);
	}
	if (value_get_bool(use->settings, "inject_current_todos", false)) {
		field = value_str(arena, FIELD);
		use->reads = value_array(arena, &field, 1);
	}
	return 0;
}

static const char *
current_todos(const struct model_request *request)
{
	struct arena *arena = model_arena(request);
	const struct value *todos = model_state(request, FIELD);

	if (!value_get_bool(model_settings_of(request), "inject_current_todos", false) ||
	    value_size(todos) == 0)
		return NULL;
	return arena_printf(
	    arena, "Your todos at this point: %s", json_text(arena, todos));
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *own = value_get(model_settings_of(request), "system_prompt");

	request =
	    prompt_append(request, value_is_nil(own) ? SYSTEM_PROMPT : value_text(own));
	return model_next(next, prompt_append(request, current_todos(request)));
}

static size_t
count_calls(const struct value *message)
{
	const struct value *calls = value_get(message, "tool_calls");
	size_t i, count = 0;

	for (i = 0; i < value_size(calls); i++)
		count += value_text_is(value_get(value_at(calls, i), "name"), TOOL);
	return count;
}

/* Lists side by side would overwrite each other: none of them counts. */
static const struct value *
after_model(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const struct value *messages = turn_messages(turn), *pending;
	struct value_list answers = { .arena = arena };
	long last = chat_last_ai(messages);
	size_t i;

	if (last == -1 || count_calls(value_at(messages, (size_t)last)) < 2)
		return NULL;
	pending = chat_pending_calls(arena, messages);
	for (i = 0; i < value_size(pending); i++) {
		const struct value *call = value_at(pending, i);

		if (!value_text_is(value_get(call, "name"), TOOL))
			continue;
		value_list_add(&answers,
		    chat_tool(arena,
			"Error: `" TOOL "` must not be called several times side by "
			"side, because each call replaces the whole list. Nothing was "
			"changed. Call it once, with all todos.",
			value_get_text(call, "id"), TOOL, "error"));
	}
	if (answers.count == 0)
		return NULL;
	return value_map(arena, "messages", value_list_end(&answers), NULL);
}

const struct middleware middleware_todo_list = {
	.abi = MIDDLEWARE_ABI,
	.name = "todo_list",
	.summary = "gives the model a list of todos to plan its work with",
	.options = options,
	.fields = fields,
	.tools = tools,
	.configure = configure,
	.after_model = after_model,
	.wrap_model_call = wrap_model_call,
};
