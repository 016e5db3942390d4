#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/bedrock_frames.h"

#include "arena.h"
#include "bounds.h"
#include "scripted_frames.h"

static struct bedrock_frames frames;
static struct packet stream, seen;
static int answer; /* of on_frame */

static void
setup(void)
{
	answer = 0;
	frames = (struct bedrock_frames){ 0 };
}

static void
teardown(void)
{
	bedrock_frames_release(&frames);
	packet_release(&stream);
	packet_release(&seen);
}

static int
note(void *arg, const struct bedrock_frame *frame)
{
	struct packet *packet = arg;

	packet_append(packet, frame->kind, strlen(frame->kind));
	packet_append(packet, "/", 1);
	packet_append(packet, frame->name, strlen(frame->name));
	packet_append(packet, "/", 1);
	packet_append(packet, frame->reason, strlen(frame->reason));
	packet_append(packet, "/", 1);
	packet_append(packet, frame->payload, frame->payload_size);
	packet_append(packet, "|", 1);
	return answer;
}

/* Feeds a copy, so that a read behind its end is seen. */
static int
feed(const char *data, size_t size)
{
	char *copy = malloc(size + 1);
	int result;

	memcpy(copy, data, size);
	copy = realloc(copy, size > 0 ? size : 1);
	result = bedrock_frames_feed(&frames, copy, size, note, &seen);
	free(copy);
	return result;
}

static void
begin_anew(void)
{
	bedrock_frames_release(&frames);
	frames = (struct bedrock_frames){ 0 };
	seen.size = 0;
}

static void
check_seen(const char *text)
{
	ck_assert_uint_eq(seen.size, strlen(text));
	if (seen.size > 0)
		ck_assert_mem_eq(seen.data, text, seen.size);
}

/* Of the tests of AWS's own decoders. */
#define EMPTY "\0\0\0\x10\0\0\0\0\x05\xc2\x48\xeb\x7d\x98\xc8\xff"
#define BARE "\0\0\0\x1d\0\0\0\0\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36"
#define HEADER                                                                           \
	"\0\0\0=\0\0\0 \x07\xfd\x83\x96\x0c"                                             \
	"content-type\x07\0\x10"                                                         \
	"application/json{'foo':'bar'}\x8d\x9c\x08\xb1"

START_TEST(frames_of_aws_are_read)
{
	ck_assert_int_eq(feed(EMPTY BARE HEADER, sizeof(EMPTY BARE HEADER) - 1), 0);
	check_seen("///|///{'foo':'bar'}|///{'foo':'bar'}|");
}
END_TEST

#define ALL                                                                              \
	"event/messageStart//{\"role\":\"assistant\"}|"                                  \
	"exception/throttlingException//{\"message\":\"slow\"}|"                         \
	"error/InternalError/it broke/|event/metadata//x|"

static void
make_stream(void)
{
	scripted_frame(&stream, "event", "messageStart", "{\"role\":\"assistant\"}");
	scripted_frame(
	    &stream, "exception", "throttlingException", "{\"message\":\"slow\"}");
	scripted_frame_with(&stream,
	    (const char *const[][2]){ { ":message-type", "error" },
		{ ":error-code", "InternalError" }, { ":error-message", "it broke" },
		{ NULL, NULL } },
	    "", 0);
	/* a header of every type, some with our names */
	scripted_frame_with(&stream,
	    (const char *const[][2]){ { "a", "\1"
					     "00" },
		{ "b", "\1"
		       "01" },
		{ ":error-message", "\1"
				    "0207" },
		{ "d", "\1"
		       "030001" },
		{ "e", "\1"
		       "0400000001" },
		{ "f", "\1"
		       "050000000000000001" },
		{ ":message-type", "\1"
				   "060003616263" },
		{ "g", "\1"
		       "080000000000000001" },
		{ "h", "\1"
		       "0900112233445566778899aabbccddeeff" },
		{ "", "" }, { ":message-type", "event" }, { ":event-type", "metadata" },
		{ NULL, NULL } },
	    "x", 1);
}

START_TEST(a_stream_may_be_cut_anywhere)
{
	make_stream();
	for (size_t at = 0; at <= stream.size; at++) {
		begin_anew();
		ck_assert_int_eq(feed(stream.data, at), 0);
		ck_assert_int_eq(feed(stream.data + at, stream.size - at), 0);
		check_seen(ALL);
	}
	for (size_t piece = 1; piece < 20; piece++) {
		begin_anew();
		for (size_t at = 0; at < stream.size; at += piece)
			ck_assert_int_eq(
			    feed(stream.data + at,
				at + piece < stream.size ? piece : stream.size - at),
			    0);
		check_seen(ALL);
	}
}
END_TEST

START_TEST(no_bit_may_be_another)
{
	scripted_frame(&stream, "event", "messageStop", "{}");
	for (size_t bit = 0; bit < 8 * stream.size; bit++) {
		begin_anew();
		stream.data[bit / 8] ^= (char)(1 << bit % 8);
		ck_assert_int_eq(feed(stream.data, stream.size), -1);
		ck_assert_ptr_nonnull(frames.error);
		check_seen("");
		stream.data[bit / 8] ^= (char)(1 << bit % 8);
	}
}
END_TEST

START_TEST(a_beginning_gives_nothing)
{
	scripted_frame(&stream, "event", "messageStop", "{}");
	ck_assert_int_eq(feed(stream.data, stream.size - 1), 0);
	check_seen("");
}
END_TEST

/* Lengths that do not fit each other, with the right CRC; and headers that do not end. */
static const struct {
	const char *bytes;
	size_t size;
	const char *error;
} bad[] = {
	{ "HTTP/1.1 200 OK", 15, "it is no stream of events" },
	{ "\0\0\0\x0f\0\0\0\0\xe7\x72\x48\xb8", 12, "a frame's lengths do not fit" },
	{ "\0\0\0\x10\0\0\0\x01\x72\xc5\x78\x7d", 12, "a frame's lengths do not fit" },
	{ "\0\0\0\x10\xff\xff\xff\xff\xdb\x79\x68\x08", 12,
	    "a frame's lengths do not fit" },
	{ "\0\x80\0\x01\0\0\0\0\xd0\x54\x1c\x2b", 12,
	    "a frame of the stream is too large" },
	{ "\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff", 12,
	    "a frame of the stream is too large" },
};

START_TEST(what_is_no_frame_is_refused)
{
	ck_assert_int_eq(feed(bad[_i].bytes, bad[_i].size), -1);
	ck_assert_str_eq(frames.error, bad[_i].error);
	check_seen("");
}
END_TEST

static const char *const malformed[] = {
	"\1"
	"07", /* no length */
	"\1"
	"070005616263", /* shorter than it says */
	"\1"
	"0900", /* half a UUID */
	"\1"
	"0a", /* a type of tomorrow: how long? */
	"\1", /* no type */
};

START_TEST(headers_end_in_their_frame)
{
	scripted_frame_with(&stream,
	    (const char *const[][2]){ { "name", malformed[_i] }, { NULL, NULL } }, "abc",
	    3);
	ck_assert_int_eq(feed(stream.data, stream.size), -1);
	ck_assert_str_eq(frames.error, "a frame's headers are malformed");
}
END_TEST

START_TEST(a_long_name_is_cut)
{
	char name[1001];

	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	scripted_frame(&stream, "event", name, "");
	ck_assert_int_eq(feed(stream.data, stream.size), 0);
	ck_assert_uint_eq(seen.size, strlen("event//") + FRAME_TEXT_BYTES - 1 + 2);
}
END_TEST

START_TEST(who_reads_may_stop)
{
	make_stream();
	answer = -1;
	ck_assert_int_eq(feed(stream.data, stream.size), -1);
	ck_assert_ptr_null(frames.error);
	check_seen("event/messageStart//{\"role\":\"assistant\"}|");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_bedrock_frames(void);

TCase *
tcase_bedrock_frames(void)
{
	TCase *tcase = tcase_create("bedrock_frames");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, frames_of_aws_are_read);
	tcase_add_test(tcase, a_stream_may_be_cut_anywhere);
	tcase_add_test(tcase, no_bit_may_be_another);
	tcase_add_test(tcase, a_beginning_gives_nothing);
	tcase_add_loop_test(tcase, what_is_no_frame_is_refused, 0, COUNT(bad));
	tcase_add_loop_test(tcase, headers_end_in_their_frame, 0, COUNT(malformed));
	tcase_add_test(tcase, a_long_name_is_cut);
	tcase_add_test(tcase, who_reads_may_stop);
	return tcase;
}
