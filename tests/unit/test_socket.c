#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "socket.h"

#define MANY 1000u

static struct loop *loop;
static struct socket *router, *dealer;
static const char *error;
static void *raw_context, *raw; /* a peer that does what it likes */

/* What has come. */
static unsigned messages;
static unsigned last_count;
static bool last_truncated;
static char last_text[64];
static struct parts last_sender; /* one frame */
static bool answers, closes;
static unsigned this_turn, most_in_a_turn, answers_failed;

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	size_t size = parts_size(parts, parts->count - 1);
	struct socket **socket = arg;

	messages++;
	this_turn++;
	last_count = parts->count;
	last_truncated = truncated;
	snprintf(last_text, sizeof last_text, "%.*s", (int)size,
	    (const char *)parts_data(parts, parts->count - 1));
	parts_release(&last_sender);
	parts_add_frame(&last_sender, parts, 0);
	if (answers && socket_send(*socket, parts) == -1)
		answers_failed++;
	if (closes)
		socket_close(socket, 0);
}

static void
setup(void)
{
	loop = loop_new();
	router = socket_router(loop, "tcp://127.0.0.1:*", on_message, &router, &error);
	ck_assert_msg(router != NULL, "%s", error);
	raw_context = zmq_ctx_new();
	raw = NULL;
	messages = 0;
	answers = closes = false;
}

static void
close_raw(void)
{
	int none = 0;

	if (raw == NULL)
		return;
	zmq_setsockopt(raw, ZMQ_LINGER, &none, sizeof none);
	zmq_close(raw);
	raw = NULL;
}

static void
teardown(void)
{
	close_raw();
	zmq_ctx_term(raw_context);
	parts_release(&last_sender);
	socket_close(&dealer, 0);
	socket_close(&router, 0);
	socket_shutdown();
	loop_destroy(&loop);
}

static bool
have_come(void *arg)
{
	return messages >= *(unsigned *)arg;
}

static void
run_until_come(unsigned count)
{
	loop_run_until(loop, have_come, &count);
}

static void
connect_dealer(void)
{
	dealer =
	    socket_dealer(loop, socket_endpoint(router), on_message, &dealer, &error);
	ck_assert_msg(dealer != NULL, "%s", error);
}

static void
connect_raw(int receive_max)
{
	raw = zmq_socket(raw_context, ZMQ_DEALER);
	zmq_setsockopt(raw, ZMQ_RCVHWM, &receive_max, sizeof receive_max);
	ck_assert_int_eq(zmq_connect(raw, socket_endpoint(router)), 0);
}

static int
send_text(struct socket *socket, const char *text)
{
	struct parts parts = { .count = 0 };

	parts_add(&parts, text, strlen(text));
	return socket_send(socket, &parts);
}

/* To the peer that sent last: its routing id, number, text. */
static int
send_numbered(unsigned number, const char *text, size_t size)
{
	struct parts parts = { .count = 0 };

	parts_add_frame(&parts, &last_sender, 0);
	parts_add(&parts, &number, sizeof number);
	parts_add(&parts, text, size);
	return socket_send(router, &parts);
}

START_TEST(a_message_goes_to_the_router_and_back)
{
	connect_dealer();
	answers = true; /* the router's answer is answered, and so on */
	ck_assert_int_eq(send_text(dealer, "hello"), 0);
	run_until_come(10);
	ck_assert_str_eq(last_text, "hello");
	ck_assert_uint_eq(answers_failed, 0);
}
END_TEST

START_TEST(frames_of_all_kinds_arrive_as_they_were_added)
{
	static const char big[100000] = "big";
	struct parts parts = { .count = 0 }, other = { .count = 0 };
	struct packet packet = { 0 };

	connect_dealer();
	parts_add(&other, big, sizeof big);
	packet_append(&packet, "packed", 7);
	ck_assert_int_eq(parts_add(&parts, NULL, 0), 0);
	ck_assert_int_eq(parts_add_frame(&parts, &other, 0), 0);
	ck_assert_int_eq(parts_add_packet(&parts, &packet), 0);
	ck_assert_ptr_null(packet.data);
	ck_assert_uint_eq(parts_size(&parts, 0), 0);
	ck_assert_ptr_eq(parts_data(&parts, 1), parts_data(&other, 0)); /* shared */
	ck_assert_int_eq(socket_send(dealer, &parts), 0);
	ck_assert_uint_eq(parts.count, 0);
	parts_release(&other);
	parts_release(&other);
	run_until_come(1);
	ck_assert_uint_eq(last_count, 4);
	ck_assert(!last_truncated);
	ck_assert_str_eq(last_text, "packed");
}
END_TEST

START_TEST(no_more_than_parts_max_frames_are_taken)
{
	struct parts parts = { .count = 0 };
	struct packet packet = { 0 };

	for (unsigned i = 0; i < PARTS_MAX; i++)
		ck_assert_int_eq(parts_add(&parts, "x", 1), 0);
	packet_append(&packet, "kept", 4);
	ck_assert_int_eq(parts_add(&parts, "x", 1), -1);
	ck_assert_int_eq(parts_add_packet(&parts, &packet), -1);
	ck_assert_int_eq(parts_add_frame(&parts, &parts, 0), -1);
	ck_assert_uint_eq(packet.size, 4);
	packet_release(&packet);
	parts_release(&parts);
}
END_TEST

START_TEST(an_overlong_message_arrives_cut_and_the_next_whole)
{
	connect_raw(0);
	for (unsigned i = 0; i < PARTS_MAX + 5; i++)
		zmq_send(raw, "x", 1, ZMQ_SNDMORE);
	zmq_send(raw, "last", 4, 0);
	run_until_come(1);
	ck_assert_uint_eq(last_count, PARTS_MAX);
	ck_assert(last_truncated);
	zmq_send(raw, "next", 4, 0);
	run_until_come(2);
	ck_assert_uint_eq(last_count, 2);
	ck_assert(!last_truncated);
	ck_assert_str_eq(last_text, "next");
}
END_TEST

START_TEST(a_frame_over_the_limit_is_not_sent)
{
	struct parts parts = { .count = 0 };
	char *large = calloc(1, BODY_BYTES_MAX + 1);

	connect_dealer();
	parts_add(&parts, "head", 4);
	parts_add(&parts, large, BODY_BYTES_MAX + 1);
	ck_assert_int_eq(socket_send(dealer, &parts), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_uint_eq(parts.count, 0);
	ck_assert_int_eq(send_text(dealer, "small"), 0);
	run_until_come(1);
	ck_assert_uint_eq(last_count, 2);
	ck_assert_str_eq(last_text, "small");
	free(large);
}
END_TEST

START_TEST(a_peer_that_sends_more_is_hung_up_on_and_may_come_again)
{
	char *large = calloc(1, BODY_BYTES_MAX + 1);

	connect_raw(0);
	zmq_send(raw, "first", 5, 0);
	run_until_come(1);
	zmq_send(raw, large, BODY_BYTES_MAX + 1, 0);
	zmq_send(raw, "lost with it or not", 19, 0);
	close_raw();
	connect_raw(0);
	messages = 0;
	zmq_send(raw, "again", 5, 0);
	while (strcmp(last_text, "again") != 0)
		run_until_come(messages + 1);
	free(large);
}
END_TEST

/* The trap: after a refused routing id libzmq takes the next frame for one. */
START_TEST(a_message_to_nobody_is_refused_whole_and_harms_no_other)
{
	struct parts parts = { .count = 0 };

	connect_dealer();
	send_text(dealer, "here I am");
	run_until_come(1);
	parts_add(&parts, "nobody", 6);
	parts_add_frame(&parts, &last_sender, 0); /* would be sent, as an id */
	parts_add(&parts, "stray", 5);
	ck_assert_int_eq(socket_send(router, &parts), -1);
	ck_assert_int_eq(errno, EHOSTUNREACH);
	ck_assert_uint_eq(parts.count, 0);
	ck_assert_int_eq(send_numbered(1, "for you", 7), 0);
	run_until_come(2);
	ck_assert_uint_eq(last_count, 2);
	ck_assert_str_eq(last_text, "for you");
}
END_TEST

/* Reads what the router's messages to raw were, checks that they are whole. */
static unsigned
receive_numbered(unsigned expected)
{
	unsigned number = 0;
	char text[1000];
	int patience_ms = 5000;

	zmq_setsockopt(raw, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
	for (unsigned i = 0; i < expected; i++) {
		ck_assert_int_eq(zmq_recv(raw, &number, sizeof number, 0), sizeof number);
		ck_assert_uint_eq(number, i);
		ck_assert_int_eq(zmq_recv(raw, text, sizeof text, 0), sizeof text);
	}
	return expected;
}

START_TEST(a_full_pipe_refuses_whole_messages_until_there_is_room)
{
	char text[1000] = "";
	unsigned sent = 0;

	connect_raw(10);
	zmq_send(raw, "here I am", 9, 0);
	run_until_come(1);
	while (send_numbered(sent, text, sizeof text) == 0)
		sent++;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_ge(sent, 10000);
	ck_assert_uint_eq(receive_numbered(sent), sent);

	/* Nothing of the refused one came, and the pipe is in step. */
	while (send_numbered(0, text, sizeof text) == -1)
		ck_assert_int_eq(errno, EAGAIN);
	receive_numbered(1);
}
END_TEST

/* Full down to the kernel's buffers: nothing has moved for a while. */
static void
fill_pipe(void)
{
	uint64_t last_us = loop_now_us();

	while (loop_now_us() - last_us < 200000) {
		if (send_numbered(0, last_text, sizeof last_text) == 0)
			last_us = loop_now_us();
	}
}

static void
try_to_send(void *arg)
{
	int *last_error = arg;

	*last_error = send_numbered(0, "still there?", 12) == -1 ? errno : 0;
}

static bool
is_unreachable(void *arg)
{
	return *(int *)arg == EHOSTUNREACH;
}

START_TEST(a_peer_that_has_gone_becomes_unreachable)
{
	struct timer *timer;
	int last_error = 0;

	connect_raw(10);
	zmq_send(raw, "here I am", 9, 0);
	run_until_come(1);
	if (_i == 1)
		fill_pipe();
	close_raw();
	timer = timer_start(loop, 1, 1, try_to_send, &last_error);
	loop_run_until(loop, is_unreachable, &last_error);
	timer_stop(&timer);
}
END_TEST

/* One who only sends, in one long turn: libzmq would answer EAGAIN for ever. */
START_TEST(a_peer_that_has_gone_is_noticed_by_one_who_only_sends)
{
	connect_raw(10);
	zmq_send(raw, "here I am", 9, 0);
	run_until_come(1);
	fill_pipe();
	close_raw();
	while (send_numbered(0, last_text, sizeof last_text) == 0 || errno == EAGAIN)
		;
	ck_assert_int_eq(errno, EHOSTUNREACH);
}
END_TEST

static void
end_turn(void *arg)
{
	(void)arg;
	if (this_turn > most_in_a_turn)
		most_in_a_turn = this_turn;
	this_turn = 0;
}

START_TEST(a_flood_is_read_in_bounded_batches)
{
	loop_add_flush(loop, end_turn, NULL);
	connect_dealer();
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(send_text(dealer, "flood"), 0);
	run_until_come(MANY);
	ck_assert_uint_le(most_in_a_turn, 100);
	loop_remove_flush(loop, end_turn, NULL);
}
END_TEST

static bool
has_closed(void *arg)
{
	(void)arg;
	return router == NULL;
}

/* libzmq tells of a message once, and here it has told somebody else. */
START_TEST(what_another_call_has_noticed_is_not_slept_over)
{
	connect_dealer();
	send_text(dealer, "first");
	run_until_come(1);
	send_text(dealer, "second");
	while (!socket_has_input(router))
		;
	run_until_come(2);
	ck_assert_str_eq(last_text, "second");
}
END_TEST

START_TEST(a_socket_may_be_closed_by_its_own_message)
{
	closes = true;
	connect_dealer();
	send_text(dealer, "one");
	send_text(dealer, "two");
	loop_run_until(loop, has_closed, NULL);
	ck_assert_uint_eq(messages, 1);
}
END_TEST

START_TEST(what_was_sent_last_goes_out_behind_a_close_with_linger)
{
	connect_dealer();
	send_text(dealer, "goodbye"); /* not even connected yet */
	socket_close(&dealer, 5000);
	ck_assert_ptr_null(dealer);
	socket_close(&dealer, 0);
	run_until_come(1);
	ck_assert_str_eq(last_text, "goodbye");
}
END_TEST

static void
publish(void *arg)
{
	struct socket *pub = arg;

	ck_assert_int_eq(send_text(pub, "run.2.step"), 0);
	ck_assert_int_eq(send_text(pub, "run.1.step"), 0);
}

START_TEST(a_subscriber_gets_its_prefixes_alone)
{
	struct socket *pub = socket_pub(loop, "tcp://127.0.0.1:*", NULL, NULL, &error);
	struct socket *sub =
	    socket_sub(loop, socket_endpoint(pub), on_message, NULL, &error);
	struct timer *timer = timer_start(loop, 0, 1, publish, pub);

	ck_assert_int_eq(socket_subscribe(sub, "run.1."), 0);
	run_until_come(3);
	ck_assert_str_eq(last_text, "run.1.step");
	socket_close(&sub, 0);
	socket_close(&pub, 0);
	timer_stop(&timer);
}
END_TEST

static const struct {
	const char *endpoint;
	int error; /* 0: it is no endpoint */
} bad[] = {
	{ "carrier-pigeon://coop", 0 },
	{ "udp://127.0.0.1:1", 0 },
	{ "tcp://127.0.0.1:notaport", 0 },
	{ "tcp://127.0.0.1:65536", 0 },
	{ "tcp://127.0.0.1:4294967297", 0 },
	{ "ipc:///nowhere/at/all/socket", ENOENT },
	{ "", 0 },
};

START_TEST(an_endpoint_that_cannot_be_is_refused_with_a_reason)
{
	ck_assert_ptr_null(
	    socket_router(loop, bad[_i].endpoint, on_message, NULL, &error));
	ck_assert_str_eq(error,
	    bad[_i].error == 0 ? "an endpoint is tcp://HOST:PORT (to 65535) or ipc://PATH"
			       : zmq_strerror(bad[_i].error));
	ck_assert_ptr_null(
	    socket_router(loop, socket_endpoint(router), on_message, NULL, &error));
	ck_assert_str_eq(error, zmq_strerror(EADDRINUSE));
}
END_TEST

TCase *tcase_socket(void);

TCase *
tcase_socket(void)
{
	TCase *tcase = tcase_create("socket");

	/* Checked: a ZeroMQ context does not survive fork. */
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_message_goes_to_the_router_and_back);
	tcase_add_test(tcase, frames_of_all_kinds_arrive_as_they_were_added);
	tcase_add_test(tcase, no_more_than_parts_max_frames_are_taken);
	tcase_add_test(tcase, an_overlong_message_arrives_cut_and_the_next_whole);
	tcase_add_test(tcase, a_frame_over_the_limit_is_not_sent);
	tcase_add_test(tcase, a_peer_that_sends_more_is_hung_up_on_and_may_come_again);
	tcase_add_test(tcase, a_message_to_nobody_is_refused_whole_and_harms_no_other);
	tcase_add_test(tcase, a_full_pipe_refuses_whole_messages_until_there_is_room);
	tcase_add_loop_test(tcase, a_peer_that_has_gone_becomes_unreachable, 0, 2);
	tcase_add_test(tcase, a_peer_that_has_gone_is_noticed_by_one_who_only_sends);
	tcase_add_test(tcase, a_flood_is_read_in_bounded_batches);
	tcase_add_test(tcase, what_another_call_has_noticed_is_not_slept_over);
	tcase_add_test(tcase, a_socket_may_be_closed_by_its_own_message);
	tcase_add_test(tcase, what_was_sent_last_goes_out_behind_a_close_with_linger);
	tcase_add_test(tcase, a_subscriber_gets_its_prefixes_alone);
	tcase_add_loop_test(tcase, an_endpoint_that_cannot_be_is_refused_with_a_reason, 0,
	    sizeof bad / sizeof *bad);
	return tcase;
}
