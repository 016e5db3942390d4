/* The status channel's socket and a reader that does not read. */
#include <check.h>
#include <string.h>
#include <zmq.h>

/* Interface under test */
#include "socket.h"

TCase *tcase_socket_pub(void);

#define EVENTS 6000u
#define EVENT_BYTES 8192u

static struct loop *loop;
static void *context, *reader;

static void
setup(void)
{
	loop = loop_new();
	context = zmq_ctx_new();
	reader = zmq_socket(context, ZMQ_SUB);
}

static void
teardown(void)
{
	zmq_close(reader);
	zmq_ctx_term(context);
	socket_shutdown();
	loop_destroy(&loop);
}

static void
set(int option, int value)
{
	ck_assert_int_eq(zmq_setsockopt(reader, option, &value, sizeof value), 0);
}

static void
publish(struct socket *pub)
{
	static char bytes[EVENT_BYTES];
	struct parts parts = { .count = 0 };

	parts_add(&parts, bytes, sizeof bytes);
	socket_send(pub, &parts);
}

static bool
has_come(void)
{
	char byte;

	return zmq_recv(reader, &byte, 1, 0) != -1;
}

/* `flotilla watch | less`: its connection lives, and nobody takes what comes. The broker holds it for
 * all readers together once, but for as long as one of them leaves it there. */
START_TEST(what_a_reader_leaves_unread_is_bounded)
{
	const char *error;
	struct socket *pub = socket_pub(loop, "tcp://127.0.0.1:*", NULL, NULL, &error);
	unsigned i, count = 0;

	set(ZMQ_LINGER, 0);
	set(ZMQ_RCVHWM, 1);
	set(ZMQ_RCVTIMEO, 20);
	ck_assert_int_eq(zmq_setsockopt(reader, ZMQ_SUBSCRIBE, "", 0), 0);
	ck_assert_int_eq(zmq_connect(reader, socket_endpoint(pub)), 0);
	do
		publish(pub);
	while (!has_come());
	for (i = 0; i < EVENTS; i++)
		publish(pub);
	set(ZMQ_RCVTIMEO, 2000);
	while (has_come())
		count++;
	/* What the kernel holds comes, too. */
	ck_assert_uint_ge(count, 100);
	ck_assert_uint_lt(count, EVENTS / 2);
	socket_close(&pub, 0);
}
END_TEST

TCase *
tcase_socket_pub(void)
{
	TCase *tcase = tcase_create("socket_pub");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_a_reader_leaves_unread_is_bounded);
	return tcase;
}
