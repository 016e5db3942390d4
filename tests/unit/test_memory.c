#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static struct play play;
static struct turn turn;

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

#define SOURCES "'sources': ['/AGENTS.md', 'notes/own.md']"

/* --- settings ------------------------------------------------------------------------- */

static const struct {
	const char *settings, *path, *reason;
} wrong[] = {
	{ "{}", "/sources", "needs the setting" },
	{ "{'sources': ['/a', '../b']}", "/sources/1", ".." },
	{ "{'sources': '~/AGENTS.md'}", "/sources/0", "~" },
	{ "{" SOURCES ", 'system_prompt': 'Mind {memory}.'}", "/system_prompt",
	    "{agent_memory}" },
	{ "{" SOURCES ", 'system_prompt': ''}", "/system_prompt", "{agent_memory}" },
	{ "{" SOURCES ", 'backend': 'disk'}", "/backend", "state" },
};

START_TEST(settings_are_checked)
{
	literal_refused(
	    arena, "memory", wrong[_i].settings, wrong[_i].path, wrong[_i].reason);
}
END_TEST

START_TEST(what_is_read_is_private)
{
	const struct middleware_use *use =
	    literal_use(arena, "memory", "{" SOURCES ", 'backend': 'store'}");

	ck_assert_uint_eq(use->field_count, 1);
	ck_assert_str_eq(use->fields[0].name, "memory_contents");
	ck_assert(use->fields[0].omit_from_input && use->fields[0].omit_from_output);
	ck_assert(value_contains(use->reads, "memory_contents"));
	ck_assert_uint_eq(value_size(use->tools), 0);
	ck_assert_uint_eq(literal_use(arena, "memory", "{" SOURCES "}")->field_count, 2);
}
END_TEST

/* --- reading -------------------------------------------------------------------------- */

static const struct value *
store(struct turn *asking, const struct value *op)
{
	if (value_text_is(value_get(op, "key"), "/lost.md"))
		return literal(asking->arena,
		    "{'fault': {'type': 'ConnectionError', 'message': 'no store'}}");
	return value_text_is(value_get(op, "key"), "/gone.md")
		   ? NULL
		   : literal(asking->arena, "{'item': null}");
}

static const struct value *
before_agent(const char *settings, const char *state)
{
	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "memory", settings),
		.messages = value_empty_array(),
		.state = literal(arena, state),
		.store = store };
	return chain_node_hook(&turn, HOOK_BEFORE_AGENT);
}

#define FILE(text) "{'content': '" text "', 'encoding': 'utf-8'}"

START_TEST(the_files_that_are_there_are_read)
{
	ck_assert_value(arena,
	    before_agent(
		"{" SOURCES "}", "{'files': {'/notes/own.md': " FILE(
				     "I am me.") ", '/other.md': " FILE("x") "}}"),
	    "{'memory_contents': {'notes/own.md': 'I am me.'}}");
	ck_assert_value(
	    arena, before_agent("{" SOURCES "}", "{}"), "{'memory_contents': {}}");
}
END_TEST

START_TEST(they_are_read_once)
{
	ck_assert_ptr_null(before_agent("{" SOURCES "}",
	    "{'memory_contents': {}, 'files': {'/AGENTS.md': " FILE("x") "}}"));
	ck_assert_ptr_null(turn.fault);
}
END_TEST

START_TEST(what_cannot_be_read_fails_the_run)
{
	ck_assert_ptr_null(
	    before_agent("{'sources': ['/a.md', '/lost.md'], 'backend': 'store'}", "{}"));
	ck_assert_str_eq(turn.fault->type, "ValueError");
	ck_assert_has(turn.fault->message, "/lost.md");
	ck_assert_has(turn.fault->message, "no store");
	ck_assert_ptr_null(before_agent("{'sources': '/p.png'}",
	    "{'files': {'/p.png': {'content': 'AAAA', 'encoding': 'base64'}}}"));
	ck_assert_has(turn.fault->message, "/p.png is no text");
}
END_TEST

START_TEST(too_much_of_it_does_too)
{
	const size_t size = (1u << 20) + 1;
	char *text = arena_alloc(arena, size + 1);

	memset(text, 'x', size);
	turn = (struct turn){ .arena = arena,
		.use =
		    literal_use(arena, "memory", "{'sources': ['/AGENTS.md', '/p.png']}"),
		.messages = value_empty_array(),
		.state = value_map(arena, "files",
		    value_map(arena, "/AGENTS.md",
			value_map(arena, "content", value_str(arena, text), NULL),
			"/p.png",
			literal(arena, "{'content': 'AA', 'encoding': 'base64'}"), NULL),
		    NULL) };
	ck_assert_ptr_null(chain_node_hook(&turn, HOOK_BEFORE_AGENT));
	/* What is behind it is not read any more. */
	ck_assert_has(turn.fault->message, "more than");
}
END_TEST

START_TEST(a_cancelled_run_writes_nothing)
{
	ck_assert_ptr_null(
	    before_agent("{'sources': '/gone.md', 'backend': 'store'}", "{}"));
	ck_assert(turn.fault->control);
}
END_TEST

/* --- the prompt ------------------------------------------------------------------------ */

static const char *
prompt_of(const char *settings, const char *contents)
{
	play.profile = literal(arena, "{'model': 'x:y', 'system_prompt': 'S'}");
	play.request = literal(
	    arena, arena_printf(arena, "{'state': {'memory_contents': %s}}", contents));
	play.count = 0;
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "memory", settings), NULL));
	return value_get_text(play.seen, "system");
}

START_TEST(they_stand_behind_the_agents_prompt)
{
	const char *prompt = prompt_of("{" SOURCES "}",
	    "{'notes/own.md': 'Two.\\n', '/AGENTS.md': 'One.\\n\\n', '/x': 'no'}");

	ck_assert_int_eq(strncmp(prompt, "S\n\n<agent_memory>\n", 18), 0);
	ck_assert_has(
	    prompt, "\n/AGENTS.md\n\nOne.\n\nnotes/own.md\n\nTwo.\n</agent_memory>\n");
	ck_assert_has(prompt, "edit_file");
}
END_TEST

#define PLAIN "{" SOURCES ", 'system_prompt': 'Mind {agent_memory}, {x}.'}"

static const struct {
	const char *contents, *prompt;
} shown[] = {
	{ "{}", "S\n\nMind (No memory loaded), {x}." },
	{ "null", "S\n\nMind (No memory loaded), {x}." },
	{ "{'/AGENTS.md': ''}", "S\n\nMind (No memory loaded), {x}." },
	{ "{'/AGENTS.md': ' <!-- a -->\\n '}", "S\n\nMind (No memory loaded), {x}." },
	{ "{'/AGENTS.md': 'a<!-- b\\n-->c<!---->d <!-- e'}", "S\n\nMind /AGENTS.md\n\nac"
							     "d <!-- e, {x}." },
	{ "{'/AGENTS.md': 'a<!-->b-->c'}", "S\n\nMind /AGENTS.md\n\nac, {x}." },
	{ "{'/AGENTS.md': '{agent_memory}'}",
	    "S\n\nMind /AGENTS.md\n\n{agent_memory}, {x}." },
};

START_TEST(comments_are_left_out_and_braces_are_braces)
{
	ck_assert_str_eq(prompt_of(PLAIN, shown[_i].contents), shown[_i].prompt);
}
END_TEST

START_TEST(nothing_stands_there_when_the_prompt_is_null)
{
	ck_assert_str_eq(
	    prompt_of("{" SOURCES ", 'system_prompt': null}", "{'/AGENTS.md': 'x'}"),
	    "S");
}
END_TEST

/* --- the cache ------------------------------------------------------------------------ */

static const struct {
	const char *settings, *profile, *sent;
} caches[] = {
	{ "{" SOURCES ", 'add_cache_control': true}", "{'model': 'anthropic:c'}",
	    "{'system_cache_control': {'type': 'ephemeral'}}" },
	{ "{" SOURCES ", 'add_cache_control': true}",
	    "{'model': 'anthropic:c', 'model_settings': {'system_cache_control': "
	    "{'type': "
	    "'ephemeral', 'ttl': '1h'}}}",
	    "{'system_cache_control': {'type': 'ephemeral', 'ttl': '1h'}}" },
	{ "{" SOURCES ", 'add_cache_control': true}", "{'model': 'openai:gpt'}", "{}" },
	{ "{" SOURCES "}", "{'model': 'anthropic:c'}", "{}" },
};

START_TEST(anthropic_may_keep_the_prompt)
{
	const struct value *sent;

	play.profile = literal(arena, caches[_i].profile);
	play.request = value_empty_map();
	play_model(&play,
	    stub_chain(arena, literal_use(arena, "memory", caches[_i].settings), NULL));
	sent = value_get(play.seen, "settings");
	ck_assert_value(arena, sent != NULL ? sent : value_empty_map(), caches[_i].sent);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_memory(void);
TCase *
tcase_memory(void)
{
	TCase *tcase = tcase_create("memory");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, settings_are_checked, 0, COUNT(wrong));
	tcase_add_test(tcase, what_is_read_is_private);
	tcase_add_test(tcase, the_files_that_are_there_are_read);
	tcase_add_test(tcase, they_are_read_once);
	tcase_add_test(tcase, what_cannot_be_read_fails_the_run);
	tcase_add_test(tcase, too_much_of_it_does_too);
	tcase_add_test(tcase, a_cancelled_run_writes_nothing);
	tcase_add_test(tcase, they_stand_behind_the_agents_prompt);
	tcase_add_loop_test(
	    tcase, comments_are_left_out_and_braces_are_braces, 0, COUNT(shown));
	tcase_add_test(tcase, nothing_stands_there_when_the_prompt_is_null);
	tcase_add_loop_test(tcase, anthropic_may_keep_the_prompt, 0, COUNT(caches));
	return tcase;
}
