/* state_file_search: two tools that find files and lines among the files that other middleware keep in the thread's
 * state: those of claude_text_editor, claude_memory, filesystem. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "fiber.h"
#include "file_glob.h"
#include "file_search.h"
#include "loop.h"
#include "pattern.h"
#include "utf8.h"

#define SEARCH_PATTERN_MAX 4096u
#define SEARCH_US 5000000u      /* of one search, others served in between */
#define LINES_BETWEEN_LOOKS 64u /* at the clock, and at the others */

static const char *const keys[] = { "text_editor_files", "memory_files", BACKEND_FILES,
	NULL };
static const struct field fields_of_keys[] = {
	BACKEND_FIELD_OF("text_editor_files"),
	BACKEND_FIELD_OF("memory_files"),
	BACKEND_FIELD,
};

static const struct option options[] = {
	{ .name = "state_key",
	    .type = OPTION_TEXT,
	    .otherwise = "\"text_editor_files\"",
	    .choices = keys,
	    .text = "Whose files: `text_editor_files` are claude_text_editor's, "
		    "`memory_files` claude_memory's, `files` filesystem's; each with its "
		    "backend `state`." },
	{ 0 },
};

/* --- a search --------------------------------------------------------------------------- */

struct search {
	struct tool_request *request;
	struct arena *arena;
	struct backend backend;
	enum file_search_mode mode;
	const struct pattern *pattern;
	const struct file_glob *include; /* NULL: all */
	struct packet text;
	uint64_t end_us;
	bool is_cut; /* files were left out: what there is is searched all the same */
	bool is_full, is_late, is_costly;
};

static void
open_search(struct search *search, struct tool_request *request)
{
	*search = (struct search){ .request = request,
		.arena = tool_arena(request),
		.end_us = loop_now_us() + SEARCH_US };
	backend_of_tool_field(&search->backend, request,
	    value_get_text(tool_settings_of(request), "state_key"));
}

static bool
add_line(struct search *search, const char *line)
{
	size_t size = strlen(line);

	if (search->text.size + size + 1 > FILE_SEARCH_ANSWER_BYTES) {
		search->is_full = true;
		return false;
	}
	if (search->text.size > 0)
		packet_append(&search->text, "\n", 1);
	packet_append(&search->text, line, size);
	return true;
}

static void
say(struct search *search, const char *note)
{
	if (search->text.size > 0)
		packet_append(&search->text, "\n", 1);
	packet_append(&search->text, note, strlen(note));
}

static struct tool_result *
answer(struct search *search, const char *nothing)
{
	const char *text;

	if (search->text.size == 0)
		say(search, nothing);
	if (search->is_full || search->is_cut)
		say(search, "[There is more, which was left out: narrow the search.]");
	if (search->is_late)
		say(search, "[The search took too long and was stopped: there may be "
			    "more. Narrow the path or the pattern.]");
	if (search->is_costly)
		say(search, "[The pattern takes too much work on some files, which were "
			    "left out: make it simpler.]");
	text = arena_copy(search->arena, search->text.data, search->text.size);
	text = backend_printable(search->arena, text, search->text.size);
	packet_release(&search->text);
	return tool_answer(search->request, text, "success");
}

static struct tool_result *
refuse(struct search *search, const char *text)
{
	packet_release(&search->text);
	return tool_answer(search->request, text, "error");
}

/* The files beneath the argument path that pattern means, newest first. NULL: *result_r is the answer. */
static const struct value *
find_files(struct search *search, const char *pattern, struct tool_result **result_r)
{
	const char *path = value_get_text(tool_args(search->request), "path");
	struct backend_list list = { 0 };
	enum backend_end end = backend_glob(
	    &search->backend, pattern, path == NULL || *path == '\0' ? "/" : path, &list);

	if (end == BACKEND_DONE) {
		search->is_cut = list.is_cut;
		return list.items;
	}
	*result_r = end == BACKEND_CANCELLED
			? tool_fail(search->request, fault_cancelled(search->arena))
			: refuse(search, arena_printf(search->arena, "Error: %s",
					     search->backend.error));
	return NULL;
}

/* --- glob_search ------------------------------------------------------------------------ */

static struct tool_result *
run_glob_search(struct tool_request *request)
{
	struct search search;
	struct tool_result *result;
	const struct value *files;
	size_t i;

	open_search(&search, request);
	files =
	    find_files(&search, value_get_text(tool_args(request), "pattern"), &result);
	if (files == NULL)
		return result;
	for (i = 0; i < files->size; i++)
		if (!add_line(&search, value_get_text(files->items[i], "path")))
			break;
	return answer(&search, "No files found");
}

static const struct tool glob_search = {
	.name = "glob_search",
	.description =
	    "Finds files by their names. The answer is a list of paths, a line each, the "
	    "file that was changed last first.\n\n"
	    "`*` stands for any characters within a name, `?` for one, `[abc]` for one "
	    "of "
	    "these, `{a,b}` for either, `**` for any folders: `**/*.py` is every Python "
	    "file, `src/*.{js,ts}` those right in src.",
	.parameters = file_search_glob_parameters,
	.run = run_glob_search,
};

/* --- grep_search ------------------------------------------------------------------------ */

/* Others have their turn; false when the search must stop. */
static bool
goes_on(struct search *search)
{
	search->is_late = search->is_late || loop_now_us() > search->end_us;
	return !search->is_late && fiber_yield() == 0;
}

static bool
add_match(
    struct search *search, const char *path, size_t number, const char *line, size_t size)
{
	size_t shown = utf8_prefix(line, size, FILE_SEARCH_LINE_BYTES);

	return add_line(search, arena_printf(search->arena, "%s:%zu:%.*s%s", path, number,
				    (int)shown, line, shown < size ? "..." : ""));
}

/* How many lines of text match; -1: the pattern takes too much work. */
static long
search_lines(struct search *search, const char *path, const struct value *text)
{
	const char *line = text->text, *end = line + text->size, *stop;
	size_t number = 1, before = search->text.size;
	long matches = 0;
	int found;

	for (; line < end; line = stop + 1, number++) {
		if (number % LINES_BETWEEN_LOOKS == 0 && !goes_on(search))
			break;
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			stop = end;
		found = pattern_find_next(search->pattern, line, (size_t)(stop - line));
		if (found == -1) {
			search->text.size = before;
			return -1;
		}
		matches += found;
		if (found == 1 && search->mode == FILE_SEARCH_FILES)
			break;
		if (found == 1 && search->mode == FILE_SEARCH_CONTENT &&
		    !add_match(search, path, number, line, (size_t)(stop - line)))
			break;
	}
	return matches;
}

static bool
is_included(const struct search *search, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return search->include == NULL ||
	       file_glob_matches(search->include,
		   file_glob_has_folders(search->include) ? path + 1 : name);
}

/* Returns false when nothing more is to be looked at. */
static bool
search_file(struct search *search, const char *path)
{
	struct backend_file file;
	long matches;

	if (!is_included(search, path) ||
	    backend_read(&search->backend, path, &file) != BACKEND_DONE || file.is_base64)
		return true;
	matches = search_lines(search, path, file.content);
	search->is_costly = search->is_costly || matches == -1;
	if (matches > 0 && search->mode == FILE_SEARCH_FILES)
		add_line(search, path);
	if (matches > 0 && search->mode == FILE_SEARCH_COUNT)
		add_line(search, arena_printf(search->arena, "%s:%ld", path, matches));
	return !search->is_full && goes_on(search);
}

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *const *
sorted_paths(struct arena *arena, const struct value *files)
{
	const char **paths = arena_alloc(arena, (files->size + 1) * sizeof *paths);
	size_t i;

	for (i = 0; i < files->size; i++)
		paths[i] = value_get_text(files->items[i], "path");
	if (files->size > 0)
		qsort(paths, files->size, sizeof *paths, compare_paths);
	return paths;
}

static struct tool_result *
search_all(struct search *search)
{
	struct tool_result *result;
	const struct value *files = find_files(search, "**", &result);
	const char *const *paths;
	size_t i;

	if (files == NULL)
		return result;
	paths = sorted_paths(search->arena, files);
	for (i = 0; i < files->size; i++)
		if (!search_file(search, paths[i]))
			break;
	if (fiber_cancelled()) {
		packet_release(&search->text);
		return tool_fail(search->request, fault_cancelled(search->arena));
	}
	return answer(search, "No matches found");
}

static struct pattern *
compile(struct arena *arena, const struct value *text, const char **error_r)
{
	if (value_size(text) <= SEARCH_PATTERN_MAX)
		return pattern_new(arena, value_text(text), value_size(text), error_r);
	*error_r = "it is longer than it may be";
	return NULL;
}

static struct tool_result *
run_grep_search(struct tool_request *request)
{
	const struct value *args = tool_args(request);
	const char *include = value_get_text(args, "include"), *error;
	struct search search;
	struct pattern *pattern;
	struct tool_result *result;

	open_search(&search, request);
	search.mode = file_search_mode_of(args);
	if (include != NULL && *include != '\0') {
		search.include = file_glob_parse(search.arena, include, &error);
		if (search.include == NULL)
			return refuse(
			    &search, arena_printf(search.arena,
					 "Invalid include pattern: %s.", error));
	}
	pattern = compile(search.arena, value_get(args, "pattern"), &error);
	if (pattern == NULL)
		return refuse(&search,
		    arena_printf(search.arena, "Invalid regex pattern: %s.", error));
	search.pattern = pattern;
	result = search_all(&search);
	pattern_destroy(&pattern);
	return result;
}

static const struct tool grep_search = {
	.name = "grep_search",
	.description =
	    "Finds lines in files by a regular expression. The answer is sorted by path: "
	    "the files that have such a line (`files_with_matches`), the lines as "
	    "`path:number:text` (`content`), or how many there are as `path:number` "
	    "(`count`).\n\n"
	    "`include` narrows the files by their names: `*.py` or `*.{ts,tsx}` in any "
	    "folder, `src/**/*.c` from the root.",
	.parameters = file_search_grep_parameters,
	.run = run_grep_search,
};

static const struct tool *const tools[] = { &glob_search, &grep_search, NULL };

/* --- settings --------------------------------------------------------------------------- */

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const struct value *key = value_get(use->settings, "state_key");
	size_t i = 0;

	while (!value_text_is(key, keys[i])) /* one of the choices */
		i++;
	use->fields = &fields_of_keys[i];
	use->field_count = 1;
	return backend_configure_field(
	    arena, use, keys[i], BACKEND_READ_BY_TOOLS, error_r);
}

const struct middleware middleware_state_file_search = {
	.abi = MIDDLEWARE_ABI,
	.name = "state_file_search",
	.summary = "lets the model find files and lines among those of the thread",
	.options = options,
	.tools = tools,
	.configure = configure,
};
