/* Spans on their way to a collector: where that is, what it is sent, and that nobody waits for it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fiber.h"
#include "http_trial.h"
#include "trace_target.h"

/* Interface under test */
#include "trace.h"

TCase *tcase_trace(void);

/* --- where they go -------------------------------------------------------------------- */

static const struct {
	const char *endpoint, *url; /* NULL: refused */
} endpoints[] = {
	{ "http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces" },
	{ "https://h/api/otel//", "https://h/api/otel/v1/traces" },
	{ "HTTP://h", "HTTP://h/v1/traces" },
	{ "", NULL },
	{ "127.0.0.1:4318", NULL },
	{ "ftp://h", NULL },
	{ "http://", NULL },
	{ "http://user:key@h", NULL },
	{ "http://h?key=1", NULL },
	{ "http://h#a", NULL },
	{ "http://h /", NULL },
};

START_TEST(an_endpoint_is_a_base)
{
	struct arena *arena = arena_new();
	const char *url = NULL;

	ck_assert_int_eq(trace_target_url(arena, endpoints[_i].endpoint, &url),
	    endpoints[_i].url == NULL ? -1 : 0);
	ck_assert(endpoints[_i].url == NULL || strcmp(url, endpoints[_i].url) == 0);
	arena_destroy(&arena);
}
END_TEST

static const struct {
	const char *text, *lines; /* NULL: refused */
} headers[] = {
	{ NULL, "" },
	{ "", "" },
	{ "api-key=k", "api-key: k\n" },
	{ " a = b , c=d=e,", "a: b\nc: d=e\n" },
	{ "Authorization=Basic%20a%3D%3D", "Authorization: Basic a==\n" },
	{ "a=", "a: \n" },
	{ "a", NULL },
	{ "=b", NULL },
	{ "a b=c", NULL },
	{ "a=%", NULL },
	{ "a=%4", NULL },
	{ "a=%zz", NULL },
	{ "a=%0d%0aX:y", NULL },
	{ "a=%00", NULL },
	{ "a=b\nc", NULL },
	{ "Content-Type=text/plain", NULL },
};

START_TEST(headers_are_a_list)
{
	struct arena *arena = arena_new();
	const char *const *lines = NULL;
	const char *error = trace_target_headers(arena, headers[_i].text, &lines);
	const char *all = "";
	size_t i;

	ck_assert_int_eq(error != NULL, headers[_i].lines == NULL);
	if (error == NULL) {
		ck_assert_str_eq(lines[0], "Content-Type: application/json");
		for (i = 1; lines[i] != NULL; i++)
			all = arena_printf(arena, "%s%s\n", all, lines[i]);
		ck_assert_str_eq(all, headers[_i].lines);
	}
	arena_destroy(&arena);
}
END_TEST

START_TEST(so_many_headers_and_a_wrong_one_is_not_shown)
{
	struct arena *arena = arena_new();
	const char *const *lines;
	const char *text = "a=b", *error;
	unsigned i;

	for (i = 1; i < TRACE_HEADERS_MAX; i++)
		text = arena_printf(arena, "%s,a=b", text);
	ck_assert_ptr_null(trace_target_headers(arena, text, &lines));
	ck_assert_ptr_nonnull(
	    trace_target_headers(arena, arena_printf(arena, "%s,a=b", text), &lines));
	error = trace_target_headers(arena, "a=b,c=secret%", &lines);
	ck_assert_ptr_nonnull(strstr(error, "entry 2"));
	ck_assert_ptr_null(strstr(error, "secret"));
	arena_destroy(&arena);
}
END_TEST

/* --- sending -------------------------------------------------------------------------- */

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

static struct trace *trace;

static void
setup(void)
{
	http_trial_open();
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hidden%20key", 1);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", http_trial.url, 1);
	trace = trace_new(http_trial.loop,
	    &(struct trace_options){ .program = "hub", .instance = "hub-1" });
	ck_assert_ptr_nonnull(trace);
}

static void
teardown(void)
{
	trace_destroy(&trace);
	http_trial_close();
}

static void
put(unsigned count, bool is_sampled)
{
	struct trace_context context = {
		.trace = { 1 }, .span = { 2 }, .is_sampled = is_sampled
	};
	struct span span;

	for (; count > 0; count--) {
		span_begin(&span, SPAN_RUN, "weather", &context, NULL);
		span_end(&span);
		trace_put(trace, &span);
	}
}

static void
flush(void *arg)
{
	trace_flush(trace, *(uint64_t *)arg);
}

static void
flush_within(uint64_t ms)
{
	ck_assert_ptr_nonnull(fiber_start(http_trial.loop, "test", flush, &ms));
	http_trial_run();
}

static bool
has_come(void *arg)
{
	(void)arg;
	return tiny_http_requests(http_trial.server) > 0;
}

static unsigned
count_in(const char *text, const char *part)
{
	unsigned count = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		count++;
	}
	return count;
}

START_TEST(they_come_together_with_the_key)
{
	char *request;

	http_trial_answer(OK, TINY_KEEP);
	put(3, true);
	put(2, false);
	http_trial_run_until(has_come);
	request = tiny_http_request(http_trial.server, 0);
	ck_assert_ptr_nonnull(strstr(request, "POST /a/v1/traces HTTP/1.1\r\n"));
	ck_assert_ptr_nonnull(strstr(request, "api-key: hidden key\r\n"));
	ck_assert_ptr_nonnull(strstr(request, "flotilla-hub"));
	ck_assert_uint_eq(count_in(request, "\"spanId\""), 3);
	free(request);
	flush_within(1000);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
}
END_TEST

START_TEST(the_key_is_no_child_programs)
{
	ck_assert_ptr_null(getenv("OTEL_EXPORTER_OTLP_HEADERS"));
}
END_TEST

START_TEST(without_an_endpoint_there_is_none)
{
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b", 1);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "", 1);
	ck_assert_ptr_null(trace_new(http_trial.loop,
	    &(struct trace_options){ .program = "hub", .instance = "hub-1" }));
	ck_assert_ptr_null(getenv("OTEL_EXPORTER_OTLP_HEADERS"));
}
END_TEST

START_TEST(the_end_sends_what_there_is)
{
	http_trial_answer(OK, TINY_KEEP);
	put(2, true);
	flush_within(5000);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
	put(1, true);
	flush_within(5000);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
}
END_TEST

/* One is under way and gets no answer; what comes meanwhile waits, within its bound; the end does not wait for
 * ever. */
START_TEST(nobody_waits_for_a_collector_that_hangs)
{
	http_trial_answer("", TINY_HANG);
	put(1, true);
	http_trial_run_until(has_come);
	put(20000, true);
	flush_within(50);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
}
END_TEST

static bool
has_come_twice(void *arg)
{
	(void)arg;
	return tiny_http_requests(http_trial.server) > 1;
}

START_TEST(what_is_refused_is_lost_and_the_next_goes_out)
{
	char *request;

	http_trial_answer("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", TINY_KEEP);
	http_trial_answer(OK, TINY_KEEP);
	put(2, true);
	http_trial_run_until(has_come);
	put(1, true);
	http_trial_run_until(has_come_twice);
	request = tiny_http_request(http_trial.server, 1);
	ck_assert_uint_eq(count_in(request, "\"spanId\""), 1);
	free(request);
	flush_within(1000);
}
END_TEST

static bool
is_done(void *arg)
{
	return *(bool *)arg;
}

static void
set(void *arg)
{
	*(bool *)arg = true;
}

START_TEST(who_has_none_is_done_at_once)
{
	bool done = false;

	trace_finish(NULL, 1000, set, &done);
	ck_assert(done);
	done = false;
	http_trial_answer(OK, TINY_KEEP);
	put(1, true);
	trace_finish(trace, 5000, set, &done);
	ck_assert(!done);
	loop_run_until(http_trial.loop, is_done, &done);
	ck_assert_uint_eq(tiny_http_requests(http_trial.server), 1);
	http_trial_run();
}
END_TEST

TCase *
tcase_trace(void)
{
	TCase *tc = tcase_create("trace");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(
	    tc, an_endpoint_is_a_base, 0, sizeof endpoints / sizeof *endpoints);
	tcase_add_loop_test(tc, headers_are_a_list, 0, sizeof headers / sizeof *headers);
	tcase_add_test(tc, so_many_headers_and_a_wrong_one_is_not_shown);
	tcase_add_test(tc, they_come_together_with_the_key);
	tcase_add_test(tc, the_key_is_no_child_programs);
	tcase_add_test(tc, without_an_endpoint_there_is_none);
	tcase_add_test(tc, the_end_sends_what_there_is);
	tcase_add_test(tc, nobody_waits_for_a_collector_that_hangs);
	tcase_add_test(tc, what_is_refused_is_lost_and_the_next_goes_out);
	tcase_add_test(tc, who_has_none_is_done_at_once);
	return tc;
}
