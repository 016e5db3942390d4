/* Tool workers in other languages (examples/workers), with a real fleet around them. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "cli.h"
#include "json.h"
#include "secure_kit.h"

#define WAIT_MS 30000
#define POLL_MS 20
#define NODE_MODULES "examples/workers/javascript/node_modules"
#define HOSTILE "tests/languages/hostile.py"
#define HOSTILE_ROUNDS "25"

TCase *tcase_languages(void);

static const struct language {
	const char *program, *file;
	const char *tool, *args, *answer;
	const char *more;       /* a worker with the tools `ask` and `pay` */
	const char *middleware; /* of the agent, JSON */
} languages[] = {
	{ "/usr/bin/python3", "examples/workers/python/tools.py", "reverse",
	    "{\"text\": \"abc\"}", "cba", "tests/languages/more.py", "" },
	{ "node", "examples/workers/javascript/tools.js", "slug",
	    "{\"title\": \"Hello, you\"}", "hello-you", "tests/languages/more.mjs", "" },
	/* Around a tool whose worker runs none. */
	{ "/usr/bin/python3", "examples/workers/python/tools.py", "reverse",
	    "{\"text\": \"abc\"}", "cba", "tests/languages/more.py",
	    "{\"tool_retry\": {\"initial_delay\": 0.01}}, \"todo_list\"" },
};
#define LANGUAGES 2
#define ALL (int)(sizeof languages / sizeof languages[0])

static struct fleet_kit *kit;
static struct arena *arena;
static struct cli flotilla;
static const char *brokers;    /* as FLOTILLA_BROKER has them */
static const char *middleware; /* of the agent */

/* --- the fleet ---------------------------------------------------------------------------- */

static void
setup(void)
{
	kit = kit_new();
	arena = arena_new();
	brokers = kit_broker(kit);
	middleware = "";
	flotilla =
	    (struct cli){ .program = kit_program(kit, "flotilla"), .arena = arena };
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static const char *
tools_of(const struct language *language)
{
	return arena_printf(arena, "\"wait\", \"%s\"", language->tool);
}

/* An agent with tools that asks for calls, of one round, and then ends; both items of JSON. */
static void
apply(const char *tools, const char *calls)
{
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "agent.json",
		arena_printf(arena,
		    "{\"name\": \"a\", \"model\": \"scripted:m\", \"tools\": [%s], "
		    "\"middleware\": [%s], "
		    "\"script\": {\"m\": [{\"content\": \"\", "
		    "\"tool_calls\": [%s]}, {\"content\": \"Done.\"}]}}",
		    tools, middleware, calls)),
	    NULL);
}

static const char *
call(const char *id, const char *tool, const char *args)
{
	return arena_printf(
	    arena, "{\"id\": \"%s\", \"name\": \"%s\", \"args\": %s}", id, tool, args);
}

static struct said
run_flotilla(const char *const argv[])
{
	const char *all[32];
	size_t count = 0;

	while (*argv != NULL)
		all[count++] = *argv++;
	memcpy(all + count,
	    (const char *[]){ "--redis", kit_redis(kit), "--broker", kit_broker(kit),
		"--status", kit_status(kit), NULL },
	    7 * sizeof *all);
	return cli_run(&flotilla, NULL, all);
}
#define RUN(...) run_flotilla((const char *const[]){ __VA_ARGS__, NULL })

static const struct value *
parse(const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

/* Without them the worker ends before it serves anything, and its calls would wait for ever. */
static void
require_modules(const struct language *language)
{
	ck_assert_msg(
	    strcmp(language->program, "node") != 0 || access(NODE_MODULES, F_OK) == 0,
	    NODE_MODULES " is missing: `make check-integration` installs it, or `npm ci "
			 "--prefix examples/workers/javascript`");
}

static void
start_worker(struct child **worker_r, const struct language *language, const char *name)
{
	const char *const argv[] = { language->program, language->file, NULL };
	const char *const env[] = { arena_printf(arena, "FLOTILLA_BROKER=%s", brokers),
		arena_printf(arena, "FLOTILLA_NAME=%s", name), NULL };

	require_modules(language);
	middleware = language->middleware;
	*worker_r = child_spawn(argv, env);
}

static int64_t
load_of(const char *name)
{
	const struct value *rows = value_get(
	    value_get(parse(RUN("top", "--once", "--json").out), "broker"), "sessions");
	size_t i;

	for (i = 0; i < value_size(rows); i++)
		if (value_text_is(value_get(value_at(rows, i), "name"), name))
			return value_get_int(value_at(rows, i), "load", -1);
	return -1;
}

/* Waits until the worker's PING says so many running calls; -1: it is not there. */
static void
wait_load(const char *name, int64_t load)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	int tries;

	for (tries = 0; tries < WAIT_MS / POLL_MS; tries++) {
		if (load_of(name) == load)
			return;
		nanosleep(&pause, NULL);
	}
	ck_abort_msg("%s never had %d calls", name, (int)load);
}

static struct cli_job *
submit(const char *agent, const char *run)
{
	const char *const argv[] = { "submit", agent, "Go", "--run", run, "--wait",
		"--redis", kit_redis(kit), "--broker", kit_broker(kit), "--status",
		kit_status(kit), NULL };

	return cli_start(&flotilla, NULL, argv);
}

static void
expect_success(struct cli_job *job)
{
	struct said said = cli_end(&job);

	ck_assert_msg(said.status == 0, "status %d: %s", said.status, said.err);
}

static void
expect_message(
    const struct value *state, size_t index, const char *status, const char *words)
{
	const struct value *message = value_at(value_get(state, "messages"), index);
	const char *content = value_get_text(message, "content");

	ck_assert_str_eq(value_get_text(message, "status"), status);
	ck_assert_msg(strstr(content, words) != NULL, "%s", content);
}

static void
cancel(const char *run)
{
	struct said said = RUN("cancel", run);

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.err, ""); /* nothing of it is left unconfirmed */
}

/* --- what they do ------------------------------------------------------------------------- */

START_TEST(calls_of_one_round_run_at_the_same_time)
{
	const struct language *language = &languages[_i];
	const struct value *state;
	struct child *worker;
	struct cli_job *job;

	kit_start_all(kit, 1, 1, 1);
	start_worker(&worker, language, "w");
	apply(tools_of(&languages[_i]), arena_printf(arena, "%s, %s, %s, %s",
					    call("1", language->tool, language->args),
					    call("2", "wait", "{\"seconds\": 3}"),
					    call("3", "wait", "{\"seconds\": 3}"),
					    call("4", "wait", "{\"seconds\": \"x\"}")));
	job = submit("a", "r");
	wait_load("w", 2); /* some PINGs say so, and one of them is read */
	expect_success(job);
	state = parse(RUN("state", "r", "--json").out);
	expect_message(state, 2, "success", language->answer);
	expect_message(state, 3, "success", "3 seconds are over");
	expect_message(state, 4, "success", "3 seconds are over");
	expect_message(state, 5, "error", " number, not ");
	child_stop(&worker);
}
END_TEST

START_TEST(a_cancel_reaches_them)
{
	struct child *worker;
	struct cli_job *job;

	kit_start_all(kit, 1, 1, 1);
	start_worker(&worker, &languages[_i], "w");
	apply(tools_of(&languages[_i]),
	    arena_printf(arena, "%s, %s", call("1", "wait", "{\"seconds\": 600}"),
		call("2", "wait", "{\"seconds\": 600}")));
	job = submit("a", "r");
	wait_load("w", 2);
	cancel("r");
	ck_assert_int_eq(cli_end(&job).status, 6);
	wait_load("w", 0);
	child_stop(&worker);
}
END_TEST

START_TEST(a_run_goes_on_when_the_broker_comes_again)
{
	struct child *worker;
	struct cli_job *job;

	kit_start_all(kit, 0, 1, 1);
	start_worker(&worker, &languages[_i], "w");
	apply(tools_of(&languages[_i]),
	    arena_printf(arena, "%s, %s", call("1", "wait", "{\"seconds\": 2}"),
		call("2", "wait", "{\"seconds\": 3.5}")));
	job = submit("a", "r");
	wait_load("w", 2); /* some PINGs say so, and one of them is read */
	kit_kill(kit, KIT_BROKER, 0);
	kit_start(kit, KIT_BROKER, 0);
	expect_success(job);
	child_stop(&worker);
}
END_TEST

START_TEST(one_of_two_brokers_is_enough)
{
	struct child *worker;
	struct cli_job *job;

	kit_set_brokers(kit, 2);
	brokers = arena_printf(arena, "%s,%s", kit_broker(kit), kit_broker_at(kit, 1));
	kit_start_all(kit, 0, 1, 1);
	start_worker(&worker, &languages[_i], "w");
	wait_load("w", 0);
	apply(tools_of(&languages[_i]), call("1", "wait", "{\"seconds\": 0.5}"));
	job = submit("a", "r");
	kit_kill(kit, KIT_BROKER, 1);
	expect_success(job);
	expect_success(submit("a", "s"));
	child_stop(&worker);
}
END_TEST

START_TEST(sigterm_lets_what_runs_end)
{
	struct child *worker;
	struct cli_job *job;

	kit_start_all(kit, 0, 1, 1);
	start_worker(&worker, &languages[_i], "w");
	kit_flotilla(kit, "agents", "apply", "examples/workers/agent.yaml", NULL);
	job = submit("patient", "r");
	wait_load("w", 2);
	child_stop(&worker);
	ck_assert_int_eq(
	    load_of("w"), -1); /* it said BYE, and nobody else serves the tool */
	expect_success(job);
}
END_TEST

START_TEST(a_killed_ones_call_goes_to_another)
{
	struct child *worker, *other;
	struct cli_job *job;

	kit_start_all(kit, 0, 1, 1);
	start_worker(&worker, &languages[_i], "w");
	apply("\"wait\"", call("1", "wait", "{\"seconds\": 600}"));
	job = submit("a", "r");
	wait_load("w", 1);
	start_worker(&other, &languages[(_i + 1) % LANGUAGES], "other");
	wait_load("other", 0);
	child_kill(&worker);
	wait_load("other", 1);
	cancel("r");
	ck_assert_int_eq(cli_end(&job).status, 6);
	child_stop(&other);
}
END_TEST

START_TEST(what_they_ask_is_answered_by_a_human)
{
	struct language language = languages[_i];
	struct child *worker;
	const struct value *state;
	struct said said;

	language.file = language.more;
	kit_start_all(kit, 1, 1, 1);
	start_worker(&worker, &language, "w");
	apply("\"ask\"", call("1", "ask", "{}"));
	ck_assert_int_eq(RUN("submit", "a", "Go", "--run", "r", "--wait").status, 5);
	child_stop(&worker); /* a run that waits holds no process */
	start_worker(&worker, &language, "v");
	ck_assert_int_eq(RUN("resume", "r", "Ada", "--wait").status, 5);
	said = RUN("resume", "r", "\"red\"", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	state = parse(RUN("state", "r", "--json").out);
	expect_message(state, 2, "success", "\"Ada\"");
	expect_message(state, 2, "success", "\"red\"");
	child_stop(&worker);
}
END_TEST

static const char *
call_odd(const char *id, const char *kind)
{
	return call(id, "odd", arena_printf(arena, "{\"kind\": \"%s\"}", kind));
}

/* A worker's tool `odd` is called three times at once; returns the thread, whose messages 2 to 4 are the answers. */
static const struct value *
play_odd(
    struct child **worker_r, const struct language *spoken, const char *const kinds[3])
{
	struct language language = *spoken;
	struct said said;

	language.file = language.more;
	kit_start_all(kit, 1, 1, 1);
	start_worker(worker_r, &language, "w");
	apply("\"odd\"", arena_printf(arena, "%s, %s, %s", call_odd("1", kinds[0]),
			     call_odd("2", kinds[1]), call_odd("3", kinds[2])));
	said = RUN("submit", "a", "Go", "--run", "r", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	return parse(RUN("state", "r", "--json").out);
}

START_TEST(an_answer_that_cannot_be_written_is_an_error)
{
	struct child *worker;
	const struct value *state = play_odd(&worker, &languages[_i],
	    (const char *const[]){ "asks", "answers", "raises" });

	expect_message(state, 2, "error", "");
	expect_message(state, 3, "error", "");
	expect_message(state, 4, "error", "");
	child_stop(&worker);
}
END_TEST

/* One that is larger than a frame would cut the worker off for as long as it is sent again. */
START_TEST(an_answer_that_is_too_large_is_an_error)
{
	struct child *worker;
	const struct value *state = play_odd(&worker, &languages[_i],
	    (const char *const[]){ "much", "raises much", "nothing" });

	expect_message(state, 2, "error", "larger than 16777216 bytes");
	expect_message(state, 3, "error", "mmm");
	expect_message(state, 4, "success", "null");
	child_stop(&worker);
}
END_TEST

START_TEST(what_must_not_run_twice_does_not)
{
	struct language language = languages[_i];
	struct child *worker, *other;
	struct cli_job *job;

	language.file = language.more;
	kit_start_all(kit, 1, 1, 1);
	start_worker(&worker, &language, "w");
	apply("\"pay\"", call("1", "pay", "{}"));
	job = submit("a", "r");
	wait_load("w", 1);
	start_worker(&other, &language, "other");
	wait_load("other", 0);
	child_kill(&worker);
	expect_success(job);
	expect_message(
	    parse(RUN("state", "r", "--json").out), 2, "error", "nobody knows");
	child_stop(&other);
}
END_TEST

START_TEST(nonsense_does_not_end_them)
{
	const struct language *language = &languages[_i];
	const struct cli hostile = { HOSTILE, NULL, arena };
	struct said said;

	require_modules(language);
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

	require_modules(language);
	secure_start(&secure);
	worker = child_spawn(argv,
	    (const char *const[]){
		arena_printf(arena, "FLOTILLA_BROKER=%s", kit_broker(secure.kit)),
		arena_printf(arena, "FLOTILLA_KEY=%s", secure.fleet_key),
		arena_printf(arena, "FLOTILLA_BROKER_KEY=%s.pub", secure.broker_key),
		NULL });
	kit_start_all(secure.kit, 0, 1, 1);
	SECURE_EXPECT(&secure, "agents", "apply",
	    kit_write(secure.kit, "agent.json",
		arena_printf(arena,
		    "{\"name\": \"a\", \"model\": \"scripted:m\", \"tools\": [\"%s\"], "
		    "\"script\": {\"m\": [{\"content\": \"\", \"tool_calls\": [%s]}, "
		    "{\"content\": \"Done.\"}]}}",
		    language->tool, call("1", language->tool, language->args))));
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
	tcase_add_loop_test(
	    tcase, a_run_goes_on_when_the_broker_comes_again, 0, LANGUAGES);
	tcase_add_loop_test(tcase, one_of_two_brokers_is_enough, 0, LANGUAGES);
	tcase_add_loop_test(tcase, sigterm_lets_what_runs_end, 0, LANGUAGES);
	tcase_add_loop_test(tcase, a_killed_ones_call_goes_to_another, 0, LANGUAGES);
	tcase_add_loop_test(tcase, what_they_ask_is_answered_by_a_human, 0, ALL);
	tcase_add_loop_test(
	    tcase, an_answer_that_cannot_be_written_is_an_error, 0, LANGUAGES);
	tcase_add_loop_test(tcase, an_answer_that_is_too_large_is_an_error, 0, LANGUAGES);
	tcase_add_loop_test(tcase, what_must_not_run_twice_does_not, 0, ALL);
	tcase_add_loop_test(tcase, nonsense_does_not_end_them, 0, LANGUAGES);
	tcase_add_loop_test(tcase, they_come_in_with_a_key, 0, LANGUAGES);
	return tcase;
}
