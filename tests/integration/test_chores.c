/* What a coordinator does in the shards besides their runs, on a fleet of real processes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "thread_bench.h"

TCase *tcase_chores(void);

#define PARENTS "20000"

static const char *
key(struct scene *scene, const char *name)
{
	return arena_printf(
	    scene->arena, "%s%s", store_prefix(scene->arena, store_shard("t")), name);
}

/* Parents that ended badly, more than one look can deal with; none of them is known. */
static void
bereave(struct scene *scene)
{
	kit_redis_cli(scene->kit, 0, "EVAL",
	    "for i = 1, " PARENTS " do redis.call('SADD', KEYS[1], 'none' .. i) end", "1",
	    key(scene, "bereft"), NULL);
}

static bool
is_bereft(struct scene *scene)
{
	return atoi(kit_redis_cli(scene->kit, 0, "SCARD", key(scene, "bereft"), NULL)) >
	       0;
}

/* What is to be done there may be a lot: the lease is renewed meanwhile, or the run was another's. */
static void
play_renewal(struct scene *scene)
{
	const char *lease = "", *now;
	unsigned renewals = 0;

	bench_begin_long(scene);
	bereave(scene);
	while (renewals < 4 && is_bereft(scene)) {
		now = kit_redis_cli(scene->kit, 0, "HVALS", key(scene, "leases"), NULL);
		renewals += strcmp(now, lease) != 0;
		lease = now;
	}
	ck_assert_uint_eq(renewals, 4);
	while (is_bereft(scene))
		continue;
	bench_cancel(scene, "r2");
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_int_eq(value_get_int(bench_record(scene, "r2"), "attempts", 0), 1);
}

START_TEST(a_lease_waits_for_no_chore)
{
	bench_act(play_renewal, false);
}
END_TEST

static void
await_tools(struct fleet_kit *kit)
{
	const char *has = "";

	while (strcmp(has, "1\n") != 0)
		has = kit_redis_cli(kit, 0, "HEXISTS", "fl:tools", "note", NULL);
}

/* Two losses: the first may be mended by what is said of the tools when a coordinator has begun. */
static void
lose_all(struct fleet_kit *kit)
{
	unsigned i;

	await_tools(kit);
	for (i = 0; i < 2; i++) {
		kit_redis_cli(kit, 0, "FLUSHALL", NULL);
		await_tools(kit);
	}
}

START_TEST(a_redis_that_has_lost_all_has_the_tools_that_are_served_again)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	struct cli flotilla = { kit_program(kit, "flotilla"), kit_path(kit, ""), arena };
	struct said said;

	setenv("FLOTILLA_REDIS", kit_redis(kit), 1);
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(kit, "note.yaml",
		"{name: note, description: notes, command: echo noted, input: none}\n"));
	kit_write(kit, "agent.yaml",
	    "{name: a, model: 'scripted:m', tools: [note], "
	    "script: {m: [{content: x}]}}\n");
	kit_start_all(kit, 1, 1, 1);
	lose_all(kit);
	said = CLI(&flotilla, "agents", "apply", "agent.yaml");
	ck_assert_int_eq(said.status, 0);
	ck_assert_str_eq(said.err, "");
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_chores(void)
{
	TCase *tcase = tcase_create("chores");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_lease_waits_for_no_chore);
	tcase_add_test(
	    tcase, a_redis_that_has_lost_all_has_the_tools_that_are_served_again);
	return tcase;
}
