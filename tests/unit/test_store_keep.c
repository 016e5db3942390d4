/* Threads as a whole: what becomes of one that is not free, its past, pruning, deletion, expiry. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "store.h"

TCase *tcase_store_keep(void);

#define LONG 60000u

/* Submits run to thread "t" with one more field. */
static enum store_status
submit_with(const char *run, const char *name, const char *text)
{
	struct arena *arena = trial.arena;
	const char *other;
	int64_t before;

	store_bind_run(trial.a, arena, run, "t", &other);
	return store_submit(trial.a, arena, "t", run,
	    value_map(arena, "agent", value_str(arena, "clerk"), name,
		value_str(arena, text), NULL),
	    &before);
}

static const struct value *
record(const char *run)
{
	const struct value *record = NULL;

	ck_assert_int_eq(store_run(trial.a, trial.arena, "t", run, &record), STORE_OK);
	return record;
}

static const char *
status_of(const char *run)
{
	return value_get_text(record(run), "status");
}

/* Commits version, which the claim stands before: one message, a field with its number. */
static void
commit(struct store_claim *claim, const char *status, const char *head_status)
{
	struct arena *arena = trial.arena;
	int64_t number = (int64_t)claim->version;
	const struct value *range = value_array_add(arena,
	    value_array_add(arena, value_empty_array(), value_int(arena, number)),
	    value_int(arena, number));
	const struct value *order = value_array_add(arena, value_empty_array(), range);
	const struct value *fields = value_map(arena,
	    arena_printf(arena, "f%d", (int)number), value_int(arena, number), NULL);
	struct store_commit one = {
		.thread = "t",
		.run = claim->run,
		.epoch = claim->epoch,
		.version = claim->version,
		.id = arena_printf(arena, "%s.%d", claim->run, (int)number),
		.status = status,
		.head = value_map(arena, "run", value_str(arena, claim->run), "status",
		    value_str(arena, head_status), NULL),
		.order = order,
		.messages = value_array_add(arena, value_empty_array(),
		    value_map(arena, "type", value_str(arena, "human"), "content",
			value_str(arena, claim->run), NULL)),
		.fields = fields,
		.events = value_empty_array(),
		.run_fields = value_empty_map(),
	};

	one.checkpoint = value_map(arena, "version", value_int(arena, number + 1), "run",
	    value_str(arena, claim->run), "status", value_str(arena, head_status), "spec",
	    value_str(arena, "v1"), "first", value_int(arena, number), "count",
	    value_int(arena, 1), "at", value_int(arena, INT64_MAX / 2), "order", order,
	    "fields", fields, NULL);
	ck_assert_int_eq(store_commit(trial.a, arena, &one, &trial.committed), STORE_OK);
	claim->version = trial.committed.version;
}

/* Runs run on thread "t" in count commits. */
static void
play_run(const char *run, unsigned count, const char *status)
{
	struct store_claim claim;

	trial_submit("t", run);
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, run);
	for (; count > 1; count--)
		commit(&claim, "running", "running");
	commit(&claim, status, status);
}

static const struct value *
thread(void)
{
	const struct value *state = NULL;

	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	return state;
}

/* --- a thread that is not free ------------------------------------------------------------ */

static void
play_reject(void)
{
	struct store_claim claim;

	ck_assert_int_eq(submit_with("r1", "multitask", "reject"), STORE_OK);
	ck_assert_int_eq(submit_with("r2", "multitask", "reject"), STORE_REJECTED);
	ck_assert_ptr_nonnull(strstr(store_error(trial.a), "busy with run 'r1'"));
	trial_claim(trial.a, "t", LONG, &claim);
	/* Told again, it is no other answer; and a run that is known is left alone. */
	ck_assert_int_eq(submit_with("r2", "multitask", "reject"), STORE_REJECTED);
	ck_assert_str_eq(status_of("r2"), "refused");
	ck_assert_int_eq(submit_with("r1", "multitask", "reject"), STORE_KNOWN);
	commit(&claim, "success", "success");
	ck_assert_int_eq(submit_with("r3", "multitask", "reject"), STORE_OK);
}

START_TEST(who_does_not_wait_is_refused_while_the_thread_is_busy)
{
	trial_play(play_reject);
}
END_TEST

static void
play_interrupt(void)
{
	struct store_claim claim;

	trial_submit("t", "r1");
	trial_claim(trial.a, "t", LONG, &claim);
	trial_submit("t", "r2");
	trial_submit("t", "r3");
	ck_assert_int_eq(submit_with("r4", "multitask", "interrupt"), STORE_OK);
	ck_assert_str_eq(status_of("r2"), "cancelled");
	ck_assert_str_eq(status_of("r3"), "cancelled");
	ck_assert_str_eq(value_get_text(record("r1"), "replaced_by"), "r4");
	ck_assert(store_cancel_wanted(trial.a, trial.arena, "t", "r1"));
	ck_assert_int_eq(submit_with("r4", "multitask", "interrupt"), STORE_KNOWN);
	commit(&claim, "cancelled", "cancelled");
	ck_assert_uint_eq(trial.committed.waiting, 1);
	trial_claim(trial.b, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r4");
	ck_assert_int_eq(claim.rollback, -1);
}

START_TEST(who_interrupts_is_next)
{
	trial_play(play_interrupt);
}
END_TEST

static void
play_rollback(void)
{
	struct store_claim claim;

	play_run("r1", 2, "success");
	trial_submit("t", "r2");
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "running", "running");
	ck_assert_int_eq(submit_with("r3", "multitask", "rollback"), STORE_OK);
	/* It goes on as itself to its end, also when it is taken over. */
	trial_hset("t:t", "owner", "");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r2");
	ck_assert_int_eq(claim.rollback, -1);
	/* One rollback in place of the other goes as far back. */
	ck_assert_int_eq(submit_with("r4", "multitask", "rollback"), STORE_OK);
	commit(&claim, "success", "success");
	ck_assert_uint_eq(value_size(value_get(thread(), "messages")), 1);
	ck_assert(!value_has(value_get(thread(), "fields"), "f2"));
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_str_eq(claim.run, "r4");
	ck_assert_int_eq(claim.rollback, 2);
	ck_assert_int_eq(value_get_int(record("r4"), "base", -1), 2);
	commit(&claim, "success", "success");
	trial_submit("t", "r5");
	trial_claim(trial.a, "t", LONG, &claim);
	ck_assert_int_eq(claim.rollback, -1);
}

START_TEST(a_rollback_holds_until_the_next_run_has_begun)
{
	trial_play(play_rollback);
}
END_TEST

/* --- the past ------------------------------------------------------------------------------ */

static void
play_past(void)
{
	struct store_past past;

	play_run("r1", 3, "success");
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 2, &past), STORE_OK);
	ck_assert_int_eq(value_get_int(past.fields, "f1", -1), 1);
	ck_assert(!value_has(past.fields, "f2"));
	ck_assert_str_eq(value_get_text(past.head, "version"), "v1");
	ck_assert(!value_has(past.head, "order"));
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 0, &past), STORE_OK);
	ck_assert_ptr_null(past.head);
	ck_assert_uint_eq(value_size(past.fields), 0);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 4, &past), STORE_NONE);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "no", 1, &past), STORE_NONE);
}

START_TEST(a_state_of_the_past_has_what_was_written_until_then)
{
	trial_play(play_past);
}
END_TEST

static void
play_prune(void)
{
	struct store_pruned pruned;
	struct store_past past;

	play_run("r1", 2, "success");
	play_run("r2", 2, "success");
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 2, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.checkpoints, 2);
	ck_assert_uint_eq(pruned.messages, 2);
	ck_assert_uint_eq(pruned.runs, 1);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 2, &past), STORE_NONE);
	ck_assert_int_eq(store_past(trial.a, trial.arena, "t", 3, &past), STORE_OK);
	ck_assert_int_eq(value_get_int(past.fields, "f0", -1), 0);
	ck_assert(!value_has(past.fields, "f3"));
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 2, false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.checkpoints + pruned.messages + pruned.runs, 0);
	play_run("r3", 1, "success");
	ck_assert_uint_eq(value_size(value_get(thread(), "messages")), 1);
}

START_TEST(pruned_again_nothing_more_goes)
{
	trial_play(play_prune);
}
END_TEST

static void
play_erase(void)
{
	static const char *const rest[] = { "forgotten", "fl:run:r1", "fl:run:r2",
		"leases" };
	static const char *const leases[] = { "leases" };
	struct store_claim claim;
	struct store_pruned pruned;

	play_run("r1", 1, "interrupted");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_WAITS);
	ck_assert_int_eq(
	    store_prune(trial.a, trial.arena, "t", 1, false, &pruned), STORE_WAITS);
	trial_submit("t", "r2");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", true, &pruned), STORE_BUSY);
	ck_assert_str_eq(pruned.busy, "r2");
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "success", "success");
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
	ck_assert_uint_eq(pruned.runs, 2);
	trial_check_keys(rest, sizeof rest / sizeof *rest);
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
	trial_check_keys(leases, 1);
	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_NONE);
}

START_TEST(of_a_deleted_thread_nothing_is_left)
{
	trial_play(play_erase);
}
END_TEST

static void
forget_gone(void)
{
	ck_assert_int_eq(
	    store_forget_gone(trial.a, trial.arena, store_shard("t"), 10), STORE_OK);
}

static void
erase(void)
{
	struct store_pruned pruned;

	ck_assert_int_eq(
	    store_erase(trial.a, trial.arena, "t", false, &pruned), STORE_OK);
}

static void
check_name(const char *run, const char *thread)
{
	const char *named;

	ck_assert_int_eq(store_run_thread(trial.a, trial.arena, run, &named), STORE_OK);
	ck_assert_str_eq(named, thread);
}

/* Somebody has deleted its name, and died before he could strike the run out. */
static void
play_name_elsewhere(void)
{
	play_run("r1", 1, "success");
	erase();
	trial_ask("DEL", "fl:run:r1");
	trial_submit("elsewhere", "r1");
	forget_gone();
	check_name("r1", "elsewhere");
}

START_TEST(a_name_that_is_another_threads_by_now_stays)
{
	trial_play(play_name_elsewhere);
}
END_TEST

/* Somebody deleted the name between the two steps of a submission on the same thread. */
static void
play_name_again(void)
{
	struct store_claim claim;

	play_run("r1", 1, "success");
	erase();
	trial_submit("t", "r1");
	trial_ask("DEL", "fl:run:r1");
	forget_gone();
	check_name("r1", "t");
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "success", "success");
	forget_gone();
	check_name("r1", "t");
}

START_TEST(a_run_that_lives_again_gets_its_name_back)
{
	trial_play(play_name_again);
}
END_TEST

/* Who moved the entry died before he could delete it; the run has ended and is deleted. */
static void
play_entry(void)
{
	static const char *const rest[] = { "leases", "fl:inbox" };
	struct store_claim claim;

	trial_ask("XGROUP", "CREATE", STORE_INBOX, STORE_INBOX_GROUP, "0", "MKSTREAM");
	trial_ask("XADD", STORE_INBOX, "7-1", "run", "r1");
	trial_ask("XREADGROUP", "GROUP", STORE_INBOX_GROUP, "dead", "STREAMS",
	    STORE_INBOX, ">");
	ck_assert_int_eq(submit_with("r1", "entry", "7-1"), STORE_OK);
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "success", "success");
	erase();
	ck_assert_int_eq(submit_with("r1", "entry", "7-1"), STORE_NONE);
	ck_assert_int_eq(
	    store_refuse(trial.a, trial.arena, "t", "r1", "ValueError", "no",
		value_map(trial.arena, "entry", value_str(trial.arena, "7-1"), NULL)),
	    STORE_NONE);
	forget_gone();
	ck_assert_int_eq(trial_ask("XLEN", STORE_INBOX)->integer, 0);
	ck_assert_int_eq(
	    value_at(trial_ask("XPENDING", STORE_INBOX, STORE_INBOX_GROUP), 0)->integer,
	    0);
	trial_check_keys(rest, 2);
	/* Another entry is another run. */
	ck_assert_int_eq(submit_with("r1", "entry", "7-2"), STORE_OK);
}

START_TEST(an_entry_whose_run_was_deleted_is_none_any_more)
{
	trial_play(play_entry);
}
END_TEST

/* Every chunk may come twice, and who took over begins again. */
static void
play_fill(void)
{
	struct store_copy copy = { .source = "t", .version = 2 };
	struct store_claim lost, claim;
	const struct value *copied;

	play_run("r1", 3, "success");
	ck_assert_int_eq(
	    store_history(trial.a, trial.arena, "t", &copy.history), STORE_OK);
	trial_submit("u", "c1");
	trial_claim(trial.a, "u", 0, &lost);
	ck_assert_int_eq(store_fill(trial.a, "u", "c1", lost.epoch, &copy), STORE_OK);
	trial_claim(trial.b, "u", LONG, &claim);
	ck_assert_uint_eq(claim.version, 2);
	ck_assert_ptr_null(claim.head);
	ck_assert_int_eq(store_fill(trial.a, "u", "c1", lost.epoch, &copy), STORE_FENCED);
	ck_assert_int_eq(store_fill(trial.b, "u", "c1", claim.epoch, &copy), STORE_OK);
	ck_assert_int_eq(store_history(trial.b, trial.arena, "u", &copied), STORE_OK);
	ck_assert_uint_eq(value_size(copied), 2);
	copy.version = 9;
	ck_assert_int_eq(store_fill(trial.b, "u", "c1", claim.epoch, &copy), STORE_NONE);
}

START_TEST(a_copy_goes_on_after_a_death)
{
	trial_play(play_fill);
}
END_TEST

static size_t
expire(void)
{
	const struct value *threads = NULL;

	ck_assert_int_eq(
	    store_expire(trial.a, trial.arena, store_shard("t"), 10, &threads), STORE_OK);
	return value_size(threads);
}

/* Its time is over. */
static void
make_due(void)
{
	trial_ask("ZADD",
	    arena_printf(
		trial.arena, "%sttl", store_prefix(trial.arena, store_shard("t"))),
	    "1", "t");
}

static void
play_expiry(void)
{
	struct store_claim claim;
	const struct value *state;

	ck_assert_int_eq(submit_with("r1", "ttl", "1000 keep_latest"), STORE_OK);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	trial_claim(trial.a, "t", LONG, &claim);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	commit(&claim, "interrupted", "interrupted");
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	play_run("r2", 1, "success");
	make_due();
	ck_assert_uint_eq(expire(), 1);
	ck_assert_uint_eq(expire(), 0); /* for a minute */
	/* What is usual counts for threads of which nothing was said. */
	ck_assert_int_eq(submit_with("r0", "usual_ttl", "1000 delete"), STORE_OK);
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "success", "success");
	make_due();
	ck_assert_uint_eq(expire(), 1);
	ck_assert_int_eq(submit_with("r3", "ttl", "1000 delete"), STORE_OK);
	trial_claim(trial.a, "t", LONG, &claim);
	commit(&claim, "success", "success");
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_OK);
	make_due();
	ck_assert_uint_eq(expire(), 0);
	ck_assert_int_eq(store_thread(trial.a, trial.arena, "t", &state), STORE_NONE);
}

START_TEST(who_waits_for_an_answer_does_not_expire)
{
	trial_play(play_expiry);
}
END_TEST

TCase *
tcase_store_keep(void)
{
	TCase *tcase = tcase_create("store_keep");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, who_does_not_wait_is_refused_while_the_thread_is_busy);
	tcase_add_test(tcase, who_interrupts_is_next);
	tcase_add_test(tcase, a_rollback_holds_until_the_next_run_has_begun);
	tcase_add_test(tcase, a_state_of_the_past_has_what_was_written_until_then);
	tcase_add_test(tcase, pruned_again_nothing_more_goes);
	tcase_add_test(tcase, of_a_deleted_thread_nothing_is_left);
	tcase_add_test(tcase, a_name_that_is_another_threads_by_now_stays);
	tcase_add_test(tcase, a_run_that_lives_again_gets_its_name_back);
	tcase_add_test(tcase, an_entry_whose_run_was_deleted_is_none_any_more);
	tcase_add_test(tcase, a_copy_goes_on_after_a_death);
	tcase_add_test(tcase, who_waits_for_an_answer_does_not_expire);
	return tcase;
}
