/* openai_messages: messages in the words of OpenAI's chat completions. */
#ifndef OPENAI_MESSAGES_H
#define OPENAI_MESSAGES_H

#include "value.h"

/* Returns the list for a request: the system prompt first (NULL: none), then messages.
 * NULL with a reason in arena for a message that a model cannot be sent. */
const struct value *openai_messages(struct arena *arena, const char *system_prompt,
    const struct value *messages, const char **error_r);

#endif
