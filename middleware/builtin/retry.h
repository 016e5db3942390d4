/* retry: what model_retry and tool_retry have in common: their settings, which faults are
 * worth another attempt, how long to wait, what to do in the end (semantics.md 6.5, 6.6,
 * 13.12). The rows of their option tables: retry_options.def. */
#ifndef RETRY_H
#define RETRY_H

#include "middleware.h"

enum retry_end {
	RETRY_CONTINUE,
	RETRY_ERROR,
};

struct retry_policy {
	unsigned attempts; /* at least 1 */
	const struct value *retry_on;
	enum retry_end end;
	const char *message; /* fixed text of RETRY_CONTINUE, or NULL */
	double factor, initial_s, max_s;
	bool jitter;
};

/* Checks what the table cannot: for configure. Returns 0, or -1 with a reason. */
int retry_configure(
    struct arena *arena, struct middleware_use *use, const char **error_r);

/* Reads checked settings. */
struct retry_policy retry_policy_of(const struct value *settings);

/* The delay behind attempt (from 1). chance is in [0, 1): the jitter's. */
uint64_t retry_delay_ms(const struct retry_policy *policy, const struct fault *fault,
    unsigned attempt, double chance);

/* True when fault, of attempt (from 1), is worth another one, in *delay_ms_r. Where no time would be left of the
 * call's left_ms it is not: who waited for it would get no answer at all. */
bool retry_again(const struct retry_policy *policy, const struct fault *fault,
    unsigned attempt, uint64_t left_ms, uint64_t *delay_ms_r);

/* "3 attempts", in arena. */
const char *retry_count_text(struct arena *arena, unsigned attempts);

#endif
