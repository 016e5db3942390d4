/* tool_reading: one document of a tool file while it is read. Of tool_file.c and
 * tool_command.c alone. */
#ifndef TOOL_READING_H
#define TOOL_READING_H

#include "tool_file.h"
#include "yaml.h"

struct reading {
	struct arena *arena;
	const struct yaml *yaml;
	size_t index;       /* of the document */
	const char *folder; /* of the file, absolute */
	struct command_tool *tool;
	const char *error; /* the reason for the first refusal */
};

/* Refuses the document because of the node at path. Returns -1. */
int reading_refuse(struct reading *reading, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the text of value, which must be one and not empty; else refuses and returns
 * NULL. key is its name and the end of its path. */
const char *reading_text(
    struct reading *reading, const char *key, const struct value *value);

/* Reads the key limits (NULL: absent), after timeout_ms. Returns 0, or -1 when it refused. */
int read_limits(struct reading *reading, const struct value *value);
extern const struct process_limits tool_limits_default;
#define TOOL_PRIVILEGES "gain_privileges"

/* The keys that say what runs. Each takes the key's value (NULL: absent) and returns 0,
 * or -1 when it refused. Parameters, directory and environment are read before command.
 */
int read_environment(struct reading *reading, const struct value *value);
int read_command(struct reading *reading, const struct value *value);
int read_input(struct reading *reading, const struct value *value);

#endif
