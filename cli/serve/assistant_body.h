/* assistant_body: what a client of LangGraph's API says of an assistant, and one as it is shown there. Pure. */
#ifndef ASSISTANT_BODY_H
#define ASSISTANT_BODY_H

#include "assistants.h"

/* Reads body, of a new one or of what is to change of one, into *assistant, all in arena. It has its id, and what it is
 * already; of a new one nothing else. Returns NULL, or what is wrong. */
const char *assistant_body_read(
    struct arena *arena, const struct value *body, struct assistant *assistant);

/* An assistant as LangGraph's. */
const struct value *assistant_body_shape(
    struct arena *arena, const struct assistant *assistant);

/* What of `configurable` is for a run's context: the client's, and not LangGraph's own. */
const struct value *assistant_body_context(
    struct arena *arena, const struct value *configurable);

/* What is wrong with the numbers of config (or NULL) that stand for an agent's (assistant_counts), or NULL. */
const char *assistant_body_counts(struct arena *arena, const struct value *config);

#endif
