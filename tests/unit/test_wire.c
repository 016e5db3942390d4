#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interface under test */
#include "wire.h"

#define SESSION "0123456789abcdef0123456789abcdef"

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

/* --- round trips -------------------------------------------------------------------- */

enum kind { UINT, ID, TEXT, SESSION_ID, SERVICES, CALLS };
#define KIND_UINT UINT
#define KIND_ID ID
#define KIND_TEXT TEXT
#define KIND_SESSION SESSION_ID
#define KIND_SERVICES SERVICES
#define KIND_CALLS CALLS

static const struct field {
	const char *name;
	size_t offset;
	uint64_t max;
	enum kind kind;
} fields[] = {
#define FIELD(key, member, kind, max, text)                                              \
	{ #member, offsetof(struct header, member), max, KIND_##kind },
#include "fields.def"
#undef FIELD
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* Returns text of size printable bytes. */
static char *
filler(size_t size)
{
	char *text = arena_alloc(arena, size + 1);
	size_t i;

	for (i = 0; i < size; i++)
		text[i] = (char)('!' + (char)(i % 90));
	return text;
}

static void
set_services(struct header *header, size_t count)
{
	struct wire_service *services = arena_alloc(arena, count * sizeof *services);
	size_t i;

	for (i = 0; i < count; i++) {
		services[i].name = filler(SERVICE_BYTES_MAX);
		services[i].credit = (uint32_t)(CREDIT_MAX - i);
	}
	header->services = services;
	header->service_count = count;
}

static void
set_calls(struct header *header, size_t count)
{
	struct wire_call *calls = arena_alloc(arena, count * sizeof *calls);
	size_t i;

	for (i = 0; i < count; i++) {
		calls[i].call_id = filler(ID_BYTES_MAX);
		calls[i].state = (enum wire_call_state)(CALL_RUNNING + i % 3);
	}
	header->calls = calls;
	header->call_count = count;
}

/* Sets field to the largest it may be. */
static void
set_to_max(struct header *header, const struct field *field)
{
	char *at = (char *)header + field->offset;

	switch (field->kind) {
	case UINT:
		*(uint64_t *)(void *)at = field->max;
		break;
	case ID:
	case TEXT:
		*(const char **)(void *)at = filler(field->max);
		break;
	case SESSION_ID:
		*(const char **)(void *)at = SESSION;
		break;
	case SERVICES:
		set_services(header, field->max);
		break;
	case CALLS:
		set_calls(header, field->max);
		break;
	}
}

static void
assert_same_field(
    const struct header *a, const struct header *b, const struct field *field)
{
	const char *at_a = (const char *)a + field->offset;
	const char *at_b = (const char *)b + field->offset;
	const char *text_a, *text_b;

	if (field->kind == UINT) {
		ck_assert_msg(*(const uint64_t *)(const void *)at_a ==
				  *(const uint64_t *)(const void *)at_b,
		    "%s", field->name);
	} else if (field->kind != SERVICES && field->kind != CALLS) {
		text_a = *(const char *const *)(const void *)at_a;
		text_b = *(const char *const *)(const void *)at_b;
		ck_assert_pstr_eq(text_a, text_b);
	}
}

static void
assert_same(const struct header *a, const struct header *b)
{
	size_t i;

	ck_assert_uint_eq(a->type, b->type);
	ck_assert_uint_eq(a->flags, b->flags);
	for (i = 0; i < FIELDS; i++)
		assert_same_field(a, b, &fields[i]);
	ck_assert_uint_eq(a->service_count, b->service_count);
	for (i = 0; i < a->service_count; i++) {
		ck_assert_str_eq(a->services[i].name, b->services[i].name);
		ck_assert_uint_eq(a->services[i].credit, b->services[i].credit);
	}
	ck_assert_uint_eq(a->call_count, b->call_count);
	for (i = 0; i < a->call_count; i++) {
		ck_assert_str_eq(a->calls[i].call_id, b->calls[i].call_id);
		ck_assert_uint_eq(a->calls[i].state, b->calls[i].state);
	}
}

static struct header
through_wire(const struct header *header)
{
	struct packet packet = { 0 };
	struct header back = { 0 };
	enum wire_code code = CODE_OK;
	const char *reason = NULL;
	int failed;

	wire_encode(&packet, header);
	failed = wire_decode(arena, packet.data, packet.size, &back, &code, &reason);
	packet_release(&packet);
	ck_assert_msg(failed == 0, "%s", reason);
	return back;
}

START_TEST(every_field_survives_the_wire_at_its_largest)
{
	struct header header = { .type = MSG_PING, .flags = WIRE_STREAM | WIRE_RESEND };
	struct header back;

	set_to_max(&header, &fields[_i]);
	back = through_wire(&header);
	assert_same(&header, &back);
}
END_TEST

START_TEST(the_fullest_hello_and_announce_fit)
{
	struct header header = { .type = MSG_HELLO };
	struct header back;
	size_t i;

	for (i = 0; i < FIELDS; i++)
		if (fields[i].kind != CALLS)
			set_to_max(&header, &fields[i]);
	back = through_wire(&header);
	assert_same(&header, &back);
	header.services = NULL;
	header.service_count = 0;
	set_calls(&header, ANNOUNCED_CALLS_MAX);
	back = through_wire(&header);
	assert_same(&header, &back);
}
END_TEST

START_TEST(absent_fields_are_zero)
{
	struct header header = { .type = MSG_DRAIN };
	struct header back = through_wire(&header);

	assert_same(&header, &back);
}
END_TEST

START_TEST(reasons_too_long_or_not_utf8_are_cut)
{
	static const unsigned char euro[] = { 0xe2, 0x82, 0xac };
	struct header header = { .type = MSG_ERROR, .code = CODE_DENIED };
	char *reason = filler(REASON_BYTES_MAX + 100);
	struct header back;

	memcpy(reason + REASON_BYTES_MAX - 1, euro, sizeof euro);
	header.reason = reason;
	back = through_wire(&header);
	ck_assert_uint_eq(strlen(back.reason), REASON_BYTES_MAX - 1);
	header.reason = "bad \xff byte";
	back = through_wire(&header);
	ck_assert_str_eq(back.reason, "bad ");
}
END_TEST

/* --- refusals ----------------------------------------------------------------------- */

static const char *
refused(const void *data, size_t size)
{
	struct header header = { .call_id = "untouched" };
	enum wire_code code = CODE_OK;
	const char *reason = NULL;

	ck_assert_int_eq(wire_decode(arena, data, size, &header, &code, &reason), -1);
	ck_assert_str_eq(header.call_id, "untouched");
	ck_assert_str_eq(wire_code_name(code), "MALFORMED");
	return reason;
}
static const struct {
	enum message_type type;
	const char *field, *refusal;
} requirements[] = {
#define REQUIRES(name, member) { MSG_##name, #member, #name " needs the field " #member },
#include "requires.def"
#undef REQUIRES
};
#define REQUIREMENTS (sizeof requirements / sizeof requirements[0])

/* Returns a header of type with every field but the one named. */
static struct header
all_but(enum message_type type, const char *absent)
{
	struct header header = { .type = type };
	size_t i;

	for (i = 0; i < FIELDS; i++)
		if (strcmp(fields[i].name, absent) != 0 && fields[i].kind != SERVICES)
			set_to_max(&header, &fields[i]);
	return header;
}

START_TEST(a_message_without_what_it_needs_is_refused)
{
	struct header header = all_but(requirements[_i].type, requirements[_i].field);
	struct packet packet = { 0 };

	wire_encode(&packet, &header);
	ck_assert_str_eq(refused(packet.data, packet.size), requirements[_i].refusal);
	packet_release(&packet);
	header = all_but(requirements[_i].type, "none");
	through_wire(&header);
}
END_TEST

START_TEST(whatever_is_cut_off_is_noticed)
{
	struct header header = all_but(MSG_CALL, "none");
	struct packet packet = { 0 };
	size_t size;
	char *exact;

	wire_encode(&packet, &header);
	for (size = 0; size < packet.size; size++) {
		exact = malloc(size + 1);
		memcpy(exact, packet.data, size);
		refused(exact, size);
		free(exact);
	}
	packet_release(&packet);
}
END_TEST

/* --- names -------------------------------------------------------------------------- */

START_TEST(names_are_those_of_the_tables)
{
	ck_assert_str_eq(wire_message_name(MSG_CALL), "CALL");
	ck_assert_str_eq(wire_message_name(0), "?");
	ck_assert_str_eq(wire_message_name(250), "?");
	ck_assert(wire_message_known(MSG_STATS));
	ck_assert(!wire_message_known(0));
	ck_assert(!wire_message_known(1000));
	ck_assert_str_eq(wire_code_name(CODE_BUSY), "BUSY");
	ck_assert_str_eq(wire_code_text(CODE_BUSY), "the queue is full");
	ck_assert(wire_code_retry(CODE_BUSY));
	ck_assert(!wire_code_retry(CODE_MALFORMED));
	ck_assert_str_eq(wire_code_name(9999), "?");
	ck_assert_str_eq(wire_code_text(9999), "unknown error");
	ck_assert(!wire_code_retry(9999));
	ck_assert_str_eq(wire_role_name(ROLE_WORKER), "worker");
	ck_assert_str_eq(wire_role_name(77), "?");
}
END_TEST

START_TEST(ids_are_printable_ascii_of_bounded_length)
{
	ck_assert(wire_is_id("tool:search", 11));
	ck_assert(!wire_is_id("tool:search", 10));
	ck_assert(!wire_is_id("", 10));
	ck_assert(!wire_is_id(NULL, 10));
	ck_assert(!wire_is_id("a b", 10));
	ck_assert(!wire_is_id("a\n", 10));
	ck_assert(!wire_is_id("\x7f", 10));
	ck_assert(!wire_is_id("\xc3\xa9", 10));
}
END_TEST

/* Redis has what belongs to run r under r:e, r:w, ...: a run of such a name would lie there. */
START_TEST(no_id_names_a_part_of_another)
{
	static const char *const good[] = { "a", "run-17-0", "user:42", "acme:user:b2",
		"a:E", "e", ":", "a:", "a:ee", "r.1.0:1" };
	char id[] = "acme:?";
	size_t i;

	for (i = 0; i < sizeof good / sizeof good[0]; i++)
		ck_assert_msg(wire_is_run_id(good[i]), "%s", good[i]);
	for (id[5] = 'a'; id[5] <= 'z'; id[5]++) {
		ck_assert_msg(!wire_is_run_id(id), "%s", id);
		ck_assert_msg(!wire_is_run_id(id + 4), "%s", id + 4);
	}
	ck_assert(!wire_is_run_id("a{b}"));
	ck_assert(!wire_is_run_id(NULL));
	ck_assert(!wire_is_run_id(""));
}
END_TEST

TCase *tcase_wire(void);
TCase *
tcase_wire(void)
{
	TCase *tcase = tcase_create("wire");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, every_field_survives_the_wire_at_its_largest, 0, FIELDS);
	tcase_add_test(tcase, the_fullest_hello_and_announce_fit);
	tcase_add_test(tcase, absent_fields_are_zero);
	tcase_add_test(tcase, reasons_too_long_or_not_utf8_are_cut);
	tcase_add_loop_test(
	    tcase, a_message_without_what_it_needs_is_refused, 0, REQUIREMENTS);
	tcase_add_test(tcase, whatever_is_cut_off_is_noticed);
	tcase_add_test(tcase, names_are_those_of_the_tables);
	tcase_add_test(tcase, ids_are_printable_ascii_of_bounded_length);
	tcase_add_test(tcase, no_id_names_a_part_of_another);
	return tcase;
}
