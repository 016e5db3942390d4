/* backend: where the files are that an agent works with: what filesystem, memory, skills and
 * deepagents_summarization share (semantics.md 6.19).
 *
 * The setting `backend` says it:
 *
 *	state                                        (the default) in the thread: the field `files`
 *	{store: {namespace: [label]}}                in long-term memory (store/items.h), for all threads;
 *	                                             ["filesystem"] by default. {tenant}, {thread}, {agent} and
 *	                                             {context.NAME} in a label: what the run has for it
 *	{filesystem: {root_dir, virtual_mode, max_file_size_mb}}
 *	                                             in a folder of the tool workers' machine, and nothing
 *	                                             outside of it (backend_disk.h)
 *	{local_shell: {root_dir, virtual_mode, timeout, max_output_bytes, env, inherit_env}}
 *	                                             the same, and commands may be run in it
 *	{composite: {default: B, routes: {"/memories/": B}}}
 *	                                             by the beginning of the path, the longest first; a
 *	                                             backend beneath a route does not see the route
 *
 * Whoever uses it declares the setting with BACKEND_OPTION and the field with BACKEND_FIELD, calls
 * backend_configure() from configure(), and then from two places:
 *
 *	struct backend backend;
 *
 *	backend_of_turn(&backend, turn, "memory_files");        a node hook
 *	backend_of_tool(&backend, request);                     a tool's body, wrap_tool_call
 *	end = backend_read(&backend, "/notes.md", &file);
 *	...
 *	update = value_map(arena, "files", backend.update, ...)   NULL leaves it out
 *
 * A folder is where the tool workers are. A tool's body is there already; a node hook reaches it
 * through an internal tool of its middleware, whose body is backend_run_tool. The files of `state`
 * are those of the beginning of the step, with what this very struct has changed: side by side
 * written keys are merged by the field's reducer, of one key the last counts.
 *
 * All operations wait, but for the state's. Whatever a path, pattern or text holds, they end within
 * a bounded time and answer with a bounded text; a path never leads out of a root. */
#ifndef BACKEND_H
#define BACKEND_H

#include "middleware.h"

#define BACKEND_PATH_BYTES_MAX 1024u
#define BACKEND_FILE_BYTES_MAX (10u << 20) /* of one file, read or written */
#define BACKEND_STATE_BYTES_MAX                                                          \
	(8u << 20) /* of all files of a thread, in one writer's view */
#define BACKEND_FIELD_BYTES_MAX                                                          \
	(12u << 20) /* of what several wrote side by side: calls bring them */
#define BACKEND_STORE_FILES_MAX 10000u       /* of one namespace, looked at */
#define BACKEND_STORE_BYTES_MAX (64u << 20)  /* of them */
#define BACKEND_ENTRIES_MAX 10000u           /* that ls and glob answer */
#define BACKEND_ENTRIES_BYTES_MAX (1u << 20) /* of their paths */
#define BACKEND_MATCHES_MAX 10000u           /* that grep answers */
#define BACKEND_MATCHES_BYTES_MAX (1u << 20) /* of their lines */
#define BACKEND_LINE_BYTES 1000u             /* of a line that grep shows */
#define BACKEND_SEARCH_MS 10000u             /* of a glob or grep in a folder */
#define BACKEND_ROUTES_MAX 32u

#define BACKEND_FILES "files" /* the field */

/* A row for the table of settings, and one for the fields. */
#define BACKEND_OPTION                                                                   \
	{                                                                                \
		.name = "backend", .type = OPTION_ANY, .otherwise = "\"state\"",         \
		.text = "Where the files are: `state`, or one of `store`, "              \
			"`filesystem`, `local_shell`, `composite` with its settings."    \
	}
#define BACKEND_FIELD BACKEND_FIELD_OF(BACKEND_FILES)
/* Of a middleware whose files are its own: each function below that takes no field has one that does. */
#define BACKEND_FIELD_OF(field)                                                          \
	{                                                                                \
		.name = (field), .type = "object", .reducer = REDUCE_MERGE,              \
		.bytes_max = BACKEND_FIELD_BYTES_MAX                                     \
	}

/* --- the setting ---------------------------------------------------------------------- */

/* In which workers the files of the state are read, beside node hooks: each call there brings them. */
enum backend_readers {
	BACKEND_READ_BY_NODES,
	BACKEND_READ_BY_WORKERS,
	BACKEND_READ_BY_TOOLS, /* not by model workers */
};

/* For configure(): checks use's setting `backend`. Takes BACKEND_FIELD out of use's fields when no
 * file is in the state, else adds the field to what is read. Returns 0, or -1 with a reason that has
 * its place in front ("/backend/store/namespace: must be ..."). */
int backend_configure(struct arena *arena, struct middleware_use *use,
    enum backend_readers readers, const char **error_r);
int backend_configure_field(struct arena *arena, struct middleware_use *use,
    const char *field, enum backend_readers readers, const char **error_r);

/* What a checked setting can: commands (of a composite its default), files in the state (any part of
 * it), files in a folder (likewise). NULL is `state`. */
bool backend_executes(const struct value *setting);
bool backend_has_state(const struct value *setting);
bool backend_has_folder(const struct value *setting);

/* How long a command may take that is given no time of its own, where backend_executes. */
double backend_execute_seconds(const struct value *setting);

/* The prefixes of a composite's routes, [text]; an empty array of others. */
const struct value *backend_routes(struct arena *arena, const struct value *setting);

/* --- paths ---------------------------------------------------------------------------- */

/* Brings what a model or a setting calls a path into form: "/a/b", "/" for the root, in arena. Adds a
 * slash in front, takes away "." and doubled slashes. NULL with a reason in arena when it leads
 * upwards (".."), begins with "~" or a drive's letter, has a control character or is too long. */
const char *backend_path(struct arena *arena, const char *text, const char **error_r);

/* --- the callers ---------------------------------------------------------------------- */

enum backend_end {
	BACKEND_DONE,
	BACKEND_MISSING,   /* there is no such file or folder; error says so */
	BACKEND_FAILED,    /* error says why */
	BACKEND_CANCELLED, /* return at once, whatever: the runner knows */
};

struct backend_caller;

struct backend {
	struct arena *arena;
	const char
	    *error; /* of the last operation that was not done: "File '/a' not found" */
	/* What it changed, for the field `files`: {path: file, or nil for one that is gone}; NULL: nothing */
	const struct value *update;

	/* Its own. */
	const struct value *setting, *state, *context;
	const char *thread, *agent;
	const char *tenant; /* or NULL */
	const struct backend_caller *caller;
	void *arg;
	const char *tool;
};

/* Fill backend for use's setting `backend`; what they are given is kept for as long as it is used. tool: the
 * internal tool of the middleware for folders, NULL: it has none. */
void backend_of_turn(struct backend *backend, struct turn *turn, const char *tool);
void backend_of_tool(struct backend *backend, struct tool_request *request);
void backend_of_tool_field(
    struct backend *backend, struct tool_request *request, const char *field);

/* The body of an internal tool, which does in a tool worker what a node hook asks of a folder:
 *
 *	static const struct tool memory_files = { .name = "memory_files", .description = "",
 *	    .internal = true, .run = backend_run_tool };
 */
struct tool_result *backend_run_tool(struct tool_request *request);

/* --- operations ----------------------------------------------------------------------- */

/* Paths are taken as backend_path() gives them, or are brought into that form. What is returned is in the
 * backend's arena. */

struct backend_file {
	const struct value *content; /* a string: the text, or base64 of the bytes */
	bool is_base64;
	const char *created_at, *modified_at; /* ISO 8601, or NULL */
};

enum backend_end backend_read(
    struct backend *backend, const char *path, struct backend_file *file_r);

/* Creates path, or replaces it; the folders it is in come about. content is a string. */
enum backend_end backend_write(
    struct backend *backend, const char *path, const struct value *content);

/* The same of bytes: content is their base64. */
enum backend_end backend_write_base64(
    struct backend *backend, const char *path, const struct value *content);

/* Puts content behind what path has, which comes about when it is not there. In a store or a folder it may be
 * there twice, when whoever did it died before it could say so, and did it again. */
enum backend_end backend_append(
    struct backend *backend, const char *path, const struct value *content);

/* Replaces old_text by new_text where it stands, which must be in one place alone unless all. An empty
 * old_text is for an empty file. *count_r: in how many places. */
enum backend_end backend_edit(struct backend *backend, const char *path,
    const struct value *old_text, const struct value *new_text, bool all,
    size_t *count_r);

/* Removes a file, or a folder with all that is in it. */
enum backend_end backend_delete(struct backend *backend, const char *path);

/* A list that may be longer than is answered. */
struct backend_list {
	const struct value *items;
	bool is_cut;
};

/* What is right in the folder path, sorted by path: [{path, is_dir, size, modified_at?}]; folders have a slash
 * behind. A folder that is not there has nothing in it. */
enum backend_end backend_ls(
    struct backend *backend, const char *path, struct backend_list *list_r);

/* The files beneath path (or path itself) whose path from there matches pattern (file_glob.h): as ls
 * gives them. A pattern is of paths from path, also with a slash in front. */
enum backend_end backend_glob(struct backend *backend, const char *pattern,
    const char *path, struct backend_list *list_r);

/* The lines that have text as it stands in them, of text files beneath path (or path itself) whose names
 * match glob (NULL: all): [{path, line, text}], at most `most` of them. A glob with a slash is matched
 * against the path from there. */
enum backend_end backend_grep(struct backend *backend, const struct value *text,
    const char *path, const char *glob, size_t most, struct backend_list *list_r);

struct backend_output {
	const struct value *text; /* of both streams, without what is said of it */
	int status;               /* 124: it took too long */
	bool is_cut;
};

/* Runs a command by the shell in the folder of a backend that can (backend_executes), from a tool alone. timeout_ms
 * 0: as the setting says. */
enum backend_end backend_execute(struct backend *backend, const struct value *command,
    uint64_t timeout_ms, struct backend_output *output_r);

/* --- for other parts ------------------------------------------------------------------- */

/* base64 of bytes, as a string in arena. */
const struct value *backend_base64(struct arena *arena, const void *data, size_t size);

/* And back: a VALUE_BIN, or NULL when it is no base64. */
const struct value *backend_bytes(struct arena *arena, const struct value *base64);

/* text, with U+FFFD for each NUL in it: what prints it would end there. Lent when it has none. */
const char *backend_printable(struct arena *arena, const char *text, size_t size);

/* What LangChain calls a file by its name: "image", "audio", "video", "file" (what has pages), or "text"; and its
 * media type. */
const char *backend_kind(const char *path);
const char *backend_media_type(const char *path);

/* The time now as files have it: "2026-01-31T12:00:00.000000+00:00". */
const char *backend_now(struct arena *arena);

#endif
