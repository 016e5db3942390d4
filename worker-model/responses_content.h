/* responses_content: what people and tools say, in the words of OpenAI's Responses API. */
#ifndef RESPONSES_CONTENT_H
#define RESPONSES_CONTENT_H

#include "value.h"

/* Returns a block of a message's content (a string, or one of LangChain's or of the chat completions' blocks)
 * as input_text, input_image or input_file, in arena. What else there is, is returned as it is: it may be
 * the provider's own. */
const struct value *responses_part(struct arena *arena, const struct value *block);

/* Returns what a tool gave as the output of a call, in arena: text, or a list of parts where it is nothing else;
 * all else as the text of its JSON. */
const struct value *responses_output(struct arena *arena, const struct value *content);

/* Returns the screen that a tool gave as the output of a call of computer_use, in arena. */
const struct value *responses_screen(struct arena *arena, const struct value *content);

#endif
