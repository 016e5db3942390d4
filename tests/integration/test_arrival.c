/* Submissions that reach a thread together: a run of theirs is claimed as it comes, and the others
 * wait in their order. */
#include <check.h>

#include "arena.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "kit_clock.h"
#include "store_runs.h"

TCase *tcase_arrival(void);

#define WAIT_MS 60000u
#define RUNS 20u
#define HOUR_MS 3600000

/* One step of Redis: one read of the inbox gets them all. */
#define SUBMIT                                                                           \
	"for i = 1, 20 do redis.call('XADD', KEYS[1], '*', 'agent', 'clerk', "           \
	"'thread', 't', 'run', 'r' .. i, 'input', '\"hi\"') end"

/* The first has been read by one who is dead. */
#define SUBMIT_BEHIND_A_LOST_ONE                                                         \
	"redis.pcall('XGROUP', 'CREATE', KEYS[1], 'coordinators', '0', 'MKSTREAM') "     \
	"for i = 1, 20 do redis.call('XADD', KEYS[1], '*', 'agent', 'clerk', "           \
	"'thread', 't', 'run', 'r' .. i, 'input', '\"hi\"') "                            \
	"if i == 1 then redis.call('XREADGROUP', 'GROUP', 'coordinators', "              \
	"'dead', 'STREAMS', KEYS[1], '>') end end"

static const char *
agent(struct arena *arena)
{
	const char *text = "name: clerk\nmodel: scripted:clerk\nscript:\n  clerk:\n";
	unsigned i;

	for (i = 0; i < RUNS; i++)
		text = arena_printf(arena, "%s    - content: Yes.\n", text);
	return text;
}

static const char *
run_name(struct arena *arena, unsigned number)
{
	return arena_printf(arena, "r%u", number);
}

struct play {
	struct arena *arena;
	const char *submit; /* makes the entries, in one step of Redis */
};

static void
play(struct fleet_client *client, void *arg)
{
	const struct play *play = arg;
	struct arena *arena = play->arena;
	struct redis *redis = store_redis(client->store);
	const struct value *reply, *record;
	int64_t before = 0;
	unsigned i;

	ck_assert_int_eq(redis_text(redis, arena, WAIT_MS, &reply, "EVAL", play->submit,
			     "1", STORE_INBOX, NULL),
	    REDIS_OK);
	for (i = 1; i <= RUNS; i++)
		ck_assert(client_wait_end(client, "t", run_name(arena, i), WAIT_MS));
	ck_assert_int_eq(redis_text(redis, arena, WAIT_MS, &reply, "LRANGE",
			     arena_printf(arena, "%s:r", store_thread_key(arena, "t")),
			     "0", "-1", NULL),
	    REDIS_OK);
	ck_assert_uint_eq(value_size(reply), RUNS);
	for (i = 1; i <= RUNS; i++) {
		ck_assert_str_eq(
		    redis_reply_text(value_at(reply, i - 1)), run_name(arena, i));
		ck_assert_int_eq(
		    store_run(client->store, arena, "t", run_name(arena, i), &record),
		    STORE_OK);
		ck_assert_str_eq(value_get_text(record, "status"), "success");
		ck_assert_int_ge(value_get_int(record, "started", 0), before);
		before = value_get_int(record, "ended", 0);
	}
}

static void
all_go_in_their_order(struct fleet_kit *kit, unsigned coordinators, const char *submit)
{
	struct play plays = { arena_new(), submit };

	kit_start_all(kit, 1, 1, coordinators);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "agents.yaml", agent(plays.arena)), NULL);
	client_run(kit_redis(kit), play, &plays);
	arena_destroy(&plays.arena);
}

static void
goes_in_its_order(unsigned coordinators, const char *submit)
{
	struct fleet_kit *kit = kit_new();

	all_go_in_their_order(kit, coordinators, submit);
	kit_destroy(&kit);
}

START_TEST(what_comes_together_goes_in_its_order)
{
	goes_in_its_order(1, SUBMIT);
}
END_TEST

START_TEST(what_a_dead_coordinator_has_read_goes_before_what_came_later)
{
	goes_in_its_order(2, SUBMIT_BEHIND_A_LOST_ONE);
}
END_TEST

/* The entry's id says that it was submitted in an hour: ids never go back. */
static void
play_delayed(struct fleet_client *client, void *arg)
{
	struct arena *arena = arg;

	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "later"), "after_ms", value_str(arena, "1"), "input",
		value_str(arena, "\"hi\""), NULL));
	ck_assert(client_wait_end(client, "later", "later", WAIT_MS));
}

/* By Redis's clock it will be read in an hour: nobody is to wait for that. */
START_TEST(what_was_read_before_the_clock_was_set_back_is_read_again)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();

	kit_have_clock(kit);
	kit_start(kit, KIT_REDIS, 0);
	kit_set_clock(kit, HOUR_MS);
	kit_redis_cli(kit, 0, "EVAL", SUBMIT_BEHIND_A_LOST_ONE, "1", STORE_INBOX, NULL);
	kit_set_clock(kit, 0);
	all_go_in_their_order(kit, 2, "return 1");
	client_run(kit_redis(kit), play_delayed, arena);
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

/* --- a thread that nobody can write to ------------------------------------------------------ */

/* More than a coordinator lets wait (HELD_MAX), and threads of their own behind them. */
#define SUBMIT_TO_DAMAGED                                                                \
	"for i = 1, 100 do redis.call('XADD', KEYS[1], '*', 'agent', 'clerk', "          \
	"'thread', 't', 'run', 'bad' .. i, 'input', '\"hi\"') end "                      \
	"for i = 1, 20 do redis.call('XADD', KEYS[1], '*', 'agent', 'clerk', "           \
	"'thread', 'good' .. i, 'run', 'r' .. i, 'input', '\"hi\"') end"

/* Keys of thread "t" that are no hash or list. */
static const char *const wrong_keys[] = { "", ":q", ":r" };

static void
must_be(struct fleet_client *client, struct arena *arena, const char *thread,
    const char *run, const char *status)
{
	const struct value *record;

	ck_assert_msg(client_wait_end(client, thread, run, WAIT_MS), "%s", run);
	ck_assert_int_eq(store_run(client->store, arena, thread, run, &record), STORE_OK);
	ck_assert_str_eq(value_get_text(record, "status"), status);
}

static void
play_damaged(struct fleet_client *client, void *arg)
{
	struct arena *arena = arena_new();
	struct redis *redis = store_redis(client->store);
	const char *key =
	    arena_printf(arena, "%s%s", store_thread_key(arena, "t"), (const char *)arg);
	const struct value *reply;
	unsigned i;

	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "before"), "thread", value_str(arena, "t"), "input",
		value_str(arena, "\"hi\""), NULL));
	must_be(client, arena, "t", "before", "success");
	redis_text(redis, arena, WAIT_MS, &reply, "SET", key, "neither", NULL);
	ck_assert_int_eq(redis_text(redis, arena, WAIT_MS, &reply, "EVAL",
			     SUBMIT_TO_DAMAGED, "1", STORE_INBOX, NULL),
	    REDIS_OK);
	for (i = 1; i <= RUNS; i++)
		must_be(client, arena, arena_printf(arena, "good%u", i),
		    run_name(arena, i), "success");
	for (i = 1; i <= 100; i++)
		must_be(client, arena, "t", arena_printf(arena, "bad%u", i), "refused");
	arena_destroy(&arena);
}

START_TEST(a_damaged_thread_refuses_what_comes)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const char *key = wrong_keys[_i];

	kit_flag(kit, KIT_COORDINATOR, "--log-level", "error");
	kit_start_all(kit, 1, 1, 2);
	kit_flotilla(
	    kit, "agents", "apply", kit_write(kit, "agents.yaml", agent(arena)), NULL);
	client_run(kit_redis(kit), play_damaged, (void *)key);
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

/* --- an id that is used again ------------------------------------------------------------- */

static void
submit_as_before(
    struct fleet_client *client, struct arena *arena, const struct value *record)
{
	static const char *const names[] = { "agent", "version", "input", "options" };
	struct value_fields fields = { .arena = arena };
	int64_t before;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		value_fields_set(&fields, names[i], value_get(record, names[i]));
	ck_assert_int_eq(store_submit(client->store, arena, "t", "r",
			     value_fields_end(&fields), &before),
	    STORE_OK);
}

/* The thread's head tells of the run that had the id, which is deleted; who has claimed the new one is dead. */
static void
play_deleted(struct fleet_client *client, void *arg)
{
	struct fleet_kit *kit = arg;
	struct arena *arena = arena_new();
	struct redis *redis = store_redis(client->store);
	const struct value *record, *reply;
	const char *answer;
	struct store_claim claim;

	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "r"), "thread", value_str(arena, "t"), "input",
		value_str(arena, "\"hi\""), NULL));
	must_be(client, arena, "t", "r", "success");
	kit_stop(kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(store_run(client->store, arena, "t", "r", &record), STORE_OK);
	ck_assert_int_eq(
	    store_forget_run(client->store, arena, "t", "r", &answer), STORE_OK);
	ck_assert_str_eq(answer, "FORGOTTEN");
	submit_as_before(client, arena, record);
	store_act_as(client->store, "dead", "dead");
	ck_assert_int_eq(store_claim(client->store, arena, "t", 1, &claim), STORE_OK);
	kit_start(kit, KIT_COORDINATOR, 0);
	must_be(client, arena, "t", "r", "success");
	ck_assert_int_eq(
	    redis_text(redis, arena, WAIT_MS, &reply, "LLEN",
		arena_printf(arena, "%s:m", store_thread_key(arena, "t")), NULL),
	    REDIS_OK);
	ck_assert_int_eq(reply->integer, 4); /* it has had its input, and its answer */
	arena_destroy(&arena);
}

START_TEST(who_takes_over_a_deleted_runs_successor_begins_it)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();

	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(
	    kit, "agents", "apply", kit_write(kit, "agents.yaml", agent(arena)), NULL);
	client_run(kit_redis(kit), play_deleted, kit);
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_arrival(void)
{
	TCase *tcase = tcase_create("arrival");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, what_comes_together_goes_in_its_order);
	tcase_add_test(
	    tcase, what_a_dead_coordinator_has_read_goes_before_what_came_later);
	tcase_add_test(tcase, what_was_read_before_the_clock_was_set_back_is_read_again);
	tcase_add_test(tcase, who_takes_over_a_deleted_runs_successor_begins_it);
	tcase_add_loop_test(tcase, a_damaged_thread_refuses_what_comes, 0,
	    sizeof wrong_keys / sizeof *wrong_keys);
	return tcase;
}
