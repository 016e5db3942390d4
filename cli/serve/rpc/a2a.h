/* a2a: what the files of the Agent2Agent protocol share (a2a.c). */
#ifndef A2A_H
#define A2A_H

#include "a2a_task.h"
#include "rpc.h"
#include "runs.h"

#define A2A_TASK_NOT_FOUND (-32001) /* the protocol's own, beside JSON-RPC's */

struct task {
	const char *id, *thread, *run; /* the run that goes on with it */
	const struct value *record;    /* that run's, as it was found */
};

#define A2A_RUNS_MAX 1000u /* of a context, the newest, that tasks are looked for among */

/* Shows see the thread's runs, newest first, until it returns false. A record lives until see returns. */
enum store_status a2a_runs_of(struct call *call, const char *thread,
    bool (*see)(const struct value *record, void *arg), void *arg);

/* The call's path names the agent. Returns false after answering that it has no such task. */
bool a2a_find(struct call *call, const char *id, struct task *task_r);

/* Where the run that is called answer has answered what the task asked: makes the task's record that of the run that asked, as when it
 * came. STORE_NONE: there is none. */
enum store_status a2a_find_answered(
    struct call *call, struct task *task, const char *answer);

/* Whether the run of record is the assistant's that the call's path names. */
bool a2a_is_its(const struct call *call, const struct value *record);

/* The task as it is now, in arena; its answer, if it has one. Of a run that nobody has taken yet what it is called; where
 * that could not use the answer that it was given, the task as it was found. */
enum store_status a2a_read(struct call *call, struct arena *arena,
    const struct task *task, struct a2a_run *run_r);

/* A record of the task's run that says what it is called, and nothing more. */
const struct value *a2a_untaken(struct arena *arena, const struct task *task);

/* A run's record with its `answer`, if it is complete: what the last message says. */
enum store_status a2a_complete(
    struct call *call, struct arena *arena, const struct value **record_p);

enum a2a_dialect a2a_dialect_of(const struct call *call);

/* Tells the task as it is, and then what comes, as server-sent events. */
void a2a_follow(struct call *call, const struct task *task, struct feed *feed);

#endif
