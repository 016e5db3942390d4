/* bench-dispatch: one measurement of bare dispatch (dispatch.h) as a line (../line.h).
 *
 *	bench-dispatch fleet|gearmand|beanstalkd JOBS IN_FLIGHT */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../line.h"
#include "../usage.h"
#include "dispatch.h"
#include "memory.h"

#define WARM_UP_JOBS 2000u

static const struct dispatch_system *const systems[] = { &dispatch_fleet,
	&dispatch_gearman, &dispatch_beanstalk, NULL };

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* --- jobs -------------------------------------------------------------------------------- */

void
dispatch_job(char job[DISPATCH_BYTES], size_t number)
{
	int size = snprintf(job, DISPATCH_BYTES, "%zu ", number);

	memset(job + size, 'x', DISPATCH_BYTES - (size_t)size);
}

bool
dispatch_next(struct dispatch *dispatch, size_t *number_r)
{
	if (dispatch->sent == dispatch->jobs ||
	    dispatch->sent - dispatch->answered == dispatch->in_flight)
		return false;
	*number_r = dispatch->sent++;
	dispatch->began_ms[*number_r] = now_ms();
	return true;
}

void
dispatch_answer(struct dispatch *dispatch, const char *answer, size_t size)
{
	char expected[DISPATCH_BYTES];
	size_t number = size == DISPATCH_BYTES ? strtoul(answer, NULL, 10) : 0;

	dispatch_job(expected, number);
	if (size != DISPATCH_BYTES || number >= dispatch->sent ||
	    dispatch->began_ms[number] == 0 || memcmp(answer, expected, size) != 0)
		errx(EXIT_FAILURE, "an answer to no job: %zu bytes", size);
	if (dispatch->latencies_ms != NULL)
		dispatch->latencies_ms[dispatch->answered] =
		    now_ms() - dispatch->began_ms[number];
	dispatch->began_ms[number] = 0;
	dispatch->answered++;
}

/* --- measuring --------------------------------------------------------------------------- */

enum part { QUEUE, WORKER, CLIENT, PARTS };
static const char *const part_names[PARTS] = { "queue", "worker", "client" };

static void
read_cpu(const struct child *queue, const struct child *worker, double cpu_us[PARTS])
{
	cpu_us[QUEUE] = usage_cpu_us(child_pid(queue));
	cpu_us[WORKER] = usage_cpu_us(child_pid(worker));
	cpu_us[CLIENT] = usage_cpu_us(getpid());
}

static void
run(const struct dispatch_system *system, size_t jobs, size_t in_flight,
    double *latencies_ms)
{
	struct dispatch dispatch = { .jobs = jobs,
		.in_flight = in_flight,
		.began_ms = xcalloc(jobs, sizeof(double)),
		.latencies_ms = latencies_ms };

	system->run(&dispatch);
	free(dispatch.began_ms);
}

static void
measure(const struct dispatch_system *system, size_t jobs, size_t in_flight,
    const struct child *queue, const struct child *worker)
{
	double *latencies_ms = xcalloc(jobs, sizeof *latencies_ms), before[PARTS],
	       after[PARTS], begin_ms;
	struct line line = { .measure = "dispatch",
		.system = system->name,
		.in_flight = in_flight,
		.count = jobs };
	char parts[LINE_PARTS_BYTES] = "";
	int part;

	run(system, WARM_UP_JOBS, in_flight, NULL);
	read_cpu(queue, worker, before);
	begin_ms = now_ms();
	run(system, jobs, in_flight, latencies_ms);
	line.per_s = (double)jobs / ((now_ms() - begin_ms) / 1e3);
	read_cpu(queue, worker, after);
	for (part = 0; part < PARTS; part++) {
		double one = (after[part] - before[part]) / (double)jobs;

		line.cpu_us += one;
		line_add_part(parts, part_names[part], one);
	}
	qsort(latencies_ms, jobs, sizeof *latencies_ms, line_by_size);
	line.p50_ms = line_percentile(latencies_ms, jobs, 0.50);
	line.p99_ms = line_percentile(latencies_ms, jobs, 0.99);
	line.parts = parts;
	line_print(&line);
	free(latencies_ms);
}

/* --- main -------------------------------------------------------------------------------- */

static const struct dispatch_system *
system_of(const char *name)
{
	size_t i;

	for (i = 0; systems[i] != NULL; i++)
		if (strcmp(systems[i]->name, name) == 0)
			return systems[i];
	errx(EXIT_FAILURE, "%s: no such queue", name);
}

static void
bench(const struct dispatch_system *system, size_t jobs, size_t in_flight)
{
	char self[USAGE_PATH_BYTES], build[USAGE_PATH_BYTES], *folder = folder_new();
	struct child *queue, *worker;

	system->start(usage_program(self), usage_build(build), folder, &queue, &worker);
	measure(system, jobs, in_flight, queue, worker);
	child_kill(&worker);
	child_kill(&queue);
	system->stop();
	folder_remove(&folder);
}

int
main(int argc, char *argv[])
{
	if (argc != 4)
		errx(EXIT_FAILURE, "usage: bench-dispatch fleet|gearmand|beanstalkd JOBS "
				   "IN_FLIGHT");
	if (strcmp(argv[1], "worker") == 0)
		system_of(argv[2])->worker(argv[3]);
	else
		bench(system_of(argv[1]), strtoul(argv[2], NULL, 10),
		    strtoul(argv[3], NULL, 10));
	return EXIT_SUCCESS;
}
