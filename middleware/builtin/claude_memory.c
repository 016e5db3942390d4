/* claude_memory: the memory tool that Anthropic's models know by themselves: files beneath /memories, and a word in the
 * system prompt that they are to be read first. */
#include "claude_files.h"
#include "claude_tool.h"
#include "prompt.h"

#define FILES "memory_files" /* LangChain's name */

static const struct claude_tool memory = { .name = "memory",
	.type = "memory_20250818",
	.beta = "context-management-2025-06-27" };

static const char prompt[] =
    "You have a folder /memories that outlasts this conversation's context. Before "
    "anything else, look into it with the view command of the tool memory: what you, or "
    "one like you, have noted there of this task is how far it has come. While you work, "
    "note there what you have found out, decided and finished. You may be cut off at any "
    "moment, and what is not in that folder is lost then.";

static const struct option options[] = {
	BACKEND_OPTION,
	{ .name = "allowed_path_prefixes",
	    .type = OPTION_TEXTS,
	    .otherwise = "[\"/memories\"]",
	    .text = CLAUDE_FILES_PREFIXES_TEXT },
	{ .name = "system_prompt",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text =
		"Goes behind the agent's own, instead of a built-in text that has the "
		"model look into its memory first; empty: nothing does." },
	{ 0 },
};

static const struct field fields[] = { BACKEND_FIELD_OF(FILES), { 0 } };

static struct tool_result *
run(struct tool_request *request)
{
	return claude_files_run(request, FILES);
}

static const struct tool tool = {
	.name = "memory",
	.description =
	    "Notes for yourself, as text files beneath /memories. view shows a file with "
	    "its lines numbered, or what is in a folder; create writes a whole file; "
	    "str_replace puts new_str where old_str stands, which must be in one place "
	    "alone; insert puts insert_text behind a line; delete and rename do what "
	    "they "
	    "say.",
	.parameters = claude_files_parameters,
	.run = run,
};
static const struct tool *const tools[] = { &tool, NULL };

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	if (value_size(value_get(use->settings, "allowed_path_prefixes")) == 0) {
		*error_r = "/allowed_path_prefixes: must name a folder";
		return -1;
	}
	return claude_files_configure(arena, use, FILES, error_r);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	const char *own = value_get_text(model_settings_of(request), "system_prompt");

	request = prompt_append(request, own != NULL ? own : prompt);
	return model_next(next, claude_tool_offer(request, &memory));
}

const struct middleware middleware_claude_memory = {
	.abi = MIDDLEWARE_ABI,
	.name = "claude_memory",
	.summary = "gives Claude its own memory tool: notes that outlast the context",
	.options = options,
	.fields = fields,
	.tools = tools,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
