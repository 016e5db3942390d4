#include "watch.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "peer.h"

#define EVERY_MS 1000u
#define WATCHED_MAX 4u

static const char *const counters[] = {
#define COUNTER(name, text) #name,
#include "../../broker/counters.def"
#undef COUNTER
};
#define COUNTERS (sizeof counters / sizeof *counters)

struct watched {
	struct watch *watch;
	struct peer *peer;
	unsigned index, answers;
	struct arena *arena; /* of stats */
	const struct value *stats;
	int64_t before[COUNTERS]; /* of the brokers of that index that are no more */
};

struct watch {
	struct fleet *fleet;
	struct tally *tally;
	struct timer *timer;
	unsigned count;
	struct watched brokers[WATCHED_MAX];
};

static int64_t
read_counter(const struct value *stats, const char *name)
{
	return value_get_int(value_get(stats, "counters"), name, 0);
}

/* A number on the left is in one place on the right, or the broker has lost count. */
static void
check_sums(const struct watched *watched, const struct value *stats)
{
	const struct value *calls = value_get(stats, "calls");
	int64_t in = read_counter(stats, "accepted") + read_counter(stats, "adopted");
	int64_t out = read_counter(stats, "settled") + read_counter(stats, "dropped") +
		      read_counter(stats, "returned");
	size_t i;

	for (i = 0; i < value_size(calls); i++)
		out += calls->pairs[i].value->integer;
	tally(watched->watch->tally, HOLDS_CONSERVATION, in == out,
	    "broker-%u took %d calls and knows of %d", watched->index, (int)in, (int)out);
}

/* The slots of a worker are one pool for all brokers: what several hand out at once beyond it
 * the worker answers with BUSY, and calls of a lost broker are announced to the others. So a
 * broker may for a moment count the calls of all of them, but never more room than slots. */
static void
check_workers(const struct watched *watched, const struct value *stats)
{
	const struct value *sessions = value_get(stats, "sessions");
	size_t i;

	for (i = 0; i < value_size(sessions); i++) {
		const struct value *one = value_at(sessions, i);
		int64_t capacity = value_get_int(one, "capacity", -1);

		if (capacity >= 0)
			tally(watched->watch->tally, HOLDS_CREDIT,
			    value_get_int(one, "room", 0) >= 0 &&
				value_get_int(one, "room", 0) <= capacity &&
				value_get_int(one, "load", 0) <=
				    capacity * (int64_t)watched->watch->count,
			    "broker-%u: %s has %d calls, room for %d, and %d slots",
			    watched->index, value_get_text(one, "name"),
			    (int)value_get_int(one, "load", 0),
			    (int)value_get_int(one, "room", 0), (int)capacity);
	}
}

static void
keep(struct watched *watched, const struct value *stats)
{
	const char *old = value_get_text(value_get(watched->stats, "broker"), "session");
	const char *now = value_get_text(value_get(stats, "broker"), "session");
	size_t i;

	if (old != NULL && now != NULL && strcmp(old, now) != 0)
		for (i = 0; i < COUNTERS; i++)
			watched->before[i] += read_counter(watched->stats, counters[i]);
	arena_destroy(&watched->arena);
	watched->arena = arena_new();
	watched->stats = value_copy(watched->arena, stats);
	watched->answers++;
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	struct watched *watched = arg;
	struct arena *arena = arena_new();
	const struct value *stats;
	const char *error;

	if (header->type == MSG_STATS && bodies->count == 1 &&
	    value_unpack(arena, parts_data(bodies, 0), parts_size(bodies, 0), &stats,
		&error) == 0) {
		check_sums(watched, stats);
		check_workers(watched, stats);
		keep(watched, stats);
	}
	arena_destroy(&arena);
}

static void
on_up(void *arg)
{
	(void)arg;
}

static void
on_down(void *arg, const char *reason)
{
	(void)arg;
	(void)reason;
}

static void
on_time(void *arg)
{
	const struct header ask = { .type = MSG_STATS };
	struct watch *watch = arg;
	unsigned i;

	for (i = 0; i < watch->count; i++)
		peer_send(watch->brokers[i].peer, &ask, NULL);
}

struct watch *
watch_new(struct fleet *fleet, struct tally *tally)
{
	struct watch *watch = xcalloc(1, sizeof *watch);
	unsigned i;

	watch->fleet = fleet;
	watch->tally = tally;
	watch->count = fleet->plan->counts[PARTY_BROKER];
	for (i = 0; i < watch->count; i++) {
		struct watched *watched = &watch->brokers[i];
		const struct peer_options options = {
			.endpoint = fleet_broker(fleet, NULL, i),
			.role = ROLE_CLIENT,
			.name = "chaos-watch",
			.on_up = on_up,
			.on_down = on_down,
			.on_message = on_message,
			.arg = watched,
		};

		watched->watch = watch;
		watched->index = i;
		watched->peer = peer_new(fleet->loop, &options);
	}
	watch->timer = timer_start(fleet->loop, EVERY_MS, EVERY_MS, on_time, watch);
	return watch;
}

void
watch_destroy(struct watch **watch_p)
{
	struct watch *watch = *watch_p;
	unsigned i;

	timer_stop(&watch->timer);
	for (i = 0; i < watch->count; i++) {
		peer_destroy(&watch->brokers[i].peer);
		arena_destroy(&watch->brokers[i].arena);
	}
	free(watch);
	*watch_p = NULL;
}

int64_t
watch_sum(struct watch *watch, const char *counter)
{
	int64_t sum = 0;
	unsigned i;
	size_t j;

	for (i = 0; i < watch->count; i++) {
		sum += read_counter(watch->brokers[i].stats, counter);
		for (j = 0; j < COUNTERS; j++)
			if (strcmp(counters[j], counter) == 0)
				sum += watch->brokers[i].before[j];
	}
	return sum;
}

const struct value *
watch_stats(struct watch *watch, unsigned index, unsigned *answers_r)
{
	*answers_r = watch->brokers[index].answers;
	return watch->brokers[index].stats;
}
