/* actions: what of a paused thread waits for which human: calls of tools that somebody is to decide
 * (docs/middleware/human_in_the_loop.md), other questions, or nothing but to be let go on. */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "command.h"

/* Returns what waits where head is paused, in order:
 *
 *	{kind: "action", index (from 1), interrupt (the id to answer), name, args, description?,
 *	 allowed_decisions, tool_call_id?, part?, parts?}
 *	{kind: "question", interrupt, value}
 *	{kind: "uncertain", interrupt, value}: a call whose fate is unknown
 *	{kind: "pause", paused, node}: nothing is asked
 *
 * Each but the last with `by` and `run` when an agent that works for the thread's asks: its name, and its run.
 * Actions that have part (from 0) of parts are of one interrupt, and are answered together.
 * Empty: head is not paused. */
const struct value *actions_of(struct arena *arena, const struct value *head);

/* Whether it is one that is decided. */
bool actions_is_one(const struct value *item);

/* The command that answers an item which is no action, on thread. */
const char *actions_command(
    struct arena *arena, const char *thread, const struct value *item);

/* Shows an item in its lines, behind indent. */
void actions_show(struct arena *arena, const char *thread, const struct value *item,
    const char *indent);

/* "approve, edit or reject" */
const char *actions_words(struct arena *arena, const struct value *words);

#endif
