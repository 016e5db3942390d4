#include <arpa/inet.h>
#include <check.h>
#include <sys/socket.h>
#include <unistd.h>

/* Interface under test */
#include "http_watch.h"

TCase *tcase_http_watch(void);

static struct loop *loop;
static struct http_watches *watches;
static unsigned heard;

static void
on_heard(struct http_lane *lane, curl_socket_t fd, int flags)
{
	(void)lane, (void)fd, (void)flags;
	heard++;
	loop_stop(loop);
}

static void
setup(void)
{
	loop = loop_new();
	watches = http_watches_new(loop, on_heard);
	heard = 0;
}

static void
teardown(void)
{
	http_watches_destroy(&watches);
	loop_destroy(&loop);
}

/* curl waits for its resolver's thread at a socket pair, which it closes by itself, maybe for a
 * request that was sent already and has to be sent again. The number is the next socket's. */
START_TEST(a_socket_of_curls_own_does_not_stay)
{
	int pair[2], first = -1, i;

	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		ck_assert_int_eq(http_watch(watches, NULL, pair[0], CURL_POLL_IN), 0);
		ck_assert_int_eq(write(pair[1], "a", 1), 1);
		loop_run(loop);
		http_unwatch(watches, pair[0], true);
		close(pair[0]);
		close(pair[1]);
		ck_assert(first == -1 || pair[0] == first);
		first = pair[0];
	}
	ck_assert_uint_eq(heard, 2);
}
END_TEST

/* Of several addresses of a host one may refuse: curl closes its socket before it says that nobody
 * waits for it, when another one has answered in the same turn. */
START_TEST(a_connection_that_failed_does_not_stay)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(1) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(connect(fd, (void *)&nobody, sizeof nobody), -1);
	ck_assert_int_eq(http_watch(watches, NULL, fd, CURL_POLL_OUT), 0);
	loop_run(loop);
	close(fd);
	http_unwatch(watches, fd, true);
	http_watches_destroy(&watches); /* finds none */
}
END_TEST

TCase *
tcase_http_watch(void)
{
	TCase *tcase = tcase_create("http_watch");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_socket_of_curls_own_does_not_stay);
	tcase_add_test(tcase, a_connection_that_failed_does_not_stay);
	return tcase;
}
