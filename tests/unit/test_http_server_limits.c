/* The HTTP server and who is no good client: who goes away, asks too much, is slow, or talks nonsense. */
#include <check.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "has.h"
#include "repeated.h"

/* Interface under test */
#include "http_server_bench.h"

TCase *tcase_http_server_limits(void);

/* --- who goes away ------------------------------------------------------------------------ */

START_TEST(who_hangs_up_in_a_stream_has_its_fiber_cancelled)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/hold-stream");
	hs_await(client, "begun\n");
	hs_hang_up(client);
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	ck_assert_uint_eq(hs.cancelled, 1);
	ck_assert_uint_eq(hs.gone, 1);
}
END_TEST

/* As a browser does whose page goes: some that ask are gone, the others are none the worse. */
START_TEST(who_hangs_up_disturbs_nobody)
{
	struct client *one = hs_dial(0), *other = hs_dial(1);

	hs_get(one, "/flood");
	hs_get(other, "/hold-stream");
	hs_await(other, "begun\n");
	hs_hang_up(one);
	one = hs_dial(0);
	hs_get(one, "/echo");
	hs_await(one, "GET /echo");
	hs_let_go();
	hs_await(other, "0\r\n\r\n");
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	ck_assert_uint_eq(hs.ended, 3);
}
END_TEST

START_TEST(who_hangs_up_before_the_answer_gets_none)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/hold");
	loop_run_until(hs.loop, hs_has_held, NULL);
	hs_hang_up(client);
	hs_run_a_little();
	hs_let_go();
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	client = hs_dial(0);
	hs_get(client, "/echo");
	hs_await(client, "GET /echo");
}
END_TEST

START_TEST(who_hangs_up_in_a_body_has_asked_nothing)
{
	struct client *client = hs_dial(0);

	hs_send(client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab");
	hs_run_a_little();
	hs_hang_up(client);
	client = hs_dial(1);
	hs_get(client, "/echo");
	hs_await(client, "GET /echo");
	ck_assert_uint_eq(hs.asked, 1);
}
END_TEST

/* --- what is too much --------------------------------------------------------------------- */

START_TEST(a_body_over_the_bound_is_refused)
{
	struct client *client = hs_dial(0);

	hs_post(client, "/echo", BODY_MAX);
	ck_assert_has(hs_await(client, "10000:bbb"), "HTTP/1.1 200 ");
	client = hs_dial(1);
	hs_post(client, "/echo", BODY_MAX + 1);
	ck_assert_has(hs_await(client, "The body is too large."), "HTTP/1.1 413 ");
	ck_assert_uint_eq(hs.asked, 1);
}
END_TEST

/* One that says it in advance, and one that does not. */
START_TEST(a_body_without_a_size_has_the_bound_too)
{
	struct client *client = hs_dial(0);

	hs_send(client, arena_printf(hs.arena,
			    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
			    "chunked\r\n\r\n2711\r\n%s\r\n0\r\n\r\n",
			    repeated(hs.arena, "b", 0x2711)));
	ck_assert_has(hs_await(client, "The body is too large."), "HTTP/1.1 413 ");
}
END_TEST

/* While the first one's is held, there is no room for a second. */
START_TEST(all_bodies_together_have_a_bound)
{
	struct client *one = hs_dial(0), *other = hs_dial(1);

	hs_post(one, "/hold", BODY_MAX);
	loop_run_until(hs.loop, hs_has_held, NULL);
	hs_post(other, "/echo", BODY_MAX);
	ck_assert_has(hs_await(other, "Too much is going on."), "HTTP/1.1 503 ");
	hs_let_go();
	hs_await(one, "let go");
	other = (hs_hang_up(other), hs_dial(1));
	hs_post(other, "/echo", BODY_MAX);
	hs_await(other, "10000:bbb");
}
END_TEST

/* By "Whose: a" or "b", of whom each holds bodies of its own. */
static size_t held[2];
static unsigned going_on;

static void
count_on_head(void *arg, struct exchange *exchange)
{
	const char *whose = exchange_header(exchange, "Whose");

	(void)arg;
	if (whose == NULL)
		return;
	going_on++;
	exchange_counts_for(exchange, &held[*whose - 'a'], &held[*whose - 'a']);
}

static void
count_on_end(void *arg, void *whose)
{
	(void)arg, (void)whose;
	going_on--;
}

static void
post_as(struct client *client, const char *path, char whose, size_t size)
{
	hs_send(client, arena_printf(hs.arena,
			    "POST %s HTTP/1.1\r\nHost: x\r\nWhose: %c\r\nContent-Length: "
			    "%zu\r\n\r\n%s",
			    path, whose, size, repeated(hs.arena, "b", size)));
}

START_TEST(nobody_has_more_than_half_of_all_bodies)
{
	struct client *one, *more, *other;

	hs_end_server();
	hs.options.on_head = count_on_head;
	hs.options.on_end = count_on_end;
	hs.options.bodies_bytes_max = (size_t)2 * BODY_MAX;
	hs_serve();
	one = hs_dial(0);
	more = hs_dial(1);
	other = hs_dial(2);
	post_as(one, "/hold", 'a', BODY_MAX);
	loop_run_until(hs.loop, hs_has_held, NULL);
	ck_assert_uint_eq(held[0], BODY_MAX);
	post_as(more, "/echo", 'a', 1);
	ck_assert_has(hs_await(more, "Too much is going on."), "HTTP/1.1 503 ");
	post_as(other, "/echo", 'b', BODY_MAX);
	ck_assert_has(hs_await(other, "10000:bbb"), "HTTP/1.1 200 ");
	hs_let_go();
	hs_await(one, "let go");
	/* What was refused, and what was cut off, is not held any more either. */
	post_as(other, "/echo", 'b', BODY_MAX + 1);
	hs_await(other, "The body is too large.");
	hs_send(one,
	    "POST /echo HTTP/1.1\r\nHost: x\r\nWhose: a\r\nContent-Length: 9\r\n\r\nab");
	while (held[0] != 2)
		hs_run_a_little();
	hs_hang_up(one);
	hs_hang_up(more);
	hs_hang_up(other);
	while (going_on > 0)
		hs_run_a_little();
	ck_assert_uint_eq(held[0], 0);
	ck_assert_uint_eq(held[1], 0);
}
END_TEST

START_TEST(a_head_over_the_bound_is_refused)
{
	struct client *client = hs_dial(0);

	hs_send(client,
	    arena_printf(hs.arena, "GET /echo HTTP/1.1\r\nHost: x\r\nX-Mine: %s\r\n\r\n",
		repeated(hs.arena, "h", HEAD_MAX)));
	hs_await(client, "HTTP/1.1 431 ");
	ck_assert_uint_eq(hs.asked, 0);
}
END_TEST

/* They wait in the kernel. */
START_TEST(connections_over_the_bound_are_served_later)
{
	struct client *clients[CLIENTS];
	unsigned i;

	for (i = 0; i < CLIENTS; i++) {
		clients[i] = hs_dial(i);
		hs_get(clients[i], "/echo");
	}
	for (i = 0; i < 3; i++)
		hs_await(clients[i], "GET /echo");
	hs_run_a_little();
	ck_assert_uint_eq(hs.asked, 3);
	for (i = 0; i < 3; i++)
		hs_hang_up(clients[i]);
	hs_await(clients[3], "GET /echo");
}
END_TEST

/* --- who is slow -------------------------------------------------------------------------- */

static void
serve_quickly(void)
{
	hs_end_server();
	hs.options.request_ms = 300;
	hs_serve();
}

START_TEST(a_request_that_does_not_come_is_cut_off)
{
	static const char *const slow[] = {
		"",
		"GET /echo HTTP/1.1\r\nHo",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
	};
	unsigned i;

	serve_quickly();
	for (i = 0; i < 3; i++)
		hs_send(hs_dial(i), slow[i]);
	for (i = 0; i < 3; i++)
		hs_await_end(&hs.clients[i]);
	ck_assert_uint_eq(hs.asked, 0);
}
END_TEST

/* One that is cut off before it has asked comes again. */
START_TEST(who_does_not_take_an_answer_is_cut_off)
{
	serve_quickly();
	do {
		hs_hang_up(&hs.clients[0]);
		hs_dial(0);
		hs_set_reading(&hs.clients[0], false);
		hs_get(&hs.clients[0], "/flood");
		hs_run_a_little();
	} while (hs.asked == 0);
	loop_run_until(hs.loop, hs_all_have_ended, NULL);
	ck_assert_uint_eq(hs.cancelled, hs.asked);
}
END_TEST

/* Nor one that is sent from one piece, though some of it is taken now and then. */
START_TEST(who_takes_a_small_answer_by_drips_is_cut_off)
{
	size_t requests, connections, taken = 0;
	struct client *client;
	char drip[1000];
	ssize_t size;

	serve_quickly();
	hs.segment = 536; /* as far away: on this machine the kernel would take it all */
	do {
		hs_hang_up(&hs.clients[0]);
		client = hs_dial(0);
		hs_set_reading(client, false);
		hs_get(client, "/lump");
		hs_run_a_little();
	} while (hs.asked == 0);
	do {
		size = recv(client->fd, drip, sizeof drip, MSG_DONTWAIT);
		taken += size > 0 ? (size_t)size : 0;
		hs_run_a_little();
		http_server_count(hs.server, &requests, &connections);
	} while (connections > 0);
	fcntl(client->fd, F_SETFL, 0); /* what was on its way */
	while ((size = recv(client->fd, drip, sizeof drip, 0)) > 0)
		taken += (size_t)size;
	ck_assert_uint_lt(taken, HTTP_STREAM_BYTES_MAX);
}
END_TEST

static const char *const heaps[] = { "/heap", "/heap-at-once", "/heap?kept=1" };

/* Of answers that hold too much the one that is not read goes, not the one that is, and nobody while there is room. */
START_TEST(who_takes_nothing_makes_room_for_who_does)
{
	struct client *idle, *client;

	hs_end_server();
	hs.options.answers_bytes_max = HEAP;
	hs_serve();
	client = hs_dial(1);
	hs_get(client, heaps[_i]);
	hs_await(client, HEAP_END);
	hs_get(client, "/room");
	hs_await(client, "room");
	ck_assert_uint_eq(hs.waited, 0); /* what was taken is not held */
	idle = hs_dial(0);
	hs_set_reading(idle, false);
	hs_get(idle, heaps[_i]);
	while (hs.written < (size_t)2 * HEAP)
		hs_run_a_little();
	hs_get(client, "/room");
	hs_await(client, "room");
	ck_assert_uint_gt(hs.waited, 0);
	hs_set_reading(idle, true);
	ck_assert_ptr_null(strstr(hs_await_end(idle), HEAP_END));
}
END_TEST

/* An answer that takes its time is not the fault of who waits for it. */
START_TEST(who_waits_is_not_slow)
{
	struct client *client, *other;

	serve_quickly();
	client = hs_dial(0);
	hs_get(client, "/hold");
	loop_run_until(hs.loop, hs_has_held, NULL);
	other = hs_dial(1); /* which is cut off, so that time has passed */
	hs_await_end(other);
	hs_let_go();
	hs_await(client, "let go");
}
END_TEST

START_TEST(who_reads_a_stream_that_is_silent_is_not_slow)
{
	struct client *client, *other;

	serve_quickly();
	client = hs_dial(0);
	hs_get(client, "/hold-stream");
	hs_await(client, "begun\n");
	other = hs_dial(1);
	hs_await_end(other);
	ck_assert_uint_eq(hs.cancelled, 0);
	hs_let_go();
	hs_await(client, "0\r\n\r\n");
}
END_TEST

/* --- nonsense ----------------------------------------------------------------------------- */

static const char *const nonsense[] = {
	"\r\n\r\n\r\n",
	"\xff\xfe nonsense\r\n\r\n",
	"GET\r\n\r\n",
	"GET /echo HTTP/9.9\r\nHost: x\r\n\r\n",
	"GET /echo HTTP/1.1\r\n\r\n", /* no Host */
	"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
	"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
	"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	"GET /%00%ff%zz?%00=%&&&=%x HTTP/1.1\r\nHost: x\r\n\r\n",
};

START_TEST(nonsense_harms_nobody)
{
	struct client *client = hs_dial(0), *other = hs_dial(1);

	hs_send(client, nonsense[_i]);
	hs_run_a_little();
	hs_get(other, "/echo");
	hs_await(other, "GET /echo");
}
END_TEST

/* What somebody before us may read as the size of a body, and we as none. */
static const char *const disguised[] = { "Content-Length : 5", "Content-Length\t: 5",
	"Content-Length:\r\n 5", "\vContent-Length: 5", "Transfer-Encoding : chunked",
	"Transfer-Encoding:\r\n chunked", "X: y\r\n Content-Length: 5", "Ho st: y" };

START_TEST(a_body_in_disguise_is_no_request_of_its_own)
{
	struct client *client = hs_dial(0);

	hs_send(client,
	    arena_printf(hs.arena,
		"POST /echo HTTP/1.1\r\nHost: x\r\n%s\r\n\r\nGET /echo HTTP/1.1\r\n"
		"Host: x\r\n\r\n",
		disguised[_i]));
	ck_assert_has(hs_await_end(client), "HTTP/1.1 400 ");
	ck_assert_uint_eq(hs.asked, 0);
}
END_TEST

/* Not at its NUL, so that it does not become another's. */
START_TEST(a_name_is_not_cut)
{
	struct client *client = hs_dial(0);

	hs_get(client, "/echo%00");
	hs_await(client, "No answer.");
	hs_get(client, "/echo?q=a%00b&q=%41+c");
	ck_assert_has(hs_await(client, " 0:"), " q=\x7f,A c ");
}
END_TEST

TCase *
tcase_http_server_limits(void)
{
	TCase *tcase = tcase_create("http_server_limits");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, hs_open, hs_close);
	tcase_add_test(tcase, a_name_is_not_cut);
	tcase_add_test(tcase, who_hangs_up_in_a_stream_has_its_fiber_cancelled);
	tcase_add_test(tcase, who_hangs_up_disturbs_nobody);
	tcase_add_test(tcase, who_hangs_up_before_the_answer_gets_none);
	tcase_add_test(tcase, who_hangs_up_in_a_body_has_asked_nothing);
	tcase_add_test(tcase, a_body_over_the_bound_is_refused);
	tcase_add_test(tcase, a_body_without_a_size_has_the_bound_too);
	tcase_add_test(tcase, all_bodies_together_have_a_bound);
	tcase_add_test(tcase, nobody_has_more_than_half_of_all_bodies);
	tcase_add_test(tcase, a_head_over_the_bound_is_refused);
	tcase_add_test(tcase, connections_over_the_bound_are_served_later);
	tcase_add_test(tcase, a_request_that_does_not_come_is_cut_off);
	tcase_add_test(tcase, who_does_not_take_an_answer_is_cut_off);
	tcase_add_loop_test(tcase, who_takes_nothing_makes_room_for_who_does, 0,
	    sizeof heaps / sizeof heaps[0]);
	tcase_add_test(tcase, who_takes_a_small_answer_by_drips_is_cut_off);
	tcase_add_test(tcase, who_waits_is_not_slow);
	tcase_add_test(tcase, who_reads_a_stream_that_is_silent_is_not_slow);
	tcase_add_loop_test(
	    tcase, nonsense_harms_nobody, 0, sizeof nonsense / sizeof nonsense[0]);
	tcase_add_loop_test(tcase, a_body_in_disguise_is_no_request_of_its_own, 0,
	    sizeof disguised / sizeof disguised[0]);
	return tcase;
}
