/* Ids of calls as a request to Anthropic has them. */
#include <check.h>

#include "literal.h"

/* Interface under test */
#include "../../worker-model/anthropic_request.h"

TCase *tcase_anthropic_ids(void);

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

/* Returns the messages of a request with those. */
static const struct value *
sent(const char *messages)
{
	const struct ask ask = {
		.arena = arena,
		.provider = "anthropic",
		.model = "m",
		.messages = literal(arena, messages),
	};
	const char *error = NULL;

	return value_get(anthropic_request(&ask, false, &error), "messages");
}

#define AI(calls) "{'type':'ai','content':'','tool_calls':[" calls "]}"
#define CALL(id) "{'name':'f','args':{},'id':'" id "'}"
#define TOOL(id, content)                                                                \
	"{'type':'tool','content':'" content "','tool_call_id':'" id "'}"
#define ROUND(id, content) AI(CALL(id)) "," TOOL(id, content)

#define CALLS(uses) "{'role':'assistant','content':[" uses "]}"
#define USE(id) "{'type':'tool_use','id':'" id "','name':'f','input':{}}"
#define RESULTS(results) "{'role':'user','content':[" results "]}"
#define RESULT(id, content)                                                              \
	"{'type':'tool_result','tool_use_id':'" id "','content':'" content "'}"
#define SENT(id, content) CALLS(USE(id)) "," RESULTS(RESULT(id, content))

/* What a thread becomes. */
static const struct {
	const char *given, *sent;
} ids[] = {
	{ ROUND("call_1", "a") "," ROUND("call_2", "b"),
	    SENT("call_1", "a") "," SENT("call_2", "b") },
	{ ROUND("c", "a") "," ROUND("c", "b"), SENT("c", "a") "," SENT("c_2", "b") },
	{ ROUND("c", "a") "," ROUND("c", "b") "," ROUND("c_2", "d") "," ROUND("c", "e"),
	    SENT("c", "a") "," SENT("c_2", "b") "," SENT("c_2_2", "d") "," SENT(
		"c_3", "e") },
	/* what an id says by itself is not given to another */
	{ ROUND("c_2", "a") "," ROUND("c", "b") "," ROUND("c", "d"),
	    SENT("c_2", "a") "," SENT("c", "b") "," SENT("c_3", "d") },
	/* ids that differ only in what is refused; an id that is none */
	{ AI(CALL("a.b") "," CALL("a:b") "," CALL("x") "," CALL("")) "," TOOL(
	      "a.b", "1") "," TOOL("a:b", "2") "," TOOL("x", "3") "," TOOL("", "4"),
	    CALLS(USE("a_b") "," USE("a_b_2") "," USE("x") "," USE("none")) "," RESULTS(
		RESULT("a_b", "1") "," RESULT("a_b_2", "2") "," RESULT(
		    "x", "3") "," RESULT("none", "4")) },
	/* one call with two answers */
	{ ROUND("c", "a") "," ROUND("c", "b") "," TOOL("c", "d"),
	    SENT("c", "a") "," CALLS(USE("c_2")) "," RESULTS(
		RESULT("c_2", "b") "," RESULT("c_2", "d")) },
	/* what a user writes is his */
	{ "{'type':'human','content':[{'type':'tool_use','id':5},{'type':'tool_use','id'"
	  ":'c'}]}," ROUND("c", "a") "," ROUND("c", "b"),
	    "{'role':'user','content':[{'type':'tool_use','id':5},{'type':'tool_use','id'"
	    ":'c'}]}," SENT("c", "a") "," SENT("c_2", "b") },
};

START_TEST(no_two_calls_go_out_with_one_id)
{
	ck_assert_value(arena, sent(arena_printf(arena, "[%s]", ids[_i].given)),
	    arena_printf(arena, "[%s]", ids[_i].sent));
}
END_TEST

/* As a model whose every answer calls `c`: what was sent is sent again, and a long thread takes no time. */
START_TEST(a_thread_that_grows_begins_as_it_did)
{
	const struct value *round = literal(arena, "[" ROUND("c", "a") "]");
	struct value_list thread = { .arena = arena };
	const struct value *before = NULL, *after;
	struct ask ask = { .arena = arena, .provider = "anthropic", .model = "m" };
	const char *error;

	for (size_t i = 1; i <= 10000; i++) {
		value_list_add_all(&thread, round);
		if (i > 3 && i < 9999)
			continue;
		ask.messages = value_array(arena, thread.items, thread.count);
		after = value_get(anthropic_request(&ask, false, &error), "messages");
		ck_assert_uint_eq(value_size(after), 2 * i);
		if (i != 1 && i != 9999)
			ck_assert(value_equal(before,
			    value_array_slice(arena, after, 0, value_size(before))));
		before = after;
	}
	ck_assert_str_eq(
	    value_get_text(
		value_at(value_get(value_at(before, 19998), "content"), 0), "id"),
	    "c_10000");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *
tcase_anthropic_ids(void)
{
	TCase *tcase = tcase_create("anthropic_ids");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, no_two_calls_go_out_with_one_id, 0, COUNT(ids));
	tcase_add_test(tcase, a_thread_that_grows_begins_as_it_did);
	return tcase;
}
