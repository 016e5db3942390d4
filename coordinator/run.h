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
#include "state.h"

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
	bool cancel_wanted; /* a user wants it cancelled */
	bool releasing;     /* this process leaves: give it back */
	bool more_wait;     /* another run waits on the thread, or may */

	/* Of the run under way; made by claim, gone with its arena. */
	struct arena *arena;
	const char *id;
	uint64_t epoch, version;
	bool recovered; /* this superstep's calls may have been sent before: */
	const struct value *sent_before; /* [call id], those that were; NULL: any */
	const struct value *record;
	const struct value *head, *order; /* the thread's when it was claimed, or NULL */
	bool applied; /* the thread has taken something of this run: head is history */
	const struct value *context; /* or NULL */
	bool stream;
	struct agent *agent;
	struct state *state;
	size_t at; /* index of the node to run next */
	uint64_t step;
	uint64_t first_step;   /* where this run began to count its recursion limit */
	bool passed_interrupt; /* going on after an interrupt_before at `at` */
	const char *paused;    /* why it is interrupted: "interrupt_before", ... */
	const struct value
	    *results; /* stored outcomes of this superstep, from the claim */
	struct fault *fault;

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
};

/* Claims thread and runs what waits on it, until nothing does; then leaves the table.
 * Started by coordinator_claim. */
void run_main(void *arg);

/* Wants the run to end as cancelled, or to be given back. */
void run_cancel(struct run *run);
void run_release(struct run *run);

/* --- between the files of a run ----------------------------------------------------- */

const struct node *run_node(const struct run *run);

/* A text of the run's record, or NULL. */
const char *run_record_text(const struct run *run, const char *name);

/* Loads agent and state from what the claim answered, and waits until the agent's model and
 * tools are served. The run is then ready to advance at run->at. */
enum go run_begin(struct run *run, const struct store_claim *claim);

/* Sets run->fault. Returns GO_FAIL. */
enum go run_fail(struct run *run, const char *type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a fault at hand (copied). */
enum go run_fail_with(struct run *run, const struct fault *fault);

/* A control fault came out of a call or hook: GO_DROP when it is ours to end, else the call was
 * stopped by somebody else and the run fails with it. */
enum go run_stopped_by(struct run *run, const struct fault *fault);

/* Somebody wants the run ended, or given back: nothing new is begun. */
bool run_must_stop(const struct run *run);

/* Adds an event to the next commit: fields as for value_map, ended by NULL. */
void run_event(struct run *run, const char *kind, const struct value *fields);

/* The storage numbers of messages that no event has told yet, as first and count. */
const struct value *run_untold_messages(struct run *run);

/* Commits what changed, with the node at run->at as the next one. Does nothing when
 * nothing changed since the last. */
enum go run_commit(struct run *run);
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
	const char *go_to;         /* a tool's command, or NULL */
	bool all_direct;
	const struct value *notes; /* what middleware reported, for the event; or NULL */
};

enum go run_hook_node(struct run *run, struct step_result *result);
enum go run_model_node(struct run *run, struct step_result *result);
enum go run_tools_node(struct run *run, struct step_result *result);

/* Sends a call and waits for its outcome, in arena; a stored outcome answers at once.
 * Returns GO_ON with the body, or GO_FAIL (the call could not be made: run->fault),
 * GO_DROP (cancelled: see run->cancel_wanted). */
struct run_call {
	const char *id;
	const char *service;
	unsigned flags;
	uint64_t deadline_ms; /* 0: the setting */
	const struct value *profile;
	const struct value *request;
};
enum go run_call(struct run *run, struct arena *arena, const struct run_call *call,
    const struct value **body_r);
/* The outcome's code as a fault, when no worker answered. */
struct fault *run_code_fault(
    struct arena *arena, const struct run_call *call, const struct call_outcome *outcome);

#endif
