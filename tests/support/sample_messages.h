/* sample_messages: messages in their form, short to write in tests. All are made in
 * arena. */
#ifndef SAMPLE_MESSAGES_H
#define SAMPLE_MESSAGES_H

#include "chat.h"

const struct value *sample_human(
    struct arena *arena, const char *id, const char *content);
const struct value *sample_removal(struct arena *arena, const char *id);

/* An AI message that makes these calls. */
const struct value *sample_calling(struct arena *arena, const struct value *calls);
const struct value *sample_call(struct arena *arena, const char *id, const char *name);
/* As a model leaves it whose answer was cut short. */
const struct value *sample_malformed_call(
    struct arena *arena, const char *id, const char *name);
/* A tool message that answers call id. */
const struct value *sample_answer(struct arena *arena, const char *id);

/* Returns message with text under key. */
const struct value *sample_with(
    struct arena *arena, const struct value *message, const char *key, const char *text);

/* Returns an array of the values up to NULL. */
const struct value *sample_list(struct arena *arena, const struct value *const *items);

#endif
