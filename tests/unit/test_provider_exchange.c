#include <check.h>

/* Interface under test */
#include "../../worker-model/provider.h"

#include "fiber.h"
#include "http_trial.h"
#include "literal.h"
#include "../../worker-model/tokens.h"

TCase *tcase_provider_exchange(void);

#define HEAD                                                                             \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"                         \
	"Content-Length: 9999\r\n\r\n"
#define ENDLESS "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define TEXT                                                                             \
	"data: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":"       \
	"{\"content\":\"whole\"}}]}\n\n"
#define STOP                                                                             \
	"data: "                                                                         \
	"{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

static struct tokens tokens;
static const struct value *message;
static struct fault *fault;

static void
publish(void *arg, const char *kind, const struct value *body)
{
	(void)arg, (void)kind, (void)body;
}

static void
setup(void)
{
	http_trial_open();
	tokens = (struct tokens){
		.loop = http_trial.loop, .publish = publish, .about = value_empty_map()
	};
}

static void
teardown(void)
{
	tokens_release(&tokens);
	http_trial_close();
}

static void
answer(void *arg)
{
	const struct endpoint endpoint = { .name = "openai",
		.provider = &provider_openai,
		.url = http_trial.url,
		.http = http_trial.http,
		.idle_timeout_ms = 3600000 };
	const struct ask ask = { .arena = http_trial.arena,
		.model = "m",
		.messages = literal(http_trial.arena, "[{'type':'human','content':'x'}]"),
		.tokens = &tokens,
		.attempt = 1 };

	(void)arg;
	tokens_begin(&tokens, "m");
	message = provider_openai.send(&endpoint, &ask, &fault);
}

static void
ask_streamed(const char *bytes, enum tiny_end end)
{
	http_trial_answer(bytes, end);
	fiber_start(http_trial.loop, "call", answer, NULL);
	http_trial_run();
}

static const struct {
	const char *bytes;
	enum tiny_end end;
} complete[] = {
	{ HEAD TEXT STOP "data: [DONE]\n\n", TINY_HANG }, /* not waited for for an hour */
	{ HEAD TEXT STOP "data: [DONE]\n\n", TINY_CLOSE },
	{ ENDLESS TEXT STOP "data: [DONE]\n\n", TINY_DRIP },
	{ HEAD TEXT STOP, TINY_CLOSE },
};

START_TEST(an_answer_that_is_complete_needs_no_end)
{
	ask_streamed(complete[_i].bytes, complete[_i].end);
	ck_assert_ptr_nonnull(message);
	ck_assert_str_eq(value_get_text(message, "content"), "whole");
}
END_TEST

START_TEST(an_answer_without_its_end_is_cut)
{
	ask_streamed(HEAD TEXT, TINY_CLOSE);
	ck_assert_ptr_null(message);
	ck_assert_str_eq(fault->type, "APIConnectionError");
}
END_TEST

TCase *
tcase_provider_exchange(void)
{
	TCase *tcase = tcase_create("provider_exchange");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, an_answer_that_is_complete_needs_no_end, 0,
	    sizeof complete / sizeof complete[0]);
	tcase_add_test(tcase, an_answer_without_its_end_is_cut);
	return tcase;
}
