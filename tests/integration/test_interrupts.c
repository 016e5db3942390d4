/* Hooks, wraps and tools that ask a human, on a fleet of real processes: a pause is answered in
 * part and whole, by value and by id, each half with every process of the fleet killed in
 * between. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ask_bench.h"
#include "literal.h"

TCase *tcase_interrupts(void);

/* --- hooks and wraps ------------------------------------------------------------------ */

static const char *
run_name(struct scene *scene, const char *prefix, size_t i)
{
	return arena_printf(scene->arena, "%s%zu", prefix, i);
}

static const struct value *
wait_asked(struct scene *scene, const char *run, size_t i, const char *question)
{
	const struct value *record = ask_wait_end(scene, run, ask_places[i]);

	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
	ck_assert_value(
	    scene->arena, value_get(ask_interrupt_of(record, 0), "value"), question);
	return record;
}

static void
play_everywhere(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const char *first[ASK_PLACES];
	const struct value *record;
	size_t i;

	for (i = 0; i < ASK_PLACES; i++)
		ask_submit(scene, ask_places[i], run_name(scene, "a", i), ask_places[i],
		    "input", "\"hi\"");
	for (i = 0; i < ASK_PLACES; i++) {
		record = wait_asked(scene, run_name(scene, "a", i), i, "{'n': 1}");
		first[i] = ask_id_of(record, 0);
	}
	ask_restart_everything(scene);
	for (i = 0; i < ASK_PLACES; i++)
		ask_submit(scene, ask_places[i], run_name(scene, "b", i), ask_places[i],
		    "resume", arena_printf(arena, "{\"%s\": [\"x\"]}", first[i]));
	for (i = 0; i < ASK_PLACES; i++) {
		record = wait_asked(scene, run_name(scene, "b", i), i, "'two?'");
		ck_assert_str_ne(ask_id_of(record, 0), first[i]);
	}
	ask_restart_everything(scene);
	for (i = 0; i < ASK_PLACES; i++)
		ask_submit(scene, ask_places[i], run_name(scene, "c", i), ask_places[i],
		    "resume", "{\"y\": 1}");
	for (i = 0; i < ASK_PLACES; i++) {
		record = ask_wait_end(scene, run_name(scene, "c", i), ask_places[i]);
		ask_check_status(scene, record, "success");
		/* modify_model_request changes no state. */
		ck_assert_value(arena, value_get(value_get(record, "output"), "answers"),
		    strcmp(ask_places[i], "modify_model_request") == 0
			? "[]"
			: "[['x'], {'y': 1}]");
	}
	ck_assert_uint_eq(ask_lines_of(scene, "wrap_tool_call").count, 1);
}

START_TEST(every_hook_asks_and_goes_on_behind_restarts_of_everything)
{
	ask_act(play_everywhere);
}
END_TEST

static void
play_refused(struct scene *scene)
{
	const char *agent = "before_model", *t = agent, *id;
	const struct value *record = ask_run(scene, agent, "r1", t, "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	id = ask_id_of(record, 0);
	ask_check_refused(scene, agent, "r2", t, "null", "null is none");
	ask_check_refused(scene, agent, "r3", t, "{\"r1.9.hook:1\": 1}", id);
	ask_check_refused(scene, agent, "r4", t,
	    arena_printf(scene->arena, "{\"%s\": 1, \"other\": 2}", id), "'other'");
	ask_check_refused(scene, "stops", "r5", t, "1", "before_model");
	/* A hook that refuses the answer leaves the question. */
	ask_check_refused(scene, agent, "r6", t, "\"refuse\"", "it was refused");
	record = ask_run(scene, agent, "r7", t, "resume", "1");
	ask_check_status(scene, record, "interrupted");
	ask_check_refused(scene, agent, "r8", t,
	    arena_printf(scene->arena, "{\"%s\": 1}", id), ask_id_of(record, 0));
	record = ask_run(scene, agent, "r9", t, "resume", "2");
	ask_check_status(scene, record, "success");
	ck_assert_value(
	    scene->arena, value_get(value_get(record, "output"), "answers"), "[1, 2]");
	ask_check_refused(scene, agent, "r10", t, "3", "waits for nothing");
}

START_TEST(what_answers_nothing_leaves_the_thread_as_it_was)
{
	ask_act(play_refused);
}
END_TEST

static void
play_stops(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "stops", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	ask_restart_everything(scene);
	ask_check_refused(scene, "stops", "r2", "t", "\"yes\"", "asks nothing");
	record = ask_run(scene, "stops", "r3", "t", "resume", "null");
	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(ask_lines_of(scene, "stops").count, 1);
	ask_restart_everything(scene);
	ask_check_refused(scene, "stops", "r4", "t", "{}", "asks nothing");
	record = ask_run(scene, "stops", "r5", "t", "resume", "null");
	ask_check_status(scene, record, "success");
	ck_assert_uint_eq(ask_lines_of(scene, "stops").count, 1);
}

START_TEST(a_pause_before_or_behind_a_node_asks_nothing)
{
	ask_act(play_stops);
}
END_TEST

/* --- several at once ------------------------------------------------------------------ */

static void
play_parallel(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *record =
	    ask_run(scene, "parallel", "r1", "t", "input", "\"hi\"");
	const char *pay, *confirm;

	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 2);
	ck_assert_value(
	    arena, value_get(ask_interrupt_of(record, 0), "value"), "{'pay': 3}");
	ck_assert_value(
	    arena, value_get(ask_interrupt_of(record, 1), "value"), "{'really': [1, 2]}");
	ck_assert_str_eq(
	    value_get_text(ask_interrupt_of(record, 1), "tool_call_id"), "c");
	pay = ask_id_of(record, 0);
	confirm = ask_id_of(record, 1);
	ask_restart_everything(scene);
	ask_check_refused(scene, "parallel", "r2", "t", "\"yes\"", "2 interrupts wait");
	record = ask_run(scene, "parallel", "r3", "t", "resume",
	    arena_printf(arena, "{\"%s\": \"yes\"}", pay));
	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
	ck_assert_str_eq(ask_id_of(record, 0), confirm);
	/* With a wrap around it a program is asked again for what it was answered. */
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 3);
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "");
	ask_restart_everything(scene);
	ask_check_refused(scene, "parallel", "r4", "t",
	    arena_printf(arena, "{\"%s\": \"yes\"}", pay), confirm);
	record = ask_run(scene, "parallel", "r5", "t", "resume", "\"it is so\"");
	ask_check_status(scene, record, "success");
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=it is so;");
	/* What had ended is not run again, what runs again has the same key. */
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 3);
	ck_assert(ask_lines_of(scene, "pay").same_key);
}

START_TEST(answers_in_part_go_on_with_that_part)
{
	ask_act(play_parallel);
}
END_TEST

/* The coordinator dies while the call that was answered runs. */
static void
play_takeover(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "parallel", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	kit_write(scene->kit, "hold", "");
	ask_submit(scene, "parallel", "r2", "t", "resume",
	    arena_printf(scene->arena, "{\"%s\": \"yes\", \"%s\": \"so\"}",
		ask_id_of(record, 0), ask_id_of(record, 1)));
	ask_wait_lines(scene, "pay", 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	remove(scene->hold);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	ask_check_status(scene, ask_wait_end(scene, "r2", "t"), "success");
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=so;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 3);
	ck_assert(ask_lines_of(scene, "pay").same_key);
}

START_TEST(who_takes_a_resumed_run_over_knows_the_answers)
{
	ask_act(play_takeover);
}
END_TEST

/* New input begins a run of its own, and the open calls are answered for the model. */
static void
play_left(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "parallel", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	record = ask_run(scene, "parallel", "r2", "t", "input", "\"never mind\"");
	ask_check_status(scene, record, "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"), "a="));
	ask_check_refused(scene, "parallel", "r3", "t", "1", "waits for nothing");
}

START_TEST(new_input_leaves_the_question_behind)
{
	ask_act(play_left);
}
END_TEST

TCase *
tcase_interrupts(void)
{
	TCase *tcase = tcase_create("interrupts");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, every_hook_asks_and_goes_on_behind_restarts_of_everything);
	tcase_add_test(tcase, what_answers_nothing_leaves_the_thread_as_it_was);
	tcase_add_test(tcase, a_pause_before_or_behind_a_node_asks_nothing);
	tcase_add_test(tcase, answers_in_part_go_on_with_that_part);
	tcase_add_test(tcase, who_takes_a_resumed_run_over_knows_the_answers);
	tcase_add_test(tcase, new_input_leaves_the_question_behind);
	return tcase;
}
