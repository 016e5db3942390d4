/* openai_ids: the ids of calls, as each server takes them.
 *
 * Mistral's API refuses all but nine letters and digits, which is what its own models make. A thread that another model
 * began has others (a fallback, a changed agent): they are sent as nine digits of their digest, the same each time, so that
 * calls and answers stay together and a thread that grows begins with the same bytes. */
#ifndef OPENAI_IDS_H
#define OPENAI_IDS_H

#include "value.h"

/* Returns id, of a call or of an answer to one, as the provider of that name takes it, in arena; NULL for NULL. */
const struct value *openai_call_id(
    struct arena *arena, const char *provider, const struct value *id);

#endif
