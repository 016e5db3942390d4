/* The end of a thread, or of its past: pruning, deletion, expiry; on a fleet of real processes, also across
 * a restart of all of them. */
#include <check.h>
#include <string.h>

#include "thread_bench.h"

TCase *tcase_thread_end(void);

#define WAIT_MS 60000u

static int64_t
version(struct scene *scene)
{
	return value_get_int(bench_thread(scene), "version", -1);
}

static const char *
number(struct scene *scene, int64_t n)
{
	return arena_printf(scene->arena, "%lld", (long long)n);
}

/* --- the end of the past -------------------------------------------------------------------- */

static bool
is_known(struct scene *scene, const char *run)
{
	const struct value *record;

	return store_run(scene->client->store, scene->arena, "t", run, &record) ==
	       STORE_OK;
}

struct binding {
	struct scene *scene;
	const char *run;
};

static bool
is_unbound(void *arg)
{
	const struct binding *binding = arg;
	const char *thread;

	return store_run_thread(binding->scene->client->store, binding->scene->arena,
		   binding->run, &thread) == STORE_NONE;
}

static void
wait_unbound(struct scene *scene, const char *run)
{
	struct binding binding = { scene, run };

	ck_assert_msg(client_wait(scene->client, is_unbound, &binding, WAIT_MS),
	    "run %s still names its thread", run);
}

static void
play_prune(struct scene *scene)
{
	const struct value *all;
	int64_t newest;

	bench_begin_long(scene);
	bench_says(FLOTILLA(scene, "prune", "t"), 7, "run 'r2' goes on");
	bench_submit(scene, "r3", "rollback");
	bench_wait_noted(scene, 4);
	bench_submit(scene, "r4", "interrupt");
	ck_assert_str_eq(bench_wait(scene, "r4"), "success");
	bench_halfway(scene);
	newest = version(scene);
	bench_says(FLOTILLA(scene, "prune", "t", "--keep-latest", "2"), 0, "checkpoints");
	all = bench_history(scene);
	ck_assert_uint_eq(value_size(all), 2);
	ck_assert_int_eq(version(scene), newest);
	/* What the state needs is kept: also what an older run wrote. */
	ck_assert_ptr_nonnull(
	    strstr(bench_talk(scene, bench_thread(scene)), "r1 One. r3"));
	ck_assert_int_eq(
	    bench_count(bench_json(scene, FLOTILLA(scene, "state", "t", "--json", "--at",
					      number(scene, newest - 1)))),
	    bench_count(bench_thread(scene)));
	ck_assert(!is_known(scene, "r1"));
	ck_assert(!is_known(scene, "r2"));
	ck_assert(is_known(scene, "r4"));
	wait_unbound(scene, "r1");
	bench_says(FLOTILLA(scene, "state", "t", "--at", "1"), 3, "no checkpoint 1");
	bench_says(FLOTILLA(scene, "prune", "nobody"), 3, "not known");
	bench_says(FLOTILLA(scene, "prune", "t", "--delete", "--keep-latest", "2"), 2,
	    "exclude");
	bench_submit_more(scene, "clerk", "r5", "\"r5\"", NULL);
	ck_assert_str_eq(bench_wait(scene, "r5"), "success");
	bench_says(
	    FLOTILLA(scene, "replay", "t", "--at", number(scene, newest - 1), "--wait"),
	    0, "");
}

static void
play_delete(struct scene *scene)
{
	bench_submit_more(scene, "careful", "r1", "\"r1\"", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit_more(scene, "careful", "r2", "\"r2\"", NULL);
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	bench_halfway(scene);
	bench_says(FLOTILLA(scene, "prune", "t"), 7, "waits for an answer");
	bench_says(FLOTILLA(scene, "prune", "t", "--delete"), 7, "waits for an answer");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One. r2 -");
	bench_says(FLOTILLA(scene, "prune", "t", "--force"), 0, "pruned");
	bench_says(FLOTILLA(scene, "resume", "t", "--wait"), 5, "");
	bench_says(FLOTILLA(scene, "prune", "t", "--delete", "--force"), 0, "deleted");
	bench_says(FLOTILLA(scene, "state", "t"), 3, "not known");
	ck_assert(!is_known(scene, "r1"));
	wait_unbound(scene, "r2");
	/* Its name is free. */
	bench_submit(scene, "r3", NULL);
	ck_assert_str_eq(bench_wait(scene, "r3"), "success");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r3 One.");
}

/* What a worker knows of the run that was deleted is not taken for the new one's. */
static void
play_again(struct scene *scene)
{
	unsigned i;

	for (i = 1; i <= 3; i++) {
		bench_submit_more(scene, "poster", "r1", "\"r1\"", NULL);
		ck_assert_str_eq(bench_wait(scene, "r1"), "success");
		ck_assert_str_eq(
		    bench_talk(scene, bench_thread(scene)), "r1 - sent Posted.");
		bench_wait_noted(scene, i);
		bench_says(FLOTILLA(scene, "prune", "t", "--delete"), 0, "deleted");
	}
}

START_TEST(a_run_under_the_id_of_a_deleted_one_is_new)
{
	bench_act(play_again, false);
}
END_TEST

/* --- time ------------------------------------------------------------------------------------ */

static bool
is_gone(void *arg)
{
	struct scene *scene = arg;
	const struct value *state;

	return store_thread(scene->client->store, scene->arena, "t", &state) ==
	       STORE_NONE;
}

static bool
is_short(void *arg)
{
	return value_size(bench_history(arg)) == 1;
}

static const struct value *
time_to_live(struct scene *scene, const char *ms, const char *action)
{
	struct arena *arena = scene->arena;

	return value_map(arena, "ttl_ms", value_str(arena, ms), "ttl_action",
	    value_str(arena, action), NULL);
}

static void
play_expiry(struct scene *scene)
{
	bench_submit_more(scene, "careful", "r1", "{\"messages\": \"r1\", \"count\": 1}",
	    time_to_live(scene, "100", "keep_latest"));
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_halfway(scene);
	ck_assert_msg(client_wait(scene->client, is_short, scene, WAIT_MS), "not pruned");
	ck_assert_str_eq(bench_talk(scene, bench_thread(scene)), "r1 One.");
	ck_assert_int_eq(bench_count(bench_thread(scene)), 1);
	/* One that waits for an answer does not end; when it has got it, it does. */
	bench_submit_more(
	    scene, "careful", "r2", "\"r2\"", time_to_live(scene, "100", "delete"));
	ck_assert_str_eq(bench_wait(scene, "r2"), "interrupted");
	bench_submit_more(scene, "clerk", "r3", "\"r3\"", NULL);
	bench_wait_noted(scene, 1);
	ck_assert(!is_gone(scene));
	bench_cancel(scene, "r3");
	ck_assert_msg(client_wait(scene->client, is_gone, scene, WAIT_MS), "not deleted");
	wait_unbound(scene, "r1");
	bench_submit_more(
	    scene, "clerk", "r4", "\"r4\"", time_to_live(scene, "soon", "delete"));
	ck_assert_str_eq(bench_wait(scene, "r4"), "refused");
	bench_submit_more(
	    scene, "clerk", "r5", "\"r5\"", time_to_live(scene, "1", "burn"));
	ck_assert_str_eq(bench_wait(scene, "r5"), "refused");
	bench_says(FLOTILLA(scene, "submit", "clerk", "x", "--ttl", "100"), 2, "--ttl");
}

BOTH(a_pruned_thread_keeps_what_it_needs, play_prune)
BOTH(a_deleted_thread_is_gone_unless_it_waits, play_delete)
BOTH(a_thread_ends_when_its_time_is_over, play_expiry)

TCase *
tcase_thread_end(void)
{
	TCase *tcase = tcase_create("thread_end");

	tcase_set_timeout(tcase, 180);
	tcase_add_loop_test(tcase, a_pruned_thread_keeps_what_it_needs, 0, 2);
	tcase_add_loop_test(tcase, a_deleted_thread_is_gone_unless_it_waits, 0, 2);
	tcase_add_test(tcase, a_run_under_the_id_of_a_deleted_one_is_new);
	tcase_add_loop_test(tcase, a_thread_ends_when_its_time_is_over, 0, 2);
	return tcase;
}
