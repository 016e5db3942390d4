/* What model_retry and model_fallback make of a provider that fails, in the words of both providers,
 * streamed and not: one good answer, and nothing of the failed attempt in it. */
#include <check.h>
#include <string.h>

#include "fiber.h"
#include "model_bench.h"

TCase *tcase_model_faults(void);
TCase *tcase_model_silence(void);

static struct model_bench bench;

static void
setup(void)
{
	model_bench_start(&bench, NULL);
}

static void
teardown(void)
{
	model_bench_stop(&bench);
}

enum { PLAIN = 1, STREAMED = 2, EITHER = 3 };

static const struct {
	const char *reply;
	unsigned when;
	bool shows; /* something is streamed before it fails */
} faults[] = {
	{ "{'http_error':429,'message':'slow','retry_after':'0.01'}", EITHER, false },
	{ "{'http_error':529,'message':'Overloaded'}", EITHER, false },
	{ "{'http_error':500,'message':'boom'}", EITHER, false },
	{ "{'http_error':503,'message':'down','retry_after':'0'}", EITHER, false },
	/* The connection is gone before the answer, and before its first event. */
	{ "{'drop':true}", EITHER, false },
	{ "{'content':'void','cut_after':1}", EITHER, false },
	{ "{'content':'void void void','cut_after':-9}", PLAIN, false },
	/* In the middle of an event, and of the arguments of a call. */
	{ "{'content':'void void void','cut_after':-330}", STREAMED, true },
	{ "{'content':'void ','tool_calls':[{'id':'v','name':'f','args':{'void':"
	  "'void void void void void'}}],'cut_after':-500}",
	    STREAMED, true },
	{ "{'content':'void void','open_end':true}", STREAMED, true },
	{ "{'content':'void void','stream_error':{'message':'busy','type':"
	  "'overloaded_error'}}",
	    STREAMED, true },
};
#define FAULTS (sizeof faults / sizeof *faults)

static const char *const models[] = { "openai:main", "anthropic:claude-haiku-4-5" };
#define WAYS 4 /* of two providers, plain and streamed */

static const char *
bare(const char *model)
{
	return strchr(model, ':') + 1;
}

static const struct value *
play(const char *model, unsigned when, const char *middleware)
{
	bench.events = (struct value_list){ .arena = bench.arena };
	return model_bench_call(&bench, when == STREAMED ? WIRE_STREAM : 0,
	    arena_printf(
		bench.arena, "{'model':'%s','middleware':[%s]}", model, middleware),
	    "{}");
}

/* --- as what a failure is known -------------------------------------------------------- */

static const struct {
	const char *reply;
	unsigned when;
	const char *type, *message; /* contains */
	int64_t retry_after_ms;
} types[] = {
	{ "{'http_error':429,'message':'slow down','retry_after':'2'}", EITHER,
	    "RateLimitError", "answered with status 429: slow down", 2000 },
	{ "{'http_error':529,'message':'Overloaded'}", EITHER, "InternalServerError",
	    "answered with status 529: Overloaded", 0 },
	{ "{'http_error':529,'message':'Overloaded','retry_after':'3'}", EITHER,
	    "InternalServerError", "529", 3000 },
	{ "{'http_error':500,'message':'boom 77'}", EITHER, "InternalServerError",
	    "boom 77", 0 },
	{ "{'http_error':400,'message':'no such field'}", EITHER, "BadRequestError",
	    "no such field", 0 },
	{ "{'http_error':400,'message':'prompt is too long: 9 tokens > 8 maximum'}",
	    EITHER, "ContextOverflowError", "prompt is too long", 0 },
	{ "{'stream_error':{'message':'no','code':'context_length_exceeded'}}", STREAMED,
	    "ContextOverflowError", "no", 0 },
	{ "{'http_error':401,'message':'invalid x-api-key'}", EITHER,
	    "AuthenticationError", "x-api-key", 0 },
	{ "{'http_error':413,'message':'too much'}", EITHER, "APIStatusError", "too much",
	    0 },
	{ "{'drop':true}", EITHER, "APIConnectionError", "failed", 0 },
	{ "{'content':'cut in the middle','cut_after':50}", PLAIN, "APIConnectionError",
	    "failed", 0 },
	{ "{'content':'cut in the middle','cut_after':-200}", STREAMED,
	    "APIConnectionError", "failed", 0 },
	{ "{'content':'no end','open_end':true}", STREAMED, "APIConnectionError",
	    "before its end", 0 },
	{ "{'content':'a','stream_error':{'message':'busy','type':'overloaded_error'}}",
	    STREAMED, "InternalServerError", "busy", 0 },
	{ "{'content':'a','stream_error':{'message':'slow','type':'rate_limit_error'}}",
	    STREAMED, "RateLimitError", "slow", 0 },
	{ "{'raw':'data: {oops','content_type':'text/event-stream'}", STREAMED,
	    "APIConnectionError", "before its end", 0 },
	{ "{'raw':'<html>','content_type':'text/html'}", EITHER, "APIResponseError",
	    "cannot be read: it is a web page", 0 },
	/* what is no stream where one was asked for, and an error that calls itself an answer */
	{ "{'raw':'{}'}", EITHER, "APIResponseError", "cannot be read: it has no", 0 },
	{ "{'raw':'{\\'error\\':{\\'type\\':\\'overloaded_error\\',\\'message\\':"
	  "\\'full\\'}}'}",
	    EITHER, "InternalServerError", "529: full", 0 },
};
#define TYPES (sizeof types / sizeof *types)

static void
check_type(const char *model, const struct value *fault, size_t i)
{
	const char *message = value_get_text(fault, "message");
	const char *name =
	    arena_printf(bench.arena, "%.*s", (int)strcspn(model, ":"), model);

	ck_assert_msg(fault != NULL, "%s gives no fault", types[i].reply);
	ck_assert_str_eq(value_get_text(fault, "type"), types[i].type);
	ck_assert_msg(strstr(message, types[i].message) != NULL, "'%s' is not in: %s",
	    types[i].message, message);
	ck_assert_msg(strstr(message, name) != NULL, "'%s' is not in: %s", name, message);
	ck_assert_int_eq(
	    value_get_int(fault, "retry_after_ms", 0), types[i].retry_after_ms);
}

START_TEST(a_failure_is_typed_and_not_tried_again)
{
	const char *model = models[_i / 2];
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;

	for (size_t i = 0; i < TYPES; i++) {
		size_t before = value_size(model_bench_requests(&bench));

		if (!(types[i].when & when))
			continue;
		model_bench_script(
		    &bench, arena_printf(bench.arena, "{'%s':[%s,{'content':'never'}]}",
				bare(model), types[i].reply));
		check_type(model, value_get(play(model, when, ""), "fault"), i);
		ck_assert_uint_eq(value_size(model_bench_requests(&bench)), before + 1);
	}
}
END_TEST

/* --- who tries again ------------------------------------------------------------------- */

/* What somebody who follows the run has on the screen at the end: a restart voids what was there. */
static const char *
seen(size_t *restarts_r)
{
	const char *text = "";

	*restarts_r = value_size(model_bench_events(&bench, "restart"));
	for (size_t i = 0; i < bench.events.count; i++) {
		const struct value *event = bench.events.items[i];

		if (value_text_is(value_get(event, "kind"), "restart"))
			text = "";
		else if (value_text_is(value_get(event, "kind"), "token"))
			text = arena_printf(
			    bench.arena, "%s%s", text, value_get_text(event, "content"));
	}
	return text;
}

/* The answer is one message that says "whole answer", the outcome of `fault` behind so many others. */
static void
check_answer(const struct value *body, size_t fault, unsigned when, size_t failed)
{
	const struct value *messages = value_get(body, "messages");
	const struct value *message = value_at(messages, 0);
	size_t restarts;

	ck_assert_msg(!value_has(body, "fault"), "fault %zu: %s", fault,
	    value_get_text(value_get(body, "fault"), "message"));
	ck_assert_uint_eq(value_size(messages), 1);
	ck_assert_str_eq(value_get_text(message, "content"), "whole answer");
	ck_assert_uint_eq(value_size(value_get(message, "tool_calls")), 0);
	ck_assert_str_eq(seen(&restarts), when == STREAMED ? "whole answer" : "");
	ck_assert_msg(restarts == (faults[fault].shows ? failed : 0),
	    "fault %zu: %zu restarts", fault, restarts);
}

#define RETRY                                                                            \
	"{'name':'model_retry','settings':{'max_retries':2,'initial_delay':0.001,"       \
	"'on_failure':'error'}}"

static void
survive(const char *model, unsigned when, size_t fault)
{
	const struct value *requests;
	size_t before = value_size(model_bench_requests(&bench));

	model_bench_script(
	    &bench, arena_printf(bench.arena, "{'%s':[%s,%s,{'content':'whole answer'}]}",
			bare(model), faults[fault].reply, faults[fault].reply));
	check_answer(play(model, when, RETRY), fault, when, 2);
	requests = model_bench_requests(&bench);
	ck_assert_uint_eq(value_size(requests), before + 3);
	ck_assert(
	    value_equal(value_at(requests, before), value_at(requests, before + 2)));
}

START_TEST(retries_survive_it)
{
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;

	for (size_t i = 0; i < FAULTS; i++)
		if (faults[i].when & when)
			survive(models[_i / 2], when, i);
}
END_TEST

/* The fallback outside, each model with an attempt more: of the first one both fail. */
START_TEST(the_other_provider_survives_it)
{
	const char *model = models[_i / 2], *other = models[1 - _i / 2];
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;

	for (size_t i = 0; i < FAULTS; i++) {
		if (!(faults[i].when & when))
			continue;
		model_bench_script(
		    &bench, arena_printf(bench.arena,
				"{'%s':[%s,%s],'%s':[%s,{'content':'whole answer'}]}",
				bare(model), faults[i].reply, faults[i].reply,
				bare(other), faults[i].reply));
		check_answer(
		    play(model, when,
			arena_printf(bench.arena,
			    "{'name':'model_fallback','settings':{'models':['%s']}},"
			    "{'name':'model_retry','settings':{'max_retries':1,"
			    "'initial_delay':0.001,'on_failure':'error'}}",
			    other)),
		    i, when, 3);
	}
}
END_TEST

/* No attempt is left: the fault of the last one, and no message of what had come; who watches is told. */
START_TEST(nothing_of_a_failed_answer_is_left)
{
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;

	for (size_t i = 0; i < FAULTS; i++) {
		const char *reply = faults[i].reply;
		const struct value *body;
		size_t restarts;

		if (!(faults[i].when & when))
			continue;
		model_bench_script(
		    &bench, arena_printf(bench.arena, "{'%s':[%s,%s,%s]}",
				bare(models[_i / 2]), reply, reply, reply));
		body = play(models[_i / 2], when, RETRY);
		ck_assert_msg(value_has(body, "fault"), "fault %zu has none", i);
		ck_assert_uint_eq(value_size(value_get(body, "messages")), 0);
		ck_assert_str_eq(seen(&restarts), "");
		ck_assert_uint_eq(restarts, faults[i].shows ? 3 : 0);
	}
}
END_TEST

/* Nobody asks again before the time: a call behind it is answered meanwhile. */
START_TEST(the_servers_word_on_when_to_come_back_counts)
{
	const char *model = models[_i / 2];
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;
	struct model_call call;

	model_bench_script(
	    &bench, arena_printf(bench.arena,
			"{'%s':[{'http_error':429,'message':'slow','retry_after':'25'},"
			"{'content':'whole answer'},{'content':'too soon'}]}",
			bare(model)));
	model_bench_begin(&bench, &call, when == STREAMED ? WIRE_STREAM : 0,
	    arena_printf(bench.arena,
		"{'model':'%s','middleware':[{'name':'model_retry','settings':{"
		"'initial_delay':0}}]}",
		model),
	    "{}");
	model_bench_await_requests(&bench, 1);
	check_answer(play(model, PLAIN, RETRY), 0, PLAIN, 0);
	fiber_cancel(call.fiber);
	model_bench_end(&bench, &call);
	ck_assert_int_eq(call.result, -1);
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 2);
}
END_TEST

/* Who is told to come back when the call is long over does not wait for that: the other model is asked. */
START_TEST(who_is_told_to_come_back_too_late_goes_elsewhere)
{
	const char *model = models[_i / 2], *other = models[1 - _i / 2];
	unsigned when = _i % 2 == 0 ? PLAIN : STREAMED;

	model_bench_script(
	    &bench, arena_printf(bench.arena,
			"{'%s':[{'http_error':429,'message':'slow','retry_after':'3600'},"
			"{'content':'never'}],'%s':[{'content':'whole answer'}]}",
			bare(model), bare(other)));
	check_answer(play(model, when,
			 arena_printf(bench.arena,
			     "{'name':'model_fallback','settings':{'models':['%s']}},"
			     "{'name':'model_retry','settings':{'on_failure':'error'}}",
			     other)),
	    0, when, 1);
}
END_TEST

/* --- silence --------------------------------------------------------------------------- */

#define SILENCE_MS "1500" /* what others take longer for would not be survived */

static void
setup_hasty(void)
{
	model_bench_start(&bench, (const char *[]){ "--first-byte-timeout-ms", SILENCE_MS,
				      "--idle-timeout-ms", SILENCE_MS, NULL });
}

/* A server that says nothing, and one that falls silent: of a plain answer its own time tells. */
START_TEST(a_server_that_falls_silent_is_asked_again)
{
	const char *model = models[_i / 2];
	bool streamed = _i % 2 == 1;
	const struct value *body;
	size_t restarts;

	model_bench_script(&bench,
	    arena_printf(bench.arena,
		"{'%s':[{'hang':true},{'content':'void void void','piece_bytes':%u,"
		"'piece_delay_ms':60000},{'content':'whole answer'}]}",
		bare(model), streamed ? 700 : 20));
	body = model_bench_call(&bench, streamed ? WIRE_STREAM : 0,
	    arena_printf(bench.arena,
		"{'model':'%s','model_settings':{'timeout':%s},'middleware':[" RETRY "]}",
		model, streamed ? "60" : "1.5"),
	    "{}");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(body, "messages"), 0), "content"),
	    "whole answer");
	ck_assert_uint_eq(value_size(model_bench_requests(&bench)), 3);
	ck_assert_str_eq(seen(&restarts), streamed ? "whole answer" : "");
}
END_TEST

TCase *
tcase_model_silence(void)
{
	TCase *tcase = tcase_create("model_silence");

	tcase_add_checked_fixture(tcase, setup_hasty, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_server_that_falls_silent_is_asked_again, 0, WAYS);
	return tcase;
}

TCase *
tcase_model_faults(void)
{
	TCase *tcase = tcase_create("model_faults");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_failure_is_typed_and_not_tried_again, 0, WAYS);
	tcase_add_loop_test(tcase, retries_survive_it, 0, WAYS);
	tcase_add_loop_test(tcase, the_other_provider_survives_it, 0, WAYS);
	tcase_add_loop_test(tcase, nothing_of_a_failed_answer_is_left, 0, WAYS);
	tcase_add_loop_test(tcase, the_servers_word_on_when_to_come_back_counts, 0, WAYS);
	tcase_add_loop_test(
	    tcase, who_is_told_to_come_back_too_late_goes_elsewhere, 0, WAYS);
	return tcase;
}
