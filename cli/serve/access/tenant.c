#include "tenant.h"

#include <string.h>

#include "ids.h"

bool
tenant_owns(const struct call *call, const char *name)
{
	size_t size;

	if (call->tenant == NULL)
		return true;
	size = strlen(call->tenant);
	return strncmp(name, call->tenant, size) == 0 &&
	       strncmp(name + size, TENANT_MARK, strlen(TENANT_MARK)) == 0;
}

const char *
tenant_name(const struct call *call, const char *id)
{
	return id == NULL || tenant_owns(call, id)
		   ? id
		   : arena_printf(call->arena, "%s" TENANT_MARK "%s", call->tenant, id);
}

const char *
tenant_new_id(const struct call *call)
{
	return tenant_name(call, ids_new(call->arena));
}

const char *
tenant_short(const struct call *call, const char *name)
{
	return call->tenant != NULL && tenant_owns(call, name)
		   ? name + strlen(call->tenant) + strlen(TENANT_MARK)
		   : name;
}

void
tenant_bind(struct call *call, const char *form)
{
	/* Agents are everybody's; a run is its thread's, whatever it is called. */
	static const char *const forms[] = { "/threads/{}", "/runs/crons/{}" };
	size_t i;

	for (i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strncmp(form, forms[i], strlen(forms[i])) == 0)
			call->params[0] = tenant_name(call, call->params[0]);
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
