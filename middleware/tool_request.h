/* tool_request: one tool call on its way through the wraps. For chain_tool.c,
 * tool_result.c and the accessors. */
#ifndef TOOL_REQUEST_H
#define TOOL_REQUEST_H

#include "chain.h"

/* A fault that came to a layer from behind: it is not that layer's own. */
struct known_fault {
	const struct fault *fault;
	struct known_fault *next;
};

/* One CALL in a tool worker. */
struct tool_run {
	struct arena *arena;
	const struct chain *chain;
	const struct value *profile;
	const struct value *request; /* the CALL's */
	const char *key;             /* idempotency */
	const struct tool_backend *backend;

	/* Cancellation or interrupt: once seen, every layer returns it whatever its hook
	 * answers. */
	const struct fault *control;
	struct interrupts interrupts;
	/* What came of the children so far is the request's `children`. */
	size_t children_taken;
	const struct value
	    *child; /* the one that is wanted now: a RESULT's `child`, or NULL */
	/* A hook misused an accessor: taken by the runner when that hook has returned. */
	const struct fault *broken;
	/* The last commands brought into form: not to be looked at again by every layer
	 * they pass. */
	const struct value *settled;
	struct known_fault *known;
	struct value_list notes; /* [{middleware, text}] */
	struct value_list used;  /* as model_run's */
};

struct tool_request {
	struct tool_run *run;
	const struct middleware_use *use; /* whose hook or tool sees it, or NULL */
	const char *name;
	const char *id;
	const struct value *args;       /* a map */
	const struct value *state;      /* what came of it: a map */
	const struct value *definition; /* or NULL: unknown */
};

/* The request of a CALL before any hook. */
struct tool_request *tool_request_new(struct tool_run *run);

/* A copy for use's hook. */
struct tool_request *tool_request_for(
    const struct tool_request *request, const struct middleware_use *use);

/* The use that brings the tool of this name, or NULL. */
const struct middleware_use *tool_bringer(const struct tool_run *run, const char *name);

/* A result that is this fault. */
struct tool_result *tool_result_failed(struct arena *arena, const struct fault *fault);

/* Brings result's commands into form (semantics.md 4.2.7): answers get call id, status
 * and name, messages their full form. of_body: the answer's name is the tool's whatever
 * it says. Returns NULL, or what is wrong with the result, in arena. */
const char *tool_result_settle(
    const struct tool_request *request, struct tool_result *result, bool of_body);

#endif
