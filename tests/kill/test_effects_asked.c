/* Calls that must not run twice, when their worker dies and a human is asked what follows. */
#include <check.h>
#include <string.h>

#include "effects_bench.h"
#include "json.h"

TCase *tcase_effects_asked(void);

static const char *
wait_paused(struct scene *scene, const char *run)
{
	const struct value *record = fx_wait_end(scene, run), *ask, *value;

	ck_assert_msg(value_text_is(value_get(record, "status"), "interrupted"), "%s",
	    json_text(scene->arena, record));
	ask = value_at(value_get(record, "interrupts"), 0);
	value = value_get(ask, "value");
	ck_assert(value_text_is(value_get(value, "type"), "uncertain"));
	ck_assert(value_text_is(value_get(value_get(value, "tool_call"), "name"), "pay"));
	return value_get_text(ask, "id");
}

/* The run pauses with the note noted. */
static const char *
pause_run(struct scene *scene)
{
	fx_submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, fx_wait_paying(scene, 1));
	fx_let_go_on(scene);
	return wait_paused(scene, "r1");
}

static void
restart_all(struct scene *scene)
{
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_kill(scene->kit, KIT_REDIS, 0);
	kit_start(scene->kit, KIT_REDIS, 0);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
}

static void
check_refused_of(struct scene *scene, const char *agent_name, const char *run,
    const char *answer, const char *says)
{
	const struct value *record;

	fx_submit_to(scene, agent_name, run, "resume", answer);
	record = fx_wait_end(scene, run);
	ck_assert_msg(value_text_is(value_get(record, "status"), "error"), "%s",
	    json_text(scene->arena, record));
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(value_get(record, "fault"), "message"), says));
}

static void
check_refused(struct scene *scene, const char *run, const char *answer, const char *says)
{
	check_refused_of(scene, "clerk", run, answer, says);
}

static void
play_asked(struct scene *scene)
{
	const char *id = pause_run(scene);

	ck_assert_uint_eq(fx_uncertain_events(scene, "r1", "interrupt"), 1);
	restart_all(scene);
	check_refused(scene, "r2", "null", "null is none");
	check_refused(scene, "r3", "\"perhaps\"", "must be \"repeat\"");
	check_refused(scene, "r4", "{\"other.1.0\": \"repeat\"}", id);
	fx_check_calls(scene, 1, 1);
	fx_submit(scene, "r5", "resume",
	    arena_printf(scene->arena, "{\"%s\": \"repeat\"}", id));
	fx_check_status(scene, "r5", "success");
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "paid");
	ck_assert_str_eq(fx_answer_to(scene, "b", "success"), "noted");
	fx_check_calls(scene, 2, 1); /* and with one key: count_calls */
}

START_TEST(a_human_may_have_it_repeated_whatever_was_restarted)
{
	fx_act("interrupt", play_asked);
}
END_TEST

/* Of a child it is the parent that is asked, and its answer is held against what may be said. */
static void
play_child_asked(struct scene *scene)
{
	const char *id;

	fx_submit_to(scene, "boss", "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, fx_wait_paying(scene, 1));
	fx_let_go_on(scene);
	id = wait_paused(scene, "r1");
	restart_all(scene);
	check_refused_of(scene, "boss", "r2", "\"perhaps\"", "must be \"repeat\"");
	check_refused_of(scene, "boss", "r3", "{\"other.1.0\": \"repeat\"}", id);
	fx_check_calls(scene, 1, 1);
	fx_submit_to(scene, "boss", "r4", "resume", "\"repeat\"");
	fx_check_status(scene, "r4", "success");
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "All is done.");
	fx_check_calls(scene, 2, 1);
}

START_TEST(a_childs_uncertain_call_is_asked_of_its_parent)
{
	fx_act("interrupt", play_child_asked);
}
END_TEST

static void
play_responded(struct scene *scene)
{
	pause_run(scene);
	fx_submit(scene, "r2", "resume", "{\"respond\": \"it was paid\"}");
	fx_check_status(scene, "r2", "success");
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "it was paid");
	fx_check_calls(scene, 1, 1);
}

START_TEST(a_human_may_answer_for_it)
{
	fx_act("interrupt", play_responded);
}
END_TEST

/* The thread goes on with the next run, and its model sees no open call. Who goes on behind that instead is asked again. */
static void
play_given_up(struct scene *scene)
{
	pause_run(scene);
	check_refused(scene, "r2", "\"fail\"", "nobody knows");
	check_refused(scene, "r3", "\"repeat\"", "waits for nothing");
	fx_submit(scene, "asked", "resume", "null");
	fx_check_status(scene, "asked", "interrupted");
	fx_submit(scene, "r4", "input", "\"and now?\"");
	fx_check_status(scene, "r4", "success");
	fx_answer_to(scene, "a", "error");
	fx_check_calls(scene, 1, 1);
}

START_TEST(a_human_may_give_up)
{
	fx_act("interrupt", play_given_up);
}
END_TEST

/* Asked for by the first call's id, which is its key, too. */
static void
play_from_the_command_line(struct scene *scene)
{
	const char *first = pause_run(scene);
	struct fx_count count;

	kit_flotilla(scene->kit, "resume", "r1", "repeat", "--run-id", "r2", NULL);
	fx_check_status(scene, "r2", "success");
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "paid");
	count = fx_count_calls(scene, "pay");
	ck_assert_str_eq(count.key, first);
	fx_check_calls(scene, 2, 1);
}

START_TEST(the_command_line_resumes_by_run_too)
{
	fx_act("interrupt", play_from_the_command_line);
}
END_TEST

/* What an answer has decided is told once all of the answers have been taken. */
static void
play_half_an_answer(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *asks, *events = NULL;
	const char *answer, *wonder, *pay;
	size_t i;

	fx_submit_to(scene, "asker", "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, fx_wait_paying(scene, 1));
	asks = value_get(fx_wait_end(scene, "r1"), "interrupts");
	ck_assert_uint_eq(value_size(asks), 2);
	wonder = value_get_text(value_at(asks, 0), "id");
	pay = value_get_text(value_at(asks, 1), "id");
	answer =
	    arena_printf(arena, "{\"%s\": \"yes\", \"%s\": \"perhaps\"}", wonder, pay);
	check_refused_of(scene, "asker", "r2", answer, "must be \"repeat\"");
	ck_assert_int_eq(
	    store_events(scene->client->store, arena, "t", "r2", 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++)
		ck_assert_msg(
		    !value_text_is(value_get(value_at(events, i), "kind"), "decided"),
		    "%s", json_text(arena, events));
}

START_TEST(a_refused_answer_has_decided_nothing)
{
	fx_act("interrupt", play_half_an_answer);
}
END_TEST

TCase *
tcase_effects_asked(void)
{
	TCase *tcase = tcase_create("effects_asked");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_human_may_have_it_repeated_whatever_was_restarted);
	tcase_add_test(tcase, a_childs_uncertain_call_is_asked_of_its_parent);
	tcase_add_test(tcase, a_human_may_answer_for_it);
	tcase_add_test(tcase, a_human_may_give_up);
	tcase_add_test(tcase, the_command_line_resumes_by_run_too);
	tcase_add_test(tcase, a_refused_answer_has_decided_nothing);
	return tcase;
}
