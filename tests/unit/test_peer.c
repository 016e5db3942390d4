#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Interface under test */
#include "peer.h"

#include "broker_stub.h"

TCase *tcase_peer(void);

static struct loop *loop;
static struct broker_stub broker;
static struct peer *peer;
static unsigned ups, downs, messages;

static void
on_up(void *arg)
{
	(void)arg;
	ups++;
}

static void
on_down(void *arg, const char *reason)
{
	(void)arg, (void)reason;
	downs++;
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	(void)arg, (void)header, (void)bodies;
	messages++;
}

static bool
is_up(void *arg)
{
	return ups >= *(unsigned *)arg;
}

static void
await_up(unsigned times)
{
	loop_run_until(loop, is_up, &times);
}

static void
setup(void)
{
	loop = loop_new();
	ups = downs = messages = 0;
	broker_stub_open(&broker, loop);
	peer = peer_new(
	    loop, &(struct peer_options){ .endpoint = broker_stub_endpoint(&broker),
		      .role = ROLE_COORDINATOR,
		      .name = "p",
		      .on_up = on_up,
		      .on_down = on_down,
		      .on_message = on_message });
	ck_assert_ptr_nonnull(peer);
	await_up(1);
}

static void
teardown(void)
{
	peer_destroy(&peer);
	broker_stub_close(&broker);
	socket_shutdown();
	loop_destroy(&loop);
}

/* Of its loss nothing was heard: the next one at the same place was greeted before it was asked
 * anything else. */
START_TEST(a_broker_that_is_another_one_knows_nothing)
{
	broker.session = "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0";
	peer_set_services(peer, NULL, 0, NULL);
	await_up(2);
	ck_assert_uint_eq(downs, 1);
	ck_assert_uint_eq(broker_stub_heard(&broker, MSG_HELLO, NULL), 3);
}
END_TEST

static void
ping(void)
{
	unsigned pongs = broker_stub_heard(&broker, MSG_PONG, NULL);

	broker_stub_send(&broker, &(struct header){ .type = MSG_PING });
	broker_stub_await(&broker, MSG_PONG, NULL, pongs + 1);
}

START_TEST(the_same_broker_may_be_greeted_anew)
{
	peer_set_services(peer, NULL, 0, NULL);
	broker_stub_await(&broker, MSG_HELLO, NULL, 2);
	ping();
	ck_assert_uint_eq(downs, 0);
	ck_assert(peer_is_up(peer));
}
END_TEST

/* Its HELLO was under way when what it serves changed: who is welcomed says the rest. */
START_TEST(what_changes_before_the_welcome_is_said)
{
	const struct wire_service service = { .name = "tool:late", .credit = 1 };
	struct peer *other;

	broker.session = NULL;
	other = peer_new(
	    loop, &(struct peer_options){ .endpoint = broker_stub_endpoint(&broker),
		      .role = ROLE_WORKER,
		      .name = "w" });
	broker_stub_await(&broker, MSG_HELLO, NULL, 2);
	ck_assert_uint_eq(broker.heard[broker.count - 1].service_count, 0);
	peer_set_services(other, &service, 1, NULL);
	broker_stub_send(&broker, &(struct header){ .type = MSG_WELCOME,
				      .session = BROKER_STUB_SESSION,
				      .protocol_max = WIRE_VERSION,
				      .heartbeat_ms = 3600000,
				      .liveness_ms = 3600000 });
	broker_stub_await(&broker, MSG_HELLO, NULL, 3);
	ck_assert_uint_eq(broker.heard[broker.count - 1].service_count, 1);
	peer_destroy(&other);
}
END_TEST

/* We stood still, and wake up with a change of what we serve: greeted at once it would open another
 * session, and we would believe that it is the one that has our calls. */
START_TEST(a_broker_that_has_forgotten_us_meanwhile_can_say_so)
{
	peer_set_services(peer, NULL, 0, NULL);
	broker_stub_await(&broker, MSG_PING, NULL, 1);
	ck_assert_uint_eq(broker.heard[1].type, MSG_PING); /* before the second HELLO */
	broker_stub_send(
	    &broker, &(struct header){ .type = MSG_ERROR, .code = CODE_NO_SESSION });
	await_up(2);
	ck_assert_uint_eq(downs, 1);
}
END_TEST

/* A CALL without an id. */
START_TEST(what_cannot_be_read_is_noted_and_is_no_message)
{
	const char *first;
	char said[4096] = "";
	int fds[2];
	ssize_t size;

	ck_assert_int_eq(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	broker_stub_send(
	    &broker, &(struct header){ .type = MSG_CALL, .service = "tool:t" });
	broker_stub_send(
	    &broker, &(struct header){ .type = MSG_CALL, .service = "tool:t" });
	ping();
	ck_assert_uint_eq(messages, 0);
	fputs("|", stderr); /* so that there is something to read */
	size = read(fds[0], said, sizeof said - 1);
	ck_assert_int_gt(size, 0);
	first = strstr(said, "cannot be read");
	ck_assert_msg(first != NULL, "%s", said);
	ck_assert_ptr_nonnull(strstr(said, broker_stub_endpoint(&broker)));
	ck_assert_ptr_null(strstr(first + 1, "cannot be read")); /* not for each */
}
END_TEST

/* An unflagged CALL may overtake acknowledgements, but not its own. */
START_TEST(a_call_does_not_overtake_the_acknowledgement_of_its_result)
{
	peer_send(
	    peer, &(struct header){ .type = MSG_RESULT_ACK, .call_id = "c1" }, NULL);
	peer_send(peer,
	    &(struct header){ .type = MSG_CALL, .call_id = "c1", .service = "tool:t" },
	    NULL);
	broker_stub_await(&broker, MSG_CALL, "c1", 1);
	ck_assert_uint_eq(broker_stub_heard(&broker, MSG_RESULT_ACK, "c1"), 1);
}
END_TEST

TCase *
tcase_peer(void)
{
	TCase *tcase = tcase_create("peer");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_broker_that_is_another_one_knows_nothing);
	tcase_add_test(tcase, the_same_broker_may_be_greeted_anew);
	tcase_add_test(tcase, what_changes_before_the_welcome_is_said);
	tcase_add_test(tcase, a_broker_that_has_forgotten_us_meanwhile_can_say_so);
	tcase_add_test(tcase, what_cannot_be_read_is_noted_and_is_no_message);
	tcase_add_test(tcase, a_call_does_not_overtake_the_acknowledgement_of_its_result);
	return tcase;
}
