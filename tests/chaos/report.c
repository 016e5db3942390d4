#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "lives.h"
#include "versions.h"

static void
write_runs(FILE *file, const struct check *check)
{
	static const char *const names[ENDS] = { "success", "cancelled", "error",
		"quarantined", "poison", "other" };
	unsigned i;

	fprintf(file, "| runs ended | |\n| --- | --- |\n");
	for (i = 0; i < ENDS; i++)
		if (check->ended[i] > 0)
			fprintf(file, "| %s | %lu |\n", names[i], check->ended[i]);
	fprintf(file, "| submissions with an unknown outcome, sent again | %lu |\n",
	    check->resubmitted);
	fprintf(file, "| made way for another, their thread put back | %lu, %lu |\n",
	    check->ousted, check->put_back);
	fprintf(file,
	    "| begun under a name that is used again, of these deleted | %lu, %lu |\n",
	    lives_begun(check->load->lives), lives_deleted(check->load->lives));
	fprintf(file, "| deleted alone, of their threads | %lu |\n", check->erased);
	fprintf(file, "| went on behind a failure | %lu |\n", check->gone_on);
	fprintf(file, "| versions of an agent, applied meanwhile | %u |\n",
	    versions_count(check->load->versions));
	fprintf(file, "| commits | %lu |\n| claims, takeovers of them | %lu, %lu |\n",
	    check->commits, check->claims, check->takeovers);
	fprintf(file, "| tool programs begun, of these again | %lu, %lu |\n",
	    check->tool_starts, check->tool_repeats);
	fprintf(file,
	    "| pieces of answers heard live, of these after their run's end | %lu, %lu "
	    "|\n",
	    stream_pieces(check->stream), stream_late(check->stream));
	fprintf(file, "| requests by HTTP, of these broken off | %lu, %lu |\n",
	    client_asked(check->load->client), client_cuts(check->load->client));
	fprintf(file, "| calls that must not run twice and ended as lost | %lu |\n",
	    check->uncertain);
	fprintf(file, "| of those that ask then, answered by a human | %lu |\n\n",
	    check->asked);
}

static void
write_brokers(FILE *file, const struct check *check)
{
	static const char *const names[] = { "accepted", "repeated", "joined", "requeued",
		"released", "adopted", "lost", "poisoned", "sessions_lost" };
	size_t i;

	fprintf(file, "| brokers' counters, as far as they lived to tell | |\n"
		      "| --- | --- |\n");
	for (i = 0; i < sizeof names / sizeof *names; i++)
		fprintf(file, "| %s | %" PRId64 " |\n", names[i],
		    watch_sum(check->watch, names[i]));
	fprintf(file, "\n");
}

static void
write_faults(FILE *file, const struct nemesis *nemesis)
{
	unsigned kind, sum = 0;

	fprintf(file, "| fault | times | |\n| --- | --- | --- |\n");
	for (kind = 0; kind < FAULT_KINDS; kind++) {
		sum += nemesis->done[kind];
		if (nemesis->done[kind] > 0)
			fprintf(file, "| %s | %u | %s |\n", fault_name(kind),
			    nemesis->done[kind], fault_text(kind));
	}
	fprintf(file, "| all | %u | |\n\n", sum);
	fprintf(file, "Drains that were cut off at their bound: %u.\n\n",
	    nemesis->fleet->cut_drains);
}

static void
write_times(FILE *file, struct check *check)
{
	fprintf(file,
	    "| from, to | count | p50 | p99 | longest |\n"
	    "| --- | --- | --- | --- | --- |\n"
	    "| a coordinator's death, its runs are claimed by another | %zu | %" PRId64
	    " ms | %" PRId64 " ms | %" PRId64 " ms |\n"
	    "| a worker's death, its calls begin elsewhere | %zu | %" PRId64
	    " ms | %" PRId64 " ms | %" PRId64 " ms |\n\n",
	    check->takeover.count, times_at(&check->takeover, 50),
	    times_at(&check->takeover, 99), times_at(&check->takeover, 100),
	    check->elsewhere.count, times_at(&check->elsewhere, 50),
	    times_at(&check->elsewhere, 99), times_at(&check->elsewhere, 100));
}

static void
write_invariants(FILE *file, const struct tally *tally)
{
	unsigned i;

	fprintf(file, "| | invariant | held | broken |\n| --- | --- | --- | --- |\n");
	for (i = 0; i < INVARIANTS; i++)
		if (tally->held[i] + tally->broken[i] > 0)
			fprintf(file, "| %u | %s | %lu | %lu |\n", tally_number(i),
			    tally_text(i), tally->held[i], tally->broken[i]);
	fprintf(file, "\n");
}

static void
write_all(const struct report *report, FILE *file)
{
	struct check *check = report->check;

	fprintf(file, "### Seed %" PRIu64 ", %.4g minutes\n\n", report->seed,
	    report->minutes);
	if (report->left_out[0] != '\0')
		fprintf(file, "Left out: %s.\n\n", report->left_out);
	fprintf(file, "All was well %.1f s after the last fault.\n\n", report->heal_s);
	write_invariants(file, check->tally);
	write_runs(file, check);
	write_times(file, check);
	write_brokers(file, check);
	write_faults(file, check->nemesis);
}

void
report_write(const struct report *report, const char *path)
{
	FILE *file = path != NULL ? fopen(path, "ae") : NULL;

	write_all(report, stdout);
	fflush(stdout);
	if (path != NULL && file == NULL)
		perror(path);
	if (file == NULL)
		return;
	write_all(report, file);
	fclose(file);
}
