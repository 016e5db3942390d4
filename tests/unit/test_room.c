/* Who may hold states, of those who ask by HTTP. */
#include <check.h>

/* Interface under test */
#include "room.h"

#include "http_server_bench.h"

TCase *tcase_room(void);

static struct api api;
static void (*act)(struct call *call);

static void
on_request(void *arg, struct exchange *exchange)
{
	struct call call = { .api = &api, .exchange = exchange };

	(void)arg;
	act(&call);
	exchange_answer(exchange, 200, "text/plain", "done", 4);
	hs.ended++;
}

static void
open_room(void)
{
	hs_open();
	hs_end_server();
	hs.options.on_request = on_request;
	hs_serve();
	api = (struct api){ .redis_wait_ms = 10 };
	gate_init(&api.states, 1);
	gate_init(&api.lists, 1);
}

static void
check(void (*what)(struct call *call))
{
	struct client *client = hs_dial(0);

	act = what;
	hs_get(client, "/");
	hs_await(client, "done");
	ck_assert_uint_eq(api.states.inside, 0);
}

static void
take_and_leave(struct call *call)
{
	ck_assert_int_eq(room_for_state(call), STORE_OK);
	ck_assert_uint_eq(api.states.inside, 1);
	room_leave_state(call);
	ck_assert_uint_eq(api.states.inside, 0);
}

static void
find_none(struct call *call)
{
	ck_assert_int_eq(gate_enter(&api.states), 0);
	ck_assert_int_eq(room_for_state(call), STORE_REJECTED);
	room_leave_state(call); /* it has none */
	ck_assert_uint_eq(api.states.inside, 1);
	gate_leave(&api.states);
}

static void
keep(struct call *call)
{
	room_keep_state(call);
	ck_assert_uint_eq(api.states.inside, 0); /* before anything is read */
	ck_assert_int_eq(room_for_state(call), STORE_OK);
	room_leave_state(call);
	ck_assert_uint_eq(api.states.inside, 1);
	/* There is none but its own. */
	ck_assert_int_eq(room_for_state(call), STORE_OK);
	room_leave_state(call);
	ck_assert_uint_eq(api.states.inside, 1);
	room_let_go_state(call);
	ck_assert_uint_eq(api.states.inside, 0);
	room_let_go_state(call);
	take_and_leave(call);
}

START_TEST(a_place_is_taken_and_left)
{
	check(take_and_leave);
}
END_TEST

START_TEST(who_finds_none_has_none)
{
	check(find_none);
}
END_TEST

START_TEST(a_place_is_kept_while_what_was_read_is)
{
	check(keep);
}
END_TEST

TCase *
tcase_room(void)
{
	TCase *tcase = tcase_create("room");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, open_room, hs_close);
	tcase_add_test(tcase, a_place_is_taken_and_left);
	tcase_add_test(tcase, who_finds_none_has_none);
	tcase_add_test(tcase, a_place_is_kept_while_what_was_read_is);
	return tcase;
}
