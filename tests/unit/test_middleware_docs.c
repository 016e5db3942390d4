/* The pages of docs/ say what the code does. Run from the project's folder. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "literal.h"
#include "lua_kit.h"
#include "option_text.h"

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

static const char *
read_text(const char *path)
{
	char *text = arena_alloc(arena, 1 << 18);
	FILE *file = fopen(path, "r");
	size_t size;

	ck_assert_msg(file != NULL, "%s is not there", path);
	size = fread(text, 1, (1 << 18) - 1, file);
	fclose(file);
	ck_assert_uint_lt(size, (1 << 18) - 1);
	return text;
}

/* --- the tables of settings --------------------------------------------------------- */

static const char *
default_text(const struct option *option)
{
	if (option->required)
		return "**required**";
	return option->otherwise == NULL ? "none"
					 : arena_printf(arena, "`%s`", option->otherwise);
}

static const char *
table_of(const struct middleware *middleware)
{
	const struct option *option = middleware->options;
	const char *text = "| setting | type | default | means |\n"
			   "| --- | --- | --- | --- |\n";

	for (; option != NULL && option->name != NULL; option++)
		text = arena_printf(arena, "%s| `%s` | %s | %s | %s |\n", text,
		    option->name, option_kind_text(arena, option), default_text(option),
		    option->text);
	return text;
}

/* The rows of the page's table behind "## Settings". */
static size_t
count_rows(const char *page)
{
	const char *at = strstr(page, "## Settings");
	size_t rows = 0;

	ck_assert_ptr_nonnull(at);
	for (at = strstr(at, "\n|"); at != NULL && at[1] == '|'; rows++)
		at = strchr(at + 1, '\n');
	return rows;
}

START_TEST(every_middlewares_page_has_its_table_of_settings)
{
	const char *const *names = registry_names();
	size_t i, lines;

	for (i = 0; names[i] != NULL; i++) {
		const struct middleware *one = registry_find(names[i]);
		const char *page =
		    read_text(arena_printf(arena, "docs/middleware/%s.md", names[i]));
		const char *table = table_of(one), *at;

		if (one->options == NULL)
			continue;
		ck_assert_msg(strstr(page, table) != NULL,
		    "docs/middleware/%s.md has not this table:\n%s", names[i], table);
		for (lines = 0, at = table; *at != '\0'; at++)
			lines += *at == '\n';
		ck_assert_uint_eq(count_rows(page), lines);
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
	ck_assert_msg(strstr(read_text("docs/middleware/README.md"),
			  arena_printf(arena, "\n%s\n", table)) != NULL,
	    "docs/middleware/README.md has not this table:\n%s", table);
}
END_TEST

/* --- the example -------------------------------------------------------------------- */

/* Every block of C in the page is in the source. Returns how many there are. */
static size_t
count_code(const char *page, const char *source)
{
	const char *code = read_text(source), *at = read_text(page), *end;
	size_t blocks = 0;

	for (; (at = strstr(at, "```c\n")) != NULL; blocks++) {
		at += strlen("```c\n");
		end = strstr(at, "```");
		ck_assert_ptr_nonnull(end);
		ck_assert_msg(
		    strstr(code, arena_copy(arena, at, (size_t)(end - at))) != NULL,
		    "not in the example:\n%.*s", (int)(end - at), at);
		at = end + 3;
	}
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

/* The next block of that language behind *at_p, which goes on behind it; NULL: none. */
static const char *
next_block(const char **at_p, const char *language)
{
	const char *fence = arena_printf(arena, "```%s\n", language);
	const char *at = strstr(*at_p, fence), *end;

	if (at == NULL)
		return NULL;
	at += strlen(fence);
	end = strstr(at, "```");
	ck_assert_ptr_nonnull(end);
	*at_p = end + 3;
	return arena_copy(arena, at, (size_t)(end - at));
}

/* Of the page of examples: each block is a part of its file. */
START_TEST(the_code_of_the_examples_page_is_the_examples)
{
	static const char *const languages[] = { "c", "lua", "yaml" };
	static const char *const names[] = { "early_exit", "logging", "latency",
		"cached_response", "retry", "fallback", "transform", "call_tracker",
		"prompt_for_user" };
	size_t kind, i;

	for (kind = 0; kind < sizeof languages / sizeof *languages; kind++) {
		const char *at = read_text("docs/middleware-examples.md"), *block;

		for (i = 0; i < sizeof names / sizeof *names; i++) {
			const char *path =
			    arena_printf(arena, "examples/middleware/%s/%s.%s",
				kind == 0 ? "c" : "lua", names[i], languages[kind]);

			block = next_block(&at, languages[kind]);
			ck_assert_msg(
			    block != NULL && strstr(read_text(path), block) != NULL,
			    "%s is another one than on the page:\n%s", path, block);
		}
		ck_assert_ptr_null(next_block(&at, languages[kind]));
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
	const char *at = read_text("docs/middleware-lua.md"), *block;
	size_t blocks = 0;

	while ((block = next_block(&at, "lua")) != NULL) {
		run_block(block);
		blocks++;
	}
	ck_assert_uint_ge(blocks, 6);
}
END_TEST

START_TEST(the_guide_names_every_hook)
{
	const char *page = read_text("docs/middleware.md");
	int hook;

	for (hook = 0; hook < HOOK_COUNT; hook++) {
		ck_assert_ptr_nonnull(strstr(
		    page, arena_printf(arena, "| `%s` |", hook_name((enum hook)hook))));
		ck_assert_ptr_nonnull(strstr(read_text("docs/middleware-lua.md"),
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
	tcase_add_test(tcase, the_index_has_every_middleware_with_what_it_says_of_itself);
	tcase_add_test(tcase, the_code_in_the_guides_is_the_examples);
	tcase_add_test(tcase, the_code_of_the_examples_page_is_the_examples);
	tcase_add_test(tcase, the_code_of_the_lua_page_runs);
	tcase_add_test(tcase, the_guide_names_every_hook);
	return tcase;
}
