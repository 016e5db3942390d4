/* anthropic_blocks: content in the words of Anthropic's Messages API. */
#ifndef ANTHROPIC_BLOCKS_H
#define ANTHROPIC_BLOCKS_H

#include "value.h"

/* Adds the blocks of a message's content (a string, or LangChain's blocks) to list: text, images,
 * documents. Empty text is left out, since the API refuses it. */
void anthropic_add_content(struct value_list *list, const struct value *content);

/* The same for an AI message: its text, its thinking and what the provider's own tools did as they
 * came, and its calls as its tool_calls now have them. What another provider thought is left out. */
void anthropic_add_answer(struct value_list *list, const struct value *message);

/* Adds what answers a call. */
void anthropic_add_result(struct value_list *list, const struct value *message);

#endif
