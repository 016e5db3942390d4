/* Holds docs/protocol.md to the code: it must name every message, field, code and limit as
 * the tables have them, and its test vectors must be what we write and refuse. Tests run
 * in the project's folder. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol_bodies.h"
#include "wire.h"

#define PAGE "docs/protocol.md"
#define SESSION "00112233445566778899aabbccddeeff"

static struct arena *arena;
static char *page; /* begins with a newline, so that every line follows one */

static void
setup(void)
{
	struct packet text = { 0 };
	char part[4096];
	size_t size;
	FILE *file = fopen(PAGE, "r");

	arena = arena_new();
	ck_assert_msg(file != NULL, "%s cannot be opened", PAGE);
	packet_append(&text, "\n", 1);
	while ((size = fread(part, 1, sizeof part, file)) > 0)
		packet_append(&text, part, size);
	fclose(file);
	page = arena_copy(arena, text.data, text.size);
	packet_release(&text);
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static void
assert_has(const char *line)
{
	ck_assert_msg(strstr(page, line) != NULL, "%s lacks:%s", PAGE, line);
}

/* Returns what stands under heading, up to the next one of its kind or above. */
static const char *
section(const char *heading)
{
	const char *start, *end, *next;

	start = strstr(page, arena_printf(arena, "\n%s\n", heading));
	ck_assert_msg(start != NULL, "%s lacks the heading: %s", PAGE, heading);
	start += strlen(heading) + 2;
	end = start + strlen(start);
	for (next = start; (next = strstr(next, "\n#")) != NULL; next++) {
		if (strspn(next + 1, "#") <= strspn(heading, "#")) {
			end = next;
			break;
		}
	}
	return arena_copy(arena, start, (size_t)(end - start));
}

/* --- tables ------------------------------------------------------------------------- */

static const struct {
	const char *name, *way;
	unsigned number;
} messages[] = {
#define MSG(name, number, way, text) { #name, way, number },
#include "messages.def"
#undef MSG
};
#define MESSAGES (sizeof messages / sizeof messages[0])

static const struct {
	const char *message, *field;
} requirements[] = {
#define REQUIRES(name, member) { #name, #member },
#include "requires.def"
#undef REQUIRES
};
#define REQUIREMENTS (sizeof requirements / sizeof requirements[0])

/* Returns "`a`, `b`", the fields that message requires, or "nothing". */
static const char *
required_by(const char *message)
{
	const char *list = "";
	size_t i;

	for (i = 0; i < REQUIREMENTS; i++)
		if (strcmp(requirements[i].message, message) == 0)
			list = arena_printf(arena, "%s%s`%s`", list,
			    *list == '\0' ? "" : ", ", requirements[i].field);
	return *list == '\0' ? "nothing" : list;
}

START_TEST(every_message_is_described_with_its_way_and_what_it_requires)
{
	const char *name = messages[_i].name;
	const char *text =
	    section(arena_printf(arena, "### %s (%u)", name, messages[_i].number));
	const char *facts = arena_printf(
	    arena, "\n%s. Required: %s.\n", messages[_i].way, required_by(name));

	ck_assert_msg(strstr(text, facts) != NULL, "%s lacks:%s", name, facts);
	ck_assert_msg(strlen(text) > strlen(facts) + 40, "%s is not explained", name);
}
END_TEST

START_TEST(every_field_is_listed_with_kind_and_bound)
{
#define FIELD(key, member, kind, max, text)                                              \
	assert_has(arena_printf(arena, "\n| %d | `%s` | %s | %" PRIu64 " |", key,        \
	    #member, #kind, (uint64_t)(max)));
#include "fields.def"
#undef FIELD
}
END_TEST

START_TEST(every_code_is_listed)
{
#define CODE(name, number, retry, text)                                                  \
	assert_has(arena_printf(arena, "\n| %d | %s | %s | %s", number, #name,           \
	    (retry) ? "yes" : "no", text));
#include "codes.def"
#undef CODE
}
END_TEST

START_TEST(limits_and_times_are_those_of_the_code)
{
#define LIMIT(name)                                                                      \
	assert_has(arena_printf(arena, "\n| %s | %u |", #name, (unsigned)(name)))
	LIMIT(HEADER_BYTES_MAX);
	LIMIT(BODY_FRAMES_MAX);
	LIMIT(BODY_BYTES_MAX);
	LIMIT(PACKED_DEPTH_MAX);
	LIMIT(ANSWER_DEPTH_MAX);
	LIMIT(ANSWER_PARTS_MAX);
	LIMIT(VALUE_NODES_MAX);
	LIMIT(PROTOCOL_ERRORS_MAX);
	LIMIT(WANTED_PREFIXES_MAX);
	LIMIT(HEARTBEAT_MS);
	LIMIT(LIVENESS_MS);
	LIMIT(CROSSING_BYTES_S);
	LIMIT(CROSSING_MS_MAX);
	LIMIT(RESEND_MS);
	LIMIT(RESULT_RESEND_MS_MAX);
	LIMIT(RECOVERY_MS);
	LIMIT(SUSPECT_MS);
	LIMIT(SEEK_MS);
	LIMIT(LEASE_MS);
	LIMIT(SETTLED_KEEP_MS);
	LIMIT(RESULT_KEEP_MS);
	LIMIT(EXPIRE_GRACE_MS);
	LIMIT(CALL_DEADLINE_MS);
	LIMIT(CALL_ATTEMPTS_MAX);
	LIMIT(PROBE_MS);
	LIMIT(PROBE_WAIT_MS);
	LIMIT(PROBE_DROP_MS);
#undef LIMIT
}
END_TEST

START_TEST(flags_are_listed)
{
	assert_has(arena_printf(arena, "\n| %d | RESEND |", WIRE_RESEND));
	assert_has(arena_printf(arena, "\n| %d | ONCE |", WIRE_ONCE));
	assert_has(arena_printf(arena, "\n| %d | STREAM |", WIRE_STREAM));
	assert_has(arena_printf(arena, "\n| %d | INTERNAL |", WIRE_INTERNAL));
	assert_has(arena_printf(arena, "\n| %d | QUIET |", WIRE_QUIET));
}
END_TEST

/* --- vectors ------------------------------------------------------------------------ */

static const struct wire_service services[] = { { "tool:add", 0 }, { "tool:slow", 2 } };
static const struct wire_call calls[] = {
	{ .call_id = "run-7.3.0", .state = CALL_RUNNING },
	{ .call_id = "run-7.3.1", .state = CALL_FINISHED },
};
static const struct wire_call acked[] = {
	{ .call_id = "run-7.3.1", .state = CALL_FINISHED, .epoch = 12 },
	{ .call_id = "run-9.1.0", .state = CALL_FINISHED, .epoch = 300 },
};

static const struct header vectors[] = {
	{ .type = MSG_HELLO,
	    .credit = 8,
	    .session = SESSION,
	    .name = "adder-1",
	    .role = ROLE_WORKER,
	    .protocol_min = 1,
	    .protocol_max = 1,
	    .capacity = 8,
	    .services = services,
	    .service_count = 2 },
	{ .type = MSG_WELCOME,
	    .session = "ffeeddccbbaa99887766554433221100",
	    .name = "broker-1",
	    .protocol_min = 1,
	    .protocol_max = 1,
	    .heartbeat_ms = 300,
	    .liveness_ms = 1500 },
	{ .type = MSG_PING, .credit = 7, .load = 1, .capacity = 8 },
	{ .type = MSG_CALL,
	    .flags = WIRE_RESEND | WIRE_ONCE,
	    .call_id = "run-7.3.0",
	    .run = "run-7",
	    .step = 3,
	    .attempt = 1,
	    .epoch = 12,
	    .service = "tool:add",
	    .deadline_ms = 60000,
	    .priority = 2,
	    .tenant = "acme",
	    .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	    .idempotency_key = "run-7.3.0" },
	{ .type = MSG_CALL_ACK, .call_id = "run-7.3.0" },
	{ .type = MSG_PROGRESS,
	    .call_id = "run-7.3.0",
	    .seq = 1,
	    .topic = "run.run-7.progress" },
	{ .type = MSG_RESULT, .call_id = "run-7.3.0" },
	{ .type = MSG_BUSY,
	    .call_id = "run-7.3.0",
	    .code = CODE_BUSY,
	    .retry_after_ms = 250 },
	{ .type = MSG_RESULT_ACK,
	    .call_id = "run-7.3.0",
	    .epoch = 12,
	    .calls = acked,
	    .call_count = 2 },
	{ .type = MSG_ANNOUNCE, .calls = calls, .call_count = 2 },
	{ .type = MSG_ERROR, .code = CODE_NO_SESSION, .reason = "say HELLO first" },
};
#define VECTORS (sizeof vectors / sizeof vectors[0])

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hex digits, in pairs, with spaces and indented new lines between them. */
static struct packet
read_hex(const char *at)
{
	struct packet bytes = { 0 };
	char byte;

	for (;;) {
		at += strspn(at, " ");
		if (at[0] == '\n' && at[1] == ' ') {
			at++;
		} else if (digit(at[0]) >= 0 && digit(at[1]) >= 0) {
			byte = (char)(digit(at[0]) * 16 + digit(at[1]));
			packet_append(&bytes, &byte, 1);
			at += 2;
		} else {
			return bytes;
		}
	}
}

static const char *
hex_of(const struct packet *bytes)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < bytes->size; i++)
		text = arena_printf(arena, "%s%s%02x", text,
		    i % 32 == 0  ? "\n    "
		    : i % 4 == 0 ? " "
				 : "",
		    (unsigned)(unsigned char)bytes->data[i]);
	return text;
}

static void
assert_vector(const char *name, const struct packet *theirs, const struct packet *ours)
{
	ck_assert(ours->size > 0);
	ck_assert_msg(theirs->size == ours->size &&
			  memcmp(theirs->data, ours->data, ours->size) == 0,
	    "the vector should be\n%s%s", name, hex_of(ours));
}

START_TEST(header_vectors_are_what_we_write_and_read)
{
	const char *name = wire_message_name(vectors[_i].type), *at, *reason = NULL;
	struct packet ours = { 0 }, theirs, again = { 0 };
	struct header header = { 0 };
	enum wire_code code;

	wire_encode(&ours, &vectors[_i]);
	at = strstr(section("## Test vectors"), arena_printf(arena, "\n%s\n", name));
	ck_assert_msg(at != NULL, "no vector, it is\n%s%s", name, hex_of(&ours));
	theirs = read_hex(at + strlen(name) + 1);
	assert_vector(name, &theirs, &ours);
	ck_assert_msg(
	    wire_decode(arena, theirs.data, theirs.size, &header, &code, &reason) == 0,
	    "%s", reason);
	wire_encode(&again, &header);
	assert_vector(name, &again, &ours);
	packet_release(&ours);
	packet_release(&theirs);
	packet_release(&again);
}
END_TEST

/* Calls check with the hex and the second column of each row "| `hex` | text |". */
static size_t
each_row(const char *heading, void (*check)(const struct packet *bytes, const char *text))
{
	const char *row = section(heading), *text;
	struct packet bytes;
	size_t count = 0;

	for (; (row = strstr(row, "\n| `")) != NULL; count++) {
		row += 4;
		bytes = read_hex(row);
		text = strstr(row, "` | ");
		ck_assert_ptr_nonnull(text);
		text += 4;
		check(&bytes, arena_copy(arena, text, strcspn(text, "|") - 1));
		packet_release(&bytes);
	}
	return count;
}

static void
check_refused_header(const struct packet *bytes, const char *text)
{
	struct header header;
	enum wire_code code = CODE_OK;
	const char *reason;

	ck_assert_msg(
	    wire_decode(arena, bytes->data, bytes->size, &header, &code, &reason) == -1,
	    "accepted:%s", hex_of(bytes));
	ck_assert_str_eq(wire_code_name(code), text);
}

START_TEST(header_vectors_to_refuse_are_refused)
{
	ck_assert_uint_ge(each_row("### Headers to refuse", check_refused_header), 10);
}
END_TEST

static void
check_refused_value(const struct packet *bytes, const char *text)
{
	const struct value *value;
	const char *error;

	(void)text;
	ck_assert_msg(value_unpack(arena, bytes->data, bytes->size, &value, &error) == -1,
	    "accepted:%s", hex_of(bytes));
}

START_TEST(body_vectors_to_refuse_are_refused)
{
	ck_assert_uint_ge(each_row("### Bodies to refuse", check_refused_value), 6);
}
END_TEST

START_TEST(body_vectors_are_what_we_write_and_read)
{
	const char *name = protocol_bodies[_i].name, *at, *error = NULL;
	const struct value *value = protocol_bodies[_i].make(arena), *back = NULL;
	struct packet ours = { 0 }, theirs;

	value_pack(&ours, value);
	at = strstr(section("## Test vectors"), arena_printf(arena, "\n%s\n", name));
	ck_assert_msg(at != NULL, "no vector, it is\n%s%s", name, hex_of(&ours));
	theirs = read_hex(at + strlen(name) + 1);
	assert_vector(name, &theirs, &ours);
	ck_assert_msg(value_unpack(arena, theirs.data, theirs.size, &back, &error) == 0,
	    "%s", error);
	ck_assert(value_equal(value, back));
	packet_release(&ours);
	packet_release(&theirs);
}
END_TEST

TCase *tcase_protocol(void);
TCase *
tcase_protocol(void)
{
	TCase *tcase = tcase_create("protocol");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase,
	    every_message_is_described_with_its_way_and_what_it_requires, 0, MESSAGES);
	tcase_add_test(tcase, every_field_is_listed_with_kind_and_bound);
	tcase_add_test(tcase, every_code_is_listed);
	tcase_add_test(tcase, limits_and_times_are_those_of_the_code);
	tcase_add_test(tcase, flags_are_listed);
	tcase_add_loop_test(tcase, header_vectors_are_what_we_write_and_read, 0, VECTORS);
	tcase_add_test(tcase, header_vectors_to_refuse_are_refused);
	tcase_add_loop_test(
	    tcase, body_vectors_are_what_we_write_and_read, 0, PROTOCOL_BODIES);
	tcase_add_test(tcase, body_vectors_to_refuse_are_refused);
	return tcase;
}
