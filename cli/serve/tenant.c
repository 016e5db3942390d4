#include "tenant.h"

#include <string.h>

#include "wire.h"

#define THREAD_FORM "/threads/{}" /* what is of a thread begins so */

bool
tenant_sees(const struct call *call, const char *owner)
{
	return call->tenant == NULL ||
	       (owner != NULL && strcmp(owner, call->tenant) == 0);
}

enum store_status
tenant_look(struct call *call, struct arena *arena, const char *thread)
{
	const char *owner = NULL;
	enum store_status status;

	/* What is no id is no thread either: who looks for it says so. */
	if (call->tenant == NULL || !wire_is_run_id(thread))
		return STORE_OK;
	status = store_thread_tenant(api_store(call->api), arena, thread, &owner);
	if (status == STORE_NONE)
		return STORE_OK;
	return status == STORE_OK && !tenant_sees(call, owner) ? STORE_NONE : status;
}

bool
tenant_admits(struct call *call, const char *form)
{
	const char *thread = call->params[0];
	enum store_status status = STORE_OK;

	if (strncmp(form, THREAD_FORM, sizeof THREAD_FORM - 1) == 0)
		status = tenant_look(call, call->arena, thread);
	if (status == STORE_NONE)
		reply_error(call, 404, "Thread with ID %s not found", thread);
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	return status == STORE_OK;
}

const struct value *
tenant_entry(struct call *call, const struct value *fields)
{
	if (call->tenant == NULL)
		return fields;
	return value_map_merge(call->arena, fields,
	    value_map(call->arena, "tenant", value_str(call->arena, call->tenant),
		"apart", VALUE_TEXT("1"), NULL));
}

bool
tenant_namespace(struct call *call, const struct value *asked, bool is_prefix,
    const struct value **namespace_r)
{
	bool is_list = value_is(asked, VALUE_ARRAY);
	const struct value *own;

	*namespace_r = asked;
	if (call->tenant == NULL ||
	    (is_list && value_text_is(value_at(asked, 0), call->tenant)))
		return true;
	if (is_prefix && (value_is_nil(asked) || (is_list && value_size(asked) == 0))) {
		own = value_str(call->arena, call->tenant);
		*namespace_r = value_array(call->arena, &own, 1);
		return true;
	}
	reply_error(call, 403,
	    "namespace: a key of tenant '%s' reaches those that begin with '%s'",
	    call->tenant, call->tenant);
	return false;
}
