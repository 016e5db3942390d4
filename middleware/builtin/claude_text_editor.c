/* claude_text_editor: the text editor that Anthropic's models know by themselves, on files of the thread, of long-term memory
 * or of a folder. */
#include "claude_files.h"
#include "claude_tool.h"

#define FILES "text_editor_files" /* LangChain's name */

static const struct claude_tool editor = { .name = "str_replace_based_edit_tool",
	.type = "text_editor_20250728" };

static const struct option options[] = {
	BACKEND_OPTION,
	{ .name = "allowed_path_prefixes",
	    .type = OPTION_TEXTS,
	    .nullable = true,
	    .text = CLAUDE_FILES_PREFIXES_TEXT " Null: everything." },
	{ 0 },
};

static const struct field fields[] = { BACKEND_FIELD_OF(FILES), { 0 } };

static struct tool_result *
run(struct tool_request *request)
{
	return claude_files_run(request, FILES);
}

static const struct tool tool = {
	.name = "str_replace_based_edit_tool",
	.description =
	    "Looks at text files and changes them. view shows a file with its lines "
	    "numbered, or what is in a folder; create writes a whole file; str_replace "
	    "puts new_str where old_str stands, which must be in one place alone; insert "
	    "puts insert_text behind a line; delete and rename do what they say.",
	.parameters = claude_files_parameters,
	.run = run,
};
static const struct tool *const tools[] = { &tool, NULL };

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	return claude_files_configure(arena, use, FILES, error_r);
}

static struct model_response *
wrap_model_call(struct model_request *request, struct model_next *next)
{
	return model_next(next, claude_tool_offer(request, &editor));
}

const struct middleware middleware_claude_text_editor = {
	.abi = MIDDLEWARE_ABI,
	.name = "claude_text_editor",
	.summary = "gives Claude its own text editor",
	.options = options,
	.fields = fields,
	.tools = tools,
	.configure = configure,
	.wrap_model_call = wrap_model_call,
};
