#include <check.h>

#include "fiber.h"
#include "loop.h"

/* Interface under test */
#include "gate.h"

TCase *tcase_gate(void);

#define GUESTS 5

static struct loop *loop;
static struct gate gate;
static struct fiber *fibers[GUESTS];
static int order[GUESTS], refused[GUESTS];
static unsigned entered, ended, inside, most_inside;
static struct fiber *door; /* waits until guests may leave */
static unsigned may_leave;
static uint64_t still_inside;

static void
set_up(void)
{
	loop = loop_new();
}

static void
tear_down(void)
{
	loop_destroy(&loop);
}

/* Goes in, stays until it is let out, leaves. */
static void
guest(void *arg)
{
	int number = *(int *)arg;

	if (gate_enter(&gate) == -1) {
		refused[number] = 1;
		ended++;
		return;
	}
	order[entered++] = number;
	most_inside = ++inside > most_inside ? inside : most_inside;
	while (may_leave == 0)
		fiber_sleep(1);
	may_leave--;
	inside--;
	gate_leave(&gate);
	ended++;
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return ended == GUESTS;
}

static bool
all_and_one_ended(void *arg)
{
	(void)arg;
	return ended == GUESTS + 1;
}

static void
start_guests(void)
{
	static int numbers[GUESTS];
	int i;

	for (i = 0; i < GUESTS; i++) {
		numbers[i] = i;
		fibers[i] = fiber_start(loop, "guest", guest, &numbers[i]);
		ck_assert_ptr_nonnull(fibers[i]);
	}
}

static void
let_out(void *arg)
{
	(void)arg;
	while (entered < 2)
		fiber_sleep(1);
	may_leave = GUESTS;
}

START_TEST(lets_no_more_in_than_it_has_room_for_and_keeps_the_order)
{
	int i;

	gate_init(&gate, 2);
	start_guests();
	door = fiber_start(loop, "door", let_out, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_eq(most_inside, 2);
	for (i = 0; i < GUESTS; i++)
		ck_assert_int_eq(order[i], i);
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

START_TEST(without_a_bound_lets_all_in)
{
	gate_init(&gate, 0);
	start_guests();
	may_leave = 0;
	door = fiber_start(loop, "door", let_out, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_eq(most_inside, GUESTS);
}
END_TEST

static void
make_room(void *arg)
{
	(void)arg;
	while (entered < 1)
		fiber_sleep(1);
	gate_resize(&gate, 3);
	while (entered < 3)
		fiber_sleep(1);
	gate_resize(&gate, 1);
	may_leave = 1;
	while (ended < 1)
		fiber_sleep(1);
	still_inside = gate.inside;
	may_leave = GUESTS;
}

START_TEST(its_room_may_change)
{
	int i;

	gate_init(&gate, 1);
	start_guests();
	door = fiber_start(loop, "door", make_room, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_eq(most_inside, 3);
	ck_assert_uint_eq(still_inside, 2); /* nobody came for the one that left */
	for (i = 0; i < GUESTS; i++)
		ck_assert_int_eq(order[i], i);
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

static void
cancel_second(void *arg)
{
	(void)arg;
	while (entered < 1)
		fiber_sleep(1);
	fiber_cancel(fibers[1]);
	while (!refused[1])
		fiber_sleep(1);
	may_leave = GUESTS;
}

START_TEST(who_is_cancelled_leaves_the_queue_and_holds_no_place)
{
	gate_init(&gate, 1);
	start_guests();
	door = fiber_start(loop, "door", cancel_second, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_eq(entered, GUESTS - 1);
	ck_assert_uint_eq(most_inside, 1);
	ck_assert_int_eq(order[1], 2);
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

/* Hands the place to guest 1 and cancels it before it runs. */
static void
leave_and_cancel(void *arg)
{
	(void)arg;
	while (entered < 1)
		fiber_sleep(1);
	gate_leave(&gate);
	fiber_cancel(fibers[1]);
	while (!refused[1])
		fiber_sleep(1);
	/* The place went on: guest 2 has it. The one given away above is guest 0's. */
	gate.inside++;
	may_leave = GUESTS;
}

START_TEST(a_place_handed_to_one_who_is_cancelled_goes_on_to_the_next)
{
	gate_init(&gate, 1);
	start_guests();
	door = fiber_start(loop, "door", leave_and_cancel, NULL);
	loop_run_until(loop, all_ended, NULL);
	ck_assert_uint_eq(entered, GUESTS - 1);
	ck_assert_int_eq(order[1], 2);
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

static void
hurry(void *arg)
{
	(void)arg;
	while (entered < 1)
		fiber_sleep(1);
	ck_assert_int_eq(gate_enter_ms(&gate, 5), 1);
	ck_assert_uint_eq(gate.inside, 1);
	may_leave = GUESTS;
	ck_assert_int_eq(gate_enter_ms(&gate, 60000), 0); /* behind the guests */
	ck_assert_uint_eq(entered, GUESTS);
	gate_leave(&gate);
	ended++;
}

START_TEST(who_has_no_more_time_leaves_the_queue)
{
	gate_init(&gate, 1);
	start_guests();
	door = fiber_start(loop, "door", hurry, NULL);
	loop_run_until(loop, all_and_one_ended, NULL);
	ck_assert_uint_eq(most_inside, 1);
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

/* Two of a house, whose own gate has room for one, and then somebody else. */
static struct gate house;
static bool went_in[3];

static void
one_of_the_house(void *arg)
{
	bool *is_in = arg;

	ck_assert_int_eq(gate_enter_both_ms(&house, &gate, 60000), 0);
	*is_in = true;
	while (may_leave == 0)
		fiber_sleep(1);
	gate_leave_both(&house, &gate);
	ended++;
}

static void
somebody_else(void *arg)
{
	(void)arg;
	while (!went_in[0])
		fiber_sleep(1);
	ck_assert_int_eq(gate_enter_both_ms(NULL, &gate, 60000), 0);
	went_in[2] = true;
	ck_assert(!went_in[1]);
	/* Of all there is no room left, of another house there is: that place is given back. */
	gate_resize(&house, 3);
	ck_assert_int_eq(gate_enter_both_ms(&house, &gate, 5), 1);
	may_leave = 1;
	gate_leave_both(NULL, &gate);
	ended++;
}

static bool
three_have_ended(void *arg)
{
	(void)arg;
	return ended == 3;
}

START_TEST(who_waits_at_his_own_gate_is_in_nobodys_way)
{
	gate_init(&gate, 2);
	gate_init(&house, 1);
	for (size_t i = 0; i < 2; i++)
		fiber_start(loop, "one", one_of_the_house, &went_in[i]);
	fiber_start(loop, "else", somebody_else, NULL);
	loop_run_until(loop, three_have_ended, NULL);
	ck_assert(went_in[0] && went_in[1] && went_in[2]);
	ck_assert_uint_eq(gate.inside, 0);
	ck_assert_uint_eq(house.inside, 0);
}
END_TEST

TCase *
tcase_gate(void)
{
	TCase *tcase = tcase_create("gate");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, lets_no_more_in_than_it_has_room_for_and_keeps_the_order);
	tcase_add_test(tcase, without_a_bound_lets_all_in);
	tcase_add_test(tcase, its_room_may_change);
	tcase_add_test(tcase, who_is_cancelled_leaves_the_queue_and_holds_no_place);
	tcase_add_test(tcase, a_place_handed_to_one_who_is_cancelled_goes_on_to_the_next);
	tcase_add_test(tcase, who_has_no_more_time_leaves_the_queue);
	tcase_add_test(tcase, who_waits_at_his_own_gate_is_in_nobodys_way);
	return tcase;
}
