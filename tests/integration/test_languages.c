/* Tool workers in other languages (examples/workers), with a real fleet around them. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "language_bench.h"
#include "secure_kit.h"

#define HOSTILE "tests/languages/hostile.py"
#define HOSTILE_ROUNDS "25"

TCase *tcase_languages(void);

/* Has the tool see another conversation. */
#define RETOLD                                                                           \
	"{\"lua\": {\"code\": \"function wrap_tool_call(request, handler) if "           \
	"request.tool_call.id ~= 'retold' then return handler(request) end return "      \
	"handler(request:override{state = {messages = {{role = 'user', content = "       \
	"'Stay'}}}}) end\"}}"

static const struct language languages[] = {
	{ "/usr/bin/python3", "examples/workers/python/tools.py", "reverse",
	    "{\"text\": \"abc\"}", "cba", "tests/languages/more.py", "" },
	{ "node", "examples/workers/javascript/tools.js", "slug",
	    "{\"title\": \"Hello, you\"}", "hello-you", "tests/languages/more.mjs", "" },
	/* Around a tool whose worker runs none. */
	{ "/usr/bin/python3", "examples/workers/python/tools.py", "reverse",
	    "{\"text\": \"abc\"}", "cba", "tests/languages/more.py",
	    "{\"tool_retry\": {\"initial_delay\": 0.01}}, \"todo_list\", " RETOLD },
};
#define LANGUAGES 2
#define ALL (int)(sizeof languages / sizeof languages[0])

static struct language_bench bench;

static void
setup(void)
{
	language_setup(&bench);
}

static void
teardown(void)
{
	language_teardown(&bench);
}

/* --- what they do ------------------------------------------------------------------------- */

/* What `note` of the others gave: the run ended with it. */
static void
expect_note(const struct value *state, size_t index)
{
	const struct value *messages = value_get(state, "messages");
	const struct value *answer = value_at(messages, index);

	ck_assert_str_eq(value_get_text(answer, "status"), "success");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(answer, "content"), 0), "text"), "Noted.");
	ck_assert_str_eq(value_get_text(value_get(answer, "artifact"), "by"), "me");
	ck_assert_str_eq(
	    value_get_text(value_at(messages, index + 1), "content"), "Good.");
	ck_assert_uint_eq(value_size(messages), index + 2);
	ck_assert_uint_eq(value_size(value_get(value_get(state, "fields"), "noted")), 1);
}

START_TEST(calls_of_one_round_run_at_the_same_time)
{
	const struct language *language = &languages[_i];
	const struct value *state;
	struct child *worker, *more;
	struct cli_job *job;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_worker(&bench, &worker, language, "w");
	language_start_more(&bench, &more, language, "more");
	language_apply(&bench,
	    arena_printf(bench.arena, "\"gate\", \"told\", \"note\", %s",
		language_tools_of(&bench, language)),
	    arena_printf(bench.arena, "%s, %s, %s, %s, %s, %s, %s",
		language_call(&bench, "1", language->tool, language->args),
		language_gate_call(&bench, "2", "gate"),
		language_gate_call(&bench, "3", "gate"),
		language_call(&bench, "4", "wait", "{\"seconds\": \"x\"}"),
		language_call(&bench, "5", "told", "{}"),
		language_call(&bench, "retold", "told", "{}"),
		language_call(&bench, "6", "note", "{}")));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "more", 2);
	language_open_gate(&bench, "gate");
	language_expect_success(job);
	state = language_parse(&bench, LANGUAGE_RUN(&bench, "state", "r", "--json").out);
	language_expect_message(state, 2, "success", language->answer);
	language_expect_message(state, 3, "success", "open");
	language_expect_message(state, 4, "success", "open");
	language_expect_message(state, 5, "error", " number, not ");
	/* Of the state what it names, whoever calls it. */
	language_expect_message(state, 6, "success", "[\"messages\"],");
	language_expect_message(state, 6, "success", "\"Go\",");
	language_expect_message(state, 6, "success", "\"kind\"}]");
	language_expect_message(
	    state, 7, "success", *language->middleware != '\0' ? "\"Stay\"," : "\"Go\",");
	expect_note(state, 8);
	child_stop(&worker);
	child_stop(&more);
}
END_TEST

/* Through the wraps' worker, where there are any. */
START_TEST(what_a_tool_tells_is_shown_while_it_works)
{
	struct child *worker;
	struct cli_job *job;
	struct said said;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_more(&bench, &worker, &languages[_i], "w");
	language_apply(&bench, "\"stream\"",
	    language_call(&bench, "1", "stream",
		arena_printf(
		    bench.arena, "{\"path\": \"%s\"}", kit_path(bench.kit, "gate"))));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 1);
	language_watch_until(&bench, "r", "told     stream: {\"done\":0.5}", "gate");
	language_expect_success(job);
	said = LANGUAGE_RUN(&bench, "state", "r", "--json");
	language_expect_message(
	    language_parse(&bench, said.out), 2, "success", "streamed");
	child_stop(&worker);
}
END_TEST

START_TEST(a_cancel_reaches_them)
{
	struct child *worker;
	struct cli_job *job;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_worker(&bench, &worker, &languages[_i], "w");
	language_apply(&bench, language_tools_of(&bench, &languages[_i]),
	    arena_printf(bench.arena, "%s, %s",
		language_call(&bench, "1", "wait", "{\"seconds\": 600}"),
		language_call(&bench, "2", "wait", "{\"seconds\": 600}")));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 2);
	language_cancel(&bench, "r");
	ck_assert_int_eq(cli_end(&job).status, 6);
	language_wait_load(&bench, "w", 0);
	child_stop(&worker);
}
END_TEST

/* One call ends while there is no broker, one when it is there again. */
START_TEST(a_run_goes_on_when_the_broker_comes_again)
{
	struct child *worker;
	struct cli_job *job;

	kit_start_all(bench.kit, 0, 1, 1);
	language_start_more(&bench, &worker, &languages[_i], "w");
	language_apply(&bench, "\"gate\"",
	    arena_printf(bench.arena, "%s, %s", language_gate_call(&bench, "1", "first"),
		language_gate_call(&bench, "2", "second")));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 2);
	kit_kill(bench.kit, KIT_BROKER, 0);
	language_open_gate(&bench, "first");
	kit_start(bench.kit, KIT_BROKER, 0);
	language_wait_load(&bench, "w", 1);
	language_open_gate(&bench, "second");
	language_expect_success(job);
	child_stop(&worker);
}
END_TEST

START_TEST(one_of_two_brokers_is_enough)
{
	struct child *worker;
	struct cli_job *job;

	kit_set_brokers(bench.kit, 2);
	bench.brokers = arena_printf(
	    bench.arena, "%s,%s", kit_broker(bench.kit), kit_broker_at(bench.kit, 1));
	kit_start_all(bench.kit, 0, 1, 1);
	language_start_worker(&bench, &worker, &languages[_i], "w");
	language_wait_load(&bench, "w", 0);
	language_apply(&bench, language_tools_of(&bench, &languages[_i]),
	    language_call(&bench, "1", "wait", "{\"seconds\": 0.5}"));
	job = language_submit(&bench, "a", "r");
	kit_kill(bench.kit, KIT_BROKER, 1);
	language_expect_success(job);
	language_expect_success(language_submit(&bench, "a", "s"));
	child_stop(&worker);
}
END_TEST

START_TEST(sigterm_lets_what_runs_end)
{
	struct child *worker;
	struct cli_job *job;
	int status;

	kit_start_all(bench.kit, 0, 1, 1);
	language_start_more(&bench, &worker, &languages[_i], "w");
	language_apply(&bench, "\"gate\"",
	    arena_printf(bench.arena, "%s, %s", language_gate_call(&bench, "1", "gate"),
		language_gate_call(&bench, "2", "gate")));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 2);
	ck_assert_int_eq(kill(child_pid(worker), SIGTERM), 0);
	language_wait_draining(&bench, "w");
	language_open_gate(&bench, "gate");
	status = child_wait(&worker);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_int_eq(language_load_of(&bench, "w"),
	    -1); /* it said BYE, and nobody else serves the tool */
	language_expect_success(job);
}
END_TEST

START_TEST(a_killed_ones_call_goes_to_another)
{
	struct child *worker, *other;
	struct cli_job *job;

	kit_start_all(bench.kit, 0, 1, 1);
	language_start_worker(&bench, &worker, &languages[_i], "w");
	language_apply(
	    &bench, "\"wait\"", language_call(&bench, "1", "wait", "{\"seconds\": 600}"));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 1);
	language_start_worker(&bench, &other, &languages[(_i + 1) % LANGUAGES], "other");
	language_wait_load(&bench, "other", 0);
	child_kill(&worker);
	language_wait_load(&bench, "other", 1);
	language_cancel(&bench, "r");
	ck_assert_int_eq(cli_end(&job).status, 6);
	child_stop(&other);
}
END_TEST

START_TEST(what_they_ask_is_answered_by_a_human)
{
	const struct language *language = &languages[_i];
	struct child *worker;
	const struct value *state;
	struct said said;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_more(&bench, &worker, language, "w");
	language_apply(&bench, "\"ask\"", language_call(&bench, "1", "ask", "{}"));
	ck_assert_int_eq(
	    LANGUAGE_RUN(&bench, "submit", "a", "Go", "--run", "r", "--wait").status, 5);
	child_stop(&worker); /* a run that waits holds no process */
	language_start_more(&bench, &worker, language, "v");
	ck_assert_int_eq(LANGUAGE_RUN(&bench, "resume", "r", "Ada", "--wait").status, 5);
	said = LANGUAGE_RUN(&bench, "resume", "r", "\"red\"", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	state = language_parse(&bench, LANGUAGE_RUN(&bench, "state", "r", "--json").out);
	language_expect_message(state, 2, "success", "\"Ada\"");
	language_expect_message(state, 2, "success", "\"red\"");
	child_stop(&worker);
}
END_TEST

static const char *
call_odd(const char *id, const char *kind)
{
	return language_call(
	    &bench, id, "odd", arena_printf(bench.arena, "{\"kind\": \"%s\"}", kind));
}

/* A worker's tool `odd` is called three times at once; returns the thread, whose messages 2 to 4 are the answers. */
static const struct value *
play_odd(
    struct child **worker_r, const struct language *language, const char *const kinds[3])
{
	struct said said;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_more(&bench, worker_r, language, "w");
	language_apply(&bench, "\"odd\"",
	    arena_printf(bench.arena, "%s, %s, %s", call_odd("1", kinds[0]),
		call_odd("2", kinds[1]), call_odd("3", kinds[2])));
	said = LANGUAGE_RUN(&bench, "submit", "a", "Go", "--run", "r", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	return language_parse(&bench, LANGUAGE_RUN(&bench, "state", "r", "--json").out);
}

START_TEST(an_answer_that_cannot_be_written_is_an_error)
{
	struct child *worker;
	const struct value *state = play_odd(&worker, &languages[_i],
	    (const char *const[]){ "asks", "answers", "raises" });

	language_expect_message(state, 2, "error", "");
	language_expect_message(state, 3, "error", "");
	language_expect_message(state, 4, "error", "");
	child_stop(&worker);
}
END_TEST

/* JavaScript's slice() leaves them, Python's os.fsdecode(). */
START_TEST(half_a_character_costs_no_answer)
{
	struct child *worker;
	const struct value *state = play_odd(
	    &worker, &languages[_i], (const char *const[]){ "half", "half", "nothing" });
	const struct value *artifact =
	    value_get(value_at(value_get(state, "messages"), 2), "artifact");

	language_expect_message(state, 2, "success", "half ");
	ck_assert_str_eq(value_get_text(artifact, "whole"), "\ud55c\U0001f600");
	ck_assert_uint_eq(value_size(artifact), 2);
	child_stop(&worker);
}
END_TEST

/* One that is larger than a frame would cut the worker off for as long as it is sent again. */
START_TEST(an_answer_that_is_too_large_is_an_error)
{
	struct child *worker;
	const struct value *state = play_odd(&worker, &languages[_i],
	    (const char *const[]){ "much", "raises much", "nothing" });

	language_expect_message(state, 2, "error", "larger than 16777216 bytes");
	language_expect_message(state, 3, "error", "mmm");
	language_expect_message(state, 4, "success", "null");
	child_stop(&worker);
}
END_TEST

START_TEST(what_must_not_run_twice_does_not)
{
	const struct language *language = &languages[_i];
	struct child *worker, *other;
	struct cli_job *job;

	kit_start_all(bench.kit, 1, 1, 1);
	language_start_more(&bench, &worker, language, "w");
	language_apply(&bench, "\"pay\"", language_call(&bench, "1", "pay", "{}"));
	job = language_submit(&bench, "a", "r");
	language_wait_load(&bench, "w", 1);
	language_start_more(&bench, &other, language, "other");
	language_wait_load(&bench, "other", 0);
	child_kill(&worker);
	language_expect_success(job);
	language_expect_message(
	    language_parse(&bench, LANGUAGE_RUN(&bench, "state", "r", "--json").out), 2,
	    "error", "nobody knows");
	child_stop(&other);
}
END_TEST

START_TEST(nonsense_does_not_end_them)
{
	const struct language *language = &languages[_i];
	const struct cli hostile = { HOSTILE, NULL, bench.arena };
	struct said said;

	language_require_modules(language);
	said = CLI(&hostile, HOSTILE_ROUNDS, "1", language->tool, language->args,
	    language->answer, language->program, language->file);
	ck_assert_msg(said.status == 0, "%s", said.err);
}
END_TEST

START_TEST(they_come_in_with_a_key)
{
	const struct language *language = &languages[_i];
	const char *const argv[] = { language->program, language->file, NULL };
	struct secure_kit secure;
	struct child *worker;

	language_require_modules(language);
	secure_start(&secure);
	worker = child_spawn(argv,
	    (const char *const[]){
		arena_printf(bench.arena, "FLOTILLA_BROKER=%s", kit_broker(secure.kit)),
		arena_printf(bench.arena, "FLOTILLA_KEY=%s", secure.fleet_key),
		arena_printf(
		    bench.arena, "FLOTILLA_BROKER_KEY=%s.pub", secure.broker_key),
		NULL });
	kit_start_all(secure.kit, 0, 1, 1);
	SECURE_EXPECT(&secure, "agents", "apply",
	    kit_write(secure.kit, "agent.json",
		arena_printf(bench.arena,
		    "{\"name\": \"a\", \"model\": \"scripted:m\", \"tools\": [\"%s\"], "
		    "\"script\": {\"m\": [{\"content\": \"\", \"tool_calls\": [%s]}, "
		    "{\"content\": \"Done.\"}]}}",
		    language->tool,
		    language_call(&bench, "1", language->tool, language->args))));
	ck_assert_str_eq(
	    SECURE_EXPECT(&secure, "submit", "a", "Go", "--wait"), "Done.\n");
	child_stop(&worker);
	secure_stop(&secure);
}
END_TEST

TCase *
tcase_languages(void)
{
	TCase *tcase = tcase_create("languages");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, calls_of_one_round_run_at_the_same_time, 0, ALL);
	tcase_add_loop_test(tcase, a_cancel_reaches_them, 0, ALL);
	tcase_add_loop_test(tcase, what_a_tool_tells_is_shown_while_it_works, 0, ALL);
	tcase_add_loop_test(
	    tcase, a_run_goes_on_when_the_broker_comes_again, 0, LANGUAGES);
	tcase_add_loop_test(tcase, one_of_two_brokers_is_enough, 0, LANGUAGES);
	tcase_add_loop_test(tcase, sigterm_lets_what_runs_end, 0, LANGUAGES);
	tcase_add_loop_test(tcase, a_killed_ones_call_goes_to_another, 0, LANGUAGES);
	tcase_add_loop_test(tcase, what_they_ask_is_answered_by_a_human, 0, ALL);
	tcase_add_loop_test(
	    tcase, an_answer_that_cannot_be_written_is_an_error, 0, LANGUAGES);
	tcase_add_loop_test(tcase, half_a_character_costs_no_answer, 0, LANGUAGES);
	tcase_add_loop_test(tcase, an_answer_that_is_too_large_is_an_error, 0, LANGUAGES);
	tcase_add_loop_test(tcase, what_must_not_run_twice_does_not, 0, ALL);
	tcase_add_loop_test(tcase, nonsense_does_not_end_them, 0, LANGUAGES);
	tcase_add_loop_test(tcase, they_come_in_with_a_key, 0, LANGUAGES);
	return tcase;
}
