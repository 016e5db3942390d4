/* What the bodies of a call are made of, before anybody works with them. */
#include <check.h>
#include <string.h>

/* Interface under test */
#include "bodies.h"

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
	{ "model:x", "{'model':3}", "{}", "model" },
	{ "tool:t", "{'middleware':[{'settings':[]}]}", "{}", "settings" },
	{ "tool:t", "{'middleware':[{'models':'all'}]}", "{}", "models" },
	{ "tool:t", "{'middleware':['a']}", "{}", "middleware" },
	{ "model:x", "{}", "{'messages':[{},'x']}", "messages" },
	{ "model:x", "{}", "{'providers':[1]}", "providers" },
	{ "tools", "{}", "{'tool_call':'t'}", "tool_call" },
	{ "tools", "{}", "{'answers':{}}", "answers" },
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

TCase *
tcase_bodies(void)
{
	TCase *tcase = tcase_create("bodies");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, what_is_there_is_of_its_kind, 0, sizeof calls / sizeof calls[0]);
	return tcase;
}
