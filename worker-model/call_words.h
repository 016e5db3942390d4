/* call_words: what a call is called, its id and the name of its tool, as each server takes it.
 *
 * A thread has what other models have called their calls (a fallback, a changed agent), and names that a model has made up:
 * a server that refuses one refuses each request of the thread from then on, the very one that would tell its model what was
 * wrong with it. What is sent is mended, the same each time, so that calls and answers stay together and a thread that
 * grows begins with the same bytes; the thread keeps what was said. Which server wants what is in proto/providers.def, by the
 * provider's name, or that of its kind where it has one of its user's choice (ask.rules). */
#ifndef CALL_WORDS_H
#define CALL_WORDS_H

#include "provider.h"

/* Returns id, of a call of the message at index of ask's, or that such a call is answered by it, as the provider takes it in chat
 * completions, in ask's arena; NULL for NULL. Mistral's API refuses all but nine letters and digits, which is what its own models make:
 * others are sent as nine digits of their digest. OpenAI's refuses long ones; but those that the provider has made itself it knows. */
const struct value *call_id(const struct ask *ask, size_t index, const struct value *id);

/* Returns name, of the tool that a call is for, as the provider takes it: '_' stands for each byte that it would refuse,
 * and what is longer than TOOL_NAME_BYTES_MAX is cut. A provider that nobody knows is taken for one that takes all, and so is one
 * that is offered a tool with such a name. What is no string, or empty, is returned as it is. */
const struct value *call_name(const struct ask *ask, const struct value *name);

/* Whether no tool that ask offers has a name that call_name would mend: by that, and the provider, it goes. */
bool call_names_fit(const struct ask *ask);

#endif
