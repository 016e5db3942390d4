/* What the bodies of a call are made of, before anybody works with them. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "bodies.h"

#include "bounds.h"
#include "literal.h"

TCase *tcase_bodies(void);

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

static const struct {
	const char *service, *profile, *request, *wrong; /* NULL: nothing is */
} calls[] = {
	{ "model:x", "{}", "{}", NULL },
	{ "tools", "[]", "3", NULL }, /* nothing is there that were of another kind */
	{ "model:x", "{'model':'x:m','script':null,'middleware':[{'name':'a','own':1}]}",
	    "{'messages':[{}],'providers':['x'],'context':7}", NULL },
	{ "model:x", "{'tools':[{'name':'t'}]}", "{}", NULL },
	{ "tools", "{'tools':['t']}", "{}", NULL },
	{ "model:x", "{'tools':['t']}", "{}", "tools" },
	{ "tool:t", "{'tools':[null]}", "{}", "tools" },
	{ "worker:0", "{'tools':{}}", "{}", "tools" },
	{ "wraps", "{'tools':{}}", "{}", "tools" },
	{ "model:x", "{'model':3}", "{}", "model" },
	{ "tool:t", "{'middleware':[{'settings':[]}]}", "{}", "settings" },
	{ "tool:t", "{'middleware':[{'models':'all'}]}", "{}", "models" },
	{ "tool:t", "{'middleware':['a']}", "{}", "middleware" },
	{ "model:x", "{}", "{'messages':[{},'x']}", "messages" },
	{ "model:x", "{}", "{'providers':[1]}", "providers" },
	{ "tools", "{}", "{'tool_call':'t'}", "tool_call" },
	{ "tools", "{}", "{'answers':{}}", "answers" },
	{ "tools", "{}", "{'children':[{'content':'x','run':'r'},{'fault':{}}]}", NULL },
	{ "tools", "{}", "{'children':{}}", "children" },
	{ "tools", "{}", "{'children':['x']}", "children" },
	{ "webhook", "{'model':3}", "{'run':3}", NULL }, /* another's */
};

START_TEST(what_is_there_is_of_its_kind)
{
	const char *wrong = bodies_wrong(calls[_i].service,
	    literal(arena, calls[_i].profile), literal(arena, calls[_i].request));

	if (calls[_i].wrong == NULL) {
		ck_assert_pstr_eq(wrong, NULL);
		return;
	}
	ck_assert_ptr_nonnull(wrong);
	ck_assert_ptr_nonnull(strstr(wrong, calls[_i].wrong));
}
END_TEST

/* --- answers ------------------------------------------------------------------------ */

static const struct {
	const char *body, *wrong; /* NULL: nothing is */
} answers[] = {
	{ "{}", NULL },
	{ "{'messages':[{}],'updates':[{}],'writers':['a'],'notes':[{}],'usage':[],'own':"
	  "3,"
	  "'structured_response':7,'interrupt':null,'kept':null,'fault':null}",
	    NULL },
	{ "{'commands':'left to who applies them','about':{'tool_call_ids':['a']}}",
	    NULL },
	{ "{'child':{'middleware':'m','name':'n','messages':[{}]}}", NULL },
	{ "{'child':{}}", NULL }, /* one that nobody knows */
	{ "{'child':'x'}", "child" },
	{ "{'child':{'middleware':3}}", "middleware" },
	{ "{'child':{'name':['n']}}", "name" },
	{ "{'child':{'messages':{}}}", "messages" },
	{ "{'child':{'messages':['x']}}", "messages" },
	{ "[]", "map" },
	{ "'x'", "map" },
	{ "{'messages':{'type':'ai'}}", "messages" },
	{ "{'messages':['x']}", "messages" },
	{ "{'updates':{'a':1}}", "updates" },
	{ "{'writers':[null]}", "writers" },
	{ "{'notes':'x'}", "notes" },
	{ "{'notes':[1]}", "notes" },
	{ "{'usage':{'a':1}}", "usage" },
	{ "{'fault':'x'}", "fault" },
	{ "{'about':[]}", "about" },
	{ "{'about':{'tool_call_ids':[1]}}", "tool_call_ids" },
};

START_TEST(what_is_there_of_an_answer_is_of_its_kind)
{
	const struct value *body = literal(arena, answers[_i].body);
	const char *wrong = bodies_answer(arena, &body);

	if (answers[_i].wrong == NULL) {
		ck_assert_pstr_eq(wrong, NULL);
		return;
	}
	ck_assert_ptr_nonnull(wrong);
	ck_assert_ptr_nonnull(strstr(wrong, answers[_i].wrong));
}
END_TEST

static const struct {
	const char *body, *read;
} faults[] = {
	{ "{'messages':[],'fault':null}", "{'messages':[]}" },
	{ "{'fault':{}}", "{'fault':{'type':'Exception','message':'no reason was given',"
			  "'retryable':true}}" },
	{ "{'fault':{'type':7,'message':[],'retryable':'yes','retry_after_ms':-3,'own':1}"
	  "}",
	    "{'fault':{'type':'Exception','message':'no reason was "
	    "given','retryable':true}"
	    "}" },
	{ "{'fault':{'type':'ValueError','message':'m','retryable':false,'fatal':true}}",
	    "{'fault':{'type':'ValueError','message':'m','retryable':false,'fatal':true}"
	    "}" },
};

START_TEST(a_fault_has_all_that_a_fault_has)
{
	const struct value *body = literal(arena, faults[_i].body);

	ck_assert_pstr_eq(bodies_answer(arena, &body), NULL);
	ck_assert_value(arena, body, faults[_i].read);
}
END_TEST

/* A message's place in a CALL, or in an event, may lie deeper than in the answer that brought it. */
START_TEST(what_is_nested_too_deep_to_travel_on_is_refused)
{
	const struct value *value = value_empty_array(), *body;
	unsigned depth;

	for (depth = 2; depth < ANSWER_DEPTH_MAX; depth++)
		value = value_array(arena, &value, 1);
	body = value_map(arena, "structured_response", value, NULL);
	ck_assert_pstr_eq(bodies_answer(arena, &body), NULL);
	body =
	    value_map(arena, "structured_response", value_array(arena, &value, 1), NULL);
	ck_assert_ptr_nonnull(strstr(bodies_answer(arena, &body), "deep"));
}
END_TEST

/* Each update of a list may copy the list: many small ones were all the memory there is. */
START_TEST(an_answer_of_too_many_parts_is_refused)
{
	const char *name = _i == 0 ? "updates" : "commands";
	const struct value *part = value_empty_map();
	const struct value *body;
	struct value_list parts = { .arena = arena };

	while (parts.count < ANSWER_PARTS_MAX)
		value_list_add(&parts, part);
	body = value_map(arena, name, value_array(arena, parts.items, parts.count), NULL);
	ck_assert_pstr_eq(bodies_answer(arena, &body), NULL);
	value_list_add(&parts, part);
	body = value_map(arena, name, value_array(arena, parts.items, parts.count), NULL);
	ck_assert_ptr_nonnull(strstr(bodies_answer(arena, &body), "too many"));
}
END_TEST

START_TEST(no_answer_is_none)
{
	const struct value *body = NULL;

	ck_assert_ptr_nonnull(bodies_answer(arena, &body));
}
END_TEST

TCase *
tcase_bodies(void)
{
	TCase *tcase = tcase_create("bodies");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, what_is_there_is_of_its_kind, 0, sizeof calls / sizeof calls[0]);
	tcase_add_loop_test(tcase, what_is_there_of_an_answer_is_of_its_kind, 0,
	    sizeof answers / sizeof answers[0]);
	tcase_add_loop_test(
	    tcase, a_fault_has_all_that_a_fault_has, 0, sizeof faults / sizeof faults[0]);
	tcase_add_test(tcase, what_is_nested_too_deep_to_travel_on_is_refused);
	tcase_add_loop_test(tcase, an_answer_of_too_many_parts_is_refused, 0, 2);
	tcase_add_test(tcase, no_answer_is_none);
	return tcase;
}
