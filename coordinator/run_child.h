/* run_child: what run_task.c, run_child.c and run_async.c share: a run that a tool's call of another one wants. */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include "run_round.h"

struct child {
	const struct value
	    *wish; /* {middleware, name, messages}; or with op (middleware.h) */
	const char *run, *thread;
	const char *agent, *version;
	bool forks;   /* it goes on with the conversation of the one that asks for it */
	bool is_part; /* of that one, whose spec has its own */
	const struct value
	    *inherited; /* its options have that of its thread's fields; or NULL */
	const struct value *traceparent; /* its record's, or NULL */
	const char *fault;               /* why it cannot be, or NULL */
	struct agent *compiled;          /* a reference, or NULL */
};

/* A name of what value is, in hexadecimal digits. */
const char *child_digest(struct arena *arena, const struct value *value);

/* The id of the number-th that the call with that first id wants, "<run>.<step>.<index>": it is
 * "<run>-<step>-<index>-<number>", or where that is long a digest of it, behind
 * whose it is, if the run's name says so. */
const char *child_run(
    struct arena *arena, const struct run *run, const char *base, size_t number);

/* The id of the call that is told of its first count children; first: what it had before. In arena, or first. */
const char *child_call_id(struct arena *arena, const char *first, size_t count);

/* How deep run is: how many are above it. */
uint64_t child_depth_above(const struct run *run);
/* What a record has of how deep its run is: one more than run. A text, in arena. */
const struct value *child_depth(struct arena *arena, const struct run *run);

/* Fills agent, version, forks, is_part and compiled, which the caller gives back, by what wish names; or fault. Has the
 * agent in Redis, where its run will look for it. GO_DROP: Redis does not answer. */
enum go child_find_agent(struct run *run, struct arena *arena, struct child *child);

/* Its run's input: what wish says behind the messages of before, an array or NULL; and more, a map or NULL. Else NULL
 * or what is too large, and fault is filled. */
const struct value *child_input(struct arena *arena, struct child *child,
    const struct value *before, const struct value *more);

/* What there is of child's run: STORE_OK with its record; STORE_NONE; STORE_KNOWN: nothing, but its thread, which is to be
 * a new one, is another's. */
enum store_status child_look(struct run *run, struct arena *arena,
    const struct child *child, const struct value **record_r);

/* Has its run queued with that record: by us, or by who owned run before. Fills fault. */
enum go child_queue(struct run *run, struct arena *arena, struct child *child,
    const struct value *record);

/* Waits, between awaited_begin and awaited_end, until it has ended, or paused, or is gone. */
enum go child_await(struct run *run, struct arena *arena, const struct child *child);

/* What came of it when it failed: {fault, run}. That is the tool's failure, which the model is told or a wrap
 * takes care of: never its parent's end. */
const struct value *child_failed(
    struct arena *arena, const struct child *child, const struct fault *fault);
const struct value *child_failed_with(
    struct arena *arena, const struct child *child, const char *reason);

/* Has the child that effect wants, or that its pause has left, run to its end, or to where it asks a human: then
 * {asks, held}. Returns as run_call. */
enum go child_run_to_end(struct run *run, struct arena *arena,
    const struct effect *effect, struct child *child, const struct value **outcome_r);

/* What a call wants of runs that it does not wait for: `op` of the wish. Returns as run_call. */
enum go run_async(struct run *run, struct arena *arena, const struct effect *effect,
    struct child *child, const struct value **came_r);

#endif
