/* What an owner keeps of the messages of a thread it ran, and when a claim may rely on it; against a
 * real Redis. */
#include <check.h>
#include <stdlib.h>

#include "chat.h"
#include "store_trial.h"

/* Interface under test */
#include "store.h"
#include "warm.h"

TCase *tcase_store_warm(void);

#define LONG 60000u
#define FIRST 40u /* messages of the thread's first run */
#define ROOM (1u << 20)

_Static_assert(FIRST >= WARM_MESSAGES_MIN, "the thread is worth it");

static struct store_claim claim;

static const struct value *
message(const char *run, size_t number)
{
	return chat_human(trial.arena, arena_printf(trial.arena, "%s-%zu", run, number));
}

/* Commits so many messages to thread "t". */
static enum store_status
commit(struct store *store, const char *id, const char *status, size_t count)
{
	struct arena *arena = trial.arena;
	struct value_list messages = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&messages, message(claim.run, i));
	return store_commit(store, arena,
	    &(struct store_commit){
		.thread = "t",
		.run = claim.run,
		.epoch = claim.epoch,
		.version = claim.version,
		.id = id,
		.status = status,
		.head = value_map(arena, "run", value_str(arena, claim.run), NULL),
		.order = value_empty_array(),
		.checkpoint = value_empty_map(),
		.messages = value_list_end(&messages),
		.fields = value_empty_map(),
		.events = value_empty_array(),
		.run_fields = value_empty_map(),
	    },
	    &trial.committed);
}

static void
run(struct store *store, const char *id, size_t count)
{
	trial_submit("t", id);
	trial_claim(store, "t", LONG, &claim);
	ck_assert_int_eq(commit(store, id, "success", count), STORE_OK);
}

/* A thread that a has run twice: what the first run wrote was read by the second claim. */
static void
begin(void)
{
	store_keep_warm(trial.a, ROOM);
	store_keep_warm(trial.b, ROOM);
	run(trial.a, "r1", FIRST);
	run(trial.a, "r2", 2);
}

/* Writes into the list what only a claim that reads it can find. */
static void
mark(void)
{
	trial_ask("LSET",
	    arena_printf(trial.arena, "%s:m", store_thread_key(trial.arena, "t")), "0",
	    "\xa4mark");
}

static bool
has_read(void)
{
	return value_text_is(value_at(claim.messages, 0), "mark");
}

static void
must_have(const char *const *runs, const size_t *counts, size_t size)
{
	size_t at = 0, i, j;

	for (i = 0; i < size; i++)
		for (j = 0; j < counts[i]; j++, at++)
			ck_assert_msg(value_equal(value_at(claim.messages, at),
					  message(runs[i], j)),
			    "message %zu is not %zu of %s", at, j, runs[i]);
	ck_assert_uint_eq(value_size(claim.messages), at);
}

static void
claim_next(struct store *store, const char *id)
{
	trial_submit("t", id);
	trial_claim(store, "t", LONG, &claim);
}

static void
play_same_owner(void)
{
	begin();
	mark();
	claim_next(trial.a, "r3");
	ck_assert(!has_read());
	must_have((const char *const[]){ "r1", "r2" }, (const size_t[]){ FIRST, 2 }, 2);
	/* What this one adds is kept as well. */
	ck_assert_int_eq(commit(trial.a, "r3.1", "running", 3), STORE_OK);
	must_have((const char *const[]){ "r1", "r2" }, (const size_t[]){ FIRST, 2 }, 2);
	claim.version = trial.committed.version;
	ck_assert_int_eq(commit(trial.a, "r3.2", "success", 0), STORE_OK);
	claim_next(trial.a, "r4");
	ck_assert(!has_read());
	must_have((const char *const[]){ "r1", "r2", "r3" },
	    (const size_t[]){ FIRST, 2, 3 }, 3);
}

START_TEST(who_ran_a_thread_last_does_not_read_it_again)
{
	trial_play(play_same_owner);
}
END_TEST

static void
play_other_between(void)
{
	begin();
	run(trial.b, "r3", 1);
	mark();
	claim_next(trial.a, "r4");
	ck_assert(has_read());
	ck_assert_uint_eq(value_size(claim.messages), FIRST + 3);
}

START_TEST(another_owner_in_between_is_noticed)
{
	trial_play(play_other_between);
}
END_TEST

/* It claimed the thread, and Redis has forgotten nothing but that it ended: nothing was written. */
static void
play_claim_between(void)
{
	begin();
	claim_next(trial.b, "r3");
	mark();
	ck_assert_int_eq(
	    store_release(trial.b, trial.arena,
		&(struct store_hold){ "t", "r3", claim.epoch, claim.version }, NULL),
	    STORE_OK);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert(has_read());
}

START_TEST(a_claim_of_another_in_between_is_noticed)
{
	trial_play(play_claim_between);
}
END_TEST

/* As a replica that took over without the last commits, to which others have added since. */
static void
play_forgotten(const char *field, const char *text)
{
	begin();
	trial_hset("t:t", field, text);
	mark();
	claim_next(trial.a, "r3");
	ck_assert(has_read());
}

static void
play_forgotten_version(void)
{
	play_forgotten("version", "1");
}

static void
play_same_epoch_of_another(void)
{
	play_forgotten("left", TRIAL_B);
}

static void
play_other_epoch(void)
{
	play_forgotten("epoch", "7");
}

START_TEST(a_version_that_redis_has_forgotten_is_noticed)
{
	trial_play(play_forgotten_version);
}
END_TEST

START_TEST(a_version_that_another_owner_has_left_is_noticed)
{
	trial_play(play_same_epoch_of_another);
}
END_TEST

START_TEST(another_epoch_is_noticed)
{
	trial_play(play_other_epoch);
}
END_TEST

/* The same name, the same number of versions. */
static void
play_made_anew(void)
{
	struct store_pruned pruned;

	begin();
	ck_assert_int_eq(
	    store_erase(trial.b, trial.arena, "t", false, &pruned), STORE_OK);
	run(trial.b, "n1", FIRST);
	run(trial.b, "n2", 2);
	claim_next(trial.a, "n3");
	must_have((const char *const[]){ "n1", "n2" }, (const size_t[]){ FIRST, 2 }, 2);
}

static void
play_deleted(void)
{
	struct store_pruned pruned;

	begin();
	ck_assert_int_eq(
	    store_erase(trial.b, trial.arena, "t", false, &pruned), STORE_OK);
	claim_next(trial.a, "n1");
	ck_assert_uint_eq(value_size(claim.messages), 0);
}

START_TEST(a_thread_that_was_deleted_and_made_anew_is_read)
{
	trial_play(play_made_anew);
}
END_TEST

START_TEST(a_thread_that_was_deleted_is_empty)
{
	trial_play(play_deleted);
}
END_TEST

/* Its own claim, whose answer was lost, or whose run was dropped: the run is still there. */
static void
play_taken_over(void)
{
	begin();
	claim_next(trial.a, "r3");
	ck_assert_int_eq(commit(trial.a, "r3.1", "running", 1), STORE_OK);
	mark();
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert(claim.recovered);
	ck_assert(has_read());
	ck_assert_uint_eq(value_size(claim.messages), FIRST + 3);
}

START_TEST(a_run_that_was_not_ended_is_read)
{
	trial_play(play_taken_over);
}
END_TEST

static void
play_refused(void)
{
	begin();
	claim_next(trial.a, "r3");
	claim.version++;
	ck_assert_int_eq(commit(trial.a, "r3.1", "running", 1), STORE_STALE);
	claim.version--;
	ck_assert_int_eq(commit(trial.a, "r3.2", "success", 1), STORE_OK);
	mark();
	claim_next(trial.a, "r4");
	ck_assert(has_read());
}

START_TEST(behind_a_commit_that_was_refused_it_is_read)
{
	trial_play(play_refused);
}
END_TEST

/* --- memory ------------------------------------------------------------------------------ */

static const struct value *
replies(struct arena *arena, size_t count)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < count; i++)
		value_list_add(&list, value_bin(arena, "\xa4text", 5));
	return value_list_end(&list);
}

/* thread was claimed, and its run is over. */
static const struct value *
keep(struct warm *warm, struct arena *arena, const char *thread, size_t count)
{
	const struct warm_thread *kept =
	    warm_read(warm, arena, thread, 1, 1, replies(arena, count));

	warm_committed(warm, arena, thread, 1, 1, value_empty_array(), true);
	return warm_messages(kept, arena);
}

START_TEST(what_was_not_used_for_longest_goes)
{
	struct warm *warm = warm_new(ROOM);
	struct arena *arena = arena_new();
	size_t each, i;

	keep(warm, arena, "t0", 100);
	each = warm_bytes(warm);
	for (i = 1; i <= ROOM / each; i++) {
		keep(warm, arena, arena_printf(arena, "t%zu", i), 100);
		ck_assert_uint_le(warm_bytes(warm), ROOM);
		ck_assert_ptr_nonnull(warm_find(warm, arena, "t0"));
		warm_claimed(warm, warm_find(warm, arena, "t0"), 1);
		warm_committed(warm, arena, "t0", 1, i + 1, value_empty_array(), true);
	}
	ck_assert_ptr_null(warm_find(warm, arena, "t1"));
	ck_assert_ptr_nonnull(warm_find(warm, arena, arena_printf(arena, "t%zu", i - 1)));
	warm_destroy(&warm);
	arena_destroy(&arena);
}
END_TEST

START_TEST(what_is_lent_stays_when_it_is_forgotten)
{
	struct warm *warm = warm_new(ROOM);
	struct arena *arena = arena_new();
	struct arena *longer = arena_new();
	const struct value *messages = keep(warm, arena, "t", 100);
	const struct value *last = value_at(messages, 99);

	warm_lend(warm_find(warm, arena, "t"), longer);
	warm_forget(warm, "t");
	ck_assert_uint_eq(warm_bytes(warm), 0);
	warm_destroy(&warm);
	ck_assert(value_text_is(last, "text"));
	arena_destroy(&arena);
	ck_assert(value_text_is(last, "text"));
	arena_destroy(&longer);
}
END_TEST

static unsigned destroyed;

static void
count_destroyed(void *data)
{
	destroyed += *(unsigned *)data;
}

/* The run that holds thread ends, and leaves something of bytes. */
static void
leave(struct warm *warm, struct arena *arena, uint64_t version, size_t bytes)
{
	static unsigned one = 1;
	const struct warm_left left = { &one, bytes, count_destroyed };

	warm_committed(warm, arena, "t", 1, version, value_empty_array(), true);
	ck_assert_uint_eq(value_size(warm_at_end(warm, arena, "t", 1, version + 1)), 100);
	warm_leave(warm, "t", &left);
}

START_TEST(what_a_run_leaves_is_for_who_claims_next)
{
	struct warm *warm = warm_new(ROOM);
	struct arena *arena = arena_new();
	size_t before;

	destroyed = 0;
	warm_read(warm, arena, "t", 1, 1, replies(arena, 100));
	ck_assert_ptr_null(warm_at_end(warm, arena, "t", 1, 1)); /* it goes on */
	before = warm_bytes(warm);
	leave(warm, arena, 1, 1000);
	ck_assert_ptr_null(warm_at_end(warm, arena, "t", 1, 1));
	ck_assert_ptr_null(warm_at_end(warm, arena, "t", 2, 2));
	ck_assert_uint_eq(warm_bytes(warm), before + 1000);
	ck_assert_ptr_null(warm_take_left(warm, "t", 1)); /* nobody has claimed it */
	warm_claimed(warm, warm_find(warm, arena, "t"), 2);
	ck_assert_ptr_null(warm_take_left(warm, "t", 1));
	ck_assert_ptr_nonnull(warm_take_left(warm, "t", 2));
	ck_assert_ptr_null(warm_take_left(warm, "t", 2));
	ck_assert_uint_eq(warm_bytes(warm), before);
	ck_assert_uint_eq(destroyed, 0);
	warm_destroy(&warm);
	arena_destroy(&arena);
}
END_TEST

START_TEST(what_a_run_leaves_goes_with_the_next_commit_or_the_thread)
{
	struct warm *warm = warm_new(ROOM);
	struct arena *arena = arena_new();

	destroyed = 0;
	warm_read(warm, arena, "t", 1, 1, replies(arena, 100));
	leave(warm, arena, 1, 1000);
	warm_claimed(warm, warm_find(warm, arena, "t"), 1);
	warm_committed(warm, arena, "t", 1, 2, value_empty_array(), false);
	ck_assert_uint_eq(destroyed, 1);
	leave(warm, arena, 3, 1000);
	warm_forget(warm, "t");
	ck_assert_uint_eq(destroyed, 2);
	/* It counts. */
	warm_read(warm, arena, "t", 1, 1, replies(arena, 100));
	leave(warm, arena, 1, ROOM);
	ck_assert_uint_eq(destroyed, 3);
	ck_assert_uint_eq(warm_bytes(warm), 0);
	warm_destroy(&warm);
	arena_destroy(&arena);
}
END_TEST

START_TEST(what_is_larger_than_all_room_is_lent_and_not_kept)
{
	struct warm *warm = warm_new(100);
	struct arena *arena = arena_new();

	ck_assert_uint_eq(value_size(keep(warm, arena, "t", 100)), 100);
	ck_assert_ptr_null(warm_find(warm, arena, "t"));
	ck_assert_uint_eq(warm_bytes(warm), 0);
	warm_destroy(&warm);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_store_warm(void)
{
	TCase *tcase = tcase_create("store_warm");

	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, who_ran_a_thread_last_does_not_read_it_again);
	tcase_add_test(tcase, another_owner_in_between_is_noticed);
	tcase_add_test(tcase, a_claim_of_another_in_between_is_noticed);
	tcase_add_test(tcase, a_version_that_redis_has_forgotten_is_noticed);
	tcase_add_test(tcase, a_version_that_another_owner_has_left_is_noticed);
	tcase_add_test(tcase, another_epoch_is_noticed);
	tcase_add_test(tcase, a_thread_that_was_deleted_and_made_anew_is_read);
	tcase_add_test(tcase, a_thread_that_was_deleted_is_empty);
	tcase_add_test(tcase, a_run_that_was_not_ended_is_read);
	tcase_add_test(tcase, behind_a_commit_that_was_refused_it_is_read);
	tcase_add_test(tcase, what_was_not_used_for_longest_goes);
	tcase_add_test(tcase, what_is_lent_stays_when_it_is_forgotten);
	tcase_add_test(tcase, what_a_run_leaves_is_for_who_claims_next);
	tcase_add_test(tcase, what_a_run_leaves_goes_with_the_next_commit_or_the_thread);
	tcase_add_test(tcase, what_is_larger_than_all_room_is_lent_and_not_kept);
	return tcase;
}
