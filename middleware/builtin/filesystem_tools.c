/* The tools of filesystem for one file, and for commands: what they take, do and answer. */
#include "filesystem_call.h"

#include <string.h>

#define PAGE_CHARACTERS_MAX 400000u /* when no answer is too long */
#define MEDIA_BYTES_MAX (5u << 20)  /* each request of the thread carries them */

/* --- read_file -------------------------------------------------------------------------- */

static bool
is_base64(const struct value *content)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

	return content->size > 0 && content->size % 4 == 0 &&
	       strspn(content->text, digits) == content->size;
}

/* The same as providers take it, padded and without line breaks; NULL: it is no base64. */
static const struct value *
clean_base64(struct arena *arena, const struct value *content)
{
	const struct value *bytes = backend_bytes(arena, content);

	return bytes == NULL ? NULL : backend_base64(arena, bytes->text, bytes->size);
}

/* A block for the model of what is no text. One that no provider takes would have each call of the thread refused. */
static struct tool_result *
answer_media(struct call *call, const struct value *content)
{
	const char *kind = backend_kind(call->path);
	const struct value *block;

	if (strcmp(kind, "text") == 0)
		return call_refuse(
		    call, arena_printf(call->arena,
			      "'%s' cannot be shown: it is no text, and by "
			      "its name no image, audio, video or PDF",
			      call->path));
	if (content->size / 4 * 3 > MEDIA_BYTES_MAX)
		return call_refuse(call, arena_printf(call->arena,
					     "'%s' is too large to be shown: more than "
					     "%u bytes",
					     call->path, MEDIA_BYTES_MAX));
	block = value_map(call->arena, "type", value_str(call->arena, kind), "base64",
	    content, "mime_type", value_str(call->arena, backend_media_type(call->path)),
	    NULL);
	return call_answer_with(call, value_array(call->arena, &block, 1), "success");
}

static size_t
page_characters(const struct call *call)
{
	size_t most =
	    (size_t)value_get_int(call->settings, "tool_token_limit_before_evict", 0) *
	    FILESYSTEM_CHARACTERS_A_TOKEN;

	return most > 0 ? most : PAGE_CHARACTERS_MAX;
}

static struct tool_result *
run_read_file(struct tool_request *request)
{
	struct call call;
	struct backend_file file;
	const struct value *base64;
	const char *text, *error;
	enum backend_end end;

	if (!call_begin(&call, request, false))
		return call.result;
	end = backend_read(&call.backend, call.path, &file);
	if (end != BACKEND_DONE)
		return call_answer_end(&call, end, "");
	if (file.content->size > 0 &&
	    (file.is_base64 || (strcmp(backend_kind(call.path), "text") != 0 &&
				   is_base64(file.content)))) {
		base64 = clean_base64(call.arena, file.content);
		if (base64 != NULL)
			return answer_media(&call, base64);
		if (file.is_base64)
			return call_refuse(&call,
			    arena_printf(call.arena,
				"'%s' is kept as bytes, but what it has is no base64",
				call.path));
	}
	text = filesystem_page(call.arena, file.content,
	    value_get_int(call.args, "offset", 0),
	    value_get_int(call.args, "limit", FILESYSTEM_READ_LINES),
	    page_characters(&call), &error);
	return text == NULL ? call_refuse(&call, error) : call_answer(&call, text);
}

static const struct tool read_file = {
	.name = "read_file",
	.description =
	    "Reads a file, 100 lines from its begin unless you say otherwise: page "
	    "through long files with `offset` (lines to pass over) and `limit`. Each "
	    "line has its number in front, and two spaces; of a line of more than 5,000 "
	    "characters the rest follows as 5.1, 5.2. The numbers are no part of the "
	    "file.\n\n"
	    "Read several files side by side when you may need them. Images, audio, "
	    "video and PDF files are shown as they are, without `offset` and `limit`. "
	    "Long results of tools are saved in files: read these in parts. Read a file "
	    "before you edit it.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"file_path\": {\"type\": \"string\", \"description\": \"An absolute "
	    "path\"},"
	    "\"offset\": {\"type\": \"integer\", \"default\": 0, \"description\": "
	    "\"Lines to pass over\"},"
	    "\"limit\": {\"type\": \"integer\", \"default\": 100, \"description\": \"At "
	    "most so many lines\"}},"
	    " \"required\": [\"file_path\"]}",
	.run = run_read_file,
};

/* --- write_file, edit_file, delete ------------------------------------------------------ */

static struct tool_result *
run_write_file(struct tool_request *request)
{
	struct call call;
	enum backend_end end;

	if (!call_begin(&call, request, true))
		return call.result;
	end = backend_write(&call.backend, call.path, value_get(call.args, "content"));
	return call_answer_end(
	    &call, end, arena_printf(call.arena, "Wrote %s", call.path));
}

static const struct tool write_file = {
	.name = "write_file",
	.description =
	    "Writes a file: makes it when it is not there, replaces all of it when it "
	    "is. To change a part of a file use edit_file.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"file_path\": {\"type\": \"string\", \"description\": \"An absolute "
	    "path\"},"
	    "\"content\": {\"type\": \"string\", \"description\": \"The whole text of "
	    "the file\"}},"
	    " \"required\": [\"file_path\", \"content\"]}",
	.run = run_write_file,
};

static struct tool_result *
run_edit_file(struct tool_request *request)
{
	struct call call;
	size_t count = 0;
	enum backend_end end;

	if (!call_begin(&call, request, true))
		return call.result;
	end = backend_edit(&call.backend, call.path, value_get(call.args, "old_string"),
	    value_get(call.args, "new_string"),
	    value_get_bool(call.args, "replace_all", false), &count);
	return call_answer_end(&call, end,
	    arena_printf(call.arena, "Replaced %zu occurrence%s in '%s'", count,
		count == 1 ? "" : "s", call.path));
}

static const struct tool edit_file = {
	.name = "edit_file",
	.description =
	    "Replaces a text in a file by another one. `old_string` must stand there "
	    "exactly so, indentation included, in one place alone; give more of what is "
	    "around it when it does not, or `replace_all`. Read the file before: what "
	    "read_file shows has numbers in front of the lines, which belong into "
	    "neither text.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"file_path\": {\"type\": \"string\", \"description\": \"An absolute "
	    "path\"},"
	    "\"old_string\": {\"type\": \"string\", \"description\": \"What is "
	    "replaced\"},"
	    "\"new_string\": {\"type\": \"string\", \"description\": \"What comes in "
	    "its place\"},"
	    "\"replace_all\": {\"type\": \"boolean\", \"default\": false, "
	    "\"description\": \"Wherever it is\"}},"
	    " \"required\": [\"file_path\", \"old_string\", \"new_string\"]}",
	.run = run_edit_file,
};

/* Whether path is a folder, as far as it can be told: there is something in it, or it is in none. */
static enum backend_end
look_beneath(struct call *call, bool *has_more_r)
{
	struct backend_file file;
	struct backend_list list;
	enum backend_end end = backend_ls(&call->backend, call->path, &list);

	*has_more_r = true;
	if (end != BACKEND_DONE || value_size(list.items) > 0)
		return end;
	end = backend_read(&call->backend, call->path, &file);
	*has_more_r = end != BACKEND_DONE;
	return end == BACKEND_CANCELLED ? end : BACKEND_DONE;
}

static struct tool_result *
run_delete(struct tool_request *request)
{
	struct call call;
	const char *patterns;
	bool has_more = false;
	enum backend_end end = BACKEND_DONE;

	if (!call_take_path(&call, request, "file_path"))
		return call.result;
	if (value_size(value_get(call.settings, "permissions")) > 0)
		end = look_beneath(&call, &has_more);
	if (end != BACKEND_DONE)
		return call_answer_end(&call, end, "");
	patterns = filesystem_denies_delete(call.rules, call.path, has_more);
	if (patterns != NULL)
		return call_refuse(&call,
		    arena_printf(call.arena,
			"permission denied for write on %s (matches deny rule(s): %s)",
			call.path, patterns));
	if (!call_is_permitted(&call, true, has_more))
		return call.result;
	end = backend_delete(&call.backend, call.path);
	return call_answer_end(
	    &call, end, arena_printf(call.arena, "Deleted %s", call.path));
}

static const struct tool delete = {
	.name = "delete",
	.description =
	    "Deletes a file, or a folder with all that is in it, for good. Delete a "
	    "folder by one call, and only what is certainly no longer needed.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"file_path\": {\"type\": \"string\", \"description\": \"An absolute "
	    "path\"}},"
	    " \"required\": [\"file_path\"]}",
	.run = run_delete,
};

/* --- execute ---------------------------------------------------------------------------- */

static struct tool_result *
run_execute(struct tool_request *request)
{
	const struct value *timeout;
	struct backend_output output;
	struct call call;
	double most;
	enum backend_end end;

	call_open(&call, request);
	timeout = value_get(call.args, "timeout");
	most = value_get_number(call.settings, "max_execute_timeout", 3600);
	if (value_number(timeout, 0) > most)
		return call_refuse(
		    &call, arena_printf(
			       call.arena, "timeout is at most %.0f seconds here", most));
	end = backend_execute(&call.backend, value_get(call.args, "command"),
	    (uint64_t)(value_number(timeout, 0) * 1000), &output);
	if (end != BACKEND_DONE)
		return call_answer_end(&call, end, "");
	return call_answer(&call,
	    arena_printf(call.arena, "%s\n[Command %s with exit code %d]%s",
		output.text->text, output.status == 0 ? "succeeded" : "failed",
		output.status,
		output.is_cut ? "\n[Output was truncated due to size limits]" : ""));
}

static const struct tool execute = {
	.name = "execute",
	.description =
	    "Runs a shell command in the folder that the files are in, and answers with "
	    "what it wrote and its exit code. Lines of standard error are marked "
	    "[stderr].\n\n"
	    "Each command has a shell of its own: join those that belong together by "
	    "`&&`. Quote paths with spaces. Use the other tools to read, find and "
	    "search files. `timeout` is in seconds, for what takes long.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"command\": {\"type\": \"string\", \"description\": \"What to run\"},"
	    "\"timeout\": {\"type\": [\"integer\", \"null\"], \"minimum\": 0, "
	    "\"default\": null, \"description\": \"At most so many seconds\"}},"
	    " \"required\": [\"command\"]}",
	.once = true,
	.run = run_execute,
};

/* --- for hooks -------------------------------------------------------------------------- */

static const struct tool internal = {
	.name = FILESYSTEM_INTERNAL,
	.description = "",
	.internal = true,
	.run = backend_run_tool,
};

const struct tool *const filesystem_tools[] = { &filesystem_ls, &read_file, &write_file,
	&edit_file, &delete, &filesystem_glob, &filesystem_grep, &execute, &internal,
	NULL };
