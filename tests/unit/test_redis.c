#include <arpa/inet.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "children.h"
#include "fiber.h"

/* Interface under test */
#include "redis.h"

TCase *tcase_redis(void);

#define WAIT_MS 15000 /* longer than anything takes, under ASan too */

static struct loop *loop;
static struct arena *arena;
static struct child *server;
static struct redis *redis;
static char *folder, *path, *url;

/* Starts a server on the unix socket, and on a port unless it is "0". */
static void
start_on(const char *port)
{
	const char *const argv[] = { "redis-server", "--port", port, "--bind",
		"127.0.0.1", "--unixsocket", path, "--save", "", "--supervised",
		"systemd", "--dir", folder, "--busy-reply-threshold", "20", "--loglevel",
		"warning", "--logfile", "/dev/null", NULL };

	server = child_start(argv, NULL);
}

static void
start(void)
{
	start_on("0");
}

static struct redis *
client(const char *to, const char *library)
{
	const char *error = NULL;
	struct redis *one = redis_new(loop, to, library, &error);

	ck_assert_msg(one != NULL, "%s: %s", to, error);
	return one;
}

static void
set_up(void)
{
	folder = folder_new();
	arena = arena_new();
	path = arena_printf(arena, "%s/redis", folder);
	url = arena_printf(arena, "unix://%s", path);
	start();
	loop = loop_new();
	redis = client(url, NULL);
}

static void
tear_down(void)
{
	redis_destroy(&redis);
	ck_assert_uint_eq(fiber_count(loop), 0);
	loop_destroy(&loop);
	child_kill(&server);
	folder_remove(&folder);
	arena_destroy(&arena);
}

/* --- calling from tests ---------------------------------------------------------------- */

struct question {
	struct redis *redis; /* NULL: the usual one */
	uint64_t wait_ms;    /* 0: WAIT_MS */
	const char *words[8];
	const struct value *reply;
	enum redis_status status;
	bool has_ended;
};

static void
call(void *arg)
{
	struct question *question = arg;
	struct redis_arg args[8];
	size_t count;

	for (count = 0; count < 8 && question->words[count] != NULL; count++)
		args[count] = (struct redis_arg){ question->words[count],
			strlen(question->words[count]) };
	question->status = redis_call(question->redis != NULL ? question->redis : redis,
	    arena, question->wait_ms != 0 ? question->wait_ms : WAIT_MS, args, count,
	    &question->reply);
	question->has_ended = true;
}

static struct fiber *
begin(struct question *question)
{
	return fiber_start(loop, "question", call, question);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
run(void)
{
	loop_run_until(loop, all_ended, NULL);
}

static bool
is_true(void *arg)
{
	return *(const bool *)arg;
}

static const struct value *
ask(struct question question)
{
	begin(&question);
	run();
	ck_assert_msg(question.status == REDIS_OK, "%s: %d %s", question.words[0],
	    question.status, redis_reply_text(question.reply));
	return question.reply;
}

#define ASK(...) ask((struct question){ .words = { __VA_ARGS__ } })

static void
check_text(const struct value *reply, const char *expected)
{
	ck_assert(value_is(reply, VALUE_BIN));
	ck_assert_str_eq(redis_reply_text(reply), expected);
}

static bool
is_down(void *arg)
{
	return !redis_is_up(arg);
}

static bool
has_trouble(void *arg)
{
	const char *words = arg;

	return strstr(redis_trouble(redis), words) != NULL;
}

static void
look_again(void *arg)
{
	(void)arg;
}

static void
yield_often(void *arg)
{
	bool *has_ended = arg;
	int i;

	for (i = 0; i < 10; i++)
		fiber_yield();
	*has_ended = true;
}

/* Lets a few turns pass. */
static void
run_a_little(void)
{
	bool has_ended = false;

	fiber_start(loop, "yield", yield_often, &has_ended);
	loop_run_until(loop, is_true, &has_ended);
}

/* Runs until is_so(arg), which may come about without an event of ours. */
static void
run_until(bool (*is_so)(void *arg), void *arg)
{
	struct timer *timer = timer_start(loop, 1, 1, look_again, NULL);

	loop_run_until(loop, is_so, arg);
	timer_stop(&timer);
}

static void
run_until_trouble(const char *words)
{
	run_until(has_trouble, (void *)words);
	ck_assert(!redis_is_up(redis));
}

/* --- answers --------------------------------------------------------------------------- */

START_TEST(answers_have_their_types)
{
	const struct value *reply;

	check_text(ASK("PING"), "PONG");
	check_text(ASK("SET", "k", "v"), "OK");
	check_text(ASK("GET", "k"), "v");
	ck_assert(value_is_nil(ASK("GET", "nothing")));
	ck_assert_int_eq(ASK("INCR", "n")->integer, 1);
	ck_assert_int_eq(ASK("INCR", "n")->type, VALUE_INT);
	reply = ASK("MGET", "k", "nothing");
	ck_assert_uint_eq(value_size(reply), 2);
	check_text(value_at(reply, 0), "v");
	ck_assert(value_is_nil(value_at(reply, 1)));
	ck_assert_uint_eq(value_size(ASK("LRANGE", "nothing", "0", "1")), 0);
	reply = ASK(
	    "EVAL", "return {redis.error_reply('MY own'), redis.status_reply('S')}", "0");
	ck_assert_str_eq(value_text(value_at(reply, 0)), "MY own");
	check_text(value_at(reply, 1), "S");
}
END_TEST

static void
call_binary(void *arg)
{
	static const char bytes[] = "a\0b\r\n\xff";
	const struct redis_arg args[] = { { "SET", 3 }, { "k\0k", 3 }, { bytes, 6 } };
	const struct redis_arg back[] = { { "GET", 3 }, { "k\0k", 3 } };
	const struct redis_arg empty[] = { { "APPEND", 6 }, { "k\0k", 3 }, { NULL, 0 } };
	const struct value *reply;

	(void)arg;
	ck_assert_int_eq(redis_call(redis, arena, WAIT_MS, args, 3, &reply), REDIS_OK);
	ck_assert_int_eq(redis_call(redis, arena, WAIT_MS, back, 2, &reply), REDIS_OK);
	ck_assert_uint_eq(reply->size, 6);
	ck_assert_mem_eq(reply->text, bytes, 7);
	ck_assert_int_eq(redis_call(redis, arena, WAIT_MS, empty, 3, &reply), REDIS_OK);
	ck_assert_int_eq(reply->integer, 6);
}

START_TEST(bytes_are_bytes)
{
	fiber_start(loop, "binary", call_binary, NULL);
	run();
}
END_TEST

static void
call_text(void *arg)
{
	const struct value *reply;

	(void)arg;
	ck_assert_int_eq(
	    redis_text(redis, arena, WAIT_MS, &reply, "HSET", "h", "f", "v", NULL),
	    REDIS_OK);
	ck_assert_int_eq(
	    redis_text(redis, arena, WAIT_MS, &reply, "HGET", "h", "f", NULL), REDIS_OK);
	check_text(reply, "v");
	ck_assert_int_eq(
	    redis_text(redis, arena, WAIT_MS, &reply, "PING", NULL), REDIS_OK);
}

START_TEST(text_is_short_for_arguments)
{
	fiber_start(loop, "text", call_text, NULL);
	run();
}
END_TEST

/* Returns a script that answers with depth arrays in each other. */
static const char *
nested(int depth)
{
	const char *text = "7";

	while (depth-- > 0)
		text = arena_printf(arena, "{%s}", text);
	return arena_printf(arena, "return %s", text);
}

START_TEST(answers_nest)
{
	const struct value *reply = ASK("EVAL", nested(7), "0");
	int depth;

	for (depth = 0; value_is(reply, VALUE_ARRAY); depth++)
		reply = value_at(reply, 0);
	ck_assert_int_eq(depth, 7);
	ck_assert_int_eq(reply->integer, 7);
}
END_TEST

START_TEST(what_hiredis_cannot_read_costs_the_connection_only)
{
	struct question question = { .words = { "EVAL", nested(12), "0" } };

	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	check_text(ASK("PING"), "PONG");
}
END_TEST

START_TEST(a_refusal_is_an_error_at_once)
{
	struct question question = { .words = { "HGET", "k", "f" } };

	ASK("SET", "k", "v");
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert(value_is(question.reply, VALUE_STR));
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "WRONGTYPE ", 10), 0);
	/* Not to be taken for BUSY. */
	ASK("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM");
	question = (struct question){ .words = { "XGROUP", "CREATE", "s", "g", "0" } };
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "BUSYGROUP ", 10), 0);
}
END_TEST

START_TEST(a_large_answer_is_whole)
{
	const size_t size = 5u << 20;
	char *text = arena_alloc(arena, size + 1);

	memset(text, 'x', size);
	ASK("SET", "k", text);
	check_text(ASK("GET", "k"), text);
}
END_TEST

static long
info_number(const char *section, const char *name)
{
	const char *info = redis_reply_text(ASK("INFO", section));
	const char *line = strstr(info, name);

	ck_assert_ptr_nonnull(line);
	return strtol(line + strlen(name), NULL, 10);
}

START_TEST(commands_of_one_turn_travel_together)
{
	static struct question questions[500];
	long reads;
	int i;

	ASK("PING");
	reads = info_number("stats", "total_reads_processed:");
	for (i = 0; i < 500; i++) {
		questions[i] = (struct question){ .words = { "INCR", "n" } };
		begin(&questions[i]);
	}
	run();
	for (i = 0; i < 500; i++)
		ck_assert_int_eq(questions[i].reply->integer, i + 1);
	ck_assert_int_le(info_number("stats", "total_reads_processed:") - reads, 20);
}
END_TEST

/* --- coming and going ------------------------------------------------------------------- */

START_TEST(a_call_waits_for_the_server_to_come)
{
	struct question question = { .words = { "PING" } };

	child_kill(&server);
	run_until(is_down, redis);
	begin(&question);
	run_until_trouble(path);
	start();
	run();
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_str_eq(redis_trouble(redis), "");
}
END_TEST

START_TEST(a_call_waits_no_longer_than_asked)
{
	struct question question = { .words = { "PING" }, .wait_ms = 30 };

	child_kill(&server);
	unlink(path);
	run_until(is_down, redis);
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	run_until_trouble("No such file");
}
END_TEST

/* Returns the answer to words while others wait for theirs. */
static const struct value *
ask_meanwhile(const char *first, const char *second)
{
	struct question question = { .words = { first, second } };

	begin(&question);
	loop_run_until(loop, is_true, &question.has_ended);
	return question.status == REDIS_OK ? question.reply : NULL;
}

/* Begins question with a client of its own; the server has it when this returns. */
static struct fiber *
begin_blocking(struct question *question, struct redis **own_r)
{
	struct fiber *fiber;

	*own_r = client(url, NULL);
	question->redis = *own_r;
	fiber = begin(question);
	while (strstr(redis_reply_text(ask_meanwhile("INFO", "clients")),
		   "blocked_clients:1") == NULL)
		ck_assert(!question->has_ended);
	return fiber;
}

START_TEST(a_call_under_way_is_lost_with_the_connection)
{
	struct question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	begin_blocking(&question, &own);
	child_kill(&server);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	start();
	/* It is not sent again: the item stays. */
	ck_assert_int_eq(ASK("RPUSH", "list", "item")->integer, 1);
	ask((struct question){ .redis = own, .words = { "PING" } });
	ck_assert_int_eq(ASK("LLEN", "list")->integer, 1);
	redis_destroy(&own);
}
END_TEST

START_TEST(comes_back_again_and_again)
{
	int i;

	for (i = 0; i < 5; i++) {
		ASK("SET", "k", "v");
		child_kill(&server);
		run_until(is_down, redis);
		start();
		check_text(ASK("PING"), "PONG");
	}
}
END_TEST

START_TEST(a_silent_server_is_given_up)
{
	struct question question = { .words = { "PING" } };

	ASK("PING");
	redis_allow_silence(redis, 50);
	kill(child_pid(server), SIGSTOP);
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
	ck_assert_ptr_nonnull(strstr(redis_trouble(redis), "no answer"));
	kill(child_pid(server), SIGCONT);
	check_text(ASK("PING"), "PONG");
}
END_TEST

/* --- refusals that pass ------------------------------------------------------------------ */

/* Begins question with a client of its own; Redis has refused it with code when this
 * returns. */
static void
begin_refused(struct question *question, struct redis **own_r, const char *code)
{
	const char *line = arena_printf(arena, "errorstat_%s:", code);

	*own_r = client(url, NULL);
	question->redis = *own_r;
	begin(question);
	while (
	    strstr(redis_reply_text(ask_meanwhile("INFO", "errorstats")), line) == NULL)
		ck_assert(!question->has_ended);
}

START_TEST(waits_while_memory_is_short)
{
	struct question question = { .words = { "SET", "k", "v" } };
	struct question enough = { .words = { "CONFIG", "SET", "maxmemory", "0" } };
	struct redis *own;

	ASK("CONFIG", "SET", "maxmemory", "1");
	begin_refused(&question, &own, "OOM");
	begin(&enough);
	run();
	ck_assert_int_eq(question.status, REDIS_OK);
	redis_destroy(&own);
}
END_TEST

START_TEST(says_what_redis_said_when_it_does_not_pass)
{
	struct question question = { .words = { "SET", "k", "v" }, .wait_ms = 120 };

	ASK("CONFIG", "SET", "maxmemory", "1");
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_int_eq(strncmp(redis_reply_text(question.reply), "OOM ", 4), 0);
}
END_TEST

START_TEST(looks_for_the_primary_again)
{
	struct question question = { .words = { "SET", "k", "v" } };
	struct question promote = { .words = { "REPLICAOF", "NO", "ONE" } };
	struct redis *own;
	long connections;

	ASK("REPLICAOF", "127.0.0.1", "1");
	connections = info_number("stats", "total_connections_received:");
	begin_refused(&question, &own, "READONLY");
	begin(&promote);
	run();
	ck_assert_int_eq(question.status, REDIS_OK);
	/* Another connection than the one that was told READONLY. */
	ck_assert_int_ge(
	    info_number("stats", "total_connections_received:") - connections, 2);
	redis_destroy(&own);
}
END_TEST

/* Returns whether Redis says BUSY to another client. */
static bool
says_busy(void)
{
	struct question probe = { .words = { "PING" }, .wait_ms = 1 };

	begin(&probe);
	loop_run_until(loop, is_true, &probe.has_ended);
	return probe.status == REDIS_ERROR &&
	       strncmp(redis_reply_text(probe.reply), "BUSY ", 5) == 0;
}

START_TEST(waits_for_a_busy_script)
{
	struct redis *other = client(url, NULL), *own = client(url, NULL);
	struct question busy = { .redis = other,
		.words = { "EVAL", "while true do end", "0" } };
	struct question question = { .redis = own, .words = { "GET", "k" } };

	ask((struct question){ .redis = other, .words = { "PING" } });
	ask((struct question){ .redis = own, .words = { "PING" } });
	begin(&busy);
	while (!says_busy())
		ck_assert(!busy.has_ended);
	begin(&question);
	while (!says_busy())
		;
	ck_assert(!question.has_ended);
	ck_assert_ptr_nonnull(ask_meanwhile("SCRIPT", "KILL"));
	run();
	ck_assert_int_eq(busy.status, REDIS_ERROR);
	ck_assert_int_eq(question.status, REDIS_OK);
	ck_assert_int_ge(info_number("errorstats", "errorstat_BUSY:count="), 2);
	redis_destroy(&other);
	redis_destroy(&own);
}
END_TEST

/* --- greetings --------------------------------------------------------------------------- */

static const char library[] = "#!lua name=test\n"
			      "redis.register_function('double', function(keys, args)\n"
			      "  return args[1] * 2\n"
			      "end)\n";

START_TEST(the_library_is_there_and_comes_back)
{
	struct redis *own = client(url, library);
	struct question twice = { .redis = own,
		.words = { "FCALL", "double", "0", "21" } };

	ck_assert_int_eq(ask(twice)->integer, 42);
	ASK("FUNCTION", "FLUSH");
	ck_assert_int_eq(ask(twice)->integer, 42);
	child_kill(&server);
	run_until(is_down, own);
	start();
	ck_assert_int_eq(ask(twice)->integer, 42);
	redis_destroy(&own);
}
END_TEST

START_TEST(a_function_nobody_has_is_an_error_in_the_end)
{
	struct redis *own = client(url, library);
	struct question question = {
		.redis = own, .wait_ms = 120, .words = { "FCALL", "triple", "0" }
	};

	ask((struct question){ .redis = own, .words = { "PING" } });
	begin(&question);
	run();
	ck_assert_int_eq(question.status, REDIS_ERROR);
	ck_assert_str_eq(redis_reply_text(question.reply), "ERR Function not found");
	redis_destroy(&own);
}
END_TEST

START_TEST(a_bad_library_is_trouble)
{
	redis_destroy(&redis);
	redis = client(url, "#!lua name=bad\nthis is no Lua");
	run_until_trouble("ERR Error compiling function");
}
END_TEST

/* Returns a port nobody listens on. */
static const char *
free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	close(fd);
	return arena_printf(arena, "%u", ntohs(address.sin_port));
}

static const char *const hosts[] = { "127.0.0.1", "localhost" };

START_TEST(a_refused_connection_is_tried_again)
{
	const char *port = free_port();

	child_kill(&server);
	redis_destroy(&redis);
	redis = client(arena_printf(arena, "redis://%s:%s", hosts[_i], port), NULL);
	run_until_trouble("refused");
	start_on(port);
	check_text(ASK("PING"), "PONG");
}
END_TEST

START_TEST(gives_its_name_and_chooses_its_database)
{
	const char *port = free_port();

	child_kill(&server);
	start_on(port);
	ASK("ACL", "SETUSER", "me", "on", ">pa:ss", "~*", "+@all");
	ASK("CONFIG", "SET", "requirepass", "p@ss");
	redis_destroy(&redis);
	redis =
	    client(arena_printf(arena, "redis://:p%%40ss@localhost:%s/3", port), NULL);
	ck_assert_ptr_nonnull(strstr(redis_reply_text(ASK("CLIENT", "INFO")), " db=3 "));
	redis_destroy(&redis);
	redis =
	    client(arena_printf(arena, "redis://me:pa%%3ass@127.0.0.1:%s", port), NULL);
	check_text(ASK("ACL", "WHOAMI"), "me");
	redis_destroy(&redis);
	redis = client(arena_printf(arena, "redis://:wrong@127.0.0.1:%s", port), NULL);
	run_until_trouble("WRONGPASS");
	ck_assert_ptr_null(strstr(redis_trouble(redis), ":wrong"));
	redis_destroy(&redis);
	redis = client(url, NULL);
	run_until_trouble("NOAUTH");
}
END_TEST

START_TEST(an_unknown_host_is_trouble)
{
	redis_destroy(&redis);
	redis = client("redis://a..b", NULL);
	run_until_trouble("a..b:6379: ");
}
END_TEST

static const char *const no_urls[] = { "", "nothing", "http://h", "rediss://h",
	"unix://relative", "unix://", "redis://h/x", "redis://h:99999", "redis://h/1x" };

START_TEST(is_no_url_of_a_redis)
{
	const char *error = NULL;

	ck_assert_ptr_null(redis_new(loop, no_urls[_i], NULL, &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

/* --- leaving ----------------------------------------------------------------------------- */

START_TEST(a_cancelled_call_leaves_and_its_answer_goes_to_nobody)
{
	struct question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	fiber_cancel(begin_blocking(&question, &own));
	run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
	ASK("RPUSH", "list", "item");
	check_text(
	    ask((struct question){ .redis = own, .words = { "ECHO", "mine" } }), "mine");
	redis_destroy(&own);
}
END_TEST

START_TEST(a_cancelled_fiber_sends_nothing)
{
	struct question question = { .words = { "INCR", "n" } };

	ASK("PING");
	fiber_cancel(begin(&question));
	run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
	ck_assert(value_is_nil(ASK("GET", "n")));
}
END_TEST

START_TEST(a_cancelled_call_does_not_wait_for_the_server)
{
	struct question question = { .words = { "PING" } };
	struct fiber *fiber;

	child_kill(&server);
	run_until(is_down, redis);
	fiber = begin(&question);
	run_until_trouble(path);
	fiber_cancel(fiber);
	run();
	ck_assert_int_eq(question.status, REDIS_CANCELLED);
}
END_TEST

START_TEST(what_is_under_way_is_lost_at_the_end)
{
	struct question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	begin_blocking(&question, &own);
	redis_destroy(&own);
	ck_assert_ptr_null(own);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

START_TEST(an_answer_nobody_waits_for_may_never_come)
{
	struct question question = { .words = { "BLPOP", "list", "0" } };
	struct redis *own;

	fiber_cancel(begin_blocking(&question, &own));
	run();
	redis_destroy(&own);
}
END_TEST

START_TEST(who_waits_for_a_server_is_lost_at_the_end)
{
	struct question question = { .words = { "PING" } };

	redis_destroy(&redis);
	redis = client("unix:///nowhere/redis", NULL);
	begin(&question);
	run_a_little();
	ck_assert(!question.has_ended);
	redis_destroy(&redis);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

START_TEST(who_waits_for_better_times_is_lost_at_the_end)
{
	struct question question = { .words = { "SET", "k", "v" } };
	struct redis *own;

	ASK("CONFIG", "SET", "maxmemory", "1");
	begin_refused(&question, &own, "OOM");
	redis_destroy(&own);
	run();
	ck_assert_int_eq(question.status, REDIS_LOST);
}
END_TEST

static const char *const anywhere[] = { NULL, "unix:///nowhere/redis",
	"redis://127.0.0.1:1", "redis://localhost:1", "redis://a..b" };

START_TEST(a_client_may_go_at_any_time)
{
	const char *to = anywhere[_i] == NULL ? url : anywhere[_i];
	struct redis *own = client(to, library);

	redis_destroy(&own);
	own = client(to, library);
	run_a_little();
	redis_destroy(&own);
	own = client(to, library);
	ASK("PING");
	run_a_little();
	redis_destroy(&own);
	redis_destroy(&own);
}
END_TEST

static void
add_answers(TCase *tcase)
{
	tcase_add_test(tcase, answers_have_their_types);
	tcase_add_test(tcase, bytes_are_bytes);
	tcase_add_test(tcase, text_is_short_for_arguments);
	tcase_add_test(tcase, answers_nest);
	tcase_add_test(tcase, what_hiredis_cannot_read_costs_the_connection_only);
	tcase_add_test(tcase, a_refusal_is_an_error_at_once);
	tcase_add_test(tcase, a_large_answer_is_whole);
	tcase_add_test(tcase, commands_of_one_turn_travel_together);
}

static void
add_troubles(TCase *tcase)
{
	tcase_add_test(tcase, a_call_waits_for_the_server_to_come);
	tcase_add_test(tcase, a_call_waits_no_longer_than_asked);
	tcase_add_test(tcase, a_call_under_way_is_lost_with_the_connection);
	tcase_add_test(tcase, comes_back_again_and_again);
	tcase_add_test(tcase, a_silent_server_is_given_up);
	tcase_add_test(tcase, waits_while_memory_is_short);
	tcase_add_test(tcase, says_what_redis_said_when_it_does_not_pass);
	tcase_add_test(tcase, looks_for_the_primary_again);
	tcase_add_test(tcase, waits_for_a_busy_script);
}

static void
add_greetings(TCase *tcase)
{
	tcase_add_test(tcase, the_library_is_there_and_comes_back);
	tcase_add_test(tcase, a_function_nobody_has_is_an_error_in_the_end);
	tcase_add_test(tcase, a_bad_library_is_trouble);
	tcase_add_loop_test(tcase, a_refused_connection_is_tried_again, 0,
	    sizeof hosts / sizeof hosts[0]);
	tcase_add_test(tcase, gives_its_name_and_chooses_its_database);
	tcase_add_test(tcase, an_unknown_host_is_trouble);
	tcase_add_loop_test(
	    tcase, is_no_url_of_a_redis, 0, sizeof no_urls / sizeof no_urls[0]);
}

TCase *
tcase_redis(void)
{
	TCase *tcase = tcase_create("redis");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	add_answers(tcase);
	add_troubles(tcase);
	add_greetings(tcase);
	tcase_add_test(tcase, a_cancelled_call_leaves_and_its_answer_goes_to_nobody);
	tcase_add_test(tcase, a_cancelled_fiber_sends_nothing);
	tcase_add_test(tcase, a_cancelled_call_does_not_wait_for_the_server);
	tcase_add_test(tcase, what_is_under_way_is_lost_at_the_end);
	tcase_add_test(tcase, an_answer_nobody_waits_for_may_never_come);
	tcase_add_test(tcase, who_waits_for_a_server_is_lost_at_the_end);
	tcase_add_test(tcase, who_waits_for_better_times_is_lost_at_the_end);
	tcase_add_loop_test(
	    tcase, a_client_may_go_at_any_time, 0, sizeof anywhere / sizeof anywhere[0]);
	return tcase;
}
