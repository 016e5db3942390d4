#include <check.h>
#include <math.h>
#include <string.h>

#include "chain.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static const char *path, *error;

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

/* As of an agent with that model and what it says of it. */
static const struct middleware_use *
use_for(const char *model, const char *profile, const char *settings)
{
	const struct use_agent agent = { .model = model,
		.model_profile = profile == NULL ? NULL : literal(arena, profile) };

	path = error = "";
	return registry_use_of(
	    arena, &agent, NULL, "token_budget", literal(arena, settings), &path, &error);
}

static const struct middleware_use *
use_of(const char *settings)
{
	const struct middleware_use *use = use_for("openai:gpt-4o", NULL, settings);

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	return use;
}

/* --- hooks -------------------------------------------------------------------------- */

static struct turn turn;

static const struct value *
run_hook(enum hook hook, const struct middleware_use *use, const char *state,
    const char *messages)
{
	turn = (struct turn){ .arena = arena,
		.use = use,
		.state = literal(arena, state),
		.messages = literal(arena, messages) };
	return chain_node_hook(&turn, hook);
}

static const struct value *
before_model(const char *settings, const char *state)
{
	return run_hook(HOOK_BEFORE_MODEL, use_of(settings), state, "[]");
}

/* The last message's text of an update that ends the run. */
static const char *
ending(const struct value *update)
{
	const struct value *messages = value_get(update, "messages");

	if (update == NULL)
		return NULL;
	ck_assert_str_eq(value_get_text(update, "jump_to"), "end");
	return chat_text(arena, value_at(messages, value_size(messages) - 1));
}

/* 1,000 tokens of input, of which 400 were read from the cache, and 100 of output. At 2.5, 1.25 and 10
 * dollars a million that is 0.0015 + 0.0005 + 0.001 = 0.003 dollars. */
#define USED                                                                             \
	"{'openai:gpt-4o': {'calls': 2, 'input_tokens': 1000, 'output_tokens': 100, "    \
	"'total_tokens': 1100, 'input_token_details': {'cache_read': 400}}}"
#define BOTH "{'run_token_usage': " USED ", 'thread_token_usage': " USED "}"

static const struct {
	const char *settings, *text; /* NULL: goes on */
} limits[] = {
	{ "{'run_limit': 1101}", NULL },
	{ "{'run_limit': 1100}", "run limit of total_tokens (1100 of 1100)" },
	{ "{'run_limit': {'total_tokens': 1000}}",
	    "run limit of total_tokens (1100 of 1000)" },
	{ "{'run_limit': {'input_tokens': 1001}}", NULL },
	{ "{'run_limit': {'input_tokens': 1000}}",
	    "run limit of input_tokens (1000 of 1000)" },
	{ "{'run_limit': {'output_tokens': 101}}", NULL },
	{ "{'run_limit': {'output_tokens': 99}}",
	    "run limit of output_tokens (100 of 99)" },
	{ "{'run_limit': {'cost': 0.0030001}}", NULL },
	{ "{'run_limit': {'cost': 0.0029}}", "run limit of cost ($0.003 of $0.0029)" },
	{ "{'thread_limit': {'cost': 0.002}}",
	    "thread limit of cost ($0.003 of $0.002)" },
	{ "{'thread_limit': 1101}", NULL },
	{ "{'run_limit': {'total_tokens': 1, 'cost': 9, 'output_tokens': 2}, "
	  "'thread_limit': 3}",
	    "run limit of total_tokens (1100 of 1), run limit of output_tokens (100 of "
	    "2), thread limit of total_tokens (1100 of 3)" },
};

START_TEST(a_limit_that_is_reached_ends_the_run)
{
	const char *text = ending(before_model(limits[_i].settings, BOTH));

	ck_assert_ptr_null(turn.fault);
	ck_assert_msg((text == NULL) == (limits[_i].text == NULL), "%s: %s",
	    limits[_i].settings, text == NULL ? "goes on" : text);
	if (text != NULL)
		ck_assert_str_eq(
		    text, arena_printf(arena, "The token budget is used up: %s.",
			      limits[_i].text));
}
END_TEST

START_TEST(nothing_used_is_nothing_reached)
{
	ck_assert_ptr_null(
	    before_model("{'run_limit': 1, 'thread_limit': {'cost': 1}}", "{}"));
	ck_assert_ptr_null(turn.fault);
}
END_TEST

START_TEST(or_it_fails)
{
	ck_assert_ptr_null(
	    before_model("{'run_limit': 5, 'exit_behavior': 'error'}", BOTH));
	ck_assert_str_eq(turn.fault->type, "TokenBudgetExceededError");
	ck_assert_str_eq(turn.fault->message,
	    "the token budget is used up: run limit of total_tokens (1100 of 5)");
}
END_TEST

#define CALLS                                                                            \
	"[{'type': 'ai', 'tool_calls': [{'id': 'a', 'name': 'add', 'args': {}}, {'id': " \
	"'b', 'name': 'sub', 'args': {}}]}, {'type': 'tool', 'tool_call_id': 'a'}]"

START_TEST(tools_do_not_run_for_nobody)
{
	const struct value *update =
	    run_hook(HOOK_AFTER_MODEL, use_of("{'run_limit': 5}"), BOTH, CALLS);
	const struct value *messages = value_get(update, "messages");

	ck_assert_ptr_nonnull(strstr(ending(update), "(1100 of 5)"));
	ck_assert_uint_eq(value_size(messages), 2);
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "tool_call_id"), "b");
	ck_assert_str_eq(value_get_text(value_at(messages, 0), "status"), "error");
	ck_assert_ptr_nonnull(
	    strstr(chat_text(arena, value_at(messages, 0)), "'sub' was not executed"));
	/* With room, or with an answer, the run goes its way. */
	ck_assert_ptr_null(
	    run_hook(HOOK_AFTER_MODEL, use_of("{'run_limit': 5000}"), BOTH, CALLS));
	ck_assert_ptr_null(run_hook(HOOK_AFTER_MODEL, use_of("{'run_limit': 5}"), BOTH,
	    "[{'type': 'ai', 'content': '42'}]"));
}
END_TEST

/* --- prices ------------------------------------------------------------------------- */

#define UNKNOWN "local:unheard-of"
#define COST "{'run_limit': {'cost': 1}}"

START_TEST(a_model_without_a_price_is_refused)
{
	ck_assert_ptr_null(use_for(UNKNOWN, NULL, COST));
	ck_assert_str_eq(path, "/unpriced");
	ck_assert_ptr_nonnull(strstr(error, UNKNOWN));
	/* But where nobody asks what it costs, where it may, and where somebody says it. */
	ck_assert_ptr_nonnull(use_for(UNKNOWN, NULL, "{'run_limit': 1}"));
	ck_assert_ptr_nonnull(
	    use_for(UNKNOWN, NULL, "{'run_limit': {'cost': 1}, 'unpriced': 'free'}"));
	ck_assert_ptr_nonnull(
	    use_for(UNKNOWN, "{'cost': {'input': 1, 'output': 2}}", COST));
}
END_TEST

#define OTHERS                                                                           \
	"{'run_token_usage': {'openai:gpt-4o': {'total_tokens': 5}, '" UNKNOWN           \
	"': {'total_tokens': 9}}}"

START_TEST(a_model_without_a_price_that_a_middleware_asked_ends_the_run)
{
	ck_assert_ptr_null(before_model(COST, OTHERS));
	ck_assert_str_eq(turn.fault->type, "ValueError");
	ck_assert_ptr_nonnull(strstr(turn.fault->message, UNKNOWN));
	ck_assert_ptr_null(
	    before_model("{'run_limit': {'cost': 1}, 'unpriced': 'free'}", OTHERS));
	ck_assert_ptr_null(turn.fault);
	ck_assert_ptr_nonnull(ending(before_model("{'run_limit': 14}", OTHERS)));
}
END_TEST

START_TEST(the_agents_own_word_on_its_price_counts)
{
	const struct middleware_use *use = use_for(UNKNOWN,
	    "{'cost': {'input': 1000000, 'output': 0}}", "{'run_limit': {'cost': 8}}");
	const char *state = "{'run_token_usage': {'" UNKNOWN "': {'input_tokens': 7}}}";

	ck_assert_ptr_null(run_hook(HOOK_BEFORE_MODEL, use, state, "[]"));
	state = "{'run_token_usage': {'" UNKNOWN "': {'input_tokens': 8}}}";
	ck_assert_ptr_nonnull(
	    strstr(ending(run_hook(HOOK_BEFORE_MODEL, use, state, "[]")), "$8 of $8"));
}
END_TEST

/* --- settings ----------------------------------------------------------------------- */

START_TEST(only_what_is_asked_for_is_counted)
{
	const struct middleware_use *use = use_of("{'run_limit': 5}");

	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "run_token_usage");
	ck_assert(use->fields[0].counts_usage && use->fields[0].untracked);
	use = use_of("{'thread_limit': 5}");
	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "thread_token_usage");
	ck_assert(use->fields[0].counts_usage && !use->fields[0].untracked);
	use = use_of("{'thread_limit': 5, 'run_limit': 4}");
	ck_assert_uint_eq(use->field_count, 2);
	ck_assert(use->fields[0].omit_from_input && use->fields[1].omit_from_output);
	ck_assert_ptr_nonnull(
	    registry_use(arena, "token_budget", use->settings, &path, &error));
}
END_TEST

static const struct {
	const char *settings, *path, *error;
} wrong[] = {
	{ "{}", "/run_limit", "run_limit, thread_limit or both" },
	{ "{'run_limit': null}", "/run_limit", "run_limit, thread_limit or both" },
	{ "{'run_limt': 5}", "/run_limt", "did you mean \"run_limit\"" },
	{ "{'run_limit': 'much'}", "/run_limit", "a number of tokens, or a map" },
	{ "{'run_limit': 0.5}", "/run_limit", "a number of tokens, or a map" },
	{ "{'run_limit': 0}", "/run_limit/total_tokens", "from 1 on" },
	{ "{'run_limit': {}}", "/run_limit", "an empty map" },
	{ "{'run_limit': {'tokens': 5}}", "/run_limit/tokens", "total_tokens" },
	{ "{'run_limit': {'costs': 5}}", "/run_limit/costs", "did you mean \"cost\"" },
	{ "{'thread_limit': {'input_tokens': -1}}", "/thread_limit/input_tokens",
	    "from 1 on" },
	{ "{'thread_limit': {'output_tokens': 1.5}}", "/thread_limit/output_tokens",
	    "whole number" },
	{ "{'thread_limit': {'cost': 0}}", "/thread_limit/cost", "above 0" },
	{ "{'thread_limit': {'cost': '1'}}", "/thread_limit/cost", "dollars" },
	{ "{'run_limit': 5, 'exit_behavior': 'continue'}", "/exit_behavior", "end" },
	{ "{'run_limit': 5, 'unpriced': true}", "/unpriced", "string" },
};

/* As YAML has it: `cost: .inf`. */
START_TEST(a_budget_has_an_end)
{
	static const double never[] = { INFINITY, -INFINITY, NAN };
	const struct value *limit =
	    value_map(arena, "cost", value_float(arena, never[_i]), NULL);
	const struct value *settings = value_map(arena, "thread_limit", limit, NULL);

	ck_assert_ptr_null(registry_use(arena, "token_budget", settings, &path, &error));
	ck_assert_str_eq(path, "/thread_limit/cost");
	ck_assert_ptr_nonnull(strstr(error, "a number of US dollars above 0"));
}
END_TEST

START_TEST(bad_settings_are_refused_with_their_name)
{
	ck_assert_ptr_null(use_for("openai:gpt-4o", NULL, wrong[_i].settings));
	ck_assert_str_eq(path, wrong[_i].path);
	ck_assert_msg(strstr(error, wrong[_i].error) != NULL, "%s", error);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_token_budget(void);
TCase *
tcase_token_budget(void)
{
	TCase *tcase = tcase_create("token_budget");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, a_limit_that_is_reached_ends_the_run, 0, COUNT(limits));
	tcase_add_test(tcase, nothing_used_is_nothing_reached);
	tcase_add_test(tcase, or_it_fails);
	tcase_add_test(tcase, tools_do_not_run_for_nobody);
	tcase_add_test(tcase, a_model_without_a_price_is_refused);
	tcase_add_test(
	    tcase, a_model_without_a_price_that_a_middleware_asked_ends_the_run);
	tcase_add_test(tcase, the_agents_own_word_on_its_price_counts);
	tcase_add_test(tcase, only_what_is_asked_for_is_counted);
	tcase_add_loop_test(tcase, a_budget_has_an_end, 0, 3);
	tcase_add_loop_test(
	    tcase, bad_settings_are_refused_with_their_name, 0, COUNT(wrong));
	return tcase;
}
