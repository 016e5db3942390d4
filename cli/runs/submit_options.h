/* submit_options: what flags of `submit` say of a run besides what it is to do, as fields of
 * its entry in the inbox. */
#ifndef SUBMIT_OPTIONS_H
#define SUBMIT_OPTIONS_H

#include "command.h"

struct submit_options {
	const char *after, *at, *deadline, *tenant, *webhook, *traceparent;
	int64_t priority;
	int64_t recursion_limit, max_concurrency; /* 0: its agent's */
	const char **metadata;                    /* "name=text" */
	const char **interrupt_before,
	    **interrupt_after; /* nodes; or NULL: a command without these flags */
};

/* "90s", given as flag, as milliseconds in text, or NULL after saying why not: it may be min_ms to
 * max_ms. */
const char *submit_duration(struct arena *arena, const char *flag, const char *text,
    int64_t min_ms, int64_t max_ms);

/* {name: text} of pairs "name=text" (NULL-ended); NULL after saying which is none. */
const struct value *submit_metadata(struct arena *arena, const char *const *pairs);

/* Returns the fields in arena, or NULL after saying on stderr what is wrong. */
const struct value *submit_options_fields(
    struct arena *arena, const struct submit_options *options);

#endif
