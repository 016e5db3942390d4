#include "thread_find.h"

#include "store_fleet.h"
#include "wire.h"

void
thread_reply_none(struct call *call, const char *name)
{
	reply_error(call, 404, "Thread with ID %s not found", name);
}

bool
thread_is_there(struct call *call, const char *name)
{
	enum store_status status = STORE_NONE;

	if (wire_is_run_id(name))
		status = store_has_thread(api_store(call->api), call->arena, name);
	if (status == STORE_NONE)
		thread_reply_none(call, name);
	else if (status != STORE_OK)
		reply_failed(call, status, "such thread");
	return status == STORE_OK;
}
