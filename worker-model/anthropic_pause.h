/* anthropic_pause: an answer that comes in several parts. A turn in which the provider's own tools (searches,
 * code) take long it ends early, with stop_reason pause_turn, and wants sent back as it is to go on. */
#ifndef ANTHROPIC_PAUSE_H
#define ANTHROPIC_PAUSE_H

#include "value.h"

#define PAUSES_MAX 16u /* of one answer; a message with more ends with a pause */

/* True when message is the beginning of an answer. */
bool anthropic_is_paused(const struct value *message);

/* Returns the one message that both make: content and usage of both, the rest of the second. NULL with a
 * reason when it is more than one answer may be (ANSWER_BYTES_MAX, ANSWER_BLOCKS_MAX). */
const struct value *anthropic_joined(struct arena *arena, const struct value *first,
    const struct value *second, const char **error_r);

#endif
