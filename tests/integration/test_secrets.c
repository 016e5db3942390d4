/* Secrets that are put into a fleet are nowhere but where they were put: not in what its
 * processes say at their loudest, not in Redis or its files, not in what commands print. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "key_file.h"
#include "play_provider.h"
#include "secure_kit.h"
#include "secure_traces.h"

TCase *tcase_secrets(void);

#define PROVIDER_KEY "sk-MARKER0provider0key0Zq7"
#define TOOL_TOKEN "MARKER0tool0token0Xw9"

static struct secure_kit secure;
static struct child *provider;

static const char agents_text[] = "name: good\n"
				  "model: openai:good\n"
				  "tools: [work]\n"
				  "---\n"
				  "name: refused\n"
				  "model: openai:refused\n"
				  "---\n"
				  "name: failing\n"
				  "model: openai:failing\n"
				  "tools: [fail]\n";

static const char tools_text[] = "name: work\n"
				 "description: works\n"
				 "input: none\n"
				 "environment: [TOOL_TOKEN]\n"
				 "command: echo \"$(env | wc -l) variables\"\n"
				 "---\n"
				 "name: fail\n"
				 "description: fails\n"
				 "input: none\n"
				 "environment: [TOOL_TOKEN]\n"
				 "command: exit 3\n";

/* The provider echoes the key it was given, as some do. */
static const char script_text[] =
    "{\"good\": [{\"tool_calls\": [{\"id\": \"a\", \"name\": \"work\", \"args\": {}}]},"
    " {\"content\": \"All is done.\"}],"
    "\"refused\": [{\"http_error\": 401, \"message\": \"Incorrect API key provided: "
    "Bearer " PROVIDER_KEY ". See the docs.\"}],"
    "\"failing\": [{\"tool_calls\": [{\"id\": \"b\", \"name\": \"fail\", \"args\": {}}]},"
    " {\"content\": \"It failed.\"}]}";

static void
setup(void)
{
	const char *url;

	secure_start(&secure);
	provider = play_provider(secure.kit, secure.arena, script_text, &url);
	play_openai(secure.kit, secure.arena, url, PROVIDER_KEY);
	kit_env(secure.kit, KIT_TOOLS, "TOOL_TOKEN=" TOOL_TOKEN);
	kit_flag(secure.kit, KIT_TOOLS, "--tools",
	    kit_write(secure.kit, "tools.yaml", tools_text));
	kit_start_all(secure.kit, 1, 1, 1);
	SECURE_EXPECT(&secure, "agents", "apply",
	    kit_write(secure.kit, "agents.yaml", agents_text));
}

static void
teardown(void)
{
	child_stop(&provider);
	secure_stop(&secure);
}

/* --- looking for them ------------------------------------------------------------------- */

/* What must be nowhere, and where it may be: a file of ours, or NULL. */
struct secret {
	const char *text, *home;
};

static const char *
secret_of(const char *path)
{
	struct key_pair pair;
	const char *error;

	ck_assert_int_eq(key_file_load(path, &pair, &error), 0);
	return arena_strdup(secure.arena, pair.secret_key);
}

static const char *
password_in(const char *url)
{
	const char *from = strchr(url + strlen("unix://"), ':') + 1;

	return arena_copy(secure.arena, from, strcspn(from, "@"));
}

static void
list_secrets(struct secret secrets[8])
{
	secrets[0] = (struct secret){ PROVIDER_KEY, "script.json" };
	secrets[1] = (struct secret){ TOOL_TOKEN, NULL };
	secrets[2] = (struct secret){ secret_of(secure.broker_key), "broker.key" };
	secrets[3] = (struct secret){ secret_of(secure.fleet_key), "fleet.key" };
	secrets[4] = (struct secret){ secret_of(secure.client_key), "client.key" };
	secrets[5] =
	    (struct secret){ password_in(secure.redis_coordinator), "users.acl" };
	secrets[6] = (struct secret){ password_in(secure.redis_cli), "users.acl" };
	secrets[7] = (struct secret){ NULL, NULL };
}

static void
look(const char *where, const char *data, size_t size)
{
	struct secret secrets[8], *secret;

	list_secrets(secrets);
	for (secret = secrets; secret->text != NULL; secret++) {
		const char *name = strrchr(where, '/');

		if (secret->home != NULL && name != NULL &&
		    strcmp(name + 1, secret->home) == 0)
			continue;
		ck_assert_msg(
		    memmem(data, size, secret->text, strlen(secret->text)) == NULL,
		    "'%s' is in %s", secret->text, where);
	}
}

static void
look_in_text(const char *where, const char *text)
{
	look(where, text, strlen(text));
}

static void
look_at_file(void *arg, const char *path, const char *data, size_t size)
{
	(void)arg;
	look(path, data, size);
}

static void
look_in_redis(void)
{
	const char *all = secure_all_of_redis(&secure);

	ck_assert_msg(strstr(all, "fl:agents") != NULL, "Redis said: %s", all);
	ck_assert_ptr_nonnull(strstr(all, "All is done."));
	ck_assert_ptr_nonnull(strstr(all, "provided: Bearer [key]")); /* it came back */
	look_in_text("Redis", all);
}

/* --- the test --------------------------------------------------------------------------- */

/* Whatever a user may type, right or wrong, and what comes of it. */
static void
play(void)
{
	static const char *const agents[] = { "good", "refused", "failing" };
	struct said said;
	size_t i;

	for (i = 0; i < sizeof agents / sizeof agents[0]; i++) {
		const char *thread = arena_printf(secure.arena, "t-%s", agents[i]);

		said = SECURE_RUN(
		    &secure, "submit", agents[i], "Go", "-t", thread, "--wait");
		look_in_text("submit", said.out);
		look_in_text("submit", said.err);
		look_in_text("state", SECURE_EXPECT(&secure, "state", thread, "--json"));
		look_in_text(
		    "history", SECURE_EXPECT(&secure, "history", thread, "--json"));
	}
	ck_assert_ptr_nonnull(strstr(secure_log(&secure), "refused"));
	look_in_text("runs", SECURE_EXPECT(&secure, "runs", "--json"));
	look_in_text("top", SECURE_EXPECT(&secure, "top", "--once", "--json"));
	look_in_text("metrics", SECURE_EXPECT(&secure, "metrics", "--once"));
}

static void
fail_to_connect(void)
{
	const char *wrong = arena_printf(
	    secure.arena, "unix://cli:%s@/nowhere/redis", password_in(secure.redis_cli));
	struct said said = CLI(&secure.flotilla, "runs", "--redis", wrong);

	ck_assert_int_eq(said.status, 4);
	look_in_text("runs", said.err);
	said = CLI(
	    &secure.flotilla, "metrics", "--once", "--wait-ms", "200", "--redis", wrong);
	ck_assert_int_eq(said.status, 4);
	look_in_text("metrics", said.out);
	look_in_text("metrics", said.err);
	said = CLI(&secure.flotilla, "runs", "--redis",
	    arena_printf(secure.arena, "bad://cli:%s@h", password_in(secure.redis_cli)));
	ck_assert_int_ne(said.status, 0);
	look_in_text("runs", said.err);
	kit_flag(secure.kit, KIT_TOOLS, "--key", secure_new_key(&secure, "stranger"));
	kit_start(secure.kit, KIT_TOOLS, 1);
	secure_wait_log(&secure, "the broker refused this key");
}

START_TEST(secrets_are_nowhere_but_where_they_were_put)
{
	play();
	fail_to_connect();
	look_in_redis();
	secure_look_in_files(&secure, look_at_file, NULL); /* as they were written */
	secure_rewrite_files(&secure);
	secure_look_in_files(&secure, look_at_file, NULL);
	look_in_text("the log", secure_log(&secure));
}
END_TEST

/* Fills soft and hard limit of that name of a process. */
static void
read_limits(pid_t pid, const char *name, char soft[32], char hard[32])
{
	const char *path = arena_printf(secure.arena, "/proc/%d/limits", (int)pid);
	char text[4096] = "", *line;
	FILE *file = fopen(path, "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
	fclose(file);
	line = strstr(text, name);
	ck_assert_ptr_nonnull(line);
	ck_assert_int_eq(sscanf(line + strlen(name), "%31s %31s", soft, hard), 2);
}

START_TEST(no_process_leaves_a_core_file_and_each_may_have_many_connections)
{
	static const enum kit_kind ours[] = { KIT_BROKER, KIT_TOOLS, KIT_MODEL,
		KIT_COORDINATOR };
	char soft[32], hard[32];
	size_t i;

	for (i = 0; i < sizeof ours / sizeof ours[0]; i++) {
		pid_t pid = kit_pid(secure.kit, ours[i], 0);

		read_limits(pid, "Max core file size", soft, hard);
		ck_assert_str_eq(soft, "0");
		read_limits(pid, "Max open files", soft, hard);
		ck_assert_str_eq(soft, hard);
	}
}
END_TEST

TCase *
tcase_secrets(void)
{
	TCase *tcase = tcase_create("secrets");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, secrets_are_nowhere_but_where_they_were_put);
	tcase_add_test(
	    tcase, no_process_leaves_a_core_file_and_each_may_have_many_connections);
	return tcase;
}
