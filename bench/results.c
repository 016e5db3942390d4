#include "results.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"

#define TEXT_BYTES 256u

struct results {
	FILE *file;
	char date[32], commit[64];
};

static const char columns[] =
    "date\tcommit\tmeasure\tsystem\tstored\tin_flight\tcount\tper_s\tp50_ms\tp99_ms\tcpu_"
    "us\tmemory_kb\tparts_cpu_us\tparts_memory_kb\tparameters\n";

/* That of the folder we run in; "-" outside of a repository. */
static void
find_commit(char *commit, size_t size)
{
	FILE *git = popen("git describe --always --dirty --abbrev=7 2>/dev/null", "re");

	if (git == NULL || fgets(commit, (int)size, git) == NULL)
		snprintf(commit, size, "-");
	commit[strcspn(commit, "\n")] = '\0';
	if (git != NULL)
		pclose(git);
}

struct results *
results_open(const char *path)
{
	struct results *results = xcalloc(1, sizeof *results);
	time_t now = time(NULL);
	struct tm utc;

	if (path == NULL)
		return results;
	results->file = fopen(path, "ae");
	if (results->file == NULL)
		err(EXIT_FAILURE, "%s", path);
	if (ftell(results->file) == 0)
		fputs(columns, results->file);
	strftime(results->date, sizeof results->date, "%Y-%m-%dT%H:%M:%SZ",
	    gmtime_r(&now, &utc));
	find_commit(results->commit, sizeof results->commit);
	return results;
}

void
results_close(struct results **results_p)
{
	struct results *results = *results_p;

	if (results->file != NULL && fclose(results->file) == EOF)
		err(EXIT_FAILURE, "the results");
	free(results);
	*results_p = NULL;
}

/* "\tredis=1.0 broker=2.0" */
static void
put_parts(FILE *file, const double values[])
{
	int part;

	for (part = 0; part < RIG_FLEET; part++)
		fprintf(file, "%c%s=%.1f", part == 0 ? '\t' : ' ',
		    rig_part_name((enum rig_part)part), values[part]);
}

/* What was not measured is "-". */
static void
put_number(FILE *file, double value, int digits)
{
	if (value > 0)
		fprintf(file, "\t%.*f", digits, value);
	else
		fputs("\t-", file);
}

void
results_add(struct results *results, const struct scenario *scenario,
    const struct figures *figures)
{
	char parameters[TEXT_BYTES];
	FILE *file = results->file;

	if (file == NULL)
		return;
	scenario_describe(scenario, parameters, sizeof parameters);
	fprintf(file, "%s\t%s\t%s\tfleet\t%s\t%zu\t%zu", results->date, results->commit,
	    scenario->name, scenario->rig.fsync, scenario->in_flight, figures->runs);
	put_number(file, figures->runs_per_s, 1);
	put_number(file, figures->p50_ms, 3);
	put_number(file, figures->p99_ms, 3);
	put_number(file, measure_all(figures->cpu_us), 1);
	put_number(file, measure_all(figures->memory_kb), 1);
	put_parts(file, figures->cpu_us);
	put_parts(file, figures->memory_kb);
	fprintf(file, "\t%s\n", parameters);
	fflush(file);
}
