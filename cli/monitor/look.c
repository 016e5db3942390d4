#include "look.h"

#include <stdlib.h>

#include "fiber.h"
#include "memory.h"
#include "stats.h"
#include "store_fleet.h"

#define REDIS_WAIT_MS 1500u /* for each answer */
#define POLL_MS 10u

struct look {
	struct session *session;
	struct stats *stats;
	struct redis *redis;
	struct store *store;
};

/* Redis is asked on a fiber of its own: a broker that is frozen shall not take its time. */
struct asking {
	struct look *look;
	struct top_look *seen;
	struct fiber *fiber, *waiter; /* fiber: NULL when it has ended */
};

struct look *
look_new(struct session *session)
{
	struct look *look = xcalloc(1, sizeof *look);
	const char *error;

	look->session = session;
	look->stats = stats_new(session);
	if (look->stats == NULL)
		goto fail;
	look->redis =
	    redis_new(session_loop(session), session_redis(session), NULL, &error);
	if (look->redis == NULL) {
		complain("--redis %s: %s", session_redis_shown(session), error);
		goto fail;
	}
	redis_allow_silence(look->redis, REDIS_WAIT_MS);
	look->store = store_new(look->redis, REDIS_WAIT_MS);
	return look;

fail:
	look_destroy(&look);
	return NULL;
}

void
look_destroy(struct look **look_p)
{
	struct look *look = *look_p;

	*look_p = NULL;
	if (look == NULL)
		return;
	if (look->store != NULL)
		store_destroy(&look->store);
	redis_destroy(&look->redis);
	stats_destroy(&look->stats);
	free(look);
}

/* --- Redis ---------------------------------------------------------------------------- */

static int
wait_for_redis(const struct look *look)
{
	while (!redis_is_up(look->redis))
		if (fiber_sleep(POLL_MS) == -1)
			return -1;
	return 0;
}

static void
ask_redis(void *arg)
{
	struct asking *asking = arg;
	struct look *look = asking->look;
	struct top_look *seen = asking->seen;
	const char *why;

	if (wait_for_redis(look) == -1 ||
	    store_counts(look->store, seen->arena, &seen->counts) != STORE_OK) {
		why = redis_is_up(look->redis) && !fiber_cancelled()
			  ? store_error(look->store)
			  : redis_trouble(look->redis);
		seen->counts = NULL;
		seen->redis_trouble =
		    arena_strdup(seen->arena, *why == '\0' ? "it does not answer" : why);
	}
	asking->fiber = NULL;
	fiber_wake(asking->waiter);
}

/* Waits until Redis has answered, or the time is over. */
static void
wait_for_answer(struct asking *asking, uint64_t deadline_ms)
{
	struct loop *loop = session_loop(asking->look->session);
	int result = 0;

	while (asking->fiber != NULL && result != -1 && loop_now_ms(loop) < deadline_ms)
		result = fiber_wait_ms(deadline_ms - loop_now_ms(loop));
	if (asking->fiber == NULL)
		return;
	fiber_cancel(asking->fiber);
	fiber_shield(true);
	while (asking->fiber != NULL)
		fiber_wait();
	fiber_shield(false);
}

/* --- all --------------------------------------------------------------------------------- */

static void
note_brokers(const struct look *look, struct top_look *seen)
{
	size_t count = stats_brokers(look->stats), i;
	struct top_broker *brokers = arena_alloc(seen->arena, count * sizeof *brokers);

	for (i = 0; i < count; i++)
		brokers[i] = (struct top_broker){
			.endpoint = stats_endpoint(look->stats, i),
			.tables = stats_tables(look->stats, i),
		};
	seen->brokers = brokers;
	seen->broker_count = count;
	seen->tables = stats_merged(look->stats, seen->arena);
}

int
look_take(struct look *look, uint64_t wait_ms, struct top_look *seen_r)
{
	struct loop *loop = session_loop(look->session);
	struct asking asking = { look, seen_r, NULL, fiber_current() };
	uint64_t deadline = loop_now_ms(loop) + wait_ms;
	int result;

	*seen_r = (struct top_look){ .arena = arena_new(),
		.redis_trouble = "no room for a fiber that asks it" };
	asking.fiber = fiber_start(loop, "look at Redis", ask_redis, &asking);
	result = stats_ask(look->stats, seen_r->arena, wait_ms);
	seen_r->at_ms = loop_now_ms(loop);
	if (result != -1)
		note_brokers(look, seen_r);
	wait_for_answer(&asking, deadline);
	return result == -1 || fiber_cancelled() ? -1 : 0;
}

enum status
look_judge(struct look *look, const struct top_look *seen)
{
	struct session *session = look->session;

	if (seen->tables == NULL)
		complain("no broker answers at %s; is the fleet up?",
		    session_join(session, session_brokers(session)));
	if (seen->counts == NULL)
		complain("no Redis at %s (%s)", session_redis_shown(session),
		    seen->redis_trouble);
	return seen->tables == NULL || seen->counts == NULL ? STATUS_UNREACHABLE
							    : STATUS_OK;
}
