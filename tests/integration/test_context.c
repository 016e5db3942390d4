/* The context of a run that waits or has failed, and of whoever goes on with it: what it was told is not asked for again. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"
#include "json.h"
#include "literal.h"

TCase *tcase_context(void);

/* limited: asks about texts that are longer than its context lets them be, of three rounds; the tool of the second takes its time.
 * spent: asks by what its state says. failing: its tool ends the run. */
static const char agents[] =
    "name: limited\n"
    "model: scripted:m\n"
    "tools: [note, linger]\n"
    "context: {properties: {limit: {type: integer}}, required: [limit]}\n"
    "middleware:\n"
    "  - human_in_the_loop:\n"
    "      interrupt_on:\n"
    "        note:\n"
    "          allowed_decisions: [approve, reject]\n"
    "          when: '#args.text > context.limit'\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: note, args: {text: one}}\n"
    "        - {id: b, name: note, args: {text: three}}\n"
    "    - tool_calls: [{id: c, name: linger, args: {}}]\n"
    "    - tool_calls:\n"
    "        - {id: d, name: note, args: {text: two}}\n"
    "        - {id: e, name: note, args: {text: seven}}\n"
    "    - content: All is done.\n"
    "---\n"
    "name: spent\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "state: {spent: {type: integer, default: 0}}\n"
    "middleware:\n"
    "  - human_in_the_loop:\n"
    "      interrupt_on:\n"
    "        note: {allowed_decisions: [approve, reject], when: state.spent > 0}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: note, args: {text: bought}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: single\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - human_in_the_loop:\n"
    "      interrupt_mode: per_call\n"
    "      interrupt_on:\n"
    "        note:\n"
    "          allowed_decisions: [approve, reject]\n"
    "          when: '#args.text > context.limit'\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: note, args: {text: three}}\n"
    "        - {id: b, name: note, args: {text: seven}}\n"
    "    - content: All is done.\n"
    "---\n"
    "name: failing\n"
    "model: scripted:m\n"
    "tools: [break]\n"
    "tool_errors: raise\n"
    "context: {properties: {user: {type: string}}, required: [user]}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: break, args: {}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: named\n"
    "model: scripted:m\n"
    "tools: [linger]\n"
    "context: {type: string}\n"
    "interrupt_before: [tools]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: linger, args: {}}]\n"
    "    - content: All is done.\n";

#define RUN(scene, ...) ASK_FLOTILLA(scene, __VA_ARGS__)

static void
check_said(const struct said *said, int status, const char *text)
{
	ck_assert_msg(said->status == status && (strstr(said->out, text) != NULL ||
						    strstr(said->err, text) != NULL),
	    "%d: %s%s", said->status, said->out, said->err);
}

static void
check_asked(struct scene *scene, const char *run, const char *text)
{
	const struct value *record = ask_wait_end(scene, run, "t");
	const struct value *asked =
	    value_get(value_get(ask_interrupt_of(record, 0), "value"), "action_requests");

	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(asked), 1);
	ck_assert_str_eq(
	    value_get_text(value_get(value_at(asked, 0), "args"), "text"), text);
}

/* --- who answers ---------------------------------------------------------------------------- */

/* Only those that a run may go on from have it. */
static void
check_checkpoints(struct scene *scene, size_t with)
{
	struct said said = RUN(scene, "history", "t", "--json");
	const char *error;
	const struct value *history =
	    json_parse(scene->arena, said.out, strlen(said.out), &error);
	size_t i, found = 0;

	for (i = 0; i < value_size(history); i++)
		found += value_has(value_at(history, i), "context");
	ck_assert_msg(found == with, "%zu: %s", found, said.out);
}

/* Also whoever takes over the run that goes on. */
static void
play_limited(struct scene *scene)
{
	struct said said = RUN(scene, "submit", "limited", "go", "--thread", "t",
	    "--run-id", "r1", "--context", "{\"limit\": 3}", "--wait");

	ck_assert_int_eq(said.status, 5);
	check_asked(scene, "r1", "three");
	ask_put(scene->hold);
	said = RUN(scene, "approve", "t", "--run-id", "r2");
	ck_assert_int_eq(said.status, 0);
	ask_wait_lines(scene, "linger", 1);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(unlink(scene->hold), 0);
	check_asked(scene, "r2", "seven");
	said = RUN(scene, "resume", "t", "{\"decisions\": [{\"type\": \"reject\"}]}",
	    "--context", "{\"limit\": 9}", "--run-id", "r3", "--wait");
	check_said(&said, 0, "All is done.");
	ck_assert_uint_eq(ask_lines_of(scene, "three").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "two").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "seven").count, 0);
	check_checkpoints(scene, 2);
	/* A thread on which nothing waits has none. */
	ck_assert_ptr_null(
	    value_get(value_get(ask_state_of(scene, "t"), "head"), "context"));
	said = RUN(scene, "submit", "limited", "go", "--thread", "t", "--wait");
	check_said(&said, 1, "context");
}

START_TEST(who_answers_need_not_know_it)
{
	ask_act_with(play_limited, agents);
}
END_TEST

/* What is asked was about the call; by when it is answered nobody would ask. */
static void
play_spent(struct scene *scene)
{
	struct said said;

	ask_check_status(scene,
	    ask_run(scene, "spent", "r1", "t", "input",
		"{\"messages\": \"hi\", \"spent\": 1}"),
	    "interrupted");
	said = RUN(scene, "update", "t", "{\"spent\": 0}", "--as", "model");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	said = RUN(scene, "reject", "t", "--wait");
	check_said(&said, 0, "All is done.");
	ck_assert_uint_eq(ask_lines_of(scene, "bought").count, 0);
}

/* What is no map lies over nothing and nothing over it. */
static void
play_named(struct scene *scene)
{
	struct said said = RUN(scene, "submit", "named", "go", "--thread", "t",
	    "--context", "\"ann\"", "--wait");

	ck_assert_int_eq(said.status, 5);
	said = RUN(scene, "resume", "t", "--context", "{}", "--wait");
	check_said(&said, 1, "context");
	said = RUN(scene, "resume", "t", "--context", "null", "--wait");
	check_said(&said, 0, "All is done.");
}

START_TEST(it_need_not_be_a_map)
{
	ask_act_with(play_named, agents);
}
END_TEST

/* Who answers in the tools' place goes on with the model. */
static void
play_written(struct scene *scene)
{
	struct said said = RUN(scene, "submit", "limited", "go", "--thread", "t",
	    "--context", "{\"limit\": 3}", "--wait");

	ck_assert_int_eq(said.status, 5);
	said = RUN(scene, "update", "t",
	    "{\"messages\": [{\"type\": \"tool\", \"tool_call_id\": \"a\", \"content\": "
	    "\"1\"},"
	    " {\"type\": \"tool\", \"tool_call_id\": \"b\", \"content\": \"3\"}]}",
	    "--as", "tools");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	said = RUN(scene, "replay", "t", "--run-id", "r2", "--wait");
	ck_assert_msg(said.status == 5, "%s%s", said.out, said.err);
	check_asked(scene, "r2", "seven");
	/* Where nothing is next there is none. */
	said = RUN(scene, "update", "t", "{}", "--as", "__end__");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_ptr_null(
	    value_get(value_get(ask_state_of(scene, "t"), "head"), "context"));
}

START_TEST(who_writes_meanwhile_does_not_take_it_away)
{
	ask_act_with(play_written, agents);
}
END_TEST

START_TEST(what_was_rejected_does_not_run_whatever_has_changed)
{
	ask_act_with(play_spent, agents);
}
END_TEST

/* Each of two calls asks for itself; one is rejected by who lets longer texts pass, and the other one, which waits meanwhile, behind it. */
static void
play_single(struct scene *scene)
{
	const struct value *record;
	struct said said = RUN(scene, "submit", "single", "go", "--thread", "t",
	    "--run-id", "r1", "--context", "{\"limit\": 3}", "--wait");
	const char *one, *two;

	ck_assert_int_eq(said.status, 5);
	record = ask_wait_end(scene, "r1", "t");
	one =
	    arena_printf(scene->arena, "%s={\"type\": \"reject\"}", ask_id_of(record, 0));
	two =
	    arena_printf(scene->arena, "%s={\"type\": \"reject\"}", ask_id_of(record, 1));
	said = RUN(scene, "resume", "t", "--answer", one, "--context", "{\"limit\": 9}",
	    "--wait");
	ck_assert_msg(said.status == 5, "%s%s", said.out, said.err);
	said = RUN(scene, "resume", "t", "--answer", two, "--wait");
	check_said(&said, 0, "All is done.");
	ck_assert_uint_eq(ask_lines_of(scene, "three").count, 0);
	ck_assert_uint_eq(ask_lines_of(scene, "seven").count, 0);
}

START_TEST(so_it_is_of_calls_that_ask_alone)
{
	ask_act_with(play_single, agents);
}
END_TEST

/* --- behind a failure ------------------------------------------------------------------------ */

static void
play_failing(struct scene *scene)
{
	struct said said;

	ask_put(scene->broken);
	said = RUN(scene, "submit", "failing", "go", "--thread", "t", "--run-id", "r1",
	    "--context", "{\"user\": \"ann\"}", "--wait");
	check_said(&said, 1, "it is broken");
	ck_assert_int_eq(unlink(scene->broken), 0);
	ask_go_on(scene, "failing", "r2", "success");
}

START_TEST(who_goes_on_behind_a_failure_has_it)
{
	ask_act_with(play_failing, agents);
}
END_TEST

TCase *
tcase_context(void)
{
	TCase *tcase = tcase_create("context");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, who_answers_need_not_know_it);
	tcase_add_test(tcase, it_need_not_be_a_map);
	tcase_add_test(tcase, who_writes_meanwhile_does_not_take_it_away);
	tcase_add_test(tcase, what_was_rejected_does_not_run_whatever_has_changed);
	tcase_add_test(tcase, so_it_is_of_calls_that_ask_alone);
	tcase_add_test(tcase, who_goes_on_behind_a_failure_has_it);
	return tcase;
}
