/* openai_messages: messages in the words of OpenAI's chat completions. */
#ifndef OPENAI_MESSAGES_H
#define OPENAI_MESSAGES_H

#include "value.h"
#include "written.h"

/* Returns the list for a request to provider, by its name: the system prompt first (NULL: none), then messages.
 * NULL with a reason in arena for a message that a model cannot be sent. */
const struct value *openai_messages(struct arena *arena, const char *provider,
    const char *system_prompt, const struct value *messages, const char **error_r);

/* The same for json_write alone: written has what was said of the first of messages before, and gets the
 * rest. The list is good until that changes. */
const struct value *openai_messages_written(struct arena *arena, const char *provider,
    const char *system_prompt, const struct value *messages, struct written *written,
    const char **error_r);

#endif
