/* openai_calls: calls as OpenAI's API has them, {id, type: "function", function: {name, arguments}}, in messages that
 * somebody submits: LangChain takes such messages as well, in an AI message's `tool_calls`, and where it has none in its
 * `additional_kwargs`. */
#ifndef OPENAI_CALLS_H
#define OPENAI_CALLS_H

#include "value.h"

/* Returns messages, or in arena the same with calls of our form, {name, args, id, type: "tool_call"}. Arguments that
 * are no JSON stay a text, those in `additional_kwargs` make an invalid call, and what is no list of messages stays as it is: chat_normalise says what is wrong. */
const struct value *openai_calls(struct arena *arena, const struct value *messages);

#endif
