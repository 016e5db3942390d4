/* Our own broker, between a worker of peer/worker.h that answers at once, and a caller of
 * peer/caller.h that says of each answer that it is stored. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "arena.h"
#include "caller.h"
#include "dispatch.h"
#include "fiber.h"
#include "loop.h"
#include "memory.h"
#include "socket.h"
#include "value.h"
#include "worker.h"

#define SERVICE "tool:echo"
#define DEADLINE_MS 60000u
#define SLOTS 4096u

struct client {
	struct loop *loop;
	struct links *links;
	struct caller *caller;
	struct arena *arena; /* of the endpoint, and of what all calls have */
	const struct value *profile;
	struct dispatch *dispatch;
	size_t fibers;
	unsigned round; /* part of the ids */
};

static struct client client;

/* --- the worker -------------------------------------------------------------------------- */

static const struct value *
echo(void *arg, struct worker_call *call)
{
	(void)arg;
	return call->request;
}

static void
work(const char *endpoint)
{
	const struct wire_service service = { .name = SERVICE, .credit = SLOTS };
	const char *const endpoints[] = { endpoint, NULL };
	const struct worker_options options = {
		.endpoints = endpoints,
		.name = "echo",
		.services = &service,
		.service_count = 1,
		.capacity = SLOTS,
		.answer = echo,
	};
	struct loop *loop = loop_new();
	const char *wrong, *allowed;

	if (worker_new(loop, &options, &wrong, &allowed) == NULL)
		errx(EXIT_FAILURE, "%s: must be %s", wrong, allowed);
	sd_notify(0, "READY=1");
	loop_run(loop);
}

/* --- the client's session ------------------------------------------------------------------ */

static void
on_up(void *arg, uint32_t link)
{
	(void)arg;
	caller_up(client.caller, link);
}

static void
on_down(void *arg, uint32_t link, const char *reason)
{
	(void)arg;
	if (client.dispatch != NULL)
		errx(EXIT_FAILURE, "the broker is gone: %s", reason);
	caller_down(client.caller, link);
}

static void
on_leaving(void *arg, uint32_t link, uint64_t ms)
{
	(void)arg;
	(void)ms;
	caller_leaving(client.caller, link);
}

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	(void)arg;
	caller_message(client.caller, link, header, bodies);
}

static void
start(const char *self, const char *build, const char *folder, struct child **queue_r,
    struct child **worker_r)
{
	struct arena *arena = client.arena = arena_new();
	const char *endpoints[] = { arena_printf(arena, "ipc://%s/broker", folder),
		NULL };
	const struct links_options options = {
		.endpoints = endpoints,
		.role = ROLE_COORDINATOR,
		.name = "client",
		.on_up = on_up,
		.on_down = on_down,
		.on_leaving = on_leaving,
		.on_message = on_message,
	};
	const char *wrong, *allowed;

	*queue_r =
	    child_start((const char *[]){ arena_printf(arena, "%s/bin/broker", build),
			    "--bind", endpoints[0], "--status-bind",
			    arena_printf(arena, "ipc://%s/status", folder), "--log-level",
			    "warn", NULL },
		NULL);
	*worker_r = child_start(
	    (const char *[]){ self, "worker", "fleet", endpoints[0], NULL }, NULL);
	client.profile = value_freeze(arena, value_empty_map());
	client.loop = loop_new();
	client.links = links_new(client.loop, &options, &wrong, &allowed);
	if (client.links == NULL)
		errx(EXIT_FAILURE, "%s: must be %s", wrong, allowed);
	client.caller = caller_new(client.loop, client.links);
}

/* --- calls --------------------------------------------------------------------------------- */

static void
call(size_t number)
{
	struct arena *arena = arena_new();
	const char *id = arena_printf(arena, "job%u-%zu", client.round, number);
	char job[DISPATCH_BYTES];
	struct call_request request = {
		.id = id,
		.run = id,
		.service = SERVICE,
		.epoch = 1,
		.deadline_ms = DEADLINE_MS,
		.idempotency_key = id,
		.profile = client.profile,
	};
	struct call_outcome outcome;
	const struct value *answer;

	dispatch_job(job, number);
	request.request =
	    value_map(arena, "job", value_strn(arena, job, sizeof job), NULL);
	if (caller_call(client.caller, arena, &request, &outcome) == -1 ||
	    outcome.code != CODE_OK)
		errx(EXIT_FAILURE, "job %s has no answer", id);
	answer = value_get(outcome.body, "job");
	dispatch_answer(client.dispatch, value_text(answer), value_size(answer));
	caller_stored(client.caller, request.id);
	arena_destroy(&arena);
}

static void
fiber_main(void *arg)
{
	size_t number;

	(void)arg;
	while (dispatch_next(client.dispatch, &number))
		call(number);
	client.fibers--;
}

static bool
no_fiber(void *arg)
{
	(void)arg;
	return client.fibers == 0;
}

static void
run(struct dispatch *dispatch)
{
	client.dispatch = dispatch;
	client.round++;
	for (client.fibers = 0; client.fibers < dispatch->in_flight; client.fibers++)
		if (fiber_start(client.loop, "call", fiber_main, NULL) == NULL)
			errx(EXIT_FAILURE, "no room for %zu fibers", dispatch->in_flight);
	loop_run_until(client.loop, no_fiber, NULL);
	client.dispatch = NULL;
}

static void
stop(void)
{
	caller_destroy(&client.caller);
	links_destroy(&client.links);
	loop_destroy(&client.loop);
	socket_shutdown();
	arena_destroy(&client.arena);
}

const struct dispatch_system dispatch_fleet = { "fleet", start, run, stop, work };
