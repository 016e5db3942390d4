/* What a coordinator knows of the fleet's tools when their names come and go. */
#include <check.h>

#include "fiber.h"
#include "store_agents.h"
#include "store_trial.h"

/* Interface under test */
#include "../../coordinator/catalog.h"

TCase *tcase_catalog(void);

static struct catalog *catalog;

static const struct value *
definition(const char *name)
{
	return value_map(trial.arena, "name", value_str(trial.arena, name), NULL);
}

/* A worker that serves tool offers it, with the definition of that and of count others. */
static void
offer(const char *session, const char *tool, unsigned count)
{
	struct wire_service service = { arena_printf(trial.arena, "tool:%s", tool), 1 };
	const struct header header = { .type = MSG_OFFER,
		.session = session,
		.services = &service,
		.service_count = 1 };
	struct value_list announced = { .arena = trial.arena };
	struct parts bodies = { .count = 0 };
	struct packet packet = { 0 };
	unsigned i;

	value_list_add(&announced, definition(tool));
	for (i = 0; i < count; i++)
		value_list_add(
		    &announced, definition(arena_printf(trial.arena, "%s%u", tool, i)));
	value_pack(&packet, value_list_end(&announced));
	parts_add(&bodies, packet.data, packet.size);
	catalog_offer(catalog, 0, &header, &bodies);
	parts_release(&bodies);
	packet_release(&packet);
}

static void
play_names(void)
{
	catalog = catalog_new(redis_trial.loop, trial.a);
	offer("one", "a", CATALOG_TOOLS_MAX - 2);
	offer("two", "b", 0);
	/* There is room for all, though few of them are served. */
	ck_assert_uint_eq(value_size(catalog_tools(catalog)), CATALOG_TOOLS_MAX);
	offer("two", "b", 1);
	ck_assert_uint_eq(value_size(catalog_tools(catalog)), 3);
	ck_assert(value_has(catalog_tools(catalog), "a"));
	ck_assert(value_has(catalog_tools(catalog), "b"));
	ck_assert(value_has(catalog_tools(catalog), "b0"));
}

/* Of tools in Redis: one that is served was served long ago, one was not for long, of one nobody knows; and one that is
 * served is not there, for Redis has lost it. */
static void
play_kept(void)
{
	const struct value *tools = NULL;

	catalog = catalog_new(redis_trial.loop, trial.a);
	offer("one", "served", 0);
	offer("two", "lost", 0);
	while (value_size(tools) < 2) {
		ck_assert_int_eq(fiber_sleep(10), 0);
		ck_assert_int_eq(store_tools(trial.a, trial.arena, &tools), STORE_OK);
	}
	trial_ask(
	    "HSET", STORE_TOOLS, "served", "\xc0", "gone", "\xc0", "unknown", "\xc0");
	trial_ask("HDEL", STORE_TOOLS, "lost");
	trial_ask("ZADD", STORE_TOOLS_SEEN, "1", "served", "1", "gone");
	catalog_tell(catalog);
	ck_assert_int_eq(store_tools(trial.a, trial.arena, &tools), STORE_OK);
	ck_assert_uint_eq(value_size(tools), 3);
	ck_assert(value_has(tools, "served"));
	ck_assert(value_has(tools, "unknown"));
	ck_assert(value_has(tools, "lost"));
	catalog_tell(catalog);
	ck_assert_int_eq(trial_ask("ZCARD", STORE_TOOLS_SEEN)->integer, 3);
	ck_assert_int_eq(trial_ask("ZCOUNT", STORE_TOOLS_SEEN, "-inf", "2")->integer, 0);
	catalog_destroy(&catalog);
}

/* As announced lately, "there" is another one than Redis has. */
static void
play_recalled(void)
{
	struct arena *arena = trial.arena;
	const struct value *stored =
	    value_map(arena, "name", value_str(arena, "stored"), NULL);

	catalog = catalog_new(redis_trial.loop, trial.a);
	store_put_tools(trial.a, arena,
	    value_map(arena, "gone", definition("gone"), "there", stored, NULL));
	offer("one", "there", 0);
	ck_assert_int_eq(catalog_recall(catalog, "tool:gone"), 0);
	ck_assert_int_eq(catalog_recall(catalog, "tool:there"), 0);
	ck_assert_int_eq(catalog_recall(catalog, "tool:unknown"), 0);
	ck_assert_int_eq(catalog_recall(catalog, "model:gone"), 0);
	ck_assert_uint_eq(value_size(catalog_tools(catalog)), 2);
	ck_assert(value_has(catalog_tools(catalog), "gone"));
	ck_assert_str_eq(
	    value_get_text(value_get(catalog_tools(catalog), "there"), "name"), "there");
}

START_TEST(what_redis_has_of_a_tool_is_known_when_it_is_wanted)
{
	trial_play(play_recalled);
	redis_trial_run();
	catalog_destroy(&catalog);
}
END_TEST

START_TEST(what_nobody_has_served_for_long_is_forgotten)
{
	trial_play(play_kept);
}
END_TEST

START_TEST(what_nobody_serves_is_known_while_there_is_room)
{
	trial_play(play_names);
	redis_trial_run(); /* what is new is written to Redis meanwhile */
	catalog_destroy(&catalog);
}
END_TEST

TCase *
tcase_catalog(void)
{
	TCase *tcase = tcase_create("catalog");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, what_nobody_has_served_for_long_is_forgotten);
	tcase_add_test(tcase, what_nobody_serves_is_known_while_there_is_room);
	tcase_add_test(tcase, what_redis_has_of_a_tool_is_known_when_it_is_wanted);
	return tcase;
}
