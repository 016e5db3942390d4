/* run_options: what a submission may say of its run besides what it is to do: when, for how
 * long, how urgent, for whom, who hears of its end, and in whose trace. docs/runs.md.
 *
 * Read from texts, as any client XADDs them; the command line reads its flags by the same
 * rules, so that both refuse with the same words. Pure. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "value.h"

struct run_options {
	int64_t at_ms;       /* not before, ms since 1970 by Redis's clock; 0: now */
	int64_t after_ms;    /* from the submission on: at_ms as far as we know; or 0 */
	int64_t deadline_ms; /* from its start to its end at most; 0: none */
	int64_t priority;    /* 0 goes first, to PRIORITY_MAX */
	const char *tenant;  /* or NULL */
	const char *webhook; /* URL, or NULL */
	const struct value *metadata; /* {name: text, number or bool}, or NULL */
	const char *traceparent;      /* the trace that it is part of, or NULL */
	const char *fingerprint;      /* of what was submitted under its id, or NULL */
	const char
	    *assistant; /* that it was begun by, of its agent (assistants.h), or NULL */
};

/* Reads what of fields ({name: text or bytes}) is its. now_ms is the time of the submission,
 * from which `after_ms` counts. Everything in arena. Returns NULL, or the reason why it is
 * refused, with the field's name. */
const char *run_options_read(struct arena *arena, const struct value *fields,
    int64_t now_ms, struct run_options *options_r);

/* A time as `at` takes it: RFC 3339 with its zone, or ms since 1970. Returns 0, or -1. */
int run_options_time(const char *text, int64_t *ms_r);

/* The fields of the run's record, {name: text or packed bytes}, for store_submit. */
const struct value *run_options_record(
    struct arena *arena, const struct run_options *options);

#endif
