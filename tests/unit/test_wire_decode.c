#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "wire.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
refused(const void *data, size_t size, enum wire_code expected)
{
	struct header header = { .call_id = "untouched" };
	enum wire_code code = CODE_OK;
	const char *reason = NULL;

	ck_assert_int_eq(wire_decode(arena, data, size, &header, &code, &reason), -1);
	ck_assert_str_eq(header.call_id, "untouched");
	ck_assert_str_eq(wire_code_name(code), wire_code_name(expected));
	return reason;
}
#define ck_assert_refused(literal, text)                                                 \
	ck_assert_str_eq(refused(literal, sizeof(literal) - 1, CODE_MALFORMED), text)

static void
ck_assert_read(const void *data, size_t size, struct header *header)
{
	enum wire_code code;
	const char *reason = NULL;
	int failed = wire_decode(arena, data, size, header, &code, &reason);

	ck_assert_msg(failed == 0, "%s", reason);
}

#define PING "FL\x01\x03\0\0\0\0"
#define OUT_OF_BOUNDS(name) "field " name " has a wrong type or is out of bounds"

START_TEST(bad_preambles_are_refused)
{
	char *large = calloc(1, HEADER_BYTES_MAX + 1);

	memcpy(large, PING, sizeof PING);
	ck_assert_str_eq(refused(large, HEADER_BYTES_MAX + 1, CODE_TOO_LARGE),
	    "the header is too large");
	free(large);
	ck_assert_refused("", "the header is shorter than its preamble");
	ck_assert_refused("FL\x01\x03\0\0\0", "the header is shorter than its preamble");
	ck_assert_refused("XL\x01\x03\0\0\0\0\x80", "the header does not begin with FL");
	ck_assert_refused("FX\x01\x03\0\0\0\0\x80", "the header does not begin with FL");
	ck_assert_str_eq(refused("FL\x02\x03\0\0\0\0\x80", 9, CODE_VERSION),
	    "a header of another protocol version");
	ck_assert_refused("FL\x01\0\0\0\0\0\x80", "unknown message type");
	ck_assert_refused("FL\x01\xff\0\0\0\0\x80", "unknown message type");
	ck_assert_refused("FL\x01\x03\0\x01\0\0\x80", "reserved bytes are not zero");
	ck_assert_refused("FL\x01\x03\0\0\0\x01\x80", "reserved bytes are not zero");
}
END_TEST

START_TEST(what_is_no_map_of_small_integers_is_refused)
{
	ck_assert_refused(PING, "cut short");
	ck_assert_refused(PING "\x90", "the header is not a map");
	ck_assert_refused(PING "\xc1", "a msgpack type we do not use");
	ck_assert_refused(PING "\x80\x80", "bytes behind the end");
	ck_assert_refused(PING "\x81\x03", "a count is larger than what follows");
	ck_assert_refused(
	    PING "\xdf\xff\xff\xff\xff", "a count is larger than what follows");
	ck_assert_refused(PING "\x81\xa1"
			       "a\x01",
	    "a key is not a small integer");
	ck_assert_refused(PING "\x81\xff\x01", "a key is not a small integer");
	ck_assert_refused(PING "\x82\x03\x01\x03\x01", "a key is there twice");
	ck_assert_refused(PING "\x82\x3f\x01\x3f\x01", "a key is there twice");
}
END_TEST

START_TEST(unknown_keys_are_skipped)
{
	struct header header = { 0 };
	/* 40: a map in an array; 200 twice, ours between them. */
	static const char bytes[] = PING "\x84\x28\x92\x01\x81\xa1"
					 "a\x90\xcc\xc8\xc0\x03\x07\xcc\xc8\x01";

	ck_assert_read(bytes, sizeof bytes - 1, &header);
	ck_assert_uint_eq(header.step, 7);
	ck_assert_refused(PING "\x81\x28\x91\x91\x91\x91\x91\x01", "nested too deep");
}
END_TEST

START_TEST(numbers_out_of_bounds_are_refused)
{
	struct header header = { 0 };

	ck_assert_refused(PING "\x81\x03\xff", OUT_OF_BOUNDS("step"));
	ck_assert_refused(PING "\x81\x03\xa1"
			       "1",
	    OUT_OF_BOUNDS("step"));
	ck_assert_refused(PING "\x81\x03\xcf\x80\0\0\0\0\0\0\0", OUT_OF_BOUNDS("step"));
	ck_assert_refused(PING "\x81\x03\xca\x3f\x80\0\0", OUT_OF_BOUNDS("step"));
	ck_assert_refused(PING "\x81\x08\x05", OUT_OF_BOUNDS("priority"));
	ck_assert_refused(PING "\x81\x13\x04", OUT_OF_BOUNDS("role"));
	ck_assert_refused(PING "\x81\x0b\xce\0\x01\x86\xa1", OUT_OF_BOUNDS("credit"));
	ck_assert_read(PING "\x81\x0b\xce\0\x01\x86\xa0", 8 + 7, &header);
	ck_assert_uint_eq(header.credit, CREDIT_MAX);
}
END_TEST

/* Our encoder cuts reasons: write a long one by hand. */
static const char *
refused_reason(size_t size)
{
	static const char head[] = { 'F', 'L', 1, MSG_PING, 0, 0, 0, 0, '\x81', 15,
		'\xda' };
	char *bytes = arena_alloc(arena, 13 + size);

	memcpy(bytes, head, sizeof head);
	bytes[11] = (char)(size >> 8);
	bytes[12] = (char)size;
	memset(bytes + 13, 'x', size);
	return refused(bytes, 13 + size, CODE_MALFORMED);
}

START_TEST(texts_out_of_bounds_are_refused)
{
	struct packet packet = { 0 };
	struct header header = { .type = MSG_PING };

	header.call_id = arena_printf(arena, "%0*d", (int)ID_BYTES_MAX + 1, 7);
	wire_encode(&packet, &header);
	ck_assert_str_eq(
	    refused(packet.data, packet.size, CODE_MALFORMED), OUT_OF_BOUNDS("call_id"));
	packet_release(&packet);
	ck_assert_refused(PING "\x81\x01\xa0", OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x01\xa3"
			       "a b",
	    OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x01\xa2\xc3\xa9", OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x01\xa2"
			       "a\0",
	    OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x01\x07", OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x01\xc4\x01"
			       "a",
	    OUT_OF_BOUNDS("call_id"));
	ck_assert_refused(PING "\x81\x0f\xa1\xff", OUT_OF_BOUNDS("reason"));
	ck_assert_str_eq(refused_reason(REASON_BYTES_MAX + 1), OUT_OF_BOUNDS("reason"));
	ck_assert_refused(PING "\x81\x11\xa2"
			       "ab",
	    OUT_OF_BOUNDS("session"));
	ck_assert_refused(PING "\x81\x11\xd9\x20"
			       "0123456789abcdef0123456789abcdeF",
	    OUT_OF_BOUNDS("session"));
	ck_assert_refused(PING "\x81\x01\xdb\xff\xff\xff\xff", "cut short");
}
END_TEST

START_TEST(bad_lists_are_refused)
{
	static const char extended[] = PING "\x81\x1b\x91\x93\xa1"
					    "s\x05\x91\x01";
	static const char with_epoch[] = PING "\x81\x1c\x91\x94\xa1"
					      "c\x02\x09\x80";
	static const char service[] = { '\x92', '\xa1', 's', '\x01' };
	char many[8 + 5 + (SERVICES_MAX + 1) * 4] = PING "\x81\x1b\xdc";
	struct header header = { 0 };
	size_t i;

	ck_assert_refused(PING "\x81\x1b\x01", OUT_OF_BOUNDS("services"));
	ck_assert_refused(PING "\x81\x1b\x91\x01", OUT_OF_BOUNDS("services"));
	ck_assert_refused(PING "\x81\x1b\x91\x91\xa1"
			       "s",
	    OUT_OF_BOUNDS("services"));
	ck_assert_refused(PING "\x81\x1b\x91\x92\x01\x01", OUT_OF_BOUNDS("service"));
	ck_assert_refused(PING "\x81\x1b\x91\x92\xa1"
			       "s\xff",
	    OUT_OF_BOUNDS("services"));
	ck_assert_refused(
	    PING "\x81\x1b\xdd\x7f\xff\xff\xff", "a count is larger than what follows");
	ck_assert_refused(PING "\x81\x1c\x91\x92\xa1"
			       "c\x04",
	    OUT_OF_BOUNDS("calls"));
	ck_assert_refused(PING "\x81\x1c\x91\x92\xa1"
			       "c\x00",
	    OUT_OF_BOUNDS("calls"));
	/* The third is an epoch, and what stands behind that belongs to a later version. */
	ck_assert_refused(PING "\x81\x1c\x91\x93\xa1"
			       "c\x02\xa1x",
	    OUT_OF_BOUNDS("epoch"));
	ck_assert_read(with_epoch, sizeof with_epoch - 1, &header);
	ck_assert_uint_eq(header.call_count, 1);
	ck_assert_uint_eq(header.calls[0].state, CALL_FINISHED);
	ck_assert_uint_eq(header.calls[0].epoch, 9);
	/* Items behind the pair belong to a later version. */
	ck_assert_read(extended, sizeof extended - 1, &header);
	ck_assert_uint_eq(header.service_count, 1);
	ck_assert_uint_eq(header.services[0].credit, 5);
	many[11] = (char)((SERVICES_MAX + 1) >> 8);
	many[12] = (char)((SERVICES_MAX + 1) & 0xff);
	for (i = 13; i + 4 <= sizeof many; i += 4)
		memcpy(many + i, service, sizeof service);
	ck_assert_str_eq(
	    refused(many, sizeof many, CODE_MALFORMED), OUT_OF_BOUNDS("services"));
}
END_TEST

TCase *tcase_wire_decode(void);
TCase *
tcase_wire_decode(void)
{
	TCase *tcase = tcase_create("wire_decode");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, bad_preambles_are_refused);
	tcase_add_test(tcase, what_is_no_map_of_small_integers_is_refused);
	tcase_add_test(tcase, unknown_keys_are_skipped);
	tcase_add_test(tcase, numbers_out_of_bounds_are_refused);
	tcase_add_test(tcase, texts_out_of_bounds_are_refused);
	tcase_add_test(tcase, bad_lists_are_refused);
	return tcase;
}
