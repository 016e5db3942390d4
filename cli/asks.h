/* asks: what a paused thread waits for, and what somebody answers. */
#ifndef ASKS_H
#define ASKS_H

#include "command.h"

/* Returns [{id, value, node, by?, run?, ...}], what the thread of this head asks; empty when it asks
 * nothing. by and run: the agent that works for it and asks, and that one's run. */
const struct value *asks_of(struct arena *arena, const struct value *head);

/* Says them on stderr, a line each. */
void asks_say(struct arena *arena, const struct value *asks);

/* Whether calls of tools are among them that somebody is to decide (actions.h). */
bool asks_want_decision(const struct value *asks);

/* Says that run is interrupted, and what goes on with it: a decision on the calls that it asks about, or
 * an answer. */
void asks_say_end(
    struct arena *arena, const char *run, const char *thread, const struct value *asks);

/* How the answer to asks was given: at most one of text (JSON, or a text), by_id ("ID=JSON",
 * NULL-ended, or NULL) and file (a path with JSON in it, - for stdin). */
struct asks_given {
	const char *text;
	const char *const *by_id;
	const char *file;
};

/* Returns the answer as JSON, "null" when nothing was given, or NULL after saying what is wrong. */
const char *asks_answer(
    struct arena *arena, const struct value *asks, const struct asks_given *given);

#endif
