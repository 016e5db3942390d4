#include <check.h>
#include <string.h>

#include "fiber.h"
#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "chain.h"

#define PROFILE                                                                          \
	"{'agent': 'helper', 'model': 'openai:main', 'system_prompt': 'base',"           \
	" 'tools': [{'name': 'add'}, {'name': 'mul'}], 'model_settings': {'top_p': 1}}"
#define REQUEST                                                                          \
	"{'run': 'r', 'thread': 't', 'messages': [{'type': 'human', 'content': '?'}],"   \
	" 'state': {'plan': [1]}, 'context': {'user': 'u'}}"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena,
		.profile = literal(arena, PROFILE),
		.request = literal(arena, REQUEST) };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
call(const struct chain *chain)
{
	return play_model(&play, chain);
}

static const char *
outcome(const struct chain *chain)
{
	return stub_outcome(arena, call(chain));
}

static const struct middleware_use *
use(const char *name, const char *settings)
{
	return stub_use(arena, name, settings);
}

START_TEST(the_first_listed_wrap_is_the_outermost)
{
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'suffix': '-A'}"),
			     use("B", "{'suffix': '-B'}"), NULL)),
	    "ok-B-A");
	ck_assert_str_eq(stub_log(), "A> B> send B< A<");
}
END_TEST

START_TEST(an_empty_chain_is_the_provider)
{
	const struct value *body = call(stub_chain(arena, NULL));

	ck_assert_value(
	    arena, value_get(body, "messages"), "[{'type': 'ai', 'content': 'ok'}]");
	ck_assert(!value_has(body, "updates") && !value_has(body, "notes"));
	ck_assert_value(arena, play.seen,
	    "{'model': 'openai:main', 'system': 'base', 'messages': [{'type': 'human', "
	    "'content': '?'}], 'tools': [{'name': 'add'}, {'name': 'mul'}], 'settings': "
	    "{'top_p': 1}}");
}
END_TEST

START_TEST(modify_model_request_runs_before_all_wraps_in_list_order)
{
	call(stub_chain(arena, use("A", "{'override': [['system_prompt', 'wrapped']]}"),
	    use("B", "{'hooks': ['modify'], 'override': [['system_prompt', 'one']]}"),
	    use("C", "{'hooks': ['modify'], 'override': [['tool_choice', 'any']]}"),
	    NULL));
	ck_assert_str_eq(stub_log(), "B* C* A> send A<");
	ck_assert_str_eq(value_get_text(play.seen, "system"), "wrapped");
	ck_assert_str_eq(value_get_text(play.seen, "choice"), "any");
}
END_TEST

START_TEST(modify_model_request_can_fail_the_call)
{
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{}"),
		use("B", "{'hooks': ['modify'], 'raise': {'type': 'KeyError', "
			 "'message': 'lost'}}"),
		NULL)),
	    "fault: KeyError: lost");
	ck_assert_str_eq(stub_log(), "B*");
	ck_assert_str_eq(outcome(stub_chain(arena,
			     use("B", "{'hooks': ['modify'], 'nothing': true}"), NULL)),
	    "fault: TypeError: B.modify_model_request gave no request");
}
END_TEST

START_TEST(a_wrap_may_answer_without_calling)
{
	const struct value *body = call(stub_chain(arena,
	    use("A", "{'calls': 0, 'response': {'type': 'ai', 'content': 'made up', "
		     "'tool_calls': [{'id': 'f', 'name': 'add', 'args': {}}]}}"),
	    use("B", "{}"), NULL));

	ck_assert_str_eq(stub_log(), "A> A<");
	/* Brought into the form of messages. */
	ck_assert_value(arena,
	    value_get(value_at(value_get(body, "messages"), 0), "tool_calls"),
	    "[{'id': 'f', 'name': 'add', 'args': {}, 'type': 'tool_call'}]");
}
END_TEST

START_TEST(a_wrap_may_call_often_and_the_last_answer_counts)
{
	play.outcomes[0] = "one";
	play.outcomes[3] = "four";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'calls': 2}"),
			     use("B", "{'calls': 2}"), NULL)),
	    "four");
	ck_assert_uint_eq(play.count, 4);
	ck_assert_uint_eq(play.attempt, 4);
	ck_assert_ptr_null(play.tag);
}
END_TEST

START_TEST(a_failure_travels_outward_until_somebody_catches_it)
{
	play.outcomes[0] = play.outcomes[1] = "!RateLimitError slow down";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{}"), use("B", "{}"), NULL)),
	    "fault: RateLimitError: slow down");
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'catch': 'sorry'}"),
			     use("B", "{}"), NULL)),
	    "sorry");
}
END_TEST

START_TEST(an_outer_wrap_catches_the_failure_of_an_inner_one)
{
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{'catch': 'caught'}"),
		use("B", "{'raise': {'type': 'OSError', 'message': 'x'}}"), NULL)),
	    "caught");
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

/* --- usage -------------------------------------------------------------------------- */

#define TELLING                                                                          \
	"{'model': 'openai:main', 'tells_usage': true, 'tools': [{'name': 'add'}, "      \
	"{'name': 'mul'}]}"

#define TWO_CALLS                                                                        \
	"[{'model': 'openai:main', 'usage': {'total_tokens': 5}}, {'model': "            \
	"'openai:main', 'usage': {'total_tokens': 7}}]"

START_TEST(what_each_answered_call_has_used_is_told)
{
	const struct chain *twice = stub_chain(arena, use("A", "{'calls': 3}"), NULL);

	play.outcomes[0] = play.outcomes[3] =
	    "{'type': 'ai', 'content': 'a', 'usage_metadata': {'total_tokens': 5}}";
	play.outcomes[1] = play.outcomes[4] = "!RateLimitError slow down";
	play.outcomes[2] = play.outcomes[5] =
	    "{'type': 'ai', 'content': 'b', 'usage_metadata': {'total_tokens': 7}}";
	/* The answer says nothing of the first. */
	ck_assert_value(arena, value_get(call(twice), "usage"), TWO_CALLS);
	play.profile = literal(arena, TELLING);
	ck_assert_value(arena, value_get(call(twice), "usage"), TWO_CALLS);
}
END_TEST

START_TEST(what_the_answer_says_itself_is_told_to_who_asks_alone)
{
	const struct chain *once = stub_chain(arena, use("A", "{}"), NULL);

	play.outcomes[0] = play.outcomes[1] = play.outcomes[2] =
	    "{'type': 'ai', 'content': 'a', 'usage_metadata': {'total_tokens': 5}}";
	play.profile = literal(arena, "{'model': 'openai:main', 'tools': []}");
	ck_assert(!value_has(call(once), "usage"));
	play.profile = literal(arena, TELLING);
	ck_assert_value(arena, value_get(call(once), "usage"),
	    "[{'model': 'openai:main', 'usage': {'total_tokens': 5}}]");
}
END_TEST

/* --- updates ------------------------------------------------------------------------ */

START_TEST(updates_are_collected_inner_first)
{
	const struct value *body =
	    call(stub_chain(arena, use("A", "{'update': {'a': 1}}"), use("B", "{}"),
		use("C", "{'update': {'c': 3}}"), NULL));

	ck_assert_value(arena, value_get(body, "updates"), "[{'c': 3}, {'a': 1}]");
	ck_assert_value(arena, value_get(body, "writers"), "['C', 'A']");
}
END_TEST

START_TEST(only_the_updates_of_the_last_call_count)
{
	ck_assert_value(arena,
	    value_get(call(stub_chain(arena, use("A", "{'calls': 3}"),
			  use("B", "{'update': {'b': 1}}"), NULL)),
		"updates"),
	    "[{'b': 1}]");
}
END_TEST

START_TEST(a_call_that_failed_leaves_no_updates)
{
	play.outcomes[1] = "!OSError gone";
	ck_assert_value(arena,
	    value_get(call(stub_chain(arena,
			  use("A", "{'calls': 2, 'catch': 'x', 'update': {'a': 1}}"),
			  use("B", "{'update': {'b': 1}}"), NULL)),
		"updates"),
	    "[{'a': 1}]");
}
END_TEST

START_TEST(a_wrap_that_answers_itself_contributes_only_its_own_update)
{
	ck_assert_value(arena,
	    value_get(call(stub_chain(arena, use("A", "{'update': {'a': 1}}"),
			  use("B", "{'calls': 0, 'response': 'x', 'update': {'b': 2}}"),
			  use("C", "{'update': {'c': 3}}"), NULL)),
		"updates"),
	    "[{'b': 2}, {'a': 1}]");
}
END_TEST

/* --- what is no answer -------------------------------------------------------------- */

static const struct {
	const char *settings, *outcome;
} misuses[] = {
	{ "{'nothing': true}", "fault: TypeError: A.wrap_model_call gave no response" },
	{ "{'calls': 0, 'response': {'type': 'human', 'content': 'x'}}",
	    "fault: TypeError: A.wrap_model_call gave no AI message" },
	{ "{'calls': 0, 'response': {'type': 'robot', 'content': 'x'}}",
	    "fault: TypeError: A.wrap_model_call gave a message that is none: "
	    "messages[0].type: must be one of human, ai, system, tool, remove" },
	{ "{'update': [1]}",
	    "fault: TypeError: A.wrap_model_call gave an update that is not a map" },
	{ "{'update': {'jump_to': 'end'}}",
	    "fault: TypeError: A.wrap_model_call gave an update with jump_to: only node "
	    "hooks jump" },
	{ "{'override': [['modle', 'x']]}",
	    "fault: ValueError: A overrides \"modle\", which a model request has not; it "
	    "has model, system_prompt, messages, tools, tool_choice, response_format and "
	    "model_settings" },
	{ "{'override': [['messages', 'x']]}",
	    "fault: TypeError: A overrides \"messages\" of a model request with a value "
	    "of type string" },
	/* Not even by answering something else. */
	{ "{'override': [['tools', 1]], 'catch': 'x'}",
	    "fault: TypeError: A overrides \"tools\" of a model request with a value of "
	    "type integer" },
};

START_TEST(a_hooks_mistake_fails_the_call_with_its_name)
{
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", misuses[_i].settings), NULL)),
	    misuses[_i].outcome);
}
END_TEST

START_TEST(an_outer_wrap_can_catch_a_hooks_mistake)
{
	ck_assert_str_eq(outcome(stub_chain(arena, use("O", "{'catch': 'caught'}"),
			     use("A", "{'override': [['modle', 'x']]}"), NULL)),
	    "caught");
}
END_TEST

START_TEST(a_provider_that_gives_nothing_is_a_failure)
{
	play.outcomes[0] = "-";
	ck_assert_str_eq(outcome(stub_chain(arena, NULL)),
	    "fault: APIResponseError: no answer to openai:main");
}
END_TEST

/* --- cancellation ------------------------------------------------------------------- */

START_TEST(no_wrap_absorbs_cancellation)
{
	play.outcomes[0] = "!CancelledError cancelled";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'calls': 3, 'catch': 'x'}"),
			     use("B", "{'catch': 'y'}"), NULL)),
	    "fault: CancelledError: cancelled");
	/* Nor goes on after it. */
	ck_assert_uint_eq(play.count, 1);
}
END_TEST

static struct loop *loop;
static const char *slept;

static struct model_response *
sleeping_wrap(struct model_request *own, struct model_next *next)
{
	(void)next;
	ck_assert_int_eq(hook_sleep(3600000), -1);
	return model_answer(own, chat_ai(arena, "slept well"));
}

static void
sleep_in_chain(void *arg)
{
	const struct middleware type = { .wrap_model_call = sleeping_wrap };
	struct middleware_use sleeper = *use("sleeper", "{}");

	(void)arg;
	sleeper.type = &type;
	slept = outcome(stub_chain(arena, use("A", "{'catch': 'x'}"), &sleeper, NULL));
}

static bool
is_over(void *arg)
{
	(void)arg;
	return slept != NULL && fiber_count(loop) == 0;
}

static void
cancel_fiber(void *arg)
{
	fiber_cancel(arg);
}

START_TEST(a_hook_that_sleeps_is_woken_by_cancellation)
{
	struct fiber *fiber;
	struct timer *timer;

	loop = loop_new();
	fiber = fiber_start(loop, "call", sleep_in_chain, NULL);
	timer = timer_start(loop, 1, 0, cancel_fiber, fiber);
	loop_run_until(loop, is_over, NULL);
	timer_stop(&timer);
	loop_destroy(&loop);
	ck_assert_str_eq(slept, "fault: CancelledError: cancelled");
}
END_TEST

/* --- the trace ---------------------------------------------------------------------- */

START_TEST(a_command_of_a_wrap_updates_and_goes_nowhere)
{
	const struct value *body = call(stub_chain(
	    arena, use("A", "{'command': {'update': {'n': 1}, 'goto': null}}"), NULL));

	ck_assert_value(arena, value_get(body, "updates"), "[{'n': 1}]");
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("B", "{'catch': 'caught'}"),
		use("A", "{'command': {'update': {}, 'goto': 'model'}}"), NULL)),
	    "caught");
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{'command': {'goto': 'tools'}}"), NULL)),
	    "fault: NotImplementedError: A.wrap_model_call gave a command with goto: "
	    "around a model call only update counts; a node hook may jump");
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'command': 1}"), NULL)),
	    "fault: TypeError: A.wrap_model_call gave a command that is not a map");
}
END_TEST

static void
on_hook(void *arg, const char *node, bool failed, uint64_t us)
{
	(void)arg;
	ck_assert_uint_lt(us, 60000000);
	stub_log_add(arena_printf(arena, "[%s%s]", node, failed ? " failed" : ""));
}

START_TEST(the_runner_traces_each_hook)
{
	struct chain *chain = stub_chain(arena, use("A", "{'catch': 'x'}"),
	    use("B", "{'raise': {'type': 'OSError', 'message': 'x'}}"),
	    use("C", "{'hooks': ['modify']}"), NULL);

	chain->trace = on_hook;
	call(chain);
	ck_assert_str_eq(stub_log(),
	    "C* [C.modify_model_request] A> B> [B.wrap_model_call failed] A< "
	    "[A.wrap_model_call]");
}
END_TEST

TCase *tcase_chain_model(void);
TCase *
tcase_chain_model(void)
{
	TCase *tcase = tcase_create("chain_model");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_first_listed_wrap_is_the_outermost);
	tcase_add_test(tcase, an_empty_chain_is_the_provider);
	tcase_add_test(tcase, modify_model_request_runs_before_all_wraps_in_list_order);
	tcase_add_test(tcase, modify_model_request_can_fail_the_call);
	tcase_add_test(tcase, a_wrap_may_answer_without_calling);
	tcase_add_test(tcase, a_wrap_may_call_often_and_the_last_answer_counts);
	tcase_add_test(tcase, a_failure_travels_outward_until_somebody_catches_it);
	tcase_add_test(tcase, an_outer_wrap_catches_the_failure_of_an_inner_one);
	tcase_add_test(tcase, updates_are_collected_inner_first);
	tcase_add_test(tcase, only_the_updates_of_the_last_call_count);
	tcase_add_test(tcase, what_each_answered_call_has_used_is_told);
	tcase_add_test(tcase, what_the_answer_says_itself_is_told_to_who_asks_alone);
	tcase_add_test(tcase, a_call_that_failed_leaves_no_updates);
	tcase_add_test(tcase, a_wrap_that_answers_itself_contributes_only_its_own_update);
	tcase_add_loop_test(tcase, a_hooks_mistake_fails_the_call_with_its_name, 0,
	    sizeof misuses / sizeof *misuses);
	tcase_add_test(tcase, an_outer_wrap_can_catch_a_hooks_mistake);
	tcase_add_test(tcase, a_provider_that_gives_nothing_is_a_failure);
	tcase_add_test(tcase, no_wrap_absorbs_cancellation);
	tcase_add_test(tcase, a_hook_that_sleeps_is_woken_by_cancellation);
	tcase_add_test(tcase, a_command_of_a_wrap_updates_and_goes_nowhere);
	tcase_add_test(tcase, the_runner_traces_each_hook);
	return tcase;
}
