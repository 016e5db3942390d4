/* limit: what model_call_limit and tool_call_limit have in common: a limit of the thread and one of
 * the run, and how they are told (semantics.md 6.2, 6.3, 13.13). The rows of their option tables:
 * limit_options.def. */
#ifndef LIMIT_H
#define LIMIT_H

#include "middleware.h"

#define LIMIT_MAX 1e9

/* Calls, of the thread and of the run: as limits, LIMIT_NONE is any number. */
#define LIMIT_NONE (-1)
struct limit_pair {
	int64_t thread, run;
};

/* Refuses settings that limit nothing: for configure. Returns 0, or -1 with a reason. */
int limit_configure(const struct middleware_use *use, const char **error_r);

/* Reads checked settings. */
struct limit_pair limit_pair_of(const struct value *settings);

/* Whether used is above either of limits. */
bool limit_exceeded(struct limit_pair limits, struct limit_pair used);

/* "thread limit (6/5), run limit (3/2)": those of limits that used has reached, in arena. */
const char *limit_text(
    struct arena *arena, struct limit_pair limits, struct limit_pair used);

#endif
