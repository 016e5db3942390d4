#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "json.h"
#include "literal.h"
#include "memory.h"

/* Interface under test */
#include "seat.h"

TCase *tcase_seat(void);

#define SESSION "0123456789abcdef0123456789abcdef"
#define MANY 1001 /* one more than may wait */
#define MEGABYTE (1u << 20)

static struct loop *loop;
static struct seats *seats;
static char trace[512];
static unsigned jobs; /* that are not done */
static bool all_over;
static struct fiber *late; /* that a chain cancels at its end, or NULL */

/* A call, and what was answered to it. */
struct guest {
	const char *id, *request;
	struct fiber *fiber;
	char answer[256];
	bool went_on, has_ended;
};

struct job {
	struct worker_call *call;
};

static void
setup(void)
{
	loop = loop_new();
	seats = seats_new(loop, SESSION);
	trace[0] = '\0';
	jobs = 0;
	all_over = false;
	late = NULL;
}

static void
on_over(void *arg)
{
	(void)arg;
	all_over = true;
}

static bool
is_over(void *arg)
{
	(void)arg;
	return all_over;
}

static void
teardown(void)
{
	seats_close(seats);
	seats_end(seats, on_over, NULL);
	loop_run_until(loop, is_over, NULL);
	ck_assert_uint_eq(jobs, 0);
	seats_destroy(&seats);
	loop_destroy(&loop);
}

static void
note(const char *text)
{
	size_t used = strlen(trace);

	snprintf(trace + used, sizeof trace - used, "%s ", text);
}

/* --- a chain --------------------------------------------------------------------------- */

/* Takes what the request says: `megabytes`; `stuck`: waits until it is cancelled; `wants` so many children, in a
 * `shield`; behind them `sticks`, as stuck. Answers what they brought. */
static const struct value *
run(void *arg, struct seat *seat, struct arena *arena, const struct value *profile,
    const struct value *request)
{
	struct value_list list = { .arena = arena };
	const struct value *ask = NULL, *came = value_nil();
	struct job *job = arg;
	int64_t i;

	(void)profile;
	note("begins");
	arena_alloc(arena, (size_t)value_get_int(request, "megabytes", 0) * MEGABYTE + 1);
	if (value_get_bool(request, "shield", false))
		fiber_shield(true);
	while (value_get_bool(request, "stuck", false) && fiber_wait() == 0)
		;
	for (i = 0; i < value_get_int(request, "wants", 1); i++) {
		ask = value_map(arena, "n", value_int(arena, i), NULL);
		came = seat_await(seat, ask, (size_t)i);
		if (came == NULL && job->call == NULL)
			note("lost");
		if (came == NULL)
			break;
		value_list_add(&list, came);
	}
	if (value_get_bool(request, "shield", false))
		fiber_shield(false);
	while (value_get_bool(request, "sticks", false) && fiber_wait() == 0)
		;
	if (late != NULL)
		fiber_cancel(late);
	if (fiber_cancelled())
		return value_str(arena, "cancelled");
	return came == NULL ? value_map(arena, "child", ask, NULL)
			    : value_list_end(&list);
}

static void
attach(void *arg, struct worker_call *call)
{
	((struct job *)arg)->call = call;
}

static void
done(void *arg)
{
	jobs--;
	free(arg);
}

/* --- calls ----------------------------------------------------------------------------- */

static void
guest_main(void *arg)
{
	struct guest *guest = arg;
	struct arena *arena = arena_new();
	struct header header = { .call_id = guest->id };
	struct worker_call call = { .header = &header,
		.arena = arena,
		.profile = value_empty_map(),
		.request = literal(arena, guest->request) };
	const struct value *body = seat_go_on(seats, &call);
	struct job *job;

	guest->went_on = body != NULL;
	if (body == NULL) {
		job = xcalloc(1, sizeof *job);
		jobs++;
		body = seat_begin(
		    seats, &call, &(struct seat_work){ job, run, attach, done });
	}
	snprintf(guest->answer, sizeof guest->answer, "%s", json_text(arena, body));
	arena_destroy(&arena);
	guest->has_ended = true;
}

static void
enter(struct guest *guest, const char *id, const char *request)
{
	*guest = (struct guest){ .id = id, .request = request };
	guest->fiber = fiber_start(loop, "call", guest_main, guest);
	ck_assert_ptr_nonnull(guest->fiber);
}

static bool
has_ended(void *arg)
{
	return ((struct guest *)arg)->has_ended;
}

static void
see_out(struct guest *guest)
{
	loop_run_until(loop, has_ended, guest);
}

/* Answers the call with id and request; it goes on with another one, or begins. */
static void
check_call(const char *id, const char *request, bool goes_on, const char *answer)
{
	struct guest guest;

	enter(&guest, id, request);
	see_out(&guest);
	ck_assert_str_eq(guest.answer, answer);
	ck_assert_int_eq(guest.went_on, goes_on);
}

static bool
has_lost(void *arg)
{
	(void)arg;
	return strstr(trace, "lost") != NULL;
}

static bool
has_room(void *arg)
{
	(void)arg;
	return jobs == MANY - 1;
}

#define ASKS(n) "{\"child\":{\"n\":" n "},\"kept_by\":\"" SESSION "\"}"
#define ASKS_UNKEPT "{\"child\":{\"n\":0}}"

START_TEST(a_chain_goes_on_where_it_was)
{
	check_call("r.2.0", "{'wants': 2, 'a': [1]}", false, ASKS("0"));
	check_call(
	    "r.2.0+1", "{'wants': 2, 'a': [1], 'children': ['x']}", true, ASKS("1"));
	check_call("r.2.0+2", "{'wants': 2, 'a': [1], 'children': ['x', {'y': 1}]}", true,
	    "[\"x\",{\"y\":1}]");
	ck_assert_str_eq(trace, "begins ");
	ck_assert_uint_eq(jobs, 0);
}
END_TEST

START_TEST(places_are_kept_by_call)
{
	check_call("r.2.0", "{}", false, ASKS("0"));
	check_call("r.2.1", "{}", false, ASKS("0"));
	check_call("r.2.1+1", "{'children': ['b']}", true, "[\"b\"]");
	check_call("r.2.0+1", "{'children': ['a']}", true, "[\"a\"]");
	check_call("r.3.0", "{'wants': 0}", false, "[]");
}
END_TEST

/* The worker of one was lost ("~1"), the place of another was ("r"): the coordinator counts on all the same. */
START_TEST(a_calls_other_ids_go_on_as_its_first)
{
	check_call("r.2.0~1", "{}", false, ASKS("0"));
	check_call("r.2.0+1", "{'children': ['a']}", true, "[\"a\"]");
	check_call("r.2.1+1r", "{'wants': 1}", false, ASKS("0"));
	check_call("r.2.1+1", "{'wants': 1, 'children': ['a']}", true, "[\"a\"]");
}
END_TEST

/* Those of a tenant have '~' in their own names, and so may others. */
START_TEST(runs_may_have_any_name)
{
	check_call("acme~r+1.2.0", "{}", false, ASKS("0"));
	check_call("acme~s.2.0", "{}", false, ASKS("0"));
	check_call("acme~r+1.2.0+1", "{'children': ['a']}", true, "[\"a\"]");
	check_call("acme~s.2.0~1", "{'wants': 0}", false, "[]");
	check_call("acme~s.2.0+1", "{'children': ['b']}", true, "[\"b\"]");
}
END_TEST

START_TEST(a_place_that_is_lost_ends_its_chain)
{
	check_call("r.2.0", "{}", false, ASKS("0"));
	seats_close(seats);
	loop_run_until(loop, has_lost, NULL);
	ck_assert_str_eq(trace, "begins lost ");
	ck_assert_uint_eq(jobs, 0);
	check_call("r.2.0+1", "{'children': ['x']}", false, ASKS_UNKEPT);
}
END_TEST

START_TEST(a_shield_keeps_no_place)
{
	check_call("r.2.0", "{'shield': true}", false, ASKS("0"));
	seats_close(seats);
	loop_run_until(loop, has_lost, NULL);
	ck_assert_uint_eq(jobs, 0);
}
END_TEST

/* The same call ran twice here, since nobody heard the first answer: the second one's place is the call's. */
START_TEST(a_call_that_came_twice_has_one_place)
{
	check_call("r.2.0", "{}", false, ASKS("0"));
	check_call("r.2.0", "{}", false, ASKS("0"));
	loop_run_until(loop, has_lost, NULL);
	ck_assert_uint_eq(jobs, 1);
	check_call("r.2.0+1", "{'children': ['x']}", true, "[\"x\"]");
	ck_assert_str_eq(trace, "begins begins lost ");
}
END_TEST

/* A run that was deleted, and another one of its id. */
START_TEST(another_call_of_the_id_does_not_get_the_place)
{
	check_call("r.2.0", "{'tool_call': {'id': 'a'}}", false, ASKS("0"));
	check_call(
	    "r.2.0+1", "{'tool_call': {'id': 'b'}, 'children': ['x']}", false, ASKS("0"));
	loop_run_until(loop, has_lost, NULL);
	ck_assert_uint_eq(jobs, 1);
	check_call(
	    "r.2.0+1", "{'tool_call': {'id': 'a'}, 'children': ['x']}", false, ASKS("0"));
}
END_TEST

START_TEST(a_call_with_other_children_does_not_get_the_place)
{
	check_call("r.2.0", "{}", false, ASKS("0"));
	check_call("r.2.0+1", "{'children': []}", false, ASKS("0"));
	check_call("r.2.1", "{}", false, ASKS("0"));
	check_call("r.2.1+1", "{'children': ['x', 'y']}", false, ASKS("0"));
}
END_TEST

START_TEST(the_one_that_waits_longest_makes_room)
{
	static struct guest guests[MANY];
	static char ids[MANY][16];
	size_t i;

	for (i = 0; i < MANY; i++) {
		snprintf(ids[i], sizeof ids[i], "r.2.%zu", i);
		enter(&guests[i], ids[i], "{}");
		see_out(&guests[i]);
		ck_assert_str_eq(guests[i].answer, ASKS("0"));
	}
	loop_run_until(loop, has_room, NULL);
	check_call("r.2.0+1", "{'wants': 0, 'children': ['x']}", false, "[]");
	check_call("r.2.1+1", "{'children': ['x']}", true, "[\"x\"]");
	check_call("r.2.1000+1", "{'children': ['x']}", true, "[\"x\"]");
}
END_TEST

START_TEST(what_they_keep_has_a_bound)
{
	check_call("r.2.0", "{'megabytes': 40}", false, ASKS("0"));
	check_call("r.2.1", "{'megabytes': 65}", false, ASKS_UNKEPT);
	ck_assert_str_eq(trace, "begins begins ");
	check_call("r.2.2", "{'megabytes': 40}", false, ASKS("0"));
	loop_run_until(loop, has_lost, NULL);
	ck_assert_uint_eq(jobs, 1);
	check_call("r.2.2+1", "{'megabytes': 40, 'children': ['x']}", true, "[\"x\"]");
}
END_TEST

/* --- cancelled ------------------------------------------------------------------------- */

static void
cancel(void *arg)
{
	struct guest *guest = arg;

	if (!guest->has_ended)
		fiber_cancel(guest->fiber);
}

/* Cancels the call after so many turns of the loop. */
static void
cancel_in(struct guest *guest, unsigned turns)
{
	struct timer *timer;

	for (; turns > 0 && !guest->has_ended; turns--) {
		all_over = false;
		timer = timer_start(loop, 0, 0, on_over, NULL);
		loop_run_until(loop, is_over, NULL);
		timer_stop(&timer);
	}
	cancel(guest);
	see_out(guest);
	all_over = false;
}

START_TEST(a_call_that_is_cancelled_stops_its_chain)
{
	struct guest guest;

	enter(&guest, "r.2.0", "{'stuck': true}");
	cancel_in(&guest, (unsigned)_i);
	ck_assert_str_eq(guest.answer, "\"cancelled\"");
	ck_assert_uint_eq(jobs, 0);
}
END_TEST

/* At whichever moment: it has its answer, or was cancelled, and nothing is left in its chain. */
START_TEST(a_call_is_cancelled_at_any_moment)
{
	struct guest guest;

	enter(&guest, "r.2.0", "{}");
	cancel_in(&guest, (unsigned)_i);
	if (strcmp(guest.answer, ASKS("0")) != 0)
		ck_assert_uint_eq(jobs, 0);
}
END_TEST

START_TEST(a_call_that_goes_on_is_cancelled)
{
	struct guest guest;

	check_call("r.2.0", "{'sticks': true}", false, ASKS("0"));
	enter(&guest, "r.2.0+1", "{'sticks': true, 'children': ['x']}");
	cancel_in(&guest, (unsigned)_i);
	ck_assert_str_eq(guest.answer, "\"cancelled\"");
}
END_TEST

/* Both are ready in one turn of the loop: the chain has ended, and is freed, before the call looks. */
START_TEST(a_call_is_cancelled_as_its_chain_ends)
{
	struct guest guest;

	enter(&guest, "r.2.0", "{'wants': 0}");
	late = guest.fiber;
	see_out(&guest);
	ck_assert_str_eq(guest.answer, "[]");
	ck_assert_uint_eq(jobs, 0);
}
END_TEST

TCase *
tcase_seat(void)
{
	TCase *tcase = tcase_create("seat");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_chain_goes_on_where_it_was);
	tcase_add_test(tcase, places_are_kept_by_call);
	tcase_add_test(tcase, a_calls_other_ids_go_on_as_its_first);
	tcase_add_test(tcase, runs_may_have_any_name);
	tcase_add_test(tcase, a_place_that_is_lost_ends_its_chain);
	tcase_add_test(tcase, a_shield_keeps_no_place);
	tcase_add_test(tcase, a_call_that_came_twice_has_one_place);
	tcase_add_test(tcase, another_call_of_the_id_does_not_get_the_place);
	tcase_add_test(tcase, a_call_with_other_children_does_not_get_the_place);
	tcase_add_test(tcase, the_one_that_waits_longest_makes_room);
	tcase_add_test(tcase, what_they_keep_has_a_bound);
	tcase_add_loop_test(tcase, a_call_that_is_cancelled_stops_its_chain, 0, 4);
	tcase_add_loop_test(tcase, a_call_is_cancelled_at_any_moment, 0, 5);
	tcase_add_test(tcase, a_call_is_cancelled_as_its_chain_ends);
	tcase_add_loop_test(tcase, a_call_that_goes_on_is_cancelled, 0, 4);
	return tcase;
}
