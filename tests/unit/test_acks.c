#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interfaces under test */
#include "../../broker/gathered.h"
#include "acks.h"
#include "bounds.h"

TCase *tcase_acks(void);

static struct arena *arena;
static struct acks acks;
static struct gathered *gathered;

/* What went out: "peer TYPE id/epoch id ...", a line each. */
static char sent[16384];

static void
note(void *arg, uint64_t peer, const struct header *header)
{
	size_t end = strlen(sent), i;
	struct header single;

	(void)arg;
	end += (size_t)snprintf(sent + end, sizeof sent - end, "%u %s", (unsigned)peer,
	    wire_message_name(header->type));
	for (i = 0; acks_single(header, i, &single); i++)
		end += (size_t)snprintf(sent + end, sizeof sent - end, " %s/%u",
		    single.call_id, (unsigned)single.epoch);
	snprintf(sent + end, sizeof sent - end, "\n");
}

static void
setup(void)
{
	arena = arena_new();
	acks.count = 0;
	sent[0] = '\0';
	gathered = gathered_new(note, NULL);
}

static void
teardown(void)
{
	gathered_destroy(&gathered);
	arena_destroy(&arena);
}

static struct header
about(enum message_type type, const char *id, uint64_t epoch)
{
	return (struct header){ .type = type, .call_id = id, .epoch = epoch };
}

static bool
add(enum message_type type, const char *id, uint64_t epoch)
{
	struct header header = about(type, id, epoch);

	return acks_add(&acks, &header);
}

static struct header
through_the_wire(const struct header *header)
{
	struct packet packet = { 0 };
	struct header decoded = { 0 };
	const char *reason = "";
	enum wire_code code;

	wire_encode(&packet, header);
	ck_assert_msg(
	    wire_decode(arena, packet.data, packet.size, &decoded, &code, &reason) == 0,
	    "%s", reason);
	packet_release(&packet);
	return decoded;
}

/* --- one peer's ----------------------------------------------------------------------- */

START_TEST(several_are_one_message_and_are_read_as_several)
{
	struct header header, single;

	add(MSG_RESULT_ACK, "a", 7);
	add(MSG_RESULT_ACK, "b", 0);
	add(MSG_RESULT_ACK, "c", 300);
	header = *acks_take(&acks);
	ck_assert_uint_eq(acks.count, 0);
	header = through_the_wire(&header);
	ck_assert(acks_single(&header, 0, &single));
	ck_assert_str_eq(single.call_id, "a");
	ck_assert_uint_eq(single.epoch, 7);
	ck_assert_uint_eq(single.call_count, 0);
	ck_assert(acks_single(&header, 1, &single));
	ck_assert_str_eq(single.call_id, "b");
	ck_assert_uint_eq(single.epoch, 0);
	ck_assert(acks_single(&header, 2, &single));
	ck_assert_str_eq(single.call_id, "c");
	ck_assert_uint_eq(single.epoch, 300);
	ck_assert(!acks_single(&header, 3, &single));
}
END_TEST

START_TEST(one_is_what_it_always_was)
{
	struct header header;

	add(MSG_CALL_ACK, "a", 0);
	header = *acks_take(&acks);
	ck_assert_uint_eq(header.call_count, 0);
	ck_assert_uint_eq(header.type, MSG_CALL_ACK);
	ck_assert_str_eq(header.call_id, "a");
}
END_TEST

START_TEST(as_many_fit_as_one_message_can_have)
{
	char id[ID_BYTES_MAX + 1];
	struct header header, single;
	size_t i;

	memset(id, 'x', ID_BYTES_MAX);
	id[ID_BYTES_MAX] = '\0';
	for (i = 1; i < ACKS_MAX; i++)
		ck_assert(add(MSG_RESULT_ACK, id, INT64_MAX));
	ck_assert(!add(MSG_RESULT_ACK, id, INT64_MAX));
	header = *acks_take(&acks);
	header = through_the_wire(&header);
	for (i = 0; acks_single(&header, i, &single); i++)
		ck_assert_str_eq(single.call_id, id);
	ck_assert_uint_eq(i, ACKS_MAX);
}
END_TEST

START_TEST(a_list_in_another_message_is_left_alone)
{
	const struct wire_call calls[] = { { .call_id = "a", .state = CALL_RUNNING } };
	const struct header header = {
		.type = MSG_ANNOUNCE, .calls = calls, .call_count = 1
	};
	struct header single;

	ck_assert(acks_single(&header, 0, &single));
	ck_assert_uint_eq(single.call_count, 1);
	ck_assert(!acks_single(&header, 1, &single));
}
END_TEST

START_TEST(a_result_takes_its_acknowledgement_out_and_no_other)
{
	struct header header;

	add(MSG_CALL_ACK, "a", 1);
	add(MSG_CALL_ACK, "b", 2);
	add(MSG_CALL_ACK, "c", 3);
	acks_drop(&acks, "a");
	acks_drop(&acks, "unheard-of");
	header = *acks_take(&acks);
	note(NULL, 1, &header);
	ck_assert_str_eq(sent, "1 CALL_ACK c/3 b/2\n");
	/* That a result is stored is no news of a result. */
	add(MSG_RESULT_ACK, "a", 1);
	acks_drop(&acks, "a");
	ck_assert_uint_eq(acks.count, 1);
}
END_TEST

/* --- the broker's, by peer ------------------------------------------------------------ */

static void
keep(uint64_t peer, enum message_type type, const char *id)
{
	struct header header = about(type, id, 0);

	ck_assert(gathered_keep(gathered, peer, &header, 0));
}

START_TEST(each_peer_and_type_has_a_message)
{
	const struct header call = about(MSG_CALL, "e", 0);

	keep(1, MSG_CALL_ACK, "a");
	keep(2, MSG_CALL_ACK, "b");
	keep(1, MSG_RESULT_ACK, "c");
	keep(1, MSG_CALL_ACK, "d");
	ck_assert(!gathered_keep(gathered, 1, &call, 0));
	ck_assert_str_eq(sent, "");
	gathered_send(gathered);
	ck_assert_str_eq(sent, "1 CALL_ACK a/0 d/0\n2 CALL_ACK b/0\n1 RESULT_ACK c/0\n");
	gathered_send(gathered);
	ck_assert_str_eq(sent, "1 CALL_ACK a/0 d/0\n2 CALL_ACK b/0\n1 RESULT_ACK c/0\n");
}
END_TEST

START_TEST(what_must_not_be_overtaken_goes_first)
{
	static const enum message_type types[] = { MSG_CANCEL, MSG_BUSY, MSG_RELEASE,
		MSG_SEEK, MSG_PING, MSG_WELCOME };
	struct header header = about(types[_i], "a", 0);

	keep(1, MSG_RESULT_ACK, "a");
	keep(2, MSG_RESULT_ACK, "b");
	gathered_before(gathered, 1, &header, 0);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0\n");
	gathered_send(gathered);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0\n2 RESULT_ACK b/0\n");
}
END_TEST

START_TEST(a_call_sent_again_does_not_overtake_either)
{
	struct header call = about(MSG_CALL, "b", 0);

	keep(1, MSG_RESULT_ACK, "a");
	gathered_before(gathered, 1, &call, 0);
	ck_assert_str_eq(sent, "");
	call.flags = WIRE_RESEND;
	gathered_before(gathered, 1, &call, 0);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0\n");
}
END_TEST

START_TEST(a_result_overtakes)
{
	const struct header result = about(MSG_RESULT, "a", 0);

	keep(1, MSG_CALL_ACK, "a");
	keep(2, MSG_CALL_ACK, "a");
	gathered_before(gathered, 1, &result, 0);
	gathered_send(gathered);
	ck_assert_str_eq(sent, "2 CALL_ACK a/0\n");
}
END_TEST

START_TEST(what_has_waited_goes_with_the_next_message)
{
	const struct header call = about(MSG_CALL, "c", 0);
	const struct header early = about(MSG_RESULT_ACK, "a", 0);
	const struct header late = about(MSG_RESULT_ACK, "b", 0);

	gathered_keep(gathered, 1, &early, 1000);
	gathered_keep(gathered, 2, &early, 1000);
	gathered_keep(gathered, 1, &late, 1000 + ACK_RIPE_MS - 1);
	gathered_before(gathered, 1, &call, 1000 + ACK_RIPE_MS - 1);
	ck_assert_str_eq(sent, "");
	gathered_before(gathered, 1, &call, 1000 + ACK_RIPE_MS);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0 b/0\n");
	/* The time of the next ones begins with the first of them. */
	gathered_keep(gathered, 1, &late, 1000 + ACK_RIPE_MS);
	gathered_before(gathered, 1, &call, 1000 + ACK_RIPE_MS);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0 b/0\n");
}
END_TEST

START_TEST(a_call_does_not_overtake_what_acknowledges_its_result)
{
	const struct header other = about(MSG_CALL, "b", 0);
	const struct header anew = about(MSG_CALL, "a", 0);

	keep(1, MSG_RESULT_ACK, "a");
	gathered_before(gathered, 1, &other, 0);
	gathered_before(gathered, 2, &anew, 0);
	ck_assert_str_eq(sent, "");
	gathered_before(gathered, 1, &anew, 0);
	ck_assert_str_eq(sent, "1 RESULT_ACK a/0\n");
}
END_TEST

START_TEST(none_is_lost_however_many_there_are)
{
	struct header single = about(MSG_CALL_ACK, "a", 0);
	unsigned lines = 0, calls = 0;
	uint64_t peer;
	const char *at;
	size_t i;

	for (peer = 1; peer <= 200; peer++)
		ck_assert(gathered_keep(gathered, peer, &single, 0));
	for (i = 0; i < 100; i++)
		ck_assert(gathered_keep(gathered, 201, &single, 0));
	gathered_send(gathered);
	for (at = sent; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	for (at = sent; (at = strstr(at, " a/0")) != NULL; at++)
		calls++;
	ck_assert_uint_eq(calls, 300);
	ck_assert_uint_eq(lines, 202);
}
END_TEST

TCase *
tcase_acks(void)
{
	TCase *tcase = tcase_create("acks");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, several_are_one_message_and_are_read_as_several);
	tcase_add_test(tcase, one_is_what_it_always_was);
	tcase_add_test(tcase, as_many_fit_as_one_message_can_have);
	tcase_add_test(tcase, a_list_in_another_message_is_left_alone);
	tcase_add_test(tcase, a_result_takes_its_acknowledgement_out_and_no_other);
	tcase_add_test(tcase, each_peer_and_type_has_a_message);
	tcase_add_loop_test(tcase, what_must_not_be_overtaken_goes_first, 0, 6);
	tcase_add_test(tcase, a_call_sent_again_does_not_overtake_either);
	tcase_add_test(tcase, a_result_overtakes);
	tcase_add_test(tcase, what_has_waited_goes_with_the_next_message);
	tcase_add_test(tcase, a_call_does_not_overtake_what_acknowledges_its_result);
	tcase_add_test(tcase, none_is_lost_however_many_there_are);
	return tcase;
}
