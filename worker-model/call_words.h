/* call_words: what a call is called, its id and the name of its tool, as each server takes it.
 *
 * A thread has what other models have called their calls (a fallback, a changed agent), and names that a model has made up:
 * a server that refuses one refuses each request of the thread from then on, the very one that would tell its model what was
 * wrong with it. What is sent is mended, the same each time, so that calls and answers stay together and a thread that
 * grows begins with the same bytes; the thread keeps what was said. Which server wants what is in proto/providers.def. */
#ifndef CALL_WORDS_H
#define CALL_WORDS_H

#include "value.h"

/* Returns id, of a call or of an answer to one, as the provider of that name takes it in chat completions, in arena; NULL for
 * NULL. Mistral's API refuses all but nine letters and digits, which is what its own models make: others are sent as nine
 * digits of their digest. OpenAI's refuses long ones. */
const struct value *call_id(
    struct arena *arena, const char *provider, const struct value *id);

/* The same for OpenAI's Responses API, which takes ids of up to 64 bytes. */
const struct value *call_id_of_item(
    struct arena *arena, const char *provider, const struct value *id);

/* Returns name, of the tool that a call is for, as that provider takes it: '_' stands for each byte that it would refuse,
 * and what is longer than TOOL_NAME_BYTES_MAX is cut. A provider that nobody knows is taken for one that takes all.
 * What is no string, or empty, is returned as it is. */
const struct value *call_name(
    struct arena *arena, const char *provider, const struct value *name);

#endif
