/* tool_file: the YAML file that makes a program a tool, or an MCP server's tools ours (mcp_file.h):
 * read, checked, ready to run. docs/tools.md is its manual.
 *
 * Whatever can be wrong with a tool is said here, with file, line and column, before any
 * model is offered it. */
#ifndef TOOL_FILE_H
#define TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"
#include "template.h"
#include "value.h"

struct mcp_options;

enum tool_input {
	TOOL_INPUT_JSON,     /* all arguments as one JSON object */
	TOOL_INPUT_NONE,     /* empty */
	TOOL_INPUT_ARGUMENT, /* the text of one argument */
};

enum tool_output {
	TOOL_OUTPUT_TEXT,
	TOOL_OUTPUT_JSON, /* checked: a string is the content, the rest goes on compact */
	TOOL_OUTPUT_COMMAND, /* written_command.h */
};

/* One tool of a file, in the arena it was read into. */
struct command_tool {
	const char *name;
	const char *place;              /* "tools/weather.yaml:3:1" */
	const struct value *definition; /* proto/bodies.h; with all defaults filled in */
	const struct value *properties; /* of the parameters, or NULL */

	/* A command of items; or, items being NULL, one for /bin/sh. */
	const struct template *items; /* the first is the program, an absolute path */
	size_t item_count;
	const char *shell;

	const char *directory;          /* absolute */
	const char *const *environment; /* "NAME=value" or "NAME", NULL-ended */
	enum tool_input input;
	const char *input_argument; /* of TOOL_INPUT_ARGUMENT */
	enum tool_output output;
	uint64_t timeout_ms;
	uint64_t grace_ms; /* from SIGTERM to SIGKILL */
	uint64_t output_bytes_max;
	struct process_limits limits;
	uint64_t max_parallel; /* 0: as many as the worker has slots */
	bool idempotent;
	const struct value *reads; /* [field of the state], or NULL */
	bool context;              /* the program is given the run's */
	bool streams;    /* what the program writes to PROCESS_STREAM_FD is told live */
	bool interrupts; /* exit status TOOL_EXIT_ASKS: a human is asked what it wrote */
};

/* What a file holds, in the order of its documents; in the arena it was read into. */
struct tool_file {
	const struct command_tool *const *tools; /* NULL-ended, as the other */
	const struct mcp_options *const *servers;
};

/* Reads the file at path, a tool or an MCP server a document. Returns what it holds, in arena; or
 * NULL with "file:line:column: reason" in arena. */
const struct tool_file *tool_file_load(
    struct arena *arena, const char *path, const char **error_r);

/* The same for the size bytes of text; path says where they are from. */
const struct tool_file *tool_file_parse(struct arena *arena, const char *path,
    const char *text, size_t size, const char **error_r);

/* Whether name can be a tool's. */
bool tool_file_is_name(const char *name);

/* Returns the name of the first variable that tool passes on and that this process has
 * not got, or NULL. */
const char *tool_file_unset(const struct command_tool *tool);

/* The PATH of a child whose file does not give one. */
const char *tool_file_path(void);

/* Returns the variable that holds argument name of a shell command ("ARG_FILE_NAME") in
 * arena. */
const char *tool_file_variable(struct arena *arena, const char *name);

#endif
