/* round: what a step that is not done yet keeps in its thread's head, by call (coordinator/run_round.c, run_failed.c), for who
 * shows the thread. */
#ifndef ROUND_H
#define ROUND_H

#include "value.h"

/* messages, those of the thread of that head (NULL: none), with what calls of its round have answered already: new ones behind them, which
 * have no id yet, others by their ids (semantics.md 2.2). LangGraph shows what finished tasks have written before their step is done (2.3).
 * Not of a round whose calls are all done, and nothing that does not fit the thread: it has failed of what they write, or will. In arena. */
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
