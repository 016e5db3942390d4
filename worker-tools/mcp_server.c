/* One server: asked by calls, kept open by its fiber. */
#include "mcp_private.h"

#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "without_key.h"

#define AGAIN_MS_MIN 100u
#define AGAIN_MS_MAX 30000u
#define STEADY_MS 10000u    /* one that was open for so long is opened again at once */
#define LIST_PAUSE_MS 1000u /* between two lists that it asks us to fetch */

/* --- what changes ----------------------------------------------------------------------- */

static void
enter(struct mcp_server *server, enum mcp_state state)
{
	struct mcp_waiter *waiter;

	server->state = state;
	TAILQ_FOREACH(waiter, &server->waiters, link)
		fiber_wake(waiter->fiber);
}

/* Takes arena, which list is in. */
void
mcp_set_tools(struct mcp_server *server, struct arena *arena, const struct value *list)
{
	bool is_same = value_equal(server->tools, list);

	arena_destroy(&server->arena);
	server->arena = arena;
	server->tools = list;
	if (!is_same && server->holders > 0)
		server->home->on_change(server->home->arg);
}

/* Says so once for each reason. */
static void
set_trouble(struct mcp_server *server, const char *reason)
{
	if (server->trouble != NULL && strcmp(server->trouble, reason) == 0)
		return;
	log_warnx("mcp=%s cannot be reached: %s", server->options->name, reason);
	free(server->trouble);
	server->trouble = xstrdup(reason);
}

void
mcp_on_notice(void *arg, const char *method)
{
	struct mcp_server *server = arg;

	if (strcmp(method, "notifications/tools/list_changed") != 0)
		return;
	server->is_stale = true;
	if (server->keeper != NULL)
		fiber_wake(server->keeper);
}

void
mcp_on_lost(void *arg, const char *reason)
{
	struct mcp_server *server = arg;

	if (server->state == MCP_OPEN) {
		log_warnx("mcp=%s %s", server->options->name, reason);
		enter(server, MCP_TRYING);
	}
	server->is_lost = true;
	if (server->keeper != NULL)
		fiber_wake(server->keeper);
}

/* --- asking ----------------------------------------------------------------------------- */

/* The server need not go on with it; it may never have come there. */
static void
tell_cancelled(struct mcp_link *way, struct arena *arena, int64_t id)
{
	const struct value *params = value_map(arena, "requestId", value_int(arena, id),
	    "reason", value_str(arena, "nobody waits for it any more"), NULL);

	way->type->tell(way, mcp_notice(arena, "notifications/cancelled", params));
}

/* The fault is shown and kept: a server may repeat the keys that it was sent. */
static const struct fault *
without_secrets(
    const struct mcp_server *server, struct arena *arena, const struct fault *fault)
{
	const struct value_list *secrets = &server->options->secrets;
	struct fault *clean = arena_alloc(arena, sizeof *clean);
	size_t i;

	*clean = *fault;
	for (i = 0; i < secrets->count; i++)
		clean->message =
		    without_key(arena, clean->message, value_text(secrets->items[i]));
	return clean;
}

/* was_refused_r: it can be asked again, once it is open again. */
const struct value *
mcp_ask_once(struct mcp_server *server, struct arena *arena, const char *method,
    const struct value *params, uint64_t end_ms, const struct fault **fault_r,
    bool *was_refused_r)
{
	struct mcp_exchange exchange = {
		.arena = arena, .id = ++server->last_id, .end_ms = end_ms
	};
	struct mcp_link *way = server->way; /* it may have another one behind this */
	const struct fault *fault;
	const struct value *result;

	exchange.text = mcp_request(arena, exchange.id, method, params);
	way->exchanges++;
	way->type->exchange(way, &exchange);
	/* Of the protocol: a client must not cancel `initialize`, before which no revision is agreed upon. */
	if (exchange.response == NULL && way->revision[0] != '\0' &&
	    (exchange.fault->control ||
		fault_type_is(exchange.fault->type, "TimeoutError")))
		tell_cancelled(way, arena, exchange.id);
	if (--way->exchanges == 0 && way->is_left)
		way->type->close(&way);
	*was_refused_r = exchange.was_refused;
	fault = exchange.fault;
	result = exchange.response != NULL ? mcp_result(arena, exchange.response, &fault)
					   : NULL;
	if (result == NULL)
		*fault_r = without_secrets(server, arena, fault);
	return result;
}

/* Waits until it is open or known not to be. */
static int
wait_for_it(struct mcp_server *server, struct arena *arena, uint64_t end_ms,
    const struct fault **fault_r)
{
	struct loop *loop = server->home->loop;
	struct mcp_waiter *waiter = arena_alloc(arena, sizeof *waiter);
	uint64_t now_ms = loop_now_ms(loop);
	int woken = 0;

	waiter->fiber = fiber_current();
	TAILQ_INSERT_TAIL(&server->waiters, waiter, link);
	while (server->state == MCP_TRYING && woken != -1 && now_ms < end_ms) {
		woken = fiber_wait_ms(end_ms - now_ms);
		now_ms = loop_now_ms(loop);
	}
	TAILQ_REMOVE(&server->waiters, waiter, link);
	if (server->state == MCP_OPEN && woken != -1)
		return 0;
	*fault_r =
	    woken == -1
		? fault_cancelled(arena)
		: fault_new(arena, "ConnectionError",
		      "the MCP server %s cannot be reached: %s", server->options->name,
		      server->trouble != NULL ? server->trouble : "it is not open yet");
	return -1;
}

const struct value *
mcp_server_ask(struct mcp_server *server, struct arena *arena, const char *method,
    const struct value *params, uint64_t end_ms, const struct fault **fault_r)
{
	const struct value *result = NULL;
	bool was_refused = true;
	int tries;

	for (tries = 0; tries < 2 && result == NULL && was_refused; tries++) {
		if (wait_for_it(server, arena, end_ms, fault_r) == -1)
			return NULL;
		result = mcp_ask_once(
		    server, arena, method, params, end_ms, fault_r, &was_refused);
	}
	return result;
}

static void
ignore(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

/* Nobody begins an exchange on it any more. Those that go on are not waited for: another way may be opened
 * meanwhile. */
static void
leave_way(struct mcp_server *server)
{
	struct mcp_link *way = server->way;

	server->way = NULL;
	if (way == NULL)
		return;
	way->hearer = (struct mcp_hearer){ ignore, ignore, NULL };
	if (way->type->end != NULL)
		way->type->end(way);
	way->is_left = true;
	if (way->exchanges == 0)
		way->type->close(&way);
}

/* --- keeping ---------------------------------------------------------------------------- */

/* As long as it is open. */
static void
stay(struct mcp_server *server)
{
	uint64_t timeout_ms = server->options->start_ms;
	const char *reason;
	struct arena *arena;

	while (!server->is_lost && !fiber_cancelled()) {
		if (!server->is_stale) {
			fiber_wait();
			continue;
		}
		arena = arena_new();
		if (mcp_list_tools(server, arena,
			loop_now_ms(server->home->loop) + timeout_ms, &reason) == -1 &&
		    !fiber_cancelled())
			mcp_on_lost(server, reason);
		arena_destroy(&arena);
		fiber_sleep(LIST_PAUSE_MS);
	}
}

/* Returns whether it was open. */
static bool
try_it(struct mcp_server *server)
{
	struct arena *arena = arena_new();
	const char *reason = NULL;
	bool was_open = mcp_open(server, arena, &reason) == 0;

	if (!was_open && !fiber_cancelled()) {
		set_trouble(server, reason == NULL ? "it was not started" : reason);
		enter(server, MCP_AWAY);
		mcp_set_tools(server, arena_new(), value_empty_array());
	}
	arena_destroy(&arena);
	if (was_open) {
		free(server->trouble);
		server->trouble = NULL;
		enter(server, MCP_OPEN);
		stay(server);
	}
	if (server->state == MCP_OPEN)
		enter(server, MCP_TRYING);
	leave_way(server);
	return was_open;
}

void
mcp_free(struct mcp_server *server)
{
	free(server->trouble);
	arena_destroy(&server->arena);
	tool_source_release(&server->source);
	free(server);
}

void
mcp_keep(void *arg)
{
	struct mcp_server *server = arg;
	struct loop *loop = server->home->loop;
	uint64_t again_ms = AGAIN_MS_MIN, begun_ms;

	while (!fiber_cancelled()) {
		begun_ms = loop_now_ms(loop);
		if (try_it(server) && loop_now_ms(loop) - begun_ms >= STEADY_MS)
			again_ms = AGAIN_MS_MIN;
		fiber_sleep(again_ms);
		again_ms = 2 * again_ms < AGAIN_MS_MAX ? 2 * again_ms : AGAIN_MS_MAX;
	}
	server->home->keepers--;
	server->keeper = NULL;
	mcp_free(server);
}

/* --- its holders ------------------------------------------------------------------------ */

struct mcp_server *
mcp_server_hold(struct mcp_server *server)
{
	server->holders++;
	return server;
}

void
mcp_server_release(struct mcp_server **server_p)
{
	struct mcp_server *server = *server_p;

	*server_p = NULL;
	if (server != NULL && --server->holders == 0)
		fiber_cancel(server->keeper);
}

const struct mcp_options *
mcp_server_options(const struct mcp_server *server)
{
	return server->options;
}

const struct value *
mcp_server_tools(const struct mcp_server *server)
{
	return server->tools;
}

const char *
mcp_server_trouble(const struct mcp_server *server)
{
	return server->state == MCP_AWAY ? server->trouble : NULL;
}
