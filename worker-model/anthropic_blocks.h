/* anthropic_blocks: content in the words of Anthropic's Messages API. */
#ifndef ANTHROPIC_BLOCKS_H
#define ANTHROPIC_BLOCKS_H

#include "value.h"

/* Adds the blocks of a message's content (a string, or LangChain's blocks) to list: text, images,
 * documents. Empty text is left out, since the API refuses it. */
void anthropic_add_content(struct value_list *list, const struct value *content);

/* The same for an AI message: its text, its thinking and what the provider's own tools did as they
 * came, and its calls as its tool_calls now have them, with names that provider takes (call_words.h). What another
 * provider thought is left out, if it was no Claude; so is what is not signed, but for a provider that speaks in these words
 * and is not Anthropic, of its own: some send none, and want it back. */
void anthropic_add_answer(
    struct value_list *list, const struct value *message, const char *provider);

/* Adds what answers a call. */
void anthropic_add_result(struct value_list *list, const struct value *message);

#endif
