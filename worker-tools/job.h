/* job: one tool call from its profile and request to its answer. */
#ifndef JOB_H
#define JOB_H

#include "chains.h"
#include "tool_table.h"
#include "worker.h"

/* What jobs work with; lent for the job. */
struct job_world {
	struct loop *loop;
	struct chains *chains;
	struct tool_table *table; /* may be replaced while a job runs */
	struct seats *seats;      /* or NULL: no places are kept */
	const char *worker;       /* tool_worker() */
	void (*told)(
	    const struct value *value); /* NULL: the worker tells (worker_stream) */
};

/* Runs the wraps of call's agent and the tool; on a fiber. Returns the RESULT's body, in
 * call's arena. */
const struct value *job_answer(struct job_world *world, struct worker_call *call);

#endif
