/* run: one run on one thread, on one fiber, from claim to end.
 *
 * All that must survive is in Redis; this struct can be lost at any line. What a process
 * that takes over finds is the last commit: a head {run, step, next, ...} that names the
 * node to run next, and the outcomes of that superstep's calls stored so far. Calls have
 * the ids <run>.<step>.<index>, so the same ones are sent again and nothing starts twice.
 *
 * Node hooks between two dispatches share one commit; a commit comes before anything
 * leaves this process (calls), at an interrupt and at the end. */
#ifndef RUN_H
#define RUN_H

#include "coordinator.h"
#include "fault.h"
#include "fiber.h"
#include "run_trace.h"
#include "state.h"
#include "telling.h"

/* How advancing a run goes on. */
enum go {
	GO_ON,
	GO_END,  /* the run has ended and its end is committed */
	GO_FAIL, /* run->fault says why: it must be ended */
	GO_DROP, /* not ours any more, or nothing can be said now: leave at once */
};

struct run {
	struct coordinator *coordinator;
	char *thread;
	unsigned shard;
	struct fiber *fiber;
	bool cancel_wanted; /* a user wants it cancelled, or its deadline has come: */
	bool is_late;
	bool holds_cancel;         /* it is held until the run's calls are asked for */
	struct timer *held_cancel; /* or NULL: nobody wants it cancelled, or it is */
	bool releasing;            /* this process leaves: give it back */
	bool is_ending;            /* what it has cut off is waited for */
	bool is_lost;              /* given up until it is claimed again (run_give_up) */
	bool more_wait;            /* another run waits on the thread, or may */
	struct arrival *
	    arrival; /* the submission that it was made for, until it is claimed; or NULL */

	/* Of the run under way; made by claim, gone with its arena. */
	struct arena *arena;
	const char *id;
	uint64_t epoch, version;
	uint64_t
	    owned_ms; /* when Redis was last asked something that only an owner may do,
			      and did it */
	int64_t
	    born_ms; /* when it was submitted, or was to start, in loop_now_ms; may be before 0 */
	bool recovered; /* this superstep's calls may have been sent before: */
	const struct value *sent_before; /* [call id], those that were; NULL: any */
	const struct value *record;
	const struct value *head, *order; /* the thread's when it was claimed, or NULL */
	/* Where it begins when that is not the thread's newest version, until the first commit
	 * (run_past.c). */
	struct run_past {
		int64_t version; /* the checkpoint's, 0: an empty thread; -1: none */
		const struct value *fields; /* what differs from the stored, nil: gone */
		bool is_named; /* the run says so itself: it is no rollback */
	} past,
	    undone; /* past: what it begins with; undone: if nothing of it is applied */
	const struct value
	    *rest; /* head of the next commit instead of one of its own, or NULL */
	const struct value *kept_input; /* what the record keeps of it with the next
					   commit, or NULL: as it is */
	const char *source; /* of the next checkpoint: "input", "fork", "update",
			       "copy"; NULL: "loop" */
	const char *node;   /* that ran last, or NULL */
	bool goes_on; /* where its thread has paused, or once stood: it brings no input */
	bool applied; /* the thread has taken something of this run: head is history */
	bool is_damaged; /* the thread: what cannot be read is left as it is */
	/* A hook's call came to nothing, and not by its outcome: Redis is in trouble, or somebody else owns the run. */
	bool is_dropped;
	bool
	    is_unsure; /* a commit came to nothing: what it had may be in Redis, or not */
	const struct value *context; /* or NULL */
	bool keeps_context;          /* some of it is of the run that it goes on with */
	bool stream;
	struct telling telling;  /* of its hooks here */
	int64_t recursion_limit; /* its own, or its agent's */
	int64_t max_concurrency; /* likewise; 0: none */
	uint64_t priority;       /* of its calls */
	const char *tenant;      /* theirs; or NULL */
	uint64_t last_ms;        /* its deadline, in loop_now_ms; 0: none */
	struct timer *deadline;
	struct agent *agent;
	struct state *state;
	const struct value *round; /* of the node at `at`: what a pause has kept */
	size_t at;                 /* index of the node to run next */
	uint64_t step;
	uint64_t first_step; /* where this run began to count its recursion limit */
	const struct value *pauses_before,
	    *pauses_after;     /* nodes at which it pauses beside its agent's; or NULL */
	bool passed_interrupt; /* going on behind a pause: no interrupt_before at `at` */
	bool
	    entered; /* the node at `at` has begun: who goes on behind its failure does not pause in front of it */
	const char
	    *paused; /* why it is interrupted: "interrupt_before", "interrupt_after",
			       "interrupt", "uncertain" */
	const struct value
	    *results; /* stored outcomes of this superstep, from the claim */
	struct fault *fault;
	const struct value *unconfirmed; /* cancelled calls that may still run, or NULL */

	/* Since the last commit. */
	bool dirty;
	bool results_stored; /* the next commit drops them */
	uint64_t commits;
	uint32_t numbered; /* storage numbers of messages that events have told so far */
	uint64_t seq;      /* number of the last stored event */
	struct arena *batch;
	struct value_list events;
	struct value_list sent;     /* ids of calls since then */
	struct value_list answered; /* call ids whose outcome the next commit stores */

	/* Of the superstep under way. */
	struct arena *scratch;
	unsigned hook_calls;
	struct value_list used;   /* entries of its model calls (model_usage.h) */
	struct tool_calls *calls; /* its round, until run_round_end; or NULL */

	unsigned misses;         /* model calls that had to be made again, whole */
	unsigned awaits;         /* children that its fibers wait for (awaited.h) */
	struct suspect *suspect; /* or NULL: it is none (suspects.h) */
	struct run_trace *trace; /* or NULL: nobody is told of it */
};

/* Claims thread and runs what waits on it, until nothing does; then leaves the table.
 * Started by coordinator_claim. */
void run_main(void *arg);

/* Claims what waits on the run's thread, in run->arena; a suspect when its turn has come (suspects.h). As store_claim, or
 * STORE_CANCELLED. */
enum store_status run_claim(struct run *run, struct store_claim *claim_r);

/* Wants the run to end as cancelled, or to be given back. */
void run_cancel(struct run *run);
void run_release(struct run *run);

/* --- between the files of a run ----------------------------------------------------- */

const struct node *run_node(const struct run *run);

/* By what the claim has answered: since when the run was wanted. */
void run_age_begin(struct run *run);
/* It has ended with status: counts how long that took. */
void run_age_end(const struct run *run, const char *status);

/* A text of the run's record, or NULL. */
const char *run_record_text(const struct run *run, const char *name);
/* Whom it is for, as requests to workers say it, in arena; NULL: for nobody. */
const struct value *run_tenant(const struct run *run, struct arena *arena);

/* Loads agent and state from what the claim answered, and waits until the agent's model and
 * tools are served. The run is then ready to advance at run->at. */
enum go run_begin(struct run *run, const struct store_claim *claim);

/* Returns input, {messages?, field...}, in arena as the agent's middleware lets it be kept (seal_input). */
const struct value *run_sealed_input(
    const struct run *run, struct arena *arena, const struct value *input);

/* Fills the state of a run that has an agent with what claim found. */
enum go run_restore(struct run *run, const struct store_claim *claim);
/* What a call brings of the state: what the agent's middleware reads there, and what the tool of that definition (or NULL)
 * says that it reads (semantics.md 4.2.5). */
const struct value *run_tool_state(
    struct run *run, struct arena *arena, const struct value *definition);
/* Gives the state up; its messages, when they are stored as they are, to the thread's next run. */
void run_leave(struct run *run);

/* Moves what a run that has begun needs to an arena of its own: a claim's answer, and what was made
 * of it, is many times that. */
void run_settle(struct run *run);

/* Ends the run when its deadline comes, from now on. */
void run_watch_deadline(struct run *run);

/* --- beginning in the past (run_past.c) ---------------------------------------------- */

/* Makes of claim, a copy, what it would have been at the checkpoint where the run is to begin: that
 * of a rollback, where the thread stays also when the run cannot begin; then the one that options
 * name, if any. */
enum go run_past_begin(
    struct run *run, struct store_claim *claim, const struct value *options);

/* --- runs that bring no input (run_go_on.c) ---------------------------------------------- */

/* Whether head is of the agent that the run is to be of; stands: how the thread is there, for the error. */
enum go run_check_agent(struct run *run, const struct value *head, const char *stands);
/* Goes on where head stands: after a takeover, too. */
enum go run_begin_at_head(struct run *run, const struct value *head);
/* Runs once more what followed the checkpoint of that head. */
enum go run_begin_replay(struct run *run, const struct value *head);
/* Applies answer to what the thread's pause asks, and goes on; behind a failure, too, where what had ended is not done again
 * (run_failed.c). */
enum go run_begin_resume(
    struct run *run, const struct value *head, const struct value *answer);
/* Writes command's `update`, and begins at its `goto`, or where head (or NULL) stands, with the answer `resume`, if there is
 * one: LangGraph's Command as an input. Where nothing is next, and nothing named, the run ends with that. */
enum go run_begin_command(
    struct run *run, const struct value *head, const struct value *command);

/* --- what it is told (run_context.c) ------------------------------------------------------ */

/* Sets run->context. Who goes on with a run, with an answer say, need not know what that was told: its context, which head has kept, is
 * under what he says himself, and his assistant's (`assistant_context`) under both; or between the two, where another assistant
 * than the one of head goes on. */
void run_take_context(
    struct run *run, const struct value *head, const struct value *options);
/* GO_FAIL: it is not what the agent says it must be. */
enum go run_check_context(struct run *run);
/* What the head of that status keeps of it: all, where the run has paused or failed, or somebody takes it over who would not know it.
 * Or NULL. */
const struct value *run_context_left(const struct run *run, const char *status);

/* --- runs that only change their thread ------------------------------------------------- */

/* Writes update as the node `as` would, in the state that is loaded, and ends the run: head (or NULL)
 * is the thread's. GO_FAIL when there is no such node or field, or the state does not take it. */
enum go run_update(
    struct run *run, const struct value *head, const struct value *options);

/* GO_FAIL: the agent has no node of that name; or update, a map, names what is no field of its state. */
enum go run_unknown_node(struct run *run, const char *name);
enum go run_check_fields(struct run *run, const struct value *update);

/* *head_r: head, of the past or of another thread, and where it waits for what children ask, with copies of their threads, as
 * they were: each question is answered by itself. What cannot be copied stays. GO_DROP: Redis does not say, or run is to stop. */
enum go run_copy_children(
    struct run *run, const struct value *head, const struct value **head_r);

/* Fills the thread, unless it is_used, with another one up to a checkpoint, and ends the run. */
enum go run_copy(struct run *run, bool is_used, const struct value *options);

/* Sets run->fault. Returns GO_FAIL. */
enum go run_fail(struct run *run, const char *type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a fault at hand (copied). */
enum go run_fail_with(struct run *run, const struct fault *fault);

/* A control fault came out of a call or hook: GO_DROP when it is ours to end, else the call was
 * stopped by somebody else and the run fails with it. */
enum go run_stopped_by(struct run *run, const struct fault *fault);

/* Who takes a run over holds a cancel until what its owner before may have sent is asked for again, under the same ids, and can be cancelled: else
 * the workers that are at it would not be told (invariant 14 of docs/reliability.md). But not for long: nobody may serve those calls any
 * more. From run_hold_cancel on, to which a cancel is known that its owner before had not heard; until run_let_cancel, before its
 * calls leave: go, or GO_DROP if it came to nothing and was to be cancelled. */
void run_hold_cancel(struct run *run);
enum go run_let_cancel(struct run *run, enum go go);
/* go of a superstep that is executed, or GO_DROP: nothing more is to be done. */
enum go run_unless_cancelled(struct run *run, enum go go);

/* Somebody wants the run ended, or given back, or it is given up: nothing new is begun. */
bool run_must_stop(const struct run *run);

/* The same where a call or a child of the run is found cancelled. An owner before us was told that the run
 * is to be, and cancelled what was its; we may find that so before we are told. Asks Redis. */
bool run_stops_with_its_own(struct run *run);

/* While a run is under way (id): it is another's by now, or nobody can say whose: its calls are left to the owner, without a word. From here on no
 * fiber of the run sends one: that would be cancelled with the fiber, and the owner, who asks under the same id, find
 * it so. */
void run_give_up(struct run *run);

/* Stores outcomes of the superstep under way, or, without any, asks whether the run is still ours
 * as we believe. To store is not cut short by a cancel. When Redis says that it is not (FENCED, STALE), its
 * calls are disowned: who waits for them is told to drop it. */
enum store_status run_store(
    struct run *run, struct arena *arena, const struct value *outcomes);

/* Adds an event to the next commit: fields as for value_map, ended by NULL. */
void run_event(struct run *run, const char *kind, const struct value *fields);

/* The storage numbers of messages that no event has told yet, as first and count. */
const struct value *run_untold_messages(struct run *run);

/* Commits what changed, with the node at run->at as the next one. Does nothing when
 * nothing changed since the last. */
enum go run_commit(struct run *run);
/* Ends a run that has failed, on a fiber in a shield. */
enum go run_end_failed(struct run *run);
/* Ends one that is to be cancelled, or that took too long, in the same way. Who asked for it hears of the end
 * when nothing of the run is left. GO_END, or GO_DROP when it has not ended. */
enum go run_end_early(struct run *run);
/* It ends, and the thread takes nothing of it: it stands where it stood. */
bool run_leaves_nothing(const struct run *run);
/* Commits the end. */
enum go run_commit_end(
    struct run *run, const char *status, const struct value *interrupts);

/* Answers every open call with a synthesised error tool message: no model call sees a
 * dangling one (semantics.md 13.5). */
enum go run_repair(struct run *run, struct arena *arena);

/* What executing a node gave. */
struct step_result {
	struct value_list writers; /* strings */
	struct value_list updates; /* maps, one for each writer */
	const char *jump;          /* jump_to, or NULL */
	const char *go_to;         /* the node that tools' commands go to, or NULL */
	const char *go_to_by;      /* the first tool that does */
	bool all_direct;
	const struct value *notes; /* what middleware reported, for the event; or NULL */
	const struct value
	    *bounded; /* {field: what it is by the updates}, of those with a bound */
};

/* Notes usage, the entries of an answered call's body (or NULL), for the step's end (run_usage.c). */
void run_used(struct run *run, const struct value *usage);
/* Adds the write that counts what the step has used, if somebody wants to know. */
void run_count_used(struct run *run, struct step_result *result);
/* For a hook's call that comes to nothing: the run is left as it is, for who finds it. Returns NULL. */
const struct value *run_drop_hook(struct run *run);
/* Stores the answer of a hook's call; false when it could not be. */
bool run_keep_answer(
    struct run *run, struct arena *arena, const char *id, const struct value *body);

enum go run_hook_node(struct run *run, struct step_result *result);
/* hook_sleep, of a hook that the running fiber's run is in. */
int run_hook_sleep(uint64_t ms);
enum go run_model_node(struct run *run, struct step_result *result);
enum go run_tools_node(struct run *run, struct step_result *result);
/* The step is over, and its round, if it has one: where it has failed, also of what the calls wrote, who goes on need not do again
 * what had ended. */
void run_round_end(struct run *run, bool has_failed);

/* The id of a call of the step under way, <run>.<step>.<index>, the last as it is printed; in arena. Behind the index
 * of a run whose id others had lately, that were deleted (`again` of its record), stands how many: brokers and workers may
 * know the calls of those. */
const char *run_call_id(const struct run *run, struct arena *arena, const char *index,
    ...) __attribute__((format(printf, 3, 4)));

/* What says so in an id: "g<again>", or "" of NULL. */
const char *again_mark(struct arena *arena, const char *again);

/* Sends a call and waits for its outcome, in arena; a stored outcome answers at once.
 * Returns GO_ON with the body, or GO_DROP (cancelled: see run->cancel_wanted). The body of a ONCE call whose fate is
 * unknown has `lost`: the reason. */
struct run_call {
	const char *id;
	const char *service;
	const char *key; /* the idempotency key; NULL: id */
	bool is_new;     /* nobody can have sent this id before */
	bool is_tool;    /* of a tool, else of a model: seal_outcome (middleware.h) */
	unsigned flags;
	uint64_t deadline_ms; /* 0: the setting */
	const struct value *profile;
	const struct value *request;
};
enum go run_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r);
/* [call id]: what has been sent since the last commit, by whom ever; NULL: nobody can know. */
const struct value *run_sent(struct run *run);
/* Forgets of sent what no broker has (caller_is_unsent): whom the run is given to may send it as new, also
 * where it must not run twice. */
void run_strike_unsent(struct run *run);
/* As run_call; worked_r: a worker answered. */
enum go run_call_worked(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r, bool *worked_r);
/* The same, or GO_FAIL (the call could not be made: run->fault), for one whose request has the messages of the run's
 * state, which a worker may know (run_brief.c). */
enum go run_brief_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r);
/* The model node's call: answered from the agent's cache where it has one (run_cache.c). Else as
 * run_brief_call. */
enum go run_model_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r);

/* --- what lives in one worker (run_pins.c) ---------------------------------------------- */

/* The service of a tool that is pinned by field: that of the worker which the field names, or
 * `tools`. In arena. */
const char *run_pin_service(struct run *run, struct arena *arena, const char *field);

/* What becomes of the state when the worker of a call of tool is lost: a map, empty for a tool
 * without pin. *message_p, the tool message, says then what was lost with it. */
const struct value *run_pin_lost(struct run *run, struct arena *arena,
    const struct value *tool, const struct value **message_p);

/* How long a call of a tool may take that has that definition (or NULL), waiting included: as long as
 * the tool itself says, and a while. 0: as any call. */
uint64_t run_tool_deadline(const struct run *run, const struct value *definition);

/* turn_call_tool. */
const struct value *run_pin_call(
    struct turn *turn, const struct tool *tool, const struct value *args);

/* The run has ended: tells the workers that still hold something of it. Waits for their answer, some
 * seconds at most. */
void run_pins_release(struct run *run);

#endif
