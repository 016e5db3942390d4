#include "secure_kit.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 30000
#define POLL_MS 10
#define ADMIN "admin-of-the-test"

static void
pause_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = POLL_MS * 1000000L };

	nanosleep(&moment, NULL);
}

/* --- what is said --------------------------------------------------------------------------- */

static int true_stderr = -1;

static void
take_stderr(struct secure_kit *secure)
{
	const char *path = kit_path(secure->kit, "said.log");

	secure->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ck_assert_int_ne(secure->log, -1);
	true_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(secure->log, STDERR_FILENO);
}

const char *
secure_log(struct secure_kit *secure)
{
	struct stat status;
	char *text;
	ssize_t size;

	ck_assert_int_eq(fstat(secure->log, &status), 0);
	text = arena_alloc(secure->arena, (size_t)status.st_size + 1);
	size = pread(secure->log, text, (size_t)status.st_size, 0);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

void
secure_wait_log(struct secure_kit *secure, const char *words)
{
	for (int ms = 0; ms < WAIT_MS; ms += POLL_MS) {
		if (strstr(secure_log(secure), words) != NULL)
			return;
		pause_a_moment();
	}
	ck_abort_msg("nobody said '%s'; said was:\n%s", words, secure_log(secure));
}

void
secure_wait_err(const struct cli_job *job, const char *words)
{
	for (int ms = 0; ms < WAIT_MS; ms += POLL_MS) {
		if (strstr(cli_err(job), words) != NULL)
			return;
		pause_a_moment();
	}
	ck_abort_msg("a command never said '%s' but '%s'", words, cli_err(job));
}

void
secure_wait_file(const char *path)
{
	for (int ms = 0; ms < WAIT_MS; ms += POLL_MS) {
		if (access(path, F_OK) == 0)
			return;
		pause_a_moment();
	}
	ck_abort_msg("%s never came", path);
}

/* --- commands ------------------------------------------------------------------------------- */

struct said
secure_run(struct secure_kit *secure, const char *const argv[])
{
	const char *all[64];
	size_t count = 0;

	while (*argv != NULL)
		all[count++] = *argv++;
	memcpy(all + count,
	    (const char *[]){ "--redis", secure->redis_cli, "--broker",
		kit_broker(secure->kit), "--status", kit_status(secure->kit), "--key",
		secure->client_key, "--broker-key",
		arena_printf(secure->arena, "%s.pub", secure->broker_key), NULL },
	    11 * sizeof *all);
	return cli_run(&secure->flotilla, NULL, all);
}

const char *
secure_expect(struct secure_kit *secure, const char *const argv[])
{
	struct said said = secure_run(secure, argv);

	ck_assert_msg(said.status == 0, "flotilla %s: status %d: %s", argv[0],
	    said.status, said.err);
	return said.out;
}

const char *
secure_ask(struct secure_kit *secure, const char *const argv[])
{
	const struct cli redis = { "redis-cli", NULL, secure->arena };
	const char *all[64] = { "-s", kit_redis(secure->kit) + strlen("unix://"),
		"--user", "admin", "--pass", ADMIN, "--no-auth-warning" };
	size_t count = 7;

	while (*argv != NULL)
		all[count++] = *argv++;
	all[count] = NULL;
	return cli_run(&redis, NULL, all).out;
}

/* --- setting up ------------------------------------------------------------------------------- */

static struct said
run_keys(struct secure_kit *secure, const char *const argv[])
{
	struct said said = cli_run(&secure->flotilla, NULL, argv);

	ck_assert_msg(said.status == 0, "keys: %s", said.err);
	return said;
}

const char *
secure_new_key(struct secure_kit *secure, const char *name)
{
	const char *path =
	    kit_path(secure->kit, arena_printf(secure->arena, "%s.key", name));

	run_keys(secure, (const char *const[]){ "keys", "new", path, NULL });
	return path;
}

static void
allow(struct secure_kit *secure, const char *key, const char *roles)
{
	run_keys(secure,
	    (const char *const[]){ "keys", "allow",
		arena_printf(secure->arena, "%s.pub", key), "--allow", secure->allow,
		"--role", roles, strstr(roles, "worker") == NULL ? NULL : "--service",
		"*", NULL });
}

/* Returns the password behind "user NAME on >". */
static const char *
password_of(struct secure_kit *secure, const char *acl, const char *user)
{
	const char *at = strstr(acl, arena_printf(secure->arena, "user %s on >", user));

	ck_assert_ptr_nonnull(at);
	at = strchr(at, '>') + 1;
	return arena_copy(secure->arena, at, strcspn(at, " "));
}

static const char *
redis_url(struct secure_kit *secure, const char *acl, const char *user)
{
	return arena_printf(secure->arena, "unix://%s:%s@%s", user,
	    password_of(secure, acl, user), kit_redis(secure->kit) + strlen("unix://"));
}

static void
make_redis_users(struct secure_kit *secure)
{
	struct said said =
	    run_keys(secure, (const char *const[]){ "keys", "redis-acl", NULL });
	const char *acl = kit_write(secure->kit, "users.acl",
	    arena_printf(
		secure->arena, "%suser admin on >%s ~* &* +@all\n", said.out, ADMIN));

	secure->admin = ADMIN;
	secure->redis_coordinator = redis_url(secure, said.out, "coordinator");
	secure->redis_cli = redis_url(secure, said.out, "cli");
	kit_flag(secure->kit, KIT_REDIS, "--aclfile", acl);
	/* By the environment, where passwords belong: the flag would win. */
	kit_flag(secure->kit, KIT_COORDINATOR, "--redis", secure->redis_coordinator);
}

static void
make_keys(struct secure_kit *secure)
{
	static const enum kit_kind callers[] = { KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR };
	const char *broker_public;
	size_t i;

	secure->broker_key = secure_new_key(secure, "broker");
	secure->fleet_key = secure_new_key(secure, "fleet");
	secure->client_key = secure_new_key(secure, "client");
	allow(secure, secure->fleet_key, "worker,coordinator");
	allow(secure, secure->client_key, "client");
	if (kit_has_hub(secure->kit)) /* for who asks by the environment */
		allow(secure, secure->broker_key, "coordinator");
	broker_public = arena_printf(secure->arena, "%s.pub", secure->broker_key);
	kit_flag(secure->kit, KIT_BROKER, "--key", secure->broker_key);
	kit_flag(secure->kit, KIT_BROKER, "--allow", secure->allow);
	for (i = 0; i < sizeof callers / sizeof callers[0]; i++) {
		kit_flag(secure->kit, callers[i], "--key", secure->fleet_key);
		kit_flag(secure->kit, callers[i], "--broker-key", broker_public);
		kit_flag(secure->kit, callers[i], "--log-level", "debug");
	}
	kit_flag(secure->kit, KIT_BROKER, "--log-level", "debug");
}

void
secure_start(struct secure_kit *secure)
{
	*secure = (struct secure_kit){ .kit = kit_new(), .arena = arena_new() };
	secure->flotilla = (struct cli){ .program = kit_program(secure->kit, "flotilla"),
		.arena = secure->arena };
	secure->allow = kit_path(secure->kit, "allow.yaml");
	make_keys(secure);
	make_redis_users(secure);
	take_stderr(secure);
}

void
secure_stop(struct secure_kit *secure)
{
	dup2(true_stderr, STDERR_FILENO);
	close(true_stderr);
	close(secure->log);
	kit_destroy(&secure->kit);
	arena_destroy(&secure->arena);
}
