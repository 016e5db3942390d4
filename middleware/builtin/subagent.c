/* subagent: other agents that the model may hand a task to, each in a conversation of its own (semantics.md
 * 6.20). What runs them is the coordinator: middleware.h, tool_child. */
#include "subagent.h"

#include <string.h>

#include "json.h"
#include "prompt.h"

#define TOOL "task"
#define GENERAL "general-purpose"

#define GENERAL_DESCRIPTION                                                              \
	"For any task of several steps that needs no specialist: it has the same tools " \
	"as you, and works on its own."

#define GENERAL_PROMPT                                                                   \
	"You work on one task that another agent has handed to you. Nobody can be "      \
	"asked: use your tools, and finish the task as well as you can. Your last "      \
	"message is all that the other agent gets: say in it what you found or did."

#define USAGE                                                                            \
	"\n\nHow to use it:\n"                                                           \
	"- An agent begins with nothing but your description: put in all that it "       \
	"needs to know, and say what its report must contain.\n"                         \
	"- Its last message is the result of this call. You see nothing else of its "    \
	"work, and you cannot ask back: another call starts anew.\n"                     \
	"- Tasks that do not depend on each other go side by side: several calls in "    \
	"one message.\n"                                                                 \
	"- Hand over what takes many steps or much reading and of which only the "       \
	"outcome counts. What a call or two of your own tools does, do yourself.\n"      \
	"- The report is for you. Tell the user what matters of it."

static const struct option options[] = {
	{ .name = "subagents",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "The agents, each a map: `name`, `description` (for the model), and "
		    "`system_prompt`, `model`, `tools`, `middleware`, "
		    "`response_format` and the other keys of an agent; or `agent`, the "
		    "name of one of the fleet's, instead of these." },
	{ .name = "default_model",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "The model of those that name none; the agent's own otherwise." },
	{ .name = "default_tools",
	    .type = OPTION_LIST,
	    .nullable = true,
	    .text = "The tools of those that name none; the agent's own otherwise." },
	{ .name = "default_middleware",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text = "Stands before the middleware of each." },
	{ .name = "default_interrupt_on",
	    .type = OPTION_MAP,
	    .nullable = true,
	    .text = "The `interrupt_on` of those that have none of their own: "
		    "`human_in_the_loop` behind their middleware." },
	{ .name = "general_purpose_agent",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "One more, `general-purpose`, with the default model, tools and "
		    "middleware, unless one is called so." },
	{ .name = "general_purpose_middleware",
	    .type = OPTION_LIST,
	    .nullable = true,
	    .text = "That one's middleware, instead of the default." },
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "Stands behind the agent's own prompt." },
	{ .name = "task_description",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "What the model is told of `task`, instead of the built-in text; "
		    "`{available_agents}` in it is the list of agents." },
	{ 0 },
};

/* --- the agents ------------------------------------------------------------------------ */

/* Keys of a subagent's map that are no agent's. */
static bool
is_ours(const char *key)
{
	return strcmp(key, "interrupt_on") == 0 || strcmp(key, "agent") == 0 ||
	       strcmp(key, "middleware") == 0;
}

static void
set_default(struct value_fields *source, const struct value *given, const char *key,
    const struct value *otherwise)
{
	if (value_is_nil(value_get(given, key)) && !value_is_nil(otherwise))
		value_fields_set(source, key, otherwise);
}

/* is_general: it is ours. */
static const struct value *
middleware_of(struct arena *arena, const struct value *settings,
    const struct value *given, bool is_general)
{
	const struct value *own = value_get(given, "middleware");
	const struct value *interrupt_on = value_get(given, "interrupt_on");
	const struct value *first = value_get(settings, "general_purpose_middleware");
	struct value_list list = { .arena = arena };

	if (!is_general || value_is_nil(first))
		first = value_get(settings, "default_middleware");
	value_list_add_all(&list, first);
	if (!value_is_nil(own))
		value_list_add_all(&list, own);
	if (value_is_nil(interrupt_on))
		interrupt_on = value_get(settings, "default_interrupt_on");
	if (value_size(interrupt_on) > 0)
		value_list_add(&list,
		    value_map(arena, "human_in_the_loop",
			value_map(arena, "interrupt_on", interrupt_on, NULL), NULL));
	return value_list_end(&list);
}

/* The agent's source, complete: of given, the defaults, and the agent that it belongs to. */
static const struct value *
source_of(struct arena *arena, const struct middleware_use *use,
    const struct value *given, bool is_general)
{
	const struct value *above = use->agent_source, *model, *tools;
	struct value_fields source = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(given); i++)
		if (!is_ours(value_text(given->pairs[i].key)))
			value_fields_set(&source, value_text(given->pairs[i].key),
			    given->pairs[i].value);
	model = value_get(use->settings, "default_model");
	if (value_is_nil(model))
		model = value_get(above, "model");
	if (value_is_nil(value_get(given, "model")) &&
	    value_equal(model, value_get(above, "model")))
		set_default(
		    &source, given, "model_profile", value_get(above, "model_profile"));
	set_default(&source, given, "model", model);
	tools = value_get(use->settings, "default_tools");
	if (value_is_nil(tools))
		tools = value_get(above, "tools");
	set_default(&source, given, "tools", tools);
	set_default(&source, given, "script", value_get(above, "script"));
	set_default(
	    &source, given, "recursion_limit", value_get(above, "recursion_limit"));
	value_fields_set(&source, "middleware",
	    middleware_of(arena, use->settings, given, is_general));
	return value_fields_end(&source);
}

static const struct value *
general(struct arena *arena)
{
	return value_map(arena, "name", value_str(arena, GENERAL), "description",
	    value_str(arena, GENERAL_DESCRIPTION), "system_prompt",
	    value_str(arena, GENERAL_PROMPT), NULL);
}

/* Why given, the index-th, is none, or NULL. */
static const char *
flaw_of(struct arena *arena, const struct value *given, size_t index,
    const struct value_fields *before)
{
	const char *name = value_get_text(given, "name"), *flaw = NULL, *key = "";
	size_t i;

	if (!value_is(given, VALUE_MAP)) {
		flaw = "must be a map with name and description";
	} else if (name == NULL || *name == '\0') {
		key = "/name";
		flaw = "a subagent needs a name";
	} else if (value_get_text(given, "description") == NULL) {
		key = "/description";
		flaw = "a subagent needs a description: the model chooses by it";
	} else if (value_has(given, "agent") && value_get_text(given, "agent") == NULL) {
		key = "/agent";
		flaw = "must be the name of an agent";
	} else if (!value_is_nil(value_get(given, "middleware")) &&
		   !value_is(value_get(given, "middleware"), VALUE_ARRAY)) {
		key = "/middleware";
		flaw = "must be a list";
	} else if (!value_is_nil(value_get(given, "interrupt_on")) &&
		   !value_is(value_get(given, "interrupt_on"), VALUE_MAP)) {
		key = "/interrupt_on";
		flaw = "must be a map of tools to what may be decided";
	}
	for (i = 0; value_has(given, "agent") && flaw == NULL && i < value_size(given);
	     i++) {
		const char *one = value_text(given->pairs[i].key);

		if (strcmp(one, "name") != 0 && strcmp(one, "description") != 0 &&
		    strcmp(one, "agent") != 0)
			flaw = arena_printf(arena,
			    "\"%s\" is the agent's own: one of the fleet's has only name "
			    "and description here",
			    one);
	}
	for (i = 0; flaw == NULL && i < before->count; i++)
		if (value_text_is(before->pairs[i].key, name)) {
			key = "/name";
			flaw = arena_printf(
			    arena, "there is a subagent \"%s\" already", name);
		}
	return flaw == NULL
		   ? NULL
		   : arena_printf(arena, "/subagents/%zu%s: %s", index, key, flaw);
}

static const struct value *
child_of(struct arena *arena, const struct middleware_use *use, const struct value *given,
    const char *place)
{
	const struct value *agent = value_get(given, "agent");

	return value_map(arena, "agent", agent, "source",
	    agent == NULL && use->agent_source != NULL
		? source_of(arena, use, given, *place == '\0')
		: NULL,
	    "description", value_get(given, "description"), "place",
	    value_str(arena, place), NULL);
}

static bool
has_general(const struct value *subagents)
{
	size_t i;

	for (i = 0; i < value_size(subagents); i++)
		if (value_text_is(value_get(value_at(subagents, i), "name"), GENERAL))
			return true;
	return false;
}

static int
add_children(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *subagents = value_get(use->settings, "subagents");
	struct value_fields children = { .arena = arena };
	size_t i;

	if (value_get_bool(use->settings, "general_purpose_agent", true) &&
	    !has_general(subagents))
		value_fields_set(
		    &children, GENERAL, child_of(arena, use, general(arena), ""));
	for (i = 0; i < value_size(subagents); i++) {
		const struct value *given = value_at(subagents, i);

		*error_r = flaw_of(arena, given, i, &children);
		if (*error_r != NULL)
			return -1;
		value_fields_set(&children, value_get_text(given, "name"),
		    child_of(
			arena, use, given, arena_printf(arena, "/subagents/%zu", i)));
	}
	use->children = value_fields_end(&children);
	if (children.count > 0)
		return 0;
	*error_r = "/subagents: names no agent, and general_purpose_agent is false";
	return -1;
}

/* --- the tool -------------------------------------------------------------------------- */

struct tool_result *
subagent_unknown(struct tool_request *request, const char *name)
{
	const struct value *children = tool_children(request);
	struct arena *arena = tool_arena(request);
	const char *names = "";
	size_t i;

	for (i = 0; i < value_size(children); i++)
		names = arena_printf(arena, "%s%s`%s`", names, i > 0 ? ", " : "",
		    value_text(children->pairs[i].key));
	return tool_answer(request,
	    arena_printf(
		arena, "Error: there is no agent `%s`. There are: %s", name, names),
	    "error");
}

/* The report as the one tool message, beside what the child has changed. */
static struct tool_result *
report(struct tool_request *request, const struct value *came)
{
	struct arena *arena = tool_arena(request);
	const struct value *structured = value_get(came, "structured_response");
	const struct value *update = value_get(came, "update"), *message;
	const char *content = value_get_text(came, "content");

	if (!value_is_nil(structured))
		content = json_text(arena, structured);
	message = chat_tool(arena, content != NULL ? content : "", tool_call_id(request),
	    tool_name(request), "success");
	message = value_map_with(arena, message, "artifact",
	    value_map(arena, "run", value_get(came, "run"), NULL));
	return tool_command(
	    request, value_map_with(arena,
			 value_is(update, VALUE_MAP) ? update : value_empty_map(),
			 "messages", value_array(arena, &message, 1)));
}

static struct tool_result *
run_task(struct tool_request *request)
{
	struct arena *arena = tool_arena(request);
	const struct value *args = tool_args(request), *came, *message;
	const char *name = value_get_text(args, "subagent_type");

	if (!value_has(tool_children(request), name))
		return subagent_unknown(request, name);
	message = chat_human(arena, value_get_text(args, "description"));
	came = tool_child(request, name, value_array(arena, &message, 1));
	if (came == NULL)
		return NULL;
	if (value_has(came, "fault"))
		return tool_fail(
		    request, fault_from_value(arena, value_get(came, "fault")));
	return report(request, came);
}

static const struct tool task = {
	.name = TOOL,
	.description = "Hands a task to another agent, and returns its report.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"description\": {\"type\": \"string\", \"description\": \"The task, with "
	    "all that the agent needs to know, and what its report must contain\"},"
	    "\"subagent_type\": {\"type\": \"string\", \"description\": \"The name of "
	    "the agent\"}},"
	    " \"required\": [\"description\", \"subagent_type\"]}",
	.run = run_task,
};

static const struct tool *const tools[] = { &task, NULL };

/* --- settings -------------------------------------------------------------------------- */

static const char *
list_of(struct arena *arena, const struct value *children)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(children); i++)
		text = arena_printf(arena, "%s%s- %s: %s", text, i > 0 ? "\n" : "",
		    value_text(children->pairs[i].key),
		    value_get_text(children->pairs[i].value, "description"));
	return text;
}

/* text with list in the place of its {available_agents}. */
static const char *
filled(struct arena *arena, const char *text, const char *list)
{
	const char *slot = strstr(text, "{available_agents}");

	if (slot == NULL)
		return text;
	return arena_printf(arena, "%.*s%s%s", (int)(slot - text), text, list,
	    slot + strlen("{available_agents}"));
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *own = value_get_text(use->settings, "task_description");
	const struct value *definition = value_at(use->tools, 0);
	const char *list;

	if (add_children(arena, use, error_r) == -1)
		return -1;
	list = list_of(arena, use->children);
	definition = value_map_with(arena, definition, "description",
	    value_str(arena, own != NULL ? filled(arena, own, list)
					 : arena_printf(arena, "%s The agents:\n%s" USAGE,
					       task.description, list)));
	use->tools = value_array(arena, &definition, 1);
	use->hooks[HOOK_WRAP_MODEL_CALL] =
	    value_get_text(use->settings, "system_prompt") != NULL;
	return 0;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const char *text = value_get_text(model_settings_of(request), "system_prompt");

	return model_next(next, prompt_append(request, text));
}

const struct middleware middleware_subagent = {
	.abi = MIDDLEWARE_ABI,
	.name = "subagent",
	.summary = "lets the model hand tasks to other agents",
	.options = options,
	.tools = tools,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
