/* Who is asked, from the command line, and what docs/interrupts.md and the example say of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_bench.h"
#include "cli.h"
#include "json.h"
#include "literal.h"
#include "page.h"

TCase *tcase_interrupts_cli(void);

/* --- the command line ----------------------------------------------------------------- */

#define WORDS_MAX 6

static const struct {
	int status;
	const char *says;
	const char *words[WORDS_MAX]; /* behind "resume t" */
} resumes[] = {
	{ 2, "an answer is wanted", { NULL } },
	{ 2, "r1.2.2:1 asks: {\"really\":[1,2]}", { "--answer", "r1=x" } },
	{ 2, "exclude each other", { "yes", "--file", "-" } },
	{ 2, "exclude each other", { "--answer", "r1.2.2:1=x", "--file", "-" } },
	{ 2, "No such file", { "--file", "/nowhere" } },
	{ 2, "no JSON", { "--file", "/dev/null" } },
	{ 2, "begins like JSON and is none", { "{\"r1.2.2:1\": " } },
	{ 2, "begins like JSON and is none", { "--answer", "r1.2.2:1=[so" } },
	{ 2, "is answered twice",
	    { "--answer", "r1.2.2:1=so", "--answer", "r1.2.2:1=no" } },
	{ 1, "2 interrupts wait", { "yes", "--wait" } },
	{ 5, "r1.2.0:1 asks", { "--answer", "r1.2.2:1=so", "--wait" } },
	{ 2, "ID=ANSWER", { "--answer", "r1.2.2:1=so" } },
	{ 0, "All is done.", { "--file", "-", "--wait" } }, /* "yes", by id */
	{ 1, "waits for nothing", { "yes" } },
};

static void
play_resumes(struct scene *scene)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	size_t i, j, n;

	ask_check_status(scene, ask_run(scene, "parallel", "r1", "t", "input", "\"hi\""),
	    "interrupted");
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(scene->kit, "runs", NULL), "r1.2.2:1 asks: {\"really\":[1,2]}"));
	for (i = 0; i < sizeof resumes / sizeof *resumes; i++) {
		const char *argv[WORDS_MAX + 7] = { "resume", "--redis",
			kit_redis(scene->kit), "--broker", kit_broker(scene->kit), "t" };
		struct said said;

		for (j = 0, n = 6; resumes[i].words[j] != NULL; j++)
			argv[n++] = resumes[i].words[j];
		said = cli_run(&cli, "{\"r1.2.0:1\": \"yes\"}", argv);
		ck_assert_msg(said.status == resumes[i].status &&
				  (strstr(said.err, resumes[i].says) != NULL ||
				      strstr(said.out, resumes[i].says) != NULL),
		    "case %zu: %d %s%s", i, said.status, said.out, said.err);
	}
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=so;");
	/* It waits no more. */
	ck_assert_ptr_null(strstr(
	    kit_flotilla(scene->kit, "runs", "--state", "interrupted", NULL), "asks"));
}

START_TEST(the_command_line_answers_by_id_and_from_a_file)
{
	ask_act(play_resumes);
}
END_TEST

/* --- how many wait -------------------------------------------------------------------- */

/* What `flotilla top` says of Redis. */
static const struct value *
top(struct scene *scene)
{
	const char *error, *said = kit_flotilla(scene->kit, "top", "--once", "--json",
			       "--broker", kit_broker(scene->kit), NULL);
	const struct value *shown = json_parse(scene->arena, said, strlen(said), &error);

	ck_assert_msg(shown != NULL, "%s: %s", error, said);
	return value_get(shown, "redis");
}

static void
check_waiting(struct scene *scene, int64_t threads)
{
	const struct value *counts = top(scene);

	ck_assert_msg(value_get_int(counts, "asks", -1) == threads &&
			  value_has(counts, "asks_oldest_ms") == (threads > 0),
	    "not %d: %s", (int)threads, json_text(scene->arena, counts));
}

/* In part, whole, by a restart of everything, by what answers nothing, to the end. */
static void
play_waiting(struct scene *scene)
{
	check_waiting(scene, 0);
	ask_run(scene, "parallel", "r1", "t", "input", "\"hi\"");
	ask_run(scene, "stops", "s1", "other", "input", "\"hi\"");
	check_waiting(scene, 2);
	ask_restart_everything(scene);
	check_waiting(scene, 2);
	ask_run(scene, "parallel", "r2", "t", "resume", "null");
	check_waiting(scene, 2);
	ask_run(scene, "parallel", "r3", "t", "resume", "{\"r1.2.2:1\": \"so\"}");
	check_waiting(scene, 2);
	ask_check_status(
	    scene, ask_run(scene, "parallel", "r4", "t", "resume", "\"yes\""), "success");
	check_waiting(scene, 1);
	ck_assert_ptr_nonnull(strstr(kit_flotilla(scene->kit, "top", "--once", "--broker",
					 kit_broker(scene->kit), NULL),
	    "waiting   1 thread for a human (oldest "));
	kit_flotilla(scene->kit, "prune", "other", "--delete", "--force", NULL);
	check_waiting(scene, 0);
}

START_TEST(top_shows_who_waits_for_a_human)
{
	ask_act(play_waiting);
}
END_TEST

/* --- docs/interrupts.md --------------------------------------------------------------- */

static void
play_page(struct scene *scene)
{
	setenv("FLOTILLA_REDIS", kit_redis(scene->kit), 1);
	setenv("FLOTILLA_BROKER", kit_broker(scene->kit), 1);
	ck_assert_uint_ge(page_run_consoles(scene->arena, "docs/interrupts.md",
			      kit_program(scene->kit, "")),
	    4);
}

START_TEST(the_page_on_interrupts_is_true)
{
	ask_act_tools(play_page, NULL, "examples/tools/pay.yaml");
}
END_TEST

static void
play_ask_first(struct scene *scene)
{
	const struct value *record =
	    ask_run(scene, "first", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "interrupted");
	ck_assert_value(scene->arena, value_get(ask_interrupt_of(record, 0), "value"),
	    "{'tool': 'note', 'args': {'text': 'one'}}");
	record = ask_run(scene, "first", "r2", "t", "resume", "\"no\"");
	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(ask_lines_of(scene, "one").count, 0);
	record = ask_run(scene, "first", "r3", "t", "resume", "\"yes\"");
	ask_check_status(scene, record, "success");
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=A human does not want that.;b=noted;");
	ck_assert_uint_eq(ask_lines_of(scene, "two").count, 1);
}

START_TEST(the_example_asks_before_certain_tools)
{
	ask_act_with(play_ask_first,
	    "name: first\nmodel: scripted:m\ntools: [note]\n"
	    "middleware: [ask_first: {tools: note}]\n"
	    "script:\n  m:\n"
	    "    - tool_calls: [{id: a, name: note, args: {text: one}}]\n"
	    "    - tool_calls: [{id: b, name: note, args: {text: two}}]\n"
	    "    - content: Done.\n");
}
END_TEST

TCase *
tcase_interrupts_cli(void)
{
	TCase *tcase = tcase_create("interrupts_cli");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, the_command_line_answers_by_id_and_from_a_file);
	tcase_add_test(tcase, top_shows_who_waits_for_a_human);
	tcase_add_test(tcase, the_page_on_interrupts_is_true);
	tcase_add_test(tcase, the_example_asks_before_certain_tools);
	return tcase;
}
