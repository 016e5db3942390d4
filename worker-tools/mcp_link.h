/* mcp_link: a way to an MCP server: a program's standard input and output (mcp_stdio.h) or HTTP
 * (mcp_http.h). */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include "loop.h"
#include "mcp_message.h"

struct mcp_link;

/* One request, and what came of it. Lent for the exchange. */
struct mcp_exchange {
	struct arena *arena; /* of what came */
	int64_t id;
	const char *text;             /* mcp_request's */
	uint64_t end_ms;              /* loop_now_ms: then it is late */
	const struct value *response; /* or NULL */
	const struct fault
	    *fault; /* why there is none: ConnectionError, TimeoutError, cancelled */
	bool
	    was_refused; /* the session is over: the server has not looked at the request */
};

struct mcp_link_type {
	/* Sends the request and waits for its response, on a fiber. */
	void (*exchange)(struct mcp_link *link, struct mcp_exchange *exchange);
	/* Says text, of which nothing is to come back; on a fiber, may wait for a little, even of one that
	 * was cancelled. */
	void (*tell)(struct mcp_link *link, const char *text);
	/* Ends it, on a fiber: exchanges under way fail, and none begins any more. NULL: they go on. */
	void (*end)(struct mcp_link *link);
	/* Takes *link_p, on a fiber, behind its end; no exchange is under way. */
	void (*close)(struct mcp_link **link_p);
};

/* Who opened it hears of: a notification; that it is of no use any more (reason lent for the call). */
struct mcp_hearer {
	void (*on_notice)(void *arg, const char *method);
	void (*on_lost)(void *arg, const char *reason);
	void *arg;
};

#define MCP_REVISION_BYTES 16u

struct mcp_link {
	const struct mcp_link_type *type;
	struct mcp_hearer hearer;
	char revision[MCP_REVISION_BYTES]; /* agreed on; "": not yet */

	/* Of mcp_server.c. */
	unsigned exchanges; /* under way */
	bool is_left;       /* the last of them closes it */

	bool has_babbled; /* it has said what is no message: told once */
};

/* What a link does with what the server says. */
struct mcp_takers {
	void (*on_response)(void *arg, int64_t id, const struct value *message);
	void (*on_request)(
	    void *arg, const char *answer); /* the server asks: this is to be said */
};

/* Takes what came, JSON of one message or of a list of them; notifications go to the hearer. A response that
 * cannot be read is one with an error that says so, when its id can be seen. The log has a line, of name, the
 * server, for the first that is no message: many print to their standard output what is for people. All that
 * is lent is lent for the call. */
void mcp_link_take(struct mcp_link *link, const char *name, const char *data, size_t size,
    const struct mcp_takers *takers, void *arg);

#endif
