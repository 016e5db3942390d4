/* Crons on a fleet of real processes: made by the command line, fired by coordinators, once whatever dies. What is due is
 * what Redis says: a test sets the time. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/command.h"
#include "has.h"
#include "thread_bench.h"

TCase *tcase_crons(void);

#define SCHEDULE "--schedule", "0 3 * * *"
#define DUE "1000" /* ms since 1970: many times were missed since */
#define DUE_RUN "19700101T000001Z"
#define WAIT_MS 60000u

static const char *
key_of(struct scene *scene, const char *id)
{
	return arena_printf(
	    scene->arena, "%scrons", store_prefix(scene->arena, store_shard(id)));
}

static void
make_due_at(struct scene *scene, const char *id, const char *ms)
{
	kit_redis_cli(scene->kit, 0, "ZADD", key_of(scene, id), ms, id, NULL);
}

static const char *
wait_run(struct scene *scene, const char *thread, const char *run)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	return value_get_text(record, "status");
}

static const struct value *
show(struct scene *scene, const char *id)
{
	return bench_json(scene, FLOTILLA(scene, "crons", "show", id, "--json"));
}

struct firing {
	struct scene *scene;
	const char *id;
};

static bool
is_fired(void *arg)
{
	struct firing *firing = arg;

	return value_get_int(show(firing->scene, firing->id), "next", 0) > 10000;
}

/* Until it is due in the future again. */
static void
wait_fired(struct scene *scene, const char *id)
{
	struct firing firing = { scene, id };

	ck_assert(client_wait(scene->client, is_fired, &firing, WAIT_MS));
}

static size_t
runs_of(struct scene *scene, const char *id)
{
	return value_size(bench_json(
	    scene, FLOTILLA(scene, "runs", "--json", "--limit", "200", "--metadata",
		       arena_printf(scene->arena, "cron_id=%s", id))));
}

/* --- fired ------------------------------------------------------------------------------- */

static void
play_firing(struct scene *scene)
{
	const char *run = "nightly-" DUE_RUN;
	const struct value *cron;
	int64_t next;

	bench_says(FLOTILLA(scene, "crons", "create", "clerk", "Good", "morning", "--id",
		       "nightly", SCHEDULE, "--metadata", "who=me"),
	    STATUS_OK, "nightly  0 3 * * *");
	cron = show(scene, "nightly");
	next = value_get_int(cron, "next", 0);
	ck_assert_int_eq(next % 86400000, INT64_C(10800000));
	make_due_at(scene, "nightly", DUE);
	ck_assert_str_eq(wait_run(scene, run, run), "success");
	/* All that was missed is one run. */
	ck_assert_uint_eq(runs_of(scene, "nightly"), 1);
	cron = show(scene, "nightly");
	ck_assert_int_ge(value_get_int(cron, "next", 0), next);
	ck_assert_int_eq(value_get_int(cron, "last", 0), 1000);
	ck_assert_str_eq(value_get_text(cron, "last_run"), run);
	bench_says(FLOTILLA(scene, "crons"), STATUS_OK, "success");
	bench_says(FLOTILLA(scene, "state", run), STATUS_OK, "Good morning");
	bench_says(FLOTILLA(scene, "crons", "delete", "nightly"), STATUS_OK, "deleted");
	bench_says(
	    FLOTILLA(scene, "crons", "show", "nightly"), STATUS_NOT_FOUND, "no cron");
	ck_assert_uint_eq(
	    value_size(bench_json(scene, FLOTILLA(scene, "crons", "list", "--json"))), 0);
	bench_says(FLOTILLA(scene, "state", run), STATUS_OK, "One.");
}

START_TEST(what_is_due_runs_and_what_was_missed_runs_once)
{
	bench_act(play_firing, false);
}
END_TEST

static const char counter[] =
    "name: counter\n"
    "model: scripted:n\n"
    "script: {n: [{content: One.}, {content: Two.}, {content: Three.}]}\n";

static void
play_thread(struct scene *scene)
{
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "counter.yaml", counter), NULL);
	bench_says(FLOTILLA(scene, "crons", "create", "counter", "Hi", "--id", "c",
		       SCHEDULE, "--thread", "t"),
	    STATUS_OK, "c ");
	make_due_at(scene, "c", DUE);
	ck_assert_str_eq(wait_run(scene, "t", "c-" DUE_RUN), "success");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "Hi One.");
	make_due_at(scene, "c", "2000");
	ck_assert_str_eq(wait_run(scene, "t", "c-19700101T000002Z"), "success");
	/* The same time again is the same run. */
	make_due_at(scene, "c", "2000");
	wait_fired(scene, "c");
	make_due_at(scene, "c", "3000");
	ck_assert_str_eq(wait_run(scene, "t", "c-19700101T000003Z"), "success");
	ck_assert_str_eq(
	    bench_talk(scene, bench_thread(scene)), "Hi One. Hi Two. Hi Three.");
	ck_assert_uint_eq(runs_of(scene, "c"), 3);
}

START_TEST(a_thread_goes_on)
{
	bench_act(play_thread, false);
}
END_TEST

/* --- who dies ------------------------------------------------------------------------------ */

#define MANY 30

static void
play_death(struct scene *scene)
{
	struct arena *arena = scene->arena;
	unsigned i;

	kit_start(scene->kit, KIT_COORDINATOR, 1);
	for (i = 0; i < MANY; i++)
		bench_says(FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id",
			       arena_printf(arena, "c%02u", i), SCHEDULE, "--timezone",
			       "Europe/Berlin"),
		    STATUS_OK, "c");
	for (i = 0; i < MANY; i++)
		make_due_at(scene, arena_printf(arena, "c%02u", i), DUE);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	for (i = 0; i < MANY; i++) {
		const char *run = arena_printf(arena, "c%02u-" DUE_RUN, i);

		ck_assert_str_eq(wait_run(scene, run, run), "success");
		ck_assert_uint_eq(runs_of(scene, arena_printf(arena, "c%02u", i)), 1);
	}
}

START_TEST(who_dies_at_it_loses_none_and_repeats_none)
{
	bench_act(play_death, false);
}
END_TEST

/* Of a fleet that was away all is fired, once. */
static void
play_absence(struct scene *scene)
{
	const char *run = "c-" DUE_RUN;

	bench_says(
	    FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", "c", SCHEDULE),
	    STATUS_OK, "c ");
	kit_stop(scene->kit, KIT_COORDINATOR, 0);
	make_due_at(scene, "c", DUE);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	ck_assert_str_eq(wait_run(scene, run, run), "success");
	ck_assert_uint_eq(runs_of(scene, "c"), 1);
}

START_TEST(who_was_away_makes_up_for_it_once)
{
	bench_act(play_absence, false);
}
END_TEST

/* --- not fired ------------------------------------------------------------------------------ */

static void
play_pause(struct scene *scene)
{
	const struct value *cron;

	bench_says(FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", "c",
		       SCHEDULE, "--paused"),
	    STATUS_OK, "paused");
	bench_says(
	    FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", "other", SCHEDULE),
	    STATUS_OK, "other");
	ck_assert(!value_has(show(scene, "c"), "next"));
	/* Another one is fired meanwhile. */
	make_due_at(scene, "other", DUE);
	wait_run(scene, "other-" DUE_RUN, "other-" DUE_RUN);
	ck_assert_uint_eq(runs_of(scene, "c"), 0);
	cron = bench_json(scene, FLOTILLA(scene, "crons", "resume", "c", "--json"));
	ck_assert(value_has(cron, "next") && !value_get_bool(cron, "paused", true));
	cron = bench_json(scene, FLOTILLA(scene, "crons", "pause", "c", "--json"));
	ck_assert(!value_has(cron, "next") && value_get_bool(cron, "paused", false));
	bench_says(FLOTILLA(scene, "crons", "pause", "c"), STATUS_OK, "paused");
}

START_TEST(one_that_is_paused_waits)
{
	bench_act(play_pause, false);
}
END_TEST

/* It goes on, and says what is wrong. */
static void
play_gone(struct scene *scene)
{
	const char *run = "c-" DUE_RUN;

	bench_says(
	    FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", "c", SCHEDULE),
	    STATUS_OK, "c ");
	bench_says(FLOTILLA(scene, "agents", "delete", "clerk"), STATUS_OK, "");
	make_due_at(scene, "c", DUE);
	ck_assert_str_eq(wait_run(scene, run, run), "refused");
	ck_assert_str_eq(
	    value_get_text(show(scene, "c"), "error"), "there is no agent 'clerk'");
	ck_assert_int_gt(value_get_int(show(scene, "c"), "next", 0), 2000);
	bench_says(FLOTILLA(scene, "crons"), STATUS_OK, "refused");
	/* A cron's own threads end in time, and so does this one. */
	ck_assert_int_gt(atoll(kit_redis_cli(scene->kit, 0, "--raw", "ZSCORE",
			     arena_printf(scene->arena, "%sttl",
				 store_prefix(scene->arena, store_shard(run))),
			     run, NULL)),
	    0);
}

START_TEST(an_agent_that_is_gone_is_told_of)
{
	bench_act(play_gone, false);
}
END_TEST

/* More of them than are looked at at once, and all before it. */
static void
play_damage(struct scene *scene)
{
	const char *run = "c-" DUE_RUN;

	bench_says(
	    FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", "c", SCHEDULE),
	    STATUS_OK, "c ");
	kit_redis_cli(scene->kit, 0, "EVAL",
	    "for i = 1, 150 do redis.call('ZADD', KEYS[1], 0, 'odd' .. i) end", "1",
	    key_of(scene, "c"), NULL);
	make_due_at(scene, "c", DUE);
	ck_assert_str_eq(wait_run(scene, run, run), "success");
	ck_assert_uint_eq(
	    value_size(bench_json(scene, FLOTILLA(scene, "crons", "list", "--json"))), 1);
}

START_TEST(what_is_no_cron_is_in_no_ones_way)
{
	bench_act(play_damage, false);
}
END_TEST

/* --- what is wrong --------------------------------------------------------------------------- */

#define CREATE "crons", "create", "clerk", "Hi"

static void
play_wrong(struct scene *scene)
{
	bench_says(FLOTILLA(scene, "crons", "create"), STATUS_USAGE, "which AGENT?");
	bench_says(FLOTILLA(scene, CREATE), STATUS_USAGE, "when? --schedule");
	bench_says(FLOTILLA(scene, CREATE, "--schedule", "0 0 30 2 *"), STATUS_USAGE,
	    "schedule '0 0 30 2 *': no month of it has such a day");
	bench_says(FLOTILLA(scene, CREATE, SCHEDULE, "--timezone", "Nowhere"),
	    STATUS_USAGE, "timezone 'Nowhere': there is none");
	bench_says(FLOTILLA(scene, CREATE, SCHEDULE, "--end", "2020-01-01T00:00:00Z"),
	    STATUS_USAGE, "it would be over before");
	bench_says(FLOTILLA(scene, CREATE, SCHEDULE, "--end", "soon"), STATUS_USAGE,
	    "--end 'soon': must be a time");
	bench_says(
	    FLOTILLA(scene, CREATE, SCHEDULE, "--id", "a b"), STATUS_USAGE, "--id 'a b'");
	bench_says(FLOTILLA(scene, "crons", "create", "clerk", SCHEDULE, "--input",
		       "{\"messages\": [{\"role\": \"nobody\"}]}"),
	    STATUS_USAGE, "input: messages[0]");
	bench_says(FLOTILLA(scene, "crons", "create", "nobody", "Hi", SCHEDULE),
	    STATUS_NOT_FOUND, "nobody");
	bench_says(
	    FLOTILLA(scene, CREATE, SCHEDULE, "--id", "c", "--timezone", "Europe/Berlin"),
	    STATUS_OK, "Europe/Berlin");
	bench_says(FLOTILLA(scene, CREATE, SCHEDULE, "--id", "c"), STATUS_REFUSED,
	    "there is a cron 'c' already");
	bench_says(FLOTILLA(scene, "crons", "pause", "none"), STATUS_NOT_FOUND,
	    "no cron 'none'");
	bench_says(FLOTILLA(scene, "crons", "delete"), STATUS_USAGE, "which CRON?");
	bench_says(
	    FLOTILLA(scene, "crons", "lsit"), STATUS_USAGE, "did you mean 'list'?");
}

START_TEST(what_is_wrong_is_refused)
{
	bench_act(play_wrong, false);
}
END_TEST

/* --- how many there may be --------------------------------------------------------------- */

/* A name of the shard that begins so. */
static const char *
name_in(struct scene *scene, unsigned shard, const char *begin)
{
	for (unsigned i = 0;; i++) {
		const char *name = arena_printf(scene->arena, "%s%u", begin, i);

		if (store_shard(name) == shard)
			return name;
	}
}

/* Names in the shard's list, which count, and are no crons. */
static void
fill(struct scene *scene, const char *like, const char *begin, unsigned count)
{
	kit_redis_cli(scene->kit, 0, "EVAL",
	    "for i = 1, ARGV[2] do redis.call('ZADD', KEYS[1], 'inf', ARGV[1] .. i) end",
	    "1", key_of(scene, like), begin, arena_printf(scene->arena, "%u", count),
	    NULL);
}

static struct said
create_named(struct scene *scene, const char *id)
{
	return FLOTILLA(scene, "crons", "create", "clerk", "Hi", "--id", id, SCHEDULE);
}

static void
play_full(struct scene *scene)
{
	const char *first = "acme~first", *other, *nobodys;
	unsigned shard = store_shard(first);

	other = name_in(scene, shard, "other~");
	nobodys = name_in(scene, shard, "nobodys");
	fill(scene, first, "acme~x", CRONS_TENANT_SHARD_MAX - 1);
	bench_says(create_named(scene, first), STATUS_OK, first);
	bench_says(create_named(scene, name_in(scene, shard, "acme~y")), STATUS_REFUSED,
	    "there are 100 crons of the tenant");
	bench_says(create_named(scene, other), STATUS_OK, other);
	fill(scene, first, "x", CRONS_SHARD_MAX - CRONS_TENANT_SHARD_MAX - 2);
	bench_says(create_named(scene, nobodys), STATUS_OK, nobodys);
	bench_says(create_named(scene, name_in(scene, shard, "more")), STATUS_REFUSED,
	    "there are 1000 crons,");
}

START_TEST(a_shard_and_a_tenant_have_so_many)
{
	bench_act(play_full, false);
}
END_TEST

TCase *
tcase_crons(void)
{
	TCase *tcase = tcase_create("crons");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, what_is_due_runs_and_what_was_missed_runs_once);
	tcase_add_test(tcase, a_thread_goes_on);
	tcase_add_test(tcase, who_dies_at_it_loses_none_and_repeats_none);
	tcase_add_test(tcase, who_was_away_makes_up_for_it_once);
	tcase_add_test(tcase, one_that_is_paused_waits);
	tcase_add_test(tcase, an_agent_that_is_gone_is_told_of);
	tcase_add_test(tcase, what_is_no_cron_is_in_no_ones_way);
	tcase_add_test(tcase, what_is_wrong_is_refused);
	tcase_add_test(tcase, a_shard_and_a_tenant_have_so_many);
	return tcase;
}
