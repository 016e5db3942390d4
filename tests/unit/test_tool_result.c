#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "tool_request.h"

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

/* --- commands ----------------------------------------------------------------------- */

static const struct {
	const char *update, *messages;
} adopted[] = {
	{ "{'messages': [{'type': 'tool', 'content': 'x'}]}",
	    "[{'type': 'tool', 'content': 'x', 'tool_call_id': 'c1', 'status': "
	    "'success', "
	    "'name': 'add'}]" },
	{ "{'messages': [{'role': 'tool', 'content': 'x', 'tool_call_id': 'c1'}]}",
	    "[{'type': 'tool', 'content': 'x', 'tool_call_id': 'c1', 'status': "
	    "'success', "
	    "'name': 'add'}]" },
	{ "{'messages': {'type': 'tool', 'content': 'x', 'name': 'other', 'status': "
	  "'error'}}",
	    "[{'type': 'tool', 'content': 'x', 'name': 'add', 'status': 'error', "
	    "'tool_call_id': 'c1'}]" },
	{ "{'messages': [{'type': 'tool', 'content': 'x', 'tool_call_id': 'c7', 'name': "
	  "'other'}, {'type': 'tool', 'content': 'y'}, 'and']}",
	    "[{'type': 'tool', 'content': 'x', 'tool_call_id': 'c7', 'name': 'other', "
	    "'status': 'success'}, {'type': 'tool', 'content': 'y', 'tool_call_id': "
	    "'c1', "
	    "'status': 'success', 'name': 'add'}, {'type': 'human', 'content': 'and'}]" },
	{ "{'messages': [{'remove': 'all'}]}",
	    "[{'type': 'remove', 'id': '__remove_all__'}]" },
};

START_TEST(the_messages_of_a_command_are_brought_into_form)
{
	const struct value *commands;

	play.outcomes[0] = adopted[_i].update;
	commands = value_get(call(stub_chain(arena, use("A", "{}"), NULL)), "commands");
	ck_assert_value(arena,
	    value_get(value_get(value_at(commands, 0), "update"), "messages"),
	    adopted[_i].messages);
}
END_TEST

static const struct {
	const char *update, *reason;
} refused[] = {
	{ "{'plan': 1}", "without a tool message" },
	{ "{'messages': []}", "without a tool message" },
	{ "{'messages': [{'remove': 'all'}, {'type': 'human', 'content': 'x'}]}",
	    "without a tool message" },
	{ "{'messages': [{'type': 'tool', 'content': 'x', 'tool_call_id': 'c2'}]}",
	    "answers the call c1 of tool add" },
	{ "{'messages': [{'type': 'tool', 'content': 'x'}, {'type': 'tool', 'content': "
	  "'y'}]}",
	    "2 tool messages" },
	{ "{'messages': [{'type': 'tool'}]}", "messages[0].content" },
	{ "[]", "whose update is not a map" },
	{ "-", "gave neither a command nor a fault" },
};

START_TEST(a_command_that_does_not_answer_is_the_tools_failure)
{
	const struct value *body;

	play.outcomes[0] = refused[_i].update;
	body = call(stub_chain(arena, use("A", "{}"), NULL));
	ck_assert_has(stub_outcome(arena, body), "fault: ValueError: tool add gave");
	ck_assert_has(stub_outcome(arena, body), refused[_i].reason);
	ck_assert(!is_fatal(body));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_tool_result(void);
TCase *
tcase_tool_result(void)
{
	TCase *tcase = tcase_create("tool_result");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, the_messages_of_a_command_are_brought_into_form, 0, COUNT(adopted));
	tcase_add_loop_test(tcase, a_command_that_does_not_answer_is_the_tools_failure, 0,
	    COUNT(refused));
	return tcase;
}
