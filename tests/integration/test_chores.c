/* What a coordinator does in the shards besides their runs, on a fleet of real processes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

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

TCase *
tcase_chores(void)
{
	TCase *tcase = tcase_create("chores");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_lease_waits_for_no_chore);
	return tcase;
}
