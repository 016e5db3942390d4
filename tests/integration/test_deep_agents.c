/* docs/deep-agents.md and examples/agents/deep_research.yaml: what the page shows is what the commands say, on a
 * fleet of real processes with the example's tools. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"
#include "json.h"
#include "page.h"

TCase *tcase_deep_agents(void);

static struct arena *arena;
static struct fleet_kit *kit;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	kit_flag(kit, KIT_TOOLS, "--tools", "examples/tools");
	kit_env(kit, KIT_TOOLS,
	    arena_printf(arena, "WORKSPACE=%s", kit_path(kit, "workspace")));
	setenv("WORKSPACE", kit_path(kit, "workspace"), 1);
	setenv("FLOTILLA_REDIS", kit_redis(kit), 1);
	setenv("FLOTILLA_BROKER", kit_broker(kit), 1);
	setenv("FLOTILLA_STATUS", kit_status(kit), 1);
	kit_start_all(kit, 2, 2, 2);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static const struct value *
parsed(const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

START_TEST(the_page_is_true)
{
	const struct value *fields, *runs;
	size_t i, tasks = 0;

	ck_assert_uint_ge(
	    page_run_consoles(arena, "docs/deep-agents.md", kit_program(kit, "")), 4);
	fields = value_get(
	    parsed(kit_flotilla(kit, "state", "party", "--json", NULL)), "fields");
	ck_assert_uint_eq(value_size(value_get(fields, "files")), 3);
	ck_assert_uint_eq(value_size(value_get(fields, "todos")), 2);
	/* Who came later has read what was noted. */
	fields = value_get(
	    parsed(kit_flotilla(kit, "state", "picnic", "--json", NULL)), "fields");
	ck_assert_uint_eq(value_size(value_get(fields, "memory_contents")), 1);
	runs = parsed(kit_flotilla(kit, "runs", "--json", NULL));
	for (i = 0; i < value_size(runs); i++)
		tasks += value_has(value_at(runs, i), "task");
	ck_assert_uint_ge(tasks, 3);
}
END_TEST

START_TEST(a_human_sees_which_agent_asks)
{
	const char *agent = "examples/agents/deep_research.yaml", *text;
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	struct said ended;

	kit_flotilla(kit, "agents", "apply", agent, NULL);
	kit_flotilla(kit, "submit", "deep-research", "Where?", "--run-id", "a", NULL);
	ended = CLI(&cli, "watch", "a"); /* until it asks */
	ck_assert_int_eq(ended.status, 5);
	text = kit_flotilla(kit, "approvals", NULL);
	ck_assert_msg(strstr(text, "\n      asked by accountant, run a-13-1-1\n") != NULL,
	    "%s", text);
	ended = CLI(&cli, "approve", "a-13-1-1");
	ck_assert_int_eq(ended.status, 7);
	ck_assert_msg(strstr(ended.err, "works for run 'a'") != NULL, "%s", ended.err);
	ended = CLI(&cli, "state", "a", "--file", "/none.md");
	ck_assert_int_eq(ended.status, 3);
	ck_assert_msg(strstr(ended.err, "it has none") != NULL, "%s", ended.err);
	text = kit_flotilla(kit, "state", "a", NULL);
	ck_assert_msg(strstr(text, "`flotilla approve a` goes on") != NULL, "%s", text);
	text = kit_flotilla(kit, "runs", NULL);
	ck_assert_msg(strstr(text, "\n    works for a\n") != NULL, "%s", text);
}
END_TEST

START_TEST(who_watches_is_told_that_redis_is_gone_and_waits_for_it)
{
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	const char *slow = kit_write(kit, "slow.yaml",
	    "name: slow\nmodel: scripted:m\nscript: {m: [{delay_ms: 600000, content: "
	    "x}]}\n");
	struct cli_job *job;
	struct said ended;

	kit_flotilla(kit, "submit", slow, "Hi", "--run-id", "s", NULL);
	job = CLI_START(&cli, "watch", "s");
	while (strstr(cli_out(job), "started") == NULL)
		kit_flotilla(kit, "runs", NULL);
	kit_kill(kit, KIT_REDIS, 0);
	while (strstr(cli_err(job), "Redis is gone: ") == NULL)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	kit_start(kit, KIT_REDIS, 0);
	kit_flotilla(kit, "cancel", "s", NULL);
	ended = cli_end(&job);
	ck_assert_int_eq(ended.status, 6);
	ck_assert_msg(strstr(ended.out, "finished cancelled") != NULL, "%s", ended.out);
	ck_assert_msg(
	    strstr(strstr(ended.out, "started") + 1, "started") == NULL, "%s", ended.out);
}
END_TEST

START_TEST(a_run_that_is_in_the_inbox_is_waited_for_or_said_to_be_there)
{
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	const char *quick = kit_write(kit, "quick.yaml",
	    "name: quick\nmodel: scripted:m\nscript: {m: [{content: Done.}]}\n");
	struct cli_job *job;
	struct said ended;

	kit_stop(kit, KIT_COORDINATOR, 0);
	kit_stop(kit, KIT_COORDINATOR, 1);
	kit_flotilla(kit, "submit", quick, "Hi", "--run-id", "q", NULL);
	ended = CLI(&cli, "cancel", "q");
	ck_assert_int_eq(ended.status, 3);
	ck_assert_msg(strstr(ended.err, "may be among the 1 in the inbox") != NULL, "%s",
	    ended.err);
	job = CLI_START(&cli, "watch", "q");
	kit_start(kit, KIT_COORDINATOR, 0);
	ended = cli_end(&job);
	if (ended.status == 3) /* it took longer than that to start */
		ended = CLI(&cli, "watch", "q");
	ck_assert_msg(ended.status == 0, "%s", ended.err);
	ended = CLI(&cli, "watch", "nobody");
	ck_assert_int_eq(ended.status, 3);
	ck_assert_msg(strstr(ended.err, "lists the newest") != NULL, "%s", ended.err);
}
END_TEST

static const char *
key_of(const char *pattern)
{
	char *key =
	    arena_strdup(arena, kit_redis_cli(kit, 0, "--raw", "KEYS", pattern, NULL));

	key[strcspn(key, "\n")] = '\0';
	return key;
}

static struct cli_job *
watch_started(const struct cli *cli, const char *agent, const char *run)
{
	struct cli_job *job;

	kit_flotilla(kit, "submit", agent, "Hi", "--run-id", run, NULL);
	job = CLI_START(cli, "watch", run);
	while (strstr(cli_out(job), "started") == NULL)
		kit_flotilla(kit, "runs", NULL);
	return job;
}

/* A Redis that was replaced has none of its runs; after a failover one may be at an earlier event than its watcher. */
START_TEST(who_waits_for_what_redis_has_lost_hears_of_it)
{
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	const char *slow = kit_write(kit, "slow.yaml",
	    "name: slow\nmodel: scripted:m\nscript: {m: [{delay_ms: 600000, content: "
	    "x}]}\n");
	struct cli_job *lost, *set_back, *waiting;
	struct said ended;
	unsigned i;

	lost = watch_started(&cli, slow, "lost");
	set_back = watch_started(&cli, slow, "back");
	for (i = 0; i < 2; i++) {
		kit_kill(kit, KIT_COORDINATOR, i);
		kit_kill(kit, KIT_MODEL, i); /* it would finish its calls first */
	}
	kit_redis_cli(
	    kit, 0, "DEL", key_of("fl:{*}:r:back:e"), key_of("fl:{*}:t:back"), NULL);
	kit_redis_cli(kit, 0, "HSET", key_of("fl:{*}:r:back"), "status", "queued",
	    "events", "0", NULL);
	kit_flotilla(kit, "cancel", "back", NULL);
	ended = cli_end(&set_back);
	ck_assert_int_eq(ended.status, 6);
	ck_assert_msg(strstr(ended.out, "finished cancelled") != NULL, "%s", ended.out);
	ck_assert_ptr_nonnull(strstr(ended.err, "Redis has lost some of what was told"));
	waiting = CLI_START(&cli, "submit", slow, "Hi", "--run-id", "w", "--wait");
	while (
	    strcmp(kit_redis_cli(kit, 0, "--raw", "XLEN", "fl:inbox", NULL), "1\n") != 0)
		continue;
	kit_redis_cli(kit, 0, "FLUSHALL", NULL);
	ended = cli_end(&lost);
	ck_assert_int_eq(ended.status, 3);
	ck_assert_ptr_nonnull(strstr(ended.err, "run 'lost' is not there"));
	ended = cli_end(&waiting);
	ck_assert_int_eq(ended.status, 3);
	ck_assert_ptr_nonnull(strstr(ended.err, "run 'w' is not there"));
}
END_TEST

TCase *
tcase_deep_agents(void)
{
	TCase *tcase = tcase_create("deep_agents");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_page_is_true);
	tcase_add_test(tcase, a_human_sees_which_agent_asks);
	tcase_add_test(tcase, who_watches_is_told_that_redis_is_gone_and_waits_for_it);
	tcase_add_test(
	    tcase, a_run_that_is_in_the_inbox_is_waited_for_or_said_to_be_there);
	tcase_add_test(tcase, who_waits_for_what_redis_has_lost_hears_of_it);
	return tcase;
}
