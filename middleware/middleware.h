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
#include "hooks_model.h"
#include "hooks_tool.h"
#include "hooks_turn.h"
#include "value.h"

#define MIDDLEWARE_ABI 8u

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
	 * limits, which no hook that another one jumped over may miss. Needs REDUCE_ADD. One that is untracked begins at one in a run
	 * that goes on in front of this middleware's after_model: that call is its, as in LangChain, where the hook counts. */
	bool counts_model_calls;
	/* The coordinator adds what each model call of a step has used, those that middleware make by
	 * themselves among them: {model: {calls, estimated?, and usage_metadata's counts}}
	 * (model_usage.h). Of type object, without reducer. */
	bool counts_usage;
	/* Of REDUCE_MERGE and REDUCE_APPEND: what does not fit is not added, 0: all fits. Who reads a field gets
	 * it with each call, which holds so much: one write is checked by whoever makes it, not what several
	 * make together. A tool's answer says then that it was left out; an input is refused. */
	size_t bytes_max;
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
	 * it, "/subagents/0"; places?: where they have what source does not have from there: {middleware: [of each],
	 * model?, tools?}; mode?: "fork": it goes on with the run's conversation}}: those that its tools may
	 * have do something (tool_child). Sources are checked with the agent's own. Set by configure; NULL: none. */
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
 * max_input_tokens?, max_output_tokens?, image_inputs?, audio_inputs?, video_inputs?, pdf_inputs?, cost?: {input, output, cache_read?, cache_write?,
 * cache_write_1h?}} (docs/models.md). What is absent is not known; an empty map: nothing is. For
 * configure, which refuses settings that need a figure nobody has; what it was told here is what
 * its hooks are told, in every process. */
const struct value *use_model_profile(
    struct arena *arena, struct middleware_use *use, const char *model);

/* The price of a call in US dollars, by a profile's cost and a message's usage_metadata. False: the
 * profile has none. */
bool model_profile_cost(
    const struct value *profile, const struct value *usage, double *dollars_r);

/* --- anywhere ----------------------------------------------------------------------- */

/* Waits on the fiber, for 0 ms until the others have had their turn. Returns 0, -1 when the call
 * or run was cancelled. */
int hook_sleep(uint64_t ms);

/* --- what leaves --------------------------------------------------------------------- */

/* A text that comes in pieces (UTF-8, whole characters) and goes on in others: see
 * filter_tokens. feed and end append to out what may go on. A piece of 0 bytes: what follows is
 * another block of the content, which the thread has as a text of its own. */
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
