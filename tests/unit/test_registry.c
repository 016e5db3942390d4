#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chain_link.h"
#include "chain_play.h"
#include "children.h"
#include "declaration.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"
#include "models.h"
#include "spec.h"

/* Interface under test */
#include "registry.h"

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

/* The plugins lie beside the program that runs the tests. */
static const char *
plugin(const char *name)
{
	char program[4096];
	ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);

	ck_assert_int_gt(size, 0);
	program[size] = '\0';
	*strrchr(program, '/') = '\0';
	return arena_printf(arena, "%s/plugins/%s.so", program, name);
}

static size_t
count_known(void)
{
	size_t count = 0;

	while (registry_names()[count] != NULL)
		count++;
	return count;
}

/* --- built-in ----------------------------------------------------------------------- */

START_TEST(every_built_in_one_is_sound)
{
	const char *const *names = registry_names();
	size_t i;

	ck_assert_uint_ge(count_known(), 3);
	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);
		const char *flaw = declaration_flaw(arena, one);

		ck_assert_msg(flaw == NULL, "%s: %s", names[i], flaw);
		ck_assert_uint_eq(one->abi, MIDDLEWARE_ABI);
		ck_assert_ptr_nonnull(one->summary);
	}
}
END_TEST

START_TEST(every_option_has_a_sentence)
{
	const char *const *names = registry_names();
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const struct option *option = registry_find(names[i])->options;

		for (; option != NULL && option->name != NULL; option++)
			ck_assert_msg(
			    option->text != NULL && strchr(option->text, '.') != NULL,
			    "%s.%s", names[i], option->name);
	}
}
END_TEST

START_TEST(an_unknown_name_is_refused_with_the_nearest)
{
	const char *path = NULL, *error = "";

	ck_assert_ptr_null(registry_find("todolist"));
	ck_assert_ptr_null(registry_use(arena, "todolist", NULL, &path, &error));
	ck_assert_str_eq(path, "");
	ck_assert_str_eq(
	    error, "there is no middleware \"todolist\"; did you mean \"todo_list\"?");
	ck_assert_ptr_null(registry_use(arena, "teleportation", NULL, &path, &error));
	ck_assert_str_eq(error, "there is no middleware \"teleportation\"");
}
END_TEST

START_TEST(a_use_knows_what_its_type_declares)
{
	const char *path, *error;
	struct middleware_use *use =
	    registry_use(arena, "tool_retry", NULL, &path, &error);

	ck_assert_ptr_nonnull(use);
	ck_assert_str_eq(use->name, "tool_retry");
	ck_assert_ptr_eq(use->type, registry_find("tool_retry"));
	ck_assert(use->hooks[HOOK_WRAP_TOOL_CALL] && !use->hooks[HOOK_BEFORE_MODEL]);
	ck_assert_value(arena, use->settings,
	    "{'max_retries': 2, 'retry_on': null, 'on_failure': 'continue', "
	    "'backoff_factor': 2.0, 'initial_delay': 1.0, 'max_delay': 60.0, 'jitter': "
	    "true, 'tools': null}");
	ck_assert_uint_eq(use->field_count, 0);
	ck_assert_value(arena, use->tools, "[]");
}
END_TEST

START_TEST(checked_settings_pass_again_unchanged)
{
	const char *path, *error;
	const struct middleware_use *first = registry_use(
	    arena, "tool_retry", literal(arena, "{'tools': 'add'}"), &path, &error);
	const struct middleware_use *again =
	    registry_use(arena, "tool_retry", first->settings, &path, &error);

	ck_assert_ptr_nonnull(again);
	ck_assert(value_equal(first->settings, again->settings));
}
END_TEST

START_TEST(a_tool_is_described_as_models_see_it)
{
	const struct tool *tool = registry_find("todo_list")->tools[0];
	const struct value *value;

	value = tool_to_value(arena, tool);
	ck_assert_str_eq(value_get_text(value, "name"), "write_todos");
	ck_assert_value(
	    arena, value_get(value_get(value, "parameters"), "required"), "['todos']");
	ck_assert(value_get_bool(value, "idempotent", false));
	ck_assert(!value_has(value, "return_direct") && !value_has(value, "timeout_ms"));
}
END_TEST

START_TEST(all_traits_of_a_tool_are_told)
{
	const struct tool tool = { .name = "t",
		.description = "d",
		.return_direct = true,
		.once = true,
		.timeout_ms = 5 };

	ck_assert_value(arena, tool_to_value(arena, &tool),
	    "{'name': 't', 'description': 'd', 'parameters': {'type': 'object'}, "
	    "'return_direct': true, 'idempotent': false, 'timeout_ms': 5}");
}
END_TEST

static struct chain *
chain_of(const char *middleware, const char **error_r)
{
	return chain_from_profile(arena,
	    value_map(arena, "middleware", literal(arena, middleware), NULL), error_r);
}

START_TEST(a_chain_is_made_of_a_profile)
{
	const char *error = NULL;
	struct chain *chain =
	    chain_of("[{'name': 'model_retry', 'settings': {'max_retries': 5}}, {'name': "
		     "'todo_list'}]",
		&error);

	ck_assert_ptr_nonnull(chain);
	ck_assert_uint_eq(chain->count, 2);
	ck_assert_str_eq(chain->uses[1]->name, "todo_list");
	ck_assert_int_eq(value_get_int(chain->uses[0]->settings, "max_retries", 0), 5);
	ck_assert_ptr_null(chain_of("[{'name': 'of_the_future'}]", &error));
	ck_assert_has(error, "of_the_future");
	ck_assert_ptr_null(
	    chain_of("[{'name': 'model_retry', 'settings': {'jitter': 1}}]", &error));
	ck_assert_str_eq(error,
	    "middleware model_retry /jitter: must be true or false, not an integer");
	ck_assert_ptr_null(chain_of("[{}]", &error));
	ck_assert_ptr_null(chain_of("{}", &error));
	ck_assert_uint_eq(chain_from_profile(arena, NULL, &error)->count, 0);
}
END_TEST

/* Another worker's hooks see the answer; what is shown of it goes through the filters here. */
START_TEST(of_a_chain_the_filters_alone_can_go_on)
{
	const struct value *profile = literal(arena,
	    "{'middleware':[{'name':'model_retry','settings':{}},{'name':'pii','settings'"
	    ":{'pii_type':'url'}},{'name':'pii','settings':{'pii_type':'ip','"
	    "apply_to_output':true}}]}");
	const char *error;
	const struct chain *chain = chain_from_profile(arena, profile, &error);
	const struct value *filters = chain_filters(arena, chain, profile);

	ck_assert_value(arena, filters,
	    "[{'name':'pii','settings':{'pii_type':'ip','apply_to_output':true},"
	    "'filters_only':true}]");
	profile = literal(arena,
	    "{'middleware':[{'name':'model_retry','settings':{},'filters_only':true}]}");
	ck_assert_uint_eq(chain_next_use(chain, HOOK_WRAP_MODEL_CALL, 0), 0);
	chain = chain_from_profile(arena, profile, &error);
	ck_assert_uint_eq(chain->count, 1);
	ck_assert_uint_eq(chain_next_use(chain, HOOK_WRAP_MODEL_CALL, 0), 1);
}
END_TEST

/* --- shared objects ----------------------------------------------------------------- */

static const struct {
	const char *name, *reason;
} refused[] = {
	{ "old_abi", "is made for middleware ABI 9, this is ABI 8" },
	{ "no_symbol", "has no symbol flotilla_middleware" },
	{ "taken_name", "the name \"todo_list\" is taken" },
	{ "same_twice", "brings \"one\" twice" },
	{ "bad_table", "flawed: option size: its own default must be at least 1, not 0" },
	{ "empty", "flotilla_middleware is empty" },
	{ "not_there", "cannot open shared object file" },
};

START_TEST(a_shared_object_that_will_not_do_is_refused_whole)
{
	size_t known = count_known();
	const char *error = "", *path = plugin(refused[_i].name);

	ck_assert_int_eq(registry_load(path, &error), -1);
	ck_assert_has(error, refused[_i].reason);
	ck_assert_has(error, path);
	ck_assert_uint_eq(count_known(), known);
}
END_TEST

START_TEST(the_example_is_loaded_once_and_known_from_then_on)
{
	const char *error = "", *path = "";
	const struct middleware_use *use;
	size_t known = count_known();

	ck_assert_msg(registry_load(plugin("thrifty"), &error) == 0, "%s", error);
	ck_assert_int_eq(registry_load(plugin("thrifty"), &error), 0);
	ck_assert_uint_eq(count_known(), known + 1);
	use = registry_use(
	    arena, "thrifty", literal(arena, "{'max_tokens': 10}"), &path, &error);
	ck_assert_ptr_nonnull(use);
	ck_assert_uint_eq(use->jumps[HOOK_BEFORE_MODEL], JUMP_END);
	ck_assert_value(arena, use->reads, "['thrifty_used']");
	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_ptr_null(registry_use(arena, "thrifty", NULL, &path, &error));
	ck_assert_str_eq(path, "/max_tokens");
	ck_assert_str_eq(error, "thrifty needs the setting \"max_tokens\" (an integer)");
}
END_TEST

/* The chain that a model worker makes of an agent with needs_figures, or NULL and why not. */
static struct chain *
chain_with_figures(const char *keys, const char **error_r)
{
	const char *error = "", *path = "";
	const struct value *source = literal(
	    arena, arena_printf(arena,
		       "{'name': 'a', 'model': 'm:x', 'middleware': ['needs_figures']%s}",
		       keys));
	const struct spec *spec;

	ck_assert_msg(registry_load(plugin("needs_figures"), &error) == 0, "%s", error);
	spec = spec_load(arena, source, NULL, &path, error_r);
	return spec == NULL ? NULL
			    : chain_from_profile(
				  arena, spec_model_profile(arena, spec, NULL), error_r);
}

START_TEST(a_use_is_refused_for_want_of_a_figure)
{
	const char *error = "";

	ck_assert_ptr_null(chain_with_figures("", &error));
	ck_assert_str_eq(error, "max_input_tokens is not known");
	ck_assert_ptr_nonnull(
	    chain_with_figures(", 'model_profile': {'max_input_tokens': 9}", &error));
	ck_assert_ptr_null(
	    chain_with_figures(", 'model_profile': {'max_output_tokens': 9}", &error));
}
END_TEST

static int
figure_of(const struct chain *chain, const char *model)
{
	struct turn turn = { .arena = arena, .use = chain->uses[0] };

	return (int)value_get_int(
	    turn_model_profile(&turn, model), "max_input_tokens", 0);
}

START_TEST(what_configure_was_told_travels_to_the_workers)
{
	char *folder = folder_new();
	const char *path = arena_printf(arena, "%s/models.yaml", folder), *error = "";
	FILE *file = fopen(path, "we");
	struct chain *chain;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("'m:*': {max_input_tokens: 77}\n", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(models_load(path, arena, &error), 0);
	chain = chain_with_figures("", &error);
	ck_assert_msg(chain != NULL, "%s", error);
	/* This process has the file no more, as a worker may never have had it. */
	models_unload();
	ck_assert_int_eq(figure_of(chain, NULL), 77);
	ck_assert_int_eq(figure_of(chain, "m:x"), 77);
	ck_assert_int_eq(figure_of(chain, "m:y"), 0);
	ck_assert_int_eq(figure_of(chain, "openai:gpt-4o"), 128000);
	folder_remove(&folder);
}
END_TEST

static const struct middleware_use *
budget_use(const char *settings)
{
	const char *error = "", *path = "";
	const struct middleware_use *use;

	ck_assert_int_eq(registry_load(plugin("thrifty"), &error), 0);
	use = registry_use(arena, "thrifty", literal(arena, settings), &path, &error);
	ck_assert_msg(use != NULL, "%s", error);
	return use;
}

START_TEST(the_examples_node_hooks_count_and_stop)
{
	struct turn turn = { .arena = arena, .use = budget_use("{'max_tokens': 10}") };

	turn.messages = literal(arena,
	    "[{'type': 'ai', 'content': '', 'usage_metadata': {'total_tokens': 7}}]");
	turn.state = literal(arena, "{'thrifty_used': 3}");
	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_BEFORE_MODEL));
	ck_assert_value(
	    arena, chain_node_hook(&turn, HOOK_AFTER_MODEL), "{'thrifty_used': 7}");
	turn.state = literal(arena, "{'thrifty_used': 10}");
	ck_assert_str_eq(
	    value_get_text(chain_node_hook(&turn, HOOK_BEFORE_MODEL), "jump_to"), "end");
}
END_TEST

START_TEST(the_examples_wraps_change_request_and_result)
{
	const struct middleware_use *use =
	    budget_use("{'max_tokens': 10, 'max_result_bytes': 100}");
	struct play play = { .arena = arena };
	char text[128] = "{'messages': [{'type': 'tool', 'content': '";

	play.profile = literal(arena, "{'model': 'x:y', 'tools': ['add']}");
	play.request = literal(arena,
	    "{'state': {'thrifty_used': 4}, 'tool': {'name': 'add'}, 'tool_call': "
	    "{'name': 'add', 'id': 'c', 'args': {}}}");
	play_model(&play, stub_chain(arena, use, NULL));
	ck_assert_has(value_get_text(play.seen, "system"), "You have 6 tokens left");
	memset(text + strlen(text), 'x', 50);
	play.outcomes[1] =
	    arena_printf(arena, "%s%s%s'}]}", text, strchr(text, 'x'), strchr(text, 'x'));
	ck_assert_has(stub_outcome(arena, play_tool(&play, stub_chain(arena, use, NULL))),
	    "x\n[50 bytes more were cut]");
}
END_TEST

TCase *tcase_registry(void);
TCase *
tcase_registry(void)
{
	TCase *tcase = tcase_create("registry");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, of_a_chain_the_filters_alone_can_go_on);
	tcase_add_test(tcase, every_built_in_one_is_sound);
	tcase_add_test(tcase, every_option_has_a_sentence);
	tcase_add_test(tcase, an_unknown_name_is_refused_with_the_nearest);
	tcase_add_test(tcase, a_use_knows_what_its_type_declares);
	tcase_add_test(tcase, checked_settings_pass_again_unchanged);
	tcase_add_test(tcase, a_tool_is_described_as_models_see_it);
	tcase_add_test(tcase, all_traits_of_a_tool_are_told);
	tcase_add_test(tcase, a_chain_is_made_of_a_profile);
	tcase_add_loop_test(tcase, a_shared_object_that_will_not_do_is_refused_whole, 0,
	    sizeof refused / sizeof *refused);
	tcase_add_test(tcase, a_use_is_refused_for_want_of_a_figure);
	tcase_add_test(tcase, what_configure_was_told_travels_to_the_workers);
	tcase_add_test(tcase, the_example_is_loaded_once_and_known_from_then_on);
	tcase_add_test(tcase, the_examples_node_hooks_count_and_stop);
	tcase_add_test(tcase, the_examples_wraps_change_request_and_result);
	return tcase;
}
