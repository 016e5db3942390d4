/* What is told of a run's end, how it is signed, and what follows of the answer. */
#include <check.h>
#include <string.h>

#include "bounds.h"
#include "caller.h"
#include "fault.h"

/* Interface under test */
#include "../../coordinator/webhooks.h"
#include "../../worker-tools/webhook.h"

TCase *tcase_webhook(void);

static struct arena *arena;

static void
open_arena(void)
{
	arena = arena_new();
}

static void
close_arena(void)
{
	arena_destroy(&arena);
}

/* --- judging ------------------------------------------------------------------------- */

static struct webhook_verdict
judge(int64_t status, int64_t retry_after_ms, uint64_t attempt)
{
	const struct call_outcome outcome = { .code = CODE_OK,
		.body = value_map(arena, "status", value_int(arena, status),
		    "retry_after_ms", value_int(arena, retry_after_ms), NULL) };

	return webhook_judge(arena, &outcome, attempt, 10, 1000);
}

static const struct {
	int64_t status;
	const char *outcome;
} judged[] = {
	{ 200, "delivered" },
	{ 204, "delivered" },
	{ 299, "delivered" },
	{ 301, "failed" },
	{ 308, "failed" },
	{ 400, "failed" },
	{ 404, "failed" },
	{ 408, "again" },
	{ 410, "failed" },
	{ 425, "again" },
	{ 429, "again" },
	{ 500, "again" },
	{ 503, "again" },
};

START_TEST(a_status_says_whether_to_come_again)
{
	struct webhook_verdict verdict = judge(judged[_i].status, 0, 1);

	ck_assert_str_eq(verdict.outcome, judged[_i].outcome);
	ck_assert_ptr_nonnull(strstr(verdict.text, "HTTP"));
}
END_TEST

START_TEST(the_waits_double_up_to_a_bound_and_an_end)
{
	static const uint64_t waits[] = { 1000, 2000, 4000, 8000, 16000, 32000, 64000,
		128000, 256000 };
	uint64_t i;

	for (i = 0; i < 9; i++) {
		ck_assert_str_eq(judge(503, 0, i + 1).outcome, "again");
		ck_assert_uint_eq(judge(503, 0, i + 1).wait_ms, waits[i]);
	}
	ck_assert_str_eq(judge(503, 0, 10).outcome, "failed");
	ck_assert_uint_eq(judge(503, 0, 90).wait_ms, WEBHOOK_WAIT_MS_MAX);
	ck_assert_str_eq(judge(200, 0, 10).outcome, "delivered");
}
END_TEST

/* It would be as large the next time. */
START_TEST(what_no_message_holds_is_given_up_at_once)
{
	struct call_outcome outcome = { .code = CODE_TOO_LARGE, .reason = "too much" };
	struct webhook_verdict verdict = webhook_judge(arena, &outcome, 1, 10, 1000);

	ck_assert_str_eq(verdict.outcome, "failed");
	ck_assert_str_eq(verdict.text, "too much");
	/* A worker may say so, and no more. */
	outcome.reason = NULL;
	verdict = webhook_judge(arena, &outcome, 1, 10, 1000);
	ck_assert_str_eq(verdict.outcome, "failed");
	ck_assert_str_eq(verdict.text, wire_code_text(CODE_TOO_LARGE));
}
END_TEST

START_TEST(a_receiver_may_ask_for_a_longer_wait)
{
	ck_assert_uint_eq(judge(429, 5000, 1).wait_ms, 5000);
	ck_assert_uint_eq(judge(429, 500, 1).wait_ms, 1000);
	ck_assert_uint_eq(judge(429, INT64_MAX, 1).wait_ms, WEBHOOK_RETRY_AFTER_MS_MAX);
	ck_assert_uint_eq(judge(429, -1, 1).wait_ms, 1000);
}
END_TEST

static const char *
judge_fault(const char *type, bool retryable, uint64_t attempt)
{
	struct fault *fault = fault_new(arena, type, "it broke");
	struct call_outcome outcome = { .code = CODE_OK };

	fault->retryable = retryable;
	outcome.body = value_map(arena, "fault", fault_to_value(arena, fault), NULL);
	return webhook_judge(arena, &outcome, attempt, 3, 1000).outcome;
}

START_TEST(no_answer_is_tried_again_unless_the_address_is_forbidden)
{
	ck_assert_str_eq(judge_fault("ConnectionError", true, 1), "again");
	ck_assert_str_eq(judge_fault("ConnectionError", true, 3), "failed");
	ck_assert_str_eq(judge_fault("PermissionError", false, 1), "failed");
}
END_TEST

/* Nobody was asked, so it does not count. */
START_TEST(what_was_no_attempt_does_not_count)
{
	const struct call_outcome lost = { .code = CODE_WORKER_LOST, .reason = "gone" };
	const struct call_outcome cancelled = { .code = CODE_OK,
		.body = value_map(arena, "fault",
		    fault_to_value(arena, fault_cancelled(arena)), NULL) };

	ck_assert_str_eq(webhook_judge(arena, &lost, 9, 3, 1).outcome, "later");
	ck_assert_str_eq(webhook_judge(arena, &cancelled, 9, 3, 1).outcome, "later");
}
END_TEST

START_TEST(what_nobody_can_try_is_given_up_after_a_time)
{
	const struct call_outcome late = { .code = CODE_EXPIRED, .reason = "too late" };
	struct webhook_verdict verdict = webhook_judge(arena, &late, 2, 3, 1000);
	struct webhook_verdict given_up = verdict, again = judge(503, 0, 1);
	uint64_t wait_ms = verdict.wait_ms;

	webhook_wait_on(arena, &verdict, 5000, 86400000);
	ck_assert_str_eq(verdict.outcome, "later");
	ck_assert_uint_eq(verdict.wait_ms, wait_ms);
	ck_assert_uint_eq(verdict.waited_ms, 5000 + wait_ms);
	/* It ends when it is to end, and not a wait later. */
	webhook_wait_on(arena, &verdict, 86399999, 86400000);
	ck_assert_str_eq(verdict.outcome, "later");
	ck_assert_uint_eq(verdict.wait_ms, 1);
	webhook_wait_on(arena, &given_up, 86400000, 86400000);
	ck_assert_str_eq(given_up.outcome, "failed");
	ck_assert_str_eq(given_up.text, "for 86400 s no worker could try: too late");
	ck_assert_uint_gt(given_up.waited_ms, 0);
	/* What was an attempt has bounds of its own. */
	webhook_wait_on(arena, &again, 90000000, 86400000);
	ck_assert_str_eq(again.outcome, "again");
	ck_assert_uint_eq(again.waited_ms, 0);
}
END_TEST

/* It may have been told, and would be for ever. */
START_TEST(what_makes_no_sense_is_an_attempt)
{
	const struct call_outcome unclear[] = {
		{ .code = CODE_OK, .body = value_empty_map() },
		{ .code = CODE_OK },
		{ .code = CODE_OK,
		    .body =
			value_map(arena, "fault", value_str(arena, "it broke"), NULL) },
		{ .code = CODE_MALFORMED, .reason = "cut short" },
		{ .code = CODE_POISON },
	};
	struct webhook_verdict verdict;
	size_t i;

	for (i = 0; i < sizeof unclear / sizeof *unclear; i++) {
		verdict = webhook_judge(arena, &unclear[i], 2, 3, 1000);
		ck_assert_str_eq(verdict.outcome, "again");
		ck_assert_uint_eq(verdict.wait_ms, 2000);
		verdict = webhook_judge(arena, &unclear[i], 3, 3, 1000);
		ck_assert_str_eq(verdict.outcome, "failed");
		ck_assert_ptr_nonnull(strstr(verdict.text, "answer is none"));
	}
}
END_TEST

/* --- what is told -------------------------------------------------------------------- */

static const struct value *
record(const char *output)
{
	const struct value *secret = value_str(arena, "secret");

	return value_map(arena, "run", value_str(arena, "r"), "status",
	    value_str(arena, "success"), "input", secret, "options", secret, "owner",
	    secret, "webhook", secret, "output", value_str(arena, output), NULL);
}

START_TEST(the_body_has_the_end_and_not_the_beginning)
{
	const struct value *body = webhook_body(arena, record("done"));

	ck_assert_uint_eq(value_size(body), 3);
	ck_assert_str_eq(value_get_text(body, "run"), "r");
	ck_assert_str_eq(value_get_text(body, "output"), "done");
}
END_TEST

START_TEST(an_output_that_is_too_large_is_left_out)
{
	char *large = arena_alloc(arena, WEBHOOK_BYTES_MAX + 1);
	const struct value *body;

	memset(large, 'x', WEBHOOK_BYTES_MAX);
	large[WEBHOOK_BYTES_MAX] = '\0';
	body = webhook_body(arena, record(large));
	ck_assert(!value_has(body, "output"));
	ck_assert(value_get_bool(body, "output_omitted", false));
}
END_TEST

/* Each of them would fit. */
START_TEST(a_body_that_is_too_large_in_all_is_told_in_part)
{
	char *large = arena_alloc(arena, WEBHOOK_BYTES_MAX);
	const struct value *text, *body;

	memset(large, 'x', WEBHOOK_BYTES_MAX / 2);
	large[WEBHOOK_BYTES_MAX / 2] = '\0';
	text = value_str(arena, large);
	body = webhook_body(
	    arena, value_map(arena, "run", value_str(arena, "r"), "interrupts",
		       value_array_add(arena, value_empty_array(), text), "metadata",
		       value_map(arena, "note", value_str(arena, "short"), NULL),
		       "output", text, NULL));
	ck_assert(value_has(body, "metadata"));
	ck_assert(value_has(body, "interrupts"));
	ck_assert(!value_has(body, "interrupts_omitted"));
	ck_assert(!value_has(body, "output"));
	ck_assert(value_get_bool(body, "output_omitted", false));
	body = webhook_body(
	    arena, value_map(arena, "run", value_str(arena, "r"), "metadata", text,
		       "interrupts", value_array_add(arena, value_empty_array(), text),
		       "output", value_str(arena, "short"), NULL));
	ck_assert(value_get_bool(body, "interrupts_omitted", false));
	ck_assert_str_eq(value_get_text(body, "output"), "short");
	ck_assert_uint_le(
	    value_freeze(arena, body)->packed_size, WEBHOOK_BYTES_MAX + 1024);
}
END_TEST

/* Computed with `openssl dgst -sha256 -hmac`. */
START_TEST(the_signature_is_an_hmac_of_time_and_body)
{
	ck_assert_str_eq(
	    webhook_signature(arena, "key", 1700000000, "{\"run\":\"r\"}", 11),
	    "t=1700000000,v1="
	    "1cd21764fabd913a25231e2402b1f71302fedd16349e887146c9f23ca0b932e9");
}
END_TEST

START_TEST(the_setting_is_one_of_three)
{
	ck_assert(webhook_is_setting("off"));
	ck_assert(webhook_is_setting("public"));
	ck_assert(webhook_is_setting("any"));
	ck_assert(!webhook_is_setting("on"));
	ck_assert(!webhook_is_setting(""));
}
END_TEST

TCase *
tcase_webhook(void)
{
	TCase *tcase = tcase_create("webhook");

	tcase_add_checked_fixture(tcase, open_arena, close_arena);
	tcase_add_loop_test(tcase, a_status_says_whether_to_come_again, 0,
	    (int)(sizeof judged / sizeof *judged));
	tcase_add_test(tcase, the_waits_double_up_to_a_bound_and_an_end);
	tcase_add_test(tcase, what_no_message_holds_is_given_up_at_once);
	tcase_add_test(tcase, a_receiver_may_ask_for_a_longer_wait);
	tcase_add_test(tcase, no_answer_is_tried_again_unless_the_address_is_forbidden);
	tcase_add_test(tcase, what_was_no_attempt_does_not_count);
	tcase_add_test(tcase, what_nobody_can_try_is_given_up_after_a_time);
	tcase_add_test(tcase, what_makes_no_sense_is_an_attempt);
	tcase_add_test(tcase, the_body_has_the_end_and_not_the_beginning);
	tcase_add_test(tcase, an_output_that_is_too_large_is_left_out);
	tcase_add_test(tcase, a_body_that_is_too_large_in_all_is_told_in_part);
	tcase_add_test(tcase, the_signature_is_an_hmac_of_time_and_body);
	tcase_add_test(tcase, the_setting_is_one_of_three);
	return tcase;
}
