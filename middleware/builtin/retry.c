#include "retry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "nearest.h"

#define JITTER 0.25

static const struct {
	const char *name;
	enum retry_end end;
} ends[] = {
	{ "continue", RETRY_CONTINUE },
	{ "error", RETRY_ERROR },
	{ "return_message", RETRY_CONTINUE },
	{ "raise", RETRY_ERROR },
};

#define END_COUNT (sizeof ends / sizeof *ends)

static long
find_end(const char *name)
{
	size_t i;

	for (i = 0; i < END_COUNT; i++) {
		if (strcmp(ends[i].name, name) == 0)
			return (long)i;
	}
	return -1;
}

static int
refuse_end(struct arena *arena, const char *given, const char **error_r)
{
	const char *names[END_COUNT], *near;
	size_t i;

	for (i = 0; i < END_COUNT; i++)
		names[i] = ends[i].name;
	near = nearest_name(given, names, END_COUNT);
	*error_r = arena_printf(arena,
	    "/on_failure: must be continue, error or {message: text}, not \"%s\"%s%s%s",
	    given, near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
	    near == NULL ? "" : "\"?");
	return -1;
}

static int
check_end(struct arena *arena, const struct value *end, const char **error_r)
{
	if (value_is(end, VALUE_STR))
		return find_end(end->text) == -1 ? refuse_end(arena, end->text, error_r)
						 : 0;
	if (value_size(end) == 1 && value_get_text(end, "message") != NULL)
		return 0;
	*error_r = "/on_failure: must be continue, error or {message: text}";
	return -1;
}

static int
check_types(struct arena *arena, const struct value *types, const char **error_r)
{
	size_t i;

	for (i = 0; i < value_size(types); i++) {
		/* Tools may invent types: any name will do, but an empty one selects
		 * nothing. */
		if (value_size(value_at(types, i)) > 0)
			continue;
		*error_r =
		    arena_printf(arena, "/retry_on/%zu: must be the name of a type", i);
		return -1;
	}
	return 0;
}

int
retry_configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	if (check_types(arena, value_get(use->settings, "retry_on"), error_r) == -1)
		return -1;
	return check_end(arena, value_get(use->settings, "on_failure"), error_r);
}

struct retry_policy
retry_policy_of(const struct value *settings)
{
	const struct value *end = value_get(settings, "on_failure");
	struct retry_policy policy = {
		.attempts = (unsigned)value_get_int(settings, "max_retries", 2) + 1,
		.retry_on = value_get(settings, "retry_on"),
		.message = value_get_text(end, "message"),
		.factor = value_get_number(settings, "backoff_factor", 2),
		.initial_s = value_get_number(settings, "initial_delay", 1),
		.max_s = value_get_number(settings, "max_delay", 60),
		.jitter = value_get_bool(settings, "jitter", true),
	};

	if (value_is(end, VALUE_STR))
		policy.end = ends[find_end(end->text)].end;
	return policy;
}

uint64_t
retry_delay_ms(const struct retry_policy *policy, const struct fault *fault,
    unsigned attempt, double chance)
{
	double delay_s = policy->initial_s, delay_ms;

	/* 0 * infinity is no delay. */
	if (policy->factor != 0 && delay_s != 0)
		delay_s *= pow(policy->factor, attempt - 1);
	if (policy->jitter)
		delay_s *= 1 - JITTER + 2 * JITTER * chance;
	delay_ms = ceil(fmin(delay_s, policy->max_s) * 1000);
	/* The server knows best; but no call lives longer than this. */
	delay_ms = fmax(delay_ms, (double)fault->retry_after_ms);
	return (uint64_t)fmin(delay_ms, CALL_DEADLINE_MS_MAX);
}

bool
retry_again(const struct retry_policy *policy, const struct fault *fault,
    unsigned attempt, uint64_t left_ms, uint64_t *delay_ms_r)
{
	double chance = (double)arc4random() / 0x1p32;

	if (attempt >= policy->attempts || !fault_matches(fault, policy->retry_on))
		return false;
	*delay_ms_r = retry_delay_ms(policy, fault, attempt, chance);
	return *delay_ms_r < left_ms;
}

const char *
retry_count_text(struct arena *arena, unsigned attempts)
{
	return arena_printf(arena, "%u attempt%s", attempts, attempts == 1 ? "" : "s");
}
