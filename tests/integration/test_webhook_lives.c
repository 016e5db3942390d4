/* What is to be told outlives every process that tells it, and keeps none from leaving. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "kit_clock.h"
#include "webhook_bench.h"

TCase *tcase_webhook_lives(void);

#define WAIT_MS 60000u
#define HOUR_MS 3600000

/* No worker posts until all processes have been killed. */
static void
play_restart(struct scene *scene)
{
	webhook_answer_with(scene, TAKEN);
	webhook_submit(scene, "r", "0");
	webhook_wait_text(scene, "r", "webhook_said", "no worker serves");
	ck_assert_str_eq(
	    value_get_text(webhook_record(scene, "r"), "webhook_state"), "waiting");
	kit_flag(scene->kit, KIT_TOOLS, "--webhooks", "any");
	kit_restart_all(scene->kit);
	webhook_wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(webhook_body_of(scene, webhook_request(scene, 0)), "status"),
	    "success");
	ck_assert_int_eq(
	    value_get_int(webhook_record(scene, "r"), "webhook_tries", 0), 1);
}

START_TEST(what_is_to_be_told_outlives_every_process)
{
	webhook_act(play_restart, "off", A_DAY);
}
END_TEST

static bool
is_asked(void *arg)
{
	struct scene *scene = arg;

	return tiny_http_requests(scene->server) > 0;
}

/* The receiver has got it and does not answer. */
static void
submit_and_hang(struct scene *scene)
{
	tiny_http_add(
	    scene->server, &(struct tiny_answer){ .bytes = "", .end = TINY_HANG });
	webhook_submit(scene, "r", "0");
	ck_assert(client_wait(scene->client, is_asked, scene, WAIT_MS));
}

/* Nobody remembers that. */
static void
play_hanging(struct scene *scene)
{
	submit_and_hang(scene);
	webhook_answer_with(scene, TAKEN);
	kit_restart_all(scene->kit);
	webhook_wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_ptr_nonnull(
	    strstr(webhook_request(scene, 1), "\r\nFlotilla-Attempt: 1\r\n"));
}

START_TEST(an_attempt_that_died_under_way_is_made_again)
{
	webhook_act(play_hanging, "any", A_DAY);
}
END_TEST

/* By Redis's clock, which is right again, the next attempt were in an hour. */
static void
play_clock(struct scene *scene)
{
	kit_set_clock(scene->kit, HOUR_MS);
	submit_and_hang(scene);
	webhook_answer_with(scene, TAKEN);
	kit_set_clock(scene->kit, 0);
	kit_restart_all(scene->kit);
	webhook_wait_text(scene, "r", "webhook_state", "delivered");
}

START_TEST(a_clock_that_is_set_back_puts_nothing_off)
{
	webhook_act(play_clock, "any", A_DAY);
}
END_TEST

/* An attempt may last longer than a drain does: the coordinator does not wait what becomes of it, and
 * leaves it to the next one. */
static void
play_drain(struct scene *scene)
{
	const char *said; /* of an attempt before: that no worker posts yet, maybe */

	submit_and_hang(scene);
	said = value_get_text(webhook_record(scene, "r"), "webhook_said");
	kit_stop(scene->kit, KIT_COORDINATOR, 0);
	ck_assert_str_eq(
	    value_get_text(webhook_record(scene, "r"), "webhook_state"), "waiting");
	ck_assert_pstr_eq(
	    value_get_text(webhook_record(scene, "r"), "webhook_said"), said);
	kit_kill(scene->kit, KIT_TOOLS, 0);
}

START_TEST(an_attempt_under_way_keeps_nobody_from_leaving)
{
	webhook_act(play_drain, "any", A_DAY);
}
END_TEST

TCase *
tcase_webhook_lives(void)
{
	TCase *tcase = tcase_create("webhook_lives");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, what_is_to_be_told_outlives_every_process);
	tcase_add_test(tcase, an_attempt_that_died_under_way_is_made_again);
	tcase_add_test(tcase, a_clock_that_is_set_back_puts_nothing_off);
	tcase_add_test(tcase, an_attempt_under_way_keeps_nobody_from_leaving);
	return tcase;
}
