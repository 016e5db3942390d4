/* What is left when all runs have ended: in Redis, at the brokers, in memory. */
#include "checker.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "json.h"

#define WAIT_MS 60000u /* leases run out, results are acknowledged */
#define POLL_MS 500u
#define SERVE_REST_MS ((SERVE_IDLE_S + 15) * 1000u)
/* What a process may hold more than when it was warm: the allocator keeps what a storm has
 * needed, and a leak of any use grows with the length of the attack. */
#define RSS_FACTOR 2
#ifdef __SANITIZE_ADDRESS__
#define RSS_MORE_KB (1 << 20) /* what is freed is not used again at once */
#else
#define RSS_MORE_KB (24 << 10)
#endif
#define DESCRIPTORS_MORE 4
/* A model worker keeps its idle connections to a provider for the next calls: as many as the
 * storm has needed at once, up to a bound of its own. So does the client to who serves it. */
#define CONNECTIONS_MORE 32

static const struct value *
ask(struct check *check, const char *verb, const char *key, const char *more)
{
	const struct value *reply = NULL;

	if (redis_text(check->load->direct_redis, check->arena, 5000, &reply, verb, key,
		more, NULL) != REDIS_OK)
		return NULL;
	return reply;
}

static int64_t
size_of(struct check *check, const char *verb, const char *key)
{
	const struct value *reply = ask(check, verb, key, NULL);

	return value_is(reply, VALUE_INT) ? reply->integer : -1;
}

/* The first of what should be gone, or NULL. */
static const char *
find_leftover(struct check *check)
{
	const struct value *pending, *keys;
	unsigned shard;
	size_t i;

	if (size_of(check, "XLEN", STORE_INBOX) != 0)
		return STORE_INBOX;
	pending = ask(check, "XPENDING", STORE_INBOX, STORE_INBOX_GROUP);
	if (value_at(pending, 0) == NULL || value_at(pending, 0)->integer != 0)
		return "an entry of fl:inbox that somebody has read";
	for (shard = 0; shard < SHARDS; shard++) {
		const char *prefix = store_prefix(check->arena, shard);
		const char *due = arena_printf(check->arena, "%sdue", prefix);
		const char *leases = arena_printf(check->arena, "%sleases", prefix);
		const char *asks = arena_printf(check->arena, "%sasks", prefix);

		if (size_of(check, "ZCARD", due) != 0)
			return due;
		if (size_of(check, "ZCARD", asks) != 0) /* no run of ours asks */
			return asks;
		if (size_of(check, "HLEN", leases) != 0)
			return leases;
	}
	keys = ask(check, "KEYS", "fl:*", NULL);
	for (i = 0; i < value_size(keys); i++) {
		const char *key = redis_reply_text(value_at(keys, i));
		const char *end = key + strlen(key) - 2;

		if (strcmp(end, ":w") == 0 || strcmp(end, ":q") == 0 ||
		    strstr(key, "cancels") != NULL)
			return key;
	}
	return NULL;
}

static void
check_redis(struct check *check)
{
	uint64_t deadline = loop_now_ms(check->fleet->loop) + WAIT_MS;
	const char *found;

	for (;;) {
		check->arena = arena_new();
		found = find_leftover(check);
		if (found == NULL || loop_now_ms(check->fleet->loop) >= deadline)
			break;
		arena_destroy(&check->arena);
		fiber_sleep(POLL_MS);
	}
	tally(check->tally, HOLDS_NO_LEFTOVER, found == NULL, "left in Redis: %s",
	    found != NULL ? found : "");
	arena_destroy(&check->arena);
}

/* --- brokers -------------------------------------------------------------------------------- */

/* A coordinator that dies between its commit and the RESULT_ACK leaves outcomes that nobody asks
 * for any more; the broker keeps them for RESULT_KEEP_MS. Each takeover may leave those of one
 * superstep, nothing else may stay. */
static bool
is_empty(const struct check *check, const struct value *stats)
{
	const struct value *calls = value_get(stats, "calls");

	return stats != NULL && value_get_int(calls, "held", -1) == 0 &&
	       value_get_int(calls, "queued", -1) == 0 &&
	       value_get_int(calls, "assigned", -1) == 0 &&
	       value_get_int(calls, "kept", -1) <=
		   (int64_t)(check->takeovers * SORT_CALLS_MAX);
}

static void
check_brokers(struct check *check)
{
	uint64_t deadline = loop_now_ms(check->fleet->loop) + WAIT_MS;
	unsigned i, answers, first;

	check->arena = arena_new();
	for (i = 0; i < check->fleet->plan->counts[PARTY_BROKER]; i++) {
		const struct value *stats;

		watch_stats(check->watch, i, &first);
		do {
			fiber_sleep(POLL_MS);
			stats = watch_stats(check->watch, i, &answers);
		} while ((answers < first + 2 || !is_empty(check, stats)) &&
			 loop_now_ms(check->fleet->loop) < deadline);
		tally(check->tally, HOLDS_CONSERVATION,
		    answers >= first + 2 && is_empty(check, stats),
		    "broker-%u still has calls: %s", i,
		    json_text(check->arena, value_get(stats, "calls")));
	}
	arena_destroy(&check->arena);
}

/* --- processes -------------------------------------------------------------------------------- */

/* A server keeps a client's connection until it has been idle for so long: all of them, when the other server died last. */
static struct usage
usage_at_rest(const struct check *check, const struct party *party, long more)
{
	struct loop *loop = check->fleet->loop;
	uint64_t deadline =
	    loop_now_ms(loop) + (party->kind == PARTY_SERVE ? SERVE_REST_MS : 0);
	struct usage now = party_usage(party);

	while (now.descriptors > party->base.descriptors + more &&
	       loop_now_ms(loop) < deadline) {
		fiber_sleep(POLL_MS);
		now = party_usage(party);
	}
	return now;
}

static void
check_party(struct check *check, const struct party *party)
{
	struct usage now;
	long more = party->kind == PARTY_MODEL || party->kind == PARTY_SERVE
			? CONNECTIONS_MORE
			: DESCRIPTORS_MORE;

	if (party->base.rss_kb == 0 || party->starts > 1)
		return; /* not the one that was measured */
	now = usage_at_rest(check, party, more);
	fleet_say(check->fleet, "%s: %ld KB, %ld descriptors; it began with %ld KB, %ld",
	    party->name, now.rss_kb, now.descriptors, party->base.rss_kb,
	    party->base.descriptors);
	tally(check->tally, HOLDS_NO_LEAK,
	    now.descriptors <= party->base.descriptors + more,
	    "%s has %ld descriptors, %ld at first", party->name, now.descriptors,
	    party->base.descriptors);
	tally(check->tally, HOLDS_NO_LEAK,
	    now.rss_kb <= party->base.rss_kb * RSS_FACTOR + RSS_MORE_KB,
	    "%s has %ld KB, %ld at first", party->name, now.rss_kb, party->base.rss_kb);
}

void
check_rest(struct check *check)
{
	unsigned i;

	check_redis(check);
	check_brokers(check);
	for (i = 0; i < check->fleet->count; i++)
		if (check->fleet->parties[i].kind >= PARTY_BROKER)
			check_party(check, &check->fleet->parties[i]);
	tally(check->tally, HOLDS_NO_LEAK, check->fleet->crashes == 0,
	    "%u processes ended by themselves", check->fleet->crashes);
	tally(check->tally, HOLDS_NO_LEAK, check->fleet->late_drains == 0,
	    "%u processes did not end after SIGTERM", check->fleet->late_drains);
}
