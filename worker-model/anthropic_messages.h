/* anthropic_messages: messages in the words of Anthropic's Messages API.
 *
 * The API wants user and assistant in turns, every message with something in it, every tool_use
 * answered at the beginning of the turn behind it, no blanks at the end, ids of letters, digits, - and _, none of them for two calls (anthropic_ids.h): what a
 * thread has otherwise is brought into that form. Thinking goes back as it came, with its signature, where that may be good there. */
#ifndef ANTHROPIC_MESSAGES_H
#define ANTHROPIC_MESSAGES_H

#include "provider.h"

/* Returns the list for a request: ask's, but of these messages. System messages may only stand in front: their blocks are added
 * to system, a list. NULL with a reason in arena for a message that cannot be sent. */
const struct value *anthropic_messages(const struct ask *ask,
    const struct value *messages, struct value_list *system, const char **error_r);

#endif
