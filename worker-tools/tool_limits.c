/* The limits that a tool file sets its program. */
#include "tool_reading.h"

#include <string.h>

#include "bounds.h"
#include "nearest.h"

#define CPU_TIMES 4u /* of the timeout: a program has as much on so many processors */

const struct process_limits tool_limits_default = {
	.memory_bytes = TOOL_MEMORY_BYTES,
	.file_bytes = TOOL_FILE_BYTES,
	.open_files = TOOL_OPEN_FILES,
	.processes = TOOL_PROCESSES,
};

static const struct limit {
	const char *name;
	size_t offset; /* of a uint64_t in struct process_limits */
	int64_t min, max;
} limits[] = {
	{ "memory_bytes", offsetof(struct process_limits, memory_bytes), 1 << 20,
	    INT64_C(1) << 50 },
	{ "cpu_seconds", offsetof(struct process_limits, cpu_seconds), 1,
	    INT64_C(1) << 32 },
	{ "file_bytes", offsetof(struct process_limits, file_bytes), 1,
	    INT64_C(1) << 50 },
	{ "open_files", offsetof(struct process_limits, open_files), 8, 1 << 20 },
	{ "processes", offsetof(struct process_limits, processes), 1, 1 << 22 },
};
#define LIMITS (sizeof limits / sizeof limits[0])

static const char *
path_of(const struct reading *reading, const char *name)
{
	return arena_printf(reading->arena, "/limits/%s", name);
}

static int
read_number(struct reading *reading, const struct limit *limit, const struct value *value)
{
	uint64_t *number =
	    (uint64_t *)(void *)((char *)&reading->tool->limits + limit->offset);

	if (value_text_is(value, "none")) {
		*number = 0;
		return 0;
	}
	if (!value_is(value, VALUE_INT) || value->integer < limit->min ||
	    value->integer > limit->max)
		return reading_refuse(reading, path_of(reading, limit->name),
		    "%s must be none, or a whole number from %lld to %lld", limit->name,
		    (long long)limit->min, (long long)limit->max);
	*number = (uint64_t)value->integer;
	return 0;
}

static int
read_privileges(struct reading *reading, const struct value *value)
{
	if (!value_is(value, VALUE_BOOL))
		return reading_refuse(reading, path_of(reading, TOOL_PRIVILEGES),
		    TOOL_PRIVILEGES " must be true or false, not %s",
		    value_type_name(value->type));
	reading->tool->limits.may_gain_privileges = value->boolean;
	return 0;
}

static int
refuse_unknown(struct reading *reading, const char *name)
{
	const char *names[LIMITS + 1], *nearest;
	size_t i;

	for (i = 0; i < LIMITS; i++)
		names[i] = limits[i].name;
	names[LIMITS] = TOOL_PRIVILEGES;
	nearest = nearest_name(name, names, LIMITS + 1);
	return reading_refuse(reading, path_of(reading, name),
	    "there is no limit '%s'%s%s%s", name,
	    nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
	    nearest != NULL ? "'?" : "");
}

static int
read_limit(struct reading *reading, const char *name, const struct value *value)
{
	size_t i;

	if (strcmp(name, TOOL_PRIVILEGES) == 0)
		return read_privileges(reading, value);
	for (i = 0; i < LIMITS; i++)
		if (strcmp(limits[i].name, name) == 0)
			return read_number(reading, &limits[i], value);
	return refuse_unknown(reading, name);
}

/* No program burns more than its time on a few processors. */
static uint64_t
cpu_seconds(uint64_t timeout_ms)
{
	uint64_t seconds = timeout_ms * CPU_TIMES / 1000;

	return seconds > 0 ? seconds : 1;
}

int
read_limits(struct reading *reading, const struct value *value)
{
	size_t i;

	reading->tool->limits.cpu_seconds = cpu_seconds(reading->tool->timeout_ms);
	if (value == NULL)
		return 0;
	if (!value_is(value, VALUE_MAP))
		return reading_refuse(reading, "/limits",
		    "limits is a map such as {memory_bytes: 536870912, processes: 16}");
	for (i = 0; i < value->size; i++)
		if (read_limit(
			reading, value->pairs[i].key->text, value->pairs[i].value) == -1)
			return -1;
	return 0;
}
