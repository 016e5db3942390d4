/* measure: one measurement of a scenario: a new fleet, a load, every run read back. A run
 * that has not ended as it must ends the benchmark. */
#ifndef MEASURE_H
#define MEASURE_H

#include "loop.h"
#include "scenarios.h"

struct figures {
	size_t runs;
	double seconds, runs_per_s, p50_ms, p99_ms;
	double tokens;                /* a run, that the status channel brought */
	double cpu_us[RIG_PARTS + 1]; /* a run; behind the parts, our own */
	/* Of runs: the most that was resident, of all processes of the part; of waiting
	   runs: what that has grown by, a run. */
	double memory_kb[RIG_FLEET];
	size_t unheard; /* ends that the status channel dropped */
};

/* runs 0: as many as take so many seconds. */
void measure_scenario(struct loop *loop, const struct scenario *scenario, size_t runs,
    double seconds, struct figures *figures_r);

/* The sum of a list of RIG_FLEET. */
double measure_all(const double values[]);

#endif
