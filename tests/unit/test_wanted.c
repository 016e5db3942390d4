/* What somebody listens to on the status channel: what the broker makes of its readers, what it
 * tells, and what a publisher makes of that. */
#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interfaces under test */
#include "../../broker/wishes.h"
#include "keyed_bench.h"
#include "memory.h"
#include "wanted.h"

TCase *tcase_wanted(void);

static struct wishes *wishes;
static struct wanted wanted;
static uint64_t now_ms;

static void
setup(void)
{
	wishes = wishes_new();
	wanted = (struct wanted){ .prefixes = NULL };
	now_ms = 5000;
}

static void
teardown(void)
{
	wishes_destroy(&wishes);
	wanted_forget(&wanted);
}

static void
hear(unsigned char what, const char *prefix)
{
	char message[256] = { (char)what };

	snprintf(message + 1, sizeof message - 1, "%s", prefix);
	wishes_hear(wishes, message, strlen(prefix) + 1, now_ms);
}

static void
hear_run(unsigned char what, unsigned number)
{
	char prefix[32];

	snprintf(prefix, sizeof prefix, "run.%u.", number);
	hear(what, prefix);
}

static bool
changes(void)
{
	return wishes_changed(wishes, now_ms);
}

static void
learn(const void *data, size_t size)
{
	struct parts parts = { .count = 0 };

	parts_add(&parts, "header", 6);
	if (data != NULL)
		parts_add(&parts, data, size);
	wanted_learn(&wanted, &parts);
	parts_release(&parts);
}

/* The publisher learns what the broker tells. */
static void
tell(bool whether)
{
	struct packet packet = { 0 };

	wishes_pack(wishes, whether, &packet);
	learn(packet.data, packet.size);
	packet_release(&packet);
}

static bool
wants(const char *topic)
{
	return wanted_has(&wanted, topic);
}

/* --- the broker's readers ----------------------------------------------------------------- */

START_TEST(what_is_wanted_is_told_at_once_and_by_prefix)
{
	ck_assert(!changes());
	tell(false);
	ck_assert(!wants("run.1.step"));
	hear(1, "run.1.");
	hear(1, "worker.");
	ck_assert(changes());
	ck_assert(!changes());
	tell(false);
	ck_assert(wants("run.1.step"));
	ck_assert(wants("worker.w.up"));
	ck_assert(!wants("run.2.step"));
	ck_assert(!wants("run.1"));
	hear(1, "");
	ck_assert(changes());
	tell(false);
	ck_assert(wants("run.2.step"));
}
END_TEST

START_TEST(what_is_wanted_no_more_is_told_later_and_not_when_it_is_wanted_again)
{
	hear(1, "run.1.");
	hear(1, "run.2.");
	ck_assert(changes());
	hear(0, "run.1.");
	hear(0, "run.2.");
	ck_assert(!changes());
	hear(1, "run.2.");
	now_ms += WISHES_KEEP_MS - 1;
	ck_assert(!changes());
	now_ms++;
	ck_assert(changes());
	tell(false);
	ck_assert(!wants("run.1.step"));
	ck_assert(wants("run.2.step"));
	hear(0, "run.2.");
	hear(1, "run.2.");
	now_ms += WISHES_KEEP_MS;
	ck_assert(!changes());
	wishes_clear(wishes, now_ms);
	now_ms += WISHES_KEEP_MS;
	ck_assert(changes());
	tell(false);
	ck_assert(!wants("run.2.step"));
}
END_TEST

/* However they come and go: some dozen changes a second are told. */
START_TEST(readers_who_come_and_go_do_not_make_the_broker_talk)
{
	unsigned told = 0, i;

	for (i = 0; i < 100000; i++) {
		hear_run(1, i);
		told += changes();
		hear_run(0, i);
		told += changes();
	}
	ck_assert_uint_eq(told, WANTED_PREFIXES_MAX + 1);
	tell(false);
	ck_assert(wants("anything"));
	now_ms += WISHES_KEEP_MS;
	ck_assert(changes());
	tell(false);
	ck_assert(!wants("run.1.step"));
}
END_TEST

/* Those that have no room are counted. */
START_TEST(above_what_is_kept_everything_is_wanted_until_they_have_gone)
{
	unsigned i;

	for (i = 0; i < 1000; i++)
		hear_run(1, i);
	ck_assert(changes());
	for (i = 0; i < 999; i++)
		hear_run(0, i);
	now_ms += WISHES_KEEP_MS;
	ck_assert(!changes());
	tell(false);
	ck_assert(wants("run.1.step"));
	hear(0, "run.999.");
	now_ms += WISHES_KEEP_MS;
	ck_assert(changes());
	tell(false);
	ck_assert(!wants("run.999.step"));
}
END_TEST

START_TEST(what_can_begin_no_topic_or_is_no_subscription_is_ignored)
{
	char prefix[TOPIC_BYTES_MAX + 2];

	memset(prefix, 'r', sizeof prefix - 1);
	prefix[sizeof prefix - 1] = '\0';
	hear(1, prefix);
	hear(1, "run. ");
	hear(1, "run.\xff");
	hear(2, "run.");
	hear(0, "run.");
	wishes_hear(wishes, "\1run\0.", 6, now_ms);
	wishes_hear(wishes, "", 0, now_ms);
	ck_assert(!changes());
	prefix[TOPIC_BYTES_MAX] = '\0';
	hear(1, prefix);
	ck_assert(changes());
	tell(false);
	ck_assert(wants(prefix));
}
END_TEST

START_TEST(whether_names_nobody)
{
	tell(true);
	ck_assert(!wants("run.1.step"));
	hear(1, "run.secret.");
	ck_assert(changes());
	tell(true);
	ck_assert(wants("run.1.step"));
	ck_assert_uint_eq(wanted.packed.size, 2);
}
END_TEST

/* --- the publisher ------------------------------------------------------------------------ */

START_TEST(who_was_not_told_or_cannot_read_it_publishes_everything)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = { { "", 0 }, { "\x80", 1 }, { "\x91\x01", 2 }, { "\x92\xa1r", 3 },
		{ "\xc1", 1 }, { "\xdd\x10\0\0\0", 5 } };
	size_t i;

	ck_assert(wants("run.1.step"));
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		learn("\x90", 1);
		ck_assert(!wants("run.1.step"));
		learn(NULL, 0); /* a PONG that says nothing */
		ck_assert(!wants("run.1.step"));
		learn(bad[i].bytes, bad[i].size);
		ck_assert(wants("run.1.step"));
	}
	learn("\x90", 1);
	wanted_forget(&wanted);
	ck_assert(wants("run.1.step"));
}
END_TEST

/* --- who is told -------------------------------------------------------------------------- */

static void
greet(uint64_t peer, enum wire_role role, const char *session, unsigned flags)
{
	bench_send(&bench, peer,
	    (struct header){ .type = MSG_HELLO,
		.flags = flags,
		.role = role,
		.session = session,
		.name = "n",
		.protocol_min = 1,
		.protocol_max = 1 });
}

#define SESSION_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SESSION_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void
change(void)
{
	bench_wanted(&bench);
}

START_TEST(who_asked_for_it_is_told_behind_welcome_with_pong_and_on_each_change)
{
	keyed_setup();
	greet(C2, ROLE_COORDINATOR, SESSION_A, WIRE_QUIET);
	ck_assert_int_eq(bench.actions.items[0].header.type, MSG_WELCOME);
	ck_assert_int_eq(bench.actions.items[1].header.type, MSG_WANTED);
	ck_assert_int_eq(bench.actions.items[1].wanted, WANTED_PREFIXES);
	bench_send(&bench, C2, (struct header){ .type = MSG_PING });
	ck_assert_int_eq(
	    bench_expect(&bench, C2, MSG_PONG, NULL)->wanted, WANTED_PREFIXES);
	change();
	ck_assert_int_eq(
	    bench_expect(&bench, C2, MSG_WANTED, NULL)->wanted, WANTED_PREFIXES);
	/* Anew, without the flag: an older program with the same session. */
	greet(C2, ROLE_COORDINATOR, SESSION_A, 0);
	ck_assert_ptr_null(bench_sent(&bench, C2, MSG_WANTED, NULL));
	change();
	ck_assert_ptr_null(bench_sent(&bench, C2, MSG_WANTED, NULL));
	bench_send(&bench, C2, (struct header){ .type = MSG_PING });
	ck_assert_int_eq(bench_expect(&bench, C2, MSG_PONG, NULL)->wanted, WANTED_UNSAID);
	keyed_teardown();
}
END_TEST

START_TEST(with_keys_a_worker_hears_only_whether_and_a_client_nothing)
{
	keyed_setup();
	greet(W, ROLE_WORKER, SESSION_A, WIRE_QUIET);
	ck_assert_int_eq(
	    bench_expect(&bench, W, MSG_WANTED, NULL)->wanted, WANTED_WHETHER);
	greet(L, ROLE_CLIENT, SESSION_B, WIRE_QUIET);
	ck_assert_ptr_null(bench_sent(&bench, L, MSG_WANTED, NULL));
	change();
	ck_assert_int_eq(
	    bench_expect(&bench, W, MSG_WANTED, NULL)->wanted, WANTED_WHETHER);
	ck_assert_ptr_null(bench_sent(&bench, L, MSG_WANTED, NULL));
	keyed_teardown();
}
END_TEST

TCase *
tcase_wanted(void)
{
	TCase *tcase = tcase_create("wanted");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_wanted_is_told_at_once_and_by_prefix);
	tcase_add_test(
	    tcase, what_is_wanted_no_more_is_told_later_and_not_when_it_is_wanted_again);
	tcase_add_test(tcase, readers_who_come_and_go_do_not_make_the_broker_talk);
	tcase_add_test(
	    tcase, above_what_is_kept_everything_is_wanted_until_they_have_gone);
	tcase_add_test(tcase, what_can_begin_no_topic_or_is_no_subscription_is_ignored);
	tcase_add_test(tcase, whether_names_nobody);
	tcase_add_test(tcase, who_was_not_told_or_cannot_read_it_publishes_everything);
	tcase_add_test(
	    tcase, who_asked_for_it_is_told_behind_welcome_with_pong_and_on_each_change);
	tcase_add_test(tcase, with_keys_a_worker_hears_only_whether_and_a_client_nothing);
	return tcase;
}
