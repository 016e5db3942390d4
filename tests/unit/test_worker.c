/* A worker between two brokers. */
#include <check.h>

/* Interface under test */
#include "worker.h"

#include <string.h>

#include "bounds.h"
#include "broker_stub.h"
#include "caller.h"
#include "fiber.h"

TCase *tcase_worker(void);

static struct loop *loop;
static struct broker_stub brokers[2];
static struct worker *worker;
static bool may_end, is_drained, asks, streams;
static unsigned streamed;

static void
ask(struct worker_call *call)
{
	struct call_outcome outcome;

	worker_nested_call(call,
	    &(struct call_request){
		.id = arena_printf(call->arena, "%s/m1", call->header->call_id),
		.run = call->header->run,
		.service = "model:m",
		.deadline_ms = 60000 },
	    &outcome);
}

#define BIG (STREAM_VALUE_BYTES_MAX - 1024)

/* Until it is too much; and one that is too large. */
static void
stream(struct worker_call *call)
{
	char *text = arena_alloc(call->arena, 2 * BIG);

	memset(text, 'm', 2 * BIG);
	worker_stream(call, NULL, value_strn(call->arena, text, 2 * BIG));
	for (; worker_streams(call); streamed++)
		worker_stream(call, NULL, value_strn(call->arena, text, BIG));
	worker_stream(call, NULL, value_nil());
}

/* Tells one piece, once it may. */
static const struct value *
answer(void *arg, struct worker_call *call)
{
	(void)arg;
	while (!may_end)
		if (fiber_sleep(1) == -1)
			return value_nil();
	worker_progress(call, "token", value_empty_map());
	if (streams)
		stream(call);
	if (asks)
		ask(call);
	return value_empty_map();
}

static void
on_drained(void *arg)
{
	(void)arg;
	is_drained = true;
}

static bool
has_drained(void *arg)
{
	(void)arg;
	return is_drained;
}

static void
setup(void)
{
	const struct wire_service service = { "tool:t", 0 };
	const char *endpoints[3] = { NULL }, *wrong, *allowed;
	size_t i;

	loop = loop_new();
	may_end = is_drained = asks = streams = false;
	streamed = 0;
	for (i = 0; i < 2; i++) {
		broker_stub_open(&brokers[i], loop);
		endpoints[i] = broker_stub_endpoint(&brokers[i]);
	}
	worker = worker_new(loop,
	    &(struct worker_options){ .endpoints = endpoints,
		.name = "w",
		.services = &service,
		.service_count = 1,
		.capacity = 4,
		.answer = answer },
	    &wrong, &allowed);
	ck_assert_ptr_nonnull(worker);
	broker_stub_await(&brokers[0], MSG_HELLO, NULL, 1);
	broker_stub_await(&brokers[1], MSG_HELLO, NULL, 1);
}

static void
teardown(void)
{
	worker_drain(worker, 0, on_drained, NULL);
	loop_run_until(loop, has_drained, NULL);
	worker_destroy(&worker);
	broker_stub_close(&brokers[0]);
	broker_stub_close(&brokers[1]);
	socket_shutdown();
	loop_destroy(&loop);
}

static void
call_again(struct broker_stub *broker, const char *id, unsigned flags, unsigned attempt)
{
	broker_stub_send(broker, &(struct header){ .type = MSG_CALL,
				     .flags = flags,
				     .call_id = id,
				     .run = "r",
				     .service = "tool:t",
				     .attempt = attempt,
				     .deadline_ms = 60000 });
}

static void
call(struct broker_stub *broker, const char *id)
{
	call_again(broker, id, 0, 1);
}

/* Whichever of them the run would choose: the other does not know the call. */
START_TEST(a_call_is_told_of_to_the_broker_that_it_came_by)
{
	size_t i;

	may_end = true;
	call(&brokers[0], "c0");
	call(&brokers[1], "c1");
	broker_stub_await(&brokers[0], MSG_RESULT, "c0", 1);
	broker_stub_await(&brokers[1], MSG_RESULT, "c1", 1);
	for (i = 0; i < 2; i++)
		ck_assert_uint_eq(broker_stub_heard(&brokers[i], MSG_PROGRESS, NULL), 1);
	ck_assert_uint_eq(broker_stub_heard(&brokers[0], MSG_PROGRESS, "c0"), 1);
	ck_assert_uint_eq(broker_stub_heard(&brokers[1], MSG_PROGRESS, "c1"), 1);
}
END_TEST

START_TEST(a_call_whose_broker_has_gone_is_told_of_to_another)
{
	struct broker_stub *gone = &brokers[_i], *other = &brokers[1 - _i];

	call(gone, "c0");
	broker_stub_await(gone, MSG_CALL_ACK, "c0", 1);
	gone->session = NULL;
	broker_stub_send(gone, &(struct header){ .type = MSG_GOAWAY });
	broker_stub_await(other, MSG_ANNOUNCE, NULL, 1);
	may_end = true;
	broker_stub_await(other, MSG_RESULT, "c0", 1);
	ck_assert_uint_eq(broker_stub_heard(other, MSG_PROGRESS, "c0"), 1);
}
END_TEST

static const struct {
	unsigned flags, attempt, nested;
} begun[] = {
	{ 0, 1, 0 }, { WIRE_ONCE, 1, 0 },
	{ WIRE_RESEND, 1,
	    WIRE_RESEND },     /* given back, or it comes by another broker now */
	{ 0, 2, WIRE_RESEND }, /* its worker was lost */
};

static const struct header *
nested_call(void)
{
	size_t i, at;

	for (i = 0; i < 2; i++)
		for (at = 0; at < brokers[i].count; at++)
			if (brokers[i].heard[at].type == MSG_CALL)
				return &brokers[i].heard[at];
	return NULL;
}

static bool
has_asked(void *arg)
{
	(void)arg;
	return nested_call() != NULL;
}

/* Flagged it is looked for, wherever whoever had the call before us has sent it. */
START_TEST(what_a_call_asks_for_is_flagged_when_it_may_have_asked_before)
{
	size_t i;

	may_end = asks = true;
	call_again(&brokers[0], "c0", begun[_i].flags, begun[_i].attempt);
	loop_run_until(loop, has_asked, NULL);
	ck_assert_str_eq(nested_call()->call_id, "c0/m1");
	ck_assert_uint_eq(nested_call()->flags, begun[_i].nested);
	for (i = 0; i < 2; i++)
		broker_stub_send(&brokers[i], &(struct header){ .type = MSG_RESULT,
						  .call_id = "c0/m1",
						  .code = CODE_NOT_SERVED });
	broker_stub_await(&brokers[0], MSG_RESULT, "c0", 1);
}
END_TEST

/* Beside the one piece that every call tells. */
START_TEST(what_a_call_streams_has_bounds)
{
	may_end = streams = true;
	call(&brokers[0], "c1");
	broker_stub_await(&brokers[0], MSG_RESULT, "c1", 1);
	ck_assert_uint_ge(
	    streamed, (STREAM_BYTES_MAX - 2 * BIG) / STREAM_VALUE_BYTES_MAX);
	ck_assert_uint_eq(
	    broker_stub_heard(&brokers[0], MSG_PROGRESS, "c1"), 1 + streamed);
}
END_TEST

TCase *
tcase_worker(void)
{
	TCase *tcase = tcase_create("worker");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_is_told_of_to_the_broker_that_it_came_by);
	tcase_add_test(tcase, what_a_call_streams_has_bounds);
	tcase_add_loop_test(tcase,
	    what_a_call_asks_for_is_flagged_when_it_may_have_asked_before, 0,
	    sizeof begun / sizeof begun[0]);
	tcase_add_loop_test(
	    tcase, a_call_whose_broker_has_gone_is_told_of_to_another, 0, 2);
	return tcase;
}
