/* human_in_the_loop: what `when`, `description`, `edit_notice` and `per_call` make of a call. */
#include "hitl_bench.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "schema.h"

TCase *tcase_human_in_the_loop_calls(void);

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- when and description ----------------------------------------------------------- */

static const struct {
	const char *when;
	bool asks;
} whens[] = {
	{ "true", true },
	{ "false", false },
	{ "nil", false },
	{ "0", true },
	{ "args.amount > 29 -- a comment", true },
	{ "args.amount > 30", false },
	{ "args.to == 'Ada' and\n name == 'pay'", true },
	{ "context.limit < args.amount", false },
	{ "args.to:find('^B')", false },
	{ "#args.to == 3", true },
	{ "state.spent + args.amount > 100", true },
	{ "state.spent + args.amount > 120", false },
	{ "state['spent'] == 90 and #state.messages == 2", true },
	{ "next(state) == nil", false },
	{ "args.state or context.state", false },
	/* A gate that cannot tell stays shut. */
	{ "args.total > 1", true },
	{ "error('no')", true },
	{ "(function() while true do end end)()", true },
	{ "('x'):rep(1e9) == ''", true },
	{ "io.open('/etc/passwd')", true },
	{ "os.exit()", true },
};

START_TEST(when_decides_over_the_arguments)
{
	const struct value *policy =
	    value_map_with(arena, literal(arena, "{'allowed_decisions': ['approve']}"),
		"when", value_str(arena, whens[_i].when));
	const struct value *settings =
	    value_map(arena, "interrupt_on", value_map(arena, "pay", policy, NULL), NULL);
	struct turned turned = hitl_turn(
	    arena, hitl_use_with(arena, settings), THREE, "{'spent': 90}", NULL);

	ck_assert_msg((turned.asked != NULL) == whens[_i].asks, "%s", whens[_i].when);
	ck_assert_ptr_null(turned.fault);
}
END_TEST

static const struct {
	const char *text, *becomes;
} descriptions[] = {
	{ "Pays for good!", "Pays for good!" },
	{ "", "" },
	{ "{name}: {args.amount} to {args.to}.", "pay: 30 to Ada." },
	{ "{args}", "{\"to\":\"Ada\",\"amount\":30}" },
	{ "{args.from}", "null" },
	{ "{args.to.first}", "null" },
	{ "{context} {context.limit} {context.no}", "{\"limit\":100} 100 null" },
	{ "{state.spent} {state.plan.first} {state.no}", "90 buy null" },
	{ "{{name}} {} { name } {1} {na", "{name} {} { name } {1} {na" },
	{ "{{{name}}}", "{{name}}" },
	{ "a{", "a{" },
	{ "é{name}é", "épayé" },
};

START_TEST(a_description_is_a_template)
{
	struct turned turned = hitl_turn(arena,
	    hitl_use(
		arena, arena_printf(arena,
			   "{'interrupt_on': {'pay': {'allowed_decisions': ['approve'], "
			   "'description': '%s'}}}",
			   descriptions[_i].text)),
	    THREE, "{'spent': 90, 'plan': {'first': 'buy'}}", NULL);

	ck_assert_str_eq(
	    value_get_text(
		value_at(value_get(turned.asked, "action_requests"), 0), "description"),
	    descriptions[_i].becomes);
}
END_TEST

/* --- an edit that leaves the call alone --------------------------------------------- */

#define NOTICED "{'interrupt_on': {'pay': true}, 'edit_notice': 'Edited.'}"

START_TEST(with_a_notice_the_edit_is_kept_beside_the_message)
{
	struct turned turned = hitl_turn(arena, hitl_use(arena, NOTICED), THREE,
	    "{'hitl_edited_tool_calls': {'old': {'name': 'look', 'args': {}}}}",
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'mail', 'args': "
	    "{'a': 1}, 'more': 2}}]}");

	ck_assert_value(arena, turned.update,
	    "{'hitl_edited_tool_calls': {'p': {'name': 'mail', 'args': {'a': 1}}}}");
}
END_TEST

START_TEST(what_was_kept_goes_with_the_next_message)
{
	const char *kept = "{'hitl_edited_tool_calls': {'old': {'name': 'a'}}}";
	const char *plain = "{'type': 'ai', 'id': 'm', 'content': 'Done.'}";

	ck_assert_value(arena,
	    hitl_turn(arena, hitl_use(arena, NOTICED), plain, kept, NULL).update,
	    "{'hitl_edited_tool_calls': {}}");
	ck_assert_ptr_null(
	    hitl_turn(arena, hitl_use(arena, NOTICED), plain, "{}", NULL).update);
	ck_assert_ptr_null(hitl_turn(arena, hitl_use(arena, NOTICED), plain,
	    "{'hitl_edited_tool_calls': {}}", NULL)
			       .update);
}
END_TEST

/* Runs a call of pay, {a: 1}, with this state, through settings' wrap. */
static const struct value *
run_call(const char *settings, const char *state, const char *answers)
{
	play.profile = literal(arena, "{'tools': ['pay', 'mail']}");
	play.request = value_map(arena, "tool_call",
	    literal(arena, "{'name': 'pay', 'args': {'a': 1, 'amount': 5}, 'id': 'p'}"),
	    "tool", literal(arena, "{'name': 'pay', 'parameters': " PAY_PARAMETERS "}"),
	    "state", literal(arena, state), "answers",
	    answers != NULL ? literal(arena, answers) : NULL, "context",
	    literal(arena, "{'limit': 100}"), NULL);
	return play_tool(&play, stub_chain(arena, hitl_use(arena, settings), NULL));
}

START_TEST(what_was_edited_runs_and_the_model_is_told)
{
	const char *state = "{'hitl_edited_tool_calls': {'p': {'name': 'pay', 'args': "
			    "{'a': 2, 'amount': 6}}}}";
	const struct value *body = run_call(NOTICED, state, NULL);

	ck_assert_str_eq(stub_outcome(arena, body),
	    "Edited.\nExecuted instead: pay with arguments "
	    "{\"a\":2,\"amount\":6}.\n\nTool response:\n2");
	play.outcomes[0] = "{'messages': [{'type': 'tool', 'tool_call_id': 'p', "
			   "'content': ''}], 'x': 1}";
	play.count = 0;
	body = run_call(NOTICED, state, NULL);
	ck_assert_str_eq(stub_outcome(arena, body),
	    "Edited.\nExecuted instead: pay with arguments {\"a\":2,\"amount\":6}.");
	ck_assert_int_eq(
	    value_get_int(
		value_get(value_at(value_get(body, "commands"), 0), "update"), "x", 0),
	    1);
	play.outcomes[0] = NULL;
	ck_assert_str_eq(
	    stub_outcome(arena,
		run_call("{'interrupt_on': {}, 'edit_notice': null}", state, NULL)),
	    "2");
	ck_assert_str_eq(stub_outcome(arena, run_call(NOTICED, "{}", NULL)), "1");
}
END_TEST

/* A fault is the tool's, whoever chose its arguments. */
START_TEST(a_fault_of_an_edited_call_passes)
{
	play.outcomes[0] = "!OSError no bank";
	ck_assert_str_eq(
	    stub_outcome(
		arena, run_call(NOTICED,
			   "{'hitl_edited_tool_calls': {'p': {'name': 'pay', 'args': "
			   "{'amount': 1}}}}",
			   NULL)),
	    "fault: OSError: no bank");
}
END_TEST

/* --- per_call ----------------------------------------------------------------------- */

static const struct value *
run_each(const char *more, const char *answers)
{
	return run_call(
	    arena_printf(arena,
		"{'interrupt_on': {'pay': true, 'mail': true}, 'interrupt_mode': "
		"'per_call'%s}",
		more),
	    "{}", answers);
}

START_TEST(per_call_asks_from_the_tool_worker_with_a_schema)
{
	const struct value *body = run_each("", NULL);
	const struct value *asked = value_get(body, "interrupt");

	ck_assert_str_eq(value_get_text(asked, "type"), "tool_approval");
	ck_assert_str_eq(value_get_text(asked, "tool_call_id"), "p");
	ck_assert_str_eq(value_get_text(asked, "name"), "pay");
	ck_assert_value(arena, value_get(asked, "args"), "{'a': 1, 'amount': 5}");
	ck_assert_has(value_get_text(asked, "description"), "Tool: pay");
	ck_assert(value_has(value_get(body, "about"), "response_schema"));
	ck_assert_ptr_null(play.ran);
}
END_TEST

static const struct {
	const char *answer;
	bool fits;
} answers[] = {
	{ "{'type': 'approve'}", true },
	{ "{'type': 'reject'}", true },
	{ "{'type': 'reject', 'message': 'no'}", true },
	{ "{'type': 'respond', 'message': 'so'}", true },
	{ "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {'amount': 1}}}",
	    true },
	{ "'approve'", false },
	{ "{}", false },
	{ "{'type': 'agree'}", false },
	{ "{'type': 'respond'}", false },
	{ "{'type': 'reject', 'message': 1}", false },
	{ "{'type': 'edit'}", false },
	{ "{'type': 'edit', 'edited_action': {'name': 'mail', 'args': {}}}", false },
	{ "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {}}}", false },
	{ "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {'amount': '1'}}}",
	    false },
	{ "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {'amount': 1, "
	  "'tip': 1}}}",
	    false },
};

/* What the coordinator holds an answer against before it takes it. */
START_TEST(the_schema_says_what_an_answer_may_be)
{
	const struct value *body = run_each("", NULL);
	const struct value *schema =
	    value_get(value_get(body, "about"), "response_schema");
	const char *reason = "";

	ck_assert_msg(schema_usable(arena, schema, &reason) == 0, "%s", reason);
	ck_assert_msg((schema_check(arena, schema, literal(arena, answers[_i].answer),
			   &reason) == 0) == answers[_i].fits,
	    "%s: %s", answers[_i].answer, reason);
}
END_TEST

static const struct {
	const char *more, *answer, *says, *ran;
} calls[] = {
	{ "", "{'type': 'approve'}", "1", "pay p" },
	{ "", "{'type': 'reject', 'message': 'Not him.'}",
	    "The user rejected this call of the tool `pay`. Reason: Not him.", NULL },
	{ "", "{'type': 'respond', 'message': 'Paid.'}", "Paid.", NULL },
	{ "",
	    "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {'a': 7, "
	    "'amount': 1}}}",
	    "A human reviewer has put another call in the place of this one, on purpose. "
	    "Do not make the original call again.\nExecuted instead: pay with arguments "
	    "{\"a\":7,\"amount\":1}.\n\nTool response:\n7",
	    "pay p" },
	{ ", 'edit_notice': null",
	    "{'type': 'edit', 'edited_action': {'name': 'pay', 'args': {'a': 7, "
	    "'amount': 1}}}",
	    "7", "pay p" },
	/* What nobody should have let through runs nothing. */
	{ "", "{'type': 'perhaps'}",
	    "fault: ValueError: the decision \"perhaps\" is not allowed for the tool "
	    "\"pay\"; allowed: approve, edit, reject, respond",
	    NULL },
	{ "", "{'type': 'edit', 'edited_action': {'name': 'mail', 'args': {}}}",
	    "fault: ValueError: an edit keeps the tool here, which is \"pay\"", NULL },
};

START_TEST(per_call_does_what_was_decided)
{
	const struct value *body =
	    run_each(calls[_i].more, arena_printf(arena, "[%s]", calls[_i].answer));

	ck_assert_str_eq(stub_outcome(arena, body), calls[_i].says);
	if (calls[_i].ran == NULL)
		ck_assert_ptr_null(play.ran);
	else
		ck_assert_str_eq(play.ran, calls[_i].ran);
}
END_TEST

START_TEST(per_call_passes_what_needs_nobody)
{
	ck_assert_str_eq(
	    stub_outcome(arena, run_call("{'interrupt_on': {'mail': true, 'pay': "
					 "{'allowed_decisions': ['approve'], 'when': "
					 "'args.amount > context.limit'}}, "
					 "'interrupt_mode': 'per_call'}",
				    "{}", NULL)),
	    "1");
}
END_TEST

static const struct {
	const char *when, *description, *reads;
} read_fields[] = {
	{ "args.amount > 1", "{args}", "[]" },
	{ "state.spent > 1", "{state.plan.first} {state.spent}", "['spent', 'plan']" },
	{ "state [ \"a b\" ] and state--[[ x ]]. c", "", "['a b', 'c']" },
	{ "args.state or args['state'] or 'state' or [[state]] -- state", "", "[]" },
	{ "args:state() or args . state", "", "[]" },
	{ "1 ..state.a", "", "['a']" },
	{ "'\\'' .. state.a .. \"'\"", "", "['a']" },
	{ "nostate.a or state_.b or state2.c", "", "[]" },
	{ "#state.messages > 1 and state.messages[1].content", "", "['messages']" },
	{ "state[name]", "", "['*']" },
	{ "next(state) or state.a", "", "['*', 'a']" },
	{ "state['a' .. 'b']", "", "['*']" },
	{ "state['\\97']", "", "['*']" },
	{ "_ENV['st' .. 'ate'].a", "", "['*']" },
};

/* It has no more of the state than what travels with the call. */
START_TEST(per_call_reads_the_fields_that_its_policies_name)
{
	const struct value *policy = value_map(arena, "allowed_decisions",
	    literal(arena, "['approve']"), "when", value_str(arena, read_fields[_i].when),
	    "description", value_str(arena, read_fields[_i].description), NULL);
	const struct value *settings =
	    value_map(arena, "interrupt_on", value_map(arena, "pay", policy, NULL), NULL);

	ck_assert_uint_eq(value_size(hitl_use_with(arena, settings)->tool_reads), 0);
	settings = value_map_with(
	    arena, settings, "interrupt_mode", value_str(arena, "per_call"));
	ck_assert_value(
	    arena, hitl_use_with(arena, settings)->tool_reads, read_fields[_i].reads);
}
END_TEST

START_TEST(per_call_sees_the_state)
{
	const char *settings = "{'interrupt_on': {'pay': {'allowed_decisions': "
			       "['approve'], 'when': 'state.spent + args.amount > 100', "
			       "'description': '{state.spent} of {context.limit}'}}, "
			       "'interrupt_mode': 'per_call'}";

	ck_assert_str_eq(
	    stub_outcome(arena, run_call(settings, "{'spent': 95}", NULL)), "1");
	ck_assert_str_eq(
	    value_get_text(
		value_get(run_call(settings, "{'spent': 96}", NULL), "interrupt"),
		"description"),
	    "96 of 100");
}
END_TEST

#define LOOP(tcase, test, table)                                                         \
	tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof *(table))

TCase *
tcase_human_in_the_loop_calls(void)
{
	TCase *tcase = tcase_create(HITL "_calls");

	tcase_add_checked_fixture(tcase, setup, teardown);
	LOOP(tcase, when_decides_over_the_arguments, whens);
	LOOP(tcase, a_description_is_a_template, descriptions);
	tcase_add_test(tcase, with_a_notice_the_edit_is_kept_beside_the_message);
	tcase_add_test(tcase, what_was_kept_goes_with_the_next_message);
	tcase_add_test(tcase, what_was_edited_runs_and_the_model_is_told);
	tcase_add_test(tcase, a_fault_of_an_edited_call_passes);
	tcase_add_test(tcase, per_call_asks_from_the_tool_worker_with_a_schema);
	LOOP(tcase, the_schema_says_what_an_answer_may_be, answers);
	LOOP(tcase, per_call_does_what_was_decided, calls);
	tcase_add_test(tcase, per_call_passes_what_needs_nobody);
	LOOP(tcase, per_call_reads_the_fields_that_its_policies_name, read_fields);
	tcase_add_test(tcase, per_call_sees_the_state);
	return tcase;
}
