/* thread_update: changes to a thread that no run of an agent makes. */
#ifndef THREAD_UPDATE_H
#define THREAD_UPDATE_H

#include "api.h"

/* Whether value is what `supersteps` of a new thread may be: [{updates: [{values or command, as_node}]}], or nil; agent: whose state
 * it is to be, or NULL. False after answering what is wrong. */
bool supersteps_check(
    struct call *call, const struct value *supersteps, const char *agent);
/* Writes them, one after the other. False after answering why that ended. */
bool supersteps_write(struct call *call, const char *thread, const char *agent,
    const struct value *supersteps);

#endif
