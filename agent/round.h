/* round: what a step that is not done yet keeps in its thread's head, by call (coordinator/run_round.c, run_failed.c), for who
 * shows the thread. */
#ifndef ROUND_H
#define ROUND_H

#include "value.h"

/* messages, those of the thread of that head (NULL: none), and behind them the ones that calls of its round have answered already, which
 * have no id yet: LangGraph shows what finished tasks have written before their step is done (semantics.md 2.3). Not of a round whose calls are
 * all done: it has failed of what they write together. In arena. */
const struct value *round_messages(
    struct arena *arena, const struct value *head, const struct value *messages);

/* fields, those of the thread of that head, as the calls of its round that have ended leave them: head's `written`, {name: value},
 * nil for one that is gone. */
const struct value *round_fields(
    struct arena *arena, const struct value *head, const struct value *fields);

/* Lays written, as above or NULL, over fields. */
const struct value *round_write(
    struct arena *arena, const struct value *fields, const struct value *written);

/* How many calls head's round has, and how many of them are done. */
size_t round_calls(const struct value *head, size_t *done_r);

#endif
