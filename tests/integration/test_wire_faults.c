/* The wire between real processes: full queues, cancels, deadlines, and peers that speak
 * anything but our protocol. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire_bench.h"

TCase *tcase_wire_faults(void);

static struct wire_bench bench;
static char gate[160]; /* a file that calls wait for */

static void
setup(void)
{
	bench.broker_flag = NULL;
	wire_start(&bench);
	snprintf(gate, sizeof gate, "%s/gate", bench.folder);
}

static void
teardown(void)
{
	wire_stop(&bench);
}

static void
open_gate(void)
{
	int fd = open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* Starts a call that waits at the gate, and waits until it runs. */
static struct ask *
ask_at_gate(const char *service)
{
	struct ask *ask = wire_ask(&bench, service, "wait");
	char line[64];

	wire_set(ask, "path", gate);
	snprintf(line, sizeof line, "began %s ", ask->id);
	wire_wait_logged(&bench, line);
	return ask;
}

static void
expect_text(const struct value *answer, const char *key, const char *text)
{
	ck_assert_str_eq(value_get_text(answer, key), text);
}

static struct ask *
asked(const char *service)
{
	struct ask *ask = wire_ask(&bench, service, "answer");

	wire_wait(&bench, ask);
	return ask;
}

/* --- what goes wrong ------------------------------------------------------------------ */

/* A broker that the test starts with one more flag. */
static void
restart_with(const char *flag)
{
	wire_stop(&bench);
	bench.broker_flag = flag;
	wire_start(&bench);
	snprintf(gate, sizeof gate, "%s/gate", bench.folder);
}

START_TEST(a_full_queue_is_waited_out)
{
	struct child *worker;
	size_t i;

	restart_with("--queue-calls-max=2");
	for (i = 0; i < 8; i++)
		wire_ask(&bench, "tool:a", "answer");
	while (wire_counter(&bench, "busy") < 6)
		;
	worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	wire_wait_all(&bench);
	for (i = 0; i < 8; i++)
		wire_answer(&bench.asks[i]);
	ck_assert_uint_eq(wire_logged(&bench, "began"), 8);
	child_stop(&worker);
}
END_TEST

START_TEST(a_cancelled_call_is_stopped_at_its_worker)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask = ask_at_gate("tool:a");

	fiber_cancel(ask->fiber);
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->result, -1);
	wire_wait_logged(&bench, "stopped c0");
	ask = wire_ask(&bench, "tool:a", "answer");
	wire_wait(&bench, ask); /* the slot is free */
	wire_answer(ask);
	child_stop(&worker);
}
END_TEST

/* Asks once more when the last answer did not say so. */
static bool
has_kept_result(void *arg)
{
	const struct header header = { .type = MSG_STATS };

	(void)arg;
	if (value_get_int(value_get(bench.stats, "calls"), "kept", 0) == 1)
		return true;
	links_send(bench.links, 0, &header, NULL);
	return false;
}

START_TEST(a_disowned_call_goes_on_and_its_result_is_kept_for_the_next_owner)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask = ask_at_gate("tool:a"), *next;

	caller_disown(bench.caller, "r1");
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->result, -1);
	open_gate();
	wire_until(&bench, has_kept_result, NULL, "the kept result");
	next = wire_ask(&bench, "tool:a", "answer");
	next->request.id = ask->id;
	next->request.epoch = 1;
	next->request.flags = WIRE_RESEND;
	wire_wait(&bench, next);
	expect_text(wire_answer(next), "id", "c0");
	ck_assert_uint_eq(wire_logged(&bench, "began c0"), 1);
	ck_assert_uint_eq(wire_logged(&bench, "stopped"), 0);
	child_stop(&worker);
}
END_TEST

START_TEST(a_late_call_is_stopped_at_its_worker_and_expires)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask;

	wire_served(&bench, "tool:a", 1);
	ask = wire_ask(&bench, "tool:a", "first_hangs");
	ask->request.deadline_ms = 3000;
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->outcome.code, CODE_EXPIRED);
	wire_wait_logged(&bench, "stopped c0");
	child_stop(&worker);
}
END_TEST

START_TEST(a_call_that_nobody_serves_says_so)
{
	struct child *worker = wire_worker(&bench, "w", "tool:search", 1, 10000);
	struct ask *ask;

	wire_served(&bench, "tool:search", 1);
	ask = wire_ask(&bench, "tool:serach", "answer");
	ask->request.deadline_ms = 300;
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->outcome.code, CODE_NOT_SERVED);
	ck_assert_ptr_nonnull(strstr(ask->outcome.reason, "tool:serach"));
	ck_assert_ptr_nonnull(strstr(ask->outcome.reason, "tool:search"));
	child_stop(&worker);
}
END_TEST

/* A socket that speaks ZMTP, but not our protocol. */
static void
send_rubbish(void *zmq, unsigned round)
{
	static char huge[BODY_BYTES_MAX + 1];
	char text[64];
	unsigned i;

	snprintf(text, sizeof text, "rubbish %u", round);
	zmq_send(zmq, text, strlen(text), ZMQ_DONTWAIT);
	zmq_send(zmq, "", 0, ZMQ_DONTWAIT);
	zmq_send(zmq, "FL\x01\x06\0\0\0\0\xdf\xff\xff\xff\xff", 13, ZMQ_DONTWAIT);
	for (i = 0; i < 20; i++)
		zmq_send(zmq, "FL\x01\x01\0\0\0\0\x80", 9,
		    ZMQ_DONTWAIT | (i < 19 ? ZMQ_SNDMORE : 0));
	if (round % 10 == 0)
		zmq_send(zmq, huge, sizeof huge, ZMQ_DONTWAIT);
}

/* A socket that does not even speak ZMTP. */
static void
send_noise(unsigned round)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = bench.endpoint + strlen("ipc://");
	char noise[512];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t i;

	memcpy(address.sun_path, path, strlen(path) + 1);
	srand(round);
	for (i = 0; i < sizeof noise; i++)
		noise[i] = (char)rand();
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		send(fd, noise, sizeof noise, MSG_NOSIGNAL);
	close(fd);
}

static void *
dealer(void *context, const char *identity)
{
	void *zmq = zmq_socket(context, ZMQ_DEALER);

	zmq_setsockopt(zmq, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	if (identity != NULL)
		zmq_setsockopt(zmq, ZMQ_ROUTING_ID, identity, strlen(identity));
	zmq_connect(zmq, bench.endpoint);
	return zmq;
}

START_TEST(garbage_and_oversized_frames_hurt_nobody_else)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 4, 10000);
	void *context = zmq_ctx_new();
	void *plain = dealer(context, NULL),
	     *named = dealer(context, "my-own-routing-id");
	struct ask *ask;
	unsigned i;

	for (i = 0; i < 60; i++) {
		send_rubbish(plain, i);
		send_rubbish(named, i);
		send_noise(i);
		ask = wire_ask(&bench, "tool:a", "answer");
		wire_wait(&bench, ask);
		wire_answer(ask);
	}
	ck_assert_int_gt(wire_counter(&bench, "protocol_errors"), 0);
	ck_assert_int_eq(wire_counter(&bench, "sessions_lost"), 0);
	zmq_close(plain);
	zmq_close(named);
	zmq_ctx_term(context);
	child_stop(&worker);
}
END_TEST

static void
say(void *zmq, const struct header *header)
{
	struct packet packet = { 0 };

	wire_encode(&packet, header);
	ck_assert_int_ge(zmq_send(zmq, packet.data, packet.size, 0), 0);
	packet_release(&packet);
}

/* The broker's next message is an ERROR about that call. */
static void
expect_error(void *zmq, const char *call_id)
{
	static char frame[HEADER_BYTES_MAX];
	const char *reason;
	struct header header;
	enum wire_code code;
	int size = zmq_recv(zmq, frame, sizeof frame, 0);

	ck_assert_int_gt(size, 0);
	ck_assert_int_eq(
	    wire_decode(bench.arena, frame, (size_t)size, &header, &code, &reason), 0);
	ck_assert_uint_eq(header.type, MSG_ERROR);
	ck_assert_uint_eq(header.code, CODE_NO_SESSION);
	ck_assert_pstr_eq(header.call_id, call_id);
}

START_TEST(of_a_list_that_is_refused_one_error_tells)
{
	struct wire_call calls[ANNOUNCED_CALLS_MAX];
	const struct header acks = { .type = MSG_RESULT_ACK,
		.call_id = "first",
		.calls = calls,
		.call_count = ANNOUNCED_CALLS_MAX };
	void *context = zmq_ctx_new(), *stranger = dealer(context, NULL);
	size_t i;

	zmq_setsockopt(stranger, ZMQ_RCVTIMEO, &(int){ WIRE_WAIT_MS }, sizeof(int));
	for (i = 0; i < ANNOUNCED_CALLS_MAX; i++)
		calls[i] =
		    (struct wire_call){ .call_id = "other", .state = CALL_FINISHED };
	say(stranger, &acks);
	say(stranger, &(struct header){ .type = MSG_PING });
	expect_error(stranger, "first");
	expect_error(stranger, NULL);
	zmq_close(stranger);
	zmq_ctx_term(context);
}
END_TEST

static void
expect_refusal(struct ask *ask, enum wire_code code, const char *reason)
{
	wire_wait(&bench, ask);
	ck_assert_int_eq(ask->result, 0);
	ck_assert_uint_eq(ask->outcome.code, code);
	ck_assert_ptr_nonnull(ask->outcome.reason);
	ck_assert_ptr_nonnull(strstr(ask->outcome.reason, reason));
}

/* One caller's wish must not end the session that the calls of all others have. */
START_TEST(a_call_that_no_broker_could_read_ends_unsent)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	static char longer[SERVICE_BYTES_MAX + 2];
	size_t i;

	memset(longer, 'a', sizeof longer - 1);
	for (i = 0; i < PROTOCOL_ERRORS_MAX; i++)
		expect_refusal(
		    wire_ask(&bench, "model:a b", "answer"), CODE_MALFORMED, "service");
	expect_refusal(wire_ask(&bench, longer, "answer"), CODE_MALFORMED, "service");
	expect_refusal(
	    wire_ask(&bench, "model:\xc3\xa4", "answer"), CODE_MALFORMED, "service");
	wire_answer(asked("tool:a"));
	ck_assert_int_eq(wire_counter(&bench, "protocol_errors"), 0);
	ck_assert_uint_eq(bench.ups, 1);
	child_stop(&worker);
}
END_TEST

START_TEST(a_call_that_no_message_holds_ends_unsent)
{
	struct child *worker = wire_worker(&bench, "w", "tool:a", 1, 10000);
	struct ask *ask = wire_ask(&bench, "tool:a", "answer");
	char *text = malloc(BODY_BYTES_MAX + 1u);

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', BODY_BYTES_MAX);
	text[BODY_BYTES_MAX] = '\0';
	wire_set(ask, "more", text);
	expect_refusal(ask, CODE_TOO_LARGE, "request has 167772");
	ask = wire_ask(&bench, "tool:a", "answer");
	ask->request.profile = value_str(ask->arena, text);
	expect_refusal(ask, CODE_TOO_LARGE, "profile has 167772");
	free(text);
	wire_answer(asked("tool:a"));
	child_stop(&worker);
}
END_TEST

TCase *
tcase_wire_faults(void)
{
	TCase *tcase = tcase_create("wire_faults");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 90);
	tcase_add_test(tcase, a_full_queue_is_waited_out);
	tcase_add_test(tcase, a_cancelled_call_is_stopped_at_its_worker);
	tcase_add_test(
	    tcase, a_disowned_call_goes_on_and_its_result_is_kept_for_the_next_owner);
	tcase_add_test(tcase, a_late_call_is_stopped_at_its_worker_and_expires);
	tcase_add_test(tcase, a_call_that_nobody_serves_says_so);
	tcase_add_test(tcase, garbage_and_oversized_frames_hurt_nobody_else);
	tcase_add_test(tcase, of_a_list_that_is_refused_one_error_tells);
	tcase_add_test(tcase, a_call_that_no_broker_could_read_ends_unsent);
	tcase_add_test(tcase, a_call_that_no_message_holds_ends_unsent);
	return tcase;
}
