/* tenant: what a key of a tenant reaches: its tenant's threads with their runs, its crons, and the namespaces of long-term
 * memory that begin with its name; and all agents. Nothing else is there, for who asks with it. A key without a tenant
 * reaches everything. docs/http.md, "Who may ask".
 *
 * A thread is its tenant's by whom it came to be (store_thread_tenant). What is submitted is refused where the thread has
 * become another's meanwhile (`apart`, store/line.lua): what is looked at here may be over by then. */
#ifndef SERVE_TENANT_H
#define SERVE_TENANT_H

#include "api.h"
#include "store.h"

/* Whether the call may see what is owner's, a tenant or NULL: nobody's. */
bool tenant_sees(const struct call *call, const char *owner);

/* STORE_OK: the call may use that thread, which need not be there; STORE_NONE: it is another's; else Redis does not say. */
enum store_status tenant_look(struct call *call, struct arena *arena, const char *thread);

/* Of a route of that form: returns false after answering that the thread of the path is another's. */
bool tenant_admits(struct call *call, const char *form);

/* Fields of an entry for the inbox, with what its run is to keep to. */
const struct value *tenant_entry(struct call *call, const struct value *fields);

/* The namespace that is asked for, a list of labels; as a prefix, when it is none, the tenant's. Returns false after
 * answering that it is another's. */
bool tenant_namespace(struct call *call, const struct value *asked, bool is_prefix,
    const struct value **namespace_r);

#endif
