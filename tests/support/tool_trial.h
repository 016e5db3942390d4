/* tool_trial: one call of a tool's body, by way of an empty chain, on a fiber of a loop
 * of its own: what a tool worker does, without the worker. */
#ifndef TOOL_TRIAL_H
#define TOOL_TRIAL_H

#include "fault.h"
#include "middleware.h"

struct chain;
struct loop;

struct tool_trial {
	struct loop *loop;
	struct arena *arena;
	struct fiber *fiber;       /* of the call; NULL when it has ended */
	const struct chain *chain; /* around it; NULL: nothing */
	/* The tool's body; NULL: a middleware of the chain brings it. */
	struct tool_result *(*run)(void *arg, struct tool_request *request);
	void *arg;
	/* True when the call is to be cancelled now; asked often. NULL: never. */
	bool (*cancels)(void *arg);

	uint64_t left_ms; /* of the call's time; 0: it has no end */
	const struct value *definition, *args;
	const struct value *state, *context; /* that the request brings; NULL: none */
	const char *internal; /* the middleware whose internal tool it is, or NULL */
	bool listens;         /* whether what it tells is heard: */
	struct value_list told;
	const struct value *answers; /* to what it asks a human; NULL: none */
	const struct value *body;    /* of the RESULT */
};

/* Fills trial with a loop and an arena; tool_trial_close ends both. */
void tool_trial_open(struct tool_trial *trial);
void tool_trial_close(struct tool_trial *trial);

/* Calls the tool of definition with args, a JSON text, and waits for its end. */
void tool_trial_call(
    struct tool_trial *trial, const struct value *definition, const char *args);

/* Returns the content of the answer, which must have that status; else the test fails. */
const char *tool_trial_answer(const struct tool_trial *trial, const char *status);

/* Returns the fault, which must have come. */
const struct fault *tool_trial_fault(const struct tool_trial *trial);

#endif
