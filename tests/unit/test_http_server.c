/* The HTTP server on a loop with real sockets: answers, streams, its end. */
#include <check.h>

#include "has.h"

/* Interface under test */
#include "http_server_bench.h"

TCase *tcase_http_server(void);

/* --- answers ------------------------------------------------------------------------------ */

START_TEST(a_request_is_read_and_answered)
{
	struct client *client = hs_dial(0);
	const char *said;

	hs_send(client, "PUT /echo%20it?q=a%26b&q=&r&q=%C3%A9 HTTP/1.1\r\nHost: x\r\n"
			"X-MINE: yes\r\nContent-Length: 5\r\n\r\nab\xc3\xa9!");
	said = hs_await(client, "!");
	ck_assert_has(said, "HTTP/1.1 200 OK\r\n");
	ck_assert_has(said, "\r\nX-Yours: yes\r\n");
	ck_assert_has(said, "\r\nContent-Type: text/plain\r\n");
	ck_assert_has(said, "\r\nX-Content-Type-Options: nosniff\r\n");
	ck_assert_has_not(said, "X-Split");
	ck_assert_has_not(said, "X-Bad");
	ck_assert_has(said, "\r\n\r\nPUT /echo it q=a&b,,\xc3\xa9 5:ab\xc3\xa9!");
}
END_TEST

START_TEST(a_request_without_more_has_none)
{
	struct client *client = hs_dial(0);
	const char *said;

	hs_get(client, "/echo");
	said = hs_await(client, "0:");
	ck_assert_has(said, "\r\nX-Yours: none\r\n");
	ck_assert_has(said, "GET /echo q=none 0:");
}
END_TEST

START_TEST(a_body_may_come_in_pieces)
{
	struct client *client = hs_dial(0);

	hs_send(client, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
			"chunked\r\n\r\n2\r\nab\r\n");
	hs_run_a_little();
	hs_send(client, "3\r\ncde\r\n0\r\n\r\n");
	ck_assert_has(hs_await(client, "5:abcde"), "POST /echo");
	hs_send(client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
	hs_run_a_little();
	ck_assert_uint_eq(hs.asked, 1);
	hs_send(client, "cd");
	ck_assert_has(hs_await(client, "4:abcd"), "POST /echo");
}
END_TEST

START_TEST(one_connection_asks_as_often_as_it_likes)
{
	struct client *client = hs_dial(0);
	unsigned i;

	for (i = 0; i < 300; i++) {
		if (i % 3 == 0)
			hs_post(client, "/echo", 9);
		else
			hs_get(client, i % 3 == 1 ? "/echo" : "/pieces");
		hs_await(client, i % 3 == 0   ? "9:bbbbbbbbb"
				 : i % 3 == 1 ? " 0:"
					      : "0\r\n\r\n");
	}
	ck_assert_uint_eq(hs.asked, 300);
	/* Several at once, too. */
	hs_get(client, "/echo");
	hs_get(client, "/pieces");
	hs_get(client, "/twice");
	ck_assert_has(hs_await(client, "first"), "three");
}
END_TEST

START_TEST(an_answer_may_have_no_body)
{
	struct client *client = hs_dial(0);
	const char *said;

	hs_get(client, "/nothing");
	said = hs_await(client, "\r\n\r\n");
	ck_assert_has(said, "HTTP/1.1 204 ");
	ck_assert_has_not(said, "Content-Type:");
}
END_TEST

START_TEST(the_first_answer_counts)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/twice");
	ck_assert_has_not(hs_await(client, "first"), "second");
}
END_TEST

START_TEST(no_answer_is_an_error)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/forget");
	ck_assert_has(hs_await(client, "No answer."), "HTTP/1.1 500 ");
}
END_TEST

START_TEST(head_has_the_head_alone)
{
	struct client *client = hs_dial(0);
	const char *said;

	hs_send(client, "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	said = hs_await(client, "\r\n\r\n");
	ck_assert_has(said, "HTTP/1.1 200 OK\r\n");
	ck_assert_has(said, "\r\nContent-Length: 20\r\n");
	ck_assert_has_not(said, "HEAD /echo");
	hs_send(client, "HEAD /pieces HTTP/1.1\r\nHost: x\r\n\r\n");
	ck_assert_has_not(hs_await(client, "\r\n\r\n"), "one");
	hs_send(client, "HEAD /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	hs_await(client, "\r\n\r\n");
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	hs_get(client, "/echo");
	hs_await(client, "GET /echo");
}
END_TEST

START_TEST(who_is_not_let_in_is_answered_before_the_body)
{
	struct client *client = hs_dial(0);

	hs_send(client, "POST /closed HTTP/1.1\r\nHost: x\r\nContent-Length: "
			"1000000\r\n\r\nb");
	ck_assert_has(hs_await(client, "no key"), "HTTP/1.1 401 ");
	ck_assert_uint_eq(hs.asked, 0);
}
END_TEST

/* --- streams ------------------------------------------------------------------------------ */

START_TEST(a_stream_comes_in_pieces)
{
	struct client *client = hs_dial(0);
	const char *said;

	hs_get(client, "/pieces");
	said = hs_await(client, "0\r\n\r\n");
	ck_assert_has(said, "\r\nTransfer-Encoding: chunked\r\n");
	ck_assert_has(said, "one ");
	ck_assert_has(said, "two ");
	ck_assert_has(said, "three");
}
END_TEST

/* The head, too: nobody waits for what is not there yet. */
START_TEST(a_piece_is_there_at_once)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/hold-stream");
	ck_assert_has(hs_await(client, "begun\n"), "HTTP/1.1 200 OK\r\n");
	ck_assert_ptr_nonnull(hs.holder);
	hs_let_go();
	hs_await(client, "0\r\n\r\n");
}
END_TEST

START_TEST(an_old_client_gets_a_stream_to_the_connections_end)
{
	struct client *client = hs_dial(0);

	hs_send(client, "GET /pieces HTTP/1.0\r\n\r\n");
	ck_assert_has(hs_await_end(client), "\r\n\r\none two three");
}
END_TEST

static size_t
bytes_come(const struct client *client)
{
	return client->in.size - 1;
}

static bool
has_come_much(void *arg)
{
	return bytes_come(arg) > (8u << 20);
}

/* Else whoever reads slowly would fill our memory. What the kernel takes is beside it. */
START_TEST(who_does_not_read_is_waited_for)
{
	struct client *client = hs_dial(0);
	size_t written;

	hs_set_reading(client, false);
	hs_get(client, "/flood");
	do {
		written = hs.written;
		hs_run_a_little();
	} while (written != hs.written || hs.asked == 0);
	ck_assert_uint_eq(hs.ended, 0);
	ck_assert_uint_lt(written, 64u << 20);
	hs_set_reading(client, true);
	loop_run_until(hs.loop, has_come_much, client);
	ck_assert_uint_gt(hs.written, written);
	hs_set_reading(client, false);
	hs_hang_up(client);
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	ck_assert_uint_eq(hs.cancelled, 1);
	ck_assert_uint_eq(hs.gone, 1);
}
END_TEST

static bool
has_written_all(void *arg)
{
	(void)arg;
	return hs.ended == 1;
}

START_TEST(all_of_a_long_stream_comes)
{
	struct client *client = hs_dial(0);
	const char *said;
	size_t count = 0;

	hs_get(client, "/much");
	loop_run_until(hs.loop, has_written_all, NULL);
	ck_assert_uint_eq(hs.written, 32 * PIECE);
	for (said = hs_await(client, "0\r\n\r\n"); *said != '\0'; said++)
		count += *said == 'x';
	ck_assert_uint_ge(count, 32 * PIECE); /* and that of the head */
	ck_assert_uint_le(count, 32 * PIECE + 10);
}
END_TEST

/* --- its end ------------------------------------------------------------------------------ */

/* Those that wait, those that stream, those that do not read, those that have not asked yet. */
START_TEST(who_is_there_at_the_end_is_cut_off)
{
	struct client *clients[3] = { hs_dial(0), hs_dial(1), hs_dial(2) };

	hs_get(clients[0], "/hold-stream");
	hs_await(clients[0], "begun\n");
	hs_set_reading(clients[1], false);
	hs_get(clients[1], "/flood");
	hs_send(clients[2], "GET /echo HTTP/1.1\r\nHo");
	hs_run_a_little();
	hs_end_server();
	ck_assert_uint_eq(hs.asked, 2);
	ck_assert_uint_eq(hs.ended, 2);
	ck_assert_uint_eq(hs.cancelled, 2);
	hs_await_end(clients[0]);
	hs_await_end(clients[2]);
}
END_TEST

START_TEST(who_waits_at_the_end_is_cut_off)
{
	struct client *client = hs_dial(0);

	hs_post(client, "/hold", 100);
	loop_run_until(hs.loop, hs_has_held, NULL);
	hs_end_server();
	ck_assert_uint_eq(hs.cancelled, 1);
	hs_await_end(client);
}
END_TEST

static const struct {
	const char *listen, *words;
	bool is_usage;
} addresses[] = {
	{ "9464", "must be HOST:PORT", true },
	{ "127.0.0.1:", "must be HOST:PORT", true },
	{ "127.0.0.1:65536", "must be HOST:PORT", true },
	{ "192.0.2.1:9464", "Cannot assign requested address", false },
};

START_TEST(an_address_that_is_none_is_refused)
{
	struct http_server_options options = hs.options;
	const char *error = "";
	bool is_usage = !addresses[_i].is_usage;

	options.listen = addresses[_i].listen;
	ck_assert_ptr_null(http_server_new(hs.loop, &options, &error, &is_usage));
	ck_assert_has(error, addresses[_i].words);
	ck_assert(is_usage == addresses[_i].is_usage);
}
END_TEST

TCase *
tcase_http_server(void)
{
	TCase *tcase = tcase_create("http_server");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, hs_open, hs_close);
	tcase_add_test(tcase, a_request_is_read_and_answered);
	tcase_add_test(tcase, a_request_without_more_has_none);
	tcase_add_test(tcase, a_body_may_come_in_pieces);
	tcase_add_test(tcase, one_connection_asks_as_often_as_it_likes);
	tcase_add_test(tcase, an_answer_may_have_no_body);
	tcase_add_test(tcase, the_first_answer_counts);
	tcase_add_test(tcase, no_answer_is_an_error);
	tcase_add_test(tcase, head_has_the_head_alone);
	tcase_add_test(tcase, who_is_not_let_in_is_answered_before_the_body);
	tcase_add_test(tcase, a_stream_comes_in_pieces);
	tcase_add_test(tcase, a_piece_is_there_at_once);
	tcase_add_test(tcase, an_old_client_gets_a_stream_to_the_connections_end);
	tcase_add_test(tcase, who_does_not_read_is_waited_for);
	tcase_add_test(tcase, all_of_a_long_stream_comes);
	tcase_add_test(tcase, who_is_there_at_the_end_is_cut_off);
	tcase_add_test(tcase, who_waits_at_the_end_is_cut_off);
	tcase_add_loop_test(tcase, an_address_that_is_none_is_refused, 0,
	    sizeof addresses / sizeof addresses[0]);
	return tcase;
}
