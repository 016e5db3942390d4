#include "assistant_find.h"

#include "store_agents.h"
#include "tenant.h"

bool
assistant_is_made(const struct assistant *assistant)
{
	return assistant->token != NULL;
}

enum store_status
assistant_find_made(
    struct call *call, struct arena *arena, const char *id, struct assistant *found_r)
{
	const char *name = tenant_name(call, id);

	return assistant_is_id(name)
		   ? assistants_read(api_store(call->api), arena, name, found_r)
		   : STORE_NONE;
}

enum store_status
assistant_find(
    struct call *call, struct arena *arena, const char *id, struct assistant *found_r)
{
	const char *version;
	enum store_status status =
	    store_agent_version(api_store(call->api), arena, id, &version);

	if (status == STORE_NONE)
		return assistant_find_made(call, arena, id, found_r);
	*found_r = (struct assistant){ .id = id,
		.agent = id,
		.name = id,
		.config = value_empty_map(),
		.context = value_empty_map(),
		.metadata = value_empty_map() };
	return status;
}

void
assistant_reply_failed(struct call *call, enum store_status status, const char *id)
{
	if (status == STORE_NONE)
		reply_error(call, 404,
		    "no agent '%s', and no assistant: POST /assistants/search lists both",
		    id);
	else
		reply_failed(call, status, "assistant");
}

bool
assistant_can_run(struct call *call, const char *id, enum store_status status,
    const struct assistant *found)
{
	const char *version;

	if (status == STORE_OK && assistant_is_made(found)) {
		status = store_agent_version(
		    api_store(call->api), call->arena, found->agent, &version);
		if (status == STORE_NONE) {
			reply_error(call, 404,
			    "no agent '%s', of which assistant '%s' is", found->agent,
			    id);
			return false;
		}
	}
	if (status != STORE_OK)
		assistant_reply_failed(call, status, id);
	return status == STORE_OK;
}

bool
assistant_find_to_run(struct call *call, const char *id, struct assistant *found_r)
{
	enum store_status status = assistant_find(call, call->arena, id, found_r);

	return assistant_can_run(call, id, status, found_r);
}
