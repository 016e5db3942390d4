#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "sse.h"

#include "bounds.h"

static char seen[512]; /* "event=data;" of all events */

static int
note(void *arg, const char *event, const char *data, size_t size)
{
	size_t used = strlen(seen);

	(void)arg;
	ck_assert_uint_eq(strlen(data), size);
	snprintf(seen + used, sizeof seen - used, "%s=%s;", event, data);
	return strcmp(data, "stop") == 0 ? -1 : 0;
}

static const struct {
	const char *stream, *events;
} rows[] = {
	{ "data: one\n\n", "message=one;" },
	{ "data: one\r\n\r\ndata: two\r\n\r\n", "message=one;message=two;" },
	{ "data: one\r\rdata: two\r\r", "message=one;message=two;" },
	{ "data: a\ndata: b\rdata: c\r\n\n", "message=a\nb\nc;" },
	{ "data:no blank\n\ndata:  two blanks\n\n",
	    "message=no blank;message= two blanks;" },
	{ "\xef\xbb\xbf"
	  "data: behind a BOM\n\n",
	    "message=behind a BOM;" },
	{ "\xef\xbb\xbf: comment\ndata: x\n\n", "message=x;" },
	{ "data: \xef\xbb\xbfx\n\n", "message=\xef\xbb\xbfx;" },
	{ ": keep-alive\n\n: again\n\ndata: x\n\n", "message=x;" },
	{ "event: error\ndata: x\n\ndata: y\n\n", "error=x;message=y;" },
	{ "event: lost\n\ndata: y\n\n", "message=y;" },
	{ "event: first\nevent: last\ndata: x\n\n", "last=x;" },
	{ "id: 7\nretry: 10\nother: z\ndata: x\n\n", "message=x;" },
	{ "data\n\n", "message=;" },
	{ "data:\ndata:\n\n", "message=\n;" },
	{ "\n\n\r\r\r\n\r\n", "" },
	{ "data: one\n\ndata: never ended", "message=one;message=never ended;" },
	{ "data: one\n\ndata: never ended\n", "message=one;message=never ended;" },
	{ "data: one\n\ndata: never ended\r", "message=one;message=never ended;" },
	{ "data: 帮我\n\ndata: é\n\n", "message=帮我;message=é;" },
	{ "data: [DONE]\n\n", "message=[DONE];" },
	{ "database: x\n\ndat: y\n\n", "" },
	{ "", "" },
};

/* Feeds size bytes in pieces of so many bytes, each a copy of its own size. */
static int
feed_in_pieces(struct sse *sse, const char *data, size_t size, size_t piece)
{
	int result = 0;

	while (size > 0 && result == 0) {
		size_t now = size < piece ? size : piece;
		char *copy = malloc(now);

		memcpy(copy, data, now);
		result = sse_feed(sse, copy, now);
		free(copy);
		data += now;
		size -= now;
	}
	return result;
}

START_TEST(events_are_the_same_in_whatever_pieces_they_come)
{
	const char *stream = rows[_i].stream;

	for (size_t piece = 1; piece <= strlen(stream) + 1; piece++) {
		struct sse sse;

		seen[0] = '\0';
		sse_init(&sse, note, NULL);
		ck_assert_int_eq(feed_in_pieces(&sse, stream, strlen(stream), piece), 0);
		ck_assert_int_eq(sse_end(&sse), 0);
		ck_assert_str_eq(seen, rows[_i].events);
		sse_release(&sse);
	}
}
END_TEST

START_TEST(an_event_waits_for_the_blank_line_behind_it)
{
	struct sse sse;

	seen[0] = '\0';
	sse_init(&sse, note, NULL);
	ck_assert_int_eq(sse_feed(&sse, "data: x\n", 8), 0);
	ck_assert_str_eq(seen, "");
	ck_assert_int_eq(sse_feed(&sse, "\n", 1), 0);
	ck_assert_str_eq(seen, "message=x;");
	sse_release(&sse);
}
END_TEST

START_TEST(a_receiver_that_says_stop_gets_no_more)
{
	const char stream[] = "data: a\n\ndata: stop\n\ndata: b\n\n";
	struct sse sse;

	seen[0] = '\0';
	sse_init(&sse, note, NULL);
	ck_assert_int_eq(sse_feed(&sse, stream, strlen(stream)), -1);
	ck_assert_str_eq(seen, "message=a;message=stop;");
	ck_assert(!sse.too_large);
	sse_release(&sse);
}
END_TEST

static int
count(void *arg, const char *event, const char *data, size_t size)
{
	(void)event;
	(void)data;
	*(size_t *)arg += size;
	return 0;
}

/* Feeds line again and again until size bytes are in, or it fails. */
static int
feed_repeatedly(struct sse *sse, const char *line, size_t size)
{
	for (size_t fed = 0; fed < size; fed += strlen(line))
		if (sse_feed(sse, line, strlen(line)) == -1)
			return -1;
	return 0;
}

static const char *const endless[] = {
	"data: a line of an event that never ends, one of many\n",
	"a line that never ends ",
	": a comment that never ends ",
};

START_TEST(what_never_ends_is_refused_at_the_limit)
{
	struct sse sse;
	size_t size = 0;

	sse_init(&sse, count, &size);
	ck_assert_int_eq(feed_repeatedly(&sse, endless[_i], SSE_EVENT_BYTES_MAX / 2), 0);
	ck_assert_int_eq(feed_repeatedly(&sse, endless[_i], SSE_EVENT_BYTES_MAX), -1);
	ck_assert(sse.too_large);
	ck_assert_uint_le(sse.line.size + sse.data.size, SSE_EVENT_BYTES_MAX);
	sse_release(&sse);
}
END_TEST

/* A name that leaves no room for the first byte of data. */
START_TEST(the_end_behind_what_was_refused_is_refused_too)
{
	size_t size = 0, bytes = SSE_EVENT_BYTES_MAX - 64;
	char *line = malloc(bytes), data[128];
	struct sse sse;

	memset(line, 'n', bytes);
	memcpy(line, "event:", strlen("event:"));
	memset(data, 'd', sizeof data);
	memcpy(data, "data:", strlen("data:"));
	line[bytes - 1] = data[sizeof data - 1] = '\n';
	sse_init(&sse, count, &size);
	ck_assert_int_eq(sse_feed(&sse, line, bytes), 0);
	ck_assert_int_eq(sse_feed(&sse, data, sizeof data), -1);
	ck_assert(sse.too_large);
	ck_assert_int_eq(sse_end(&sse), -1);
	ck_assert_uint_eq(size, 0);
	sse_release(&sse);
	free(line);
}
END_TEST

START_TEST(a_stream_may_be_longer_than_an_event)
{
	struct sse sse;
	size_t size = 0;

	sse_init(&sse, count, &size);
	ck_assert_int_eq(feed_repeatedly(&sse, "data: 12345678\n\n: ping\n\n",
			     (size_t)4 * SSE_EVENT_BYTES_MAX),
	    0);
	ck_assert_uint_gt(size, SSE_EVENT_BYTES_MAX);
	sse_release(&sse);
}
END_TEST

TCase *tcase_sse(void);

TCase *
tcase_sse(void)
{
	TCase *tcase = tcase_create("sse");

	tcase_add_loop_test(tcase, events_are_the_same_in_whatever_pieces_they_come, 0,
	    sizeof rows / sizeof rows[0]);
	tcase_add_test(tcase, an_event_waits_for_the_blank_line_behind_it);
	tcase_add_test(tcase, a_receiver_that_says_stop_gets_no_more);
	tcase_add_test(tcase, the_end_behind_what_was_refused_is_refused_too);
	tcase_add_loop_test(tcase, what_never_ends_is_refused_at_the_limit, 0,
	    sizeof endless / sizeof endless[0]);
	tcase_add_test(tcase, a_stream_may_be_longer_than_an_event);
	return tcase;
}
