/* What a coordinator does in the shards besides their runs, on a fleet of real processes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* --- many cancels ------------------------------------------------------------------------ */

#define RUNS 3000
#define CANCELS "1000" /* of each shard */
#define TEXT_OF(number) #number
#define NUMBER(number) TEXT_OF(number)
#define LOOKS 40

static struct fleet_kit *kit;

static int
ask(const char *script)
{
	return atoi(kit_redis_cli(kit, 0, "EVAL", script, "0", NULL));
}

/* How many runs are held: each waits for a tool that nobody serves. */
static int
held(void)
{
	return ask("local n = 0 for s = 0, 63 do n = n + redis.call('ZCOUNT', "
		   "'fl:{s' .. s .. '}:due', '-inf', '9999999999999') end return n");
}

/* In how many shards a lease is good. */
static int
leased(void)
{
	return ask(
	    "local n, time = 0, redis.call('TIME') for s = 0, 63 do "
	    "local lease = redis.call('HVALS', 'fl:{s' .. s .. '}:leases')[1] or '0 0' "
	    "if tonumber(string.match(lease, '^%d+')) > time[1] * 1000 + time[2] / 1000 "
	    "then n = n + 1 end end return n");
}

static void
hold_many(void)
{
	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "3600000");
	kit_start_all(kit, 0, 1, 1);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "agents.yaml",
		"name: waits\nmodel: scripted:m\ntools: [nobody]\nscript: {m: [{content: "
		"One.}]}\n"),
	    NULL);
	ask("for i = 1, " NUMBER(
	    RUNS) " do redis.call('XADD', 'fl:inbox', '*', 'agent', 'waits', "
		  "'run', 'r' .. i, 'input', '\"Hi\"') end return 0");
	while (held() < RUNS)
		usleep(100000);
}

/* Those of other coordinators' runs are told to all. */
START_TEST(a_lease_waits_for_no_cancel)
{
	int leases = 0, all = 0, i;

	kit = kit_new();
	hold_many();
	ask("for s = 0, 63 do for i = 1, " CANCELS
	    " do redis.call('SADD', 'fl:{s' .. s .. "
	    "'}:cancels', 'other-' .. s .. '-' .. i) end end return 0");
	for (i = 0; i < LOOKS; i++) {
		usleep(100000);
		leases += leased();
		all += 64;
	}
	ck_assert_int_gt(leases, all * 3 / 4);
	kit_destroy(&kit);
}
END_TEST

TCase *
tcase_chores(void)
{
	TCase *tcase = tcase_create("chores");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_lease_waits_for_no_chore);
	tcase_add_test(tcase, a_lease_waits_for_no_cancel);
	return tcase;
}
