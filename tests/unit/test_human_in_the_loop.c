#include <check.h>
#include <stdio.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "schema.h"
#include "yaml.h"

/* Interface under test */
#include "registry.h"

#define NAME "human_in_the_loop"

TCase *tcase_human_in_the_loop(void);

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

#define ck_assert_has(text, piece)                                                       \
	ck_assert_msg((text) != NULL && strstr(text, piece) != NULL,                     \
	    "\"%s\" has no \"%s\"", text, piece)

static const struct middleware_use *
use_with(const struct value *settings)
{
	const char *path = "", *error = "";
	const struct middleware_use *use =
	    registry_use(arena, NAME, settings, &path, &error);

	ck_assert_msg(use != NULL, "%s: %s: %s", json_text(arena, settings), path, error);
	return use;
}

static const struct middleware_use *
use_of(const char *settings)
{
	return use_with(literal(arena, settings));
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
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(
	    arena, NAME, literal(arena, mistakes[_i].settings), &path, &error));
	ck_assert_str_eq(path, mistakes[_i].path);
	ck_assert_has(error, mistakes[_i].says);
}
END_TEST

START_TEST(only_the_hooks_that_the_settings_need_are_there)
{
	const struct middleware_use *use = use_of("{'interrupt_on': {}}");

	ck_assert(use->hooks[HOOK_AFTER_MODEL] && !use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 0);
	use = use_of("{'interrupt_on': {}, 'edit_notice': null}");
	ck_assert(use->hooks[HOOK_AFTER_MODEL] && use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "hitl_edited_tool_calls");
	ck_assert(use->fields[0].omit_from_input && use->fields[0].omit_from_output);
	ck_assert(value_contains(use->reads, "hitl_edited_tool_calls"));
	use = use_of("{'interrupt_on': {}, 'interrupt_mode': 'per_call'}");
	ck_assert(!use->hooks[HOOK_AFTER_MODEL] && use->hooks[HOOK_WRAP_TOOL_CALL]);
	ck_assert_uint_eq(use->field_count, 0);
}
END_TEST

/* --- batched ------------------------------------------------------------------------ */

#define PAY_PARAMETERS                                                                   \
	"{'type': 'object', 'properties': {'to': {'type': 'string'}, 'amount': "         \
	"{'$ref': "                                                                      \
	"'#/$defs/money'}}, 'required': ['amount'], '$defs': {'money': {'type': "        \
	"'integer'}}}"

#define PROFILE                                                                          \
	"{'tools': [{'name': 'pay', 'parameters': " PAY_PARAMETERS "}, "                 \
	"{'name': 'mail', 'parameters': {'type': 'object'}}, "                           \
	"{'name': 'look', 'parameters': {'type': 'object'}}]}"

struct turned {
	const struct value *update; /* NULL: none */
	const struct value *asked, *about;
	const struct fault *fault;
};

/* Runs after_model on a message with these calls; answer NULL: nobody has answered yet. */
static struct turned
turn_on(const struct middleware_use *use, const char *message, const char *state,
    const char *answer)
{
	struct turn turn = { .arena = arena,
		.use = use,
		.profile = literal(arena, PROFILE),
		.notes = { .arena = arena },
		.state = literal(arena, state),
		.context = literal(arena, "{'limit': 100}"),
		.messages = literal(
		    arena, arena_printf(arena, "[{'type': 'human', 'content': 'go'}, %s]",
			       message)) };
	struct turned turned;

	if (answer != NULL) {
		const struct value *one = literal(arena, answer);

		turn.interrupts.answers = value_array(arena, &one, 1);
	}
	turned.update = chain_node_hook(&turn, HOOK_AFTER_MODEL);
	turned.asked = turn.interrupts.asked;
	turned.about = turn.interrupts.about;
	turned.fault = turn.fault;
	return turned;
}

#define THREE                                                                            \
	"{'type': 'ai', 'id': 'm', 'content': 'Hm.', 'tool_calls': ["                    \
	"{'name': 'look', 'args': {}, 'id': 'l', 'type': 'tool_call'}, "                 \
	"{'name': 'pay', 'args': {'to': 'Ada', 'amount': 30}, 'id': 'p'}, "              \
	"{'name': 'mail', 'args': {}, 'id': 'e'}]}"
#define BOTH "{'interrupt_on': {'pay': true, 'mail': true, 'look': false}}"

START_TEST(all_calls_of_a_message_are_asked_for_at_once)
{
	struct turned turned = turn_on(use_of("{'interrupt_on': {'mail': true, 'pay': "
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
	struct turned turned = turn_on(use_of(BOTH), messages[_i], "{}", NULL);

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
	struct turned turned = turn_on(use_of(BOTH), THREE, "{}", decided[_i].answer);

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
	struct turned turned =
	    turn_on(use_of(refusals[_i].settings), THREE, "{}", refusals[_i].answer);

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
	const struct middleware_use *use = use_of(
	    "{'interrupt_on': {'mail': true, 'pay': {'allowed_decisions': ['reject'], "
	    "'when': 'args.amount > context.limit'}}}");
	struct turned turned = turn_on(use, THREE, "{}", PAY_INSTEAD("100"));

	ck_assert_ptr_null(turned.fault);
	ck_assert_ptr_nonnull(turned.update);
	turned = turn_on(use, THREE, "{}", PAY_INSTEAD("101"));
	ck_assert_has(turned.fault->message, "whose own policy allows no edit");
}
END_TEST

/* What a provider gave beside the calls says the same as they do. */
START_TEST(an_edit_shows_in_the_blocks_of_the_message_as_well)
{
	struct turned turned = turn_on(use_of(BOTH),
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
	struct turned turned = turn_on(use_with(settings), THREE, "{}", NULL);

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
	{ "{{name}} {} { name } {1} {na", "{name} {} { name } {1} {na" },
	{ "{{{name}}}", "{{name}}" },
	{ "a{", "a{" },
	{ "é{name}é", "épayé" },
};

START_TEST(a_description_is_a_template)
{
	struct turned turned =
	    turn_on(use_of(arena_printf(arena,
			"{'interrupt_on': {'pay': {'allowed_decisions': ['approve'], "
			"'description': '%s'}}}",
			descriptions[_i].text)),
		THREE, "{}", NULL);

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
	struct turned turned = turn_on(use_of(NOTICED), THREE,
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

	ck_assert_value(arena, turn_on(use_of(NOTICED), plain, kept, NULL).update,
	    "{'hitl_edited_tool_calls': {}}");
	ck_assert_ptr_null(turn_on(use_of(NOTICED), plain, "{}", NULL).update);
	ck_assert_ptr_null(
	    turn_on(use_of(NOTICED), plain, "{'hitl_edited_tool_calls': {}}", NULL)
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
	return play_tool(&play, stub_chain(arena, use_of(settings), NULL));
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

/* --- the page ----------------------------------------------------------------------- */

START_TEST(the_examples_of_the_page_load)
{
	char *page = arena_alloc(arena, 1 << 16);
	FILE *file = fopen("docs/middleware/" NAME ".md", "re");
	const char *at = page, *end, *path, *error = "";
	const struct value *one;
	struct yaml *yaml;
	size_t count = 0;

	ck_assert_ptr_nonnull(file);
	page[fread(page, 1, (1 << 16) - 1, file)] = '\0';
	fclose(file);
	for (; (at = strstr(at, "```yaml\n")) != NULL; at = end + 3, count++) {
		at += strlen("```yaml\n");
		end = strstr(at, "```");
		yaml = yaml_parse(arena, NAME, at, (size_t)(end - at), &error);
		ck_assert_msg(yaml != NULL, "%s", error);
		one = value_at(value_get(yaml_root(yaml, 0), "middleware"), 0);
		ck_assert_msg(registry_use(arena, NAME, value_get(one, NAME), &path,
				  &error) != NULL,
		    "%s: %s", path, error);
		yaml_destroy(&yaml);
	}
	ck_assert_uint_ge(count, 2);
}
END_TEST

#define LOOP(tcase, test, table)                                                         \
	tcase_add_loop_test(tcase, test, 0, sizeof(table) / sizeof *(table))

TCase *
tcase_human_in_the_loop(void)
{
	TCase *tcase = tcase_create(NAME);

	tcase_add_checked_fixture(tcase, setup, teardown);
	LOOP(tcase, a_mistake_is_refused_at_its_place, mistakes);
	tcase_add_test(tcase, only_the_hooks_that_the_settings_need_are_there);
	tcase_add_test(tcase, all_calls_of_a_message_are_asked_for_at_once);
	tcase_add_loop_test(tcase, a_message_without_gated_calls_passes, 0, 4);
	LOOP(tcase, each_decision_stands_alone_and_the_order_stays, decided);
	LOOP(tcase, what_is_no_answer_is_refused_as_a_whole, refusals);
	tcase_add_test(tcase, an_edit_to_another_tool_is_checked_against_that_tools_when);
	tcase_add_test(tcase, an_edit_shows_in_the_blocks_of_the_message_as_well);
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
	tcase_add_test(tcase, the_examples_of_the_page_load);
	return tcase;
}
