/* What a wrap_tool_call asks a model, and what is told of it. */
#include <check.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "chain.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena,
		.profile = literal(arena, "{'agent': 'helper', 'tools': ['add']}"),
		.request =
		    literal(arena, "{'run': 'r', 'thread': 't', 'tool': {'name': 'add'}, "
				   "'tool_call': {'name': 'add', 'args': {}, 'id': "
				   "'c1', 'type': 'tool_call'}}") };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *model_body;

static const struct value *
on_call_model(void *arg, struct tool_request *own, const struct value *wish)
{
	(void)arg;
	(void)own;
	ck_assert_value(arena, wish, "{'messages': ['hi']}");
	return model_body;
}

static struct tool_result *
emulating_wrap(struct tool_request *own, struct tool_next *next)
{
	const struct value *body =
	    tool_call_model(own, literal(arena, "{'messages': ['hi']}"));

	(void)next;
	if (value_has(body, "fault"))
		return tool_fail(own, fault_from_value(arena, value_get(body, "fault")));
	return tool_answer(
	    own, body == NULL ? "nothing" : stub_outcome(arena, body), "success");
}

static const struct middleware emulating = { .wrap_tool_call = emulating_wrap };

static const char *
emulate(const struct value *body)
{
	const struct middleware_use *outer = stub_use(arena, "A", "{'catch': 'caught'}");
	struct middleware_use emulator = *stub_use(arena, "emulator", "{}");

	emulator.type = &emulating;
	model_body = body;
	return stub_outcome(
	    arena, play_tool(&play, stub_chain(arena, outer, &emulator, NULL)));
}

START_TEST(a_wrap_asks_a_model)
{
	play.call_model = on_call_model;
	ck_assert_str_eq(
	    emulate(literal(arena, "{'messages': [{'type': 'ai', 'content': 'sunny'}]}")),
	    "sunny");
	ck_assert_str_eq(
	    emulate(literal(arena, "{'fault': {'type': 'APIError', 'message': 'x'}}")),
	    "caught");
	ck_assert_str_eq(emulate(NULL), "fault: CancelledError: cancelled");
	/* A process that has no way to. */
	play.call_model = NULL;
	ck_assert_str_eq(emulate(NULL), "caught");
}
END_TEST

START_TEST(what_a_tools_model_has_used_is_told)
{
	struct middleware_use emulator = *stub_use(arena, "emulator", "{}");
	const struct chain *chain = stub_chain(arena, &emulator, NULL);

	emulator.type = &emulating;
	play.call_model = on_call_model;
	model_body = literal(arena, "{'messages': [{'type': 'ai', 'content': 'sunny', "
				    "'usage_metadata': {'total_tokens': 5}}]}");
	ck_assert(!value_has(play_tool(&play, chain), "usage"));
	play.profile = literal(arena, "{'model': 'openai:main'}");
	ck_assert_value(arena, value_get(play_tool(&play, chain), "usage"),
	    "[{'model': 'openai:main', 'usage': {'total_tokens': 5}}]");
	play.profile = literal(arena, "{'tells_usage': true, 'model': 'openai:main'}");
	ck_assert_value(arena, value_get(play_tool(&play, chain), "usage"),
	    "[{'model': 'openai:main', 'usage': {'total_tokens': 5}}]");
}
END_TEST

TCase *tcase_chain_tool_model(void);
TCase *
tcase_chain_tool_model(void)
{
	TCase *tcase = tcase_create("chain_tool_model");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_wrap_asks_a_model);
	tcase_add_test(tcase, what_a_tools_model_has_used_is_told);
	return tcase;
}
