#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "fiber.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "retry.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	play.profile = literal(arena, "{'model': 'openai:main', 'tools': ['add']}");
	play.request = literal(arena,
	    "{'messages': [], 'tool_call': {'name': 'add', 'args': {}, 'id': 'c1'}, "
	    "'tool': {'name': 'add', 'parameters': {'required': []}}}");
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
ask(const char *settings)
{
	return stub_outcome(arena,
	    play_model(&play,
		stub_chain(arena, literal_use(arena, "model_retry", settings), NULL)));
}

static const struct value *
run(const char *settings)
{
	return play_tool(
	    &play, stub_chain(arena, literal_use(arena, "tool_retry", settings), NULL));
}

static struct retry_policy
policy(const char *settings)
{
	return retry_policy_of(literal_use(arena, "model_retry", settings)->settings);
}

/* --- delays ------------------------------------------------------------------------- */

static const struct {
	const char *settings;
	unsigned attempt;
	double chance;
	int64_t retry_after_ms;
	uint64_t delay_ms;
} delays[] = {
	{ "{'jitter': false}", 1, 0, 0, 1000 },
	{ "{'jitter': false}", 2, 0, 0, 2000 },
	{ "{'jitter': false}", 4, 0, 0, 8000 },
	{ "{'jitter': false}", 7, 0, 0, 60000 },
	{ "{'jitter': false}", 1000, 0, 0, 60000 },
	{ "{'jitter': false, 'backoff_factor': 0, 'initial_delay': 0.5}", 9, 0, 0, 500 },
	{ "{'jitter': false, 'backoff_factor': 0.5, 'initial_delay': 4}", 3, 0, 0, 1000 },
	{ "{'jitter': false, 'initial_delay': 0}", 1000, 0, 0, 0 },
	{ "{'jitter': false, 'max_delay': 0.25}", 1, 0, 0, 250 },
	/* A quarter down, none, nearly a quarter up. */
	{ "{}", 1, 0, 0, 750 },
	{ "{}", 1, 0.5, 0, 1000 },
	{ "{}", 1, 0.9999, 0, 1250 },
	/* The jitter comes before the cap. */
	{ "{'initial_delay': 10, 'max_delay': 10}", 1, 0.9999, 0, 10000 },
	{ "{'initial_delay': 10, 'max_delay': 10}", 1, 0, 0, 7500 },
	/* The server is never asked sooner than it said, whatever the cap. */
	{ "{'jitter': false}", 1, 0, 5000, 5000 },
	{ "{'jitter': false, 'max_delay': 2}", 1, 0, 90000, 90000 },
	{ "{'jitter': false}", 4, 0, 5000, 8000 },
	{ "{'initial_delay': 0}", 1, 0, INT64_MAX, 86400000 },
};

START_TEST(delays_grow_with_jitter_under_a_cap_and_the_servers_word)
{
	struct retry_policy given = policy(delays[_i].settings);
	struct fault *fault = fault_new(arena, "RateLimitError", "slow");

	fault->retry_after_ms = delays[_i].retry_after_ms;
	ck_assert_uint_eq(
	    retry_delay_ms(&given, fault, delays[_i].attempt, delays[_i].chance),
	    delays[_i].delay_ms);
}
END_TEST

/* --- settings ----------------------------------------------------------------------- */

static const struct {
	const char *settings, *path, *reason;
} refused[] = {
	{ "{'max_retries': -1}", "/max_retries", "must be at least 0, not -1" },
	{ "{'max_retries': 1.5}", "/max_retries", "must be an integer, not 1.5" },
	{ "{'initial_delay': -0.1}", "/initial_delay", "must be at least 0" },
	{ "{'max_delay': -1}", "/max_delay", "must be at least 0" },
	{ "{'backoff_factor': -2}", "/backoff_factor", "must be at least 0" },
	{ "{'jitter': 'yes'}", "/jitter", "must be true or false, not a string" },
	{ "{'retry_on': 5}", "/retry_on", "must be a list of strings, not an integer" },
	{ "{'retry_on': ['A', 5]}", "/retry_on/1", "must be a string, not an integer" },
	{ "{'retry_on': ['']}", "/retry_on/0", "must be the name of a type" },
	{ "{'on_failure': 'eror'}", "/on_failure", "did you mean \"error\"?" },
	{ "{'on_failure': 'explode'}", "/on_failure", "not \"explode\"" },
	{ "{'on_failure': {'text': 'x'}}", "/on_failure", "{message: text}" },
	{ "{'on_failure': null}", "/on_failure", "must be continue, error" },
	{ "{'max_retry': 1}", "/max_retry", "did you mean \"max_retries\"?" },
};

START_TEST(a_wrong_setting_is_refused_with_its_place)
{
	literal_refused(arena, "model_retry", refused[_i].settings, refused[_i].path,
	    refused[_i].reason);
	literal_refused(arena, "tool_retry", refused[_i].settings, refused[_i].path,
	    refused[_i].reason);
}
END_TEST

START_TEST(settings_have_defaults)
{
	struct retry_policy given = policy("{}");

	ck_assert_uint_eq(given.attempts, 3);
	ck_assert(value_is_nil(given.retry_on));
	ck_assert_int_eq(given.end, RETRY_CONTINUE);
	ck_assert(given.jitter && given.message == NULL);
	ck_assert_double_eq(given.factor, 2);
	ck_assert_double_eq(given.initial_s, 1);
	ck_assert_double_eq(given.max_s, 60);
	ck_assert_int_eq(policy("{'on_failure': 'raise'}").end, RETRY_ERROR);
	ck_assert_int_eq(policy("{'on_failure': 'return_message'}").end, RETRY_CONTINUE);
}
END_TEST

/* --- model_retry -------------------------------------------------------------------- */

#define AT_ONCE "'initial_delay': 0"

START_TEST(the_model_is_asked_again_until_it_answers)
{
	play.outcomes[0] = play.outcomes[1] = "!InternalServerError a";
	ck_assert_str_eq(ask("{" AT_ONCE "}"), "ok");
	ck_assert_uint_eq(play.count, 3);
	ck_assert_uint_eq(play.attempt, 3);
}
END_TEST

START_TEST(the_model_that_never_answers_is_told_of_in_a_message)
{
	const char *text;

	play.outcomes[0] = play.outcomes[1] = play.outcomes[2] =
	    "!TimeoutError timed out";
	text = ask("{" AT_ONCE ", 'retry_on': 'TimeoutError'}");
	ck_assert_uint_eq(play.count, 3);
	ck_assert_has(text, "3 attempts");
	ck_assert_has(text, "TimeoutError");
	ck_assert_has(text, "timed out");
}
END_TEST

START_TEST(one_attempt_is_one_attempt)
{
	play.outcomes[0] = "!InternalServerError a";
	ck_assert_has(ask("{'max_retries': 0}"), "after 1 attempt with");
}
END_TEST

START_TEST(a_failure_that_will_not_go_away_is_not_tried_again)
{
	play.outcomes[0] = "!BadRequestError too long";
	ck_assert_has(ask("{" AT_ONCE "}"), "1 attempt with BadRequestError: too long");
	ck_assert_uint_eq(play.count, 1);
	/* Unless the agent says so. */
	play.outcomes[1] = "!BadRequestError too long";
	ck_assert_str_eq(ask("{" AT_ONCE ", 'retry_on': 'Exception'}"), "ok");
}
END_TEST

START_TEST(retry_on_names_types_and_what_inherits_from_them)
{
	play.outcomes[0] = play.outcomes[2] = "!RateLimitError slow";
	ck_assert_str_eq(ask("{" AT_ONCE ", 'retry_on': ['APIStatusError']}"), "ok");
	ck_assert_str_eq(
	    ask("{" AT_ONCE ", 'retry_on': ['TimeoutError'], 'on_failure': 'error'}"),
	    "fault: RateLimitError: slow");
}
END_TEST

START_TEST(on_failure_error_gives_the_last_failure)
{
	play.outcomes[0] = "!InternalServerError first";
	play.outcomes[1] = "!InternalServerError last";
	ck_assert_str_eq(ask("{" AT_ONCE ", 'max_retries': 1, 'on_failure': 'error'}"),
	    "fault: InternalServerError: last");
}
END_TEST

START_TEST(on_failure_may_be_a_text)
{
	play.outcomes[0] = play.outcomes[1] = "!InternalServerError a";
	ck_assert_str_eq(
	    ask("{'max_retries': 0, 'on_failure': {'message': 'Come back later.'}}"),
	    "Come back later.");
	ck_assert_str_eq(
	    stub_outcome(arena,
		run("{'max_retries': 0, 'on_failure': {'message': 'Out of order.'}}")),
	    "Out of order.");
}
END_TEST

START_TEST(a_mistake_in_the_agent_is_no_failure_of_the_model)
{
	const struct middleware_use *retry =
	    literal_use(arena, "model_retry", "{" AT_ONCE "}");

	ck_assert_has(
	    stub_outcome(arena,
		play_model(&play, stub_chain(arena, retry,
				      stub_use(arena, "A",
					  "{'override': [['tools', [{'name': 'x'}]]]}"),
				      NULL))),
	    "fault: ValueError");
	ck_assert_str_eq(stub_log(), "A> A<");
}
END_TEST

START_TEST(a_wraps_failure_inside_a_retry_is_tried_again)
{
	const struct middleware_use *retry =
	    literal_use(arena, "model_retry", "{" AT_ONCE ", 'max_retries': 1}");

	ck_assert_has(
	    stub_outcome(
		arena, play_model(&play,
			   stub_chain(arena, retry,
			       stub_use(arena, "A",
				   "{'raise': {'type': 'TimeoutError', 'message': 'x'}}"),
			       NULL))),
	    "2 attempts");
	ck_assert_str_eq(stub_log(), "A> A>");
}
END_TEST

/* The wait would end with the call, which has an outcome of its own then: no model behind this one is asked. */
START_TEST(nobody_waits_for_longer_than_the_call_lives)
{
	play.left_ms = 60000;
	play.outcomes[0] = "!RateLimitError slow";
	ck_assert_str_eq(
	    ask("{'initial_delay': 60, 'jitter': false, 'on_failure': 'error'}"),
	    "fault: RateLimitError: slow");
	ck_assert_uint_eq(play.count, 1);
	play.outcomes[1] = "!IOError Disk full";
	ck_assert_str_eq(stub_outcome(arena,
			     run("{'initial_delay': 60, 'jitter': false, 'on_failure': "
				 "'error'}")),
	    "fault: IOError: Disk full");
	ck_assert_uint_eq(play.count, 2);
	play.outcomes[2] = "!RateLimitError slow";
	play.left_ms = 1;
	ck_assert_str_eq(ask("{" AT_ONCE "}"), "ok");
}
END_TEST

/* --- tool_retry --------------------------------------------------------------------- */

START_TEST(a_tool_runs_again_until_it_works)
{
	play.outcomes[0] = play.outcomes[1] = "!ValueError e";
	play.outcomes[2] = "{'messages': [{'type': 'tool', 'content': '3'}]}";
	ck_assert_str_eq(stub_outcome(arena, run("{" AT_ONCE "}")), "3");
	ck_assert_str_eq(stub_log(), "tool tool tool");
}
END_TEST

START_TEST(the_tool_that_never_works_is_told_of_in_an_error_message)
{
	const struct value *body, *message;
	const char *text;

	play.outcomes[0] = play.outcomes[1] = "!IOError Disk full";
	body = run("{" AT_ONCE ", 'max_retries': 1, 'retry_on': ['OSError']}");
	message = value_at(
	    value_get(value_get(value_at(value_get(body, "commands"), 0), "update"),
		"messages"),
	    0);
	text = value_get_text(message, "content");
	ck_assert_has(text, "add");
	ck_assert_has(text, "2 attempts");
	ck_assert_has(text, "IOError: Disk full");
	ck_assert_str_eq(value_get_text(message, "status"), "error");
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), "c1");
}
END_TEST

START_TEST(another_failure_travels_on_as_it_came)
{
	const struct value *body;

	play.outcomes[0] = "!ValueError wrong";
	body = run("{" AT_ONCE ", 'retry_on': ['TimeoutError']}");
	ck_assert_str_eq(stub_outcome(arena, body), "fault: ValueError: wrong");
	ck_assert(!value_get_bool(value_get(body, "fault"), "fatal", false));
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

START_TEST(on_failure_error_ends_the_run)
{
	const struct value *body;

	play.outcomes[0] = play.outcomes[1] = "!IOError Disk full";
	body = run("{" AT_ONCE ", 'max_retries': 1, 'on_failure': 'error'}");
	ck_assert_str_eq(stub_outcome(arena, body), "fault: IOError: Disk full");
	ck_assert(value_get_bool(value_get(body, "fault"), "fatal", false));
}
END_TEST

START_TEST(only_the_tools_named_run_again)
{
	const struct value *body;

	play.outcomes[0] = "!ValueError e";
	body = run("{" AT_ONCE ", 'tools': ['mul']}");
	ck_assert_str_eq(stub_outcome(arena, body), "fault: ValueError: e");
	ck_assert(!value_get_bool(value_get(body, "fault"), "fatal", false));
	play.outcomes[1] = "!ValueError e";
	play.outcomes[2] = "{'messages': [{'type': 'tool', 'content': '3'}]}";
	ck_assert_str_eq(stub_outcome(arena, run("{" AT_ONCE ", 'tools': 'add'}")), "3");
}
END_TEST

START_TEST(bad_arguments_are_answered_once)
{
	play.request = value_map_with(arena, play.request, "tool",
	    literal(arena, "{'name': 'add', 'parameters': {'required': ['a']}}"));
	ck_assert_has(stub_outcome(arena, run("{" AT_ONCE "}")), "needs the property a");
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

START_TEST(an_interrupt_is_never_tried_again)
{
	play.outcomes[0] = "!GraphInterrupt approve?";
	ck_assert_str_eq(
	    stub_outcome(arena, run("{" AT_ONCE ", 'retry_on': 'Exception'}")),
	    "fault: GraphInterrupt: approve?");
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

START_TEST(a_hooks_failure_inside_a_retry_is_tried_again)
{
	const struct middleware_use *retry =
	    literal_use(arena, "tool_retry", "{" AT_ONCE ", 'max_retries': 1}");
	const struct value *body = play_tool(&play,
	    stub_chain(arena, retry,
		stub_use(arena, "A", "{'raise': {'type': 'OSError', 'message': 'x'}}"),
		NULL));

	ck_assert_has(stub_outcome(arena, body), "2 attempts with OSError: x");
	ck_assert_str_eq(stub_log(), "A> A>");
}
END_TEST

/* --- waiting ------------------------------------------------------------------------ */

static struct loop *loop;
static const char *ended;

static void
ask_slowly(void *arg)
{
	(void)arg;
	ended = ask("{'initial_delay': 3600, 'max_delay': 3600}");
}

static bool
has_ended(void *arg)
{
	(void)arg;
	return ended != NULL && fiber_count(loop) == 0;
}

static void
cancel(void *arg)
{
	fiber_cancel(arg);
}

START_TEST(cancellation_ends_the_wait_for_the_next_attempt)
{
	struct fiber *fiber;
	struct timer *timer;

	play.outcomes[0] = "!InternalServerError a";
	loop = loop_new();
	fiber = fiber_start(loop, "ask", ask_slowly, NULL);
	timer = timer_start(loop, 1, 0, cancel, fiber);
	loop_run_until(loop, has_ended, NULL);
	timer_stop(&timer);
	loop_destroy(&loop);
	ck_assert_str_eq(ended, "fault: CancelledError: cancelled");
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_retry(void);
TCase *
tcase_retry(void)
{
	TCase *tcase = tcase_create("retry");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase,
	    delays_grow_with_jitter_under_a_cap_and_the_servers_word, 0, COUNT(delays));
	tcase_add_loop_test(
	    tcase, a_wrong_setting_is_refused_with_its_place, 0, COUNT(refused));
	tcase_add_test(tcase, settings_have_defaults);
	tcase_add_test(tcase, the_model_is_asked_again_until_it_answers);
	tcase_add_test(tcase, the_model_that_never_answers_is_told_of_in_a_message);
	tcase_add_test(tcase, one_attempt_is_one_attempt);
	tcase_add_test(tcase, a_failure_that_will_not_go_away_is_not_tried_again);
	tcase_add_test(tcase, retry_on_names_types_and_what_inherits_from_them);
	tcase_add_test(tcase, on_failure_error_gives_the_last_failure);
	tcase_add_test(tcase, on_failure_may_be_a_text);
	tcase_add_test(tcase, a_mistake_in_the_agent_is_no_failure_of_the_model);
	tcase_add_test(tcase, a_wraps_failure_inside_a_retry_is_tried_again);
	tcase_add_test(tcase, nobody_waits_for_longer_than_the_call_lives);
	tcase_add_test(tcase, a_tool_runs_again_until_it_works);
	tcase_add_test(tcase, the_tool_that_never_works_is_told_of_in_an_error_message);
	tcase_add_test(tcase, another_failure_travels_on_as_it_came);
	tcase_add_test(tcase, on_failure_error_ends_the_run);
	tcase_add_test(tcase, only_the_tools_named_run_again);
	tcase_add_test(tcase, bad_arguments_are_answered_once);
	tcase_add_test(tcase, an_interrupt_is_never_tried_again);
	tcase_add_test(tcase, a_hooks_failure_inside_a_retry_is_tried_again);
	tcase_add_test(tcase, cancellation_ends_the_wait_for_the_next_attempt);
	return tcase;
}
