#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

/* Interface under test */
#include "inflow.h"

#include "socket.h"

TCase *tcase_inflow(void);

#define HEARD_MS 1000u /* any time; nothing here reads the clock */

static struct loop *loop;
static struct socket *router;
static void *context, *sender; /* not of this process's sockets: it may be closed alone */
static unsigned messages;
static struct inflow inflow;

static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	(void)arg, (void)truncated;
	inflow = inflow_of(parts, 1);
	messages++;
}

static void
setup(void)
{
	loop = loop_new();
	context = zmq_ctx_new();
	sender = zmq_socket(context, ZMQ_DEALER);
	messages = 0;
	inflow = (struct inflow){ 0 };
}

static void
close_sender(void)
{
	if (sender == NULL)
		return;
	zmq_setsockopt(sender, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	zmq_close(sender);
	zmq_ctx_term(context);
	sender = NULL;
}

static void
teardown(void)
{
	close_sender();
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
send_bytes(size_t size)
{
	unsigned count = messages + 1;
	char *bytes = calloc(1, size);

	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(zmq_send(sender, bytes, size, 0), (int)size);
	free(bytes);
	loop_run_until(loop, have_come, &count);
}

static void
open_at(const char *endpoint)
{
	const char *error;

	router = socket_router(loop, endpoint, on_message, NULL, &error);
	ck_assert_msg(router != NULL, "%s", error);
	ck_assert_int_eq(zmq_connect(sender, socket_endpoint(router)), 0);
	send_bytes(10);
}

START_TEST(it_goes_on_while_many_bytes_come)
{
	struct inflow first;

	open_at("tcp://127.0.0.1:*");
	first = inflow;
	ck_assert(!inflow_goes_on(&first, HEARD_MS)); /* what was before does not count */
	ck_assert(!inflow_goes_on(&first, HEARD_MS));
	send_bytes(INFLOW_BYTES_MIN);
	ck_assert(inflow_goes_on(&first, HEARD_MS));
	ck_assert(!inflow_goes_on(&first, HEARD_MS + 1)); /* that was the message */
	send_bytes(INFLOW_BYTES_MIN);
	ck_assert(inflow_goes_on(&first, HEARD_MS + 1));
}
END_TEST

/* As many as libzmq's own heartbeats have. */
START_TEST(a_few_bytes_do_not_count)
{
	struct inflow first;

	open_at("tcp://127.0.0.1:*");
	first = inflow;
	ck_assert(!inflow_goes_on(&first, HEARD_MS));
	send_bytes(1000);
	ck_assert(!inflow_goes_on(&first, HEARD_MS));
}
END_TEST

/* Its number is the next connection's, most likely. */
START_TEST(another_connection_is_not_taken_for_it)
{
	struct inflow first;

	open_at("tcp://127.0.0.1:*");
	first = inflow;
	ck_assert(!inflow_goes_on(&first, HEARD_MS));
	close_sender();
	while (first.cookie != 0) /* until libzmq has noticed */
		ck_assert(!inflow_goes_on(&first, HEARD_MS));
	context = zmq_ctx_new();
	sender = zmq_socket(context, ZMQ_DEALER);
	ck_assert_int_eq(zmq_connect(sender, socket_endpoint(router)), 0);
	send_bytes(10);
	ck_assert_uint_ne(inflow.cookie, 0);
	first.fd = inflow.fd;
	first.cookie = inflow.cookie + 1;
	send_bytes(INFLOW_BYTES_MIN);
	ck_assert(!inflow_goes_on(&first, HEARD_MS));
	ck_assert_uint_eq(first.cookie, 0);
}
END_TEST

START_TEST(of_what_is_no_tcp_there_is_none)
{
	struct inflow none = { 0 };

	ck_assert(!inflow_goes_on(&none, 0));
	open_at("ipc://@flotilla-inflow");
	ck_assert(!inflow_goes_on(&inflow, HEARD_MS));
	send_bytes(INFLOW_BYTES_MIN);
	ck_assert(!inflow_goes_on(&inflow, HEARD_MS));
}
END_TEST

TCase *
tcase_inflow(void)
{
	TCase *tcase = tcase_create("inflow");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 20);
	tcase_add_test(tcase, it_goes_on_while_many_bytes_come);
	tcase_add_test(tcase, a_few_bytes_do_not_count);
	tcase_add_test(tcase, another_connection_is_not_taken_for_it);
	tcase_add_test(tcase, of_what_is_no_tcp_there_is_none);
	return tcase;
}
