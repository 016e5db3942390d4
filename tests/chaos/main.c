/* tests-chaos: a real fleet under load and under attack, and what must hold afterwards.
 *
 * Begins, warms up, attacks for so many minutes by a schedule that the seed alone makes, heals,
 * waits until all runs have ended, checks, reports. Status 0: every invariant held. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checker.h"
#include "children.h"
#include "cli.h"
#include "fiber.h"
#include "lives.h"
#include "report.h"
#include "settings.h"
#include "socket.h"
#include "takeover.h"

#define UP_MS 60000u
#define CRASHES_MAX 12u /* then nobody waits for the fleet to get ready */
#define WARM_MS 6000u
#define HEAL_MS 240000u /* generous: the machine may be shared */

struct options {
	const char *minutes, *report;
	int64_t seed, interval_ms, runs_per_10_s, takeover;
	bool keep, plain;
};

static const struct setting table[] = {
	{ "minutes", SETTING_TEXT, offsetof(struct options, minutes), "2", 0, 0, NULL,
	    "how long the attack lasts; 0.5 is half a minute", 'm' },
	{ "seed", SETTING_INTEGER, offsetof(struct options, seed), "0", 0, INT64_MAX,
	    NULL, "of the schedule and of the load; 0: a new one", 's' },
	{ "interval-ms", SETTING_INTEGER, offsetof(struct options, interval_ms), "1000",
	    20, 3600000, "ms", "between two faults, on average", 0 },
	{ "rate", SETTING_INTEGER, offsetof(struct options, runs_per_10_s), "40", 1,
	    10000, NULL, "threads begun in ten seconds", 0 },
	{ "takeover", SETTING_INTEGER, offsetof(struct options, takeover), "0", 0, 100000,
	    NULL,
	    "no attack; so many coordinators and tool workers are killed one by one, and "
	    "the times until others go on are measured",
	    0 },
	{ "report", SETTING_TEXT, offsetof(struct options, report), NULL, 0, 0, NULL,
	    "file to which the report is added, as Markdown", 'r' },
	{ "keep", SETTING_BOOL, offsetof(struct options, keep), NULL, 0, 0, NULL,
	    "keep the folder although everything held", 'k' },
	{ "plain", SETTING_BOOL, offsetof(struct options, plain), NULL, 0, 0, NULL,
	    "nothing is preloaded into our programs: no wrong clocks but Redis's", 0 },
	{ 0 },
};

struct game {
	struct options options;
	struct loop *loop;
	struct arena *arena;
	char *folder;
	const char *no_space, *no_disk; /* NULL, or why not */
	struct space space;
	struct fleet_plan plan;
	struct fleet *fleet;
	struct load *load;
	struct nemesis nemesis;
	struct tally tally;
	struct check check;
	double heal_s;
	bool failed;
	bool is_stuck; /* what asks the fleet has no answer, and never will */
};

/* --- the parts of a game ------------------------------------------------------------------- */

static bool
wait_up(struct game *game, uint64_t ms)
{
	uint64_t deadline = loop_now_ms(game->loop) + ms;

	while (!fleet_is_up(game->fleet) && loop_now_ms(game->loop) < deadline &&
	       game->fleet->crashes < CRASHES_MAX)
		fiber_sleep(50);
	return fleet_is_up(game->fleet);
}

static bool
begin(struct game *game)
{
	fleet_start(game->fleet);
	fleet_write(game->fleet, "tools.yaml",
	    sort_tools(game->arena,
		arena_printf(game->arena, "%s/chaos-effect", game->fleet->build),
		fleet_path(game->fleet, "effects.log")));
	if (!wait_up(game, UP_MS)) {
		fleet_say(game->fleet, "the fleet does not get ready");
		return false;
	}
	game->load = load_new(game->fleet, (uint64_t)game->options.seed,
	    (double)game->options.runs_per_10_s / 10);
	game->check.watch = watch_new(game->fleet, &game->tally);
	game->check.stream = stream_new(game->fleet);
	return load_prepare(game->load);
}

static void
measure(struct fleet *fleet)
{
	unsigned i;

	for (i = 0; i < fleet->count; i++)
		fleet->parties[i].base = party_usage(&fleet->parties[i]);
}

static void
attack(struct game *game)
{
	struct schedule_targets targets;
	uint64_t ms = (uint64_t)(strtod(game->options.minutes, NULL) * 60000);
	FILE *file;
	size_t i;

	nemesis_targets(game->fleet, &targets);
	targets.has_space = game->no_space == NULL;
	targets.has_disk = game->no_disk == NULL;
	game->nemesis.faults = schedule_make(game->arena, (uint64_t)game->options.seed,
	    ms, (uint64_t)game->options.interval_ms, &targets, &game->nemesis.count);
	file = fopen(fleet_path(game->fleet, "schedule"), "we");
	for (i = 0; file != NULL && i < game->nemesis.count; i++)
		fprintf(file, "%s\n", fault_line(game->arena, &game->nemesis.faults[i]));
	if (file != NULL)
		fclose(file);
	nemesis_attack(&game->nemesis);
}

static void
heal(struct game *game)
{
	uint64_t begin_ms = loop_now_ms(game->loop);
	size_t left;

	fleet_say(game->fleet, "healed: waiting for %zu runs", game->load->count);
	tally(&game->tally, HOLDS_PROGRESS, wait_up(game, UP_MS),
	    "not everybody is up again");
	tally(&game->tally, HOLDS_PROGRESS, load_stop(game->load, HEAL_MS),
	    "submissions or cancels without an answer");
	left = load_wait_ends(game->load, HEAL_MS);
	tally(&game->tally, HOLDS_PROGRESS, left == 0, "%zu runs have not ended", left);
	game->heal_s = (double)(loop_now_ms(game->loop) - begin_ms) / 1000;
}

static void
check(struct game *game)
{
	struct check *check = &game->check;

	check_history(check);
	check_rest(check);
	check_runs(check);
	check_effects(check);
	lives_check(game->load->lives, check);
}

static void
play_main(void *arg)
{
	struct game *game = arg;

	if (begin(game)) {
		game->check.load = game->load;
		load_begin(game->load);
		fiber_sleep(WARM_MS);
		measure(game->fleet);
		if (game->options.takeover > 0)
			takeover_attack(&game->nemesis, (unsigned)game->options.takeover);
		else
			attack(game);
		heal(game);
		check(game);
	} else {
		game->failed = true;
	}
	if (game->check.watch != NULL) {
		const struct report report = { (uint64_t)game->options.seed,
			strtod(game->options.minutes, NULL), game->heal_s,
			game->no_space != NULL || game->no_disk != NULL
			    ? "full disks or partitions, which this machine does not "
			      "allow"
			    : "",
			&game->check };

		if (!game->failed)
			report_write(&report, game->options.report);
		watch_destroy(&game->check.watch);
		stream_destroy(&game->check.stream);
	}
	game->is_stuck = game->load != NULL && game->load->busy > 0;
	if (game->load != NULL && !game->is_stuck)
		load_destroy(&game->load);
	loop_stop(game->loop);
}

/* --- before and after ------------------------------------------------------------------------ */

static uint64_t
new_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_nsec % 1000000 + 1;
}

static void
prepare(struct game *game)
{
	bool attacks = game->options.takeover == 0;

	game->plan.counts[PARTY_PROXY] = attacks ? 1 : 0;
	game->plan.direct = !attacks;
	game->plan.counts[PARTY_PROVIDER] = game->plan.counts[PARTY_REDIS] = 1;
	game->plan.counts[PARTY_BROKER] = 2;
	game->plan.counts[PARTY_TOOLS] = game->plan.counts[PARTY_MODEL] =
	    game->plan.counts[PARTY_COORDINATOR] = 3;
	game->plan.counts[PARTY_SERVE] = attacks ? 2 : 0;
	game->plan.plain = game->options.plain || !attacks;
	game->no_space = game->no_disk = space_begin();
	if (game->no_space == NULL && attacks)
		game->no_space = space_open(&game->space, game->arena);
	if (game->no_space == NULL && attacks) {
		game->plan.space = game->space.name;
		game->plan.space_address = game->space.address;
	}
	game->fleet = fleet_new(game->loop, &game->plan, game->folder);
	if (game->no_disk == NULL)
		game->no_disk = disk_open(game->fleet->data);
	if (game->no_space != NULL)
		fleet_say(
		    game->fleet, "no partitions on this machine: %s", game->no_space);
	if (game->no_disk != NULL)
		fleet_say(
		    game->fleet, "no full disks on this machine: %s", game->no_disk);
	fleet_say(
	    game->fleet, "seed %" PRId64 ", folder %s", game->options.seed, game->folder);
	game->tally.fleet = game->fleet;
	game->nemesis = (struct nemesis){ .fleet = game->fleet,
		.arena = game->arena,
		.space = game->no_space == NULL ? &game->space : NULL,
		.disk = game->no_disk == NULL ? game->fleet->data : NULL };
}

/* The disk goes with this process. */
static void
keep_data(struct game *game)
{
	const struct cli cp = { .program = "cp", .arena = game->arena };

	CLI(&cp, "-a", game->fleet->data, fleet_path(game->fleet, "redis-data"));
}

static bool
finish(struct game *game)
{
	unsigned bad;

	if (game->failed || tally_broken(&game->tally) > 0)
		keep_data(game);
	bad = fleet_destroy(&game->fleet);
	nemesis_release(&game->nemesis);
	effects_release(&game->check);
	times_release(&game->check.takeover);
	times_release(&game->check.elsewhere);
	if (bad > 0)
		printf("%u processes did not end with status 0\n", bad);
	return !game->failed && bad == 0 && tally_broken(&game->tally) == 0;
}

static void
conclude(struct game *game, bool held)
{
	unsigned long sum = 0;
	unsigned i;

	for (i = 0; i < INVARIANTS; i++)
		sum += game->tally.held[i] > 0 && game->tally.broken[i] == 0;
	if (!held)
		printf("FAILED: see %s; again with: make chaos MINUTES=%s SEED=%" PRId64
		       "\n",
		    game->folder, game->options.minutes, game->options.seed);
	printf("%lu passed, %u failed\n", sum, held ? 0 : 1);
	if (held && !game->options.keep)
		folder_remove(&game->folder);
	free(game->folder);
}

int
main(int argc, char *argv[])
{
	static const struct settings_help help = { "tests-chaos", "",
		"Attacks a fleet of real processes by a schedule made from a seed, and "
		"checks what must hold afterwards." };
	struct game game = { .arena = arena_new(), .folder = folder_new() };
	bool held;

	settings_parse(table, &game.options, &help, argc, argv, NULL);
	if (game.options.seed == 0)
		game.options.seed = (int64_t)new_seed();
	game.loop = loop_new();
	prepare(&game);
	game.check = (struct check){
		.fleet = game.fleet, .nemesis = &game.nemesis, .tally = &game.tally
	};
	if (fiber_start(game.loop, "play", play_main, &game) == NULL)
		abort();
	loop_run(game.loop);
	held = finish(&game);
	conclude(&game, held);
	if (game.is_stuck) {
		fflush(stdout);
		_exit(EXIT_FAILURE);
	}
	loop_destroy(&game.loop);
	socket_shutdown();
	settings_release(table, &game.options);
	arena_destroy(&game.arena);
	return held ? EXIT_SUCCESS : EXIT_FAILURE;
}
