/* Agents that work for another agent and ask a human: it is the other's run that waits, and that is answered. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ask_bench.h"
#include "cli.h"
#include "json.h"
#include "literal.h"

TCase *tcase_children_asked(void);

#define TASK(id, agent)                                                                  \
	"{id: " id ", name: task, args: {description: do it, subagent_type: " agent "}}"
#define SUBAGENT(name, more)                                                             \
	"{subagent: {general_purpose_agent: false, subagents: [{name: " name             \
	", description: works, model: 'scripted:" name "', " more "}]}}"
#define BUYER SUBAGENT("buyer", "tools: [note, pay]")
/* clang-format off */
#define AGENT(name, middleware, calls)                                                   \
	"name: " name "\n"                                                               \
	"model: scripted:m\n"                                                            \
	"tools: [note]\n"                                                                \
	"middleware: [" middleware "]\n"                                                 \
	"script:\n"                                                                      \
	"  buyer:\n"                                                                     \
	"    - tool_calls: [{id: n, name: note, args: {text: kept}}]\n"                  \
	"    - tool_calls: [{id: p, name: pay, args: {amount: 3}}]\n"                    \
	"    - content: It is bought.\n"                                                 \
	"  noter:\n"                                                                     \
	"    - tool_calls: [{id: n, name: note, args: {text: kept}}]\n"                  \
	"    - content: It is noted.\n"                                                  \
	"  manager:\n"                                                                   \
	"    - tool_calls: [" TASK("m", "buyer") "]\n"                                   \
	"    - content: I had it bought.\n"                                              \
	"  asker:\n"                                                                     \
	"    - content: It is asked.\n"                                                  \
	"  m:\n"                                                                         \
	"    - tool_calls: [" calls "]\n"                                                \
	"    - content: All is done.\n"                                                  \
	"---\n"
/* clang-format on */

static const char *const agents[] = {
	AGENT("one", BUYER, TASK("a", "buyer")),
	AGENT("two", BUYER,
	    TASK("a", "buyer") ", " TASK(
		"b", "buyer") ", {id: c, name: note, args: {text: beside}}"),
	AGENT(
	    "deep", SUBAGENT("manager", "middleware: [" BUYER "]"), TASK("a", "manager")),
	AGENT("reviewed", SUBAGENT("noter", "tools: [note], interrupt_on: {note: true}"),
	    TASK("a", "noter")),
	AGENT("checked",
	    SUBAGENT("noter", "tools: [note], middleware: [{human_in_the_loop: "
			      "{interrupt_on: {note: true}, interrupt_mode: per_call}}]"),
	    TASK("a", "noter")),
	AGENT("hooked",
	    SUBAGENT("asker", "middleware: [{asks_human: {at: before_model, questions: "
			      "[{n: 1}, 'two?']}}]"),
	    TASK("a", "asker")),
	AGENT("stopping",
	    SUBAGENT("buyer", "tools: [note, pay], interrupt_before: [tools]"),
	    TASK("a", "buyer")),
};

static void
act(void (*play)(struct scene *scene))
{
	struct arena *arena = arena_new();
	const char *text = "";
	size_t i;

	for (i = 0; i < sizeof agents / sizeof *agents; i++)
		text = arena_printf(arena, "%s%s", text, agents[i]);
	ask_act_with(play, text);
	arena_destroy(&arena);
}

static size_t
count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		count++;
	return count;
}

static const struct value *
asked(struct scene *scene, const char *agent, const char *run, const char *what,
    const char *text, size_t count)
{
	const struct value *record = ask_run(scene, agent, run, "t", what, text);

	ask_check_status(scene, record, "interrupted");
	ck_assert_msg(value_size(value_get(record, "interrupts")) == count, "%s",
	    json_text(scene->arena, value_get(record, "interrupts")));
	return record;
}

static void
ended(struct scene *scene, const char *agent, const char *run, const char *answer,
    const char *says)
{
	ask_check_status(
	    scene, ask_run(scene, agent, run, "t", "resume", answer), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), says);
}

/* --- one ------------------------------------------------------------------------------ */

static void
play_one(struct scene *scene)
{
	const struct value *record = asked(scene, "one", "r1", "input", "\"hi\"", 1);
	const struct value *ask = ask_interrupt_of(record, 0);

	ck_assert_value(scene->arena, value_get(ask, "value"), "{'pay': 3}");
	ck_assert_str_eq(value_get_text(ask, "tool_call_id"), "a");
	ck_assert_str_eq(value_get_text(ask, "run"), "r1-2-0-1");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "");
	/* Its parent's question is the only one. */
	ck_assert_uint_eq(
	    count_of(kit_flotilla(scene->kit, "approvals", NULL), "{\"pay\":3}"), 1);
	ask_restart_everything(scene);
	ended(scene, "one", "r2", "\"yes\"", "a=It is bought.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 2);
	ck_assert(ask_lines_of(scene, "pay").same_key);
	ask_check_refused(scene, "one", "r3", "t", "\"again\"", "waits for nothing");
	ck_assert_uint_eq(
	    count_of(kit_flotilla(scene->kit, "approvals", NULL), "{\"pay\":3}"), 0);
}

START_TEST(a_childs_question_is_its_parents)
{
	act(play_one);
}
END_TEST

static void
play_refused(struct scene *scene)
{
	const struct value *record = asked(scene, "one", "r1", "input", "\"hi\"", 1);
	const char *id = ask_id_of(record, 0);

	ask_check_refused(scene, "one", "r2", "t", "null", "null is none");
	ask_check_refused(scene, "one", "r3", "t", "{\"r9.9.9:1\": 1}", id);
	ask_check_refused(scene, "one", "r4", "t",
	    arena_printf(scene->arena, "{\"%s\": 1, \"other\": 2}", id), "'other'");
	ask_restart_everything(scene);
	ended(scene, "one", "r5", arena_printf(scene->arena, "{\"%s\": \"so\"}", id),
	    "a=It is bought.;");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 2);
}

START_TEST(what_is_no_answer_leaves_the_pause)
{
	act(play_refused);
}
END_TEST

static void
play_twice(struct scene *scene)
{
	const struct value *record = asked(scene, "hooked", "r1", "input", "\"hi\"", 1);
	const char *first = ask_id_of(record, 0);

	ask_restart_everything(scene);
	record = asked(scene, "hooked", "r2", "resume",
	    arena_printf(scene->arena, "{\"%s\": [\"x\"]}", first), 1);
	ck_assert_str_ne(ask_id_of(record, 0), first);
	ck_assert_value(
	    scene->arena, value_get(ask_interrupt_of(record, 0), "value"), "'two?'");
	ask_restart_everything(scene);
	ended(scene, "hooked", "r3", "{\"y\": 1}", "a=It is asked.;");
}

START_TEST(a_child_asks_again)
{
	act(play_twice);
}
END_TEST

static void
play_left(struct scene *scene)
{
	const struct value *record = asked(scene, "one", "r1", "input", "\"hi\"", 1);

	record = ask_run(scene, "one", "r2", "t", "input", "\"never mind\"");
	ask_check_status(scene, record, "success");
	ask_check_refused(scene, "one", "r3", "t", "1", "waits for nothing");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 1);
	ck_assert_uint_eq(
	    count_of(kit_flotilla(scene->kit, "approvals", NULL), "{\"pay\":3}"), 0);
}

START_TEST(new_input_leaves_the_childs_question_behind)
{
	act(play_left);
}
END_TEST

static void
play_stopping(struct scene *scene)
{
	const struct value *record = asked(scene, "stopping", "r1", "input", "\"hi\"", 1);

	ck_assert_value(scene->arena, value_get(ask_interrupt_of(record, 0), "value"),
	    "{'type': 'paused', 'agent': 'buyer'}");
	ask_restart_everything(scene);
	asked(scene, "stopping", "r2", "resume", "true", 1);
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
	asked(scene, "stopping", "r3", "resume", "true", 1); /* pay itself */
	ended(scene, "stopping", "r4", "\"yes\"", "a=It is bought.;");
}

START_TEST(a_child_that_stands_before_a_node_goes_on_with_any_answer)
{
	act(play_stopping);
}
END_TEST

/* --- several --------------------------------------------------------------------------- */

static void
play_two(struct scene *scene)
{
	const struct value *record = asked(scene, "two", "r1", "input", "\"hi\"", 2);
	const char *a = ask_id_of(record, 0), *b = ask_id_of(record, 1);

	ask_restart_everything(scene);
	ask_check_refused(scene, "two", "r2", "t", "\"yes\"", "2 interrupts wait");
	record = asked(scene, "two", "r3", "resume",
	    arena_printf(scene->arena, "{\"%s\": \"yes\"}", b), 1);
	ck_assert_str_eq(ask_id_of(record, 0), a);
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 3);
	ask_restart_everything(scene);
	ask_check_refused(scene, "two", "r4", "t",
	    arena_printf(scene->arena, "{\"%s\": \"yes\"}", b), a);
	ended(scene, "two", "r5", "\"so\"", "a=It is bought.;b=It is bought.;c=noted;");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 4);
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 2);
	ck_assert_uint_eq(ask_lines_of(scene, "beside").count, 1);
}

START_TEST(the_one_that_was_not_answered_asks_on)
{
	act(play_two);
}
END_TEST

static void
play_both(struct scene *scene)
{
	const struct value *record = asked(scene, "two", "r1", "input", "\"hi\"", 2);

	ended(scene, "two", "r2",
	    arena_printf(scene->arena, "{\"%s\": \"yes\", \"%s\": \"no\"}",
		ask_id_of(record, 0), ask_id_of(record, 1)),
	    "a=It is bought.;b=It is bought.;c=noted;");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 4);
	ck_assert_uint_eq(ask_lines_of(scene, "beside").count, 1);
}

START_TEST(both_are_answered_at_once)
{
	act(play_both);
}
END_TEST

static void
play_deep(struct scene *scene)
{
	const struct value *record = asked(scene, "deep", "r1", "input", "\"hi\"", 1);

	ck_assert_str_eq(
	    value_get_text(ask_interrupt_of(record, 0), "tool_call_id"), "a");
	ck_assert_str_eq(value_get_text(ask_interrupt_of(record, 0), "run"), "r1-2-0-1");
	ck_assert_uint_eq(
	    count_of(kit_flotilla(scene->kit, "approvals", NULL), "{\"pay\":3}"), 1);
	ask_restart_everything(scene);
	ended(scene, "deep", "r2", "\"yes\"", "a=I had it bought.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 2);
}

START_TEST(a_childs_child_asks)
{
	act(play_deep);
}
END_TEST

/* --- human_in_the_loop ------------------------------------------------------------------ */

static void
play_reviewed(struct scene *scene)
{
	asked(scene, "reviewed", "r1", "input", "\"hi\"", 1);
	ck_assert_ptr_nonnull(
	    strstr(kit_flotilla(scene->kit, "approvals", NULL), "note"));
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 0);
	ask_restart_everything(scene);
	kit_flotilla(scene->kit, "approve", "t", "--wait", NULL);
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=It is noted.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

START_TEST(human_in_the_loop_reviews_a_childs_call)
{
	act(play_reviewed);
}
END_TEST

/* It is refused where it came, or the child would fail of it. */
static void
play_checked(struct scene *scene)
{
	asked(scene, "checked", "r1", "input", "\"hi\"", 1);
	ask_check_refused(
	    scene, "checked", "r2", "t", "{\"type\": \"dance\"}", "does not fit");
	ended(scene, "checked", "r3", "{\"type\": \"approve\"}", "a=It is noted.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

START_TEST(an_answer_must_fit_what_the_child_asks)
{
	act(play_checked);
}
END_TEST

/* --- copies --------------------------------------------------------------------------- */

static void
answer_in(struct scene *scene, const char *agent, const char *run, const char *thread)
{
	ask_check_status(
	    scene, ask_run(scene, agent, run, thread, "resume", "\"yes\""), "success");
}

/* A copy has a child of its own that asks: before and behind the answer in the other. */
static void
play_copy_of(struct scene *scene, const char *agent, const char *says)
{
	const struct value *state = NULL;

	asked(scene, agent, "r1", "input", "\"hi\"", 1);
	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, "t", &state), STORE_OK);
	kit_flotilla(scene->kit, "copy", "t", "u", NULL);
	answer_in(scene, agent, "r2", "t");
	answer_in(scene, agent, "r3", "u");
	kit_flotilla(scene->kit, "copy", "t", "v", "--at",
	    arena_printf(
		scene->arena, "%lld", (long long)value_get_int(state, "version", 0)),
	    NULL);
	ask_restart_everything(scene);
	answer_in(scene, agent, "r4", "v");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), says);
	ck_assert_str_eq(ask_tool_answers_of(scene, "u"), says);
	ck_assert_str_eq(ask_tool_answers_of(scene, "v"), says);
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

static void
play_copies(struct scene *scene)
{
	play_copy_of(scene, "one", "a=It is bought.;");
}

START_TEST(a_copy_asks_for_itself)
{
	act(play_copies);
}
END_TEST

static void
play_deep_copies(struct scene *scene)
{
	play_copy_of(scene, "deep", "a=I had it bought.;");
}

START_TEST(a_copy_asks_for_its_childs_child)
{
	act(play_deep_copies);
}
END_TEST

/* Gone back to where it was asked, and answered once more. */
static void
play_replayed(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *state = NULL;

	asked(scene, "deep", "r1", "input", "\"hi\"", 1);
	ck_assert_int_eq(
	    store_thread(scene->client->store, arena, "t", &state), STORE_OK);
	answer_in(scene, "deep", "r2", "t");
	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "deep"), "run",
		value_str(arena, "r3"), "thread", value_str(arena, "t"), "checkpoint",
		value_printf(
		    arena, "%lld", (long long)value_get_int(state, "version", 0)),
		NULL));
	ask_check_status(scene, ask_wait_end(scene, "r3", "t"), "interrupted");
	ended(scene, "deep", "r4", "\"yes\"", "a=I had it bought.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

START_TEST(a_replayed_question_is_asked_anew)
{
	act(play_replayed);
}
END_TEST

/* Its record cannot be read any more: that is its own trouble. */
static void
play_damaged(struct scene *scene)
{
	kit_write(scene->kit, "hold", "");
	ask_submit(scene, "one", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "pay", 1);
	kit_redis_cli(scene->kit, 0, "SET",
	    store_run_key(scene->arena, "r1-2-0-1", "r1-2-0-1"), "no hash", NULL);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"), "its run is gone"));
	remove(scene->hold);
}

START_TEST(a_child_whose_record_is_damaged_is_gone)
{
	act(play_damaged);
}
END_TEST

/* --- who takes it over ------------------------------------------------------------------ */

static void
play_takeover(struct scene *scene)
{
	asked(scene, "deep", "r1", "input", "\"hi\"", 1);
	kit_write(scene->kit, "hold", "");
	ask_submit(scene, "deep", "r2", "t", "resume", "\"yes\"");
	ask_wait_lines(scene, "pay", 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	remove(scene->hold);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	ask_check_status(scene, ask_wait_end(scene, "r2", "t"), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I had it bought.;");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 2);
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 1);
}

START_TEST(who_takes_it_over_finds_the_child_that_was_answered)
{
	act(play_takeover);
}
END_TEST

TCase *
tcase_children_asked(void)
{
	TCase *tcase = tcase_create("children_asked");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_childs_question_is_its_parents);
	tcase_add_test(tcase, a_child_whose_record_is_damaged_is_gone);
	tcase_add_test(tcase, a_replayed_question_is_asked_anew);
	tcase_add_test(tcase, a_copy_asks_for_itself);
	tcase_add_test(tcase, a_copy_asks_for_its_childs_child);
	tcase_add_test(tcase, what_is_no_answer_leaves_the_pause);
	tcase_add_test(tcase, a_child_asks_again);
	tcase_add_test(tcase, new_input_leaves_the_childs_question_behind);
	tcase_add_test(tcase, a_child_that_stands_before_a_node_goes_on_with_any_answer);
	tcase_add_test(tcase, the_one_that_was_not_answered_asks_on);
	tcase_add_test(tcase, both_are_answered_at_once);
	tcase_add_test(tcase, a_childs_child_asks);
	tcase_add_test(tcase, human_in_the_loop_reviews_a_childs_call);
	tcase_add_test(tcase, an_answer_must_fit_what_the_child_asks);
	tcase_add_test(tcase, who_takes_it_over_finds_the_child_that_was_answered);
	return tcase;
}
