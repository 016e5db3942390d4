/* anthropic_blocks: content in the words of Anthropic's Messages API. */
#ifndef ANTHROPIC_BLOCKS_H
#define ANTHROPIC_BLOCKS_H

#include "provider.h"

/* Adds the blocks of a message's content (a string, or LangChain's blocks) to list: text, images,
 * documents. Empty text is left out, since the API refuses it. */
void anthropic_add_content(struct value_list *list, const struct value *content);

/* The same for an AI message: its text, its thinking and what the provider's own tools did as they
 * came, and its calls as its tool_calls now have them, with names that the provider takes (call_words.h). What was thought
 * goes back where it may be good: to a Claude what a Claude has signed, to other models what they have said themselves. */
void anthropic_add_answer(
    struct value_list *list, const struct value *message, const struct ask *ask);

/* Whether that is one, wherever it is served; NULL: no. */
bool anthropic_is_claude(const char *model);

/* Adds what answers a call. */
void anthropic_add_result(struct value_list *list, const struct value *message);

#endif
