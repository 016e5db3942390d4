/* What flags of `flotilla submit` say of a run: shown and found again, or refused. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "bounds.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"

TCase *tcase_submit_flags(void);

#define WAIT_MS 60000u

static const char agents[] = "name: echo\n"
			     "model: scripted:s\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: Done.\n";

static bool
is_delayed(void *arg)
{
	struct fleet_client *client = arg;
	struct arena *arena = arena_new();
	const struct value *run = NULL;
	bool is;

	store_run(client->store, arena, "r3", "r3", &run);
	is = value_text_is(value_get(run, "status"), "delayed");
	arena_destroy(&arena);
	return is;
}

static void
check_run(struct fleet_client *client, const char *thread, const char *id,
    const char *status, int64_t limit)
{
	struct arena *arena = arena_new();
	const struct value *run = NULL;

	ck_assert_msg(client_wait_end(client, thread, id, WAIT_MS), "%s", id);
	store_run(client->store, arena, thread, id, &run);
	ck_assert_str_eq(value_get_text(run, "status"), status);
	ck_assert_int_eq(
	    value_get_int(value_get(run, "options"), "recursion_limit", 0), limit);
	arena_destroy(&arena);
}

static const char two_steps[] =
    "name: two\nmodel: scripted:s\n"
    "middleware: [{lua: {name: l, code: 'before_model = function() end'}}]\n"
    "script: {s: [{content: Done.}]}\n";

/* A run of two steps needs three, and one that goes on has two more. */
static void
play_limited(struct fleet_client *client, struct fleet_kit *kit)
{
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "two.yaml", two_steps), NULL);
	kit_flotilla(
	    kit, "submit", "two", "hi", "--run-id", "l1", "--recursion-limit", "1", NULL);
	check_run(client, "l1", "l1", "error", 1);
	kit_flotilla(kit, "retry", "l1", "--run-id", "l2", NULL);
	check_run(client, "l1", "l2", "success", 1);
	kit_flotilla(
	    kit, "resume", "r4", "--run-id", "l3", "--recursion-limit", "7", NULL);
	check_run(client, "r4", "l3", "success", 7);
}

static void
play_shown(struct fleet_client *client, void *arg)
{
	struct fleet_kit *kit = arg;
	const char *said;

	kit_flotilla(kit, "submit", "echo", "hi", "--wait", "--run-id", "r1",
	    "--metadata", "customer=c 17", "--metadata", "order=7", "--tenant", "acme",
	    "--priority", "1", "--deadline", "10m", NULL);
	kit_flotilla(kit, "submit", "echo", "hi", "--wait", "--run-id", "r2", NULL);
	kit_flotilla(
	    kit, "submit", "echo", "hi", "--run-id", "r3", "--after", "2h", NULL);
	ck_assert_msg(
	    client_wait(client, is_delayed, client, WAIT_MS), "r3 was never delayed");
	said = kit_flotilla(kit, "runs", NULL);
	ck_assert_ptr_nonnull(
	    strstr(said, "priority=1 tenant=acme customer=c 17 order=7"));
	ck_assert_ptr_nonnull(strstr(said, "starts "));
	said = kit_flotilla(kit, "runs", "--metadata", "customer=c 17", NULL);
	ck_assert_ptr_nonnull(strstr(said, "r1"));
	ck_assert_ptr_null(strstr(said, "r2"));
	said = kit_flotilla(kit, "runs", "--tenant", "acme", NULL);
	ck_assert_ptr_nonnull(strstr(said, "r1"));
	ck_assert_ptr_null(strstr(said, "r2"));
	said = kit_flotilla(kit, "runs", "--state", "delayed", NULL);
	ck_assert_ptr_nonnull(strstr(said, "r3"));
	ck_assert_ptr_null(strstr(said, "r2"));
	said = kit_flotilla(kit, "runs", "--metadata", "customer=other", NULL);
	ck_assert_ptr_null(strstr(said, "r1"));
	kit_flotilla(kit, "submit", "echo", "hi", "--run-id", "r4", "--interrupt-before",
	    "model", "--interrupt-before", "*", "--interrupt-after", "model", NULL);
	ck_assert(client_wait_end(client, "r4", "r4", WAIT_MS));
	said = kit_flotilla(kit, "runs", "--state", "interrupted", NULL);
	ck_assert_ptr_nonnull(strstr(said, "r4"));
	play_limited(client, kit);
}

START_TEST(what_a_submission_says_is_shown_and_found)
{
	struct fleet_kit *kit = kit_new();

	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(kit), play_shown, kit);
	kit_destroy(&kit);
}
END_TEST

START_TEST(a_file_may_have_middleware_of_its_own)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const char *plugin = kit_built(kit, "plugins/thrifty.so");
	const char *file = kit_write(kit, "own.yaml",
	    arena_printf(
		arena, "%smiddleware:\n  - thrifty: {max_tokens: 100}\n", agents));
	const struct cli flotilla = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	struct said said;

	kit_flag(kit, KIT_TOOLS, "--plugin", plugin);
	kit_flag(kit, KIT_MODEL, "--plugin", plugin);
	kit_flag(kit, KIT_COORDINATOR, "--plugin", plugin);
	kit_start_all(kit, 1, 1, 1);
	said = CLI(&flotilla, "submit", file, "hi", "--plugin", "none.so");
	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "--plugin none.so: "));
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(kit, "submit", file, "hi", "--wait", "--plugin", plugin, NULL),
	    "Done."));
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

static const struct {
	const char *flag, *value, *said;
} wrong[] = {
	{ "--after", "soon", "--after 'soon': must be a number with its unit" },
	{ "--after", "90", "with its unit" },
	{ "--after", "9000d", "--after '9000d': must be at most 365d" },
	{ "--after", "99999999999999999999d", "must be at most 365d" },
	{ "--ttl", "3661d", "--ttl '3661d': must be at most 3660d" },
	{ "--at", "tomorrow", "at 'tomorrow': must be a time such as" },
	{ "--deadline", "0s", "--deadline '0s': must be at least 1ms" },
	{ "--priority", "9", "0 to 4" },
	{ "--recursion-limit", "0", "--recursion-limit" },
	{ "--tenant", "a b", "tenant: must be" },
	{ "--webhook", "example.com", "webhook: must be a URL" },
	{ "--input", "{\"messages\": [}", "--input is not valid JSON: line 1, column" },
	{ "--context", "{oops", "--context is not valid JSON: line 1, column" },
	{ "--metadata", "alone", "--metadata 'alone': must be NAME=TEXT" },
	/* The text would be dropped. */
	{ "--input", "{}", "--input is the whole input: leave out 'hi'" },
	{ "--wait", "caf\xe9", "the text is not UTF-8 (its byte 7 is not); `iconv" },
};

START_TEST(a_wrong_flag_is_one_message)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const struct cli cli = {
		.program = kit_program(kit, "flotilla"),
		.arena = arena,
	};
	const struct said said =
	    CLI(&cli, "submit", "echo", "hi", wrong[_i].flag, wrong[_i].value);

	ck_assert_int_eq(said.status, 2);
	ck_assert_msg(strstr(said.err, wrong[_i].said) != NULL, "%s", said.err);
	ck_assert_ptr_eq(strchr(said.err, '\n'), strrchr(said.err, '\n'));
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

START_TEST(a_text_that_is_too_large_is_not_submitted)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	char *text = arena_alloc(arena, INPUT_BYTES_MAX + 2);
	struct said said;

	memset(text, 'a', INPUT_BYTES_MAX + 1);
	text[INPUT_BYTES_MAX + 1] = '\0';
	said = cli_run(&cli, text, (const char *const[]){ "submit", "echo", NULL });
	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "the text is larger than 8388608 bytes"));
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_submit_flags(void)
{
	TCase *tcase = tcase_create("submit_flags");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_a_submission_says_is_shown_and_found);
	tcase_add_test(tcase, a_file_may_have_middleware_of_its_own);
	tcase_add_test(tcase, a_text_that_is_too_large_is_not_submitted);
	tcase_add_loop_test(
	    tcase, a_wrong_flag_is_one_message, 0, (int)(sizeof wrong / sizeof *wrong));
	return tcase;
}
