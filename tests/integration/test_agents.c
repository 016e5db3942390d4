/* Agents as versions on a fleet of real processes: a run keeps the one it started with, whatever
 * is applied meanwhile; versions are shown, compared, taken back, deleted. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "spec.h"
#include "store_agents.h"

TCase *tcase_agents(void);

#define WAIT_MS 60000u

/* It calls `hold`, which ends when a file is there, and then says what its version says. */
static const char agent[] = "name: clerk\n"
			    "model: scripted:s\n"
			    "tools: [hold]\n"
			    "%s"
			    "system_prompt: |\n"
			    "  You are a clerk.\n"
			    "  This is the %s version.\n"
			    "script:\n"
			    "  s:\n"
			    "    - content: ''\n"
			    "      tool_calls:\n"
			    "        - {id: a, name: hold, args: {}}\n"
			    "    - content: The %s says so.\n";

static const char hold[] = "name: hold\n"
			   "description: waits for a file\n"
			   "parameters: {properties: {}}\n"
			   "input: none\n"
			   "command: |\n"
			   "  touch %s/held\n"
			   "  await-file there %s/go\n"
			   "  echo held\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	void (*play)(struct scene *scene);
};

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static void
act(void (*play)(struct scene *scene))
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };
	const char *folder = kit_path(scene.kit, ".");

	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(
		scene.kit, "hold.yaml", arena_printf(scene.arena, hold, folder, folder)));
	kit_start_all(scene.kit, 1, 1, 1);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

static void
apply(struct scene *scene, const char *version, const char *more)
{
	kit_flotilla(scene->kit, "agents", "apply", "--comment",
	    arena_printf(scene->arena, "the %s", version),
	    kit_write(scene->kit, "clerk.yaml",
		arena_printf(scene->arena, agent, more, version, version)),
	    NULL);
}

static void
submit(struct scene *scene, const char *run, const char *thread, const char *what)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, run), "thread", value_str(arena, thread), what,
		value_str(arena, strcmp(what, "input") == 0 ? "\"hi\"" : "null"), NULL));
}

static const char *
wait_end(struct scene *scene, const char *run, const char *thread)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	return value_get_text(record, "status");
}

/* The last message of the thread. */
static const char *
answer(struct scene *scene, const char *thread)
{
	const struct value *state = NULL;
	const struct value *messages;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, thread, &state), STORE_OK);
	messages = value_get(state, "messages");
	return value_get_text(value_at(messages, value_size(messages) - 1), "content");
}

static bool
is_held(void *arg)
{
	struct scene *scene = arg;
	struct stat there;

	return stat(kit_path(scene->kit, "held"), &there) == 0;
}

/* SIGKILL to all but Redis's data, then all of them anew. */
static void
restart_all(struct scene *scene)
{
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_kill(scene->kit, KIT_TOOLS, 0);
	kit_kill(scene->kit, KIT_MODEL, 0);
	kit_kill(scene->kit, KIT_REDIS, 0);
	kit_start_all(scene->kit, 1, 1, 1);
}

/* --- which version runs -------------------------------------------------------------- */

static void
play_middle(struct scene *scene)
{
	apply(scene, "first", "");
	submit(scene, "r1", "t1", "input");
	ck_assert(client_wait(scene->client, is_held, scene, WAIT_MS));
	apply(scene, "second", "");
	restart_all(scene);
	kit_write(scene->kit, "go", "");
	ck_assert_str_eq(wait_end(scene, "r1", "t1"), "success");
	ck_assert_str_eq(answer(scene, "t1"), "The first says so.");
	submit(scene, "r2", "t2", "input");
	ck_assert_str_eq(wait_end(scene, "r2", "t2"), "success");
	ck_assert_str_eq(answer(scene, "t2"), "The second says so.");
	/* A new run of an old thread takes the newest. */
	kit_flotilla(scene->kit, "agents", "rollback", "clerk", NULL);
	submit(scene, "r3", "t3", "input");
	ck_assert_str_eq(wait_end(scene, "r3", "t3"), "success");
	ck_assert_str_eq(answer(scene, "t3"), "The first says so.");
}

START_TEST(a_run_keeps_the_version_that_it_started_with)
{
	act(play_middle);
}
END_TEST

static void
play_interrupt(struct scene *scene)
{
	kit_write(scene->kit, "go", "");
	apply(scene, "first", "interrupt_before: [tools]\n");
	submit(scene, "r1", "t", "input");
	ck_assert_str_eq(wait_end(scene, "r1", "t"), "interrupted");
	apply(scene, "second", "");
	restart_all(scene);
	submit(scene, "r2", "t", "resume");
	ck_assert_str_eq(wait_end(scene, "r2", "t"), "success");
	ck_assert_str_eq(answer(scene, "t"), "The first says so.");
	submit(scene, "r3", "other", "input");
	ck_assert_str_eq(wait_end(scene, "r3", "other"), "success");
	ck_assert_str_eq(answer(scene, "other"), "The second says so.");
}

START_TEST(what_is_resumed_goes_on_in_the_version_that_was_interrupted)
{
	act(play_interrupt);
}
END_TEST

static void
play_deleted(struct scene *scene)
{
	const struct value *run = NULL;

	apply(scene, "first", "");
	submit(scene, "r1", "t1", "input");
	ck_assert(client_wait(scene->client, is_held, scene, WAIT_MS));
	kit_flotilla(scene->kit, "agents", "delete", "clerk", NULL);
	submit(scene, "r2", "t2", "input");
	ck_assert_str_eq(wait_end(scene, "r2", "t2"), "refused");
	restart_all(scene);
	kit_write(scene->kit, "go", "");
	ck_assert_str_eq(wait_end(scene, "r1", "t1"), "success");
	kit_flotilla(scene->kit, "agents", "rollback", "clerk", NULL);
	submit(scene, "r3", "t3", "input");
	ck_assert_str_eq(wait_end(scene, "r3", "t3"), "success");
	store_run(scene->client->store, scene->arena, "t3", "r3", &run);
	ck_assert_ptr_nonnull(value_get_text(run, "version"));
}

START_TEST(a_deleted_agent_ends_no_run_and_comes_back)
{
	act(play_deleted);
}
END_TEST

/* --- the commands -------------------------------------------------------------------- */

static void
assert_says(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

static void
play_commands(struct scene *scene)
{
	const char *said, *error = NULL;
	const struct value *history;

	apply(scene, "first", "");
	apply(scene, "second", "recursion_limit: 7\n");
	said = kit_flotilla(scene->kit, "agents", "show", "clerk", NULL);
	assert_says(said, "# clerk, number 2, version ");
	assert_says(said, "\nrecursion_limit: 7\n");
	assert_says(said, "\nsystem_prompt: |\n  You are a clerk.\n");
	said = kit_flotilla(scene->kit, "agents", "show", "clerk@1", NULL);
	assert_says(said, "This is the first version.");
	said = kit_flotilla(scene->kit, "agents", "diff", "clerk", NULL);
	assert_says(said, "--- clerk@1\n+++ clerk@2\n");
	assert_says(said, "\n+recursion_limit: 7\n");
	assert_says(said, "\n-  This is the first version.\n");
	assert_says(said, "\n+  This is the second version.\n");
	ck_assert_ptr_null(strstr(said, "\n-  You are a clerk."));
	said = kit_flotilla(scene->kit, "agents", "diff", "clerk@2", "1", NULL);
	assert_says(said, "\n-recursion_limit: 7\n");
	said = kit_flotilla(scene->kit, "agents", "rollback", "clerk", "1", "--comment",
	    "the second lied", NULL);
	assert_says(said, "clerk is back at number 1");
	assert_says(said, ", as number 3\n");
	said = kit_flotilla(scene->kit, "agents", "history", "clerk", NULL);
	assert_says(said, "the second\n");
	assert_says(said, "back to 1: the second lied\n");
	assert_says(said, "@");
	said = kit_flotilla(scene->kit, "agents", "history", "clerk", "--json", NULL);
	history = json_parse(scene->arena, said, strlen(said), &error);
	ck_assert_uint_eq(value_size(history), 3);
	ck_assert_int_eq(value_get_int(value_at(history, 2), "number", 0), 3);
	ck_assert_str_eq(value_get_text(value_at(history, 2), "version"),
	    value_get_text(value_at(history, 0), "version"));
	/* What it shows is an agent file. */
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "shown.yaml",
		kit_flotilla(scene->kit, "agents", "show", "clerk@2", NULL)),
	    NULL);
	said = kit_flotilla(scene->kit, "agents", "history", "clerk", "--json", NULL);
	history = json_parse(scene->arena, said, strlen(said), &error);
	ck_assert_str_eq(value_get_text(value_at(history, 3), "version"),
	    value_get_text(value_at(history, 1), "version"));
	assert_says(kit_flotilla(scene->kit, "agents", "list", NULL), "clerk");
}

START_TEST(versions_are_shown_compared_and_taken_back)
{
	act(play_commands);
}
END_TEST

static const struct {
	const char *words[4];
	int status;
	const char *said;
} wrong[] = {
	{ { "show", "clerk@9" }, 3, "agent 'clerk' has no version '9'" },
	{ { "show", "clerk@abcdef" }, 3, "agent 'clerk' has no version 'abcdef'" },
	{ { "show", "clark" }, 3, "did you mean 'clerk'?" },
	{ { "show" }, 2, "usage: flotilla agents show" },
	{ { "history", "clark" }, 3, "did you mean 'clerk'?" },
	{ { "history" }, 2, "usage: flotilla agents history" },
	{ { "diff", "clerk" }, 3, "no version before its only one" },
	{ { "diff", "clerk", "7" }, 3, "has no version '7'" },
	{ { "diff" }, 2, "usage: flotilla agents diff" },
	{ { "rollback", "clerk" }, 3, "no version before its only one" },
	{ { "rollback", "clerk", "0" }, 3, "has no version '0'" },
	{ { "rollback" }, 2, "usage: flotilla agents rollback" },
	{ { "delete", "clark" }, 3, "did you mean 'clerk'?" },
	{ { "delete" }, 2, "usage: flotilla agents delete" },
	{ { "roll" }, 2, "agents knows no 'roll'" },
};

static void
play_wrong(struct scene *scene)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	size_t i;

	apply(scene, "first", "");
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *argv[10] = { "agents", "--redis", kit_redis(scene->kit) };
		size_t n = 3, j;
		struct said said;

		for (j = 0; j < 4 && wrong[i].words[j] != NULL; j++)
			argv[n++] = wrong[i].words[j];
		said = cli_run(&cli, NULL, argv);
		ck_assert_msg(said.status == wrong[i].status, "%zu: %d %s", i,
		    said.status, said.err);
		assert_says(said.err, wrong[i].said);
		ck_assert_ptr_eq(strchr(said.err, '\n'), strrchr(said.err, '\n'));
	}
}

/* As it was before there was that rule. */
static void
accept_file(struct scene *scene, const char *path)
{
	const struct spec *const *specs;
	struct store_apply apply = { .by = "ann@here", .expected = -1 };
	const char *error = NULL;
	uint64_t number;

	ck_assert_msg(
	    spec_load_file(scene->arena, path, &specs, &error) == 1, "%s", error);
	apply.name = specs[0]->name;
	apply.version = specs[0]->version;
	apply.source = specs[0]->source;
	ck_assert_int_eq(
	    store_apply_agent(scene->client->store, scene->arena, &apply, &number),
	    STORE_OK);
}

static void
play_named_as_builtin(struct scene *scene)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	const char *file = kit_write(scene->kit, "deep.yaml",
	    "name: deep\nmodel: scripted:s\ndeep_agent: true\ntools: [task]\n"
	    "script: {s: [{content: Still here.}]}\n");
	const char *const argv[] = { "agents", "apply", file, "--redis",
		kit_redis(scene->kit), NULL };
	struct said said = cli_run(&cli, NULL, argv);

	ck_assert_int_eq(said.status, 1);
	assert_says(said.err, "deep.yaml:4:9: a tool \"task\" would take the place");
	ck_assert_str_eq(said.out, "");
	accept_file(scene, file);
	said = cli_run(&cli, NULL, argv);
	ck_assert_msg(said.status == 0, "%s", said.err);
	assert_says(said.out, "still number 1");
	assert_says(said.err, "runs on as it is");
	assert_says(kit_flotilla(scene->kit, "submit", "deep", "hi", "--wait", NULL),
	    "Still here.");
}

START_TEST(an_agent_that_would_be_refused_now_runs_on)
{
	act(play_named_as_builtin);
}
END_TEST

START_TEST(a_wrong_version_is_one_message)
{
	act(play_wrong);
}
END_TEST

TCase *
tcase_agents(void)
{
	TCase *tcase = tcase_create("agents");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_run_keeps_the_version_that_it_started_with);
	tcase_add_test(
	    tcase, what_is_resumed_goes_on_in_the_version_that_was_interrupted);
	tcase_add_test(tcase, a_deleted_agent_ends_no_run_and_comes_back);
	tcase_add_test(tcase, versions_are_shown_compared_and_taken_back);
	tcase_add_test(tcase, a_wrong_version_is_one_message);
	tcase_add_test(tcase, an_agent_that_would_be_refused_now_runs_on);
	return tcase;
}
