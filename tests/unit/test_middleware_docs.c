/* The pages of docs/ say what the code does. Run from the project's folder. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context_editing.h"
#include "deepagents_summarization.h"
#include "has.h"
#include "literal.h"
#include "lua_kit.h"
#include "option_text.h"
#include "page.h"

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

/* --- tables that are made from the code -------------------------------------------- */

static const char *
page_of(const struct middleware *one)
{
	return arena_printf(arena, "docs/middleware/%s.md", one->name);
}

static const char *
default_text(const struct option *option)
{
	if (option->required)
		return "**required**";
	return option->otherwise == NULL ? "none"
					 : arena_printf(arena, "`%s`", option->otherwise);
}

static const char *
table_of(const struct option *option)
{
	const char *text = "| setting | type | default | means |\n"
			   "| --- | --- | --- | --- |\n";

	for (; option != NULL && option->name != NULL; option++)
		text = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", text,
		    option->name, option_kind_text(arena, option), default_text(option),
		    option->text);
	return text;
}

START_TEST(every_middlewares_page_has_its_table_of_settings)
{
	const char *const *names = registry_names();
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);

		if (one->options != NULL)
			page_check_table(
			    arena, page_of(one), "## Settings", table_of(one->options));
		else
			ck_assert_has(
			    page_read(arena, page_of(one)), "## Settings\n\nNone.\n");
	}
}
END_TEST

START_TEST(the_settings_of_cut_arguments_are_on_the_page_of_deepagents_summarization)
{
	page_check_table(arena, "docs/middleware/deepagents_summarization.md",
	    "Of `truncate_args_settings`:", table_of(deep_args_options));
}
END_TEST

START_TEST(the_settings_of_an_edit_are_on_the_page_of_context_editing)
{
	page_check_table(arena, "docs/middleware/context_editing.md",
	    "Of each edit:", table_of(context_edit_options));
}
END_TEST

static const char *
row(const char *table, const char *kind, const char *name, const char *where)
{
	return arena_printf(arena, "%s| %s `%s` | %s |\n", table, kind, name, where);
}

/* What each part runs in, and where state is. */
static const char *
parts_of(const struct middleware *one)
{
	const struct field *field = one->fields;
	const char *table = "| part | where |\n| --- | --- |\n";
	size_t i;
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++)
		if (middleware_has_hook(one, (enum hook)hook))
			table = row(table, "hook", hook_name((enum hook)hook),
			    hook_process((enum hook)hook));
	if (one->seal_input != NULL)
		table = row(table, "hook", "seal_input", "coordinator");
	if (one->seal_outcome != NULL)
		table = row(table, "hook", "seal_outcome", "coordinator");
	if (one->filter_tokens != NULL)
		table = row(table, "hook", "filter_tokens", "worker-model");
	for (i = 0; one->tools != NULL && one->tools[i] != NULL; i++)
		if (!one->tools[i]->internal)
			table = row(table, "tool", one->tools[i]->name, "worker-tools");
	if (field == NULL)
		return arena_printf(arena, "%s| state | none of its own |\n", table);
	for (; field->name != NULL; field++)
		table = row(table, "state", field->name, field_text(arena, field));
	return table;
}

START_TEST(every_middlewares_page_says_what_runs_where_and_which_state_it_adds)
{
	const char *const *names = registry_names();
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);

		page_check_table(
		    arena, page_of(one), "## What runs where", parts_of(one));
	}
}
END_TEST

/* --- the index ----------------------------------------------------------------------- */

static const char *
hooks_text(const struct middleware *one)
{
	const char *text = "";
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++) {
		if (middleware_has_hook(one, (enum hook)hook))
			text = arena_printf(arena, "%s%s`%s`", text,
			    text[0] == '\0' ? "" : ", ", hook_name((enum hook)hook));
	}
	return text;
}

static const char *
tools_text(const struct middleware *one)
{
	const char *text = "";
	size_t i;

	for (i = 0; one->tools != NULL && one->tools[i] != NULL; i++)
		if (!one->tools[i]->internal)
			text = arena_printf(arena, "%s%s`%s`", text,
			    *text == '\0' ? "" : ", ", one->tools[i]->name);
	return text;
}

START_TEST(the_index_has_every_middleware_with_what_it_says_of_itself)
{
	const char *const *names = registry_names();
	const char *table = "| middleware | what it does | hooks | tools |\n"
			    "| --- | --- | --- | --- |\n";
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);

		table = arena_printf(arena, "%s| [`%s`](%s.md) | %s | %s | %s |\n", table,
		    one->name, one->name, one->summary, hooks_text(one), tools_text(one));
	}
	page_check_table(arena, "docs/middleware/README.md", "## All of them", table);
}
END_TEST

/* --- the example -------------------------------------------------------------------- */

/* Every block of C in the page is in the source. Returns how many there are. */
static size_t
count_code(const char *page, const char *source)
{
	const char *code = page_read(arena, source), *at = page_read(arena, page), *block;
	size_t blocks = 0;

	for (; (block = page_block(arena, &at, "c")) != NULL; blocks++)
		ck_assert_msg(
		    strstr(code, block) != NULL, "not in the example:\n%s", block);
	return blocks;
}

START_TEST(the_code_in_the_guides_is_the_examples)
{
	ck_assert_uint_ge(
	    count_code("docs/middleware.md", "examples/plugin/thrifty.c"), 6);
	ck_assert_uint_ge(
	    count_code("docs/interrupts.md", "examples/plugin/ask_first.c"), 1);
}
END_TEST

/* Of the page of examples: each block is a part of its file. */
START_TEST(the_code_of_the_examples_page_is_the_examples)
{
	static const char *const languages[] = { "c", "lua", "yaml" };
	static const char *const names[] = { "early_exit", "logging", "latency",
		"cached_response", "retry", "fallback", "transform", "call_tracker",
		"prompt_for_user" };
	size_t kind, i;

	for (kind = 0; kind < sizeof languages / sizeof *languages; kind++) {
		const char *at = page_read(arena, "docs/middleware-examples.md"), *block;

		for (i = 0; i < sizeof names / sizeof *names; i++) {
			const char *path =
			    arena_printf(arena, "examples/middleware/%s/%s.%s",
				kind == 0 ? "c" : "lua", names[i], languages[kind]);

			block = page_block(arena, &at, languages[kind]);
			ck_assert_msg(block != NULL &&
					  strstr(page_read(arena, path), block) != NULL,
			    "%s is another one than on the page:\n%s", path, block);
		}
		ck_assert_ptr_null(page_block(arena, &at, languages[kind]));
	}
}
END_TEST

static const struct value *
answer_no(struct turn *turn, const struct value *request)
{
	(void)request;
	return value_map(turn->arena, "messages",
	    literal(turn->arena, "[{'type': 'ai', 'content': 'No.'}]"), NULL);
}

/* Runs each hook that it has on something usual. */
static void
run_block(const char *block)
{
	const struct middleware_use *use = lua_use(arena, block,
	    "{'state': {'calls': {'type': 'integer', 'default': 0, 'reducer': 'add'}}}");
	const struct chain *chain = stub_chain(arena, use, NULL);
	struct turn turn = { .arena = arena, .use = use, .call_model = answer_no };
	struct play play = { .arena = arena };
	int hook;

	turn.messages = literal(arena, "[{'type': 'ai', 'content': 'Hm.'}]");
	turn.state = literal(arena, "{'calls': 1}");
	play.profile = literal(arena, "{'model': 'm:x', 'tools': ['add']}");
	play.request = literal(arena,
	    "{'messages': [], 'state': {'calls': 9}, 'tool': {'name': 'add'}, "
	    "'tool_call': {'name': 'add', 'id': 'c', 'args': {'a': 1}}}");
	for (hook = HOOK_BEFORE_AGENT; hook <= HOOK_AFTER_AGENT; hook++) {
		if (use->hooks[hook])
			chain_node_hook(&turn, (enum hook)hook);
		ck_assert_msg(turn.fault == NULL, "%s\n%s", block,
		    turn.fault == NULL ? "" : turn.fault->message);
	}
	ck_assert_ptr_null(
	    strstr(stub_outcome(arena, play_model(&play, chain)), "fault"));
	ck_assert_ptr_null(strstr(stub_outcome(arena, play_tool(&play, chain)), "fault"));
}

START_TEST(the_code_of_the_lua_page_runs)
{
	const char *at = page_read(arena, "docs/middleware-lua.md"), *block;
	size_t blocks = 0;

	while ((block = page_block(arena, &at, "lua")) != NULL) {
		run_block(block);
		blocks++;
	}
	ck_assert_uint_ge(blocks, 6);
}
END_TEST

START_TEST(the_guide_names_every_hook)
{
	const char *page = page_read(arena, "docs/middleware.md");
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++) {
		ck_assert_ptr_nonnull(strstr(
		    page, arena_printf(arena, "| `%s` |", hook_name((enum hook)hook))));
		ck_assert_ptr_nonnull(strstr(page_read(arena, "docs/middleware-lua.md"),
		    arena_printf(arena, "`%s`", hook_name((enum hook)hook))));
	}
}
END_TEST

TCase *tcase_middleware_docs(void);
TCase *
tcase_middleware_docs(void)
{
	TCase *tcase = tcase_create("middleware_docs");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_middlewares_page_has_its_table_of_settings);
	tcase_add_test(tcase, the_settings_of_an_edit_are_on_the_page_of_context_editing);
	tcase_add_test(tcase,
	    the_settings_of_cut_arguments_are_on_the_page_of_deepagents_summarization);
	tcase_add_test(
	    tcase, every_middlewares_page_says_what_runs_where_and_which_state_it_adds);
	tcase_add_test(tcase, the_index_has_every_middleware_with_what_it_says_of_itself);
	tcase_add_test(tcase, the_code_in_the_guides_is_the_examples);
	tcase_add_test(tcase, the_code_of_the_examples_page_is_the_examples);
	tcase_add_test(tcase, the_code_of_the_lua_page_runs);
	tcase_add_test(tcase, the_guide_names_every_hook);
	return tcase;
}
