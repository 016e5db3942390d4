#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/tokens.h"

#include "hook_stub.h"
#include "literal.h"

static struct loop *loop;
static struct arena *arena;
static struct tokens tokens;
static const struct value *shown[32]; /* bodies, in arena; answer is 1 for all of them */
static int64_t answers[32];
static size_t shown_count;

static void
publish(void *arg, const char *kind, const struct value *body)
{
	ck_assert_ptr_eq(arg, &tokens);
	ck_assert_str_eq(value_get_text(body, "kind"), kind);
	ck_assert_uint_lt(shown_count, sizeof shown / sizeof shown[0]);
	answers[shown_count] = value_get_int(body, "answer", 0);
	ck_assert(answers[shown_count] > 0 && answers[shown_count] <= UINT32_MAX);
	body = value_map_with(arena, body, "answer", value_int(arena, 1));
	shown[shown_count++] = value_copy(arena, body);
}

static void
setup(void)
{
	loop = loop_new();
	arena = arena_new();
	shown_count = 0;
	tokens = (struct tokens){ .loop = loop,
		.publish = publish,
		.arg = &tokens,
		.about = literal(arena, "{'run':'r1'}") };
}

static void
teardown(void)
{
	tokens_release(&tokens);
	loop_destroy(&loop);
	arena_destroy(&arena);
}

static void
add(const char *text)
{
	tokens_add(&tokens, text, strlen(text));
}

static bool
is_shown(void *count)
{
	return shown_count >= *(size_t *)count;
}

static const char *
all_shown(void)
{
	const char *text = "";

	for (size_t i = 0; i < shown_count; i++)
		text = arena_printf(
		    arena, "%s%s", text, value_get_text(shown[i], "content"));
	return text;
}

START_TEST(the_first_text_is_shown_at_once_and_more_is_gathered)
{
	size_t wanted = 2;

	tokens_begin(&tokens, "openai:m");
	add("one ");
	add("two ");
	add("three");
	ck_assert_uint_eq(shown_count, 1);
	ck_assert_value(arena, shown[0],
	    "{'run':'r1','kind':'token','model':'openai:m','answer':1,'content':'one "
	    "','index':0,'offset':0}");
	loop_run_until(loop, is_shown, &wanted); /* nothing more is added */
	ck_assert_value(arena, shown[1],
	    "{'run':'r1','kind':'token','model':'openai:m','answer':1,'content':'two "
	    "three','index':1,'offset':4}");
	ck_assert_int_eq(answers[0], answers[1]);
}
END_TEST

START_TEST(much_text_does_not_wait)
{
	char piece[301];

	memset(piece, 'x', 300);
	piece[300] = '\0';
	tokens_begin(&tokens, "m");
	for (int i = 0; i < 5; i++)
		add(piece);
	ck_assert_uint_eq(shown_count, 2);
	ck_assert_uint_eq(value_size(value_get(shown[1], "content")), 1200);
}
END_TEST

START_TEST(a_flush_shows_the_rest_and_nothing_twice)
{
	tokens_begin(&tokens, "m");
	add("a");
	add("b");
	tokens_end(&tokens);
	tokens_end(&tokens);
	ck_assert_uint_eq(shown_count, 2);
	ck_assert_str_eq(value_get_text(shown[1], "content"), "b");
}
END_TEST

START_TEST(another_attempt_takes_back_what_was_shown)
{
	tokens_begin(&tokens, "m");
	add("shown");
	add("gathered");
	tokens_begin(&tokens, "n");
	add("again");
	ck_assert_uint_eq(shown_count, 3);
	ck_assert_value(
	    arena, shown[1], "{'run':'r1','kind':'restart','model':'n','answer':1}");
	ck_assert_value(arena, shown[2],
	    "{'run':'r1','kind':'token','model':'n','answer':1,'content':'again','index':"
	    "0,"
	    "'offset':0}");
	ck_assert_int_eq(answers[1], answers[0]);
	ck_assert_int_ne(answers[2], answers[0]);
}
END_TEST

/* Nothing need follow. */
START_TEST(an_answer_that_broke_off_is_taken_back_at_once)
{
	tokens_begin(&tokens, "m");
	add("shown");
	add("gathered");
	tokens_broke_off(&tokens);
	ck_assert_uint_eq(shown_count, 2);
	ck_assert_value(
	    arena, shown[1], "{'run':'r1','kind':'restart','model':'m','answer':1}");
	ck_assert_int_eq(answers[1], answers[0]);
	tokens_begin(&tokens, "n");
	tokens_end(&tokens);
	ck_assert_uint_eq(shown_count, 2);
}
END_TEST

START_TEST(an_attempt_that_showed_nothing_needs_no_restart)
{
	tokens_begin(&tokens, "m");
	tokens_begin(&tokens, "m");
	tokens_end(&tokens);
	ck_assert_uint_eq(shown_count, 0);
}
END_TEST

/* What is private in a block is so whatever stands at the end of the one before. */
START_TEST(a_filter_looks_at_each_block_by_itself)
{
	tokens.chain = stub_chain(arena,
	    literal_use(arena, "pii",
		"{'pii_type':'ip','apply_to_output':true,'stream_lookback':0}"),
	    literal_use(arena, "pii",
		"{'pii_type':'email','apply_to_output':true,'stream_lookback':0}"),
	    NULL);
	tokens_begin(&tokens, "m");
	add("v");
	tokens_break(&tokens);
	add("1.2.3.4");
	tokens_break(&tokens);
	add("th is a@b.co");
	tokens_break(&tokens);
	add("m.");
	tokens_end(&tokens);
	ck_assert_str_eq(all_shown(), "v[REDACTED_IP]th is [REDACTED_EMAIL]m.");
}
END_TEST

TCase *tcase_tokens(void);

TCase *
tcase_tokens(void)
{
	TCase *tcase = tcase_create("tokens");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_first_text_is_shown_at_once_and_more_is_gathered);
	tcase_add_test(tcase, much_text_does_not_wait);
	tcase_add_test(tcase, a_flush_shows_the_rest_and_nothing_twice);
	tcase_add_test(tcase, another_attempt_takes_back_what_was_shown);
	tcase_add_test(tcase, an_answer_that_broke_off_is_taken_back_at_once);
	tcase_add_test(tcase, an_attempt_that_showed_nothing_needs_no_restart);
	tcase_add_test(tcase, a_filter_looks_at_each_block_by_itself);
	return tcase;
}
