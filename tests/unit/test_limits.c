#include <check.h>
#include <string.h>

#include "chain.h"
#include "has.h"
#include "literal.h"

/* Interface under test: model_call_limit, tool_call_limit */
#include "registry.h"

static struct arena *arena;
static struct turn turn;

static void
setup(void)
{
	arena = arena_new();
	turn = (struct turn){ .arena = arena, .notes = { .arena = arena } };
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* Runs a hook on messages, state and what was counted. */
static const struct value *
run_hook(const struct middleware_use *use, enum hook hook, const char *messages,
    const char *state)
{
	turn.use = use;
	turn.messages = literal(arena, messages);
	turn.state = literal(arena, state);
	turn.fault = NULL;
	return chain_node_hook(&turn, hook);
}

static const char *
text_of(const struct value *update, size_t index)
{
	const char *text =
	    value_get_text(value_at(value_get(update, "messages"), index), "content");

	return text == NULL ? "" : text;
}

/* --- settings ----------------------------------------------------------------------- */

static const struct {
	const char *type, *settings, *path, *reason;
} wrong[] = {
	{ "model_call_limit", "{}", "/run_limit", "needs run_limit, thread_limit" },
	{ "model_call_limit", "{'run_limit': null}", "/run_limit", "needs run_limit" },
	{ "model_call_limit", "{'run_limit': -1}", "/run_limit", "at least 0" },
	{ "model_call_limit", "{'run_limit': 1.5}", "/run_limit", "an integer" },
	{ "model_call_limit", "{'thread_limit': '3'}", "/thread_limit", "an integer" },
	{ "model_call_limit", "{'run_limit': 1, 'exit_behavior': 'continue'}",
	    "/exit_behavior", "end" },
	{ "model_call_limit", "{'run_limt': 1}", "/run_limt", "run_limit" },
	{ "tool_call_limit", "{}", "/run_limit", "needs run_limit" },
	{ "tool_call_limit", "{'tool_name': 'add'}", "/run_limit", "needs run_limit" },
	{ "tool_call_limit", "{'run_limit': 4, 'thread_limit': 3}", "/run_limit",
	    "thread_limit, which is 3" },
	{ "tool_call_limit", "{'run_limit': 1, 'tool_name': ''}", "/tool_name",
	    "name of a tool" },
	{ "tool_call_limit", "{'run_limit': 1, 'tool_name': 'a b'}", "/tool_name",
	    "without spaces" },
	{ "tool_call_limit", "{'run_limit': 1, 'tool_name': ['add']}", "/tool_name",
	    "a string" },
	{ "tool_call_limit", "{'run_limit': 1, 'exit_behavior': 'stop'}",
	    "/exit_behavior", "continue" },
};

START_TEST(limits_that_make_no_sense_are_refused)
{
	literal_refused(
	    arena, wrong[_i].type, wrong[_i].settings, wrong[_i].path, wrong[_i].reason);
}
END_TEST

START_TEST(several_tool_limits_are_told_apart_by_their_tools)
{
	ck_assert_str_eq(literal_use(arena, "tool_call_limit", "{'run_limit': 1}")->name,
	    "tool_call_limit");
	ck_assert_str_eq(
	    literal_use(arena, "tool_call_limit", "{'tool_name': 'add', 'run_limit': 1}")
		->name,
	    "tool_call_limit[add]");
}
END_TEST

START_TEST(only_one_that_ends_runs_jumps)
{
	const struct middleware_use *use =
	    literal_use(arena, "model_call_limit", "{'run_limit': 1}");

	ck_assert_uint_eq(use->jumps[HOOK_BEFORE_MODEL], JUMP_END);
	use = literal_use(
	    arena, "model_call_limit", "{'run_limit': 1, 'exit_behavior': 'error'}");
	ck_assert_uint_eq(use->jumps[HOOK_BEFORE_MODEL], 0);
	ck_assert_uint_eq(use->jumps[HOOK_AFTER_MODEL], 0);
	use = literal_use(arena, "tool_call_limit", "{'run_limit': 1}");
	ck_assert_uint_eq(use->jumps[HOOK_AFTER_MODEL], 0);
	use = literal_use(
	    arena, "tool_call_limit", "{'run_limit': 1, 'exit_behavior': 'end'}");
	ck_assert_uint_eq(use->jumps[HOOK_AFTER_MODEL], JUMP_END);
}
END_TEST

START_TEST(counts_are_nobody_elses)
{
	static const char *const types[] = { "model_call_limit", "tool_call_limit" };
	size_t i, j;

	for (i = 0; i < 2; i++) {
		const struct middleware_use *use =
		    literal_use(arena, types[i], "{'run_limit': 1}");

		ck_assert_uint_eq(use->field_count, 2);
		for (j = 0; j < 2; j++) {
			const struct field *field = &use->fields[j];

			ck_assert(field->omit_from_input && field->omit_from_output);
			ck_assert(
			    field->untracked == (strncmp(field->name, "run_", 4) == 0));
			/* The model's are counted where no jump can avoid it. */
			ck_assert(field->counts_model_calls == (i == 0));
		}
	}
}
END_TEST

/* --- models ------------------------------------------------------------------------- */

#define COUNTED(thread, run)                                                             \
	"{'thread_model_call_count': " #thread ", 'run_model_call_count': " #run "}"

static const struct {
	const char *settings, *state, *says; /* says: NULL: goes on */
} models[] = {
	{ "{'run_limit': 2}", "{}", NULL },
	{ "{'run_limit': 2}", COUNTED(9, 1), NULL },
	{ "{'run_limit': 2}", COUNTED(9, 2), "run limit (2/2)" },
	{ "{'thread_limit': 9}", COUNTED(8, 8), NULL },
	{ "{'thread_limit': 9}", COUNTED(9, 0), "thread limit (9/9)" },
	{ "{'run_limit': 2, 'thread_limit': 9}", COUNTED(9, 3),
	    "thread limit (9/9), run limit (3/2)" },
	{ "{'run_limit': 0}", COUNTED(0, 0), "run limit (0/0)" },
};

START_TEST(a_model_call_too_many_is_not_made)
{
	const struct value *update = run_hook(
	    literal_use(arena, "model_call_limit", models[_i].settings),
	    HOOK_BEFORE_MODEL, "[{'type': 'human', 'content': 'x'}]", models[_i].state);

	ck_assert_ptr_null(turn.fault);
	if (models[_i].says == NULL) {
		ck_assert_ptr_null(update);
		return;
	}
	ck_assert_str_eq(value_get_text(update, "jump_to"), "end");
	ck_assert_uint_eq(value_size(value_get(update, "messages")), 1);
	ck_assert(chat_is(value_at(value_get(update, "messages"), 0), "ai"));
	ck_assert_has(text_of(update, 0), models[_i].says);
	ck_assert_uint_eq(turn.notes.count, 1);
}
END_TEST

START_TEST(a_model_call_too_many_fails_the_run_if_wanted)
{
	ck_assert_ptr_null(run_hook(literal_use(arena, "model_call_limit",
					"{'run_limit': 2, 'exit_behavior': 'error'}"),
	    HOOK_BEFORE_MODEL, "[]", COUNTED(7, 2)));
	ck_assert_str_eq(turn.fault->type, "ModelCallLimitExceededError");
	ck_assert_has(turn.fault->message, "run limit (2/2)");
	ck_assert(turn.fault->fatal);
}
END_TEST

#define CALL(id, tool) "{'id': '" id "', 'name': '" tool "', 'args': {}}"
#define ASKS(calls) "[{'type': 'ai', 'content': '', 'tool_calls': [" calls "]}]"

/* A tool's command led to the model around before_model. */
START_TEST(one_that_was_made_all_the_same_ends_the_run_behind_it)
{
	const struct middleware_use *use =
	    literal_use(arena, "model_call_limit", "{'run_limit': 2}");
	const char *messages = ASKS(CALL("a", "add") ", " CALL("b", "mul"));
	const struct value *update;

	ck_assert_ptr_null(run_hook(use, HOOK_AFTER_MODEL, messages, COUNTED(2, 2)));
	update = run_hook(use, HOOK_AFTER_MODEL, messages, COUNTED(3, 3));
	ck_assert_str_eq(value_get_text(update, "jump_to"), "end");
	ck_assert_uint_eq(value_size(value_get(update, "messages")), 3);
	ck_assert_has(text_of(update, 0), "'add'");
	ck_assert_has(text_of(update, 1), "'mul'");
	ck_assert_has(text_of(update, 2), "run limit (3/2)");
}
END_TEST

/* --- tools -------------------------------------------------------------------------- */

static const struct value *
judge(const char *settings, const char *messages, const char *state)
{
	return run_hook(literal_use(arena, "tool_call_limit", settings), HOOK_AFTER_MODEL,
	    messages, state);
}

START_TEST(calls_are_counted_for_the_thread_and_for_the_run)
{
	const struct value *update =
	    judge("{'run_limit': 9}", ASKS(CALL("a", "add") ", " CALL("b", "mul")),
		"{'thread_tool_call_count': {'__all__': 5, 'mul': 1}}");

	ck_assert_value(arena, update,
	    "{'thread_tool_call_count': {'__all__': 7}, "
	    "'run_tool_call_count': {'__all__': 2}}");
	update = judge("{'run_limit': 9, 'tool_name': 'mul'}",
	    ASKS(CALL("a", "add") ", " CALL("b", "mul")),
	    "{'thread_tool_call_count': {'__all__': 5, 'mul': 1}}");
	ck_assert_value(arena, update,
	    "{'thread_tool_call_count': {'mul': 2}, 'run_tool_call_count': {'mul': 1}}");
}
END_TEST

START_TEST(without_calls_of_its_tool_it_does_nothing)
{
	ck_assert_ptr_null(
	    judge("{'run_limit': 0, 'tool_name': 'mul'}", ASKS(CALL("a", "add")), "{}"));
	ck_assert_ptr_null(judge("{'run_limit': 0}", "[]", "{}"));
	ck_assert_ptr_null(
	    judge("{'run_limit': 0}", "[{'type': 'ai', 'content': 'x'}]", "{}"));
}
END_TEST

START_TEST(calls_too_many_are_answered_and_the_others_run)
{
	const struct value *update = judge("{'run_limit': 2}",
	    ASKS(CALL("a", "add") ", " CALL("b", "mul") ", " CALL("c", "add")), "{}");
	const struct value *messages = value_get(update, "messages");

	ck_assert(!value_has(update, "jump_to"));
	ck_assert_uint_eq(value_size(messages), 1);
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "tool_call_id"), "c");
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "status"), "error");
	ck_assert_has(text_of(update, 0), "'add'");
	ck_assert_value(
	    arena, value_get(update, "thread_tool_call_count"), "{'__all__': 2}");
	ck_assert_value(
	    arena, value_get(update, "run_tool_call_count"), "{'__all__': 3}");
}
END_TEST

/* Counted all the same: the model did call. */
START_TEST(what_another_limit_answered_is_not_answered_again)
{
	const char *messages = "[{'type': 'ai', 'tool_calls': [" CALL(
	    "a", "mul") ", " CALL("b", "mul") "]}, "
					      "{'type': 'tool', 'tool_call_id': 'b', "
					      "'content': 'no', 'status': 'error'}]";
	const struct value *update = judge("{'run_limit': 1}", messages, "{}");

	ck_assert(!value_has(update, "messages"));
	ck_assert_value(
	    arena, value_get(update, "run_tool_call_count"), "{'__all__': 2}");
	update = judge("{'run_limit': 0}", messages, "{}");
	ck_assert_uint_eq(value_size(value_get(update, "messages")), 1);
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(update, "messages"), 0), "tool_call_id"),
	    "a");
}
END_TEST

START_TEST(the_end_answers_every_open_call_and_runs_none)
{
	const struct value *update =
	    judge("{'tool_name': 'add', 'run_limit': 1, 'exit_behavior': 'end'}",
		ASKS(CALL("a", "add") ", " CALL("b", "mul") ", " CALL("c", "add")),
		"{'thread_tool_call_count': {'add': 4}}");

	ck_assert_str_eq(value_get_text(update, "jump_to"), "end");
	ck_assert_uint_eq(value_size(value_get(update, "messages")), 4);
	ck_assert_has(text_of(update, 0), "the run ends");
	ck_assert_has(text_of(update, 1), "'mul'");
	ck_assert_has(text_of(update, 2), "limit of calls of 'add'");
	ck_assert_has(text_of(update, 3), "'add' is reached: run limit (2/1)");
	/* Nothing was run, so the thread has used up nothing. */
	ck_assert_value(arena, value_get(update, "thread_tool_call_count"), "{'add': 4}");
}
END_TEST

START_TEST(a_call_too_many_fails_the_run_if_wanted)
{
	ck_assert_ptr_null(
	    judge("{'run_limit': 1, 'thread_limit': 3, 'exit_behavior': 'error'}",
		ASKS(CALL("a", "add") ", " CALL("b", "mul")),
		"{'thread_tool_call_count': {'__all__': 2}}"));
	ck_assert_str_eq(turn.fault->type, "ToolCallLimitExceededError");
	ck_assert_has(turn.fault->message, "thread limit (4/3), run limit (2/1)");
	ck_assert(turn.fault->fatal);
}
END_TEST

START_TEST(a_limit_that_blocks_nothing_is_not_told)
{
	const struct value *update =
	    judge("{'run_limit': 1, 'thread_limit': 2, 'exit_behavior': 'end'}",
		ASKS(CALL("a", "add") ", " CALL("b", "mul")), "{}");

	ck_assert_has(text_of(update, 2), "reached: run limit (2/1).");
	ck_assert_ptr_null(
	    judge("{'run_limit': 3, 'thread_limit': 3, 'exit_behavior': 'error'}",
		ASKS(CALL("a", "add") ", " CALL("b", "mul")),
		"{'thread_tool_call_count': {'__all__': 2}, "
		"'run_tool_call_count': {'__all__': 1}}"));
	ck_assert_has(turn.fault->message, "reached: thread limit (4/3).");
}
END_TEST

/* A provider may forget an id: nobody can answer such a call, and nothing falls over it. */
START_TEST(calls_without_ids_are_counted_too)
{
	const struct value *update = judge("{'run_limit': 1}",
	    ASKS("{'name': 'add', 'args': {}}, {'id': null, 'name': 'add', 'args': {}}"),
	    "{}");

	ck_assert_ptr_null(turn.fault);
	ck_assert_value(
	    arena, value_get(update, "run_tool_call_count"), "{'__all__': 2}");
	ck_assert_value(
	    arena, value_get(update, "thread_tool_call_count"), "{'__all__': 1}");
}
END_TEST

/* As many as a message can have. */
START_TEST(a_flood_of_calls_is_judged)
{
	struct value_list calls = { .arena = arena };
	const struct value *update, *messages, *ai;
	int i;

	for (i = 0; i < 1000; i++)
		value_list_add(&calls,
		    value_map(arena, "id", value_printf(arena, "c%d", i), "name",
			value_str(arena, "add"), "args", value_empty_map(), NULL));
	ai = value_map(arena, "type", value_str(arena, "ai"), "tool_calls",
	    value_list_end(&calls), NULL);
	turn.use = literal_use(arena, "tool_call_limit", "{'run_limit': 3}");
	turn.messages = value_array(arena, &ai, 1);
	turn.state = value_empty_map();
	update = chain_node_hook(&turn, HOOK_AFTER_MODEL);
	messages = value_get(update, "messages");
	ck_assert_uint_eq(value_size(messages), 997);
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "tool_call_id"), "c3");
}
END_TEST

static bool
is_answer(struct turn *one, const char *name)
{
	(void)one;
	return strcmp(name, "Answer") == 0;
}

/* Structured output runs nothing. */
START_TEST(calls_of_output_tools_are_none)
{
	turn.is_output_tool = is_answer;
	ck_assert_ptr_null(judge("{'run_limit': 0, 'exit_behavior': 'error'}",
	    ASKS(CALL("a", "Answer")), "{}"));
	ck_assert_ptr_null(turn.fault);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_limits(void);
TCase *
tcase_limits(void)
{
	TCase *tcase = tcase_create("limits");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, limits_that_make_no_sense_are_refused, 0, COUNT(wrong));
	tcase_add_test(tcase, several_tool_limits_are_told_apart_by_their_tools);
	tcase_add_test(tcase, only_one_that_ends_runs_jumps);
	tcase_add_test(tcase, counts_are_nobody_elses);
	tcase_add_loop_test(tcase, a_model_call_too_many_is_not_made, 0, COUNT(models));
	tcase_add_test(tcase, a_model_call_too_many_fails_the_run_if_wanted);
	tcase_add_test(tcase, one_that_was_made_all_the_same_ends_the_run_behind_it);
	tcase_add_test(tcase, calls_are_counted_for_the_thread_and_for_the_run);
	tcase_add_test(tcase, without_calls_of_its_tool_it_does_nothing);
	tcase_add_test(tcase, calls_too_many_are_answered_and_the_others_run);
	tcase_add_test(tcase, what_another_limit_answered_is_not_answered_again);
	tcase_add_test(tcase, the_end_answers_every_open_call_and_runs_none);
	tcase_add_test(tcase, a_call_too_many_fails_the_run_if_wanted);
	tcase_add_test(tcase, a_limit_that_blocks_nothing_is_not_told);
	tcase_add_test(tcase, calls_without_ids_are_counted_too);
	tcase_add_test(tcase, a_flood_of_calls_is_judged);
	tcase_add_test(tcase, calls_of_output_tools_are_none);
	return tcase;
}
