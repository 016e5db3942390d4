#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/provider.h"

#include "fiber.h"
#include "http_trial.h"
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
static bool streams;
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

static const struct value *
messages_of(const char *text)
{
	struct arena *arena = http_trial.arena;
	struct value_list list = { .arena = arena };

	value_list_add(&list, value_map(arena, "type", value_str(arena, "human"),
				  "content", value_str(arena, text), NULL));
	return value_list_end(&list);
}

/* arg: what is said. */
static void
answer(void *arg)
{
	const struct endpoint endpoint = { .name = "openai",
		.provider = &provider_openai,
		.url = http_trial.url,
		.http = http_trial.http,
		.idle_timeout_ms = 3600000 };
	const struct ask ask = { .arena = http_trial.arena,
		.provider = "openai",
		.model = "m",
		.messages = messages_of(arg),
		.tokens = streams ? &tokens : NULL,
		.attempt = 1 };

	if (streams)
		tokens_begin(&tokens, "m");
	message = provider_openai.send(&endpoint, &ask, &fault);
}

static char *
text_of(char letter, size_t size)
{
	char *text = arena_alloc(http_trial.arena, size + 1);

	memset(text, letter, size);
	text[size] = '\0';
	return text;
}

static void
ask_streamed(const char *bytes, enum tiny_end end)
{
	http_trial_answer(bytes, end);
	streams = true;
	fiber_start(http_trial.loop, "call", answer, text_of('x', 1));
	http_trial_run();
}

static void
ask_plain(const char *bytes, enum tiny_end end)
{
	http_trial_answer(bytes, end);
	streams = false;
	fiber_start(http_trial.loop, "call", answer, text_of('x', 1));
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

/* What bodies are written into is used again and again: short ones, long ones, and ones that are so long that their
 * room is not kept, several at a time. */
static const size_t sizes[] = { 10, 70000, 300000, 20, 66000, 5000000, 0, 65000, 400000,
	1 };
#define SIZES (sizeof sizes / sizeof sizes[0])

static void
check_request(unsigned index, bool seen[SIZES])
{
	char *request = tiny_http_request(http_trial.server, index), *said;
	size_t i;

	ck_assert_ptr_nonnull(request);
	said = strstr(request, "\"content\":\"");
	ck_assert_ptr_nonnull(said);
	said += strlen("\"content\":\"");
	i = *said == '"' ? 6 : (size_t)(*said - 'a');
	ck_assert_uint_lt(i, SIZES);
	ck_assert_msg(!seen[i], "twice: %zu bytes", sizes[i]);
	seen[i] = true;
	ck_assert_uint_eq(strspn(said, (char[]){ (char)('a' + i), '\0' }), sizes[i]);
	ck_assert_int_eq(said[sizes[i]], '"');
	free(request);
}

START_TEST(each_body_is_its_own)
{
	bool seen[SIZES] = { false };
	size_t i;

	http_trial_answer(complete[1].bytes, complete[1].end);
	for (i = 0; i < SIZES; i++) {
		fiber_start(
		    http_trial.loop, "call", answer, text_of((char)('a' + i), sizes[i]));
		if (i % 3 == 2)
			http_trial_run();
	}
	http_trial_run();
	for (i = 0; i < SIZES; i++)
		check_request((unsigned)i, seen);
}
END_TEST

/* The connection is told to end: a request sent on one that is ending is another fault. */
#define HTML                                                                             \
	"Connection: close\r\nContent-Type: text/html; "                                 \
	"charset=utf-8\r\nContent-Length: 13\r\n\r\n"

static const struct {
	const char *bytes, *type, *message; /* contains */
} others[] = {
	{ "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: "
	  "http://there.example/v1\r\n"
	  "Content-Length: 0\r\n\r\n",
	    "APIStatusError",
	    "status 302: redirects are not followed; let the provider's "
	    "URL lead where this one does: http://there.example/v1" },
	{ "HTTP/1.1 200 OK\r\n" HTML "<html>Sign in", "APIResponseError",
	    "it is a web page (text/html); does the provider's URL lead to its API?" },
	{ "HTTP/1.1 404 Not Found\r\n" HTML "<html>Nothing", "NotFoundError",
	    "status 404: <html>Nothing" },
	/* of which the end is missing */
	{ "HTTP/1.1 401 No\r\nContent-Length: 99\r\n\r\n{\"error\":",
	    "AuthenticationError", "status 401: no reason given" },
	{ "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "RateLimitError", "status 429: no reason given" },
	{ "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: "
	  "999999999\r\n\r\n<html>",
	    "InternalServerError", "status 503: more than can be read" },
};

START_TEST(what_is_no_answer_is_called_what_it_is)
{
	for (int streamed = 0; streamed < 2; streamed++) {
		fault = NULL;
		(streamed ? ask_streamed : ask_plain)(others[_i].bytes, TINY_CLOSE);
		ck_assert_ptr_null(message);
		ck_assert_str_eq(fault->type, others[_i].type);
		ck_assert_msg(strstr(fault->message, others[_i].message) != NULL, "%s",
		    fault->message);
		if (strcmp(fault->type, "RateLimitError") == 0)
			ck_assert_int_eq(fault->retry_after_ms, 7000);
	}
}
END_TEST

/* Some servers call JSON so. */
START_TEST(an_answer_that_calls_itself_a_page_is_read)
{
	ask_plain("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
		  "{\"choices\":[{\"message\":{\"content\":\"whole\"}}]}",
	    TINY_CLOSE);
	ck_assert_ptr_nonnull(message);
	ck_assert_str_eq(value_get_text(message, "content"), "whole");
}
END_TEST

TCase *
tcase_provider_exchange(void)
{
	TCase *tcase = tcase_create("provider_exchange");

	tcase_set_timeout(tcase, 20);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, what_is_no_answer_is_called_what_it_is, 0,
	    (int)(sizeof others / sizeof *others));
	tcase_add_test(tcase, an_answer_that_calls_itself_a_page_is_read);
	tcase_add_loop_test(tcase, an_answer_that_is_complete_needs_no_end, 0,
	    sizeof complete / sizeof complete[0]);
	tcase_add_test(tcase, an_answer_without_its_end_is_cut);
	tcase_add_test(tcase, each_body_is_its_own);
	return tcase;
}
