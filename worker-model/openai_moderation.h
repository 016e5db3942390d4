/* openai_moderation: OpenAI's moderations: what is asked, and what is answered. A model call with the
 * task "moderation" (docs/protocol.md, "A model call") ends there instead of at a chat. */
#ifndef OPENAI_MODERATION_H
#define OPENAI_MODERATION_H

#include "provider.h"

/* The body of a request: the text of the last message is to be judged. It is never streamed. */
const struct value *openai_moderation_request(
    const struct ask *ask, bool stream, const char **error_r);

/* Returns an AI message whose content is the verdict as JSON, {flagged, categories, category_scores},
 * or NULL with a reason; both in arena. */
const struct value *openai_moderation_answer(
    struct arena *arena, const struct value *body, const char **error_r);

#endif
