/* tool_reading: one document of a tool file while it is read. Of tool_file.c, mcp_file.c and the files
 * that read a key for them alone. */
#ifndef TOOL_READING_H
#define TOOL_READING_H

#include "tool_file.h"
#include "yaml_file.h"

struct reading {
	struct arena *arena;
	const struct yaml *yaml;
	size_t index;       /* of the document */
	const char *folder; /* of the file, absolute */
	struct command_tool *tool;
	struct mcp_options
	    *server;       /* of an MCP server: tool is its program, without a name */
	const char *error; /* the reason for the first refusal */
};

/* Refuses the document because of the node at path. Returns -1. */
int reading_refuse(struct reading *reading, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the text of value, which must be one and not empty; else refuses and returns
 * NULL. key is its name and the end of its path. */
const char *reading_text(
    struct reading *reading, const char *key, const struct value *value);

/* Reads true or false into *flag_r; otherwise: what is there when value is NULL. */
int reading_flag(struct reading *reading, const char *key, const struct value *value,
    bool otherwise, bool *flag_r);

/* Reads a whole number from min to max into *number_r, which stays as it is when value is NULL. */
int reading_number(struct reading *reading, const char *key, const struct value *value,
    int64_t min, int64_t max, uint64_t *number_r);

/* The keys of a document, in the order in which they are read. */
struct reading_key {
	const char *name;
	/* value: NULL where it is absent. Returns 0, or -1 when it refused. */
	int (*read)(struct reading *reading, const struct value *value);
	const char *why; /* it is required, or NULL */
};
struct reading_keys {
	const struct reading_key *all;
	size_t count;
	const char *manual; /* "docs/tools.md lists ..." */
};

/* Reads a map that may have these keys and no others. Returns 0, or -1 when it refused. */
int reading_document(struct reading *reading, const struct reading_keys *keys,
    const struct value *document);

/* Reads the key limits (NULL: absent), after timeout_ms. Returns 0, or -1 when it refused. */
int read_limits(struct reading *reading, const struct value *value);
extern const struct process_limits tool_limits_default;
#define TOOL_PRIVILEGES "gain_privileges"

/* The keys that say what runs. Each takes the key's value (NULL: absent) and returns 0,
 * or -1 when it refused. Parameters, directory and environment are read before command.
 */
int read_directory(struct reading *reading, const struct value *value);
int read_timeout(struct reading *reading, const struct value *value);
int read_parallel(struct reading *reading, const struct value *value);
int read_environment(struct reading *reading, const struct value *value);
int read_command(struct reading *reading, const struct value *value);
int read_input(struct reading *reading, const struct value *value);

#endif
