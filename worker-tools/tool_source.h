/* tool_source: what the tool files say, all together: read once, and held by whoever was made of it. */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include "mcp_file.h"

struct tool_source {
	struct arena *arena;
	unsigned holders;
	const struct command_tool *const *tools; /* NULL-ended, as the other */
	const struct mcp_options *const *servers;
};

/* Returns what files (NULL-ended) say, held by the caller; or NULL with the reason for the first
 * refusal in arena: a bad file, two servers of one name. */
struct tool_source *tool_source_load(
    const char *const *files, struct arena *arena, const char **error_r);

struct tool_source *tool_source_hold(struct tool_source *source);
void tool_source_release(struct tool_source **source_p); /* NULL is fine */

#endif
