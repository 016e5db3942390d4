#include "submit_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "run_options.h"

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
	{ "d", 86400000 } };
#define UNIT_COUNT (sizeof units / sizeof *units)

/* In the largest unit that has it as a whole number. */
static const char *
duration_text(struct arena *arena, int64_t ms)
{
	size_t i = UNIT_COUNT - 1;

	while (i > 0 && ms % units[i].ms != 0)
		i--;
	return arena_printf(arena, "%" PRId64 "%s", ms / units[i].ms, units[i].name);
}

const char *
submit_duration(struct arena *arena, const char *flag, const char *text, int64_t min_ms,
    int64_t max_ms)
{
	char *end = NULL;
	int64_t number;
	size_t i;

	errno = 0;
	number = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : -1;
	for (i = 0; i < UNIT_COUNT && end != NULL; i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (errno != 0 || number > max_ms / units[i].ms)
			complain("%s '%s': must be at most %s", flag, text,
			    duration_text(arena, max_ms));
		else if (number * units[i].ms < min_ms)
			complain("%s '%s': must be at least %s", flag, text,
			    duration_text(arena, min_ms));
		else
			return arena_printf(arena, "%" PRId64, number * units[i].ms);
		return NULL;
	}
	complain("%s '%s': must be a number with its unit: 500ms, 90s, 10m, 8h or 7d",
	    flag, text);
	return NULL;
}

const struct value *
submit_metadata(struct arena *arena, const char *const *pairs)
{
	const struct value *map = value_empty_map();

	for (; *pairs != NULL; pairs++) {
		const char *equals = strchr(*pairs, '=');

		if (equals == NULL || equals == *pairs) {
			complain("--metadata '%s': must be NAME=TEXT", *pairs);
			return NULL;
		}
		map = value_map_with(arena, map,
		    arena_copy(arena, *pairs, (size_t)(equals - *pairs)),
		    value_str(arena, equals + 1));
	}
	return map;
}

static void
set_text(struct value_fields *fields, const char *name, const char *text)
{
	if (text != NULL)
		value_fields_set(fields, name, value_str(fields->arena, text));
}

static void
set_count(struct value_fields *fields, const char *name, int64_t count)
{
	if (count > 0)
		set_text(fields, name, arena_printf(fields->arena, "%" PRId64, count));
}

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Nodes as the JSON of a list. */
static void
set_nodes(struct value_fields *fields, const char *name, const char *const *nodes)
{
	struct value_list list = { .arena = fields->arena };

	for (; nodes != NULL && *nodes != NULL; nodes++)
		value_list_add(&list, value_str(fields->arena, *nodes));
	if (list.count > 0)
		set_text(fields, name, json_text(fields->arena, value_list_end(&list)));
}

/* The flags as fields, not checked yet; NULL after saying why there are none. */
static const struct value *
make_fields(struct arena *arena, const struct submit_options *options)
{
	struct value_fields fields = { .arena = arena };
	const char *after = options->after, *deadline = options->deadline;
	const struct value *metadata;

	if (after != NULL && options->at != NULL) {
		complain("--after and --at exclude each other");
		return NULL;
	}
	if (after != NULL) {
		after = submit_duration(arena, "--after", after, 0, AFTER_MS_MAX);
		if (after == NULL)
			return NULL;
	}
	if (deadline != NULL) {
		deadline = submit_duration(
		    arena, "--deadline", deadline, 1, RUN_DEADLINE_MS_MAX);
		if (deadline == NULL)
			return NULL;
	}
	metadata = submit_metadata(arena, (const char *const *)options->metadata);
	if (metadata == NULL)
		return NULL;
	set_text(&fields, "after_ms", after);
	set_text(&fields, "at", options->at);
	set_text(&fields, "deadline_ms", deadline);
	set_text(&fields, "tenant", options->tenant);
	set_text(&fields, "webhook", options->webhook);
	set_text(&fields, "traceparent", options->traceparent);
	set_nodes(
	    &fields, "interrupt_before", (const char *const *)options->interrupt_before);
	set_nodes(
	    &fields, "interrupt_after", (const char *const *)options->interrupt_after);
	if (value_size(metadata) > 0)
		set_text(&fields, "metadata", json_text(arena, metadata));
	if (options->priority != PRIORITY_USUAL)
		set_text(&fields, "priority",
		    arena_printf(arena, "%" PRId64, options->priority));
	set_count(&fields, "recursion_limit", options->recursion_limit);
	set_count(&fields, "max_concurrency", options->max_concurrency);
	return value_fields_end(&fields);
}

const struct value *
submit_options_fields(struct arena *arena, const struct submit_options *options)
{
	const struct value *fields = make_fields(arena, options);
	struct run_options read;
	const char *error;

	if (fields == NULL)
		return NULL;
	error = run_options_read(arena, fields, wall_ms(), &read);
	if (error == NULL)
		return fields;
	complain("%s", error);
	return NULL;
}
