/* human_in_the_loop on a real fleet: `flotilla approvals` and those that answer it, several people who
 * answer at once, answers that come too late. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ask_bench.h"
#include "json.h"
#include "literal.h"
#include "store_fleet.h"

TCase *tcase_approvals(void);

/* reviewed: two of three calls wait, together. each: a call at a time, in two rounds. noticed: the
 * edit is told. paid: what was approved is held up (ask_bench). */
static const char agents[] =
    "name: reviewed\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - human_in_the_loop:\n"
    "      interrupt_on:\n"
    "        note:\n"
    "          allowed_decisions: [approve, edit, reject]\n"
    "          description: Notes {args.text}.\n"
    "          when: args.text ~= 'three'\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: note, args: {text: one}}\n"
    "        - {id: b, name: note, args: {text: two}}\n"
    "        - {id: c, name: note, args: {text: three}}\n"
    "    - content: All is done.\n"
    "---\n"
    "name: each\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {note: true}, interrupt_mode: per_call}\n"
    "  - tool_retry: {max_retries: 5, retry_on: [Exception], initial_delay: 0}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: note, args: {text: one}}\n"
    "        - {id: b, name: note, args: {text: two}}\n"
    "    - tool_calls: [{id: d, name: note, args: {text: four}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: noticed\n"
    "model: scripted:m\n"
    "tools: [note, calculate]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {note: true}, edit_notice: Edited.}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: note, args: {text: one}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: paid\n"
    "model: scripted:m\n"
    "tools: [pay]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {pay: true}}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: pay, args: {amount: 3}}]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: stops\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "interrupt_before: [tools]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: note, args: {text: stops}}]\n"
    "    - content: All is done.\n";

static void
act(void (*play)(struct scene *scene))
{
	ask_act_with(play, agents);
}

#define RUN(scene, ...) ASK_FLOTILLA(scene, __VA_ARGS__)

/* --- what waits, and how it is answered ------------------------------------------------ */

struct line {
	int status;
	const char *says;
	const char *words[ASK_WORDS_MAX + 1];
};

static void
play_lines(struct scene *scene, const struct line *lines, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct said said = ask_flotilla(scene, lines[i].words);

		ck_assert_msg(said.status == lines[i].status &&
				  (strstr(said.err, lines[i].says) != NULL ||
				      strstr(said.out, lines[i].says) != NULL),
		    "line %zu: %d %s%s", i, said.status, said.out, said.err);
	}
}
#define PLAY(scene, lines) play_lines(scene, lines, sizeof(lines) / sizeof *(lines))

/* What `approvals WORDS --json` lists. */
static const struct value *
listed(struct scene *scene, const char *filter, const char *value)
{
	const char *error;
	struct said said = RUN(scene, "approvals", "--json", filter, value);
	const struct value *list =
	    json_parse(scene->arena, said.out, strlen(said.out), &error);

	ck_assert_msg(said.status == 0 && list != NULL, "%s%s", said.out, said.err);
	return list;
}

static const struct line batched[] = {
	{ 2, "which RUN or THREAD", { "approve" } },
	{ 3, "no thread and no run 'x' is known", { "approve", "x" } },
	{ 2, "--rest 'edit': approve or reject", { "approve", "t", "--rest", "edit" } },
	{ 2, "nothing is decided yet on 2", { "approve", "t", "1" } },
	{ 2, "nothing is decided yet on 1", { "reject", "t", "b" } },
	{ 3, "no action '3' waits", { "approve", "t", "3" } },
	{ 3, "no action 'c' waits", { "approve", "t", "a", "c" } },
	{ 2, "--message TEXT is wanted", { "respond", "t", "1" } },
	{ 2, "allowed: approve, edit or reject", { "respond", "t", "1", "-m", "so" } },
	{ 2, "which ACTION", { "edit", "t", "--args", "{}" } },
	{ 2, "--args JSON is wanted", { "edit", "t", "1" } },
	{ 2, "a JSON map is wanted", { "edit", "t", "1", "--args", "[1]" } },
	{ 7, "do not fit the tool \"note\"",
	    { "edit", "t", "1", "--args", "{\"text\": 1}", "--rest", "approve" } },
	{ 7, "which this agent has not",
	    { "edit", "t", "1", "--args", "{}", "--name", "nota", "--rest=approve" } },
	{ 1, "2 actions wait for a decision each, and the answer has 1",
	    { "resume", "t", "{\"decisions\": [{\"type\": \"approve\"}]}", "--wait" } },
	{ 1, "must be {\"decisions\": [...]}", { "resume", "t", "yes", "--wait" } },
	{ 0, "Notes one.", { "approvals", "--agent", "reviewed" } },
	{ 0, "nothing waits for a human", { "approvals", "--agent", "other" } },
	{ 0, "nothing waits for a human", { "approvals", "--tenant", "other" } },
	{ 0, "reject   note {\"text\":\"two\"}",
	    { "edit", "t", "a", "--args", "{\"text\": \"uno\"}", "--rest", "reject" } },
	{ 7, "waits for nothing", { "approve", "t" } },
	{ 0, "nothing waits for a human", { "approvals" } },
};

static bool
has_ended(void *arg)
{
	return value_text_is(
	    value_get(value_get(ask_state_of(arg, "t"), "head"), "status"), "success");
}

static void
play_batched(struct scene *scene)
{
	const struct value *list, *one;

	ask_check_status(scene, ask_run(scene, "reviewed", "r1", "t", "input", "\"hi\""),
	    "interrupted");
	list = listed(scene, "--limit", "9");
	ck_assert_uint_eq(value_size(list), 1);
	one = value_at(list, 0);
	ck_assert_str_eq(value_get_text(one, "run"), "r1");
	ck_assert_str_eq(value_get_text(one, "agent"), "reviewed");
	ck_assert(value_get_int(one, "since", 0) > 0);
	ck_assert_value(scene->arena, value_at(value_get(one, "waiting"), 1),
	    "{'kind': 'action', 'index': 2, 'interrupt': 'r1.2.hook:1', 'name': 'note', "
	    "'args': {'text': 'two'}, 'description': 'Notes two.', 'allowed_decisions': "
	    "['approve', 'edit', 'reject'], 'tool_call_id': 'b', 'part': 1, 'parts': 2}");
	PLAY(scene, batched);
	/* The decision returned when it was taken: the run may go on yet. */
	ck_assert(client_wait(scene->client, has_ended, scene, 60000));
	ck_assert_uint_eq(ask_lines_of(scene, "uno").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "three").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "one").count, 0);
	ck_assert_uint_eq(ask_lines_of(scene, "two").count, 0);
}

START_TEST(the_command_line_lists_and_decides)
{
	act(play_batched);
}
END_TEST

static const struct line singly[] = {
	{ 7, "does not fit: /edited_action/args",
	    { "edit", "t", "a", "--args", "{\"text\": \"x\", \"to\": 1}" } },
	{ 7, "does not fit", { "edit", "t", "a", "--args", "{}", "--name", "other" } },
	{ 1, "does not fit: /type",
	    { "resume", "t", "--answer", "r1.2.0:1={\"type\": \"agree\"}", "--wait" } },
	{ 5, "r1.2.0:1 asks", { "reject", "t", "b", "-m", "Not two.", "--wait" } },
	{ 3, "no action 'b' waits", { "approve", "t", "b" } },
	{ 7, "run 'r1' waits for nothing any more", { "approve", "r1" } },
	{ 5, ".4.0:1 asks", { "approve", "t", "a", "--wait" } },
	{ 1, "no interrupt 'r1.2.0:1' waits",
	    { "resume", "t", "{\"r1.2.0:1\": {\"type\": \"approve\"}}", "--wait" } },
	{ 0, "All is done.", { "respond", "t", "-m", "Noted by hand.", "--wait" } },
};

static void
play_singly(struct scene *scene)
{
	const struct value *record = ask_run(scene, "each", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 2);
	PLAY(scene, singly);
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"),
	    "a=noted;b=The user rejected this call of the tool `note`. Reason: Not "
	    "two.;d=Noted by hand.;");
	ck_assert_uint_eq(ask_lines_of(scene, "one").count, 1);
	ck_assert_uint_eq(ask_lines_of(scene, "two").count, 0);
	ck_assert_uint_eq(ask_lines_of(scene, "four").count, 0);
}

START_TEST(each_call_is_decided_on_its_own)
{
	act(play_singly);
}
END_TEST

/* Another tool than the one that was called, and its definition, are the ones that count. */
static void
play_noticed(struct scene *scene)
{
	struct said said;

	ask_run(scene, "noticed", "r1", "t", "input", "\"hi\"");
	said = RUN(scene, "edit", "t", "--args", "{\"expression\": \"1 + 2\"}", "--name",
	    "calculate", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"),
	    "a=Edited.\nExecuted instead: calculate with arguments "
	    "{\"expression\":\"1 + 2\"}.\n\nTool response:\n3;");
	ck_assert_value(scene->arena,
	    value_at(
		value_get(value_at(value_get(ask_state_of(scene, "t"), "messages"), 1),
		    "tool_calls"),
		0),
	    "{'id': 'a', 'name': 'note', 'args': {'text': 'one'}, 'type': 'tool_call'}");
	ck_assert_uint_eq(ask_lines_of(scene, "one").count, 0);
}

START_TEST(an_edit_with_a_notice_leaves_the_models_call)
{
	act(play_noticed);
}
END_TEST

/* --- what else waits ------------------------------------------------------------------- */

static const struct line others[] = {
	{ 0, "flotilla resume t", { "approvals" } },
	{ 1, "flotilla resume t", { "approve", "t" } },
	{ 0, "All is done.", { "resume", "t", "--wait" } },
	{ 0, "asks: {\"pay\":3}", { "approvals" } },
	{ 1, "--answer r2.3.0:1=ANSWER", { "approve", "p" } },
};

static void
play_others(struct scene *scene)
{
	size_t first = 3;

	ask_run(scene, "stops", "r1", "t", "input", "\"hi\"");
	play_lines(scene, others, first);
	ask_run(scene, "paid", "p1", "p", "input", "\"hi\"");
	ck_assert_int_eq(
	    RUN(scene, "approve", "p", "--run-id", "r2", "--wait").status, 5);
	play_lines(scene, others + first, sizeof others / sizeof *others - first);
}

START_TEST(other_questions_are_listed_with_what_answers_them)
{
	act(play_others);
}
END_TEST

/* --- at once, and too late -------------------------------------------------------------- */

static bool
both_wait(void *arg)
{
	struct scene *scene = arg;
	const struct value *counts = NULL;

	return store_counts(scene->client->store, scene->arena, &counts) == STORE_OK &&
	       value_get_int(counts, "inbox", 0) == 2;
}

/* Both have seen the question; nobody takes the answers until both are there. */
static void
play_both(struct scene *scene)
{
	const struct cli cli = ask_command_line(scene);
	static const char *const yes[] = { "approve", "t", "--wait", NULL },
				 *const no[] = { "reject", "t", "--wait", NULL };
	const char *argv[ASK_WORDS_MAX + 3];
	struct cli_job *one, *other;
	struct said said[2];
	bool approved;

	ask_run(scene, "reviewed", "r1", "t", "input", "\"hi\"");
	kit_stop(scene->kit, KIT_COORDINATOR, 0);
	ask_with_fleet(scene, yes, argv);
	one = cli_start(&cli, NULL, argv);
	ask_with_fleet(scene, no, argv);
	other = cli_start(&cli, NULL, argv);
	ck_assert(client_wait(scene->client, both_wait, scene, 60000));
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	said[0] = cli_end(&one);
	said[1] = cli_end(&other);
	approved = said[0].status == 0;
	ck_assert_msg(approved != (said[1].status == 0), "%d %d: %s%s", said[0].status,
	    said[1].status, said[0].err, said[1].err);
	ck_assert_int_eq(said[approved].status, 7);
	ck_assert_ptr_nonnull(strstr(said[approved].err, "waits for nothing"));
	ck_assert_ptr_nonnull(strstr(said[approved].err, "has changed nothing"));
	ck_assert_uint_eq(ask_lines_of(scene, "one").count, approved);
	ck_assert_uint_eq(ask_lines_of(scene, "two").count, approved);
	ck_assert_uint_eq(ask_lines_of(scene, "three").count, 1);
}

START_TEST(of_two_who_answer_at_once_one_wins_and_the_other_is_told)
{
	act(play_both);
}
END_TEST

static bool
has_begun(void *arg)
{
	return ask_lines_of(arg, "pay").count == 1;
}

/* The run that took the answer is cancelled while the call runs: there is nothing to answer. One that
 * is cancelled before it began leaves the question. */
static void
play_cancelled(struct scene *scene)
{
	ask_run(scene, "paid", "r1", "t", "input", "\"hi\"");
	kit_stop(scene->kit, KIT_COORDINATOR, 0);
	ask_submit(scene, "paid", "a1", "t", "resume",
	    "{\"r1.2.hook:1\": {\"decisions\": [{\"type\": \"approve\"}]}}");
	ck_assert_int_eq(RUN(scene, "approvals").status, 0);
	kit_write(scene->kit, "hold", "");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ck_assert(client_wait(scene->client, has_begun, scene, 60000));
	ck_assert_int_eq(RUN(scene, "approve", "t").status, 7);
	ck_assert_int_eq(RUN(scene, "cancel", "a1").status, 0);
	remove(scene->hold);
	ck_assert_int_eq(RUN(scene, "approve", "t").status, 7);
	ask_check_refused(scene, "paid", "a2", "t",
	    "{\"r1.2.hook:1\": {\"decisions\": [{\"type\": \"approve\"}]}}",
	    "waits for nothing");
	ck_assert_uint_eq(ask_lines_of(scene, "pay").count, 1);
}

START_TEST(an_answer_behind_a_cancel_is_refused)
{
	act(play_cancelled);
}
END_TEST

TCase *
tcase_approvals(void)
{
	TCase *tcase = tcase_create("approvals");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_command_line_lists_and_decides);
	tcase_add_test(tcase, each_call_is_decided_on_its_own);
	tcase_add_test(tcase, an_edit_with_a_notice_leaves_the_models_call);
	tcase_add_test(tcase, other_questions_are_listed_with_what_answers_them);
	tcase_add_test(tcase, of_two_who_answer_at_once_one_wins_and_the_other_is_told);
	tcase_add_test(tcase, an_answer_behind_a_cancel_is_refused);
	return tcase;
}
