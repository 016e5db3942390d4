/* chain: runs the hooks of one agent: the model chain in worker-model, the tool chain in
 * worker-tools, single node hooks in the coordinator. The runner traces name, result and
 * time of each hook at log level debug through `trace`, so hooks do not log. */
#ifndef CHAIN_H
#define CHAIN_H

#include "interrupts.h"
#include "middleware.h"

/* The uses of one agent, in list order. */
struct chain {
	const struct middleware_use *const *uses;
	size_t count;
	/* Called after each hook; may be NULL. failed: the hook gave a fault. */
	void (*trace)(void *arg, const char *node, bool failed, uint64_t us);
	void *trace_arg;
};

/* Makes a chain in arena from a profile (its `middleware`: [{name, settings, models?, filters_only?}],
 * `model`, `model_profile`), which the arena has, too. Of one that filters only no hook runs. Returns
 * the chain, or NULL with a reason (a middleware this process does not have). */
struct chain *chain_from_profile(
    struct arena *arena, const struct value *profile, const char **error_r);

/* Returns those of a profile's `middleware` that filter what is shown of an answer, for a chain whose
 * answer another one's hooks see. */
const struct value *chain_filters(
    struct arena *arena, const struct chain *chain, const struct value *profile);

/* --- worker-model: frames of a CALL in, body of the RESULT out ---------------------- */

/* Where the chain ends: the provider. */
struct model_backend {
	/* Sends request (after all wraps) to its model; a fiber call. tag: NULL, or for
	 * calls that a middleware makes by itself its name. attempt counts the sends of
	 * this call from 1. */
	struct model_response *(*send)(
	    void *arg, struct model_request *request, unsigned attempt, const char *tag);
	/* True when model ("provider:name") is known to give structured output by itself,
	 * with_tools: beside tools. May be NULL: none is. */
	bool (*gives_structured_output)(void *arg, const char *model, bool with_tools);
	/* The dialect of model's provider ("openai", "anthropic"), or NULL: not known. May be NULL:
	 * the provider's name says it. */
	const char *(*dialect)(void *arg, const char *model);
	/* Reaches long-term memory: model_store. NULL when cancelled. May be NULL. */
	const struct value *(*store)(void *arg, const struct value *op);
	/* model_left_ms. May be NULL: the call has no end. */
	uint64_t (*left_ms)(void *arg);
	/* model_streams and model_stream. May be NULL, both: nobody listens. */
	bool (*streams)(void *arg);
	void (*stream)(void *arg, const char *middleware, const struct value *value);
	void *arg;
};

/* Runs modify_model_request, the wrap_model_call chain and the backend. Checks after the
 * wraps that tools added by them are known (semantics.md 3.4.2), asks for structured
 * output and reads it (output.h), sets the AI message's name, collects updates. Returns the
 * RESULT body in arena: {messages, structured_response?, updates?}, {interrupt} or {fault}. */
const struct value *chain_model_call(struct arena *arena, const struct chain *chain,
    const struct value *profile, const struct value *request,
    const struct model_backend *backend);

/* --- worker-tools ------------------------------------------------------------------- */

struct tool_backend {
	/* Runs the body of request's tool; a fiber call. Arguments are checked before.
	 * Answers 0 with *result_r, or -1 when it has no tool of that name. */
	int (*run)(
	    void *arg, struct tool_request *request, struct tool_result **result_r);
	/* The definition of a tool this worker has, or NULL. May be NULL. */
	const struct value *(*find)(void *arg, const char *name);
	/* Sends a model call through the broker; returns the RESULT body, NULL when
	 * cancelled. */
	const struct value *(*call_model)(
	    void *arg, struct tool_request *request, const struct value *wish);
	/* Reaches long-term memory: tool_store. NULL when cancelled. May be NULL. */
	const struct value *(*store)(void *arg, const struct value *op);
	void *arg;
	const char *worker; /* tool_worker */
	/* tool_left_ms. May be NULL: the call has no end. */
	uint64_t (*left_ms)(void *arg);
	/* tool_children_ask, of what is not known yet: waits for the call that goes on with what came of it, and
	 * returns that; or NULL: this call ends with ask, and the chain runs again in the one that goes on.
	 * May be NULL. */
	const struct value *(*await_child)(
	    void *arg, const struct value *ask, size_t index);
	/* tool_streams and tool_stream. May be NULL, both: nobody listens. */
	bool (*streams)(void *arg);
	void (*stream)(void *arg, const char *middleware, const struct value *value);
};

/* The tool of this name that type brings, or NULL. */
const struct tool *chain_find_tool(const struct middleware *type, const char *name);

/* A request with `internal`, the name of a use, runs that one's internal tool, without wraps. Else
 * runs the wrap_tool_call chain; innermost: look-up (unknown: an error message listing
 * the valid names), argument check, tool. Returns the RESULT body in arena: {commands},
 * {interrupt} or {fault}. A fault that no wrapper absorbed is returned as such; the coordinator applies
 * tool_errors. A hook's own fault is marked fatal. */
const struct value *chain_tool_call(struct arena *arena, const struct chain *chain,
    const struct value *profile, const struct value *request, const char *idempotency_key,
    const struct tool_backend *backend);

/* Whether a call of tool may wait for a child behind a wrap: a use has children and brings it, and there are
 * wraps. */
bool chain_may_wait(const struct chain *chain, const char *tool);

/* Returns the fault of arguments that do not fit the definition that the tool's body was written for, or
 * NULL: the request has the agent's, which may be another, from another worker or the agent's own file.
 * NULL for definition: that of the middleware that brings the tool. */
struct tool_result *chain_tool_unfit(
    struct tool_request *request, const struct value *definition);

/* The tool in C that the agent's middleware brings by the name in request, or NULL. Others' may have the same name. */
const struct tool *chain_brought_tool(const struct tool_request *request);

/* A result that is these commands, a worker's. */
struct tool_result *tool_commands(
    struct tool_request *request, const struct value *commands);

/* --- coordinator -------------------------------------------------------------------- */

/* What a node hook sees; filled by the coordinator, lent for the call. */
struct turn {
	struct arena *arena;
	const struct middleware_use *use;
	const struct value *messages;
	const struct value *state; /* map of all other fields */
	const struct value *context;
	const char *run, *thread, *agent;
	const char *tenant;          /* or NULL */
	const struct value *profile; /* the agent's, of CALLs to its model */
	const struct value *(*call_model)(struct turn *turn, const struct value *request);
	const struct value *(*store)(struct turn *turn, const struct value *op);
	/* turn_call_tool. May be NULL: there are no workers. */
	const struct value *(*call_tool)(
	    struct turn *turn, const struct tool *tool, const struct value *args);
	/* turn_sealed, of {messages}. May be NULL: nothing is taken out. */
	const struct value *(*seal)(struct turn *turn, const struct value *input);
	/* turn_streams and turn_stream. May be NULL, both: nobody listens. */
	bool (*streams)(struct turn *turn);
	void (*stream)(struct turn *turn, const struct value *value);
	/* Whether a tool is there for structured output. May be NULL: none is. */
	bool (*is_output_tool)(struct turn *turn, const char *name);
	void *arg;           /* of these */
	struct fault *fault; /* set by turn_fail */
	struct interrupts interrupts;
	struct value_list notes; /* [{middleware, text}]; its arena is the turn's */
};

/* From now on hooks of this process sleep with it: for who has to know when they do. As fiber_sleep. */
void chain_sleep_with(int (*sleep)(uint64_t ms));

/* Runs the node hook. Returns its update (NULL: none); turn->fault is set when it failed,
 * turn->interrupts.asked when it waits for an answer. */
const struct value *chain_node_hook(struct turn *turn, enum hook hook);

#endif
