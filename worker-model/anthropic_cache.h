/* anthropic_cache: marks (cache_control) of what the provider is to keep of a request. */
#ifndef ANTHROPIC_CACHE_H
#define ANTHROPIC_CACHE_H

#include "value.h"

#define CACHE_MARKS_MAX 4u /* the API refuses a request with more */

/* Returns list (messages, or blocks of `system`) with cache_control in the last block that may have
 * it; list itself when there is none. */
const struct value *anthropic_cached_messages(
    struct arena *arena, const struct value *messages, const struct value *cache_control);
const struct value *anthropic_cached_blocks(
    struct arena *arena, const struct value *blocks, const struct value *cache_control);

/* Returns request with no more marks than there may be: the oldest of the messages go first (who marks
 * each message as he sends it has more with every turn), then those of the system prompt and of the
 * tools. request itself when it has few enough. */
const struct value *anthropic_few_marks(struct arena *arena, const struct value *request);

#endif
