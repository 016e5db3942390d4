#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "model_request.h"

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

/* --- requests ----------------------------------------------------------------------- */

START_TEST(every_field_of_a_request_can_be_replaced)
{
	call(stub_chain(arena,
	    use("A",
		"{'override': [['model', 'x:y'], ['system_prompt', 's'], ['messages', "
		"[]], ['tools', [{'name': 'mul'}]], ['tool_choice', {'name': 'mul'}], "
		"['response_format', {'type': 'json_object'}], ['model_settings', {'n': "
		"2}]]}"),
	    NULL));
	ck_assert_value(arena, play.seen,
	    "{'model': 'x:y', 'system': 's', 'messages': [], 'tools': [{'name': 'mul'}], "
	    "'choice': {'name': 'mul'}, 'format': {'type': 'json_object'}, 'settings': "
	    "{'n': "
	    "2}}");
}
END_TEST

START_TEST(null_takes_a_field_away)
{
	call(stub_chain(arena,
	    use("A", "{'override': [['model', 'x:y'], ['model', null], ['system_prompt', "
		     "null], ['tools', null], ['model_settings', null]]}"),
	    NULL));
	ck_assert_value(arena, play.seen,
	    "{'model': 'openai:main', 'system': null, 'messages': [{'type': 'human', "
	    "'content': '?'}], 'tools': [], 'settings': {}}");
}
END_TEST

static struct model_response *
peek_wrap(struct model_request *own, struct model_next *next)
{
	struct model_request *changed =
	    model_override(own, "system_prompt", value_str(arena, "changed"));

	ck_assert_ptr_ne(changed, own);
	ck_assert_str_eq(model_system_prompt(own), "base");
	ck_assert_str_eq(model_run(own), "r");
	ck_assert_str_eq(model_thread(own), "t");
	ck_assert_str_eq(model_agent(own), "helper");
	ck_assert_str_eq(model_middleware(changed), "peek");
	ck_assert_value(arena, model_state(own, "plan"), "[1]");
	ck_assert_uint_eq(value_size(model_state(own, "messages")), 1);
	ck_assert_ptr_null(model_state(own, "nothing"));
	ck_assert_value(arena, model_context(own), "{'user': 'u'}");
	model_next(next, changed);
	ck_assert_str_eq(value_get_text(play.seen, "system"), "changed");
	return model_next(next, own);
}

START_TEST(an_override_leaves_the_request_as_it_was)
{
	const struct middleware type = { .wrap_model_call = peek_wrap };
	struct middleware_use peek = *use("peek", "{}");

	peek.type = &type;
	call(stub_chain(arena, &peek, NULL));
	ck_assert_uint_eq(play.count, 2);
	ck_assert_str_eq(value_get_text(play.seen, "system"), "base");
}
END_TEST

START_TEST(tools_that_nobody_could_run_fail_the_call_before_it_is_sent)
{
	const char *text = outcome(stub_chain(arena,
	    use("A",
		"{'override': [['tools', [{'name': 'add'}, {'name': 'teleport'}]]]}"),
	    NULL));

	ck_assert_uint_eq(play.count, 0);
	ck_assert_str_eq(stub_log(), "A> A<");
	ck_assert_ptr_nonnull(strstr(text, "fault: ValueError"));
	ck_assert_ptr_nonnull(strstr(text, "teleport"));
	ck_assert_ptr_nonnull(strstr(text, "add, mul"));
	ck_assert_ptr_nonnull(strstr(text, "wrap_tool_call"));
}
END_TEST

START_TEST(new_tools_are_fine_when_a_wrap_can_answer_them)
{
	const char *settings =
	    "{'override': [['tools', [{'name': 'teleport'}, {'type': 'web_search'}]]]}";

	play.profile =
	    value_map_with(arena, play.profile, "wraps_tools", value_bool(true));
	ck_assert_str_eq(outcome(stub_chain(arena, use("A", settings), NULL)), "ok");
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 2);
}
END_TEST

START_TEST(a_providers_own_tool_is_nobodys_to_run)
{
	ck_assert_str_eq(
	    outcome(stub_chain(arena,
		use("A", "{'override': [['tools', [{'type': 'web_search', 'name': "
			 "'web_search'}]]]}"),
		NULL)),
	    "ok");
}
END_TEST

START_TEST(only_the_models_own_messages_get_the_agents_name)
{
	play.profile =
	    value_map_with(arena, play.profile, "name", value_str(arena, "helper"));
	ck_assert_value(arena, value_get(call(stub_chain(arena, NULL)), "messages"),
	    "[{'type': 'ai', 'content': 'ok', 'name': 'helper'}]");
	ck_assert_value(arena,
	    value_get(
		call(stub_chain(arena,
		    use("A", "{'calls': 0, 'response': {'type': 'ai', 'content': 'x'}}"),
		    NULL)),
		"messages"),
	    "[{'type': 'ai', 'content': 'x'}]");
}
END_TEST

/* --- calls of a hook's own ---------------------------------------------------------- */

static struct model_response *
asking_wrap(struct model_request *own, struct model_next *next)
{
	struct model_response *response =
	    model_call(own, literal(arena, "{'messages': [{'type': 'human', 'content': "
					   "'which?'}], 'model': 'x:small'}"));

	ck_assert_ptr_null(response->fault);
	ck_assert_str_eq(play.tag, "asker");
	ck_assert_uint_eq(play.attempt, 1);
	ck_assert_value(arena, play.seen,
	    "{'model': 'x:small', 'system': null, 'messages': [{'type': 'human', "
	    "'content': 'which?'}], 'tools': [], 'settings': {}}");
	return model_next(next, own);
}

START_TEST(a_wrap_asks_a_model_outside_the_chain)
{
	const struct middleware type = { .wrap_model_call = asking_wrap };
	struct middleware_use asker = *use("asker", "{}");

	asker.type = &type;
	play.outcomes[0] = "this one";
	ck_assert_str_eq(outcome(stub_chain(arena, &asker, use("B", "{}"), NULL)), "ok");
	ck_assert_str_eq(stub_log(), "send B> send B<");
	ck_assert_ptr_null(play.tag);
	ck_assert_uint_eq(play.attempt, 1);
}
END_TEST

TCase *tcase_model_request(void);
TCase *
tcase_model_request(void)
{
	TCase *tcase = tcase_create("model_request");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_field_of_a_request_can_be_replaced);
	tcase_add_test(tcase, null_takes_a_field_away);
	tcase_add_test(tcase, an_override_leaves_the_request_as_it_was);
	tcase_add_test(
	    tcase, tools_that_nobody_could_run_fail_the_call_before_it_is_sent);
	tcase_add_test(tcase, new_tools_are_fine_when_a_wrap_can_answer_them);
	tcase_add_test(tcase, a_providers_own_tool_is_nobodys_to_run);
	tcase_add_test(tcase, only_the_models_own_messages_get_the_agents_name);
	tcase_add_test(tcase, a_wrap_asks_a_model_outside_the_chain);
	return tcase;
}
