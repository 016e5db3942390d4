/* subagent: other agents that the model may hand a task to, each in a conversation of its own (semantics.md
 * 6.20). What runs them is the coordinator: middleware.h, tool_child. */
#include "subagent.h"

#include <string.h>

#include "json.h"
#include "prompt.h"

#define TOOL "task"
#define USAGE                                                                            \
	"\n\nHow to use it:\n"                                                           \
	"- An agent begins with nothing but your description: put in all that it "       \
	"needs to know, and say what its report must contain. Only one that goes on "    \
	"with this conversation, which is said above, knows it.\n"                       \
	"- Its last message is the result of this call. You see nothing else of its "    \
	"work, and you cannot ask back: another call starts anew.\n"                     \
	"- Tasks that do not depend on each other go side by side: several calls in "    \
	"one message.\n"                                                                 \
	"- Hand over what takes many steps or much reading and of which only the "       \
	"outcome counts. What a call or two of your own tools does, do yourself.\n"      \
	"- The report is for you. Tell the user what matters of it."

#define FORK_NOTE " (It goes on with this conversation: do not repeat what is said.)"

/* Before the task of an agent that goes on with a conversation. */
#define FORK_PREAMBLE                                                                    \
	"(What is above was said before you were called. You are the agent that is "     \
	"handed a task there: whatever it says of handing work over is done. Use the "   \
	"names, figures and facts that it has. Do the task yourself, you cannot hand "   \
	"it on. Your task:)\n\n"

#define FORK_REFUSAL                                                                     \
	"You are an agent that a task was handed to, and cannot hand it on. Do it "      \
	"yourself, and do not call this tool again."

static const struct option options[] = {
	{ .name = "subagents",
	    .type = OPTION_LIST,
	    .otherwise = "[]",
	    .text =
		"The agents, each a map: `name`, `description` (for the model), and "
		"`system_prompt`, `model`, `tools`, `middleware`, "
		"`response_format` and the other keys of an agent; or `agent`, the "
		"name of one of the fleet's, instead of these. With `mode: fork` it goes "
		"on with this conversation; `isolated`, the default: with its task "
		"alone." },
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
	{ .name = "delegates",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "`false`: `task` is there, but tells the model to do its work "
		    "itself; no agents belong to it. What `mode: fork` gives its "
		    "agents, so that they know the tools of the conversation." },
	{ 0 },
};

/* --- the tool -------------------------------------------------------------------------- */

struct tool_result *
subagent_unknown(struct tool_request *request, const char *name, const char *status)
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
	    status);
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
	const char *text = value_get_text(args, "description");

	if (!value_get_bool(tool_settings_of(request), "delegates", true))
		return tool_answer(request, FORK_REFUSAL, "success");
	if (!value_has(tool_children(request), name))
		return subagent_unknown(request, name, "error");
	if (subagent_is_fork(value_get(tool_children(request), name)))
		text = arena_printf(arena, FORK_PREAMBLE "%s", text);
	message = chat_human(arena, text);
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
list_of(struct arena *arena, const struct value *agents)
{
	struct packet packet = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < value_size(agents); i++) {
		text = arena_printf(arena, "%s- %s: %s%s", i > 0 ? "\n" : "",
		    value_text(agents->pairs[i].key),
		    value_get_text(agents->pairs[i].value, "description"),
		    subagent_is_fork(agents->pairs[i].value) ? FORK_NOTE : "");
		packet_append(&packet, text, strlen(text));
	}
	text = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
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

/* What the model is told of `task`. */
static const char *
told_of(struct arena *arena, const struct value *settings, const struct value *agents)
{
	const char *own = value_get_text(settings, "task_description");
	const char *list = list_of(arena, agents);

	return own != NULL ? filled(arena, own, list)
			   : arena_printf(arena, "%s The agents:\n%s" USAGE,
				 task.description, list);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *own = value_get(use->settings, "task_description");
	struct subagent_making making = { .arena = arena, .use = use };
	const struct value *agents;

	use->hooks[HOOK_WRAP_MODEL_CALL] =
	    value_get_text(use->settings, "system_prompt") != NULL;
	if (value_get_bool(use->settings, "delegates", true)) {
		agents = subagent_agents(arena, use->settings, error_r);
		if (agents == NULL)
			return -1;
		making.told = value_str(arena, told_of(arena, use->settings, agents));
		use->children = subagent_children(&making, agents);
	} else {
		making.told =
		    value_is_nil(own) ? value_str(arena, task.description) : own;
	}
	use->tools = value_array(arena,
	    (const struct value *const[]){ value_map_with(
		arena, value_at(use->tools, 0), "description", making.told) },
	    1);
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
