/* human_in_the_loop: its settings, and what is asked and decided behind a model call. */
#include "hitl_bench.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

TCase *tcase_human_in_the_loop(void);

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- settings ----------------------------------------------------------------------- */

static const struct {
	const char *settings, *path, *says;
} mistakes[] = {
	{ "{}", "/interrupt_on", "needs the setting" },
	{ "{'interrupt_on': ['pay']}", "/interrupt_on", "must be a map" },
	{ "{'interrupt_on': {'pay': 1}}", "/interrupt_on/pay", "true, false or a map" },
	{ "{'interrupt_on': {'pay': null}}", "/interrupt_on/pay", "not null" },
	{ "{'interrupt_on': {'a/b': 'x'}}", "/interrupt_on/a~1b", "a string" },
	{ "{'interrupt_on': {'pay': {}}}", "/interrupt_on/pay/allowed_decisions",
	    "at least one" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': []}}}",
	    "/interrupt_on/pay/allowed_decisions", "at least one" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': 'approve'}}}",
	    "/interrupt_on/pay/allowed_decisions", "must be a list" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['aprove']}}}",
	    "/interrupt_on/pay/allowed_decisions/0", "did you mean \"approve\"" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit', 7]}}}",
	    "/interrupt_on/pay/allowed_decisions/1", "approve, edit, reject or respond" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit', 'edit']}}}",
	    "/interrupt_on/pay/allowed_decisions/1", "twice" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'whem': 'true'}}}",
	    "/interrupt_on/pay/whem", "did you mean \"when\"" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'description': 1}}}",
	    "/interrupt_on/pay/description", "must be a string" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'description': "
	  "'{who} gets'}}}",
	    "/interrupt_on/pay/description", "there is no {who}" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'description': "
	  "'of {state}'}}}",
	    "/interrupt_on/pay/description", "{state.NAME}" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'args_schema': "
	  "{'type': 'money'}}}}",
	    "/interrupt_on/pay/args_schema", "type" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': true}}}",
	    "/interrupt_on/pay/when", "a string, not a boolean" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': "
	  "'args.amount >'}}}",
	    "/interrupt_on/pay/when", "when:1:" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': "
	  "'args.amount\\n  > > 1'}}}",
	    "/interrupt_on/pay/when", "when:2:" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': ''}}}",
	    "/interrupt_on/pay/when", "when:" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': '1, 2'}}}",
	    "/interrupt_on/pay/when", "when:1:" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': '1) end do "
	  "return (2'}}}",
	    "/interrupt_on/pay/when", "when:1:" },
	{ "{'interrupt_on': {'pay': {'allowed_decisions': ['edit'], 'when': '1 end "
	  "function f() return 2'}}}",
	    "/interrupt_on/pay/when", "when:1:" },
	{ "{'interrupt_on': {}, 'interrupt_mode': 'batch'}", "/interrupt_mode",
	    "did you mean \"batched\"" },
	{ "{'interrupt_on': {}, 'edit_notice': 7}", "/edit_notice", "must be a string" },
	{ "{'interrupt_on': {}, 'description_prefix': null}", "/description_prefix",
	    "not null" },
};

START_TEST(a_mistake_is_refused_at_its_place)
{
	literal_refused(
	    arena, HITL, mistakes[_i].settings, mistakes[_i].path, mistakes[_i].says);
}
END_TEST

START_TEST(only_the_hooks_that_the_settings_need_are_there)
{
	const struct middleware_use *use = hitl_use(arena, "{'interrupt_on': {}}");

	ck_assert(use->hooks[HOOK_AFTER_MODEL] && !use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 0);
	use = hitl_use(arena, "{'interrupt_on': {}, 'edit_notice': null}");
	ck_assert(use->hooks[HOOK_AFTER_MODEL] && use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "hitl_edited_tool_calls");
	ck_assert(use->fields[0].omit_from_input && use->fields[0].omit_from_output);
	ck_assert(value_contains(use->reads, "hitl_edited_tool_calls"));
	use = hitl_use(arena, "{'interrupt_on': {}, 'interrupt_mode': 'per_call'}");
	ck_assert(!use->hooks[HOOK_AFTER_MODEL] && use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 0);
}
END_TEST

/* --- batched ------------------------------------------------------------------------ */

#define BOTH "{'interrupt_on': {'pay': true, 'mail': true, 'look': false}}"

START_TEST(all_calls_of_a_message_are_asked_for_at_once)
{
	struct turned turned = hitl_turn(arena,
	    hitl_use(arena, "{'interrupt_on': {'mail': true, 'pay': "
			    "{'allowed_decisions': ['approve']}}, "
			    "'description_prefix': 'Look:'}"),
	    THREE, "{}", NULL);

	ck_assert_ptr_null(turned.update);
	ck_assert_value(arena, turned.asked,
	    "{'action_requests': ["
	    "{'name': 'pay', 'args': {'to': 'Ada', 'amount': 30}, 'description': "
	    "'Look:\\n\\nTool: pay\\nArgs: {\\\"to\\\":\\\"Ada\\\",\\\"amount\\\":30}'}, "
	    "{'name': 'mail', 'args': {}, 'description': "
	    "'Look:\\n\\nTool: mail\\nArgs: {}'}], "
	    "'review_configs': ["
	    "{'action_name': 'pay', 'allowed_decisions': ['approve']}, "
	    "{'action_name': 'mail', 'allowed_decisions': ['approve', 'edit', 'reject', "
	    "'respond']}]}");
	ck_assert_value(arena, turned.about, "{'tool_call_ids': ['p', 'e']}");
}
END_TEST

/* Nobody is asked: no calls, none that is configured, all answered by others, no AI message. */
START_TEST(a_message_without_gated_calls_passes)
{
	static const char *const messages[] = {
		"{'type': 'ai', 'id': 'm', 'content': 'Done.'}",
		"{'type': 'ai', 'id': 'm', 'content': '', 'tool_calls': [{'name': "
		"'look', "
		"'args': {}, 'id': 'l'}]}",
		"{'type': 'ai', 'id': 'm', 'content': '', 'tool_calls': [{'name': 'pay', "
		"'args': {}, 'id': 'p'}]}, {'type': 'tool', 'id': 't', 'content': 'no', "
		"'tool_call_id': 'p', 'name': 'pay', 'status': 'error'}",
		"{'type': 'human', 'id': 'h', 'content': '?'}",
	};
	struct turned turned =
	    hitl_turn(arena, hitl_use(arena, BOTH), messages[_i], "{}", NULL);

	ck_assert_ptr_null(turned.update);
	ck_assert_ptr_null(turned.asked);
	ck_assert_ptr_null(turned.fault);
}
END_TEST

static const struct {
	const char *answer, *messages; /* NULL: no update */
} decided[] = {
	{ "{'decisions': [{'type': 'approve'}, {'type': 'approve'}]}", NULL },
	{ "{'decisions': [{'type': 'respond', 'message': 'Paid by hand.'}, {'type': "
	  "'approve'}]}",
	    "[{'type': 'tool', 'content': 'Paid by hand.', 'tool_call_id': 'p', 'name': "
	    "'pay', 'status': 'success'}]" },
	{ "{'decisions': [{'type': 'reject', 'message': 'Too much.'}, {'type': "
	  "'reject'}]}",
	    "[{'type': 'tool', 'content': 'The user rejected this call of the tool "
	    "`pay`. "
	    "Reason: Too much.', 'tool_call_id': 'p', 'name': 'pay', 'status': 'error'}, "
	    "{'type': 'tool', 'content': 'The user rejected this call of the tool `mail` "
	    "(id e): it was not executed. Do not try it again unless the user asks for "
	    "it.', 'tool_call_id': 'e', 'name': 'mail', 'status': 'error'}]" },
	{ "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pay', 'args': "
	  "{'amount': 3}}}, {'type': 'approve'}]}",
	    "[{'type': 'ai', 'id': 'm', 'content': 'Hm.', 'tool_calls': ["
	    "{'name': 'look', 'args': {}, 'id': 'l', 'type': 'tool_call'}, "
	    "{'name': 'pay', 'args': {'amount': 3}, 'id': 'p'}, "
	    "{'name': 'mail', 'args': {}, 'id': 'e'}]}]" },
	{ "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'look', 'args': "
	  "{'q': 1}}}, {'type': 'respond', 'message': ''}]}",
	    "[{'type': 'ai', 'id': 'm', 'content': 'Hm.', 'tool_calls': ["
	    "{'name': 'look', 'args': {}, 'id': 'l', 'type': 'tool_call'}, "
	    "{'name': 'look', 'args': {'q': 1}, 'id': 'p'}, "
	    "{'name': 'mail', 'args': {}, 'id': 'e'}]}, "
	    "{'type': 'tool', 'content': '', 'tool_call_id': 'e', 'name': 'mail', "
	    "'status': 'success'}]" },
};

START_TEST(each_decision_stands_alone_and_the_order_stays)
{
	struct turned turned =
	    hitl_turn(arena, hitl_use(arena, BOTH), THREE, "{}", decided[_i].answer);

	ck_assert_ptr_null(turned.fault);
	if (decided[_i].messages == NULL)
		ck_assert_ptr_null(turned.update);
	else
		ck_assert_value(arena, turned.update,
		    arena_printf(arena, "{'messages': %s}", decided[_i].messages));
}
END_TEST

static const struct {
	const char *settings, *answer, *says;
} refusals[] = {
	{ BOTH, "null", "must be {\"decisions\": [...]}" },
	{ BOTH, "'yes'", "must be {\"decisions\": [...]}" },
	{ BOTH, "{'decisions': {'type': 'approve'}}", "must be {\"decisions\": [...]}" },
	{ BOTH, "{'decisions': []}",
	    "2 actions wait for a decision each, and the "
	    "answer has 0" },
	{ BOTH, "{'decisions': [{'type': 'approve'}]}", "the answer has 1" },
	{ BOTH,
	    "{'decisions': [{'type': 'approve'}, {'type': 'approve'}, {'type': "
	    "'approve'}]}",
	    "the answer has 3" },
	{ BOTH, "{'decisions': ['approve', {'type': 'approve'}]}",
	    "action 1: a decision is a map" },
	{ BOTH, "{'decisions': [{'type': 'approve'}, {'type': 'maybe'}]}",
	    "action 2: the decision \"maybe\" is not allowed for the tool \"mail\"; "
	    "allowed: approve, edit, reject, respond" },
	{ BOTH,
	    "{'decisions': [{'type': 'approve'}, {'type': 'reject', 'message': "
	    "[1]}]}",
	    "action 2: the message" },
	{ BOTH, "{'decisions': [{'type': 'respond'}, {'type': 'approve'}]}",
	    "action 1: a decision to respond needs a message" },
	{ BOTH, "{'decisions': [{'type': 'edit'}, {'type': 'approve'}]}",
	    "action 1: an edit needs edited_action" },
	{ BOTH,
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pay', "
	    "'args': [1]}}, {'type': 'approve'}]}",
	    "action 1: an edit needs edited_action" },
	{ BOTH,
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pai', "
	    "'args': {}}}, {'type': 'approve'}]}",
	    "did you mean \"pay\"?); it has pay, mail, look" },
	{ BOTH,
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pay', "
	    "'args': {'amount': 'much'}}}, {'type': 'approve'}]}",
	    "action 1: the edited arguments do not fit the tool \"pay\": /amount" },
	{ "{'interrupt_on': {'mail': true, 'pay': {'allowed_decisions': ['approve', "
	  "'reject']}}}",
	    "{'decisions': [{'type': 'approve'}, {'type': 'edit', 'edited_action': "
	    "{'name': 'pay', 'args': {'amount': 1}}}]}",
	    "whose own policy allows no edit, but approve, reject" },
	{ "{'interrupt_on': {'mail': true, 'pay': {'allowed_decisions': ['edit'], "
	  "'args_schema': {'properties': {'amount': {'maximum': 9}}}}}}",
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pay', 'args': "
	    "{'amount': 10}}}, {'type': 'approve'}]}",
	    "do not fit the tool \"pay\": /amount" },
};

START_TEST(what_is_no_answer_is_refused_as_a_whole)
{
	struct turned turned = hitl_turn(arena, hitl_use(arena, refusals[_i].settings),
	    THREE, "{}", refusals[_i].answer);

	ck_assert_ptr_null(turned.update);
	ck_assert_ptr_nonnull(turned.fault);
	ck_assert_str_eq(turned.fault->type, "ValueError");
	ck_assert_has(turned.fault->message, refusals[_i].says);
}
END_TEST

#define PAY_INSTEAD(amount)                                                              \
	"{'decisions': [{'type': 'edit', 'edited_action': {'name': 'pay', 'args': "      \
	"{'amount': " amount "}}}]}"

/* A policy that does not want the call as it is edited has nothing against it. */
START_TEST(an_edit_to_another_tool_is_checked_against_that_tools_when)
{
	const struct middleware_use *use = hitl_use(arena,
	    "{'interrupt_on': {'mail': true, 'pay': {'allowed_decisions': ['reject'], "
	    "'when': 'args.amount > context.limit'}}}");
	struct turned turned = hitl_turn(arena, use, THREE, "{}", PAY_INSTEAD("100"));

	ck_assert_ptr_null(turned.fault);
	ck_assert_ptr_nonnull(turned.update);
	turned = hitl_turn(arena, use, THREE, "{}", PAY_INSTEAD("101"));
	ck_assert_has(turned.fault->message, "whose own policy allows no edit");
}
END_TEST

/* What a provider gave beside the calls says the same as they do. */
START_TEST(an_edit_shows_in_the_blocks_of_the_message_as_well)
{
	struct turned turned = hitl_turn(arena, hitl_use(arena, BOTH),
	    "{'type': 'ai', 'id': 'm', 'content': [{'type': 'text', 'text': 'So:'}, "
	    "{'type': 'tool_use', 'id': 'p', 'name': 'pay', 'input': {'amount': 9}}], "
	    "'tool_calls': [{'name': 'pay', 'args': {'amount': 9}, 'id': 'p'}]}",
	    "{}",
	    "{'decisions': [{'type': 'edit', 'edited_action': {'name': 'mail', 'args': "
	    "{'a': 1}}}]}");

	ck_assert_value(arena, value_at(value_get(turned.update, "messages"), 0),
	    "{'type': 'ai', 'id': 'm', 'content': [{'type': 'text', 'text': 'So:'}, "
	    "{'type': 'tool_use', 'id': 'p', 'name': 'mail', 'input': {'a': 1}}], "
	    "'tool_calls': [{'name': 'mail', 'args': {'a': 1}, 'id': 'p'}]}");
}
END_TEST

#define LOOP(tcase, test, table)                                                         \
	tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof *(table))

TCase *
tcase_human_in_the_loop(void)
{
	TCase *tcase = tcase_create(HITL);

	tcase_add_checked_fixture(tcase, setup, teardown);
	LOOP(tcase, a_mistake_is_refused_at_its_place, mistakes);
	tcase_add_test(tcase, only_the_hooks_that_the_settings_need_are_there);
	tcase_add_test(tcase, all_calls_of_a_message_are_asked_for_at_once);
	tcase_add_loop_test(tcase, a_message_without_gated_calls_passes, 0, 4);
	LOOP(tcase, each_decision_stands_alone_and_the_order_stays, decided);
	LOOP(tcase, what_is_no_answer_is_refused_as_a_whole, refusals);
	tcase_add_test(tcase, an_edit_to_another_tool_is_checked_against_that_tools_when);
	tcase_add_test(tcase, an_edit_shows_in_the_blocks_of_the_message_as_well);
	return tcase;
}
