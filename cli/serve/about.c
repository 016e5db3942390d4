/* about: what this server is, and that it is there. */
#include "api.h"
#include "settings.h"

void
call_about(struct call *call)
{
	static const char text[] =
	    "flotilla serve: agents, threads and runs in the form of LangGraph's API.\n"
	    "GET /info, POST /assistants/search, POST /runs/wait, ... (docs/http.md)\n";

	exchange_answer(
	    call->exchange, 200, "text/plain; charset=utf-8", text, sizeof text - 1);
}

/* Whether Redis is there, without which nothing is. */
void
call_ok(struct call *call)
{
	struct store_health health;
	enum store_status status =
	    store_health(api_store(call->api), call->arena, 1000, &health);

	if (status == STORE_OK)
		reply(call, 200, value_map(call->arena, "ok", value_bool(true), NULL));
	else
		reply_failed(call, status, "Redis");
}

void
call_info(struct call *call)
{
	struct arena *arena = call->arena;

	reply(call, 200,
	    value_map(arena, "version", value_str(arena, FLOTILLA_VERSION), "server",
		value_str(arena, "flotilla"), "flags",
		value_map(arena, "assistants", value_bool(true), "crons",
		    value_bool(false), "langsmith", value_bool(false), NULL),
		NULL));
}
