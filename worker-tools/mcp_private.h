/* mcp_private: one MCP server, as the files behind mcp_server.h share it. */
#ifndef MCP_PRIVATE_H
#define MCP_PRIVATE_H

#include <sys/queue.h>

#include "mcp_link.h"
#include "mcp_server.h"

struct fiber;

enum mcp_state {
	MCP_TRYING, /* for the first time, or behind its end: what was known of it holds */
	MCP_OPEN,
	MCP_AWAY, /* it could not be opened */
};

/* A fiber that waits until it is known whether it can be reached. */
struct mcp_waiter {
	TAILQ_ENTRY(mcp_waiter) link;
	struct fiber *fiber;
};

struct mcp_server {
	TAILQ_ENTRY(mcp_server) link; /* of home's */
	struct mcp_servers *home;
	struct tool_source *source; /* what options are in */
	const struct mcp_options *options;
	unsigned holders;
	enum mcp_state state;
	struct fiber *keeper; /* NULL: has ended */
	struct mcp_link *way; /* or NULL */
	bool is_lost;         /* way is of no use any more */
	bool is_stale;        /* its tools are others now */
	int64_t last_id;
	struct arena *arena; /* of tools */
	const struct value *tools;
	char *trouble; /* or NULL */
	TAILQ_HEAD(, mcp_waiter) waiters;
};

struct mcp_servers {
	struct loop *loop;
	struct http *http;
	void (*on_change)(void *arg);
	void *arg;
	TAILQ_HEAD(, mcp_server) list;
	size_t keepers; /* fibers, of those that are in no list any more, too */
};

/* The keeper's function, of a server; frees it, and counts itself out at home. */
void mcp_keep(void *arg);

/* Frees one that has no keeper. */
void mcp_free(struct mcp_server *server);

/* Of the keeper: the way is open; its tools are these, in arena, which is taken. */
void mcp_set_tools(
    struct mcp_server *server, struct arena *arena, const struct value *list);

/* What the way tells of a server (struct mcp_hearer). */
void mcp_on_notice(void *arg, const char *method);
void mcp_on_lost(void *arg, const char *reason);

/* One exchange on the way that there is. was_refused_r: it can be made again, once it is open again. */
const struct value *mcp_ask_once(struct mcp_server *server, struct arena *arena,
    const char *method, const struct value *params, uint64_t end_ms,
    const struct fault **fault_r, bool *was_refused_r);

/* Opens a way, agrees on a revision and asks for the tools, within start_ms. Returns 0, or -1 with a reason in
 * arena, or NULL; there may be a way then. */
int mcp_open(struct mcp_server *server, struct arena *arena, const char **reason_r);

/* Asks for its tools again. Returns as mcp_open. */
int mcp_list_tools(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    const char **reason_r);

#endif
