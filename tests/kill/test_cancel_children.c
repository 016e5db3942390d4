/* A cancel, or the failure, of a run ends its child runs and theirs. */
#include <check.h>

#include "cancel_bench.h"
#include "cli.h"

TCase *tcase_cancel_children(void);

#define FAR "9000000000000"

/* r1, its child r2, and r3 of r2; all of them hang. */
static void
submit_family(struct scene *scene)
{
	cx_submit(scene, "clerk", "r1", NULL);
	cx_wait_hanging(scene, 2);
	cx_submit(scene, "clerk", "r2", "r1");
	cx_wait_hanging(scene, 4);
	cx_submit(scene, "clerk", "r3", "r2");
	cx_wait_hanging(scene, 6);
}

/* Its entry was moved by one who died before the parent knew of it: it is in Redis, and comes again. */
static void
submit_half(struct scene *scene, const char *run, const char *parent)
{
	struct arena *arena = scene->arena;
	const char *thread = arena_printf(arena, "t-%s", run), *other;
	int64_t before;

	ck_assert_int_eq(
	    store_bind_run(scene->client->store, arena, run, thread, &other), STORE_OK);
	ck_assert_int_eq(
	    store_submit(scene->client->store, arena, thread, run,
		value_map(arena, "agent", value_str(arena, "clerk"), "version",
		    value_str(arena, "1"), "parent", value_str(arena, parent), "at",
		    value_str(arena, FAR), NULL),
		&before),
	    STORE_OK);
	cx_submit(scene, "clerk", run, parent);
}

static void
play_family(struct scene *scene)
{
	submit_family(scene);
	kit_flotilla(scene->kit, "cancel", "r1", NULL);
	cx_check_gone(scene);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_status(scene, "r2", "cancelled");
	cx_check_status(scene, "r3", "cancelled");
	cx_check_next_run(scene, "r3");
	/* Who comes later than that does not begin. */
	cx_submit(scene, "clerk", "r4", "r1");
	cx_check_status(scene, "r4", "cancelled");
	submit_half(scene, "r6", "r1");
	cx_check_status(scene, "r6", "cancelled");
	cx_submit(scene, "clerk", "r5", "nobody");
	cx_check_status(scene, "r5", "refused");
}

START_TEST(a_cancel_ends_child_runs_and_theirs)
{
	cx_act("true", play_family);
}
END_TEST

static void
play_family_is_taken_over(struct scene *scene)
{
	submit_family(scene);
	cx_ask(scene, "r1");
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	cx_check_status(scene, "r1", "cancelled");
	cx_check_status(scene, "r2", "cancelled");
	cx_check_status(scene, "r3", "cancelled");
	cx_check_gone(scene);
}

START_TEST(the_cancel_of_child_runs_outlives_the_coordinator)
{
	cx_act("true", play_family_is_taken_over);
}
END_TEST

/* The sweep of its shard finds the child of a parent that failed. */
static void
play_parent_fails(struct scene *scene)
{
	cx_submit(scene, "failing", "r1", NULL);
	cx_submit(scene, "clerk", "r2", "r1");
	cx_wait_hanging(scene, 2);
	kit_write(scene->kit, "go_on", "");
	cx_check_status(scene, "r1", "error");
	cx_check_status(scene, "r2", "cancelled");
	cx_check_gone(scene);
}

START_TEST(a_parent_that_fails_takes_its_child_runs_along)
{
	cx_act("true", play_parent_fails);
}
END_TEST

TCase *
tcase_cancel_children(void)
{
	TCase *tcase = tcase_create("cancel_children");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_cancel_ends_child_runs_and_theirs);
	tcase_add_test(tcase, the_cancel_of_child_runs_outlives_the_coordinator);
	tcase_add_test(tcase, a_parent_that_fails_takes_its_child_runs_along);
	return tcase;
}
