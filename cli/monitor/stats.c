#include "stats.h"

#include <stdlib.h>

#include "command.h"
#include "fiber.h"
#include "memory.h"
#include "peer.h"

#define MORE_MS 200u /* for the others, when it is enough */

/* A broker that is frozen shall not keep the others' answers from being shown. */
struct source {
	struct stats *stats;
	const char *endpoint;
	struct peer *peer;
	const struct value *tables; /* NULL: not answered */
	bool asked;
};

struct stats {
	struct session *session;
	struct arena *arena; /* of the answers, while we wait for them */
	struct fiber *waiting;
	struct source *sources;
	size_t count;
};

static void
ask(struct source *source)
{
	const struct header header = { .type = MSG_STATS };

	if (peer_is_up(source->peer) && !source->asked)
		source->asked = peer_send(source->peer, &header, NULL) == 0;
}

static void
on_up(void *arg)
{
	struct source *source = arg;

	source->asked = false;
	if (source->stats->waiting != NULL)
		ask(source);
}

static void
on_down(void *arg, const char *reason)
{
	(void)arg;
	(void)reason;
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	struct source *source = arg;
	struct stats *stats = source->stats;
	const struct value *tables;
	const char *error;

	/* An answer that comes too late for its question is as good for the next. */
	if (header->type != MSG_STATS || bodies == NULL || bodies->count == 0 ||
	    stats->waiting == NULL ||
	    value_unpack(stats->arena, parts_data(bodies, 0), parts_size(bodies, 0),
		&tables, &error) == -1)
		return;
	tables = stats_tidy(stats->arena, tables);
	if (tables == NULL)
		return;
	source->tables = tables;
	fiber_wake(stats->waiting);
}

static int
connect_source(struct source *source)
{
	const struct peer_options options = {
		.endpoint = source->endpoint,
		.role = ROLE_CLIENT,
		.name = "flotilla",
		.on_up = on_up,
		.on_down = on_down,
		.on_message = on_message,
		.arg = source,
	};

	source->peer = peer_new(session_loop(source->stats->session), &options);
	if (source->peer != NULL)
		return 0;
	complain("--broker %s: no endpoint of ZeroMQ", source->endpoint);
	return -1;
}

struct stats *
stats_new(struct session *session)
{
	const char *const *endpoints = session_brokers(session);
	struct stats *stats = xcalloc(1, sizeof *stats);
	size_t count = 0;

	while (endpoints[count] != NULL)
		count++;
	stats->session = session;
	stats->sources = xcalloc(count, sizeof *stats->sources);
	while (stats->count < count) {
		struct source *source = &stats->sources[stats->count];

		*source = (struct source){ .stats = stats,
			.endpoint = endpoints[stats->count++] };
		if (connect_source(source) == -1) {
			stats_destroy(&stats);
			break;
		}
	}
	return stats;
}

void
stats_destroy(struct stats **stats_p)
{
	struct stats *stats = *stats_p;
	size_t i;

	if (stats == NULL)
		return;
	for (i = 0; i < stats->count; i++)
		peer_destroy(&stats->sources[i].peer);
	free(stats->sources);
	free(stats);
	*stats_p = NULL;
}

size_t
stats_brokers(const struct stats *stats)
{
	return stats->count;
}

const char *
stats_endpoint(const struct stats *stats, size_t broker)
{
	return stats->sources[broker].endpoint;
}

const struct value *
stats_tables(const struct stats *stats, size_t broker)
{
	return stats->sources[broker].tables;
}

static size_t
answered(const struct stats *stats)
{
	size_t count = 0, i;

	for (i = 0; i < stats->count; i++)
		count += stats->sources[i].tables != NULL;
	return count;
}

int
stats_ask_for(struct stats *stats, struct arena *arena, uint64_t wait_ms,
    bool (*enough)(void *arg), void *arg)
{
	struct loop *loop = session_loop(stats->session);
	uint64_t deadline = loop_now_ms(loop) + wait_ms;
	size_t i;
	int result = 0;

	stats->arena = arena;
	stats->waiting = fiber_current();
	for (i = 0; i < stats->count; i++) {
		stats->sources[i].tables = NULL;
		stats->sources[i].asked = false;
		ask(&stats->sources[i]);
	}
	while (answered(stats) < stats->count && loop_now_ms(loop) < deadline &&
	       result != -1) {
		result = fiber_wait_ms(deadline - loop_now_ms(loop));
		if (enough == NULL || !enough(arg))
			continue;
		enough = NULL;
		if (deadline > loop_now_ms(loop) + MORE_MS)
			deadline = loop_now_ms(loop) + MORE_MS;
	}
	stats->waiting = NULL;
	return result == -1 ? -1 : (int)answered(stats);
}

int
stats_ask(struct stats *stats, struct arena *arena, uint64_t wait_ms)
{
	return stats_ask_for(stats, arena, wait_ms, NULL, NULL);
}

void
stats_probe(struct stats *stats)
{
	const struct header header = { .type = MSG_PROBE, .call_id = "probe" };
	size_t i;

	for (i = 0; i < stats->count; i++)
		if (stats->sources[i].tables != NULL)
			peer_send(stats->sources[i].peer, &header, NULL);
}

const struct value *
stats_merged(const struct stats *stats, struct arena *arena)
{
	const struct value *merged = NULL;
	size_t i;

	for (i = 0; i < stats_brokers(stats); i++) {
		const struct value *tables = stats_tables(stats, i);

		if (tables != NULL)
			merged =
			    merged == NULL ? tables : stats_merge(arena, merged, tables);
	}
	return merged;
}
