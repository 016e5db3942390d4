/* The tools of filesystem that find files and lines: ls, glob, grep. */
#include "filesystem_call.h"

#include <inttypes.h>
#include <string.h>

/* --- ls and glob ------------------------------------------------------------------------ */

static const char *
path_lines(struct call *call, const struct value *items)
{
	struct packet text = { 0 };
	const char *copy;
	size_t i;

	for (i = 0; i < value_size(items); i++) {
		const struct value *path = value_get(items->items[i], "path");

		if (i > 0)
			packet_append(&text, "\n", 1);
		packet_append(&text, path->text, path->size);
	}
	if (i == 0)
		return "No files found";
	copy = filesystem_cut(
	    call->arena, arena_copy(call->arena, text.data, text.size), text.size);
	packet_release(&text);
	return copy;
}

static struct tool_result *
answer_paths(struct call *call, enum backend_end end, const struct backend_list *list)
{
	const char *text;

	if (end != BACKEND_DONE)
		return call_answer_end(call, end, "");
	text = path_lines(call, filesystem_readable(call->rules, list->items));
	if (list->is_cut)
		text = arena_printf(call->arena,
		    "%s\n\nNote: the search was stopped, because it took too long, "
		    "found too much or could not read all. The paths above are valid but "
		    "not all: narrow the pattern or the path.",
		    text);
	return call_answer(call, text);
}

static struct tool_result *
run_ls(struct tool_request *request)
{
	struct call call;
	struct backend_list list;
	enum backend_end end;

	if (!call_begin_search(&call, request))
		return call.result;
	end = backend_ls(&call.backend, call.path, &list);
	return answer_paths(&call, end, &list);
}

const struct tool filesystem_ls = {
	.name = "ls",
	.description =
	    "Lists what is in a folder, a path a line; folders end with a slash. Look "
	    "around with it before you read or change files.",
	.parameters = "{\"type\": \"object\", \"properties\": {"
		      "\"path\": {\"type\": \"string\", \"default\": \"/\","
		      " \"description\": \"The folder, an absolute path\"}}}",
	.run = run_ls,
};

static struct tool_result *
run_glob(struct tool_request *request)
{
	struct call call;
	struct backend_list list;
	enum backend_end end;

	if (!call_begin_search(&call, request))
		return call.result;
	end = backend_glob(
	    &call.backend, value_get_text(call.args, "pattern"), call.path, &list);
	return answer_paths(&call, end, &list);
}

const struct tool filesystem_glob = {
	.name = "glob",
	.description =
	    "Finds files by their names; the answer is absolute paths, one a line. `*` "
	    "stands for any characters of a name, `?` for one, `**` for any folders, "
	    "`{a,b}` for either. A pattern is a path from `path`: `*.py` finds files "
	    "right in it, `src/*.py` in a folder of it, `**/*.py` in any.",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"pattern\": {\"type\": \"string\", \"description\": \"What the files are "
	    "called, as **/*.py\"},"
	    "\"path\": {\"type\": [\"string\", \"null\"], \"default\": \"/\","
	    " \"description\": \"The folder to look in\"}},"
	    " \"required\": [\"pattern\"]}",
	.run = run_glob,
};

/* --- grep ------------------------------------------------------------------------------- */

/* Lines of matches, sorted by path, as the mode wants them. */
static const char *
match_lines(struct call *call, const struct value *items, const char *mode)
{
	struct packet text = { 0 };
	const char *path = NULL, *line = "";
	size_t i, count = 0;

	for (i = 0; i < value_size(items); i++) {
		const struct value *item = items->items[i];
		const char *here = value_get_text(item, "path");
		const struct value *after = value_at(items, i + 1);
		bool is_first = path == NULL || strcmp(path, here) != 0;
		bool is_last = !value_text_is(value_get(after, "path"), here);

		path = here;
		count = is_first ? 1 : count + 1;
		line = NULL;
		if (strcmp(mode, "content") == 0)
			line = arena_printf(call->arena, "%s%s  %" PRId64 ": %s",
			    is_first ? here : "", is_first ? ":\n" : "",
			    value_get_int(item, "line", 0), value_get_text(item, "text"));
		else if (strcmp(mode, "count") == 0 && is_last)
			line = arena_printf(call->arena, "%s: %zu", here, count);
		else if (strcmp(mode, "count") != 0 && is_first)
			line = here;
		if (line == NULL)
			continue;
		packet_append(&text, "\n", text.size > 0 ? 1 : 0);
		packet_append(&text, line, strlen(line));
	}
	if (text.size == 0)
		return "No matches found";
	line = filesystem_cut(
	    call->arena, arena_copy(call->arena, text.data, text.size), text.size);
	packet_release(&text);
	return line;
}

/* Whether text is more likely meant as a regular expression. */
static bool
looks_regular(const char *text)
{
	static const char *const signs[] = { ".*", ".+", "|", "\\", "[", "^", "$", "(?" };
	size_t i;

	for (i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strstr(text, signs[i]) != NULL)
			return true;
	return false;
}

/* How many matches the call wants. */
static size_t
most_of(const struct call *call)
{
	const struct value *most = value_get(call->args, "max_count");
	double count;

	if (value_is_nil(most))
		most = value_get(call->settings, "grep_max_count");
	count = value_number(most, BACKEND_MATCHES_MAX);
	return count < BACKEND_MATCHES_MAX ? (size_t)count : BACKEND_MATCHES_MAX;
}

/* The matches that may be read. Others do not count, or max_count would tell of them. */
static enum backend_end
find_lines(struct call *call, struct backend_list *list)
{
	const char *glob = value_get_text(call->args, "glob");
	size_t most = most_of(call);
	bool has_rules = value_size(value_get(call->settings, "permissions")) > 0;
	enum backend_end end =
	    backend_grep(&call->backend, value_get(call->args, "pattern"), call->path,
		glob == NULL || glob[0] == '\0' ? NULL : glob,
		has_rules ? BACKEND_MATCHES_MAX : most, list);

	if (end != BACKEND_DONE)
		return end;
	list->items = filesystem_readable(call->rules, list->items);
	if (value_size(list->items) > most) {
		list->items = value_array_slice(call->arena, list->items, 0, most);
		list->is_cut = true;
	}
	return end;
}

static struct tool_result *
run_grep(struct tool_request *request)
{
	const char *mode, *lines;
	struct call call;
	struct backend_list list;
	enum backend_end end;

	if (!call_begin_search(&call, request))
		return call.result;
	end = find_lines(&call, &list);
	if (end != BACKEND_DONE)
		return call_answer_end(&call, end, "");
	mode = value_get_text(call.args, "output_mode");
	lines =
	    match_lines(&call, list.items, mode == NULL ? "files_with_matches" : mode);
	if (list.is_cut)
		lines = arena_printf(call.arena,
		    "%s\n\nNote: the search was stopped, because it took too long or "
		    "found as much as it may. The matches above are valid but not all: "
		    "narrow the pattern or the path, or raise max_count.",
		    lines);
	else if (value_size(list.items) == 0 &&
		 looks_regular(value_get_text(call.args, "pattern")))
		lines = arena_printf(call.arena,
		    "%s\n\nNote: the pattern is looked for as it stands, it is no "
		    "regular expression. For one of several texts search for each.",
		    lines);
	return call_answer(&call, lines);
}

const struct tool filesystem_grep = {
	.name = "grep",
	.description =
	    "Finds lines that have a text in them, as it stands: it is no regular "
	    "expression, `.*` and `|` mean themselves. For one of several texts search "
	    "for each.\n\n"
	    "`output_mode`: the files that have such a line (`files_with_matches`), the "
	    "lines with their numbers (`content`), or how many there are (`count`). "
	    "`glob` narrows the files by their names, as `*.py`. Long results of tools "
	    "that were saved are in " FILESYSTEM_RESULTS ".",
	.parameters =
	    "{\"type\": \"object\", \"properties\": {"
	    "\"pattern\": {\"type\": \"string\", \"description\": \"The text to look "
	    "for\"},"
	    "\"path\": {\"type\": [\"string\", \"null\"], \"default\": \"/\","
	    " \"description\": \"The folder or file to search\"},"
	    "\"glob\": {\"type\": [\"string\", \"null\"], \"default\": null,"
	    " \"description\": \"Names of the files to search, as *.py\"},"
	    "\"output_mode\": {\"type\": \"string\", \"default\": "
	    "\"files_with_matches\","
	    " \"enum\": [\"files_with_matches\", \"content\", \"count\"]},"
	    "\"max_count\": {\"type\": [\"integer\", \"null\"], \"minimum\": 1,"
	    " \"default\": null, \"description\": \"At most so many matches\"}},"
	    " \"required\": [\"pattern\"]}",
	.run = run_grep,
};
