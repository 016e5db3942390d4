#include "fault.h"

#include <stdarg.h>
#include <string.h>

#define CANCELLED "CancelledError"

/* Types that are no Exception: what must pass every handler, as in Python. */
static const char *const control_types[] = { CANCELLED, "GraphInterrupt" };

static const struct {
	const char *type, *parent;
	bool retryable;
} table[] = {
#define FAULT(type, parent, retryable) { #type, parent, retryable },
#include "faults.def"
#undef FAULT
};

/* Python has two names for these. */
static const struct {
	const char *alias, *type;
} aliases[] = {
	{ "IOError", "OSError" },
	{ "EnvironmentError", "OSError" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *
true_name(const char *type)
{
	size_t i;

	for (i = 0; i < COUNT(aliases); i++)
		if (strcmp(aliases[i].alias, type) == 0)
			return aliases[i].type;
	return type;
}

static bool
is_control(const char *type)
{
	size_t i;

	for (i = 0; i < COUNT(control_types); i++)
		if (strcmp(control_types[i], type) == 0)
			return true;
	return false;
}

/* Returns the row of type, or -1 when somebody invented it. */
static long
row(const char *type)
{
	size_t i;

	for (i = 0; i < COUNT(table); i++)
		if (strcmp(table[i].type, type) == 0)
			return (long)i;
	return -1;
}

static bool
is_retryable(const char *type)
{
	long known = row(type);

	return !is_control(type) && (known == -1 || table[known].retryable);
}

struct fault *
fault_new(struct arena *arena, const char *type, const char *format, ...)
{
	struct fault *fault = arena_alloc(arena, sizeof *fault);
	va_list args;

	va_start(args, format);
	fault->message = arena_vprintf(arena, format, args);
	va_end(args);
	fault->type = arena_strdup(arena, type);
	fault->retryable = is_retryable(type);
	fault->control = is_control(type);
	return fault;
}

struct fault *
fault_cancelled(struct arena *arena)
{
	return fault_new(arena, CANCELLED, "cancelled");
}

bool
fault_type_is(const char *type, const char *ancestor)
{
	long known;

	if (type == NULL || ancestor == NULL)
		return false;
	type = true_name(type);
	ancestor = true_name(ancestor);
	if (strcmp(type, ancestor) == 0)
		return true;
	if (is_control(type))
		return false;
	if (strcmp(ancestor, "Exception") == 0)
		return true;
	/* Parents stand before their children in the table: this ends. */
	for (known = row(type); known != -1; known = row(table[known].parent)) {
		if (table[known].parent == NULL)
			return false;
		if (strcmp(true_name(table[known].parent), ancestor) == 0)
			return true;
	}
	return false;
}

bool
fault_matches(const struct fault *fault, const struct value *names)
{
	size_t i;

	if (fault->control)
		return false;
	if (value_is_nil(names))
		return fault->retryable;
	for (i = 0; i < value_size(names); i++)
		if (fault_type_is(fault->type, value_text(value_at(names, i))))
			return true;
	return false;
}

const struct value *
fault_to_value(struct arena *arena, const struct fault *fault)
{
	return value_map(arena, "type", value_str(arena, fault->type), "message",
	    value_str(arena, fault->message), "retry_after_ms",
	    fault->retry_after_ms > 0 ? value_int(arena, fault->retry_after_ms) : NULL,
	    "retryable", value_bool(fault->retryable), "control",
	    fault->control ? value_bool(true) : NULL, "fatal",
	    fault->fatal ? value_bool(true) : NULL, NULL);
}

struct fault *
fault_from_value(struct arena *arena, const struct value *value)
{
	const char *type = value_get_text(value, "type");
	const char *message = value_get_text(value, "message");
	struct fault *fault =
	    fault_new(arena, type == NULL || *type == '\0' ? "Exception" : type, "%s",
		message == NULL ? "no reason was given" : message);

	fault->retry_after_ms = value_get_int(value, "retry_after_ms", 0);
	if (fault->retry_after_ms < 0)
		fault->retry_after_ms = 0;
	fault->retryable = value_get_bool(value, "retryable", fault->retryable);
	/* A worker in another language may have an error of that name, and cancels nothing with it. */
	fault->control = value_get_bool(value, "control", false);
	fault->fatal = value_get_bool(value, "fatal", false);
	return fault;
}

const char *const *
fault_types(void)
{
	static const char *const types[] = {
#define FAULT(type, parent, retryable) #type,
#include "faults.def"
#undef FAULT
		NULL
	};

	return types;
}
