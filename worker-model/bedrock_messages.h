/* bedrock_messages: messages as turns for Bedrock's Converse API, which wants of them what Anthropic's API wants: they are made by
 * anthropic_messages.h, and still in Anthropic's words; bedrock_blocks.h says them in Bedrock's. */
#ifndef BEDROCK_MESSAGES_H
#define BEDROCK_MESSAGES_H

#include "provider.h"

/* Returns the turns of a request; the blocks of system messages, which may only stand in front, are added to system. NULL with a
 * reason in ask->arena for a message that cannot be sent.
 *
 * What was thought goes back to the model that thought it, where it has signed it; among models called claude, to any of them;
 * what the provider's own tools did, to the provider. All else of the kind is left out: it would be refused. Files are called as
 * LangChain calls them. */
const struct value *bedrock_messages(
    const struct ask *ask, struct value_list *system, const char **error_r);

#endif
