#include "top_times.h"

#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "stats.h"
#include "top_row.h"

#define PER_CENT 95
#define LOOKS_MAX 64u

/* Of one look: {calls, runs}, as the brokers, each by its endpoint, and Redis told them. */
struct noted {
	struct arena *arena;
	const struct value *times;
	uint64_t at_ms;
};

struct top_times {
	uint64_t window_ms;
	struct noted noted[LOOKS_MAX]; /* the oldest first */
	size_t count;
};

struct top_times *
top_times_new(uint64_t window_ms)
{
	struct top_times *times = xcalloc(1, sizeof *times);

	times->window_ms = window_ms;
	return times;
}

static void
drop_first(struct top_times *times)
{
	size_t i;

	arena_destroy(&times->noted[0].arena);
	for (i = 1; i < times->count; i++)
		times->noted[i - 1] = times->noted[i];
	times->count--;
}

void
top_times_destroy(struct top_times **times_p)
{
	while ((*times_p)->count > 0)
		drop_first(*times_p);
	free(*times_p);
	*times_p = NULL;
}

static const struct value *
calls_of(const struct top_look *look)
{
	return value_get(look->tables, "times");
}

static const struct value *
runs_of(const struct top_look *look)
{
	return value_get(look->counts, "times");
}

static const struct value *
calls_by_broker(const struct top_look *look)
{
	struct value_fields fields = { .arena = look->arena };
	size_t i;

	for (i = 0; i < look->broker_count; i++)
		if (look->brokers[i].tables != NULL)
			value_fields_set(&fields, look->brokers[i].endpoint,
			    value_get(look->brokers[i].tables, "times"));
	return value_fields_end(&fields);
}

/* Of the first look that has it; of one that nobody has seen before, what it says now. */
static const struct value *
oldest_calls(const struct top_times *times, const struct top_broker *broker)
{
	const struct value *calls;
	size_t i;

	for (i = 0; i < times->count; i++) {
		calls = value_get(
		    value_get(times->noted[i].times, "calls"), broker->endpoint);
		if (!value_is_nil(calls))
			return calls;
	}
	return value_get(broker->tables, "times");
}

static const struct value *
oldest_runs(const struct top_times *times, const struct top_look *look)
{
	const struct value *runs;
	size_t i;

	for (i = 0; i < times->count; i++) {
		runs = value_get(times->noted[i].times, "runs");
		if (!value_is_nil(runs))
			return runs;
	}
	return runs_of(look);
}

/* Of the brokers that answer now, and of no others: sums are held against each other. */
static const struct value *
before(const struct top_times *times, const struct top_look *look)
{
	const struct value *calls = NULL;
	size_t i;

	for (i = 0; i < look->broker_count; i++)
		if (look->brokers[i].tables != NULL)
			calls = stats_merge_times(
			    look->arena, calls, oldest_calls(times, &look->brokers[i]));
	return value_map(
	    look->arena, "calls", calls, "runs", oldest_runs(times, look), NULL);
}

void
top_times_note(struct top_times *times, struct top_look *look)
{
	struct arena *arena;

	while (
	    times->count == LOOKS_MAX ||
	    (times->count > 0 && look->at_ms - times->noted[0].at_ms > times->window_ms))
		drop_first(times);
	look->since =
	    times->count > 0 ? value_copy(look->arena, before(times, look)) : NULL;
	arena = arena_new();
	times->noted[times->count++] = (struct noted){ arena,
		value_copy(arena, value_map(look->arena, "calls", calls_by_broker(look),
				      "runs", runs_of(look), NULL)),
		look->at_ms };
}

/* --- as text ------------------------------------------------------------------------------ */

static int64_t
count_at(const struct value *spread, size_t index)
{
	const struct value *count = value_at(value_get(spread, "counts"), index);

	return value_is(count, VALUE_INT) ? count->integer : 0;
}

/* How many have come to the count of that index, NULL before: in all. What counts from 0 again has begun anew. */
static int64_t
more(const struct value *now, const struct value *before, size_t index)
{
	int64_t count = count_at(now, index), old = count_at(before, index);

	return count >= old ? count - old : count;
}

/* The bound that 95 of 100 have not passed, as text; mark is put before it. */
static const char *
within(struct arena *arena, const struct value *bounds, const struct value *now,
    const struct value *before, const char *mark)
{
	size_t count = value_size(bounds), i;
	int64_t all = 0, seen = 0, last;

	for (i = 0; i <= count; i++)
		all += more(now, before, i);
	if (all == 0)
		return "-";
	for (i = 0; i < count; i++) {
		seen += more(now, before, i);
		if (seen * 100 >= all * PER_CENT)
			return arena_printf(arena, "%s%s", mark,
			    top_age(arena, value_at(bounds, i)->integer));
	}
	last = count > 0 ? value_at(bounds, count - 1)->integer : 0;
	return arena_printf(arena, "> %s", top_age(arena, last));
}

static const char *
calls_text(struct arena *arena, const struct value *now, const struct value *before,
    const char *what, const char *kind)
{
	const struct value *bounds = value_get(now, "bounds_ms");

	if (!value_equal(bounds, value_get(before, "bounds_ms")))
		before = NULL;
	return within(arena, bounds, value_get(value_get(now, what), kind),
	    value_get(value_get(before, what), kind), "≤ ");
}

const char *
top_times_text(struct arena *arena, const struct top_look *look)
{
	const struct value *calls = calls_of(look), *runs = runs_of(look);
	const struct value *calls_before = value_get(look->since, "calls");
	const struct value *runs_before = value_get(look->since, "runs");

	if (calls == NULL || runs == NULL)
		return NULL;
	return arena_printf(arena,
	    "runs end %s; model calls wait %s, run %s; tool calls wait %s, run %s",
	    within(arena, value_get(runs, "bounds_ms"),
		value_get(value_get(runs, "ended"), "success"),
		value_get(value_get(runs_before, "ended"), "success"), "within "),
	    calls_text(arena, calls, calls_before, "waited", "model"),
	    calls_text(arena, calls, calls_before, "ran", "model"),
	    calls_text(arena, calls, calls_before, "waited", "tool"),
	    calls_text(arena, calls, calls_before, "ran", "tool"));
}
