/* Who asked for it is told that a run has ended: again until it has heard it, whatever dies
 * meanwhile, and never at an address that is not public, unless that is allowed. */
#include <check.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "webhook_bench.h"

TCase *tcase_webhook(void);

/* As a receiver checks it. */
static void
check_signature(struct scene *scene, const char *text)
{
	const char *header = strstr(text, "Flotilla-Signature: t=");
	const char *body = strstr(text, "\r\n\r\n");
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;
	char hex[2 * sizeof hash + 1], given[sizeof hex];
	const char *signed_text;
	int64_t seconds;

	ck_assert_ptr_nonnull(header);
	ck_assert_int_eq(
	    sscanf(header, "Flotilla-Signature: t=%" SCNd64 ",v1=%64s", &seconds, given),
	    2);
	signed_text = arena_printf(scene->arena, "%" PRId64 ".%s", seconds, body + 4);
	crypto_auth_hmacsha256_init(
	    &state, (const unsigned char *)SECRET, strlen(SECRET));
	crypto_auth_hmacsha256_update(
	    &state, (const unsigned char *)signed_text, strlen(signed_text));
	crypto_auth_hmacsha256_final(&state, hash);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	ck_assert_str_eq(given, hex);
}

/* --- told --------------------------------------------------------------------------- */

static void
play_told(struct scene *scene)
{
	const struct value *run, *told;
	const char *text;
	unsigned i;

	webhook_answer_with(scene, NOT_NOW);
	webhook_answer_with(scene,
	    "HTTP/1.1 429 Slowly\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\nno");
	webhook_answer_with(scene, TAKEN);
	webhook_submit(scene, "r", "0");
	run = webhook_wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_int_eq(value_get_int(run, "webhook_tries", 0), 3);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 3);
	for (i = 0; i < 3; i++) {
		text = webhook_request(scene, i);
		ck_assert_msg(strncmp(text, "POST /ends?of=runs HTTP/1.1\r\n", 29) == 0,
		    "%s", text);
		ck_assert_ptr_nonnull(strstr(text, "\r\nFlotilla-Run: r\r\n"));
		ck_assert_ptr_nonnull(strstr(text,
		    arena_printf(scene->arena, "\r\nFlotilla-Attempt: %u\r\n", i + 1)));
		ck_assert_ptr_nonnull(
		    strstr(text, "\r\nContent-Type: application/json\r\n"));
		check_signature(scene, text);
		ck_assert_ptr_null(strstr(text, SECRET));
	}
	told = webhook_body_of(scene, text);
	ck_assert_str_eq(value_get_text(told, "run"), "r");
	ck_assert_str_eq(value_get_text(told, "status"), "success");
	ck_assert_int_eq(value_get_int(value_get(told, "metadata"), "order", 0), 7);
	ck_assert(value_has(told, "output"));
	ck_assert(!value_has(told, "input"));
	ck_assert(!value_has(told, "options"));
	ck_assert(!value_has(told, "webhook"));
	ck_assert_ptr_nonnull(
	    strstr(kit_flotilla(scene->kit, "runs", NULL), "webhook delivered"));
}

START_TEST(a_receiver_that_fails_is_told_again)
{
	webhook_act(play_told, "any", A_DAY);
}
END_TEST

/* What is to be told is in the run's shard: nobody has to find it by its name, which is elsewhere. */
static void
play_cancelled(struct scene *scene)
{
	const struct value *refused;
	const char *answer, *status;

	webhook_answer_with(scene, TAKEN);
	webhook_submit(scene, "r", "3600000");
	webhook_wait_text(scene, "r", "status", "delayed");
	kit_flotilla(scene->kit, "cancel", "r", NULL);
	webhook_wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(webhook_body_of(scene, webhook_request(scene, 0)), "status"),
	    "cancelled");
	webhook_submit(scene, "s", "3600000");
	webhook_wait_text(scene, "s", "status", "delayed");
	kit_redis_cli(scene->kit, 0, "DEL", "fl:run:s", NULL);
	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena, "s", "s", &answer, &status),
	    STORE_OK);
	webhook_wait_text(scene, "s", "webhook_state", "delivered");
	/* Refused, too: who asks by webhook alone would never hear of it. */
	webhook_submit_to(scene, "nobody", "x", "0");
	webhook_wait_text(scene, "x", "webhook_state", "delivered");
	refused = webhook_body_of(scene, webhook_request(scene, 2));
	ck_assert_str_eq(value_get_text(refused, "status"), "refused");
	ck_assert_int_eq(value_get_int(value_get(refused, "metadata"), "order", 0), 7);
}

START_TEST(the_end_of_a_run_that_never_began_is_told)
{
	webhook_act(play_cancelled, "any", A_DAY);
}
END_TEST

/* A failover may have forgotten an end that was about to be told. */
static void
play_not_ended(struct scene *scene)
{
	const char *hooks = arena_printf(
	    scene->arena, "%shooks", store_prefix(scene->arena, store_shard("r")));
	const char *answer, *status;

	webhook_answer_with(scene, TAKEN);
	webhook_submit(scene, "r", "3600000");
	webhook_wait_text(scene, "r", "status", "delayed");
	kit_redis_cli(scene->kit, 0, "ZADD", hooks, "0", "r", NULL);
	while (strcmp(kit_redis_cli(scene->kit, 0, "--raw", "ZSCORE", hooks, "r", NULL),
		   "0\n") == 0)
		continue;
	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena, "r", "r", &answer, &status),
	    STORE_OK);
	webhook_wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(webhook_body_of(scene, webhook_request(scene, 0)), "status"),
	    "cancelled");
}

START_TEST(what_has_not_ended_is_not_told)
{
	webhook_act(play_not_ended, "any", A_DAY);
}
END_TEST

/* --- given up ------------------------------------------------------------------------ */

/* The event log ends with it. */
static void
check_given_up(struct scene *scene, const char *text, int64_t tries)
{
	const struct value *run, *events = NULL, *last;

	webhook_submit(scene, "r", "0");
	run = webhook_wait_text(scene, "r", "webhook_state", "failed");
	ck_assert_msg(strstr(value_get_text(run, "webhook_said"), text) != NULL, "%s",
	    value_get_text(run, "webhook_said"));
	ck_assert_str_eq(value_get_text(run, "status"), "success");
	ck_assert_int_eq(value_get_int(run, "webhook_tries", 0), tries);
	ck_assert_int_eq(
	    store_events(scene->client->store, scene->arena, "r", "r", 0, 0, &events),
	    STORE_OK);
	last = value_at(events, value_size(events) - 1);
	ck_assert_str_eq(value_get_text(last, "kind"), "webhook");
	ck_assert_str_eq(value_get_text(last, "status"), "failed");
	ck_assert_ptr_nonnull(
	    strstr(kit_flotilla(scene->kit, "runs", NULL), "webhook failed"));
}

static void
play_given_up(struct scene *scene)
{
	webhook_answer_with(scene, NOT_NOW);
	check_given_up(scene, "HTTP 503", 3);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 3);
}

START_TEST(after_so_many_attempts_it_is_given_up_and_shown)
{
	webhook_act(play_given_up, "any", A_DAY);
}
END_TEST

static void
play_unwilling(struct scene *scene)
{
	webhook_answer_with(scene, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
	check_given_up(scene, "HTTP 410", 1);
}

START_TEST(a_receiver_that_does_not_want_it_is_told_once)
{
	webhook_act(play_unwilling, "any", A_DAY);
}
END_TEST

static void
play_redirect(struct scene *scene)
{
	webhook_answer_with(scene, arena_printf(scene->arena,
				       "HTTP/1.1 307 There\r\nContent-Length: 0\r\n"
				       "Location: http://127.0.0.1:%u/there\r\n\r\n",
				       tiny_http_port(scene->server)));
	check_given_up(scene, "redirects are not followed", 1);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 1);
}

START_TEST(a_redirect_is_not_followed)
{
	webhook_act(play_redirect, "any", A_DAY);
}
END_TEST

static void
play_private(struct scene *scene)
{
	check_given_up(scene, "127.0.0.1 is a private or reserved address", 1);
	ck_assert_uint_eq(tiny_http_accepted(scene->server), 0);
}

START_TEST(a_private_address_is_not_opened)
{
	webhook_act(play_private, "public", A_DAY);
}
END_TEST

static void
play_unserved(struct scene *scene)
{
	check_given_up(scene, "no worker could try: no worker serves `webhook`", 0);
	ck_assert_uint_eq(tiny_http_accepted(scene->server), 0);
}

START_TEST(what_no_worker_tries_for_so_long_is_given_up)
{
	webhook_act(play_unserved, "off", "1000");
}
END_TEST

/* --- whatever dies -------------------------------------------------------------------- */

TCase *
tcase_webhook(void)
{
	TCase *tcase = tcase_create("webhook");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_receiver_that_fails_is_told_again);
	tcase_add_test(tcase, the_end_of_a_run_that_never_began_is_told);
	tcase_add_test(tcase, what_has_not_ended_is_not_told);
	tcase_add_test(tcase, after_so_many_attempts_it_is_given_up_and_shown);
	tcase_add_test(tcase, a_receiver_that_does_not_want_it_is_told_once);
	tcase_add_test(tcase, a_redirect_is_not_followed);
	tcase_add_test(tcase, a_private_address_is_not_opened);
	tcase_add_test(tcase, what_no_worker_tries_for_so_long_is_given_up);
	return tcase;
}
