/* A fleet with keys on every socket and users in Redis: it works, and who may not come in
 * does not. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "kit_tls.h"
#include "secure_kit.h"
#include "store.h"

TCase *tcase_security(void);

static struct secure_kit secure;

static const char agent_text[] =
    "name: clerk\n"
    "model: scripted:m\n"
    "tools: [work]\n"
    "script:\n"
    "  m:\n"
    "    - {content: '', tool_calls: [{id: a, name: work, args: {}}]}\n"
    "    - {content: All is done.}\n";

/* The first to run it hangs. */
static const char tool_text[] = "name: work\n"
				"description: works\n"
				"input: none\n"
				"command: |\n"
				"  if mkdir %s/first 2>/dev/null; then sleep 600; fi\n"
				"  echo worked\n";

static void
setup(void)
{
	secure_start(&secure);
	kit_write(secure.kit, "clerk.yaml", agent_text);
	kit_flag(secure.kit, KIT_TOOLS, "--tools",
	    kit_write(secure.kit, "work.yaml",
		arena_printf(secure.arena, tool_text, kit_path(secure.kit, "."))));
}

static void
teardown(void)
{
	secure_stop(&secure);
}

static void
apply(void)
{
	SECURE_EXPECT(&secure, "agents", "apply", kit_path(secure.kit, "clerk.yaml"));
}

/* The tool does not hang for anybody. */
static void
mark_first(void)
{
	const struct cli mkdir = { "mkdir", NULL, secure.arena };

	CLI(&mkdir, kit_path(secure.kit, "first"));
}

static const char *
run_to_end(void)
{
	return SECURE_EXPECT(&secure, "submit", "clerk", "Go", "--wait");
}

/* The library is the coordinators' to load; the command line finds it loaded. */
static void
check_acl_log(const char *log)
{
	const char *object = "\nobject\n", *loading = "function|load\nusername\ncli\n";
	const char *at;

	for (at = log; (at = strstr(at, object)) != NULL; at += strlen(object))
		ck_assert_msg(strncmp(at + strlen(object), loading, strlen(loading)) == 0,
		    "%s", log);
}

/* Whatever path a run takes. */
START_TEST(every_command_of_the_library_is_allowed)
{
	const struct said said = CLI(&secure.flotilla, "keys", "redis-acl");
	const char *call = "call('", *at = store_library(), *users = said.out;
	unsigned checked = 0;

	while ((at = strstr(at, call)) != NULL) {
		const char *verb, *found;
		size_t size;

		at += strlen(call);
		size = strcspn(at, "'");
		verb = arena_printf(secure.arena, " +%.*s", (int)size, at);
		found = strcasestr(users, verb);
		ck_assert_msg(found != NULL && strchr(" |", found[size + 2]) != NULL,
		    "%s is missing in: %s", verb, users);
		checked++;
	}
	ck_assert_uint_gt(checked, 50);
}
END_TEST

START_TEST(a_run_ends_on_a_fleet_with_keys_and_redis_users)
{
	mark_first();
	kit_start_all(secure.kit, 1, 1, 1);
	apply();
	ck_assert_str_eq(run_to_end(), "All is done.\n");
	/* What operators do with it works with the client's rights, too. */
	ck_assert_ptr_nonnull(strstr(SECURE_EXPECT(&secure, "runs"), "success"));
	SECURE_EXPECT(&secure, "top", "--once");
	SECURE_EXPECT(&secure, "metrics", "--once");
	SECURE_EXPECT(&secure, "agents", "list");
	/* Nobody has asked Redis for more than it may. */
	check_acl_log(SECURE_ASK(&secure, "ACL", "LOG"));
}
END_TEST

/* The user and the password of url, at Redis's TLS port. */
static const char *
by_tls(const char *url, const char *port)
{
	const char *user = url + strlen("unix://");

	return kit_tls_url(secure.kit, secure.arena, port,
	    arena_copy(secure.arena, user, strcspn(user, "@") + 1));
}

START_TEST(a_run_ends_with_redis_by_tls)
{
	const char *port = kit_have_tls(secure.kit, secure.arena);

	mark_first();
	secure.redis_cli = by_tls(secure.redis_cli, port);
	kit_flag(secure.kit, KIT_COORDINATOR, "--redis",
	    by_tls(secure.redis_coordinator, port));
	kit_start_all(secure.kit, 1, 1, 1);
	apply();
	ck_assert_str_eq(run_to_end(), "All is done.\n");
	/* Who is still there is the coordinator. */
	ck_assert_ptr_nonnull(strstr(SECURE_ASK(&secure, "CLIENT", "LIST"),
	    arena_printf(secure.arena, " laddr=127.0.0.1:%s ", port)));
}
END_TEST

START_TEST(the_command_line_cannot_change_what_coordinators_run)
{
	const struct cli redis = { "redis-cli", NULL, secure.arena };
	const char *password = strchr(secure.redis_cli + strlen("unix://"), ':') + 1;
	struct said said;

	kit_start(secure.kit, KIT_REDIS, 0);
	said = CLI(&redis, "-s", kit_redis(secure.kit) + strlen("unix://"), "--user",
	    "cli", "--pass", arena_copy(secure.arena, password, strcspn(password, "@")),
	    "FUNCTION", "LOAD", "REPLACE", "#!lua name=flotilla\n");
	ck_assert_ptr_nonnull(strstr(said.out, "NOPERM"));
	said =
	    CLI(&redis, "-s", kit_redis(secure.kit) + strlen("unix://"), "GET", "fl:x");
	ck_assert_ptr_nonnull(strstr(said.out, "NOAUTH"));
}
END_TEST

START_TEST(a_key_that_is_not_allowed_is_refused_and_told_so)
{
	kit_start(secure.kit, KIT_BROKER, 0);
	kit_flag(secure.kit, KIT_TOOLS, "--key", secure_new_key(&secure, "stranger"));
	kit_start(secure.kit, KIT_TOOLS, 0);
	secure_wait_log(&secure, "the broker refused this key");
	secure_wait_log(&secure, "key refused key=");
	ck_assert_ptr_null(strstr(secure_log(&secure), "worker up"));
}
END_TEST

START_TEST(a_broker_with_another_key_is_told_from_ours)
{
	kit_start(secure.kit, KIT_BROKER, 0);
	kit_flag(secure.kit, KIT_TOOLS, "--broker-key",
	    arena_printf(secure.arena, "%s.pub", secure.fleet_key));
	kit_start(secure.kit, KIT_TOOLS, 0);
	secure_wait_log(&secure, "the broker's key is another than --broker-key says");
}
END_TEST

START_TEST(a_role_that_the_key_has_not_is_named)
{
	kit_start(secure.kit, KIT_BROKER, 0);
	kit_flag(secure.kit, KIT_TOOLS, "--key", secure.client_key);
	kit_start(secure.kit, KIT_TOOLS, 0);
	secure_wait_log(&secure, "this key does not allow the role worker");
}
END_TEST

START_TEST(a_revoked_workers_calls_run_elsewhere)
{
	const char *key = secure_new_key(&secure, "tools-1");
	struct cli_job *submitted;
	struct said said;

	SECURE_EXPECT(&secure, "keys", "allow", key, "--allow", secure.allow, "--role",
	    "worker", "--service", "tool:*,tools");
	kit_start_all(secure.kit, 0, 1, 1);
	kit_flag(secure.kit, KIT_TOOLS, "--key", key);
	kit_start(secure.kit, KIT_TOOLS, 0);
	apply();
	submitted = CLI_START(&secure.flotilla, "submit", "clerk", "Go", "--wait",
	    "--redis", secure.redis_cli);
	secure_wait_file(kit_path(secure.kit, "first"));
	kit_flag(secure.kit, KIT_TOOLS, "--key", secure.fleet_key);
	kit_start(secure.kit, KIT_TOOLS, 1);
	SECURE_EXPECT(&secure, "keys", "revoke", "tools-1", "--allow", secure.allow);
	said = cli_end(&submitted);
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(said.out, "All is done.\n");
	secure_wait_log(&secure, "this key is not on the broker's allow list");
	kit_kill(secure.kit, KIT_TOOLS, 0); /* what it runs would hold its end up */
}
END_TEST

START_TEST(a_revoked_reader_hears_no_more_of_the_status_channel)
{
	struct cli_job *watching;
	const char *ops = secure_new_key(&secure, "ops");

	mark_first();
	SECURE_EXPECT(
	    &secure, "keys", "allow", ops, "--allow", secure.allow, "--role", "client");
	kit_start_all(secure.kit, 1, 1, 1);
	apply();
	watching = CLI_START(&secure.flotilla, "watch", "--json", "--status",
	    kit_status(secure.kit), "--key", ops, "--broker-key",
	    arena_printf(secure.arena, "%s.pub", secure.broker_key));
	while (strstr(cli_out(watching), "finished") == NULL)
		run_to_end();
	SECURE_EXPECT(&secure, "keys", "revoke", "ops", "--allow", secure.allow);
	secure_wait_log(&secure, "the status channel is bound anew");
	secure_wait_log(&secure, "for=status");
	secure_wait_err(
	    watching, "the broker refused this key"); /* later than the broker */
	cli_signal(watching, 2);
	cli_end(&watching);
	ck_assert_str_eq(run_to_end(), "All is done.\n"); /* all others are back */
}
END_TEST

START_TEST(a_broken_list_changes_nothing_and_is_said)
{
	kit_start_all(secure.kit, 0, 0, 0);
	kit_write(secure.kit, "allow.yaml", "keys:\n- {key: x}\n");
	secure_wait_log(&secure, "the allow list before stays in force");
	secure_wait_log(&secure, "allow.yaml:2:9: a key is 40 characters");
	SECURE_EXPECT(&secure, "top", "--once");
}
END_TEST

/* Whichever it is that libzmq sees first. */
START_TEST(who_has_no_key_is_told_one_reason)
{
	struct said said;
	const char *first;

	kit_start_all(secure.kit, 0, 0, 0);
	said = CLI(&secure.flotilla, "health", "broker", "--broker",
	    kit_broker(secure.kit), "--wait-ms", "4000");
	ck_assert_int_eq(said.status, 1);
	ck_assert_msg(strstr(said.err, "the broker wants a key") != NULL, "%s", said.err);
	first = strstr(said.err, "not let in");
	ck_assert_msg(strstr(first + 1, "not let in") == NULL, "%s", said.err);
}
END_TEST

/* As an editor leaves it for a moment, or a full disk for longer. */
START_TEST(an_emptied_list_changes_nothing_and_is_said)
{
	kit_start_all(secure.kit, 0, 0, 0);
	ck_assert_int_eq(truncate(secure.allow, 0), 0);
	secure_wait_log(&secure, "allow.yaml is empty: the allow list before stays in "
				 "force");
	SECURE_EXPECT(&secure, "top", "--once");
	kit_write(secure.kit, "allow.yaml", "keys: []\n");
	secure_wait_log(&secure, "keys=0");
	ck_assert_int_ne(SECURE_RUN(&secure, "top", "--once").status, 0);
}
END_TEST

START_TEST(half_of_the_settings_is_refused)
{
	const struct cli broker = { kit_program(secure.kit, "broker"), NULL,
		secure.arena };
	const struct cli worker = { kit_program(secure.kit, "worker-tools"), NULL,
		secure.arena };
	struct said said = CLI(&broker, "--key", secure.broker_key);

	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "--allow FILE"));
	said = CLI(&broker, "--allow", secure.allow);
	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "--key FILE"));
	said = CLI(&worker, "--key", secure.fleet_key);
	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "--broker-key"));
	said = CLI(&worker, "--broker-key", secure.broker_key);
	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "--key FILE"));
	said = CLI(&secure.flotilla, "top", "--key", secure.client_key);
	ck_assert_int_eq(said.status, 2);
	ck_assert_ptr_nonnull(strstr(said.err, "--broker-key"));
}
END_TEST

TCase *
tcase_security(void)
{
	TCase *tcase = tcase_create("security");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_run_ends_on_a_fleet_with_keys_and_redis_users);
	tcase_add_test(tcase, a_run_ends_with_redis_by_tls);
	tcase_add_test(tcase, every_command_of_the_library_is_allowed);
	tcase_add_test(tcase, the_command_line_cannot_change_what_coordinators_run);
	tcase_add_test(tcase, a_key_that_is_not_allowed_is_refused_and_told_so);
	tcase_add_test(tcase, a_broker_with_another_key_is_told_from_ours);
	tcase_add_test(tcase, a_role_that_the_key_has_not_is_named);
	tcase_add_test(tcase, a_revoked_workers_calls_run_elsewhere);
	tcase_add_test(tcase, a_revoked_reader_hears_no_more_of_the_status_channel);
	tcase_add_test(tcase, a_broken_list_changes_nothing_and_is_said);
	tcase_add_test(tcase, who_has_no_key_is_told_one_reason);
	tcase_add_test(tcase, an_emptied_list_changes_nothing_and_is_said);
	tcase_add_test(tcase, half_of_the_settings_is_refused);
	return tcase;
}
