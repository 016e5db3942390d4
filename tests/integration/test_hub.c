/* A broker and a coordinator in one process. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "intruder.h"
#include "secure_kit.h"

TCase *tcase_hub(void);
TCase *tcase_hub_keys(void);

/* A tool that notes each of its beginnings and waits for a file. */
static const char tool_text[] = "name: work\n"
				"description: works\n"
				"input: none\n"
				"idempotent: false\n"
				"command: |\n"
				"  echo begun >> %s/begun\n"
				"  await-file there %s/gate\n"
				"  echo worked\n";

static const char agent_text[] =
    "name: clerk\n"
    "model: scripted:m\n"
    "tools: [work]\n"
    "%s"
    "script:\n"
    "  m:\n"
    "    - {content: '', tool_calls: [{id: a, name: work, args: {}}]}\n"
    "    - {content: All is done.}\n"
    "  nested: [{content: Instead of the tool.}]\n";

/* --- without keys ----------------------------------------------------------------------- */

static struct fleet_kit *kit;
static struct arena *arena;
static struct cli flotilla;

static void
write_files(struct fleet_kit *at, struct arena *texts, const char *middleware)
{
	const char *folder = kit_path(at, ".");

	kit_write(at, "clerk.yaml", arena_printf(texts, agent_text, middleware));
	kit_flag(at, KIT_TOOLS, "--tools",
	    kit_write(at, "work.yaml", arena_printf(texts, tool_text, folder, folder)));
}

static void
setup(void)
{
	kit = kit_new();
	arena = arena_new();
	flotilla = (struct cli){ kit_program(kit, "flotilla"), NULL, arena };
	kit_have_hub(kit);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static void
open_gate(void)
{
	kit_write(kit, "gate", "");
}

static void
start(unsigned coordinators)
{
	kit_start_all(kit, 1, 1, coordinators);
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "clerk.yaml"), "--plugin",
	    kit_built(kit, "plugins/asks_model.so"), NULL);
}

static struct cli_job *
submit(const char *thread)
{
	return CLI_START(&flotilla, "submit", "clerk", "Go", "--wait", "-t", thread,
	    "--redis", kit_redis(kit));
}

static void
require_end(struct cli_job *job)
{
	struct said said = cli_end(&job);

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.out, "All is done.\n");
}

static struct said
ask_broker(const char *command, const char *flag)
{
	return CLI(&flotilla, command, flag, "--json", "--redis", kit_redis(kit),
	    "--broker", kit_broker(kit), "--status", kit_status(kit));
}

static void
require_in(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

static void
require_begun(const char *lines)
{
	const struct cli cat = { "cat", NULL, arena };

	ck_assert_str_eq(CLI(&cat, kit_path(kit, "begun")).out, lines);
}

static void
require_begun_once(void)
{
	require_begun("begun\n");
}

/* What would lead a coordinator elsewhere leads a hub nowhere. */
START_TEST(a_run_with_calls_of_the_fleets_own_ends_on_a_hub)
{
	kit_env(kit, KIT_BROKER, "FLOTILLA_BROKER=tcp://127.0.0.1:1");
	kit_env(kit, KIT_BROKER, "FLOTILLA_BROKER_KEY=none");
	write_files(kit, arena, "");
	open_gate();
	start(0);
	require_end(submit("one"));
	require_begun_once();
	require_in(ask_broker("top", "--once").out, "\"hub-0-coordinator\"");
	require_in(ask_broker("top", "--once").out, "\"hub-0-broker\"");
}
END_TEST

/* The answer of a model to a tool worker takes the same way back. */
START_TEST(a_tool_worker_asks_a_model_through_a_hub)
{
	const char *plugin = kit_built(kit, "plugins/asks_model.so");
	struct said said;

	kit_flag(kit, KIT_COORDINATOR, "--plugin", plugin);
	kit_flag(kit, KIT_TOOLS, "--plugin", plugin);
	kit_flag(kit, KIT_MODEL, "--plugin", plugin);
	write_files(
	    kit, arena, "middleware: [{asks_model: {model: 'scripted:nested'}}]\n");
	start(0);
	require_end(submit("one"));
	said = CLI(&flotilla, "state", "one", "--redis", kit_redis(kit));
	require_in(said.out, "Instead of the tool.");
}
END_TEST

/* It could wait ten minutes for it: what would it be for? */
START_TEST(a_hub_that_ends_does_not_wait_for_the_calls_of_its_own_runs)
{
	struct cli_job *job;

	kit_flag(kit, KIT_BROKER, "--drain-ms", "600000");
	write_files(kit, arena, "");
	start(0);
	job = submit("one");
	secure_wait_file(kit_path(kit, "begun"));
	kit_stop(kit, KIT_BROKER, 0);
	kit_start(kit, KIT_BROKER, 0);
	open_gate();
	require_end(job);
	require_begun_once();
}
END_TEST

/* Each gives it back as what no worker has begun, and has it from the one before. */
START_TEST(a_call_that_no_worker_began_is_new_to_the_third_hub)
{
	struct cli_job *first, *second;
	unsigned i;

	kit_flag(kit, KIT_TOOLS, "--slots", "1");
	write_files(kit, arena, "");
	start(0);
	first = submit("one");
	secure_wait_file(kit_path(kit, "begun"));
	second = submit("two");
	for (i = 0; i < 2; i++) {
		while (strstr(ask_broker("top", "--once").out,
			   "\"queued\":1,\"assigned\":1") == NULL)
			usleep(10000);
		kit_stop(kit, KIT_BROKER, 0);
		kit_start(kit, KIT_BROKER, 0);
	}
	open_gate();
	require_end(first);
	require_end(second);
	require_begun("begun\nbegun\n");
}
END_TEST

START_TEST(parts_of_a_hub_with_a_long_name_have_names_of_their_own)
{
	char name[121]; /* the longest */

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	kit_flag(kit, KIT_BROKER, "--name", name);
	kit_start_all(kit, 0, 0, 0);
	require_in(ask_broker("top", "--once").out, "nnn-coordinator\"");
	require_in(ask_broker("top", "--once").out, "nnn-coordinator-store\"");
	require_in(ask_broker("top", "--once").out, "nnn-broker\"");
}
END_TEST

/* The bytes of the intruder are those of a coordinator: here nobody minds. */
START_TEST(without_keys_anybody_is_a_coordinator)
{
	int fd;

	kit_start_all(kit, 0, 0, 0);
	fd = intruder_knock(kit_broker(kit), (enum intruder_way)_i);
	while (strstr(ask_broker("top", "--once").out, "\"intruder\"") == NULL)
		usleep(10000);
	close(fd);
}
END_TEST

/* --- with keys -------------------------------------------------------------------------- */

static struct secure_kit secure;

static void
setup_keys(void)
{
	secure_start(&secure);
	kit_have_hub(secure.kit);
}

static void
teardown_keys(void)
{
	secure_stop(&secure);
}

static void
allow_hub(const char *role)
{
	SECURE_EXPECT(&secure, "keys", "allow", secure.broker_key, "--allow",
	    secure.allow, "--role", role);
}

START_TEST(a_hub_with_keys_has_the_role_its_list_gives_it)
{
	allow_hub("coordinator");
	write_files(secure.kit, secure.arena, "");
	kit_write(secure.kit, "gate", "");
	kit_start_all(secure.kit, 1, 1, 0);
	SECURE_EXPECT(&secure, "agents", "apply", kit_path(secure.kit, "clerk.yaml"));
	ck_assert_str_eq(
	    SECURE_EXPECT(&secure, "submit", "clerk", "Go", "--wait"), "All is done.\n");
	require_in(SECURE_EXPECT(&secure, "top", "--once"), "hub-0-coordinator");
}
END_TEST

static void
require_no_start(void)
{
	const struct cli hub = { kit_program(secure.kit, "hub"), NULL, secure.arena };
	struct said said = CLI(&hub, "--bind", kit_broker(secure.kit), "--status-bind",
	    kit_status(secure.kit), "--key", secure.broker_key, "--allow", secure.allow);

	ck_assert_int_eq(said.status, 1);
	require_in(said.err, "this hub's own, be a coordinator: flotilla keys allow");
}

START_TEST(a_hub_that_its_own_list_does_not_let_in_does_not_start)
{
	require_no_start();
	allow_hub("client");
	require_no_start();
}
END_TEST

START_TEST(a_hub_whose_key_is_revoked_says_so_until_it_is_back)
{
	allow_hub("coordinator");
	kit_start_all(secure.kit, 0, 0, 0);
	SECURE_EXPECT(&secure, "keys", "revoke", "broker", "--allow", secure.allow);
	secure_wait_log(&secure, "this key is not on the broker's allow list");
	allow_hub("coordinator");
	while (
	    strstr(SECURE_EXPECT(&secure, "top", "--once"), "hub-0-coordinator") == NULL)
		usleep(10000);
}
END_TEST

static const char *
behind(const char *text, const char *words, unsigned times)
{
	for (; text != NULL && times > 0; times--) {
		text = strstr(text, words);
		text = text == NULL ? NULL : text + strlen(words);
	}
	return text;
}

/* No key is the key of the hub itself only for who is inside. */
static void
require_refusal(int fd)
{
	/* The greeting, and less than any message of ours. */
	ck_assert_uint_le(intruder_await_refusal(fd), 64);
	ck_assert_ptr_null(strstr(SECURE_EXPECT(&secure, "top", "--once"), "intruder"));
}

START_TEST(who_has_no_key_is_not_taken_for_who_is_inside)
{
	const char *calls = kit_broker(secure.kit), *status = kit_status(secure.kit);
	enum intruder_way way;

	allow_hub("coordinator");
	kit_start_all(secure.kit, 0, 0, 0);
	for (way = 0; way < INTRUDER_WAYS; way++) {
		require_refusal(intruder_knock(calls, way));
		ck_assert_uint_le(
		    intruder_await_refusal(intruder_subscribe(status, way)), 64);
	}
}
END_TEST

START_TEST(a_strangers_key_is_refused_by_a_hub)
{
	allow_hub("coordinator");
	kit_start_all(secure.kit, 0, 0, 0);
	kit_flag(secure.kit, KIT_TOOLS, "--key", secure_new_key(&secure, "stranger"));
	kit_start(secure.kit, KIT_TOOLS, 0);
	secure_wait_log(&secure, "the broker refused this key");
	secure_wait_log(&secure, "key refused key=");
	ck_assert_ptr_null(strstr(secure_log(&secure), "name=worker-tools"));
}
END_TEST

START_TEST(sighup_reads_a_hubs_allow_list_anew)
{
	const char *read_again = "allow list read";

	allow_hub("coordinator");
	kit_start_all(secure.kit, 0, 0, 0);
	ck_assert_ptr_null(behind(secure_log(&secure), read_again, 2));
	kit_signal(secure.kit, KIT_BROKER, 0, SIGHUP);
	while (behind(secure_log(&secure), read_again, 2) == NULL)
		usleep(10000);
	SECURE_EXPECT(&secure, "top", "--once");
}
END_TEST

TCase *
tcase_hub(void)
{
	TCase *tcase = tcase_create("hub");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_run_with_calls_of_the_fleets_own_ends_on_a_hub);
	tcase_add_test(tcase, a_tool_worker_asks_a_model_through_a_hub);
	tcase_add_test(
	    tcase, a_hub_that_ends_does_not_wait_for_the_calls_of_its_own_runs);
	tcase_add_test(tcase, a_call_that_no_worker_began_is_new_to_the_third_hub);
	tcase_add_test(tcase, parts_of_a_hub_with_a_long_name_have_names_of_their_own);
	tcase_add_loop_test(
	    tcase, without_keys_anybody_is_a_coordinator, 0, INTRUDER_CLAIMS);
	return tcase;
}

TCase *
tcase_hub_keys(void)
{
	TCase *tcase = tcase_create("hub_keys");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup_keys, teardown_keys);
	tcase_add_test(tcase, a_hub_with_keys_has_the_role_its_list_gives_it);
	tcase_add_test(tcase, a_hub_that_its_own_list_does_not_let_in_does_not_start);
	tcase_add_test(tcase, a_hub_whose_key_is_revoked_says_so_until_it_is_back);
	tcase_add_test(tcase, who_has_no_key_is_not_taken_for_who_is_inside);
	tcase_add_test(tcase, a_strangers_key_is_refused_by_a_hub);
	tcase_add_test(tcase, sighup_reads_a_hubs_allow_list_anew);
	return tcase;
}
