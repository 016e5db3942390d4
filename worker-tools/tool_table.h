/* tool_table: the tools that this worker offers, by name: C functions, the programs of tool files, the
 * tools of MCP servers. */
#ifndef TOOL_TABLE_H
#define TOOL_TABLE_H

#include "gate.h"
#include "mcp_server.h"
#include "middleware.h"
#include "tool_source.h"
#include "wire.h"

struct tool_table;

struct tool_entry {
	const char *name;
	const struct tool *function; /* one of the three is set */
	const struct command_tool *command;
	struct mcp_server *server;
	const char *remote; /* its name there */
	const struct value *definition;
	struct gate *gate; /* of max_parallel */
};

/* Returns a new table with the C tools named in functions (NULL-ended; NULL or empty:
 * all; "none" alone: none), the tools of source and those that servers (or NULL) have now. Else NULL, with
 * the reason for the first refusal in arena: a name twice, more tools than one worker can announce. Of a
 * server's tools none is a reason: what has no place is left out, and the log says so. */
struct tool_table *tool_table_new(const char *const *functions,
    struct tool_source *source, struct mcp_servers *servers, struct arena *arena,
    const char **error_r);

/* Calls of table's tools and of those of the same name in former, which it replaces, count together
 * against max_parallel, as table has it. */
void tool_table_follow(struct tool_table *table, const struct tool_table *former);

/* A table stays until its last holder has let it go. tool_table_new's caller is one. */
struct tool_table *tool_table_hold(struct tool_table *table);
void tool_table_release(struct tool_table **table_p);

struct tool_entry *tool_table_find(struct tool_table *table, const char *name);

/* Lends the entries, sorted by name. */
struct tool_entry *tool_table_entries(struct tool_table *table, size_t *count_r);

/* Lends what a worker of slots announces: "tool:<name>" for each, and "tools"; the
 * catalog to go with it. */
const struct wire_service *tool_table_services(
    struct tool_table *table, uint32_t slots, size_t *count_r);
const struct value *tool_table_catalog(const struct tool_table *table);

#endif
