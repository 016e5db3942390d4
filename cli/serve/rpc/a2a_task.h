/* a2a_task: runs as tasks of the Agent2Agent protocol (a2a-protocol.org), and its messages as what a run is given. Pure;
 * everything in arena.
 *
 * A task has the id of the run that it began as; an answer to what it asks goes on with it in another run, whose metadata
 * have A2A_TASK. Its context is the thread. */
#ifndef A2A_TASK_H
#define A2A_TASK_H

#include "value.h"

#define A2A_TASK "a2a_task"

/* The protocol's versions differ in how they write the same; what comes in is read as either. */
enum a2a_dialect { A2A_0_3, A2A_1_0 };

/* What a message says, as content: a text, or blocks where it has files. NULL with what is wrong. */
const struct value *a2a_content(
    struct arena *arena, const struct value *message, const char **error_r);
/* The same as an answer to what a task asks: what its first part with data has, or its text. */
const struct value *a2a_answer(
    struct arena *arena, const struct value *message, const char **error_r);

/* "submitted", "working", "input-required", "completed", "canceled", "failed", "rejected" of a run's record. */
const char *a2a_state(const struct value *record);
/* Whether nothing more comes by itself in that state. */
bool a2a_is_over(const char *state);

/* What record's task is resumed with: answer under the id of its question, which no other has, so that an answer that
 * comes late is not taken for the next one's. */
const struct value *a2a_resume(
    struct arena *arena, const struct value *record, const struct value *answer);

/* What of a run's record a task is told by, without what went into it, which may be large; a copy in arena. */
const struct value *a2a_keep(struct arena *arena, const struct value *record);

/* Whether the run was refused, or could not use what it was given: it has done nothing, and its thread waits as before. */
bool a2a_has_failed_to_answer(const struct value *record);
/* Whether the run of record answered what the task of that id asked. */
bool a2a_goes_on_with(const struct value *record, const char *id);

/* Whether what a message says is the user's. */
bool a2a_is_users(const struct value *message);

/* A task: its id, how it is written, and the record of the run that goes on with it. */
struct a2a_run {
	enum a2a_dialect dialect;
	const char *id;
	const struct value *record;
};

const struct value *a2a_task(struct arena *arena, const struct a2a_run *run);
/* The same as what a message's answer or a stream's event is. */
const struct value *a2a_payload(struct arena *arena, const struct a2a_run *run);

/* Other events of a stream: where it is now; */
const struct value *a2a_status_update(struct arena *arena, const struct a2a_run *run);
/* what has come of it, the answer, with the structured one, if there is; */
const struct value *a2a_answer_update(struct arena *arena, const struct a2a_run *run);
/* a piece of that, behind what there is of it (adds), or in its place. */
const struct value *a2a_piece_update(
    struct arena *arena, const struct a2a_run *run, const struct value *text, bool adds);

#endif
