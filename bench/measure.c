#include "measure.h"

#include <err.h>
#include <stdlib.h>
#include <unistd.h>

#include "line.h"
#include "usage.h"

#define WARM_UP_RUNS_MAX 200u
#define SLOTS_MIN 64u
#define REST_S 3u /* who has waited for a second gives some memory back */

double
measure_all(const double values[])
{
	double sum = 0;
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		sum += values[part];
	return sum;
}

static void
read_cpu(const struct rig *rig, double cpu_us[RIG_PARTS + 1])
{
	int part;

	for (part = 0; part < RIG_PARTS; part++)
		cpu_us[part] = rig_cpu_us(rig, (enum rig_part)part);
	cpu_us[RIG_PARTS] = usage_cpu_us(getpid());
}

static void
check_all(struct load *load)
{
	size_t wrong = load_check(load);

	if (wrong > 0)
		errx(EXIT_FAILURE, "%zu runs have not ended as they must", wrong);
}

static void
measure_load(
    const struct rig *rig, struct load *load, size_t in_flight, struct figures *figures)
{
	double before_us[RIG_PARTS + 1];
	struct load_result result;
	size_t runs = figures->runs, warm_up = runs / 5 + 1;
	int i;

	load_run(load, warm_up < WARM_UP_RUNS_MAX ? warm_up : WARM_UP_RUNS_MAX, in_flight,
	    &result);
	free(result.latencies_ms);
	rig_forget_peaks(rig);
	read_cpu(rig, before_us);
	load_run(load, runs, in_flight, &result);
	read_cpu(rig, figures->cpu_us);
	for (i = 0; i <= RIG_PARTS; i++)
		figures->cpu_us[i] = (figures->cpu_us[i] - before_us[i]) / (double)runs;
	for (i = 0; i < RIG_FLEET; i++)
		figures->memory_kb[i] =
		    (double)rig_peak_bytes(rig, (enum rig_part)i) / 1024;
	figures->seconds = result.seconds;
	figures->runs_per_s = (double)runs / result.seconds;
	figures->p50_ms = line_percentile(result.latencies_ms, result.runs, 0.50);
	figures->p99_ms = line_percentile(result.latencies_ms, result.runs, 0.99);
	figures->tokens = (double)result.tokens / (double)runs;
	figures->unheard = result.unheard;
	free(result.latencies_ms);
	check_all(load);
}

/* --- runs that wait ------------------------------------------------------------------ */

static void
measure_waiting(const struct rig *rig, struct load *load, struct figures *figures)
{
	int part;

	load_submit(load, 1); /* what every process makes once */
	rig_await_connections(rig, 1);
	for (part = 0; part < RIG_FLEET; part++)
		figures->memory_kb[part] =
		    -(double)rig_resident_bytes(rig, (enum rig_part)part);
	load_submit(load, figures->runs);
	rig_await_connections(rig, figures->runs + 1);
	sleep(REST_S);
	for (part = 0; part < RIG_FLEET; part++) {
		figures->memory_kb[part] +=
		    (double)rig_resident_bytes(rig, (enum rig_part)part);
		figures->memory_kb[part] /= 1024 * (double)figures->runs;
	}
}

/* --- both ---------------------------------------------------------------------------- */

void
measure_scenario(struct loop *loop, const struct scenario *scenario, size_t runs,
    double seconds, struct figures *figures_r)
{
	bool is_waiting = scenario->measure == MEASURE_WAITING;
	struct load_kind kind = scenario_kind(scenario);
	struct rig_options options = scenario->rig;
	struct rig *rig;
	struct load *load;

	*figures_r = (struct figures){ .runs = scenario->in_flight };
	if (!is_waiting)
		figures_r->runs = runs > 0 ? runs : scenario_runs(scenario, seconds);
	options.calls = scenario->in_flight * kind.parallel + 1;
	if (options.calls < SLOTS_MIN)
		options.calls = SLOTS_MIN;
	rig = rig_start(&options);
	load = load_new(loop, rig_redis(rig), rig_status(rig), &kind);
	if (is_waiting)
		measure_waiting(rig, load, figures_r);
	else
		measure_load(rig, load, scenario->in_flight, figures_r);
	load_destroy(&load);
	if (is_waiting)
		rig_kill(&rig); /* nobody waits for that model */
	else
		rig_stop(&rig);
}
