#include <check.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "chain.h"

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

static const struct middleware_use *
use(const char *name, const char *settings)
{
	return stub_use(arena, name, settings);
}

/* A retry of everything, as the registry makes it. */
static const struct middleware_use *
retry(const char *name)
{
	const char *path, *error;
	const struct middleware_use *made = registry_use(
	    arena, name, literal(arena, "{'retry_on': ['Exception']}"), &path, &error);

	ck_assert_msg(made != NULL, "%s", error);
	return made;
}

/* --- node hooks --------------------------------------------------------------------- */

static const struct value *
ask_twice(struct turn *turn)
{
	const struct value *first, *second;

	first = turn_interrupt(turn, literal(arena, "{'n': 1}"));
	if (first == NULL)
		return turn_call_model(turn, NULL); /* is not heard any more */
	second = turn_interrupt(turn, literal(arena, "'two?'"));
	if (second == NULL)
		return literal(arena, "{'said': 'too early'}");
	return value_map(arena, "said", value_array_concat(arena, first, second), NULL);
}

static const struct value *
run_hook(struct turn *turn, const char *answers)
{
	static const struct middleware type = { .after_model = ask_twice };
	static const struct middleware_use own = {
		.type = &type, .name = "A", .hooks[HOOK_AFTER_MODEL] = true
	};

	*turn = (struct turn){ .arena = arena,
		.use = &own,
		.interrupts = {
		    .answers = answers == NULL ? NULL : literal(arena, answers) } };
	return chain_node_hook(turn, HOOK_AFTER_MODEL);
}

START_TEST(a_node_hook_asks_one_after_the_other)
{
	struct turn turn;

	ck_assert_ptr_null(run_hook(&turn, NULL));
	ck_assert_ptr_null(turn.fault);
	ck_assert_value(arena, turn.interrupts.asked, "{'n': 1}");
	ck_assert_ptr_null(run_hook(&turn, "[['a']]"));
	ck_assert_value(arena, turn.interrupts.asked, "'two?'");
	ck_assert_value(arena, run_hook(&turn, "[['a'], ['b']]"), "{'said': ['a', 'b']}");
	ck_assert_ptr_null(turn.interrupts.asked);
}
END_TEST

static const struct value *
fail_all_the_same(struct turn *turn)
{
	turn_interrupt(turn, NULL);
	return turn_fail(turn, "ValueError", "x");
}

START_TEST(what_a_hook_does_behind_its_question_does_not_count)
{
	static const struct middleware type = { .before_model = fail_all_the_same };
	static const struct middleware_use own = {
		.type = &type, .name = "A", .hooks[HOOK_BEFORE_MODEL] = true
	};
	struct turn turn = { .arena = arena, .use = &own };

	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_BEFORE_MODEL));
	ck_assert_ptr_null(turn.fault);
	ck_assert(value_is(turn.interrupts.asked, VALUE_NIL));
}
END_TEST

/* --- calls -------------------------------------------------------------------------- */

#define MODEL "'messages': [{'type': 'human', 'content': '?'}]"
#define TOOL                                                                             \
	"'tool_call': {'name': 'add', 'args': {'a': 1}, 'id': 'c1'}, 'tool': {'name': "  \
	"'add'}"

static const struct value *
call(bool model, const struct chain *chain, const char *answers)
{
	stub_log_clear();
	play.count = 0;
	play.profile = literal(arena,
	    model ? "{'model': 'openai:main', 'tools': []}" : "{'tools': ['add']}");
	play.request =
	    literal(arena, arena_printf(arena, "{'run': 'r', %s, 'answers': %s}",
			       model ? MODEL : TOOL, answers));
	return model ? play_model(&play, chain) : play_tool(&play, chain);
}

/* Every layer in front of B must be passed, the one that catches all as well. */
static const struct chain *
chain_of(bool model)
{
	return stub_chain(arena, use("A", "{'catch': 'caught', 'asks_after': ['a?']}"),
	    retry(model ? "model_retry" : "tool_retry"),
	    use("B", "{'asks': ['b1?', 'b2?']}"), NULL);
}

/* Of a tool's call it is told whose question it is (tool_was_answered). */
static void
check_asked(bool model, const struct value *body, const char *question, const char *by)
{
	const char *about =
	    model ? "" : arena_printf(arena, ", 'about': {'asker': '%s'}", by);

	ck_assert_value(
	    arena, body, arena_printf(arena, "{'interrupt': '%s'%s}", question, about));
}

START_TEST(a_wrap_asks_and_the_call_begins_anew_with_the_answer)
{
	bool model = _i == 0;
	const struct chain *chain = chain_of(model);
	const char *rest = model ? "send" : "tool";

	check_asked(model, call(model, chain, "[]"), "b1?", "B");
	ck_assert_str_eq(stub_log(), "A> B>");
	check_asked(model, call(model, chain, "['x']"), "b2?", "B");
	ck_assert_str_eq(stub_log(), "A> B> B=x");
	check_asked(model, call(model, chain, "['x', 'y']"), "a?", "A");
	ck_assert_str_eq(stub_log(), arena_printf(arena, "A> B> B=x B=y %s B<", rest));
	ck_assert_str_eq(stub_outcome(arena, call(model, chain, "['x', 'y', 'z']")),
	    model ? "ok" : "1");
	ck_assert_str_eq(
	    stub_log(), arena_printf(arena, "A> B> B=x B=y %s B< A=z A<", rest));
}
END_TEST

START_TEST(modify_model_request_asks)
{
	const struct chain *chain =
	    stub_chain(arena, use("M", "{'hooks': ['modify'], 'asks': ['m?']}"), NULL);

	ck_assert_value(arena, call(true, chain, "[]"), "{'interrupt': 'm?'}");
	ck_assert_str_eq(stub_outcome(arena, call(true, chain, "['x']")), "ok");
	ck_assert_str_eq(stub_log(), "M* M=x send");
}
END_TEST

START_TEST(a_tool_asks_through_every_wrap)
{
	const struct chain *chain = stub_chain(arena, use("A", "{'catch': 'caught'}"),
	    retry("tool_retry"), use("B", "{'calls': 3}"), NULL);

	play.outcomes[0] = play.outcomes[1] = play.outcomes[2] = "?sure?";
	ck_assert_value(arena, call(false, chain, "[]"), "{'interrupt': 'sure?'}");
	ck_assert_str_eq(stub_log(), "A> B> tool B< A<");
	/* Each of B's calls asks for itself. */
	ck_assert_value(arena, call(false, chain, "['x']"), "{'interrupt': 'sure?'}");
	ck_assert_str_eq(stub_outcome(arena, call(false, chain, "['x', 'y', 'z']")), "z");
}
END_TEST

START_TEST(answers_that_nobody_asks_for_do_no_harm)
{
	ck_assert_str_eq(
	    stub_outcome(arena, call(false, stub_chain(arena, NULL), "[1]")), "1");
	ck_assert_str_eq(
	    stub_outcome(arena, call(true, stub_chain(arena, NULL), "'x'")), "ok");
}
END_TEST

TCase *tcase_interrupts(void);
TCase *
tcase_interrupts(void)
{
	TCase *tcase = tcase_create("interrupts");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_node_hook_asks_one_after_the_other);
	tcase_add_test(tcase, what_a_hook_does_behind_its_question_does_not_count);
	tcase_add_loop_test(
	    tcase, a_wrap_asks_and_the_call_begins_anew_with_the_answer, 0, 2);
	tcase_add_test(tcase, modify_model_request_asks);
	tcase_add_test(tcase, a_tool_asks_through_every_wrap);
	tcase_add_test(tcase, answers_that_nobody_asks_for_do_no_harm);
	return tcase;
}
