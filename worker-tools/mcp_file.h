/* mcp_file: the document of a tool file that makes the tools of an MCP server ours: read, checked.
 * docs/mcp-tools.md is its manual. */
#ifndef MCP_FILE_H
#define MCP_FILE_H

#include "tool_reading.h"

#define MCP_NAME_BYTES_MAX 32u

/* One server, in the arena its file was read into. */
struct mcp_options {
	const char *name; /* for people and the log */
	const char *place;
	const struct value *document; /* as it is written */

	/* One of the two. */
	const struct command_tool *program; /* talks over its standard input and output */
	const char *url;

	const char *const
	    *headers; /* "name: value" lines of its requests, NULL-ended; or NULL */
	struct value_list
	    secrets; /* texts in these that are from the environment; never shown */
	const char *prefix; /* of its tools' names here */
	const struct value
	    *tools; /* the names, as the server has them, of those wanted; NULL: all */
	const struct value
	    *idempotent; /* true or false of all its tools; NULL: as each says */
	const struct value *
	    uncertain; /* of those that must not run twice: a text, or NULL (uncertain.h) */
	uint64_t timeout_ms;   /* of a call */
	uint64_t start_ms;     /* until it has said what its tools are */
	uint64_t max_parallel; /* of each tool; 0: no bound */
};

/* Reads the document. Returns it, or NULL when it refused. */
struct mcp_options *mcp_file_read(struct reading *reading, const struct value *document);

/* Whether they are the same server, so that one which is open need not be opened again: what is written
 * is, where it is written, and what that means in this environment. */
bool mcp_options_equal(const struct mcp_options *a, const struct mcp_options *b);

#endif
