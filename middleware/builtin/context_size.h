/* context_size: how much history is much, as LangChain's settings say it (semantics.md 6.10):
 * a size is [kind, value] or {kind: value}, kind one of
 *
 *   messages   so many messages
 *   tokens     so many tokens, about (token_count.h)
 *   fraction   this part of what the model can take in, 0 < value <= 1
 *
 * A trigger is a size, a map of several (all of them must be met), or a list of such (one is enough). */
#ifndef CONTEXT_SIZE_H
#define CONTEXT_SIZE_H

#include "value.h"

/* Returns given, a trigger, in its one form: [{messages?, tokens?}], an empty list for nil. window:
 * the tokens that the model can take in, 0: not known; a fraction becomes tokens. NULL with
 * *place_r the place within given ("/0/tokens", "") and *error_r, both in arena. What it returned is
 * a trigger, too, and stays as it is. */
const struct value *context_trigger(struct arena *arena, const struct value *given,
    int64_t window, const char **place_r, const char **error_r);

/* The same for a single size: {messages: n} or {tokens: n}. */
const struct value *context_size(struct arena *arena, const struct value *given,
    int64_t window, const char **place_r, const char **error_r);

/* True when trigger asks for a count of tokens anywhere: it costs more than the number of messages. */
bool context_trigger_counts_tokens(const struct value *trigger);

/* True when some clause of trigger is met. */
bool context_trigger_met(const struct value *trigger, int64_t messages, int64_t tokens);

#endif
