/* scenarios: what is measured of a fleet, as data: each row is a fleet, a load, and what a
 * right run of it looks like.
 *
 * A group is a table of the output; what is in `make bench` is marked, all of it is
 * `make bench-full`. */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "load.h"
#include "rig.h"

enum measure {
	MEASURE_RUNS,    /* runs/s, latency, CPU */
	MEASURE_WAITING, /* memory of runs that wait for a slow model */
};

struct scenario {
	const char *name;  /* unique; "in-flight-64" */
	const char *group; /* the table it is a row of: a sentence */
	enum measure measure;
	bool is_short; /* is in `make bench`, too */
	bool is_long;  /* takes half a minute: is measured once, however many rounds */
	size_t in_flight;
	size_t runs; /* 0: what takes some seconds */
	struct rig_options rig;
	bool stream;
	bool watched;     /* somebody listens to all events, not to ends alone */
	const char *base; /* the scenario whose CPU is that of no layer; NULL: none */
};

/* Returns a new list of all, ended by one without a name; free() it. Names are lent for
 * ever. */
struct scenario *scenarios_new(size_t *count_r);

/* What a run of it must be. */
struct load_kind scenario_kind(const struct scenario *scenario);

/* Runs of one measurement of about so many seconds, by what the fleet is known to do. */
size_t scenario_runs(const struct scenario *scenario, double seconds);

/* How long a run takes when only the model does, in milliseconds. */
double scenario_pace_ms(const struct scenario *scenario);

/* Model calls of a run. */
unsigned scenario_calls(const struct scenario *scenario);

/* Writes what is set as "fsync=always latency_ms=50 ...". */
void scenario_describe(const struct scenario *scenario, char *text, size_t size);

#endif
