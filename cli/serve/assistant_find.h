/* assistant_find: what an assistant_id names: an agent, or an assistant that was made of one (assistants.h), which is a tenant's
 * as its threads are: tenant.h.
 *
 * An agent's name comes first: whoever may make assistants makes none that stands for an agent. One whose id became an agent's
 * name later is hidden by that, and can only be deleted. */
#ifndef ASSISTANT_FIND_H
#define ASSISTANT_FIND_H

#include "api.h"
#include "assistants.h"

/* Reads it, in arena: an agent is an assistant of its own name that has nothing more. STORE_NONE: there is neither. */
enum store_status assistant_find(
    struct call *call, struct arena *arena, const char *id, struct assistant *found_r);
/* The same of those that were made alone. */
enum store_status assistant_find_made(
    struct call *call, struct arena *arena, const char *id, struct assistant *found_r);
bool assistant_is_made(const struct assistant *assistant);

/* What assistant_find has said of id: whether there is one, and its agent, so that a run can begin. Returns false after
 * answering. */
bool assistant_can_run(struct call *call, const char *id, enum store_status status,
    const struct assistant *found);
/* Both: id is the body's. */
bool assistant_find_to_run(struct call *call, const char *id, struct assistant *found_r);

/* Answers that there is none, or what else the store came to. */
void assistant_reply_failed(struct call *call, enum store_status status, const char *id);

#endif
