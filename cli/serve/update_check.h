/* update_check: what somebody writes to a thread's state beside a run's input, held against the agent whose state it is. */
#ifndef UPDATE_CHECK_H
#define UPDATE_CHECK_H

#include "blueprint.h"

/* What an agent keeps for itself is not a tenant's to write: it may name what is at another server, with the agent's login there.
 * So of an agent that cannot be compiled here a tenant writes messages and structured_response alone. Who has no tenant
 * writes all. where: what update is called. Returns false after answering that it may not. */
bool update_may_write(struct call *call, const struct blueprint *read,
    const struct value *update, const char *where);

/* Returns false after answering that the agent, which is compiled, has not such a field, or that the field takes no such value. Coordinators
 * look again. */
bool update_fits(struct call *call, const struct blueprint *read,
    const struct value *update, const char *where);

#endif
