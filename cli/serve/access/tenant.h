/* tenant: what a key of a tenant reaches: threads, crons and assistants whose names begin with the tenant's, "acme~...", the runs of such
 * threads, the namespaces of long-term memory that begin with it; and all agents. There is no name by which it could ask for
 * anything else, whatever happens at the same time. A key without a tenant reaches everything, by the same names.
 * docs/http.md, "Who may ask". */
#ifndef SERVE_TENANT_H
#define SERVE_TENANT_H

#include "api.h"
#include "bounds.h"

/* Whether text may be the name of a tenant that keys are bound to: letters, digits, "-", "_", "." */
bool tenant_is_name(const char *text);

/* The fleet's name of what the call names so: id, if it begins with the call's tenant already, or there is none; else that,
 * the mark and id. In the call's arena. */
const char *tenant_name(const struct call *call, const char *id);
/* Whether a name is one of those. */
bool tenant_owns(const struct call *call, const char *name);
/* name without that: what the tenant may call it as well. */
const char *tenant_short(const struct call *call, const char *name);
/* A new one: a UUID behind that. */
const char *tenant_new_id(const struct call *call);

/* Has the path name what is the tenant's; form: the route's. */
void tenant_bind(struct call *call, const char *form);

/* The namespace that is asked for, a list of labels; as a prefix, when it is none, the tenant's. Returns false after
 * answering that it is another's. */
bool tenant_namespace(struct call *call, const struct value *asked, bool is_prefix,
    const struct value **namespace_r);

#endif
