/* anthropic_ids: the ids of calls, each there once in a request.
 *
 * The API refuses a request in which two calls have one id. Servers that number their calls anew in
 * every answer make such threads, and so do ids that differ only in characters that it refuses. */
#ifndef ANTHROPIC_IDS_H
#define ANTHROPIC_IDS_H

#include "value.h"

/* Returns turns, of a request under construction, with no tool_use id twice: turns itself when there
 * is none. The first call with an id keeps it, the next ones become <id>_2, <id>_3, ..., and what
 * answers them in the turn behind follows; of two in one turn, in their order. What a call is named
 * depends on nothing behind it: a thread that grows begins with the same bytes, as the provider's
 * cache wants. */
const struct value *anthropic_unique_ids(struct arena *arena, const struct value *turns);

#endif
