#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_log.h"

struct count {
	struct count *next;
	char *key;
	long calls;
};

/* The part of a thread's name that its scenario gave it: of the agent's own thread, and of those that
 * its subagents run on, whose names are made of the run's. */
static int
scenario_size(const char *thread)
{
	const char *end = strstr(thread, "-thread");

	if (end == NULL)
		end = strstr(thread, "-run");
	return (int)(end != NULL ? (size_t)(end - thread) : strlen(thread));
}

/* How often this hook of this probe ran in this scenario, this time included. */
static long
count_call(const char *thread, const char *probe, const char *hook)
{
	static struct count *counts;
	struct count *count;
	char key[512];

	if (thread == NULL)
		thread = "";
	snprintf(
	    key, sizeof key, "%.*s %s %s", scenario_size(thread), thread, probe, hook);
	for (count = counts; count != NULL; count = count->next)
		if (strcmp(count->key, key) == 0)
			return ++count->calls;
	count = calloc(1, sizeof *count);
	if (count == NULL)
		abort();
	count->key = strdup(key);
	count->calls = 1;
	count->next = counts;
	counts = count;
	return 1;
}

static bool
applies(const struct value *action, long call)
{
	const struct value *on_call = value_get(action, "on_call");

	return value_is_nil(on_call) || on_call->integer == call;
}

const struct value *
probe_action(const struct value *settings, const char *hook, const char *thread)
{
	const struct value *actions = value_get(settings, hook);
	long call = count_call(thread, value_get_text(settings, "id"), hook);
	size_t i;

	if (value_is(actions, VALUE_MAP))
		return applies(actions, call) ? actions : value_empty_map();
	for (i = 0; i < value_size(actions); i++)
		if (applies(value_at(actions, i), call))
			return value_at(actions, i);
	return value_empty_map();
}

const char *
probe_error_type(const struct value *action)
{
	const char *type = value_get_text(action, "error_type");

	return type != NULL ? type : "Exception";
}

void
probe_trace_wrap(
    struct arena *arena, const struct value *settings, const char *hook, char way)
{
	probe_log(arena, "trace",
	    value_printf(arena, "%s.%s%c", value_get_text(settings, "id"), hook, way));
}
