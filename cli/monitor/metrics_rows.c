#include "metrics_rows.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "service_kind.h"
#include "settings.h"
#include "stats.h"
#include "top_row.h"

/* A process or a service, with what is told of it. */
struct item {
	const char *kind, *name;
	const char *state; /* of a process */
	const struct value *numbers;
};

struct items {
	struct item *list;
	size_t count;
};

struct rows {
	struct arena *arena;
	struct value_list of[METRICS_SOURCES];
};

static const char *const process_kinds[] = { "broker", "coordinator", "worker-model",
	"worker-tools", "store", "worker" };
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void
add_row(struct rows *rows, enum metrics_source source, const struct value *labels,
    const struct value *numbers)
{
	value_list_add(&rows->of[source],
	    value_map(rows->arena, "labels", labels, "numbers", numbers, NULL));
}

/* {name: text} */
static const struct value *
label(const struct rows *rows, const char *name, const char *text)
{
	return value_map(rows->arena, name, value_str(rows->arena, text), NULL);
}

static const struct value *
two_labels(const struct rows *rows, const char *name, const char *text, const char *other,
    const char *other_text)
{
	return value_map(rows->arena, name, value_str(rows->arena, text), other,
	    value_str(rows->arena, other_text), NULL);
}

static const struct value *
number(const struct rows *rows, const char *key, int64_t integer)
{
	return value_map(rows->arena, key, value_int(rows->arena, integer), NULL);
}

/* What map has as key, or 0. */
static const struct value *
or_zero(const struct rows *rows, const struct value *map, const char *key)
{
	return value_int(rows->arena, value_get_int(map, key, 0));
}

/* --- what there may be many of -------------------------------------------------------- */

static int
by_kind_and_name(const void *one, const void *other)
{
	const struct item *a = one, *b = other;
	int order = strcmp(a->kind, b->kind);

	return order != 0 ? order : strcmp(a->name, b->name);
}

static bool
adds_up(const char *key)
{
	static const char *const keys[] = { "calls", "slots", "slots_free", "workers",
		"queued", "running" };
	size_t i;

	for (i = 0; i < COUNT(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

/* Sums of what adds up, the larger one of the rest. */
static const struct value *
both(struct arena *arena, const struct value *one, const struct value *other)
{
	struct value_fields fields = { .arena = arena };
	size_t i;

	value_fields_put_all(&fields, one);
	for (i = 0; i < value_size(other); i++) {
		const char *key = value_text(other->pairs[i].key);
		int64_t a = value_get_int(one, key, 0);
		int64_t b = value_get_int(other, key, 0);

		value_fields_set(&fields, key,
		    value_int(arena, adds_up(key) ? a + b
				     : a > b      ? a
						  : b));
	}
	return value_fields_end(&fields);
}

/* Sorts them, and makes one of those with the same kind and name. */
static void
fold(struct arena *arena, struct items *items)
{
	size_t count = 0, i;

	qsort(items->list, items->count, sizeof *items->list, by_kind_and_name);
	for (i = 0; i < items->count; i++) {
		struct item *last = count > 0 ? &items->list[count - 1] : NULL;

		if (last != NULL && by_kind_and_name(last, &items->list[i]) == 0)
			last->numbers =
			    both(arena, last->numbers, items->list[i].numbers);
		else
			items->list[count++] = items->list[i];
	}
	items->count = count;
}

/* A row each, and how many have none. */
static void
add_items(struct rows *rows, enum metrics_source source, const char *name,
    const struct items *items)
{
	size_t shown = items->count < METRICS_ROWS_MAX ? items->count : METRICS_ROWS_MAX;
	size_t i;

	for (i = 0; i < shown; i++)
		add_row(rows, source,
		    two_labels(
			rows, "kind", items->list[i].kind, name, items->list[i].name),
		    items->list[i].numbers);
	add_row(rows, METRICS_LEFT_OUT, label(rows, "table", name),
	    number(rows, "rows", (int64_t)(items->count - shown)));
}

/* The sum, or the largest, of what those of kind have as key. */
static const struct value *
of_kind(
    const struct rows *rows, const struct items *items, const char *kind, const char *key)
{
	int64_t all = 0, one;
	size_t i;

	for (i = 0; i < items->count; i++) {
		if (strcmp(items->list[i].kind, kind) != 0)
			continue;
		one = value_get_int(items->list[i].numbers, key, 0);
		all = adds_up(key) ? all + one : all > one ? all : one;
	}
	return value_int(rows->arena, all);
}

/* --- processes ------------------------------------------------------------------------- */

static const char *
process_kind(const struct value *row)
{
	if (!value_text_is(value_get(row, "role"), "worker"))
		return "coordinator";
	if (stats_serves(row, "model:"))
		return "worker-model";
	if (stats_serves(row, "tool") || stats_serves(row, "webhook"))
		return "worker-tools";
	return stats_serves(row, "store") ? "store" : "worker";
}

static const struct value *
process_numbers(struct rows *rows, const struct value *row)
{
	bool works = value_text_is(value_get(row, "role"), "worker");
	bool stuck = value_text_is(value_get(row, "probe"), "stuck");
	bool trouble = value_get_text(row, "trouble") != NULL;

	return value_map(rows->arena, "calls",
	    or_zero(rows, row, works ? "load" : "asked"), "slots",
	    value_get(row, "capacity"), "slots_free", value_get(row, "room"), "oldest_ms",
	    works ? or_zero(rows, row, "oldest_ms") : NULL, "lag_ms",
	    value_get(row, "lag_ms"), "silent_ms", value_get(row, "silent_ms"),
	    "uptime_ms", value_get(row, "uptime_ms"), "restarts",
	    value_get(row, "restarts"), "stuck", value_int(rows->arena, stuck), "trouble",
	    value_int(rows->arena, trouble), NULL);
}

/* All but brokers, and those who only look. */
static struct items
processes_of(struct rows *rows, const struct value *sessions)
{
	struct items items = { arena_alloc(rows->arena,
				   (value_size(sessions) + 1) * sizeof *items.list),
		0 };
	size_t i;

	for (i = 0; i < value_size(sessions); i++) {
		const struct value *row = value_at(sessions, i);

		if (value_text_is(value_get(row, "role"), "client"))
			continue;
		items.list[items.count++] =
		    (struct item){ process_kind(row), value_get_text(row, "name"),
			    top_state(row), process_numbers(rows, row) };
	}
	return items;
}

static void
add_states(struct rows *rows, const struct top_look *seen, const struct items *items)
{
	const char *const *state;
	size_t kind, i;

	for (kind = 0; kind < COUNT(process_kinds); kind++) {
		for (state = top_states; *state != NULL; state++) {
			int64_t count = 0;

			for (i = 0; i < items->count; i++)
				count += strcmp(items->list[i].kind,
					     process_kinds[kind]) == 0 &&
					 strcmp(items->list[i].state, *state) == 0;
			for (i = 0; kind == 0 && i < seen->broker_count; i++)
				count += seen->brokers[i].tables != NULL &&
					 strcmp(top_state(value_get(
						    seen->brokers[i].tables, "broker")),
					     *state) == 0;
			add_row(rows, METRICS_STATES,
			    two_labels(
				rows, "kind", process_kinds[kind], "state", *state),
			    number(rows, "processes", count));
		}
	}
}

static void
add_processes(struct rows *rows, const struct top_look *seen)
{
	struct items items = processes_of(rows, value_get(seen->tables, "sessions"));
	size_t i;

	add_states(rows, seen, &items);
	fold(rows->arena, &items);
	for (i = 2; i < COUNT(process_kinds); i++) /* brokers, coordinators: no slots */
		add_row(rows, METRICS_KINDS, label(rows, "kind", process_kinds[i]),
		    value_map(rows->arena, "slots",
			of_kind(rows, &items, process_kinds[i], "slots"), "slots_used",
			of_kind(rows, &items, process_kinds[i], "calls"), "slots_free",
			of_kind(rows, &items, process_kinds[i], "slots_free"), NULL));
	add_items(rows, METRICS_PROCESSES, "process", &items);
}

/* --- services -------------------------------------------------------------------------- */

static void
add_services(struct rows *rows, const struct top_look *seen)
{
	const struct value *services = value_get(seen->tables, "services");
	struct items items = { arena_alloc(rows->arena,
				   (value_size(services) + 1) * sizeof *items.list),
		0 };
	size_t i;

	for (i = 0; i < value_size(services); i++) {
		const struct value *row = value_at(services, i);
		const char *name = value_get_text(row, "name"),
			   *kind = service_kind_name(service_kind_of(name));

		/* worker:SESSION is another one with each start of a worker. */
		items.list[items.count++] = (struct item){ kind,
			strcmp(kind, "worker") == 0 ? "worker:*" : name, NULL,
			value_map(rows->arena, "workers", value_get(row, "workers"),
			    "queued", value_get(row, "queued"), "running",
			    value_get(row, "running"), "oldest_ms",
			    or_zero(rows, row, "oldest_ms"), NULL) };
	}
	fold(rows->arena, &items);
	for (i = 0; i < SERVICE_KINDS; i++) {
		const char *kind = service_kind_name((enum service_kind)i);

		add_row(rows, METRICS_QUEUES, label(rows, "kind", kind),
		    value_map(rows->arena, "queued",
			of_kind(rows, &items, kind, "queued"), "running",
			of_kind(rows, &items, kind, "running"), "oldest_ms",
			of_kind(rows, &items, kind, "oldest_ms"), NULL));
	}
	add_items(rows, METRICS_SERVICES, "service", &items);
}

/* --- brokers --------------------------------------------------------------------------- */

static const struct value *
broker_numbers(struct rows *rows, const struct value *tables)
{
	const struct value *bodies = value_get(tables, "bodies");
	const struct value *up = number(rows, "up", tables != NULL);

	if (tables == NULL)
		return up;
	up = value_map_merge(rows->arena, value_get(tables, "broker"), up);
	up = value_map_merge(rows->arena, up,
	    value_map(rows->arena, "bodies_bytes", value_get(bodies, "bytes"),
		"bodies_bytes_max", value_get(bodies, "bytes_max"), NULL));
	return value_map_merge(rows->arena, up, value_get(tables, "counters"));
}

/* With the bounds that it was counted by; NULL: it is not told. */
static const struct value *
spread_of(
    struct rows *rows, const struct value *times, const char *what, const char *kind)
{
	const struct value *spread = value_get(value_get(times, what), kind);

	return spread == NULL ? NULL
			      : value_map_with(rows->arena, spread, "bounds_ms",
				    value_get(times, "bounds_ms"));
}

static void
add_times(struct rows *rows, const struct top_broker *broker)
{
	const struct value *times = value_get(broker->tables, "times");
	unsigned kind;

	for (kind = 0; kind < SERVICE_KINDS; kind++) {
		const char *name = service_kind_name((enum service_kind)kind);

		add_row(rows, METRICS_TIMES,
		    two_labels(rows, "broker", broker->endpoint, "kind", name),
		    value_map(rows->arena, "waited",
			spread_of(rows, times, "waited", name), "ran",
			spread_of(rows, times, "ran", name), NULL));
	}
}

static void
add_broker(struct rows *rows, const struct top_broker *broker)
{
	static const char *const states[] = { "held", "queued", "assigned", "kept" };
	const struct value *calls = value_get(broker->tables, "calls");
	size_t i;

	add_times(rows, broker);
	add_row(rows, METRICS_BROKERS, label(rows, "broker", broker->endpoint),
	    broker_numbers(rows, broker->tables));
	for (i = 0; i < COUNT(states); i++)
		add_row(rows, METRICS_BROKER_CALLS,
		    two_labels(rows, "broker", broker->endpoint, "state", states[i]),
		    value_map(rows->arena, "calls", value_get(calls, states[i]), NULL));
}

static bool
is_new(const struct top_look *seen, size_t broker)
{
	size_t i;

	for (i = 0; i < broker; i++)
		if (strcmp(seen->brokers[i].endpoint, seen->brokers[broker].endpoint) ==
		    0)
			return false;
	return true;
}

/* --- Redis ------------------------------------------------------------------------------ */

static const struct value *
redis_numbers(struct rows *rows, const struct value *counts)
{
	struct arena *arena = rows->arena;
	int64_t bytes = value_get_int(counts, "bytes", 0);
	int64_t bytes_max = value_get_int(counts, "bytes_max", 0);
	const struct value *numbers = value_map_merge(arena, counts,
	    value_map(arena, "up", value_bool(true), "inbox_oldest_ms",
		or_zero(rows, counts, "inbox_oldest_ms"), "asks_oldest_ms",
		or_zero(rows, counts, "asks_oldest_ms"), "crons_late_ms",
		or_zero(rows, counts, "crons_late_ms"), NULL));

	if (bytes_max == 0)
		return value_map_with(arena, numbers, "bytes_max", NULL);
	return value_map_with(arena, numbers, "share",
	    value_float(arena, (double)bytes / (double)bytes_max));
}

/* What was counted of answers is one of two numbers of a model, and all else tokens. */
static void
add_tokens(struct rows *rows, const struct value *counted)
{
	size_t i;

	for (i = 0; i < value_size(counted) && i < METRICS_TOKENS_MAX; i++) {
		const struct value *row = value_at(counted, i);
		const char *model = value_get_text(row, "model");
		const char *kind = value_get_text(row, "kind");
		int64_t count = value_get_int(row, "count", 0);

		if (strcmp(kind, "answers") == 0 || strcmp(kind, "untold") == 0)
			add_row(rows, METRICS_MODELS, label(rows, "model", model),
			    number(rows, kind, count));
		else
			add_row(rows, METRICS_TOKENS,
			    two_labels(rows, "model", model, "kind", kind),
			    number(rows, "count", count));
	}
}

static void
add_counts(struct rows *rows, const struct value *counts)
{
	const struct value *ended = value_get(counts, "ended");
	int64_t waiting = value_get_int(counts, "waiting_threads", 0);
	int64_t running = value_get_int(counts, "live_threads", 0) - waiting;
	size_t i;

	add_row(rows, METRICS_REDIS, value_empty_map(), redis_numbers(rows, counts));
	/* The two were counted one after the other. */
	add_row(rows, METRICS_THREADS, label(rows, "state", "running"),
	    number(rows, "threads", running > 0 ? running : 0));
	add_row(rows, METRICS_THREADS, label(rows, "state", "waiting"),
	    number(rows, "threads", waiting));
	add_row(rows, METRICS_THREADS, label(rows, "state", "interrupted"),
	    number(rows, "threads", value_get_int(counts, "asks", 0)));
	for (i = 0; i < value_size(ended); i++)
		add_row(rows, METRICS_ENDED,
		    label(rows, "status", value_text(ended->pairs[i].key)),
		    value_map(rows->arena, "runs", ended->pairs[i].value, NULL));
	for (i = 0; i < value_size(ended); i++)
		add_row(rows, METRICS_ENDED_AFTER,
		    label(rows, "status", value_text(ended->pairs[i].key)),
		    value_map(rows->arena, "took",
			spread_of(rows, value_get(counts, "times"), "ended",
			    value_text(ended->pairs[i].key)),
			NULL));
	add_tokens(rows, value_get(counts, "tokens"));
}

void
metrics_rows_of(
    const struct top_look *seen, uint64_t took_ms, struct metrics_rows *rows_r)
{
	struct rows rows = { .arena = seen->arena };
	bool up = seen->tables != NULL && seen->counts != NULL;
	size_t i;

	for (i = 0; i < METRICS_SOURCES; i++)
		rows.of[i].arena = seen->arena;
	add_row(&rows, METRICS_FLEET, value_empty_map(),
	    value_map(seen->arena, "up", value_bool(up), "took_ms",
		value_int(seen->arena, (int64_t)took_ms), NULL));
	add_row(&rows, METRICS_BUILD, label(&rows, "version", FLOTILLA_VERSION),
	    number(&rows, "one", 1));
	for (i = 0; i < seen->broker_count; i++)
		if (is_new(seen, i))
			add_broker(&rows, &seen->brokers[i]);
	if (seen->tables != NULL) {
		add_processes(&rows, seen);
		add_services(&rows, seen);
	}
	if (seen->counts != NULL)
		add_counts(&rows, seen->counts);
	else
		add_row(&rows, METRICS_REDIS, value_empty_map(), number(&rows, "up", 0));
	for (i = 0; i < METRICS_SOURCES; i++)
		rows_r->of[i] = value_list_end(&rows.of[i]);
}
