/* Who asked for it is told that a run has ended: again until it has heard it, whatever dies
 * meanwhile, and never at an address that is not public, unless that is allowed. */
#include <check.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "kit_clock.h"
#include "tiny_http.h"

TCase *tcase_webhook(void);

#define WAIT_MS 60000u
#define HOUR_MS 3600000
#define A_DAY "86400000"
#define SECRET "not so secret"
#define NOT_NOW "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
#define TAKEN "HTTP/1.1 204 Taken\r\n\r\n"

static const char agents[] = "name: echo\n"
			     "model: scripted:s\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: Done.\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct tiny_http *server;
	void (*play)(struct scene *scene);
};

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static void
act(void (*play)(struct scene *scene), const char *webhooks, const char *unserved_ms)
{
	struct scene scene = { .arena = arena_new(),
		.kit = kit_new(),
		.server = tiny_http_new(),
		.play = play };

	kit_have_clock(scene.kit);
	kit_flag(scene.kit, KIT_TOOLS, "--webhooks", webhooks);
	kit_env(scene.kit, KIT_TOOLS, "FLOTILLA_WEBHOOK_SECRET=" SECRET);
	kit_flag(scene.kit, KIT_COORDINATOR, "--webhook-attempts", "3");
	kit_flag(scene.kit, KIT_COORDINATOR, "--webhook-wait-ms", "100");
	if (unserved_ms != NULL)
		kit_flag(
		    scene.kit, KIT_COORDINATOR, "--webhook-unserved-ms", unserved_ms);
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	tiny_http_destroy(&scene.server);
	arena_destroy(&scene.arena);
}

static void
answer_with(struct scene *scene, const char *bytes)
{
	tiny_http_add(
	    scene->server, &(struct tiny_answer){ .bytes = bytes, .end = TINY_KEEP });
}

/* Submits a run that is called like its thread. */
static void
submit_to(struct scene *scene, const char *agent, const char *run, const char *after_ms)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "input", value_str(arena, "\"a secret\""),
		"context", value_str(arena, "{\"token\": \"a secret\"}"), "metadata",
		value_str(arena, "{\"order\": 7}"), "after_ms",
		value_str(arena, after_ms), "webhook",
		value_printf(arena, "http://127.0.0.1:%u/ends?of=runs",
		    tiny_http_port(scene->server)),
		NULL));
}

static void
submit(struct scene *scene, const char *run, const char *after_ms)
{
	submit_to(scene, "echo", run, after_ms);
}

static const struct value *
record(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, run, run, &record);
	return record;
}

struct wanted {
	struct scene *scene;
	const char *run, *field, *text;
};

static bool
has_text(void *arg)
{
	const struct wanted *wanted = arg;
	const char *text =
	    value_get_text(record(wanted->scene, wanted->run), wanted->field);

	return text != NULL && strstr(text, wanted->text) != NULL;
}

static const struct value *
wait_text(struct scene *scene, const char *run, const char *field, const char *text)
{
	struct wanted wanted = { scene, run, field, text };

	ck_assert_msg(client_wait(scene->client, has_text, &wanted, WAIT_MS),
	    "%s: never was %s '%s', but %s", run, field, text,
	    json_text(scene->arena, record(scene, run)));
	return record(scene, run);
}

static const char *
request(struct scene *scene, unsigned index)
{
	char *bytes = tiny_http_request(scene->server, index);
	const char *text;

	ck_assert_msg(bytes != NULL, "no request %u", index);
	text = arena_strdup(scene->arena, bytes);
	free(bytes);
	return text;
}

static const struct value *
body_of(struct scene *scene, const char *text)
{
	const char *body = strstr(text, "\r\n\r\n"), *error = NULL;
	const struct value *value;

	ck_assert_ptr_nonnull(body);
	value = json_parse(scene->arena, body + 4, strlen(body + 4), &error);
	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

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

	answer_with(scene, NOT_NOW);
	answer_with(scene,
	    "HTTP/1.1 429 Slowly\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\nno");
	answer_with(scene, TAKEN);
	submit(scene, "r", "0");
	run = wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_int_eq(value_get_int(run, "webhook_tries", 0), 3);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 3);
	for (i = 0; i < 3; i++) {
		text = request(scene, i);
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
	told = body_of(scene, text);
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
	act(play_told, "any", A_DAY);
}
END_TEST

/* What is to be told is in the run's shard: nobody has to find it by its name, which is elsewhere. */
static void
play_cancelled(struct scene *scene)
{
	const struct value *refused;
	const char *answer, *status;

	answer_with(scene, TAKEN);
	submit(scene, "r", "3600000");
	wait_text(scene, "r", "status", "delayed");
	kit_flotilla(scene->kit, "cancel", "r", NULL);
	wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(body_of(scene, request(scene, 0)), "status"), "cancelled");
	submit(scene, "s", "3600000");
	wait_text(scene, "s", "status", "delayed");
	kit_redis_cli(scene->kit, 0, "DEL", "fl:run:s", NULL);
	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena, "s", "s", &answer, &status),
	    STORE_OK);
	wait_text(scene, "s", "webhook_state", "delivered");
	/* Refused, too: who asks by webhook alone would never hear of it. */
	submit_to(scene, "nobody", "x", "0");
	wait_text(scene, "x", "webhook_state", "delivered");
	refused = body_of(scene, request(scene, 2));
	ck_assert_str_eq(value_get_text(refused, "status"), "refused");
	ck_assert_int_eq(value_get_int(value_get(refused, "metadata"), "order", 0), 7);
}

START_TEST(the_end_of_a_run_that_never_began_is_told)
{
	act(play_cancelled, "any", A_DAY);
}
END_TEST

/* A failover may have forgotten an end that was about to be told. */
static void
play_not_ended(struct scene *scene)
{
	const char *hooks = arena_printf(
	    scene->arena, "%shooks", store_prefix(scene->arena, store_shard("r")));
	const char *answer, *status;

	answer_with(scene, TAKEN);
	submit(scene, "r", "3600000");
	wait_text(scene, "r", "status", "delayed");
	kit_redis_cli(scene->kit, 0, "ZADD", hooks, "0", "r", NULL);
	while (strcmp(kit_redis_cli(scene->kit, 0, "--raw", "ZSCORE", hooks, "r", NULL),
		   "0\n") == 0)
		continue;
	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena, "r", "r", &answer, &status),
	    STORE_OK);
	wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(body_of(scene, request(scene, 0)), "status"), "cancelled");
}

START_TEST(what_has_not_ended_is_not_told)
{
	act(play_not_ended, "any", A_DAY);
}
END_TEST

/* --- given up ------------------------------------------------------------------------ */

/* The event log ends with it. */
static void
check_given_up(struct scene *scene, const char *text, int64_t tries)
{
	const struct value *run, *events = NULL, *last;

	submit(scene, "r", "0");
	run = wait_text(scene, "r", "webhook_state", "failed");
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
	answer_with(scene, NOT_NOW);
	check_given_up(scene, "HTTP 503", 3);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 3);
}

START_TEST(after_so_many_attempts_it_is_given_up_and_shown)
{
	act(play_given_up, "any", A_DAY);
}
END_TEST

static void
play_unwilling(struct scene *scene)
{
	answer_with(scene, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
	check_given_up(scene, "HTTP 410", 1);
}

START_TEST(a_receiver_that_does_not_want_it_is_told_once)
{
	act(play_unwilling, "any", A_DAY);
}
END_TEST

static void
play_redirect(struct scene *scene)
{
	answer_with(scene, arena_printf(scene->arena,
			       "HTTP/1.1 307 There\r\nContent-Length: 0\r\n"
			       "Location: http://127.0.0.1:%u/there\r\n\r\n",
			       tiny_http_port(scene->server)));
	check_given_up(scene, "redirects are not followed", 1);
	ck_assert_uint_eq(tiny_http_requests(scene->server), 1);
}

START_TEST(a_redirect_is_not_followed)
{
	act(play_redirect, "any", A_DAY);
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
	act(play_private, "public", A_DAY);
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
	act(play_unserved, "off", "1000");
}
END_TEST

/* --- whatever dies -------------------------------------------------------------------- */

/* No worker posts until all processes have been killed. */
static void
play_restart(struct scene *scene)
{
	answer_with(scene, TAKEN);
	submit(scene, "r", "0");
	wait_text(scene, "r", "webhook_said", "no worker serves");
	ck_assert_str_eq(value_get_text(record(scene, "r"), "webhook_state"), "waiting");
	kit_flag(scene->kit, KIT_TOOLS, "--webhooks", "any");
	kit_restart_all(scene->kit);
	wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_str_eq(
	    value_get_text(body_of(scene, request(scene, 0)), "status"), "success");
	ck_assert_int_eq(value_get_int(record(scene, "r"), "webhook_tries", 0), 1);
}

START_TEST(what_is_to_be_told_outlives_every_process)
{
	act(play_restart, "off", A_DAY);
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
	submit(scene, "r", "0");
	ck_assert(client_wait(scene->client, is_asked, scene, WAIT_MS));
}

/* Nobody remembers that. */
static void
play_hanging(struct scene *scene)
{
	submit_and_hang(scene);
	answer_with(scene, TAKEN);
	kit_restart_all(scene->kit);
	wait_text(scene, "r", "webhook_state", "delivered");
	ck_assert_ptr_nonnull(strstr(request(scene, 1), "\r\nFlotilla-Attempt: 1\r\n"));
}

START_TEST(an_attempt_that_died_under_way_is_made_again)
{
	act(play_hanging, "any", A_DAY);
}
END_TEST

/* By Redis's clock, which is right again, the next attempt were in an hour. */
static void
play_clock(struct scene *scene)
{
	kit_set_clock(scene->kit, HOUR_MS);
	submit_and_hang(scene);
	answer_with(scene, TAKEN);
	kit_set_clock(scene->kit, 0);
	kit_restart_all(scene->kit);
	wait_text(scene, "r", "webhook_state", "delivered");
}

START_TEST(a_clock_that_is_set_back_puts_nothing_off)
{
	act(play_clock, "any", A_DAY);
}
END_TEST

/* An attempt may last longer than a drain does: the coordinator does not wait what becomes of it, and
 * leaves it to the next one. */
static void
play_drain(struct scene *scene)
{
	const char *said; /* of an attempt before: that no worker posts yet, maybe */

	submit_and_hang(scene);
	said = value_get_text(record(scene, "r"), "webhook_said");
	kit_stop(scene->kit, KIT_COORDINATOR, 0);
	ck_assert_str_eq(value_get_text(record(scene, "r"), "webhook_state"), "waiting");
	ck_assert_pstr_eq(value_get_text(record(scene, "r"), "webhook_said"), said);
	kit_kill(scene->kit, KIT_TOOLS, 0);
}

START_TEST(an_attempt_under_way_keeps_nobody_from_leaving)
{
	act(play_drain, "any", A_DAY);
}
END_TEST

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
	tcase_add_test(tcase, what_is_to_be_told_outlives_every_process);
	tcase_add_test(tcase, an_attempt_that_died_under_way_is_made_again);
	tcase_add_test(tcase, a_clock_that_is_set_back_puts_nothing_off);
	tcase_add_test(tcase, an_attempt_under_way_keeps_nobody_from_leaving);
	return tcase;
}
