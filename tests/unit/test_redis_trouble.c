/* What Redis can refuse with, and how a client goes on: each provoked at a real server. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "fiber.h"
#include "redis_trial.h"

/* Interface under test */
#include "redis.h"
#include "redis_reply.h"

TCase *tcase_redis_trouble(void);

/* --- verdicts ---------------------------------------------------------------------------- */

static const struct {
	const char *error;
	enum redis_verdict verdict;
} refusals[] = {
	{ "LOADING Redis is loading the dataset in memory", REDIS_AGAIN },
	{ "BUSY Redis is busy running a script.", REDIS_AGAIN },
	{ "TRYAGAIN Multiple keys request during rehashing of slot", REDIS_AGAIN },
	{ "CLUSTERDOWN The cluster is down", REDIS_AGAIN },
	{ "MISCONF Errors writing to the AOF file: No space left on device",
	    REDIS_REFUSED },
	{ "OOM command not allowed when used memory > 'maxmemory'.", REDIS_REFUSED },
	{ "NOREPLICAS Not enough good replicas to write.", REDIS_REFUSED },
	{ "NOPERM this user has no permissions to run the 'set' command", REDIS_REFUSED },
	{ "READONLY You can't write against a read only replica.", REDIS_ELSEWHERE },
	{ "MASTERDOWN Link with MASTER is down", REDIS_ELSEWHERE },
	{ "UNBLOCKED force unblock from blocking operation", REDIS_ELSEWHERE },
	{ "NOAUTH Authentication required.", REDIS_ELSEWHERE },
	{ "WRONGPASS invalid username-password pair", REDIS_ELSEWHERE },
	{ "ERR Function not found", REDIS_LIBRARY },
	{ "ERR syntax error", REDIS_FINAL },
	{ "WRONGTYPE Operation against a key", REDIS_FINAL },
	{ "OOMPH", REDIS_FINAL },
};

START_TEST(each_refusal_has_its_verdict)
{
	ck_assert_int_eq(redis_reply_verdict(refusals[_i].error), refusals[_i].verdict);
}
END_TEST

/* --- what somebody must mend ------------------------------------------------------------- */

static bool
refuses(void *arg)
{
	return redis_refusal(arg) != NULL;
}

/* A write that is refused with code waits, and says so, until mend; then it is done. */
static void
check_refused(const char *code, struct redis_question mend)
{
	struct redis *own = redis_trial_client(redis_trial.url, NULL);
	struct redis_question question = { .redis = own, .words = { "SET", "k", "v" } };

	redis_trial_begin(&question);
	redis_trial_run_until(refuses, own);
	ck_assert_int_eq(strncmp(redis_refusal(own), code, strlen(code)), 0);
	ck_assert(!question.has_ended);
	redis_trial_begin(&mend);
	redis_trial_run();
	ck_assert_int_eq(mend.status, REDIS_OK);
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_ptr_null(redis_refusal(own));
	ck_assert_uint_eq(redis_connects(own), 1);
	redis_destroy(&own);
}

START_TEST(memory_is_short)
{
	ASK("CONFIG", "SET", "maxmemory", "1");
	check_refused("OOM ",
	    (struct redis_question){ .words = { "CONFIG", "SET", "maxmemory", "0" } });
}
END_TEST

START_TEST(replicas_are_missing)
{
	ASK("CONFIG", "SET", "min-replicas-to-write", "1");
	check_refused("NOREPLICAS ",
	    (struct redis_question){
		.words = { "CONFIG", "SET", "min-replicas-to-write", "0" } });
}
END_TEST

START_TEST(an_acl_forbids_it)
{
	struct redis_question mend = { .words = { "ACL", "SETUSER", "default", "+set" } };

	ASK("ACL", "SETUSER", "default", "-set");
	check_refused("NOPERM ", mend);
}
END_TEST

/* The snapshot cannot be written: its folder is gone. */
START_TEST(the_disk_takes_nothing)
{
	const char *gone = arena_printf(redis_trial.arena, "%s/gone", redis_trial.folder);
	struct redis_question save = { .words = { "SAVE" } };

	ck_assert_int_eq(mkdir(gone, 0700), 0);
	ASK("CONFIG", "SET", "dir", gone);
	ASK("CONFIG", "SET", "save", "3600 1");
	ck_assert_int_eq(rmdir(gone), 0);
	redis_trial_finish(&save);
	ck_assert_int_eq(save.status, REDIS_ERROR);
	/* BGSAVE is what sets the state that MISCONF is about. */
	ASK("BGSAVE");
	while (redis_trial_info("persistence", "rdb_bgsave_in_progress:") != 0)
		;
	check_refused("MISCONF ",
	    (struct redis_question){
		.words = { "CONFIG", "SET", "stop-writes-on-bgsave-error", "no" } });
}
END_TEST

/* --- logging in -------------------------------------------------------------------------- */

static bool
is_denied(void *arg)
{
	return redis_is_denied(arg);
}

START_TEST(a_password_that_is_set_later_keeps_us_out_until_it_is_ours)
{
	struct redis *own = redis_trial_client(
	    arena_printf(redis_trial.arena, "unix://%s", redis_trial.path), NULL);
	struct redis_question question = { .redis = own, .words = { "SET", "k", "v" } };
	struct redis_question mend = { .words = { "CONFIG", "SET", "requirepass", "" } };
	struct redis_question kill = { .words = { "CLIENT", "KILL", "TYPE", "normal" } };

	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	ASK("CONFIG", "SET", "requirepass", "secret");
	redis_trial_begin(&kill); /* all but the one that asks for it */
	redis_trial_run_until(is_denied, own);
	ck_assert_ptr_nonnull(strstr(redis_trouble(own), "NOAUTH"));
	redis_trial_begin(&question);
	redis_trial_run_a_little();
	ck_assert(!question.has_ended);
	redis_trial_begin(&mend);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert(!redis_is_denied(own));
	redis_destroy(&own);
}
END_TEST

/* With a password it is said to who has not given one yet. */
START_TEST(no_room_for_clients_is_no_denial)
{
	const char *url = arena_printf(redis_trial.arena, "unix://%s%s",
	    _i == 0 ? "" : ":secret@", redis_trial.path);
	struct redis *own;

	ASK("CONFIG", "SET", "requirepass", _i == 0 ? "" : "secret");
	ASK("CONFIG", "SET", "maxclients", "1");
	own = redis_trial_client(url, NULL);
	while (strstr(redis_trouble(own), "max number of clients") == NULL) {
		ck_assert_ptr_null(strstr(redis_trouble(own), "closed"));
		redis_trial_run_a_little();
	}
	ck_assert(!redis_is_denied(own));
	ASK("CONFIG", "SET", "maxclients", "100");
	redis_trial_check(
	    redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } }),
	    "PONG");
	redis_destroy(&own);
}
END_TEST

/* --- connections that end ---------------------------------------------------------------- */

START_TEST(a_killed_connection_is_made_again)
{
	struct redis *own = redis_trial_client(redis_trial.url, NULL);

	redis_trial_ask((struct redis_question){ .redis = own, .words = { "PING" } });
	ASK("CLIENT", "KILL", "TYPE", "normal");
	redis_trial_run_until(redis_trial_is_down, own);
	redis_trial_ask(
	    (struct redis_question){ .redis = own, .words = { "SET", "k", "v" } });
	ck_assert_uint_eq(redis_connects(own), 2);
	redis_destroy(&own);
}
END_TEST

/* The server becomes a replica while a client waits in it. */
START_TEST(who_is_unblocked_by_a_failover_connects_again)
{
	struct redis_question question = { .words = { "BLPOP", "list", "0" } };
	struct redis_question demote = { .words = { "REPLICAOF", "127.0.0.1", "1" } };
	struct redis_question promote = { .words = { "REPLICAOF", "NO", "ONE" } };
	struct redis_question push = { .words = { "RPUSH", "list", "item" } };
	struct redis *own;

	redis_trial_begin_blocking(&question, &own);
	redis_trial_finish(&demote);
	ck_assert_int_eq(demote.status, REDIS_OK);
	redis_trial_run_until(redis_trial_is_down, own);
	ck_assert(!question.has_ended);
	redis_trial_finish(&promote);
	redis_trial_finish(&push);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	redis_trial_check(value_at(question.reply, 1), "item");
	redis_destroy(&own);
}
END_TEST

/* --- loading ----------------------------------------------------------------------------- */

static bool
is_loading(void *arg)
{
	return strstr(redis_trouble(arg), "LOADING") != NULL;
}

/* A server with a log of so many keys that reading it takes a while. */
static void
start_slowly(const char *delay_us)
{
	const char *const argv[] = { "redis-server", "--port", "0", "--unixsocket",
		redis_trial.path, "--save", "", "--appendonly", "yes", "--dir",
		redis_trial.folder, "--loading-process-events-interval-bytes", "1024",
		"--key-load-delay", delay_us, "--logfile", "/dev/null", NULL };

	redis_trial.server = child_spawn(argv, NULL);
}

START_TEST(a_server_that_is_loading_is_waited_for)
{
	struct redis_question question = { .words = { "GET", "key:1" } };

	child_stop(&redis_trial.server);
	start_slowly("0");
	ASK("EVAL",
	    "for i = 1, 2000 do redis.call('SET', 'key:' .. i, string.rep('v', 64)) end",
	    "0");
	child_stop(&redis_trial.server);
	redis_trial_run_until(redis_trial_is_down, redis_trial.redis);
	start_slowly("500");
	redis_trial_begin(&question);
	redis_trial_run_until(is_loading, redis_trial.redis);
	ck_assert(!question.has_ended);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_uint_eq(question.reply->size, 64);
}
END_TEST

/* --- several servers --------------------------------------------------------------------- */

static struct child *
start_second(const char *path)
{
	const char *const argv[] = { "redis-server", "--port", "0", "--unixsocket", path,
		"--save", "", "--supervised", "systemd", "--dir", redis_trial.folder,
		"--logfile", "/dev/null", NULL };

	return child_start(argv, NULL);
}

/* Says which of two servers one is. */
static void
check_at(struct redis *redis, const char *name)
{
	redis_trial_check(redis_trial_ask((struct redis_question){
			      .redis = redis, .words = { "GET", "name" } }),
	    name);
}

static bool
has_connected_again(void *arg)
{
	return redis_connects(arg) == 2;
}

START_TEST(of_several_the_primary_is_used)
{
	const char *path = arena_printf(redis_trial.arena, "%s/two", redis_trial.folder);
	const char *urls = arena_printf(
	    redis_trial.arena, "unix://%s,unix://%s", path, redis_trial.path);
	struct child *second = start_second(path);
	struct redis *two =
	    redis_trial_client(arena_printf(redis_trial.arena, "unix://%s", path), NULL);
	struct redis *own;

	ASK("SET", "name", "one");
	redis_trial_ask(
	    (struct redis_question){ .redis = two, .words = { "SET", "name", "two" } });
	redis_trial_ask((struct redis_question){
	    .redis = two, .words = { "REPLICAOF", "127.0.0.1", "1" } });
	own = redis_trial_client(urls, NULL);
	check_at(own, "one");
	/* The failover: the replica takes over, and the primary is gone. */
	redis_trial_ask((struct redis_question){
	    .redis = two, .words = { "REPLICAOF", "NO", "ONE" } });
	child_kill(&redis_trial.server);
	redis_trial_run_until(has_connected_again, own);
	check_at(own, "two");
	redis_destroy(&own);
	redis_destroy(&two);
	child_kill(&second);
}
END_TEST

static void
add_refusals(TCase *tcase)
{
	tcase_add_loop_test(
	    tcase, each_refusal_has_its_verdict, 0, sizeof refusals / sizeof *refusals);
	tcase_add_test(tcase, memory_is_short);
	tcase_add_test(tcase, replicas_are_missing);
	tcase_add_test(tcase, an_acl_forbids_it);
	tcase_add_test(tcase, the_disk_takes_nothing);
}

/* As a server that dies in the middle of an answer: the greeting's, whole, then the beginning of one. */
static pid_t
start_cut_off(const char *path)
{
	static const char said[] = "*1\r\n$6\r\nmaster\r\n+PONG\r\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), one;
	char heard[256];
	pid_t pid;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	pid = fork();
	if (pid == 0) {
		one = accept(listener, NULL, NULL);
		while (read(one, heard, sizeof heard) > 0 &&
		       write(one, said, sizeof said - 1) > 0 &&
		       read(one, heard, sizeof heard) > 0 &&
		       write(one, "$10\r\nabc", 8) < 0)
			;
		_exit(0);
	}
	close(listener);
	return pid;
}

START_TEST(a_cut_answer_is_the_end_of_the_connection_and_nothing_else)
{
	const char *path = arena_printf(redis_trial.arena, "%s/cut", redis_trial.folder);
	pid_t server = start_cut_off(path);
	struct redis *own =
	    redis_trial_client(arena_printf(redis_trial.arena, "unix://%s", path), NULL);
	struct redis_question question = { .redis = own, .words = { "GET", "k" } };

	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	ck_assert_msg(
	    strstr(redis_trouble(own), "closed") != NULL, "%s", redis_trouble(own));
	redis_destroy(&own);
	waitpid(server, NULL, 0);
}
END_TEST

TCase *
tcase_redis_trouble(void)
{
	TCase *tcase = tcase_create("redis_trouble");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, redis_trial_open, redis_trial_close);
	add_refusals(tcase);
	tcase_add_test(tcase, a_password_that_is_set_later_keeps_us_out_until_it_is_ours);
	tcase_add_loop_test(tcase, no_room_for_clients_is_no_denial, 0, 2);
	tcase_add_test(tcase, a_killed_connection_is_made_again);
	tcase_add_test(tcase, who_is_unblocked_by_a_failover_connects_again);
	tcase_add_test(tcase, a_server_that_is_loading_is_waited_for);
	tcase_add_test(tcase, of_several_the_primary_is_used);
	tcase_add_test(tcase, a_cut_answer_is_the_end_of_the_connection_and_nothing_else);
	return tcase;
}
