/* about: what this server is, and that it is there. */
#include "api.h"
#include "fiber.h"
#include "settings.h"
#include "store_fleet.h"

#define OK_MS 1000u

void
call_about(struct call *call)
{
	static const char text[] =
	    "flotilla serve: agents, threads and runs in the form of LangGraph's API.\n"
	    "GET /docs has all calls, with a form for each; so has docs/http.md.\n";

	exchange_answer(
	    call->exchange, 200, "text/plain; charset=utf-8", text, sizeof text - 1);
}

/* Somebody who asks Redis, and somebody who does not wait for long. */
struct asking {
	struct call *call;
	struct fiber *waiter;
	enum store_status status;
	bool has_ended;
};

static void
ask_redis(void *arg)
{
	struct asking *asking = arg;
	struct store_health health;

	asking->status = store_health(
	    api_store(asking->call->api), asking->call->arena, OK_MS, &health);
	asking->has_ended = true;
	fiber_wake(asking->waiter);
}

/* Whether Redis is there, without which nothing is. A Redis that is connected and stands still is believed in for longer by
 * others than a balancer waits. */
void
call_ok(struct call *call)
{
	struct asking asking = { .call = call, .waiter = fiber_current() };
	struct fiber *asker =
	    fiber_start(session_loop(call->api->session), "ok", ask_redis, &asking);
	int woken = 0;

	while (asker != NULL && !asking.has_ended && woken == 0)
		woken = fiber_wait_ms(OK_MS);
	if (asker == NULL || !asking.has_ended)
		reply_error(call, 503, "Redis: no answer within %u ms", OK_MS);
	else if (asking.status != STORE_OK)
		reply_failed(call, asking.status, "Redis");
	else
		reply(call, 200, value_map(call->arena, "ok", value_bool(true), NULL));
	if (asker != NULL && !asking.has_ended)
		fiber_cancel(asker);
	fiber_shield(true);
	while (asker != NULL && !asking.has_ended)
		fiber_wait();
	fiber_shield(false);
}

void
call_info(struct call *call)
{
	struct arena *arena = call->arena;

	reply(call, 200,
	    value_map(arena, "version", value_str(arena, FLOTILLA_VERSION), "server",
		value_str(arena, "flotilla"), "flags",
		value_map(arena, "assistants", value_bool(true), "crons",
		    value_bool(true), "langsmith", value_bool(false), NULL),
		NULL));
}
