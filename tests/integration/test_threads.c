/* What becomes of runs that come while their thread is not free; on a fleet of real processes, also
 * across a restart of all of them. */
#include <check.h>
#include <string.h>

#include "store_agents.h"
#include "thread_bench.h"

TCase *tcase_threads(void);

/* --- a thread that is not free ------------------------------------------------------- */

static void
play_enqueue(struct scene *scene)
{
	bench_begin_long(scene);
	bench_submit(scene, "r3", "enqueue");
	bench_submit(scene, "r4", NULL);
	bench_halfway(scene);
	ck_assert_str_eq(value_get_text(bench_thread(scene), "run"), "r2");
	bench_cancel(scene, "r2");
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_str_eq(bench_wait(scene, "r3"), "success");
	ck_assert_str_eq(bench_wait(scene, "r4"), "success");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 4);
}

static void
play_interrupt(struct scene *scene)
{
	const struct value *state;

	bench_begin_long(scene);
	bench_submit(scene, "waits", NULL);
	bench_halfway(scene);
	bench_submit(scene, "r3", "interrupt");
	ck_assert_str_eq(bench_wait(scene, "r3"), "success");
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_str_eq(bench_wait(scene, "waits"), "cancelled");
	ck_assert_str_eq(value_get_text(bench_record(scene, "r2"), "replaced_by"), "r3");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "waits"), "r3"));
	state = bench_thread(scene);
	/* What r2 had done is kept; its open call is answered. */
	ck_assert_int_eq(bench_count(state), 3);
	ck_assert_uint_eq(value_size(value_get(state, "messages")), 9);
	ck_assert_ptr_nonnull(strstr(bench_talk(scene, state), "r1 One. r2 - noted a"));
	ck_assert_ptr_nonnull(strstr(bench_talk(scene, state), "r3 Four."));
}

static void
play_rollback(struct scene *scene)
{
	const struct value *state;

	bench_begin_long(scene);
	bench_submit(scene, "waits", NULL);
	bench_halfway(scene);
	bench_submit(scene, "r3", "rollback");
	/* As r1 has left it: the next call is the second again, then the long one. */
	bench_wait_talk(scene, "r1 One. r3 - noted a -");
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_str_eq(bench_wait(scene, "waits"), "cancelled");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 2);
	/* A rollback whose successor never comes to begin is one all the same. */
	bench_submit(scene, "r4", "rollback");
	bench_submit(scene, "r5", "rollback");
	bench_submit_more(scene, "clerk", "r6", "{\"count\": \"many\"}",
	    value_map(
		scene->arena, "multitask", value_str(scene->arena, "rollback"), NULL));
	ck_assert_str_eq(bench_wait(scene, "r6"), "error");
	state = bench_thread(scene);
	ck_assert_int_eq(bench_count(state), 1);
	ck_assert_str_eq(bench_talk(scene, state), "r1 One.");
}

/* All of it is decided in Redis: nobody has to live for it, nor its successor to begin. */
static void
play_rollback_decided(struct scene *scene)
{
	struct arena *arena = scene->arena;
	struct store *store = scene->client->store;
	const char *version, *other, *answer, *status;
	int64_t before;

	bench_begin_long(scene);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(store_agent_version(store, arena, "clerk", &version), STORE_OK);
	ck_assert_int_eq(store_bind_run(store, arena, "r3", "t", &other), STORE_OK);
	ck_assert_int_eq(store_submit(store, arena, "t", "r3",
			     value_map(arena, "agent", value_str(arena, "clerk"),
				 "version", value_str(arena, version), "multitask",
				 value_str(arena, "rollback"), NULL),
			     &before),
	    STORE_OK);
	ck_assert_int_eq(
	    store_cancel(store, arena, "t", "r3", &answer, &status), STORE_OK);
	ck_assert_str_eq(answer, "CANCELLED");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	bench_halfway(scene);
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 1);
	bench_submit(scene, "r4", NULL);
	bench_wait_talk(scene, "r1 One. r4 - noted a -");
}

/* A copy takes the place of a run, too, though it cannot be made there. */
static void
play_rollback_by_copy(struct scene *scene)
{
	struct arena *arena = scene->arena;

	bench_begin_long(scene);
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "copy"), "thread", value_str(arena, "t"), "copy_of",
		value_str(arena, "elsewhere"), "checkpoint", value_str(arena, "2"),
		"multitask", value_str(arena, "rollback"), NULL));
	bench_halfway(scene);
	ck_assert_str_eq(bench_wait(scene, "copy"), "error");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "copy"), "in use"));
	ck_assert_str_eq(bench_wait(scene, "r2"), "cancelled");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 1);
}

static void
play_reject(struct scene *scene)
{
	bench_begin_long(scene);
	bench_halfway(scene);
	bench_submit(scene, "r3", "reject");
	ck_assert_str_eq(bench_wait(scene, "r3"), "refused");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r3"), "busy with run 'r2'"));
	ck_assert_str_eq(value_get_text(bench_record(scene, "r2"), "status"), "running");
	bench_submit(scene, "r4", "interrupt");
	ck_assert_str_eq(bench_wait(scene, "r4"), "success");
	bench_submit(scene, "r5", "reject");
	ck_assert_str_eq(bench_wait(scene, "r5"), "success");
	bench_submit(scene, "r6", "sometimes");
	ck_assert_str_eq(bench_wait(scene, "r6"), "refused");
	ck_assert_ptr_nonnull(strstr(bench_error(scene, "r6"), "multitask"));
}

BOTH(enqueued_runs_wait_for_their_turn, play_enqueue)
BOTH(an_interrupted_run_keeps_what_it_did, play_interrupt)
BOTH(a_run_that_is_rolled_back_leaves_nothing, play_rollback)
BOTH(a_rollback_is_decided_before_it_is_done, play_rollback_decided)
BOTH(a_copy_that_is_refused_rolls_back_all_the_same, play_rollback_by_copy)
BOTH(a_run_that_does_not_wait_is_refused, play_reject)

TCase *
tcase_threads(void)
{
	TCase *tcase = tcase_create("threads");

	tcase_set_timeout(tcase, 180);
	tcase_add_loop_test(tcase, enqueued_runs_wait_for_their_turn, 0, 2);
	tcase_add_loop_test(tcase, an_interrupted_run_keeps_what_it_did, 0, 2);
	tcase_add_loop_test(tcase, a_run_that_is_rolled_back_leaves_nothing, 0, 2);
	tcase_add_loop_test(tcase, a_rollback_is_decided_before_it_is_done, 0, 2);
	tcase_add_loop_test(tcase, a_copy_that_is_refused_rolls_back_all_the_same, 0, 2);
	tcase_add_loop_test(tcase, a_run_that_does_not_wait_is_refused, 0, 2);
	return tcase;
}
