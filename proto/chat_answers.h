/* chat_answers: which calls of a list of messages have been answered. A list may have many calls that none answers:
 * to look for each through all that follows would cost the square of its length. */
#ifndef CHAT_ANSWERS_H
#define CHAT_ANSWERS_H

#include <stdbool.h>

#include "value.h"

struct chat_answers;

/* Returns new, in arena; messages are kept for as long as it is used. It is asked of calls from position from on. */
struct chat_answers *chat_answers_new(
    struct arena *arena, const struct value *messages, size_t from);

/* True when a tool message behind position ai answers the call id, which the message there makes.
 * Some models use an id again: what follows its next use answers that one. */
bool chat_answers_has(struct chat_answers *answers, size_t ai, const char *id);

#endif
