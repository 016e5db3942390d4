/* The Redis client against peers that are none, or none any more: each byte they say is the test's. */
#include <check.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fiber.h"
#include "redis_trial.h"
#include "store.h"

/* Interface under test */
#include "redis.h"
#include "redis_address.h"
#include "redis_link.h"

TCase *tcase_redis_peer(void);

#define GREETING "*1\r\n$6\r\nmaster\r\n+PONG\r\n"

/* It listens in the test's own thread: what it does it does between two turns of the client's loop. */
static struct peer {
	int listener, one;
	const char *awaited; /* the end of what it shall have heard */
	char heard[8192];
	size_t size;
	const char *path;
} peer;

static struct redis *own;

static void
listen_at(int family, const void *address, socklen_t size)
{
	peer.listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(peer.listener, address, size), 0);
	ck_assert_int_eq(listen(peer.listener, 8), 0);
}

static void
set_up(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	redis_trial_open();
	peer.path = arena_printf(redis_trial.arena, "%s/peer", redis_trial.folder);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", peer.path);
	peer.one = -1;
	listen_at(AF_UNIX, &address, sizeof address);
	own = redis_trial_client(
	    arena_printf(redis_trial.arena, "unix://%s", peer.path), NULL);
}

static void
hang_up(void)
{
	if (peer.one != -1)
		close(peer.one);
	peer.one = -1;
	peer.size = 0;
}

static void
tear_down(void)
{
	if (own != NULL)
		redis_destroy(&own);
	hang_up();
	close(peer.listener);
	redis_trial_close();
}

static bool
has_heard(void *arg)
{
	const size_t size = strlen(peer.awaited);
	ssize_t more;

	(void)arg;
	if (peer.one == -1)
		peer.one =
		    accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer.one == -1)
		return false;
	more = read(peer.one, peer.heard + peer.size, sizeof peer.heard - peer.size);
	if (more > 0)
		peer.size += (size_t)more;
	return peer.size >= size &&
	       memcmp(peer.heard + peer.size - size, peer.awaited, size) == 0;
}

static void
hear(const char *end)
{
	peer.awaited = end;
	redis_trial_run_until(has_heard, NULL);
}

static void
say(const char *bytes, size_t size)
{
	ck_assert_int_eq(write(peer.one, bytes, size), (ssize_t)size);
}

static bool
has_ended(void *arg)
{
	const struct redis_question *question = arg;

	return question->has_ended;
}

/* --- connections that break ------------------------------------------------------------ */

/* A conversation that ends behind its first `size` bytes; the next one is whole. */
static void
check_cut(size_t size)
{
	static const char said[] = GREETING "$4\r\nlike\r\n";
	const size_t greeting = strlen(GREETING), whole = strlen(said);
	struct redis_question question = { .redis = own, .words = { "GET", "k" } };

	redis_trial_begin(&question);
	hear("PING\r\n");
	say(said, size < greeting ? size : greeting);
	if (size >= greeting) {
		hear("$3\r\nGET\r\n$1\r\nk\r\n");
		say(said + greeting, size - greeting);
	}
	if (size < whole)
		hang_up();
	if (size < greeting) { /* it was not sent, so it is now */
		hear("PING\r\n");
		say(GREETING, greeting);
		hear("$3\r\nGET\r\n$1\r\nk\r\n");
		say(said + greeting, whole - greeting);
	}
	redis_trial_run_until(has_ended, &question);
	if (size < greeting || size == whole)
		redis_trial_check(question.reply, "like");
	else
		ck_assert_int_eq(question.status, REDIS_LOST);
	hang_up();
	redis_trial_run_until(redis_trial_is_down, own);
}

START_TEST(wherever_it_breaks_nothing_is_sent_twice_and_no_half_answer_counts)
{
	size_t i;

	for (i = 0; i <= strlen(GREETING "$4\r\nlike\r\n"); i++)
		check_cut(i);
}
END_TEST

static struct store *store;

static void
ask_whether_it_is_ours(void *arg)
{
	const struct store_hold hold = { "t", "r", 1, 1 };

	*(enum store_status *)arg =
	    store_results(store, redis_trial.arena, &hold, value_empty_map());
}

/* A run is not given up for a Redis that comes and goes: what it has not called yet would count as called. */
START_TEST(whether_a_run_is_ours_is_asked_until_it_is_told)
{
	enum store_status status = STORE_NONE;
	int i;

	store = store_new(own, REDIS_TRIAL_MS);
	fiber_start(redis_trial.loop, "asks", ask_whether_it_is_ours, &status);
	for (i = 0; i < 5; i++) {
		hear("PING\r\n");
		say(GREETING, strlen(GREETING));
		hear("$1\r\n1\r\n");
		if (i < 4)
			hang_up();
	}
	say("*1\r\n$2\r\nOK\r\n", 12);
	redis_trial_run();
	ck_assert_int_eq(status, STORE_OK);
	store_destroy(&store);
}
END_TEST

static void
claim_it(void *arg)
{
	struct store_claim claim;

	*(enum store_status *)arg =
	    store_claim(store, redis_trial.arena, "t", 1000, &claim);
}

/* So often: what is to be answered may be what ends the connection. */
START_TEST(a_claim_that_is_sent_again_says_so)
{
	static const char last[] = "$20\r\n18446744073709551615\r\n";
	enum store_status status = STORE_OK;
	int i;

	store = store_new(own, REDIS_TRIAL_MS);
	fiber_start(redis_trial.loop, "claims", claim_it, &status);
	for (i = 0; i < 23; i++) {
		hear("PING\r\n");
		say(GREETING, strlen(GREETING));
		hear(i == 0 || i > 20 ? last : "\r\n$1\r\n1\r\n");
		if (i < 22)
			hang_up();
	}
	say("*1\r\n$4\r\nNONE\r\n", 14);
	redis_trial_run();
	ck_assert_int_eq(status, STORE_NONE);
	store_destroy(&store);
}
END_TEST

START_TEST(an_answer_may_come_byte_by_byte)
{
	static const char said[] = "*3\r\n$2\r\nab\r\n:-7\r\n$-1\r\n";
	struct redis_question question = { .redis = own, .words = { "MGET", "k" } };
	size_t i;

	redis_trial_begin(&question);
	hear("PING\r\n");
	for (i = 0; i < strlen(GREETING); i++) {
		say(&GREETING[i], 1);
		redis_trial_run_a_little();
	}
	hear("k\r\n");
	for (i = 0; i < strlen(said); i++) {
		ck_assert(!question.has_ended);
		say(&said[i], 1);
		redis_trial_run_a_little();
	}
	redis_trial_run_until(has_ended, &question);
	ck_assert_uint_eq(question.reply->size, 3);
	ck_assert_int_eq(value_at(question.reply, 1)->integer, -7);
}
END_TEST

#define LARGE (16u << 20)

static uint64_t begun_ms;

static void
flush(void *link)
{
	redis_link_flush(link);
}

static void
on_nothing(void *arg, void *token, const struct redisReply *reply)
{
	(void)arg;
	(void)token;
	(void)reply;
}

static void
on_end(void *arg, const char *reason)
{
	(void)reason;
	*(bool *)arg = true;
}

static bool
is_seen_to_read(void *arg)
{
	static char some[16384];
	ssize_t size;

	if (peer.one == -1)
		peer.one =
		    accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size = read(peer.one, some, sizeof some);
	if (size > 0)
		peer.size += (size_t)size;
	ck_assert_msg(peer.size < LARGE, "it has read all, unnoticed");
	return redis_link_heard_ms(arg) > begun_ms;
}

/* Over a slow line a large command takes longer than an answer may. */
START_TEST(who_reads_what_we_send_is_alive)
{
	static const struct redis_link_events events = { on_nothing, on_end };
	const struct redis_arg arg = { arena_alloc(redis_trial.arena, LARGE), LARGE };
	struct redis_address address = { .path = peer.path };
	const char *error;
	bool is_over = false;
	struct redis_link *link;

	redis_destroy(&own);
	while ((peer.one = accept(peer.listener, NULL, NULL)) != -1)
		close(peer.one); /* its connection */
	link =
	    redis_link_open(redis_trial.loop, &address, NULL, &events, &is_over, &error);
	ck_assert_ptr_nonnull(link);
	redis_link_send(link, &arg, 1, NULL);
	begun_ms = redis_link_heard_ms(link);
	loop_add_flush(redis_trial.loop, flush, link);
	redis_trial_run_until(is_seen_to_read, link);
	loop_remove_flush(redis_trial.loop, flush, link);
	redis_link_close(link, "over");
	ck_assert(is_over);
	redis_trial_run_a_little();
}
END_TEST

/* --- who is no Redis -------------------------------------------------------------------- */

static const char *const greetings[] = {
	"*1\r\n$6\r\nmaster\r\n*1\r\n$4\r\nPING\r\n", /* an echo: a socket connected to itself, say */
	"*1\r\n$6\r\nmaster\r\n:1\r\n",
	"HTTP/1.1 400 Bad Request\r\n",
	"*1\r\n$6\r\nmaster\r\n+PONG\r\n+PONG\r\n", /* one answer more than there are questions */
	"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
	"*2147483647\r\n",
	"$99999999999999999999\r\n",
};

START_TEST(who_does_not_answer_as_redis_does_is_none)
{
	hear("PING\r\n");
	say(greetings[_i], strlen(greetings[_i]));
	redis_trial_run_a_little();
	ck_assert(!redis_is_up(own));
	ck_assert_ptr_null(strstr(redis_trouble(own), "no answer yet"));
}
END_TEST

/* "ERR unknown command" repeats what came with it, up to 128 bytes. */
START_TEST(who_repeats_our_password_is_not_repeated)
{
	static const char *const said[] = {
		"-ERR unknown command 'AUTH', with args beginning with: 'me' "
		"'hunter2-hunter2-and-more' \r\n",
		"-ERR unknown command 'AUTH', with args beginning with: 'me' "
		"'hunter2-hunt' \r\n",
		"-NOPE no hunter2-hunter2-and-more here\r\n",
	};
	const char *url = arena_printf(
	    redis_trial.arena, "unix://me:hunter2%%2Dhunter2-and-more@%s", peer.path);

	redis_destroy(&own);
	while ((peer.one = accept(peer.listener, NULL, NULL)) != -1)
		close(peer.one);
	own = redis_trial_client(url, NULL);
	hear("PING\r\n");
	say(said[_i], strlen(said[_i]));
	redis_trial_run_a_little();
	ck_assert_msg(redis_is_denied(own), "%s", redis_trouble(own));
	ck_assert_msg(
	    strstr(redis_trouble(own), "hunter2") == NULL, "%s", redis_trouble(own));
	ck_assert_ptr_nonnull(
	    strstr(redis_trouble(own), _i < 2 ? "unknown command 'AUTH'" : "NOPE no "));
}
END_TEST

/* --- last words ------------------------------------------------------------------------- */

static const char *const last_words[] = { "-ERR max number of clients reached\r\n",
	"-DENIED Redis is running in protected mode\r\n" };

static bool
is_spoken_to(void *arg)
{
	struct pollfd item = { .events = POLLIN };

	(void)arg;
	if (peer.one == -1)
		peer.one =
		    accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	item.fd = peer.one;
	return poll(&item, 1, 0) == 1;
}

static bool
has_said_why(void *arg)
{
	const char *line = arg, *trouble = redis_trouble(own);

	ck_assert_msg(
	    strstr(trouble, "closed") == NULL && strstr(trouble, "eset by") == NULL, "%s",
	    trouble);
	return strstr(trouble,
		   arena_copy(redis_trial.arena, line + 1, strlen(line) - 3)) != NULL;
}

/* What has come counts, though the connection was reset behind it: the peer has not read all that we said. */
START_TEST(what_was_said_before_a_reset_is_heard)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;

	close(peer.listener);
	redis_destroy(&own);
	listen_at(AF_INET, &address, size);
	getsockname(peer.listener, (struct sockaddr *)&address, &size);
	own = redis_trial_client(arena_printf(redis_trial.arena, "redis://127.0.0.1:%u",
				     ntohs(address.sin_port)),
	    NULL);
	redis_trial_run_until(is_spoken_to, NULL);
	say(last_words[_i], strlen(last_words[_i]));
	hang_up();
	redis_trial_run_until(has_said_why, (void *)last_words[_i]);
	ck_assert(redis_is_denied(own) == (_i == 1));
}
END_TEST

TCase *
tcase_redis_peer(void)
{
	TCase *tcase = tcase_create("redis_peer");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(
	    tcase, wherever_it_breaks_nothing_is_sent_twice_and_no_half_answer_counts);
	tcase_add_test(tcase, whether_a_run_is_ours_is_asked_until_it_is_told);
	tcase_add_test(tcase, a_claim_that_is_sent_again_says_so);
	tcase_add_test(tcase, an_answer_may_come_byte_by_byte);
	tcase_add_test(tcase, who_reads_what_we_send_is_alive);
	tcase_add_loop_test(tcase, who_does_not_answer_as_redis_does_is_none, 0,
	    sizeof greetings / sizeof *greetings);
	tcase_add_loop_test(tcase, who_repeats_our_password_is_not_repeated, 0, 3);
	tcase_add_loop_test(tcase, what_was_said_before_a_reset_is_heard, 0,
	    sizeof last_words / sizeof *last_words);
	return tcase;
}
