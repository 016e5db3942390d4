/* The agents that the pages about middleware show, as they stand there: what can be run without a key is
 * run on a fleet, and each built-in middleware has such a one on its page; what is asked of a provider goes
 * to one that plays it. Everything else loads. Run from the project's folder. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "cli.h"
#include "json.h"
#include "page.h"
#include "play_provider.h"

TCase *tcase_middleware_pages(void);

#define EXIT_INTERRUPTED 5 /* docs/cli.md */

/* In the place of the real ones: all that is not on the page is this, and the base URL. */
static const char provider_script[] =
    "{\"claude-sonnet-4-5\": ["
    "  {\"tool_calls\": [{\"id\": \"a\", \"name\": \"calculate\","
    "                    \"args\": {\"expression\": \"6 * 7\"}}]},"
    "  {\"content\": \"Forty-two.\"}],"
    "\"omni-moderation-latest\": ["
    "  {\"moderation\": {\"flagged\": false, \"categories\": {}, \"category_scores\": "
    "{}}},"
    "  {\"moderation\": {\"flagged\": false, \"categories\": {}, \"category_scores\": "
    "{}}}]}";

/* Whose examples show how a call of a tool is refused. */
static const char *const refusing[] = { "model_call_limit", "tool_call_limit",
	"token_budget" };

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *provider;
static struct cli flotilla;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	flotilla =
	    (struct cli){ .program = kit_program(kit, "flotilla"), .arena = arena };
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&provider);
	arena_destroy(&arena);
}

static void
start_fleet(void)
{
	const char *url;

	provider = play_provider(kit, arena, provider_script, &url);
	play_openai(kit, arena, url, "sk-1");
	play_anthropic(kit, arena, url, "sk-2");
	kit_start_all(kit, 1, 1, 1);
}

/* --- a block ------------------------------------------------------------------------- */

static bool
is_agent(const char *block)
{
	return strncmp(block, "name:", 5) == 0;
}

/* Of models that answer without a key, or are played. */
static bool
can_run(const char *block)
{
	return is_agent(block) && (strstr(block, "\nmodel: scripted:") != NULL ||
				      strstr(block, "\nmodel: anthropic:") != NULL);
}

/* Whether its list of middleware has that. */
static bool
uses(const char *block, const char *middleware)
{
	const char *item = arena_printf(arena, "\n  - %s", middleware);
	const char *at = strstr(block, item);

	return at != NULL && strchr(":\n", at[strlen(item)]) != NULL;
}

/* A part of an agent is made a whole one; files that it names are there. */
static void
check_loads(const char *page, const char *block)
{
	const char *file;
	struct said said;

	if (!is_agent(block))
		block =
		    arena_printf(arena, "name: part\nmodel: openai:gpt-4o\n%s", block);
	mkdir(kit_path(kit, "hooks"), 0700);
	kit_write(kit, "hooks/audit.lua", "function after_model() end\n");
	kit_write(kit, "limit.lua", "function before_model() end\n");
	file = kit_write(kit, "agent.yaml", block);
	said = CLI(
	    &flotilla, "graph", file, "--plugin", kit_built(kit, "plugins/thrifty.so"));
	ck_assert_msg(said.status == 0, "%s:\n%s\n%s", page, block, said.err);
}

/* --- a run --------------------------------------------------------------------------- */

static bool
refuses(const char *block)
{
	size_t i;

	for (i = 0; i < sizeof refusing / sizeof *refusing; i++)
		if (uses(block, refusing[i]))
			return true;
	return false;
}

/* The tools did what they were called for. */
static void
check_tools(const char *page, const char *thread)
{
	const char *error, *said = kit_flotilla(kit, "state", thread, "--json", NULL);
	const struct value *messages =
	    value_get(json_parse(arena, said, strlen(said), &error), "messages");
	size_t i;

	ck_assert_uint_ge(value_size(messages), 2);
	for (i = 0; i < value_size(messages); i++) {
		const char *status = value_get_text(value_at(messages, i), "status");

		ck_assert_msg(
		    status == NULL || strcmp(status, "error") != 0, "%s: %s", page, said);
	}
}

/* A question to a human is answered: yes. */
static void
check_runs(const char *page, const char *block)
{
	static unsigned count;
	const char *thread = arena_printf(arena, "t%u", count++);
	const char *file = kit_write(kit, "agent.yaml", block);
	struct said said = CLI(&flotilla, "submit", file, "Hello.", "-t", thread,
	    "--wait", "--redis", kit_redis(kit));

	ck_assert_int_eq(
	    said.status == EXIT_INTERRUPTED, uses(block, "human_in_the_loop"));
	if (said.status == EXIT_INTERRUPTED)
		said = CLI(&flotilla, "approve", thread, "--wait", "--redis",
		    kit_redis(kit), "--broker", kit_broker(kit));
	ck_assert_msg(said.status == 0, "%s:\n%s\n%s", page, block, said.err);
	if (!refuses(block))
		check_tools(page, thread);
}

/* --- the pages ----------------------------------------------------------------------- */

/* Returns how many of its agents were run that have middleware. */
static unsigned
check_page(const char *path, const char *middleware)
{
	const char *at = page_read(arena, path), *block;
	unsigned count = 0;

	while ((block = page_block(arena, &at, "yaml")) != NULL) {
		check_loads(path, block);
		if (!can_run(block))
			continue;
		check_runs(path, block);
		count += uses(block, middleware);
	}
	return count;
}

static const struct value *
all_middleware(void)
{
	struct said said = CLI(&flotilla, "middleware", "--json");
	const struct value *all;
	const char *error;

	ck_assert_int_eq(said.status, 0);
	all = json_parse(arena, said.out, strlen(said.out), &error);
	ck_assert_uint_ge(value_size(all), 10);
	return all;
}

START_TEST(each_middleware_has_an_agent_on_its_page_that_runs)
{
	const struct value *all = all_middleware();
	size_t i;

	start_fleet();
	for (i = 0; i < value_size(all); i++) {
		const char *name = value_get_text(value_at(all, i), "name");
		const char *path = arena_printf(arena, "docs/middleware/%s.md", name);

		ck_assert_msg(check_page(path, name) > 0,
		    "%s has no whole agent with it that runs without a key", path);
	}
}
END_TEST

START_TEST(the_agents_of_the_guides_load)
{
	check_page("docs/middleware.md", "none");
	check_page("docs/middleware-lua.md", "none");
}
END_TEST

/* Without a fleet. */
START_TEST(the_command_tells_of_each_middleware)
{
	const struct value *all = all_middleware();
	struct said said;
	size_t i;

	for (i = 0; i < value_size(all); i++) {
		const char *name = value_get_text(value_at(all, i), "name");

		said = CLI(&flotilla, "middleware", name);
		ck_assert_int_eq(said.status, 0);
		ck_assert_ptr_nonnull(
		    strstr(said.out, value_get_text(value_at(all, i), "summary")));
		ck_assert_ptr_nonnull(strstr(said.out, "Settings:"));
	}
	said = CLI(&flotilla, "middleware", "todo_lists");
	ck_assert_int_eq(said.status, 3);
	ck_assert_ptr_nonnull(strstr(said.err, "did you mean 'todo_list'?"));
	said = CLI(&flotilla, "middleware", "latency", "--plugin",
	    kit_built(kit, "plugins/latency.so"));
	ck_assert_msg(said.status == 0, "%s", said.err);
}
END_TEST

TCase *
tcase_middleware_pages(void)
{
	TCase *tcase = tcase_create("middleware_pages");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, each_middleware_has_an_agent_on_its_page_that_runs);
	tcase_add_test(tcase, the_agents_of_the_guides_load);
	tcase_add_test(tcase, the_command_tells_of_each_middleware);
	return tcase;
}
