#include "webhooks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "coordinator.h"
#include "fiber.h"
#include "log.h"
#include "memory.h"
#include "run.h"
#include "store_webhooks.h"

#define TAKEN_MAX 32u       /* of a shard at once */
#define UNDER_WAY_MAX 1000u /* of this process */

/* One attempt, on its fiber. */
struct attempt {
	TAILQ_ENTRY(attempt) link;
	struct coordinator *coordinator;
	struct arena *arena;
	unsigned shard;
	const char *run;
	uint64_t number;
	uint64_t begun_ms;
	int64_t epoch; /* TIME when it was taken: who takes it later comes before us */
	const struct value *record;
};

/* --- telling ------------------------------------------------------------------------- */

static void
publish(
    const struct attempt *attempt, const char *outcome, const char *text, uint64_t seq)
{
	struct arena *arena = attempt->arena;

	links_publish(attempt->coordinator->links, attempt->run,
	    arena_printf(arena, "run.%s.webhook", attempt->run),
	    value_map(arena, "kind", value_str(arena, "webhook"), "run",
		value_str(arena, attempt->run), "seq", value_int(arena, (int64_t)seq),
		"status", value_str(arena, outcome), "attempts",
		value_int(arena, (int64_t)attempt->number), "text",
		value_str(arena, text), NULL));
}

/* For how long there was no attempt, this time included. */
static uint64_t
waited(const struct attempt *attempt)
{
	int64_t before = value_get_int(attempt->record, "webhook_waited", 0);

	return (before > 0 ? (uint64_t)before : 0) +
	       loop_now_ms(attempt->coordinator->loop) - attempt->begun_ms;
}

static void
settle(struct attempt *attempt, struct webhook_verdict *verdict)
{
	const struct coordinator *coordinator = attempt->coordinator;
	struct store_told told = {
		.shard = attempt->shard, .run = attempt->run, .attempt = attempt->number
	};
	uint64_t seq = 0;

	webhook_wait_on(attempt->arena, verdict, waited(attempt),
	    (uint64_t)coordinator->settings->webhook_unserved_ms);
	told.outcome = verdict->outcome;
	told.wait_ms = verdict->wait_ms;
	told.waited_ms = verdict->waited_ms;
	told.text = verdict->text;
	if (store_end_webhook(coordinator->store, attempt->arena, &told, &seq) !=
	    STORE_OK)
		return; /* it is told once more */
	if (verdict->waited_ms > 0)
		attempt->number--; /* there was none */
	if (seq > 0)
		publish(attempt, verdict->outcome, verdict->text, seq);
	if (strcmp(verdict->outcome, "failed") == 0)
		log_warnx("run=%s webhook given up after %" PRIu64 " attempts: %s",
		    attempt->run, attempt->number, verdict->text);
}

static const struct value *
request_of(const struct attempt *attempt)
{
	struct arena *arena = attempt->arena;

	return value_map(arena, "url", value_get(attempt->record, "webhook"), "run",
	    value_str(arena, attempt->run), "attempt",
	    value_int(arena, (int64_t)attempt->number), "record",
	    webhook_body(arena, attempt->record), NULL);
}

static void
tell(struct attempt *attempt)
{
	const struct coordinator_settings *settings = attempt->coordinator->settings;
	struct arena *arena = attempt->arena;
	struct caller *caller = attempt->coordinator->caller;
	const struct value *again = value_get(attempt->record, "again");
	const char *id = arena_printf(arena, "%s.webhook.%" PRIu64 "%s", attempt->run,
	    attempt->number,
	    again_mark(arena,
		again == NULL ? NULL : arena_printf(arena, "%" PRId64, again->integer)));
	struct call_request request = {
		.id = id,
		.run = attempt->run,
		.service = SERVICE_WEBHOOK,
		.epoch = (uint64_t)attempt->epoch,
		.deadline_ms = WEBHOOK_CALL_MS,
		.priority = PRIORITY_USUAL,
		.tenant = value_get_text(attempt->record, "tenant"),
		.flags = WIRE_INTERNAL,
		.idempotency_key = id,
		.profile = value_freeze(arena, value_empty_map()),
		.request = request_of(attempt),
	};
	struct call_outcome outcome;
	struct webhook_verdict verdict;

	if (caller_call(caller, arena, &request, &outcome) == -1)
		return; /* we leave, or are late: another one makes the attempt */
	verdict = webhook_judge(arena, &outcome, attempt->number,
	    (uint64_t)settings->webhook_attempts, (uint64_t)settings->webhook_wait_ms);
	fiber_shield(true);
	settle(attempt, &verdict);
	fiber_shield(false);
	caller_stored(caller, request.id);
}

static void
forget(struct attempt *attempt)
{
	TAILQ_REMOVE(&attempt->coordinator->attempts, attempt, link);
	attempt->coordinator->webhooks--;
}

static void
attempt_main(void *arg)
{
	struct attempt *attempt = arg;
	struct coordinator *coordinator = attempt->coordinator;
	struct store *store = coordinator->store;
	struct arena *arena = attempt->arena; /* attempt lies in it */
	struct webhook_verdict unserved = { .outcome = "later",
		.wait_ms = 5000,
		.text =
		    "no worker serves `webhook`; start a worker-tools with --webhooks" };

	/* One without a record is struck out when it is taken again. One that has not ended did so in what Redis has
	 * forgotten since, and is noted again when it does. */
	if (store_run_in(store, arena, attempt->shard, attempt->run, &attempt->record) ==
		STORE_OK &&
	    value_has(attempt->record, "ended")) {
		if (!catalog_serves(coordinator->catalog, SERVICE_WEBHOOK))
			settle(attempt, &unserved);
		else if (!coordinator->draining)
			tell(attempt);
	}
	forget(attempt);
	arena_destroy(&arena);
}

/* --- finding ------------------------------------------------------------------------- */

static void
start(struct coordinator *coordinator, unsigned shard, const char *run, uint64_t number,
    int64_t epoch)
{
	struct arena *arena = arena_new();
	struct attempt *attempt = arena_alloc(arena, sizeof *attempt);

	*attempt = (struct attempt){ .coordinator = coordinator,
		.arena = arena,
		.shard = shard,
		.run = arena_strdup(arena, run),
		.number = number,
		.begun_ms = loop_now_ms(coordinator->loop),
		.epoch = epoch };
	TAILQ_INSERT_TAIL(&coordinator->attempts, attempt, link);
	coordinator->webhooks++;
	if (fiber_start(coordinator->loop, "webhook", attempt_main, attempt) != NULL)
		return;
	forget(attempt);
	arena_destroy(&arena);
}

void
webhooks_leave(struct coordinator *coordinator)
{
	const struct attempt *attempt;

	TAILQ_FOREACH(attempt, &coordinator->attempts, link)
		caller_disown(coordinator->caller, attempt->run);
}

void
webhooks_sweep(struct coordinator *coordinator, unsigned shard)
{
	struct arena *arena;
	const struct value *taken = NULL;
	enum store_status status;
	size_t i;

	if (coordinator->draining || coordinator->webhooks + TAKEN_MAX > UNDER_WAY_MAX)
		return;
	arena = arena_new();
	coordinator->webhooks += TAKEN_MAX; /* other sweeps look while this one waits */
	status = store_take_webhooks(
	    coordinator->store, arena, shard, WEBHOOK_LEASE_MS, TAKEN_MAX, &taken);
	coordinator->webhooks -= TAKEN_MAX;
	if (status == STORE_OK)
		for (i = 1; i + 1 < value_size(taken); i += 2) {
			const char *run = redis_reply_text(value_at(taken, i));

			if (run != NULL)
				start(coordinator, shard, run,
				    (uint64_t)value_whole(value_at(taken, i + 1), 0),
				    value_whole(value_at(taken, 0), 0));
		}
	arena_destroy(&arena);
}

struct errand {
	struct coordinator *coordinator;
	unsigned shard;
};

static void
errand_main(void *arg)
{
	struct errand *errand = arg;

	webhooks_sweep(errand->coordinator, errand->shard);
	free(errand);
}

void
webhooks_wake(struct coordinator *coordinator, unsigned shard)
{
	struct errand *errand = xcalloc(1, sizeof *errand);

	*errand = (struct errand){ coordinator, shard };
	if (fiber_start(coordinator->loop, "webhooks", errand_main, errand) == NULL)
		free(errand); /* the shard's own sweep finds it */
}
