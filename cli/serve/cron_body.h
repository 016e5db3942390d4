/* cron_body: what a client of LangGraph's API asks of a cron, and a cron as it is shown there. Pure. */
#ifndef CRON_BODY_H
#define CRON_BODY_H

#include "crons.h"

/* Reads body, of a new cron or of what is to change of one that there is, into *cron, all in arena. cron has its id and thread,
 * the assistant and its agent, if assistant_id is one's, and what it is already, with its entry, when there is one; next_ms and what the store knows stay as they are. tenant: of the
 * key, or NULL. Returns NULL, or what is wrong. */
const char *cron_body_read(
    struct arena *arena, const struct value *body, const char *tenant, struct cron *cron);

/* A cron as LangGraph's; payload: null where its entry was not read. */
const struct value *cron_body_shape(struct arena *arena, const struct cron *cron);

#endif
