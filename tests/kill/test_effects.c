/* Calls that must not run twice, when their worker dies: told or repeated, over the deaths of
 * everybody who is to carry it out. */
#include <check.h>
#include <string.h>

#include "effects_bench.h"
#include "json.h"

TCase *tcase_effects(void);

/* --- tell_model --------------------------------------------------------------------- */

static void
check_told(struct scene *scene)
{
	fx_check_status(scene, "r1", "success");
	ck_assert_ptr_nonnull(strstr(fx_answer_to(scene, "a", "error"), "nobody knows"));
	ck_assert_str_eq(fx_answer_to(scene, "b", "success"), "noted");
	ck_assert_uint_eq(fx_uncertain_events(scene, "r1", "tell_model"), 1);
	fx_check_calls(scene, 1, 1);
}

static void
play_told(struct scene *scene)
{
	fx_submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, fx_wait_paying(scene, 1));
	fx_let_go_on(scene);
	check_told(scene);
}

START_TEST(the_model_is_told_that_nobody_knows)
{
	fx_act("tell_model", play_told);
}
END_TEST

/* Whoever comes next sends the call again, flagged, and nobody knows of it. */
static void
play_told_by_another(struct scene *scene)
{
	unsigned worker;

	fx_submit(scene, "r1", "input", "\"hi\"");
	worker = fx_wait_paying(scene, 1);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_kill(scene->kit, KIT_TOOLS, worker);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	fx_let_go_on(scene);
	check_told(scene);
}

START_TEST(nor_is_it_run_again_when_coordinator_and_broker_die_with_the_worker)
{
	fx_act("tell_model", play_told_by_another);
}
END_TEST

/* --- repeat ------------------------------------------------------------------------- */

static void
check_repeated(struct scene *scene)
{
	fx_check_status(scene, "r1", "success");
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "paid");
	ck_assert_uint_eq(fx_uncertain_events(scene, "r1", "repeat"), 1);
	fx_check_calls(scene, 2, 1);
}

static void
play_repeated(struct scene *scene)
{
	fx_submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, fx_wait_paying(scene, 1));
	fx_let_go_on(scene);
	check_repeated(scene);
}

START_TEST(a_repeated_call_has_the_same_key)
{
	fx_act("repeat", play_repeated);
}
END_TEST

/* The call was sent again, and that is known: the next owner neither repeats it once more
 * nor takes it for lost. */
static void
play_repeated_and_taken_over(struct scene *scene)
{
	unsigned first;

	fx_submit(scene, "r1", "input", "\"hi\"");
	first = fx_wait_paying(scene, 1);
	kit_kill(scene->kit, KIT_TOOLS, first);
	fx_wait_paying(scene, 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	fx_let_go_on(scene);
	check_repeated(scene);
}

START_TEST(a_repeated_call_is_taken_over)
{
	fx_act("repeat", play_repeated_and_taken_over);
}
END_TEST

/* --- poison ------------------------------------------------------------------------- */

static bool
is_over(const struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	return store_run(scene->client->store, scene->arena, "t", run, &record) ==
		   STORE_OK &&
	       value_has(record, "ended");
}

static bool
is_begun_or_over(void *arg)
{
	const struct fx_count *wanted = arg;

	return fx_is_begun(arg) || is_over(wanted->scene, "r1");
}

static void
play_poison(struct scene *scene)
{
	struct fx_count count = { .scene = scene, .tool = "deadly", .wanted = 1 };
	const struct value *record, *fault;

	kit_kill(scene->kit, KIT_TOOLS, 1); /* one at a time */
	fx_submit_to(scene, "doomed", "r1", "input", "\"hi\"");
	while (client_wait(scene->client, is_begun_or_over, &count, FX_WAIT_MS) &&
	       !is_over(scene, "r1")) {
		count.wanted++;
		kit_kill(scene->kit, KIT_TOOLS, 0); /* it is dead: its name is free */
		kit_start(scene->kit, KIT_TOOLS, 0);
	}
	record = fx_wait_end(scene, "r1");
	fault = value_get(record, "fault");
	ck_assert_msg(value_text_is(value_get(fault, "type"), "PoisonError"), "%s",
	    json_text(scene->arena, record));
	ck_assert(value_has(record, "dead"));
	/* The broker may have given it to the first dead one before it knew of that. */
	ck_assert_uint_le(fx_count_calls(scene, "deadly").lines, CALL_ATTEMPTS_MAX);
	ck_assert_uint_ge(fx_count_calls(scene, "deadly").lines, CALL_ATTEMPTS_MAX - 1);
}

START_TEST(a_call_that_kills_its_workers_ends_the_run_for_good)
{
	fx_act("tell_model", play_poison);
}
END_TEST

TCase *
tcase_effects(void)
{
	TCase *tcase = tcase_create("effects");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_model_is_told_that_nobody_knows);
	tcase_add_test(
	    tcase, nor_is_it_run_again_when_coordinator_and_broker_die_with_the_worker);
	tcase_add_test(tcase, a_repeated_call_has_the_same_key);
	tcase_add_test(tcase, a_repeated_call_is_taken_over);
	tcase_add_test(tcase, a_call_that_kills_its_workers_ends_the_run_for_good);
	return tcase;
}
