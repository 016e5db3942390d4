#include <check.h>

/* Interface under test */
#include "../../worker-model/kept_threads.h"

#include "digest.h"
#include "literal.h"

TCase *tcase_kept_threads(void);

#define ROOM (1u << 20)

static struct kept_threads *threads;
static struct arena *arena; /* of the test */

static void
setup(void)
{
	arena = arena_new();
	threads = kept_threads_new(ROOM, 1);
}

static void
teardown(void)
{
	arena_destroy(&arena);
	kept_threads_destroy(&threads);
}

/* Messages from (inclusive) to (exclusive) of a thread. */
static const struct value *
messages(const char *thread, size_t from, size_t to)
{
	struct value_list list = { .arena = arena };

	for (; from < to; from++)
		value_list_add(
		    &list, value_map(arena, "type", value_str(arena, "human"), "content",
			       value_printf(arena, "%s %zu", thread, from), NULL));
	return value_list_end(&list);
}

static const struct value *
digest_of(const char *thread, size_t count)
{
	struct digest *digest = digest_new();
	uint8_t bytes[DIGEST_BYTES];

	digest_add(digest, messages(thread, 0, count), 0, count);
	digest_get(digest, bytes);
	digest_destroy(&digest);
	return digest_value(arena, bytes);
}

/* A request as it comes over the wire, in call. */
static const struct value *
received(struct arena *call, const struct value *request)
{
	struct packet packet = { 0 };
	const struct value *value;
	const char *error;

	value_pack(&packet, request);
	ck_assert_int_eq(value_unpack(call, packet.data, packet.size, &value, &error), 0);
	packet_release(&packet);
	return value;
}

static const struct value *
whole(struct arena *call, const char *thread, size_t count)
{
	return received(call,
	    value_map(arena, "run", value_str(arena, "r"), "messages",
		messages(thread, 0, count), "digest", digest_of(thread, count), NULL));
}

static const struct value *
brief(struct arena *call, const char *thread, size_t base, size_t count)
{
	return received(
	    call, value_map(arena, "run", value_str(arena, "r"), "base",
		      digest_of(thread, base), "behind", messages(thread, base, count),
		      "digest", digest_of(thread, count), NULL));
}

/* Opens request, which must be answered; kept: its messages are kept now. */
static void
expect(struct arena *call, const struct value *request, const char *thread, size_t count,
    bool kept)
{
	const struct value *digest, *opened;

	opened = kept_threads_open(threads, call, request, &digest);
	ck_assert_ptr_nonnull(opened);
	ck_assert_str_eq(value_get_text(opened, "run"), "r");
	ck_assert(value_equal(value_get(opened, "messages"), messages(thread, 0, count)));
	ck_assert(
	    kept ? value_equal(digest, digest_of(thread, count)) : value_is_nil(digest));
}

/* One call that comes and goes. */
static void
expect_whole(const char *thread, size_t count)
{
	struct arena *call = arena_new();

	expect(call, whole(call, thread, count), thread, count, true);
	arena_destroy(&call);
}

static void
expect_brief(const char *thread, size_t base, size_t count)
{
	struct arena *call = arena_new();

	expect(call, brief(call, thread, base, count), thread, count, true);
	arena_destroy(&call);
}

static void
expect_miss(const char *thread, size_t base, size_t count)
{
	struct arena *call = arena_new();
	const struct value *kept;

	ck_assert_ptr_null(
	    kept_threads_open(threads, call, brief(call, thread, base, count), &kept));
	ck_assert_ptr_null(kept);
	arena_destroy(&call);
}

START_TEST(what_was_seen_is_not_wanted_again)
{
	expect_whole("a", 30);
	expect_brief("a", 30, 31);
	expect_brief("a", 31, 90);
	expect_brief("a", 90, 90);
	ck_assert_uint_eq(kept_threads_count(threads), 1);
}
END_TEST

START_TEST(the_same_call_may_come_again)
{
	expect_whole("a", 3);
	expect_brief("a", 3, 5);
	expect_brief("a", 3, 5);
	expect_whole("a", 5);
	ck_assert_uint_eq(kept_threads_count(threads), 1);
}
END_TEST

START_TEST(the_state_has_the_messages_where_it_is_to_have_them)
{
	const struct value *kept, *opened;

	expect_whole("a", 3);
	opened = kept_threads_open(threads, arena,
	    value_map_with(arena, brief(arena, "a", 3, 4), "state",
		literal(arena, "{'messages':null,'more':1}")),
	    &kept);
	ck_assert(value_equal(
	    value_get(value_get(opened, "state"), "messages"), messages("a", 0, 4)));
	ck_assert_int_eq(value_get_int(value_get(opened, "state"), "more", 0), 1);
}
END_TEST

START_TEST(what_is_unknown_must_come_whole)
{
	expect_miss("a", 3, 4);
	expect_whole("a", 3);
	expect_miss("a", 2, 4);
	expect_miss("b", 3, 4);
}
END_TEST

START_TEST(a_thread_that_goes_on_from_earlier_is_another)
{
	expect_whole("a", 4);
	expect_brief("a", 4, 6);
	expect_miss("a", 4, 5);
	expect_whole("a", 4);
	expect_brief("a", 4, 5);
	expect_brief("a", 6, 7);
	ck_assert_uint_eq(kept_threads_count(threads), 2);
}
END_TEST

START_TEST(equal_threads_are_kept_once)
{
	struct arena *one = arena_new(), *other = arena_new();

	expect(one, whole(one, "a", 4), "a", 4, true);
	expect(other, whole(other, "a", 4), "a", 4, true);
	ck_assert_uint_eq(kept_threads_count(threads), 1);
	/* The first that goes on takes it along; for the second it is gone. */
	expect(one, brief(one, "a", 4, 5), "a", 5, true);
	expect_miss("a", 4, 6);
	arena_destroy(&one);
	arena_destroy(&other);
}
END_TEST

START_TEST(a_call_sees_as_much_as_there_was_when_it_came)
{
	struct arena *first = arena_new(), *second = arena_new();
	const struct value *seen, *kept;
	size_t i;

	expect_whole("a", 2);
	seen =
	    value_get(kept_threads_open(threads, first, brief(first, "a", 2, 3), &kept),
		"messages");
	for (i = 3; i < 200; i++)
		expect_brief("a", i, i + 1);
	expect(second, brief(second, "a", 200, 201), "a", 201, true);
	ck_assert(value_equal(seen, messages("a", 0, 3)));
	arena_destroy(&first);
	arena_destroy(&second);
}
END_TEST

START_TEST(the_longest_unused_goes)
{
	size_t bytes;

	expect_whole("a", 50);
	bytes = kept_threads_bytes(threads);
	kept_threads_destroy(&threads);
	threads = kept_threads_new(bytes * 2 + bytes / 2, 1);
	expect_whole("a", 50);
	expect_whole("b", 50);
	expect_brief("a", 50, 50);
	expect_whole("c", 50);
	ck_assert_uint_eq(kept_threads_count(threads), 2);
	ck_assert_uint_le(kept_threads_bytes(threads), bytes * 2 + bytes / 2);
	expect_miss("b", 50, 51);
	expect_brief("a", 50, 51);
	expect_brief("c", 50, 51);
}
END_TEST

START_TEST(what_is_thrown_out_lives_as_long_as_its_calls)
{
	struct arena *first = arena_new(), *second = arena_new();
	const struct value *seen, *kept;
	size_t bytes;

	expect_whole("a", 50);
	bytes = kept_threads_bytes(threads);
	kept_threads_destroy(&threads);
	threads = kept_threads_new(bytes + bytes / 2, 1);
	expect_whole("a", 50);
	seen =
	    value_get(kept_threads_open(threads, first, brief(first, "a", 50, 51), &kept),
		"messages");
	expect_whole("b", 50);
	expect_miss("a", 51, 52);
	ck_assert(value_equal(seen, messages("a", 0, 51)));
	arena_destroy(&first);
	expect(second, brief(second, "b", 50, 52), "b", 52, true);
	arena_destroy(&second);
}
END_TEST

START_TEST(json_is_kept_with_the_thread_and_counts)
{
	struct arena *first = arena_new(), *second = arena_new();
	const struct value *opened, *kept, *said = messages("a", 0, 50);
	struct written *written;
	size_t bytes;

	opened = kept_threads_open(threads, first, whole(first, "a", 50), &kept);
	ck_assert_ptr_null(kept_threads_written(threads, opened));
	opened = kept_threads_open(threads, first, brief(first, "a", 50, 51), &kept);
	written = kept_threads_written(threads, opened);
	ck_assert_ptr_nonnull(written);
	bytes = kept_threads_bytes(threads);
	written_add(written, &said, 1);
	arena_destroy(&first);
	ck_assert_uint_ge(kept_threads_bytes(threads), bytes + written_bytes(written));
	opened = kept_threads_open(threads, second, brief(second, "a", 51, 52), &kept);
	ck_assert_ptr_eq(kept_threads_written(threads, opened), written);
	ck_assert_uint_eq(written->count, 1);
	/* More than there is room for: it goes with the call. */
	while (written_bytes(written) < ROOM)
		written_add(written, &said, 1);
	arena_destroy(&second);
	ck_assert_uint_eq(kept_threads_count(threads), 0);
	ck_assert_uint_eq(kept_threads_bytes(threads), 0);
}
END_TEST

START_TEST(a_thread_that_has_no_room_is_answered_and_not_kept)
{
	struct arena *call = arena_new();

	kept_threads_destroy(&threads);
	threads = kept_threads_new(4096, 1);
	expect(call, whole(call, "a", 200), "a", 200, false);
	ck_assert_uint_eq(kept_threads_count(threads), 0);
	expect(call, whole(call, "a", 5), "a", 5, true);
	/* It grows out of what there is. */
	expect(call, brief(call, "a", 5, 200), "a", 200, false);
	ck_assert_uint_eq(kept_threads_count(threads), 0);
	arena_destroy(&call);
}
END_TEST

START_TEST(with_no_bytes_nothing_is_kept)
{
	struct arena *call = arena_new();

	kept_threads_destroy(&threads);
	threads = kept_threads_new(0, 1);
	expect(call, whole(call, "a", 5), "a", 5, false);
	expect_miss("a", 5, 6);
	arena_destroy(&call);
}
END_TEST

START_TEST(a_request_that_names_no_digest_is_left_alone)
{
	const struct value *request = literal(arena, "{'messages':[{'type':'human'}]}");
	const struct value *kept;

	ck_assert_ptr_eq(kept_threads_open(threads, arena, request, &kept), request);
	ck_assert_ptr_null(kept);
	ck_assert_uint_eq(kept_threads_count(threads), 0);
}
END_TEST

/* Else one could have his own messages taken for another's. */
START_TEST(a_digest_that_is_not_its_messages_keeps_nothing)
{
	struct arena *call = arena_new();
	const struct value *request = whole(call, "a", 5), *kept;

	request = value_map_with(call, request, "digest", digest_of("b", 5));
	ck_assert_ptr_eq(kept_threads_open(threads, call, request, &kept), request);
	ck_assert_ptr_null(kept);
	expect_whole("a", 5);
	request =
	    value_map_with(call, brief(call, "a", 5, 6), "digest", digest_of("b", 6));
	ck_assert_ptr_null(kept_threads_open(threads, call, request, &kept));
	expect_brief("a", 5, 6);
	ck_assert_uint_eq(kept_threads_count(threads), 1);
	arena_destroy(&call);
}
END_TEST

static const char *const nonsense[] = {
	"{'base':1}",
	"{'base':null,'digest':null}",
	"{'base':'0123456789abcdef','digest':'0123456789abcdef','behind':[]}",
	"{'base':'0123456789abcdef','behind':{'a':1}}",
};

START_TEST(a_base_that_is_none_is_not_known)
{
	const struct value *kept;

	ck_assert_ptr_null(
	    kept_threads_open(threads, arena, literal(arena, nonsense[_i]), &kept));
	ck_assert_ptr_null(kept);
}
END_TEST

static const char *const odd_names[] = { "messages", "behind" };

/* Nor does it take us down. */
START_TEST(messages_that_are_no_list_are_none)
{
	struct arena *call = arena_new();
	const struct value *kept, *map = value_map(arena, "type", value_bool(true), NULL);
	const struct value *odd = _i / 2 == 0 ? value_str(arena, "hello") : map;

	kept_threads_open(threads, call, whole(call, "a", 1), &kept);
	kept_threads_open(threads, call,
	    received(
		call, value_map(arena, "digest", digest_of("b", 1), odd_names[_i % 2],
			  odd, "base", _i % 2 == 0 ? NULL : digest_of("a", 1), NULL)),
	    &kept);
	ck_assert_ptr_null(kept);
	ck_assert_uint_eq(kept_threads_count(threads), 1);
	arena_destroy(&call);
}
END_TEST

TCase *
tcase_kept_threads(void)
{
	TCase *tcase = tcase_create("kept_threads");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_was_seen_is_not_wanted_again);
	tcase_add_test(tcase, the_same_call_may_come_again);
	tcase_add_test(tcase, the_state_has_the_messages_where_it_is_to_have_them);
	tcase_add_test(tcase, what_is_unknown_must_come_whole);
	tcase_add_test(tcase, a_thread_that_goes_on_from_earlier_is_another);
	tcase_add_test(tcase, equal_threads_are_kept_once);
	tcase_add_test(tcase, a_call_sees_as_much_as_there_was_when_it_came);
	tcase_add_test(tcase, the_longest_unused_goes);
	tcase_add_test(tcase, what_is_thrown_out_lives_as_long_as_its_calls);
	tcase_add_test(tcase, json_is_kept_with_the_thread_and_counts);
	tcase_add_test(tcase, a_thread_that_has_no_room_is_answered_and_not_kept);
	tcase_add_test(tcase, with_no_bytes_nothing_is_kept);
	tcase_add_test(tcase, a_request_that_names_no_digest_is_left_alone);
	tcase_add_test(tcase, a_digest_that_is_not_its_messages_keeps_nothing);
	tcase_add_loop_test(tcase, messages_that_are_no_list_are_none, 0, 4);
	tcase_add_loop_test(tcase, a_base_that_is_none_is_not_known, 0,
	    sizeof nonsense / sizeof *nonsense);
	return tcase;
}
