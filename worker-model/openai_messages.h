/* openai_messages: messages in the words of OpenAI's chat completions, as each of the servers takes them that speak it. */
#ifndef OPENAI_MESSAGES_H
#define OPENAI_MESSAGES_H

#include "provider.h"

/* Returns the list for a request: the system prompt first, if there is one, then the messages. NULL with a reason in ask->arena for
 * a message that a model cannot be sent. With ask->written the list is for json_write alone, and good until that changes: it has
 * what was said of the first of the messages before, and gets the rest. */
const struct value *openai_messages(const struct ask *ask, const char **error_r);

#endif
