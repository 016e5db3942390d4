/* middleware: what a middleware is. The contract for built-in ones and for shared
 * objects.
 *
 * One file, one `const struct middleware`, linked (or loaded) into coordinator,
 * worker-model, worker-tools and the command line; each process runs its slice. A
 * middleware keeps nothing in memory: state is the run's. Hooks are written in direct
 * style and may wait (model_next, turn_call_model, hook_sleep): they run on fibers and
 * never block the process. A hook left NULL is skipped.
 *
 * Order (semantics.md, section 13): before_agent, before_model, modify_model_request in
 * list order; after_model, after_agent in reverse; of wraps the first listed is the
 * outermost.
 *
 * A shared object exports `const struct middleware *const flotilla_middleware[]`,
 * NULL-ended; objects of another MIDDLEWARE_ABI are refused when loaded. */
#ifndef MIDDLEWARE_H
#define MIDDLEWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "chat.h"
#include "fault.h"
#include "value.h"

#define MIDDLEWARE_ABI 7u

enum hook {
	HOOK_BEFORE_AGENT,
	HOOK_BEFORE_MODEL,
	HOOK_AFTER_MODEL,
	HOOK_AFTER_AGENT,
	HOOK_MODIFY_MODEL_REQUEST,
	HOOK_WRAP_MODEL_CALL,
	HOOK_WRAP_TOOL_CALL,
	HOOK_COUNT,
};
const char *hook_name(enum hook hook); /* "before_agent" */

enum jump {
	JUMP_NONE = 0,
	JUMP_MODEL = 1,
	JUMP_TOOLS = 2,
	JUMP_END = 4,
};
/* "model", "tools", "end" and "__end__" to a jump; JUMP_NONE for what is none. */
enum jump jump_from_name(const char *name);
const char *jump_name(enum jump jump);

/* --- declarations ------------------------------------------------------------------- */

enum option_type {
	OPTION_ANY,
	OPTION_BOOL,
	OPTION_INTEGER,
	OPTION_NUMBER,
	OPTION_TEXT,
	OPTION_TEXTS, /* a list of strings; a single one becomes a list of one */
	OPTION_LIST,
	OPTION_MAP,
	OPTION_MODEL, /* "provider:name"; it becomes one of the use's asks_models */
};

/* A setting of a middleware, named as LangChain's Python argument. Checked when a spec is
 * loaded: type, limits, choices; the default is filled in. */
struct option {
	const char *name;
	enum option_type type;
	const char *otherwise; /* the default as JSON; NULL: absent */
	bool required;
	double min, max;            /* of numbers; both 0: any */
	const char *const *choices; /* of texts, NULL-ended, or NULL */
	bool nullable;
	const char *text; /* a sentence for the docs */
};

enum reducer {
	REDUCE_LAST,     /* one writer a superstep */
	REDUCE_APPEND,   /* lists */
	REDUCE_ADD,      /* numbers */
	REDUCE_MERGE,    /* maps, key by key */
	REDUCE_MESSAGES, /* add_messages; `messages` alone */
};

/* A state field (conformance/README.md, "A state field"). */
struct field {
	const char *name;
	const char *type; /* integer number string array object boolean, or NULL: any */
	const char *otherwise; /* default as JSON, or NULL: absent until written */
	enum reducer reducer;
	bool untracked; /* kept for the run, whoever executes it; no part of the thread */
	bool ephemeral; /* gone after the next superstep */
	bool omit_from_input; /* private: both */
	bool omit_from_output;
	/* The coordinator adds one with each answer of the model node, in the same step: for
	 * limits, which no hook that another one jumped over may miss. Needs REDUCE_ADD. */
	bool counts_model_calls;
	/* The coordinator adds what each model call of a step has used, those that middleware make by
	 * themselves among them: {model: {calls, estimated?, and usage_metadata's counts}}
	 * (model_usage.h). Of type object, without reducer. */
	bool counts_usage;
};

/* One middleware of one agent: its type with its settings, what it really does there.
 * Made when a spec is loaded, from the type's declarations; configure() may then narrow
 * or widen it (a middleware whose hooks, fields, tools or name depend on its settings).
 */
struct middleware;
struct middleware_use {
	const struct middleware *type;
	const char *name; /* unique in the agent; node names are "<name>.<hook>" */
	const struct value *settings; /* checked, defaults filled in */
	bool filters_tokens;          /* as filter_tokens, if the type has it */
	bool hooks[HOOK_COUNT];       /* active; only hooks the type has */
	unsigned jumps[HOOK_COUNT];   /* enum jump bits each node hook declares */
	const struct field *fields;
	size_t field_count;
	const struct value
	    *tools; /* definitions of the tools it brings: [tool], proto/bodies.h */
	const struct value
	    *reads;              /* [field name] its worker slices read; "messages" too */
	const char *agent_model; /* the agent's, "provider:name"; NULL: not told here */
	const struct value *agent_profile; /* what the agent says of it, or NULL */
	const struct value *models; /* {model: profile} that configure asked for; travels
				       with the settings. Read by use_model_profile */
	const struct value
	    *asks_models; /* ["provider:name"] it may ask beside the agent's: a run
					    begins when somebody serves their providers */
	const struct value
	    *agent_source; /* the whole agent as it was written; NULL: not told here */
	/* {name: {source: an agent's, or agent: the name of one of the fleet's; place: where the settings have
	 * it, "/subagents/0"}}: those that its tools may have do something (tool_child). Sources are checked
	 * with the agent's own. Set by configure; NULL: none. */
	const struct value *children;
	/* Its before_agent answers the calls that earlier runs left open: the coordinator does not
	 * when a run begins. */
	bool answers_open_calls;
	const struct value
	    *tool_reads; /* [field name] that its tools and wrap_tool_call read, too, and
			    nothing in a model worker; or NULL */
};

/* --- what is known of models --------------------------------------------------------- */

/* Returns what is known of model ("provider:name"; NULL: the agent's own) in arena, by the names of
 * LangChain's model profiles: {structured_output?, except_with_tools?, tool_calling?,
 * max_input_tokens?, max_output_tokens?, cost?: {input, output, cache_read?, cache_write?,
 * cache_write_1h?}} (docs/models.md). What is absent is not known; an empty map: nothing is. For
 * configure, which refuses settings that need a figure nobody has; what it was told here is what
 * its hooks are told, in every process. */
const struct value *use_model_profile(
    struct arena *arena, struct middleware_use *use, const char *model);

/* The price of a call in US dollars, by a profile's cost and a message's usage_metadata. False: the
 * profile has none. */
bool model_profile_cost(
    const struct value *profile, const struct value *usage, double *dollars_r);

/* --- coordinator: node hooks -------------------------------------------------------- */

struct turn; /* one hook's view of the run */

struct arena *turn_arena(struct turn *turn);
const struct value *turn_settings(struct turn *turn);
const struct value *turn_messages(struct turn *turn);               /* [message] */
const struct value *turn_get(struct turn *turn, const char *field); /* or NULL */
const struct value *turn_state(struct turn *turn); /* all fields and messages, one map */
const struct value *turn_context(
    struct turn *turn); /* the run's static context, or NULL */
const char *turn_run(struct turn *turn);
const char *turn_thread(struct turn *turn);
const char *turn_agent(struct turn *turn);
const char *turn_middleware(struct turn *turn); /* the use's name */
/* As use_model_profile. */
const struct value *turn_model_profile(struct turn *turn, const char *model);

/* The calls of tools in the last AI message, in order, answered ones among them: without those of
 * output tools, which are structured output and run nothing. */
const struct value *turn_tool_calls(struct turn *turn);

/* What all model calls of the agent have in common, before any wrap: {model, system_prompt?, tools,
 * model_settings?, model_profile?, ...}, the profile of proto/bodies.h. */
const struct value *turn_call_profile(struct turn *turn);

/* Ends the run with this fault; return its NULL from the hook. */
const struct value *turn_fail(struct turn *turn, const char *type, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

/* As model_note, in the event of the hook's step. */
void turn_note(struct turn *turn, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Asks a model, outside the user's token stream. request: {model?, system_prompt?,
 * messages, tools?, tool_choice?, response_format?, model_settings?, task?}; task "moderation":
 * the last message is judged, and the answer's text is {flagged, categories,
 * category_scores} as JSON. The agent's model
 * by default. Returns the RESULT body ({messages} or {fault}), or NULL when the run was
 * cancelled. The call's id is deterministic and its result stored like any other. */
const struct value *turn_call_model(struct turn *turn, const struct value *request);

/* Calls a tool of this middleware that is `internal`, in a tool worker (that of its pin), outside
 * of all wraps. Returns the RESULT body ({commands} or {fault}), or NULL when the run was cancelled.
 * As turn_call_model its id is deterministic and its result stored; a call whose worker dies runs
 * again in another one, unless it has a pin: then it is a {fault} of type WorkerLostError. */
const struct value *turn_call_tool(
    struct turn *turn, const char *name, const struct value *args);

/* Reaches long-term memory: op is {op: "put"|"get"|"delete"|"search"|"namespaces", namespace: [label],
 * ...} as store/items.h and docs/store.md have it. Returns its answer, {fault} among them, or
 * NULL when the run was cancelled. A hook may run again after a crash: what it puts must not
 * depend on what it has put. */
const struct value *turn_store(struct turn *turn, const struct value *op);

/* Asks a human: value (any; in the turn's arena) is what the run's record shows. Returns the
 * answer, or NULL: there is none yet. Then return NULL from the hook at once: the run pauses, holds
 * no process, and survives every restart. When it is resumed the hook runs again from its first
 * line, and this call returns the answer (nil is one), so what stands before it must bear to
 * run twice. Several in one hook are matched by their order. docs/interrupts.md. */
const struct value *turn_interrupt(struct turn *turn, const struct value *value);

/* The same with a map of what is told beside the question (NULL: nothing): `response_schema`, a JSON
 * Schema: an answer that does not fit is refused when it is given, and the question waits on;
 * `tool_call_ids`, the calls that it is about. */
const struct value *turn_interrupt_about(
    struct turn *turn, const struct value *value, const struct value *about);

/* --- worker-model ------------------------------------------------------------------- */

struct model_request; /* immutable */
struct model_next;

/* What a model call gives. fault set: it failed, and messages is NULL. */
struct model_response {
	const struct value *messages;            /* [AI message, tool messages ...] */
	const struct value *structured_response; /* or NULL */
	const struct value
	    *update; /* state update of the layer that returns it, or NULL */
	const struct fault *fault;
};

struct arena *model_arena(const struct model_request *request);
const struct value *model_settings_of(
    const struct model_request *request);                    /* the use's */
const char *model_name(const struct model_request *request); /* "openai:gpt-4o" */
const char *model_system_prompt(const struct model_request *request); /* or NULL */
const struct value *model_messages(const struct model_request *request);
const struct value *model_tools(const struct model_request *request);       /* [tool] */
const struct value *model_tool_choice(const struct model_request *request); /* or NULL */
const struct value *model_response_format(const struct model_request *request);
const struct value *model_model_settings(
    const struct model_request *request); /* {temperature} */
const struct value *model_state(const struct model_request *request, const char *field);
const struct value *model_context(const struct model_request *request);
const char *model_run(const struct model_request *request);
const char *model_thread(const struct model_request *request);
const char *model_agent(const struct model_request *request);
const char *model_middleware(const struct model_request *request);
/* What the request's provider speaks, whatever its name: "openai", "anthropic", "scripted"; NULL:
 * not known here. */
const char *model_dialect(const struct model_request *request);
/* As use_model_profile; model NULL: the request's. */
const struct value *model_model_profile(
    const struct model_request *request, const char *model);

/* A request like request with one field replaced: "model", "system_prompt", "messages",
 * "tools", "tool_choice", "response_format", "model_settings"; NULL value: none. */
struct model_request *model_override(
    struct model_request *request, const char *field, const struct value *value);

/* The rest of the chain: never, once, often. Waits. Its response's update is NULL:
 * updates of inner layers are collected by the runner, those of the last call count. */
struct model_response *model_next(struct model_next *next, struct model_request *request);

/* Responses in the request's arena. message: an AI message, or its text. */
struct model_response *model_answer(
    struct model_request *request, const struct value *message);
struct model_response *model_fail(
    struct model_request *request, const struct fault *fault);

/* Returns response with the update of command ({update}) as this layer's. A command that says
 * more (goto: only tools may) fails the call. */
struct model_response *model_command(struct model_request *request,
    struct model_response *response, const struct value *command);

/* Fails the call from modify_model_request: return its NULL from the hook. */
struct model_request *model_refuse(
    struct model_request *request, const struct fault *fault);

/* Tells the run's watchers something in a line ("attempt 1 failed: ..."); it goes into the
 * event of the step. */
void model_note(struct model_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As turn_interrupt, from modify_model_request and wrap_model_call: on NULL return NULL at once.
 * No layer can catch it, and the whole call runs again with the answers. All hooks of one
 * call share them, in the order in which they ask. */
const struct value *model_interrupt(
    struct model_request *request, const struct value *value);

/* As turn_store; asked of a coordinator, through the broker. */
const struct value *model_store(struct model_request *request, const struct value *op);

/* Calls a model from a wrap, outside the chain and the token stream: {model?,
 * system_prompt?, messages, ...} as turn_call_model's. */
struct model_response *model_call(
    struct model_request *request, const struct value *wish);

/* --- worker-tools ------------------------------------------------------------------- */

struct tool_request; /* immutable */
struct tool_next;

/* What a tool call gives: commands [{update: {messages: [...], ...}, goto?}], or a fault.
 */
struct tool_result {
	const struct value *commands;
	const struct fault *fault;
};

struct arena *tool_arena(const struct tool_request *request);
const struct value *tool_settings_of(const struct tool_request *request); /* the use's */
const char *tool_name(const struct tool_request *request);
const char *tool_call_id(const struct tool_request *request);
const struct value *tool_args(const struct tool_request *request);
const struct value *tool_definition(
    const struct tool_request *request); /* or NULL: unknown */
const struct value *tool_state(const struct tool_request *request, const char *field);
const struct value *tool_context(const struct tool_request *request);
const char *tool_run(const struct tool_request *request);
const char *tool_thread(const struct tool_request *request);
const char *tool_agent(const struct tool_request *request);
const char *tool_middleware(const struct tool_request *request);
/* Names this worker's process, for a pin (struct tool); NULL outside of a fleet. */
const char *tool_worker(const struct tool_request *request);
/* What is left of the call's time, in milliseconds, waiting included; then it is cancelled, and when
 * it must not run twice it counts as lost. UINT64_MAX: it has no end. */
uint64_t tool_left_ms(const struct tool_request *request);
/* Equal for every attempt of this call: give it to the outside world. */
const char *tool_idempotency_key(const struct tool_request *request);

/* A request like request with "args", "name" or "tool" replaced. */
struct tool_request *tool_override(
    struct tool_request *request, const char *field, const struct value *value);

/* The rest of the chain: never, once, often. Waits. Bad arguments and unknown tools come
 * back as an error tool message, an error of the tool's body as a fault. */
struct tool_result *tool_next(struct tool_next *next, struct tool_request *request);

/* Results in the request's arena: one tool message answering this call (status "success"
 * or "error"), a command with more, a failure. */
struct tool_result *tool_answer(
    struct tool_request *request, const char *content, const char *status);
struct tool_result *tool_command(
    struct tool_request *request, const struct value *update);
struct tool_result *tool_fail(struct tool_request *request, const struct fault *fault);
/* A command that also says where the run goes on: the name of a node, "end" as the jump does. All
 * commands of a step must agree. docs/middleware.md. */
struct tool_result *tool_goto(
    struct tool_request *request, const struct value *update, const char *node);
/* As model_note. */
void tool_note(struct tool_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The (first) tool message of result that answers this call, or NULL. */
const struct value *tool_message_of(
    const struct tool_request *request, const struct tool_result *result);
/* As turn_interrupt, from wrap_tool_call and from a tool's body: on NULL return NULL at once.
 * No layer can catch it, and the whole call runs again with the answers, under the same
 * idempotency key; what other calls of the round gave is kept. All hooks of one call and its
 * tool share the answers, in the order in which they ask. A tool that must not run twice
 * (`once`) asks before its effect. */
const struct value *tool_interrupt(
    struct tool_request *request, const struct value *value);
/* As turn_interrupt_about. */
const struct value *tool_interrupt_about(
    struct tool_request *request, const struct value *value, const struct value *about);
/* For a tool that runs anew for each answer, such as a program: takes the answers that are
 * there and certainly its own, [value]. None when the agent has a wrap_tool_call, which may
 * have asked, too: then tool_interrupt gives them one by one. */
const struct value *tool_answers(struct tool_request *request);
/* tool_children: the use's (middleware_use), without sources.
 *
 * tool_child: has one of them do something, in a run of its own that belongs to this one:
 * messages are its input, beside the fields of this run's state that both know. Returns what came of it,
 * {content, structured_response?, update?, run} or {fault, run}; or NULL: nothing yet. Then return NULL at once:
 * the call leaves this worker, and runs again from its first line with what came of it when the child has
 * ended, as with tool_interrupt. Several in one call are matched by their order, one after the other.
 * content: the text of the child's last AI message that has one; update: what the child changed of
 * those fields, for a tool_command. What a child asks of a human its parent asks. docs/middleware/subagent.md. */
const struct value *tool_children(const struct tool_request *request);
const struct value *tool_child(
    struct tool_request *request, const char *name, const struct value *messages);
/* The same with runs that nobody waits for, and that belong to this run's thread alone: ask is {op: "start",
 * name, messages}, {op: "update", name, thread, messages} (what goes on there is cancelled), {op: "check",
 * runs: [{run, thread}]} or {op: "cancel", run, thread}. Returns {run, thread, status} of the first two and
 * the last, {runs: [{status, content?, fault?}]} of "check", of several runs the statuses alone; or {fault}; or NULL, as above.
 * Statuses are those of runs (docs/runs.md). */
const struct value *tool_children_ask(
    struct tool_request *request, const struct value *ask);
/* As model_store. */
const struct value *tool_store(struct tool_request *request, const struct value *op);
/* Asks a model, through the broker; as turn_call_model. Returns the RESULT body or NULL.
 */
const struct value *tool_call_model(
    struct tool_request *request, const struct value *wish);

/* --- anywhere ----------------------------------------------------------------------- */

/* Waits on the fiber, for 0 ms until the others have had their turn. Returns 0, -1 when the call
 * or run was cancelled. */
int hook_sleep(uint64_t ms);

/* --- what leaves --------------------------------------------------------------------- */

/* A text that comes in pieces (UTF-8, whole characters) and goes on in others: see
 * filter_tokens. feed and end append to out what may go on. */
struct text_filter {
	void (*feed)(struct text_filter *filter, const char *text, size_t size,
	    struct packet *out);
	void (*end)(struct text_filter *filter, struct packet *out);
	void (*destroy)(struct text_filter *filter); /* takes it */
};

/* --- the struct --------------------------------------------------------------------- */

/* A tool written in C. run answers one call: tool_answer, tool_command or tool_fail. args
 * have been checked against parameters. It runs on a fiber: what blocks goes to
 * process_run or the thread pool. */
struct tool {
	const char *name;
	const char *description;
	const char *parameters; /* JSON Schema */
	bool return_direct;
	bool once;             /* must not run twice for one call; default: idempotent */
	const char *uncertain; /* with once: what becomes of a call whose fate is unknown:
				  "tell_model" (the default, NULL), "interrupt", "repeat" */
	uint64_t
	    timeout_ms; /* 0: the call's deadline alone; one that is longer extends it */
	/* A tool whose state is in one worker's memory: a field of the run's state, a map whose
	 * `worker` is a tool_worker. Calls go to that worker alone; without one, to any. When it is
	 * gone the model is told `lost` and the map's `lost` is set, its `worker` taken away. The
	 * field is to have REDUCE_MERGE. */
	const char *pin;
	const char *lost;
	/* No model is told of it: it is for turn_call_tool. */
	bool internal;
	/* With internal and pin: when a run has ended and the pin still has a worker, as of one that
	 * was cancelled or failed, it is called once more, with {"ended": true}. Nobody waits for it,
	 * and it may get lost. So it is at each worker that was lost with what the field was then: the
	 * field's `left` [map]. */
	bool releases;
	struct tool_result *(*run)(struct tool_request *request);
};

struct middleware {
	unsigned abi;                    /* MIDDLEWARE_ABI */
	const char *name;                /* as in the spec */
	const char *summary;             /* one line, for the docs */
	const struct option *options;    /* ended by a row without name, or NULL */
	const struct field *fields;      /* ended by a row without name, or NULL */
	const struct tool *const *tools; /* NULL-ended, or NULL */
	unsigned jumps[HOOK_COUNT];
	const char *const
	    *reads; /* state fields the worker slices read, NULL-ended, or NULL */

	/* Checks settings beyond the table and adapts use; both in arena. Returns 0, or
	 * -1 with a reason in arena, the place in the settings in front when there is
	 * one ("/retry_on/1: must be ..."). May be NULL. Runs wherever the spec is
	 * loaded, and again from the settings it leaves in the use, in each worker: no
	 * side effects. */
	int (*configure)(
	    struct arena *arena, struct middleware_use *use, const char **error_r);

	/* coordinator. Return an update (map; may hold "jump_to"), or NULL for none. */
	const struct value *(*before_agent)(struct turn *turn);
	const struct value *(*before_model)(struct turn *turn);
	const struct value *(*after_model)(struct turn *turn);
	const struct value *(*after_agent)(struct turn *turn);

	/* worker-model */
	struct model_request *(*modify_model_request)(struct model_request *request);
	struct model_response *(*wrap_model_call)(
	    struct model_request *request, struct model_next *next);

	/* worker-tools */
	struct tool_result *(*wrap_tool_call)(
	    struct tool_request *request, struct tool_next *next);

	/* coordinator: takes out of what a call gave what must not be kept. body is the whole of it, in
	 * the form of the worker's RESULT (docs/protocol.md): nothing of it has been stored,
	 * cached, told or shown yet. is_tool: a tool's, else a model's, those of hooks among
	 * them. Returns it, or another one, in arena. Does not wait; may be NULL. In
	 * list order for tools, in reverse for models, as the hooks that see it next. */
	const struct value *(*seal_outcome)(struct arena *arena,
	    const struct middleware_use *use, bool is_tool, const struct value *body);

	/* coordinator: the same of a run's input, {messages?, field...}: what its record keeps of
	 * it from the run's first commit on. */
	const struct value *(*seal_input)(struct arena *arena,
	    const struct middleware_use *use, const struct value *input);

	/* worker-model: returns new, through which an answer's text goes before it is shown as it
	 * comes, when use->filters_tokens. One for each answer; the last listed is the first.
	 * May be NULL. */
	struct text_filter *(*filter_tokens)(const struct middleware_use *use);
};

#endif
