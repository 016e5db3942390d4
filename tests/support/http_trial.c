#include "http_trial.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fiber.h"

struct http_trial http_trial;

void
http_trial_open(void)
{
	http_trial.loop = loop_new();
	http_trial.server = tiny_http_new();
	http_trial.http = http_new(http_trial.loop);
	http_trial.arena = arena_new();
	snprintf(http_trial.url, sizeof http_trial.url, "http://127.0.0.1:%u/a",
	    tiny_http_port(http_trial.server));
}

void
http_trial_close(void)
{
	http_destroy(&http_trial.http);
	ck_assert_uint_eq(fiber_count(http_trial.loop), 0);
	loop_destroy(&http_trial.loop);
	tiny_http_destroy(&http_trial.server);
	arena_destroy(&http_trial.arena);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(http_trial.loop) == 0;
}

void
http_trial_run(void)
{
	loop_run_until(http_trial.loop, all_ended, NULL);
}

void
http_trial_send(void *arg)
{
	http_send(http_trial.http, http_trial.arena, arg, &http_trial.response);
}

void
http_trial_ask(struct http_request *request)
{
	if (request->url == NULL)
		request->url = http_trial.url;
	if (request->method == NULL)
		request->method = "GET";
	ck_assert_ptr_nonnull(
	    fiber_start(http_trial.loop, "request", http_trial_send, request));
	http_trial_run();
}

void
http_trial_answer(const char *bytes, enum tiny_end end)
{
	tiny_http_add(
	    http_trial.server, &(struct tiny_answer){ .bytes = bytes, .end = end });
}

void
http_trial_check_failure(enum http_failure failure, const char *reason)
{
	ck_assert_int_eq(http_trial.response.failure, failure);
	ck_assert_ptr_nonnull(http_trial.response.reason);
	ck_assert_msg(strstr(http_trial.response.reason, reason) != NULL, "%s",
	    http_trial.response.reason);
	ck_assert_str_eq(http_trial.response.body, "");
}

static void
look_again(void *arg)
{
	(void)arg;
}

void
http_trial_run_until(bool (*is_so)(void *arg))
{
	struct timer *timer = timer_start(http_trial.loop, 1, 1, look_again, NULL);

	loop_run_until(http_trial.loop, is_so, NULL);
	timer_stop(&timer);
}
