#include "top_row.h"

#include <inttypes.h>
#include <string.h>

#include "show.h"

#define SILENT_MS 1000 /* not heard for so long: worth a word */

const char *
top_age(struct arena *arena, int64_t ms)
{
	if (ms < 1000)
		return arena_printf(arena, "%" PRId64 " ms", ms);
	if (ms < 60000)
		return arena_printf(arena, "%.1f s", (double)ms / 1000);
	if (ms < INT64_C(3600000))
		return arena_printf(arena, "%" PRId64 " m", ms / 60000);
	if (ms < INT64_C(172800000))
		return arena_printf(arena, "%" PRId64 " h", ms / 3600000);
	return arena_printf(arena, "%" PRId64 " d", ms / 86400000);
}

static int64_t
sum(const struct value *map, const char *key)
{
	return value_get_int(map, key, 0);
}

static bool
is_worker(const struct value *row)
{
	return value_text_is(value_get(row, "role"), "worker");
}

static const char *
name_text(struct arena *arena, const struct value *row)
{
	const char *name = value_get_text(row, "name");

	return show_line(arena, name != NULL ? name : "-", 20);
}

const char *const top_states[] = { "ok", "full", "recovers", "silent", "drains",
	"trouble", "stuck", NULL };

/* The first word that holds. */
const char *
top_state(const struct value *row)
{
	if (value_text_is(value_get(row, "probe"), "stuck"))
		return "stuck";
	if (value_get_text(row, "trouble") != NULL)
		return "trouble";
	if (value_get_bool(row, "draining", false) ||
	    value_get_bool(row, "leaving", false))
		return "drains";
	if (sum(row, "silent_ms") >= SILENT_MS)
		return "silent";
	if (value_get_bool(row, "recovering", false))
		return "recovers";
	if (is_worker(row) && sum(row, "capacity") > 0 && sum(row, "room") == 0)
		return "full";
	return "ok";
}

static const char *
state_text(struct arena *arena, const struct value *row)
{
	(void)arena;
	return top_state(row);
}

static const char *
number_text(struct arena *arena, const struct value *row, const char *key)
{
	return value_has(row, key) ? arena_printf(arena, "%" PRId64, sum(row, key)) : "-";
}

static const char *
calls_text(struct arena *arena, const struct value *row)
{
	return number_text(arena, row, is_worker(row) ? "load" : "asked");
}

static const char *
free_text(struct arena *arena, const struct value *row)
{
	return number_text(arena, row, "room");
}

static const char *
slots_text(struct arena *arena, const struct value *row)
{
	return number_text(arena, row, "capacity");
}

static const char *
oldest_text(struct arena *arena, const struct value *row)
{
	int64_t ms = sum(row, "oldest_ms");

	return ms > 0 ? top_age(arena, ms) : "-";
}

static const char *
lag_text(struct arena *arena, const struct value *row)
{
	return top_age(arena, sum(row, "lag_ms"));
}

static const char *
up_text(struct arena *arena, const struct value *row)
{
	return top_age(arena, sum(row, "uptime_ms"));
}

static const char *
again_text(struct arena *arena, const struct value *row)
{
	return number_text(arena, row, "restarts");
}

static const char *
heard_text(struct arena *arena, const struct value *row)
{
	return value_has(row, "silent_ms") ? top_age(arena, sum(row, "silent_ms")) : "-";
}

/* "tool:a tool:b model:c" as "tool:a b model:c": the kind is said once. */
static const char *
serves_text(struct arena *arena, const struct value *row)
{
	const struct value *services = value_get(row, "services");
	const char *text = "", *kind = "";
	size_t kind_size = 0, i;

	for (i = 0; i < value_size(services); i++) {
		const char *name = value_text(value_at(services, i));
		const char *colon = strchr(name, ':');
		size_t size = colon != NULL ? (size_t)(colon - name) + 1 : 0;

		if (size > 0 && size == kind_size && memcmp(name, kind, size) == 0)
			name += size;
		else
			kind = name;
		kind_size = size;
		text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", name);
	}
	return text;
}

/* from: shown in terminals of so many columns and more. */
static const struct column {
	const char *title;
	int width; /* negative: flush left */
	size_t from;
	const char *(*text)(struct arena *arena, const struct value *row);
} columns[] = {
	{ "PROCESS", -20, 0, name_text },
	{ "STATE", -8, 0, state_text },
	{ "CALLS", 5, 0, calls_text },
	{ "FREE", 5, 0, free_text },
	{ "SLOTS", 6, 73, slots_text },
	{ "OLDEST", 7, 50, oldest_text },
	{ "LAG", 6, 58, lag_text },
	{ "UP", 6, 65, up_text },
	{ "AGAIN", 5, 79, again_text },
	{ "HEARD", 6, 90, heard_text },
	{ "SERVES", 0, 100, serves_text },
};
#define COLUMNS (sizeof columns / sizeof columns[0])

const char *
top_row(struct arena *arena, const struct value *row, size_t width)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		const struct column *column = &columns[i];

		if (width < column->from)
			continue;
		text =
		    arena_printf(arena, "%s%s%*s", text, i == 0 ? "" : " ", column->width,
			row == NULL ? column->title : column->text(arena, row));
	}
	return text;
}
