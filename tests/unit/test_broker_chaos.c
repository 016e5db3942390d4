/* The broker's core under anything that peers may say, in any order: after every step the
 * tables add up, no call is lost and none is at two workers (core_audit). The seeds are
 * fixed: a failure repeats. */
#include <check.h>
#include <stdio.h>

#include "broker_bench.h"

TCase *tcase_broker_chaos(void);

#define STEPS 20000
#define SEEDS 6
#define IDS 12

static struct bench bench;
static uint64_t state;

static unsigned
pick(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % below;
}

static void
setup(void)
{
	bench_start(&bench);
}

static void
teardown(void)
{
	bench_end(&bench);
}

static const char *
any_id(void)
{
	static const char *const ids[IDS] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6",
		"c7", "c8", "c9", "c10", "c11" };

	return ids[pick(IDS)];
}

static const char *
any_service(void)
{
	static const char *const services[] = { "tool:a", "tool:b", "model:x" };

	return services[pick(3)];
}

static void
any_call(uint64_t peer)
{
	static const char *const tenants[] = { NULL, "t1", "t2" };

	bench_send(&bench, peer,
	    (struct header){ .type = MSG_CALL,
		.flags = pick(4), /* RESEND, ONCE */
		.call_id = any_id(),
		.run = "r1",
		.service = any_service(),
		.epoch = pick(3),
		.tenant = tenants[pick(3)],
		.priority = pick(PRIORITY_MAX + 1),
		.deadline_ms = 1 + pick(20000) });
}

static void
any_answer(uint64_t peer)
{
	static const enum message_type types[] = { MSG_CALL_ACK, MSG_RESULT, MSG_RESULT,
		MSG_BUSY, MSG_RELEASE, MSG_CALL_ACK };
	static const enum wire_code codes[] = { CODE_OK, CODE_OK, CODE_CANCELLED };

	bench_send(&bench, peer,
	    (struct header){ .type = types[pick(6)],
		.call_id = any_id(),
		.epoch = pick(3),
		.code = codes[pick(3)] });
}

static void
any_hello(uint64_t peer)
{
	static const char *const services[] = { "tool:a", "tool:a tool:b",
		"model:x tool:b", "tool:a tool:b model:x" };

	if (peer < 4)
		bench_coordinator(&bench, peer);
	else
		bench_worker_as(&bench, peer, 4 + pick(4), services[pick(4)], pick(5));
}

static void
any_request(uint64_t peer)
{
	static const enum message_type types[] = { MSG_CANCEL, MSG_RESULT_ACK };

	bench_send(&bench, peer,
	    (struct header){
		.type = types[pick(2)], .call_id = any_id(), .epoch = pick(3) });
}

static void
any_session_message(uint64_t peer)
{
	static const enum message_type types[] = { MSG_PING, MSG_PONG, MSG_CREDIT,
		MSG_DRAIN, MSG_BYE, MSG_STATS };

	bench_send(
	    &bench, peer, (struct header){ .type = types[pick(6)], .credit = pick(5) });
}

static void
any_step(void)
{
	uint64_t peer = 1 + pick(9);

	switch (pick(16)) {
	case 0:
		any_hello(peer);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		any_call(1 + pick(3));
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		any_answer(4 + pick(6));
		break;
	case 9:
		any_request(1 + pick(3));
		break;
	case 10:
		bench_announce(&bench, 4 + pick(6), any_id(),
		    (enum wire_call_state)(CALL_RUNNING + pick(3)));
		break;
	case 11:
		any_session_message(peer);
		break;
	case 12:
		if (pick(8) == 0)
			bench_unreachable(&bench, peer);
		break;
	case 13:
		if (pick(8) == 0)
			bench_refused(&bench, peer);
		break;
	default:
		bench_leap(&bench, pick(50) == 0 ? pick(700000) : pick(400));
		break;
	}
}

START_TEST(the_tables_add_up_whatever_peers_say)
{
	uint64_t peer;
	int i;

	state = 0x9e3779b97f4a7c15u * (unsigned)(_i + 1);
	for (peer = 1; peer < 10; peer++)
		any_hello(peer);
	for (i = 0; i < STEPS; i++)
		any_step();
	/* It went through all of it. */
	ck_assert_uint_gt(core_count(bench.core, COUNTER_settled), 0);
	ck_assert_uint_gt(core_count(bench.core, COUNTER_adopted), 0);
	ck_assert_uint_gt(core_count(bench.core, COUNTER_requeued), 0);
	ck_assert_uint_gt(core_count(bench.core, COUNTER_lost), 0);
	ck_assert_uint_gt(core_count(bench.core, COUNTER_expired), 0);
	ck_assert_uint_gt(core_count(bench.core, COUNTER_joined), 0);
}
END_TEST

TCase *
tcase_broker_chaos(void)
{
	TCase *tcase = tcase_create("broker_chaos");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, the_tables_add_up_whatever_peers_say, 0, SEEDS);
	return tcase;
}
