#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "chain.h"

#define PROFILE "{'agent': 'helper', 'tools': ['add', 'mul', 'write_todos']}"
#define ADD                                                                              \
	"{'name': 'add', 'parameters': {'type': 'object', 'properties': {'a': {'type': " \
	"'number'}}, 'required': ['a']}}"
#define REQUEST                                                                          \
	"{'run': 'r', 'thread': 't', 'tool_call': {'name': 'add', 'args': {'a': 1},"     \
	" 'id': 'c1', 'type': 'tool_call'}, 'tool': " ADD ","                            \
	" 'state': {'plan': [1], 'messages': []}, 'context': {'user': 'u'}}"

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
	return play_tool(&play, chain);
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

static bool
is_fatal(const struct value *body)
{
	ck_assert_ptr_nonnull(value_get(body, "fault"));
	return value_get_bool(value_get(body, "fault"), "fatal", false);
}

START_TEST(a_tool_answers_with_one_message)
{
	ck_assert_value(arena, call(stub_chain(arena, NULL)),
	    "{'commands': [{'update': {'messages': [{'type': 'tool', 'content': '1', "
	    "'tool_call_id': 'c1', 'name': 'add', 'status': 'success'}]}}]}");
	ck_assert_str_eq(play.ran, "add c1");
}
END_TEST

START_TEST(the_first_listed_wrap_is_the_outermost)
{
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'suffix': '+A'}"),
			     use("B", "{'suffix': '+B'}"), NULL)),
	    "1+B+A");
	ck_assert_str_eq(stub_log(), "A> B> tool B< A<");
}
END_TEST

START_TEST(a_wrap_may_answer_or_call_often)
{
	play.outcomes[1] = "{'messages': [{'type': 'tool', 'content': 'second'}]}";
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{'calls': 2}"), NULL)), "second");
	ck_assert_str_eq(outcome(stub_chain(arena,
			     use("A", "{'calls': 0, 'response': 'instead'}"), NULL)),
	    "instead");
	ck_assert_uint_eq(play.count, 2);
}
END_TEST

/* --- requests ----------------------------------------------------------------------- */

START_TEST(a_wrap_changes_the_arguments)
{
	ck_assert_str_eq(outcome(stub_chain(arena,
			     use("A", "{'override': [['args', {'a': 40}]]}"), NULL)),
	    "40");
}
END_TEST

START_TEST(changed_arguments_are_checked_too)
{
	ck_assert_has(outcome(stub_chain(
			  arena, use("A", "{'override': [['args', {'a': 'x'}]]}"), NULL)),
	    "/a: must be a number");
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

START_TEST(another_name_is_another_tool_of_the_agent)
{
	play.outcomes[0] = "{'messages': [{'type': 'tool', 'content': 'x'}]}";
	ck_assert_value(arena,
	    call(stub_chain(arena, use("A", "{'override': [['name', 'mul']]}"), NULL)),
	    "{'commands': [{'update': {'messages': [{'type': 'tool', 'content': 'x', "
	    "'tool_call_id': 'c1', 'name': 'mul', 'status': 'success'}]}}]}");
	ck_assert_str_eq(play.ran, "mul c1");
	/* A worker may have tools that the agent has not. */
	play.profile = literal(arena, "{'tools': ['add']}");
	ck_assert_has(
	    outcome(stub_chain(arena, use("A", "{'override': [['name', 'mul']]}"), NULL)),
	    "mul is not a valid tool");
}
END_TEST

START_TEST(a_wrap_supplies_the_tool_of_an_unknown_call)
{
	play.request = value_map_with(arena, play.request, "tool", NULL);
	ck_assert_str_eq(
	    outcome(stub_chain(
		arena, use("A", "{'override': [['tool', {'name': 'dynamic'}]]}"), NULL)),
	    "1");
	ck_assert_str_eq(play.ran, "dynamic c1");
}
END_TEST

static struct tool_result *
peek_wrap(struct tool_request *own, struct tool_next *next)
{
	struct tool_request *changed =
	    tool_override(own, "args", literal(arena, "{'a': 2}"));

	ck_assert_value(arena, tool_args(own), "{'a': 1}");
	ck_assert_value(arena, tool_definition(own), ADD);
	ck_assert_value(arena, tool_state(own, "plan"), "[1]");
	ck_assert_value(arena, tool_state(own, "messages"), "[]");
	ck_assert_value(arena, tool_context(own), "{'user': 'u'}");
	ck_assert_str_eq(tool_run(own), "r");
	ck_assert_str_eq(tool_thread(own), "t");
	ck_assert_str_eq(tool_agent(own), "helper");
	ck_assert_str_eq(tool_middleware(changed), "peek");
	ck_assert_str_eq(tool_idempotency_key(own), "key-1");
	return tool_next(next, changed);
}

START_TEST(a_request_tells_all_and_is_never_changed)
{
	const struct middleware type = { .wrap_tool_call = peek_wrap };
	struct middleware_use peek = *use("peek", "{}");

	peek.type = &type;
	ck_assert_str_eq(outcome(stub_chain(arena, &peek, NULL)), "2");
}
END_TEST

static struct tool_result *
state_wrap(struct tool_request *request, struct tool_next *next)
{
	const struct value *state =
	    literal(arena, "{'plan': [2], 'messages': [{'type': 'human'}]}");
	struct tool_result *result =
	    tool_next(next, tool_override(request, "state", state));

	ck_assert_value(arena, tool_state(request, "plan"), "[1]");
	return result;
}

static struct tool_result *
state_peek(struct tool_request *request, struct tool_next *next)
{
	struct tool_request *without = tool_override(request, "state", NULL);

	ck_assert_value(arena, tool_state(request, "plan"), "[2]");
	ck_assert_value(arena, tool_state(request, "messages"), "[{'type': 'human'}]");
	ck_assert_value(arena, tool_whole_state(without), "{}");
	return tool_next(next, request);
}

START_TEST(a_wrap_changes_what_is_seen_of_the_state)
{
	const struct middleware wraps = { .wrap_tool_call = state_wrap },
				peeks = { .wrap_tool_call = state_peek };
	struct middleware_use outer = *use("outer", "{}"), inner = *use("inner", "{}");

	outer.type = &wraps;
	inner.type = &peeks;
	ck_assert_str_eq(outcome(stub_chain(arena, &outer, &inner, NULL)), "1");
}
END_TEST

/* --- what the model did wrong: messages, not failures ------------------------------- */

START_TEST(an_unknown_tool_is_answered_with_the_valid_names)
{
	const char *text;

	play.request = literal(
	    arena, "{'tool_call': {'name': 'ad', 'args': {}, 'id': 'c9'}, 'run': 'r'}");
	text = outcome(stub_chain(arena, use("A", "{'catch': 'never'}"), NULL));
	ck_assert_str_eq(text,
	    "Error: ad is not a valid tool; did you mean add? Use one of [add, mul, "
	    "write_todos].");
	ck_assert_str_eq(stub_log(), "A> A<");
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

START_TEST(a_tool_that_is_only_a_schema_is_no_valid_one)
{
	play.outcomes[0] = "none";
	ck_assert_has(outcome(stub_chain(arena, NULL)), "add is not a valid tool");
}
END_TEST

START_TEST(arguments_that_do_not_fit_are_answered_with_the_reasons)
{
	const struct value *body;
	const char *text;

	play.request = value_map_with(arena, play.request, "tool_call",
	    literal(arena, "{'name': 'add', 'args': {'a': 'x'}, 'id': 'c1'}"));
	body = call(stub_chain(arena, use("A", "{'catch': 'never'}"), NULL));
	text = stub_outcome(arena, body);
	ck_assert_has(text, "add");
	ck_assert_has(text, "/a: must be a number, not a string");
	ck_assert_has(text, "{\"a\":\"x\"}");
	ck_assert_str_eq(stub_log(), "A> A<");
}
END_TEST

START_TEST(a_tool_may_refuse_arguments_itself)
{
	const struct value *body;

	play.outcomes[0] = "!ToolInvocationError a must be prime";
	body = call(stub_chain(arena, use("A", "{'catch': 'never'}"), NULL));
	ck_assert_has(stub_outcome(arena, body), "a must be prime");
	ck_assert_ptr_null(value_get(body, "fault"));
}
END_TEST

START_TEST(arguments_are_shown_only_in_part_when_they_are_long)
{
	char *args = arena_alloc(arena, 5001);
	const char *text;

	memset(args, 'x', 5000);
	play.request = value_map_with(arena, play.request, "tool_call",
	    value_map(arena, "name", value_str(arena, "add"), "id", value_str(arena, "c"),
		"args", value_map(arena, "a", value_str(arena, args), NULL), NULL));
	text = outcome(stub_chain(arena, NULL));
	ck_assert_has(text, "xxx...");
	ck_assert_uint_lt(strlen(text), 1500);
}
END_TEST

/* --- failures ----------------------------------------------------------------------- */

START_TEST(a_tools_own_failure_is_not_fatal)
{
	const struct value *body;

	play.outcomes[0] = "!OSError disk";
	body = call(stub_chain(arena, use("A", "{}"), use("B", "{}"), NULL));
	ck_assert_str_eq(stub_outcome(arena, body), "fault: OSError: disk");
	ck_assert(!is_fatal(body));
	ck_assert_str_eq(stub_log(), "A> B> tool B< A<");
}
END_TEST

START_TEST(a_failure_is_caught_by_the_outer_wrap)
{
	play.outcomes[0] = "!OSError disk";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'catch': 'caught'}"),
			     use("B", "{}"), NULL)),
	    "caught");
}
END_TEST

START_TEST(a_hooks_own_failure_is_fatal)
{
	const struct value *body = call(stub_chain(arena, use("A", "{}"),
	    use("B", "{'raise': {'type': 'TimeoutError', 'message': 'no'}}"), NULL));

	ck_assert_str_eq(stub_outcome(arena, body), "fault: TimeoutError: no");
	ck_assert(is_fatal(body));
	/* What it is for a retry around it does not change. */
	ck_assert(value_get_bool(value_get(body, "fault"), "retryable", false));
}
END_TEST

START_TEST(a_failure_made_anew_is_the_hooks_own)
{
	const struct value *body;

	play.outcomes[0] = "!OSError disk";
	body = call(stub_chain(arena, use("A", "{'remake': true}"), NULL));
	ck_assert_str_eq(stub_outcome(arena, body), "fault: RuntimeError: again: disk");
	ck_assert(is_fatal(body));
}
END_TEST

START_TEST(a_fatal_failure_can_still_be_caught)
{
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{'catch': 'caught'}"),
		use("B", "{'raise': {'type': 'KeyError', 'message': 'x'}}"), NULL)),
	    "caught");
}
END_TEST

START_TEST(no_wrap_absorbs_cancellation_or_an_interrupt)
{
	play.outcomes[0] = "!CancelledError cancelled";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'calls': 3, 'catch': 'x'}"),
			     use("B", "{'catch': 'y'}"), NULL)),
	    "fault: CancelledError: cancelled");
	ck_assert_uint_eq(play.count, 1);
	play.outcomes[1] = "!GraphInterrupt approve?";
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", "{'remake': true}"), NULL)),
	    "fault: GraphInterrupt: approve?");
}
END_TEST

static const struct {
	const char *settings, *outcome;
} misuses[] = {
	{ "{'nothing': true}", "fault: ValueError: A.wrap_tool_call gave no result" },
	{ "{'update': {'plan': 1}}",
	    "fault: ValueError: A.wrap_tool_call gave a command without a tool message "
	    "that answers the call c1 of tool add" },
	{ "{'update': 5}",
	    "fault: ValueError: A.wrap_tool_call gave a command whose update is not a "
	    "map" },
	{ "{'override': [['arguments', {}]], 'catch': 'x'}",
	    "fault: ValueError: A overrides \"arguments\", which a tool request has not; "
	    "it has args, name, state and tool" },
	{ "{'override': [['args', 'x']]}",
	    "fault: TypeError: A overrides \"args\" of a tool request with a value of "
	    "type string" },
	{ "{'override': [['state', [1]]]}",
	    "fault: TypeError: A overrides \"state\" of a tool request with a value of "
	    "type array" },
	{ "{'override': [['name', null]]}",
	    "fault: TypeError: A overrides \"name\" of a tool request with a value of "
	    "type null" },
};

START_TEST(a_hooks_mistake_is_fatal_and_names_it)
{
	const struct value *body =
	    call(stub_chain(arena, use("A", misuses[_i].settings), NULL));

	ck_assert_str_eq(stub_outcome(arena, body), misuses[_i].outcome);
	ck_assert(is_fatal(body));
}
END_TEST

/* --- tools that middleware brings --------------------------------------------------- */

static struct tool_result *
run_bring(struct tool_request *own)
{
	ck_assert_str_eq(tool_middleware(own), "bringer");
	ck_assert_str_eq(value_get_text(tool_settings_of(own), "mark"), "m");
	return tool_answer(own, "brought", "success");
}

START_TEST(a_tool_of_a_middleware_sees_its_settings)
{
	const struct tool bring = { "bring", "Brings.", NULL, .run = run_bring };
	const struct tool *const tools[] = { &bring, NULL };
	const struct middleware type = { .tools = tools };
	struct middleware_use bringer = *use("bringer", "{'mark': 'm', 'hooks': []}");

	bringer.type = &type;
	bringer.tools = literal(arena, "[{'name': 'bring'}]");
	play.request = literal(arena,
	    "{'tool_call': {'name': 'bring', 'args': {}, 'id': 'c1'}, 'tool': {'name': "
	    "'bring'}}");
	play.outcomes[0] = "none";
	ck_assert_str_eq(
	    outcome(stub_chain(arena, use("A", "{}"), &bringer, NULL)), "brought");
	/* The worker may run it its own way. */
	ck_assert_str_eq(outcome(stub_chain(arena, &bringer, NULL)), "-1");
}
END_TEST

static struct tool_result *
run_other(struct tool_request *own)
{
	return tool_answer(own, tool_middleware(own), "success");
}

/* The model is told the definition of the last one. */
START_TEST(of_two_tools_of_a_name_the_last_listed_runs)
{
	const struct tool one = { "bring", "Brings.", NULL, .run = run_bring };
	const struct tool other = { "bring", "Brings, too.", NULL, .run = run_other };
	const struct tool *const tools[][2] = { { &one, NULL }, { &other, NULL } };
	const struct middleware types[] = { { .tools = tools[0] },
		{ .tools = tools[1] } };
	struct middleware_use first = *use("first", "{'hooks': []}");
	struct middleware_use last = *use("last", "{'hooks': []}");

	first.type = &types[0];
	last.type = &types[1];
	first.tools = last.tools = literal(arena, "[{'name': 'bring'}]");
	play.request = literal(arena,
	    "{'tool_call': {'name': 'bring', 'args': {}, 'id': 'c1'}, 'tool': {'name': "
	    "'bring'}}");
	play.outcomes[0] = "none";
	ck_assert_str_eq(outcome(stub_chain(arena, &first, &last, NULL)), "last");
}
END_TEST

/* --- commands ----------------------------------------------------------------------- */

START_TEST(a_command_goes_to_a_node_and_needs_the_answer)
{
	ck_assert_value(arena,
	    call(stub_chain(arena,
		use("A", "{'goto': 'end', 'update': {'n': 1, 'messages': [{'type': "
			 "'tool', 'content': 'x'}]}}"),
		NULL)),
	    "{'commands': [{'update': {'n': 1, 'messages': [{'type': 'tool', 'content': "
	    "'x', 'tool_call_id': 'c1', 'status': 'success', 'name': 'add'}]}, 'goto': "
	    "'end'}]}");
	ck_assert_has(
	    outcome(stub_chain(arena, use("A", "{'goto': 'end', 'update': {}}"), NULL)),
	    "gave a command without a tool message that answers the call c1");
	ck_assert_has(outcome(stub_chain(arena, use("A", "{'goto': 'end'}"), NULL)),
	    "without a tool message");
}
END_TEST

START_TEST(a_call_without_name_or_id_is_refused)
{
	play.request = literal(arena, "{'tool_call': {'name': 'add'}}");
	ck_assert_str_eq(outcome(stub_chain(arena, NULL)),
	    "fault: ValueError: a tool call without name or id");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_chain_tool(void);
TCase *
tcase_chain_tool(void)
{
	TCase *tcase = tcase_create("chain_tool");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_tool_answers_with_one_message);
	tcase_add_test(tcase, the_first_listed_wrap_is_the_outermost);
	tcase_add_test(tcase, a_wrap_may_answer_or_call_often);
	tcase_add_test(tcase, a_wrap_changes_the_arguments);
	tcase_add_test(tcase, changed_arguments_are_checked_too);
	tcase_add_test(tcase, another_name_is_another_tool_of_the_agent);
	tcase_add_test(tcase, a_wrap_supplies_the_tool_of_an_unknown_call);
	tcase_add_test(tcase, a_request_tells_all_and_is_never_changed);
	tcase_add_test(tcase, a_wrap_changes_what_is_seen_of_the_state);
	tcase_add_test(tcase, an_unknown_tool_is_answered_with_the_valid_names);
	tcase_add_test(tcase, a_tool_that_is_only_a_schema_is_no_valid_one);
	tcase_add_test(tcase, arguments_that_do_not_fit_are_answered_with_the_reasons);
	tcase_add_test(tcase, a_tool_may_refuse_arguments_itself);
	tcase_add_test(tcase, arguments_are_shown_only_in_part_when_they_are_long);
	tcase_add_test(tcase, a_tools_own_failure_is_not_fatal);
	tcase_add_test(tcase, a_failure_is_caught_by_the_outer_wrap);
	tcase_add_test(tcase, a_hooks_own_failure_is_fatal);
	tcase_add_test(tcase, a_failure_made_anew_is_the_hooks_own);
	tcase_add_test(tcase, a_fatal_failure_can_still_be_caught);
	tcase_add_test(tcase, no_wrap_absorbs_cancellation_or_an_interrupt);
	tcase_add_loop_test(
	    tcase, a_hooks_mistake_is_fatal_and_names_it, 0, COUNT(misuses));
	tcase_add_test(tcase, a_tool_of_a_middleware_sees_its_settings);
	tcase_add_test(tcase, of_two_tools_of_a_name_the_last_listed_runs);
	tcase_add_test(tcase, a_command_goes_to_a_node_and_needs_the_answer);
	tcase_add_test(tcase, a_call_without_name_or_id_is_refused);
	return tcase;
}
