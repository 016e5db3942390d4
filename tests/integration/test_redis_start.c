/* A coordinator that starts on a Redis that will not do says why, and ends. And how Redis is started on a file whose
 * end was cut short. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "cli.h"
#include "test_place.h"
#include "redis_start.h"
#include "redis_trial.h"

TCase *tcase_redis_start(void);

/* Starts a coordinator, which must end by itself and say the words. */
static void
check_refuses(const char *url, const char *words)
{
	const struct cli coordinator = { .program = "coordinator",
		.arena = redis_trial.arena };
	struct said said =
	    CLI(&coordinator, "--redis", url, "--broker", "ipc:///tmp/fl-nobody");

	ck_assert_msg(said.status == 1, "status %d: %s", said.status, said.err);
	ck_assert_msg(strstr(said.err, words) != NULL, "%s", said.err);
}

START_TEST(on_a_redis_that_throws_keys_away)
{
	ASK("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
	check_refuses(redis_trial.url, "CONFIG SET maxmemory-policy noeviction");
}
END_TEST

/* Whose users may not ask how it is set. */
START_TEST(on_one_that_throws_keys_away_and_does_not_tell_everybody)
{
	ASK("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
	ASK("ACL", "SETUSER", "default", "-config");
	check_refuses(redis_trial.url, "maxmemory-policy volatile-ttl");
}
END_TEST

START_TEST(on_one_that_wants_a_password)
{
	ASK("CONFIG", "SET", "requirepass", "secret");
	check_refuses(redis_trial.url, "NOAUTH");
}
END_TEST

START_TEST(on_a_cluster)
{
	struct arena *arena = redis_trial.arena;
	const char *folder = arena_printf(arena, "%s/cluster", redis_trial.folder);
	const char *path = arena_printf(arena, "%s/redis", folder);
	const char *const argv[] = { "redis-server", "--port", "0", "--unixsocket", path,
		"--cluster-enabled", "yes", "--cluster-port", place_port(arena), "--bind",
		"127.0.0.1", "--dir", folder, "--save", "", "--supervised", "systemd",
		"--logfile", "/dev/null", NULL };
	const struct cli flotilla = { .program = "flotilla", .arena = arena };
	struct child *cluster;
	struct said said;

	ck_assert_int_eq(mkdir(folder, 0700), 0);
	cluster = child_start(argv, NULL);
	check_refuses(arena_printf(arena, "unix://%s", path), "Redis Cluster");
	said = CLI(&flotilla, "runs", "--redis", arena_printf(arena, "unix://%s", path));
	ck_assert_msg(said.status == 4 && strstr(said.err, "Redis Cluster") != NULL, "%s",
	    said.err);
	child_kill(&cluster);
}
END_TEST

/* As of who is let in by the login `cli` before the first coordinator; a Redis that is full is no other. */
START_TEST(on_one_without_our_functions)
{
	const struct cli flotilla = { .program = "flotilla", .arena = redis_trial.arena };
	struct said said;

	ASK("ACL", "SETUSER", "default", "-function|load");
	said = CLI(&flotilla, "agents", "apply", "examples/agents/weather.yaml",
	    "--redis", redis_trial.url);
	ck_assert_msg(said.status == 4, "%s", said.err);
	ck_assert_msg(strstr(said.err, "could not be loaded: is Redis full") != NULL,
	    "%s", said.err);
}
END_TEST

/* Which takes no writes. A coordinator waits for the failover that may be under way; who asks is told. */
START_TEST(on_a_replica)
{
	const struct cli flotilla = { .program = "flotilla", .arena = redis_trial.arena };
	struct said said;

	ASK("REPLICAOF", "127.0.0.1", "1");
	said = CLI(&flotilla, "runs", "--redis", redis_trial.url);
	ck_assert_msg(said.status == 4, "%s", said.err);
	ck_assert_msg(
	    strstr(said.err, "is a replica (of 127.0.0.1)") != NULL, "%s", said.err);
	ck_assert_msg(
	    strstr(said.err, "--redis must name the primary") != NULL, "%s", said.err);
}
END_TEST

#define AWAY_US 3500000 /* longer than a Redis is waited for */

/* As on a machine without time for us: that is no time in which Redis did not answer. */
START_TEST(who_stood_still_himself_waits_for_it_anew)
{
	const struct cli flotilla = { .program = "flotilla", .arena = redis_trial.arena };
	struct cli_job *job;
	struct said said;

	kill(child_pid(redis_trial.server), SIGSTOP);
	job = CLI_START(&flotilla, "runs", "--redis", redis_trial.url);
	usleep(1000000); /* it waits, or has not begun to: both are right */
	cli_signal(job, SIGSTOP);
	usleep(AWAY_US);
	kill(child_pid(redis_trial.server), SIGCONT);
	cli_signal(job, SIGCONT);
	said = cli_end(&job);
	ck_assert_msg(said.status == 0, "status %d: %s", said.status, said.err);
}
END_TEST

/* --- the append-only file ------------------------------------------------------------- */

#define TRANSACTION                                                                      \
	"*1\r\n$5\r\nMULTI\r\n"                                                          \
	"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$12\r\nlong\r\nenough\r\n*1\r\n$4\r\nEXEC\r\n"
static const char whole[] = TRANSACTION TRANSACTION;
#define WHOLE_BYTES (sizeof whole - 1)

struct aof {
	char folder[32];
	const char *file, *manifest;
};

static void
write_file(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void
write_program(const struct aof *aof, const char *name, const char *text)
{
	const char *path = arena_printf(redis_trial.arena, "%s/%s", aof->folder, name);

	write_file(path, text, strlen(text));
	ck_assert_int_eq(chmod(path, 0700), 0);
}

static void
aof_open(struct aof *aof)
{
	static const char manifest[] = "file appendonly.aof.1.incr.aof seq 1 type i\n";
	struct arena *arena = redis_trial.arena;

	strcpy(aof->folder, "/tmp/fl-aof-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(aof->folder));
	ck_assert_int_eq(
	    mkdir(arena_printf(arena, "%s/appendonlydir", aof->folder), 0700), 0);
	aof->file = arena_printf(
	    arena, "%s/appendonlydir/appendonly.aof.1.incr.aof", aof->folder);
	aof->manifest =
	    arena_printf(arena, "%s/appendonlydir/appendonly.aof.manifest", aof->folder);
	write_file(aof->manifest, manifest, sizeof manifest - 1);
	/* What the script becomes at its end. */
	write_program(aof, "redis-server", "#!/bin/sh\n");
}

static void
aof_close(const struct aof *aof)
{
	const struct cli rm = { .program = "rm", .arena = redis_trial.arena };

	ck_assert_int_eq(CLI(&rm, "-r", aof->folder).status, 0);
}

/* Returns how long the file is when both scripts, each on the file anew, have gone over it. */
static size_t
mended(const struct aof *aof, const char *bytes, size_t size)
{
	struct arena *arena = redis_trial.arena;
	const struct cli shell = { .program = "/bin/sh", .arena = arena };
	const char *script =
	    arena_printf(arena, "PATH=%s:$PATH\n%s", aof->folder, REDIS_START_SCRIPT);
	struct stat first, second;

	write_file(aof->file, bytes, size);
	ck_assert_int_eq(
	    CLI(&shell, "-c", script, "redis-server", aof->folder).status, 0);
	ck_assert_int_eq(stat(aof->file, &first), 0);
	write_file(aof->file, bytes, size);
	ck_assert_int_eq(
	    CLI(&shell, "examples/systemd/redis-mend.sh", aof->folder).status, 0);
	ck_assert_int_eq(stat(aof->file, &second), 0);
	ck_assert_int_eq(first.st_size, second.st_size);
	return (size_t)first.st_size;
}

START_TEST(a_transaction_that_was_cut_short_anywhere_is_cut_off)
{
	struct aof aof;
	size_t size;

	aof_open(&aof);
	for (size = WHOLE_BYTES / 2; size < WHOLE_BYTES; size++)
		ck_assert_msg(mended(&aof, whole, size) == WHOLE_BYTES / 2,
		    "cut behind byte %zu: %zu are left", size, mended(&aof, whole, size));
	ck_assert_uint_eq(mended(&aof, whole, WHOLE_BYTES), WHOLE_BYTES);
	aof_close(&aof);
}
END_TEST

/* Of which Redis itself speaks. */
START_TEST(other_damage_is_left_as_it_is)
{
	char bytes[sizeof whole];
	struct aof aof;

	aof_open(&aof);
	memcpy(bytes, whole, sizeof whole);
	bytes[2] = '\0'; /* the end of a line, far from the file's */
	ck_assert_uint_eq(mended(&aof, bytes, WHOLE_BYTES), WHOLE_BYTES);
	aof_close(&aof);
}
END_TEST

/* Says in a file beside it whether it was started with the lock. */
static const char looker[] = "#!/bin/sh\n"
			     "[ -e /proc/self/fd/3 ] && said=held || said=free\n"
			     "echo $said >\"$0.said\"\n";

static void
check_said(const struct aof *aof, const char *name, const char *expected)
{
	struct arena *arena = redis_trial.arena;
	const struct cli cat = { .program = "cat", .arena = arena };

	ck_assert_str_eq(
	    CLI(&cat, arena_printf(arena, "%s/%s.said", aof->folder, name)).out,
	    expected);
}

/* Who is ended while it is at it leaves it behind: the next one does not wait for that. */
START_TEST(a_look_at_the_file_does_not_hold_the_lock)
{
	struct arena *arena = redis_trial.arena;
	const struct cli shell = { .program = "/bin/sh", .arena = arena };
	struct aof aof;

	aof_open(&aof);
	write_file(aof.file, whole, WHOLE_BYTES);
	write_program(&aof, "redis-check-aof", looker);
	write_program(&aof, "redis-server", looker);
	ck_assert_int_eq(CLI(&shell, "-c",
			     arena_printf(arena, "exec 3</dev/null\nPATH=%s:$PATH\n%s",
				 aof.folder, REDIS_START_SCRIPT),
			     "redis-server", aof.folder)
			     .status,
	    0);
	check_said(&aof, "redis-check-aof", "free\n");
	check_said(&aof, "redis-server", "held\n");
	aof_close(&aof);
}
END_TEST

TCase *
tcase_redis_start(void)
{
	TCase *tcase = tcase_create("redis_start");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, redis_trial_open, redis_trial_close);
	tcase_add_test(tcase, on_a_redis_that_throws_keys_away);
	tcase_add_test(tcase, on_one_that_throws_keys_away_and_does_not_tell_everybody);
	tcase_add_test(tcase, on_one_that_wants_a_password);
	tcase_add_test(tcase, on_a_cluster);
	tcase_add_test(tcase, on_a_replica);
	tcase_add_test(tcase, who_stood_still_himself_waits_for_it_anew);
	tcase_add_test(tcase, on_one_without_our_functions);
	tcase_add_test(tcase, a_transaction_that_was_cut_short_anywhere_is_cut_off);
	tcase_add_test(tcase, other_damage_is_left_as_it_is);
	tcase_add_test(tcase, a_look_at_the_file_does_not_hold_the_lock);
	return tcase;
}
