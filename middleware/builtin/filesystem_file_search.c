/* filesystem_file_search: two tools that find files and lines beneath a folder, and nothing
 * outside of it (semantics.md 6.15). file_walk.h says how that is kept. */
#include "middleware.h"

#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "file_search.h"
#include "process.h"
#include "work.h"

#define SEARCH_PATTERN_MAX 4096u
#define PATH_BYTES_MAX 4096u
#define CANDIDATES_BYTES_MAX (8u << 20) /* that ripgrep may name */
#define RIPGREP_MS 20000u               /* of FILE_SEARCH_MS */
#define RIPGREP_MEMORY_BYTES (UINT64_C(1) << 30)

static const char *const checks[] = { "everywhere", "workers", NULL };

static const struct option options[] = {
	{ .name = "root_path",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text = "The folder that is `/` for the model: an absolute path." },
	{ .name = "use_ripgrep",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "Lets `rg` find the files to read, where it is installed." },
	{ .name = "max_file_size_mb",
	    .type = OPTION_INTEGER,
	    .otherwise = "10",
	    .min = 1,
	    .max = 1024,
	    .text = "Larger files are not searched for lines, in MiB." },
	{ .name = "root_check",
	    .type = OPTION_TEXT,
	    .otherwise = "\"everywhere\"",
	    .choices = checks,
	    .text = "Who refuses a `root_path` that is no folder: every process that "
		    "loads the "
		    "agent; or only the tool workers, when the others are on machines "
		    "without "
		    "it." },
	{ 0 },
};

/* --- paths ---------------------------------------------------------------------------- */

static struct tool_result *
refuse(struct tool_request *request, const char *text)
{
	return tool_answer(request, text, "error");
}

/* Turns what the model calls a path into one below the root: "" or "a/b". NULL: it leads out of
 * it, or is none. */
static const char *
path_below(struct arena *arena, const char *text)
{
	const char *path = "";
	size_t size;

	if (strlen(text) > PATH_BYTES_MAX)
		return NULL;
	for (;; text += size) {
		text += strspn(text, "/");
		size = strcspn(text, "/");
		if (size == 0)
			return path;
		if ((size == 2 && strncmp(text, "..", 2) == 0) || *text == '~')
			return NULL;
		if (size == 1 && *text == '.')
			continue;
		path = arena_printf(
		    arena, "%s%s%.*s", path, *path == '\0' ? "" : "/", (int)size, text);
	}
}

/* Fills what both tools have in common. Returns false with the refusal in *result_r. */
static bool
prepare(struct tool_request *request, struct file_search *search,
    struct tool_result **result_r)
{
	const struct value *settings = tool_settings_of(request);
	const char *path = value_get_text(tool_args(request), "path");

	search->root = value_get_text(settings, "root_path");
	search->file_bytes_max = (uint64_t)value_get_int(settings, "max_file_size_mb", 10)
				 << 20;
	search->limit_us = FILE_SEARCH_MS * UINT64_C(1000);
	search->path = path_below(tool_arena(request), path == NULL ? "/" : path);
	if (search->path != NULL)
		return true;
	*result_r =
	    refuse(request, "Error: a path must not have \"..\" in it, nor begin with "
			    "\"~\": \"/\" is the "
			    "root of all there is, and paths are like \"/src/main.c\".");
	return false;
}

/* Runs the search on the pool and makes its answer the tool's. */
static struct tool_result *
run(struct tool_request *request, struct file_search *search)
{
	struct arena *arena = tool_arena(request);
	struct tool_result *result;

	if (work_run(file_search_run, search) == -1)
		return tool_fail(request, fault_cancelled(arena));
	if (search->end == FILE_WALK_NO_ROOT)
		result = tool_fail(request, fault_new(arena, "FileNotFoundError",
						"the root_path of this tool is no folder "
						"on the tool worker's machine"));
	else if (search->end == FILE_WALK_NO_PATH)
		result = refuse(request, arena_printf(arena,
					     "Error: there is no folder and no file /%s "
					     "(symbolic links are not "
					     "followed).",
					     search->path));
	else
		result = tool_answer(request, search->answer, "success");
	return result;
}

/* --- glob_search ---------------------------------------------------------------------- */

static struct tool_result *
run_glob_search(struct tool_request *request)
{
	struct file_search search = { .mode = FILE_SEARCH_NAMES };
	const char *text = value_get_text(tool_args(request), "pattern"), *error;
	struct tool_result *result;

	if (!prepare(request, &search, &result))
		return result;
	search.glob = file_glob_parse(tool_arena(request), text, &error);
	if (search.glob == NULL)
		return refuse(request,
		    arena_printf(tool_arena(request), "Invalid pattern: %s.", error));
	search.arena = arena_new();
	result = run(request, &search);
	arena_destroy(&search.arena);
	return result;
}

static const struct tool glob_search = {
	.name = "glob_search",
	.description =
	    "Finds files by their names. The answer is a list of paths, a line each, the "
	    "file that was changed last first.\n\n"
	    "`*` stands for any characters within a name, `?` for one, `[abc]` for one "
	    "of "
	    "these, `{a,b}` for either, `**` for any folders: `**/*.py` is every Python "
	    "file, "
	    "`src/*.{js,ts}` those right in src. A pattern without `**` is looked for in "
	    "`path` "
	    "itself, not below.",
	.parameters = file_search_glob_parameters,
	.run = run_glob_search,
};

/* --- ripgrep -------------------------------------------------------------------------- */

/* What it names is only where we look: lines come from files that we open by ourselves, below the
 * root. So what changes on the disk under its eyes cannot lead it outside for the model. */

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in output, each ended by a NUL, sorted; without the "./" in front. */
static const char *const *
split_names(struct arena *arena, const char *output, size_t size)
{
	const char **names, *at = output, *end = output + size, *stop;
	size_t count = 0;

	for (stop = at; (stop = memchr(stop, '\0', (size_t)(end - stop))) != NULL; stop++)
		count++;
	names = arena_alloc(arena, (count + 1) * sizeof *names);
	for (count = 0; (stop = memchr(at, '\0', (size_t)(end - at))) != NULL;
	     at = stop + 1)
		names[count++] = strncmp(at, "./", 2) == 0 ? at + 2 : at;
	qsort(names, count, sizeof *names, compare_paths);
	return names;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Another status: it does not take the pattern, or could not read all, or the pattern took it too
 * much work somewhere. */
static bool
is_usable(const struct process_result *result)
{
	return result->end == PROCESS_TIMEOUT ||
	       (result->end == PROCESS_EXITED && result->status <= 1);
}

/* Has ripgrep name the files that match. Leaves search as it is when it is not there, cannot
 * tell, or there are too many: then all are looked at. */
static void
ask_ripgrep(struct tool_request *request, struct file_search *search, const char *pattern)
{
	struct arena *arena = search->arena;
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
		"LC_ALL=C.UTF-8", NULL };
	const char *const argv[] = { "rg", "--no-config", "--files-with-matches",
		"--null", "--no-messages", "--no-ignore", "--hidden", "--pcre2",
		"--color=never", "--max-filesize",
		arena_printf(arena, "%llu", (unsigned long long)search->file_bytes_max),
		"--regexp", pattern, "--", arena_printf(arena, "./%s", search->path),
		NULL };
	const struct process_options how = {
		.argv = argv,
		.env = env,
		.directory = search->root,
		.output_bytes_max = CANDIDATES_BYTES_MAX,
		.timeout_ms = RIPGREP_MS,
		.limits = { .memory_bytes = RIPGREP_MEMORY_BYTES },
	};
	struct process_result result;
	uint64_t begin_us;

	if (!value_get_bool(tool_settings_of(request), "use_ripgrep", true))
		return;
	/* What is named to it, it opens whatever it is: of a pipe it waits for a writer. */
	if (work_run(file_search_look, search) == -1 || search->end != FILE_WALK_DONE)
		return;
	begin_us = loop_now_us();
	process_run(fiber_loop(), arena, &how, &result);
	search->limit_us -=
	    smaller(loop_now_us() - begin_us, RIPGREP_MS * UINT64_C(1000));
	if (!is_usable(&result))
		return;
	search->is_late = result.end == PROCESS_TIMEOUT;
	search->candidates = split_names(arena, result.output, result.output_size);
}

/* --- grep_search ---------------------------------------------------------------------- */

/* Searches lines for what pattern and include mean; search has its own arena. */
static struct tool_result *
search_lines(struct tool_request *request, struct file_search *search, const char *text,
    const char *include)
{
	struct arena *arena = tool_arena(request);
	struct pattern *pattern;
	struct tool_result *result;
	const char *error = "it is longer than it may be";

	if (include != NULL && *include != '\0') {
		search->glob = file_glob_parse(arena, include, &error);
		if (search->glob == NULL)
			return refuse(request,
			    arena_printf(arena, "Invalid include pattern: %s.", error));
	}
	/* As ripgrep reads it: \w and \d know all letters and digits. */
	pattern = strlen(text) > SEARCH_PATTERN_MAX
		      ? NULL
		      : pattern_new(arena, arena_printf(arena, "(*UCP)%s", text),
			    strlen(text) + strlen("(*UCP)"), &error);
	if (pattern == NULL)
		return refuse(
		    request, arena_printf(arena, "Invalid regex pattern: %s.", error));
	search->pattern = pattern;
	ask_ripgrep(request, search, text);
	result = run(request, search);
	pattern_destroy(&pattern);
	return result;
}

static struct tool_result *
run_grep_search(struct tool_request *request)
{
	const struct value *args = tool_args(request);
	struct file_search search = { .mode = file_search_mode_of(args) };
	struct tool_result *result;

	if (!prepare(request, &search, &result))
		return result;
	search.arena = arena_new();
	result = search_lines(request, &search, value_get_text(args, "pattern"),
	    value_get_text(args, "include"));
	arena_destroy(&search.arena);
	return result;
}

static const struct tool grep_search = {
	.name = "grep_search",
	.description =
	    "Finds lines in files by a regular expression. The answer is sorted by path: "
	    "the "
	    "files that have such a line (`files_with_matches`), the lines as "
	    "`path:number:text` (`content`), or how many there are as `path:number` "
	    "(`count`).\n\n"
	    "`include` narrows the files by their names: `*.py` or `*.{ts,tsx}` in any "
	    "folder, "
	    "`src/**/*.c` below path. Only text files are searched.",
	.parameters = file_search_grep_parameters,
	.run = run_grep_search,
};

static const struct tool *const tools[] = { &glob_search, &grep_search, NULL };

/* --- settings ------------------------------------------------------------------------- */

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *root = value_get_text(use->settings, "root_path");

	if (root[0] != '/') {
		*error_r = "/root_path: must be an absolute path";
		return -1;
	}
	if (!value_text_is(value_get(use->settings, "root_check"), "everywhere") ||
	    file_walk_is_folder(root))
		return 0;
	*error_r = arena_printf(arena,
	    "/root_path: %s is no folder here; if only the tool workers have it, say "
	    "root_check: workers",
	    root);
	return -1;
}

const struct middleware middleware_filesystem_file_search = {
	.abi = MIDDLEWARE_ABI,
	.name = "filesystem_file_search",
	.summary = "lets the model find files and lines beneath a folder",
	.options = options,
	.tools = tools,
	.configure = configure,
};
