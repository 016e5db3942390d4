/* async_subagent: other agents of the fleet that the model sets to work and does not wait for: it looks at
 * them, tells them more and cancels them later (semantics.md 6.21). */
#include "async_subagent_task.h"
#include "async_server.h"

#include <string.h>

#include "bounds.h"
#include "prompt.h"

#define SYSTEM_PROMPT                                                                    \
	"## Tasks in the background\n\n"                                                 \
	"`" ASYNC_START                                                                  \
	"` sets an agent to work and returns at once with a task id; the "               \
	"work goes on while you go on.\n"                                                \
	"- Tell the user the task id exactly as it is, and go on or end your turn. Do "  \
	"not check right after the start, nor again and again: tasks take a while.\n"    \
	"- Check when the user asks for it, or when you need the result. What was "      \
	"said of a task before is old: check again before you say how it stands.\n"      \
	"- `" ASYNC_UPDATE                                                               \
	"` gives a task new instructions in the same conversation; what "                \
	"it was doing stops. `" ASYNC_CANCEL "` ends it. `" ASYNC_LIST                   \
	"` shows all of them.\n\n"                                                       \
	"The agents:\n"

static const struct option options[] = {
	{ .name = "async_subagents",
	    .type = OPTION_LIST,
	    .required = true,
	    .text = "The agents, each a map: `name`, `description` (for the model), "
		    "`graph_id`, the name of one of the fleet's agents; with `url` that "
		    "of an assistant on that server, which is sent `headers`, too." },
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "Stands behind the agent's own prompt instead of the built-in "
		    "instructions, the list of agents behind it; empty: nothing does." },
	{ 0 },
};

static const struct field fields[] = {
	{ .name = ASYNC_TASKS,
	    .type = "object",
	    .reducer = REDUCE_MERGE,
	    .omit_from_input = true },
	{ 0 },
};

/* --- settings -------------------------------------------------------------------------- */

static const char *
flaw_of(const struct value *given, const char **key_r)
{
	static const struct {
		const char *name, *flaw;
	} keys[] = {
		{ "name", "needs a name, a text" },
		{ "description", "needs a description, a text: the model chooses by it" },
		{ "graph_id", "needs a graph_id, the name of an agent" },
	};
	size_t i;

	*key_r = "";
	if (!value_is(given, VALUE_MAP))
		return "must be a map of name, description and graph_id";
	for (i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *text = value_get_text(given, keys[i].name);

		*key_r = keys[i].name;
		if (text == NULL || *text == '\0')
			return keys[i].flaw;
	}
	for (i = 0; i < value_size(given); i++) {
		*key_r = value_text(given->pairs[i].key);
		if (strcmp(*key_r, "name") != 0 && strcmp(*key_r, "description") != 0 &&
		    strcmp(*key_r, "graph_id") != 0 && strcmp(*key_r, "url") != 0 &&
		    strcmp(*key_r, "headers") != 0)
			return "there is no such key: it has name, description, "
			       "graph_id, url and headers";
	}
	return async_server_flaw(given, key_r);
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *given = value_get(use->settings, "async_subagents");
	const struct value *children = value_empty_map();
	const struct value *field = value_str(arena, ASYNC_TASKS);
	const struct value *names = value_empty_map(); /* remote ones, too */
	const char *key, *flaw = NULL;
	size_t i;

	if (value_size(given) > AGENT_CHILDREN_MAX) {
		*error_r = arena_printf(
		    arena, "/async_subagents: must be at most %u", AGENT_CHILDREN_MAX);
		return -1;
	}
	for (i = 0; i < value_size(given); i++) {
		const struct value *one = value_at(given, i);

		flaw = flaw_of(one, &key);
		if (flaw == NULL && value_has(names, value_get_text(one, "name"))) {
			key = "name";
			flaw = "there is one of this name already";
		}
		if (flaw != NULL) {
			*error_r = arena_printf(arena, "/async_subagents/%zu%s%s: %s", i,
			    *key == '\0' ? "" : "/", key, flaw);
			return -1;
		}
		names = value_map_with(arena, names, value_get_text(one, "name"), one);
		if (value_has(one, "url"))
			continue;
		children = value_map_with(arena, children, value_get_text(one, "name"),
		    value_map(arena, "agent", value_get(one, "graph_id"), "description",
			value_get(one, "description"), NULL));
	}
	use->children = children;
	use->tool_reads = value_array(arena, &field, 1);
	if (value_size(given) > 0)
		return 0;
	*error_r = "/async_subagents: names no agent";
	return -1;
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const struct value *settings = model_settings_of(request);
	const char *own = value_get_text(settings, "system_prompt");
	struct arena *arena = model_arena(request);
	const struct value *agents = value_get(settings, "async_subagents");
	const char *text = own != NULL ? own : SYSTEM_PROMPT;
	size_t i;

	if (*text == '\0')
		return model_next(next, request);
	if (own != NULL)
		text = arena_printf(arena, "%s\n\n", own);
	for (i = 0; i < value_size(agents); i++)
		text = arena_printf(arena, "%s- %s: %s%s", text,
		    value_get_text(value_at(agents, i), "name"),
		    value_get_text(value_at(agents, i), "description"),
		    i + 1 < value_size(agents) ? "\n" : "");
	return model_next(next, prompt_append(request, text));
}

const struct middleware middleware_async_subagent = {
	.abi = MIDDLEWARE_ABI,
	.name = "async_subagent",
	.summary = "lets the model set other agents to work in the background",
	.options = options,
	.fields = fields,
	.tools = async_subagent_tools,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
