/* Assistants as they are kept in Redis: made, changed, chosen, found; against a real Redis. */
#include <check.h>
#include <string.h>

#include "store_trial.h"

/* Interface under test */
#include "assistants.h"

TCase *tcase_store_assistants(void);

#define KEY_OF_ALL "fl:assistants"

static struct assistant
make(const char *id)
{
	return (struct assistant){ .id = id,
		.agent = "clerk",
		.name = "Clara",
		.config = value_empty_map(),
		.context = value_map(trial.arena, "tone", VALUE_TEXT("dry"), NULL),
		.metadata = value_map(trial.arena, "team", VALUE_TEXT("sales"), NULL) };
}

static void
create(const struct assistant *assistant)
{
	ck_assert_int_eq(assistants_create(trial.a, trial.arena, assistant), STORE_OK);
}

static struct assistant
get(const char *id)
{
	struct assistant assistant;

	ck_assert_int_eq(assistants_read(trial.a, trial.arena, id, &assistant), STORE_OK);
	return assistant;
}

static void
have_agent(const char *name)
{
	trial_ask("HSET", STORE_AGENTS, name, "v");
}

/* --- one ---------------------------------------------------------------------------------- */

static void
play_keeping(void)
{
	struct assistant clara = make("clara"), found;

	ck_assert_int_eq(assistants_create(trial.a, trial.arena, &clara), STORE_OUTDATED);
	have_agent("clerk");
	clara.description = "of few words";
	create(&clara);
	ck_assert_int_eq(assistants_create(trial.b, trial.arena, &clara), STORE_KNOWN);
	found = get("clara");
	ck_assert_str_eq(found.agent, "clerk");
	ck_assert_str_eq(found.name, "Clara");
	ck_assert_str_eq(found.description, "of few words");
	ck_assert(value_equal(found.config, value_empty_map()));
	ck_assert(value_equal(found.context, clara.context));
	ck_assert(value_equal(found.metadata, clara.metadata));
	ck_assert_uint_eq(found.version, 1);
	ck_assert_int_gt(found.created_ms, 0);
	ck_assert_int_eq(found.version_ms, found.created_ms);
	clara.id = "clerk";
	ck_assert_int_eq(assistants_create(trial.a, trial.arena, &clara), STORE_TAKEN);
	ck_assert_int_eq(assistants_delete(trial.a, trial.arena, "clara"), STORE_OK);
	ck_assert_int_eq(assistants_delete(trial.a, trial.arena, "clara"), STORE_NONE);
	ck_assert_int_eq(
	    assistants_read(trial.a, trial.arena, "clara", &found), STORE_NONE);
	ck_assert_int_eq(trial_ask("DBSIZE")->integer, 1); /* the agent */
}

START_TEST(an_assistant_is_kept_as_it_is)
{
	trial_play(play_keeping);
}
END_TEST

static void
play_changes(void)
{
	struct assistant clara = make("clara"), old, found;

	have_agent("clerk");
	create(&clara);
	clara = old = get("clara");
	clara.name = "Carla";
	clara.agent = "nobody";
	ck_assert_int_eq(
	    assistants_change(trial.a, trial.arena, &clara, true), STORE_OUTDATED);
	clara.agent = "clerk";
	ck_assert_int_eq(assistants_change(trial.a, trial.arena, &clara, true), STORE_OK);
	/* Who has read it before knows another one. */
	ck_assert_int_eq(
	    assistants_change(trial.b, trial.arena, &old, false), STORE_STALE);
	found = get("clara");
	ck_assert_str_eq(found.name, "Carla");
	ck_assert_uint_eq(found.version, 2);
	/* The agent is not missed by who does not name it. */
	trial_ask("HDEL", STORE_AGENTS, "clerk");
	ck_assert_int_eq(
	    assistants_change(trial.a, trial.arena, &found, false), STORE_OK);
	ck_assert_uint_eq(get("clara").version, 3);
}

START_TEST(it_is_changed_by_who_knows_it)
{
	trial_play(play_changes);
}
END_TEST

static void
play_remade(void)
{
	struct assistant clara = make("clara"), old;

	have_agent("clerk");
	create(&clara);
	old = get("clara");
	ck_assert_int_eq(assistants_delete(trial.b, trial.arena, "clara"), STORE_OK);
	ck_assert_int_eq(
	    assistants_change(trial.a, trial.arena, &old, false), STORE_NONE);
	ck_assert_int_eq(assistants_choose(trial.a, trial.arena, &old), STORE_NONE);
	/* Nothing is left of it that could come back. */
	clara.name = "Another";
	create(&clara);
	ck_assert_int_eq(
	    assistants_change(trial.a, trial.arena, &old, false), STORE_STALE);
	ck_assert_str_eq(get("clara").name, "Another");
}

START_TEST(who_knows_one_that_was_deleted_changes_no_other)
{
	trial_play(play_remade);
}
END_TEST

static void
play_versions(void)
{
	struct assistant clara = make("clara"), found;
	unsigned i;

	have_agent("clerk");
	create(&clara);
	for (i = 2; i <= ASSISTANT_VERSIONS_MAX + 1; i++) {
		found = get("clara");
		found.name = arena_printf(trial.arena, "n%u", i);
		ck_assert_int_eq(
		    assistants_change(trial.a, trial.arena, &found, false), STORE_OK);
	}
	ck_assert_int_eq(
	    assistants_version(trial.a, trial.arena, "clara", 1, &found), STORE_OUTDATED);
	ck_assert_int_eq(assistants_version(trial.a, trial.arena, "clara", 900, &found),
	    STORE_OUTDATED);
	ck_assert_int_eq(
	    assistants_version(trial.a, trial.arena, "nobody", 1, &found), STORE_NONE);
	ck_assert_int_eq(
	    assistants_version(trial.a, trial.arena, "clara", 2, &found), STORE_OK);
	ck_assert_int_eq(assistants_choose(trial.a, trial.arena, &found), STORE_OK);
	ck_assert_int_eq(assistants_choose(trial.a, trial.arena, &found), STORE_STALE);
	found = get("clara");
	ck_assert_str_eq(found.name, "n2");
	ck_assert_uint_eq(found.version, 2);
	ck_assert_uint_eq(found.newest, ASSISTANT_VERSIONS_MAX + 1);
	/* Numbers are given once. */
	ck_assert_int_eq(
	    assistants_change(trial.a, trial.arena, &found, false), STORE_OK);
	ck_assert_uint_eq(get("clara").version, ASSISTANT_VERSIONS_MAX + 2);
	found.token = get("clara").token;
	ck_assert_int_eq(assistants_choose(trial.a, trial.arena, &found), STORE_NONE);
}

START_TEST(versions_are_kept_and_chosen)
{
	trial_play(play_versions);
}
END_TEST

/* --- all ---------------------------------------------------------------------------------- */

static bool
is_of_sales(const struct assistant *assistant, const void *arg)
{
	(void)arg;
	return value_text_is(value_get(assistant->metadata, "team"), "sales");
}

static void
play_all(void)
{
	struct assistant_wish wish = { 0 };
	struct assistant_list list;
	unsigned i;

	have_agent("clerk");
	for (i = 0; i < 1201; i++) {
		struct assistant one =
		    make(arena_printf(trial.arena, "acme~%04u", 1200 - i));

		if (i < 600)
			one.id = arena_printf(trial.arena, "%04u", i);
		create(&one);
	}
	/* None of ours: the others are found all the same. */
	trial_ask("ZADD", KEY_OF_ALL, "0", "acme~0001x");
	trial_ask("ZADD", KEY_OF_ALL, "0", "odd");
	trial_ask("SET", "fl:assistant:odd", "x");
	ck_assert_int_eq(assistants_find(trial.a, trial.arena, &wish, &list), STORE_OK);
	ck_assert_uint_eq(list.count, 1201);
	ck_assert_str_eq(list.items[0].id, "0000");
	ck_assert_str_eq(list.items[1200].id, "acme~0600");
	ck_assert_str_eq(list.items[1200].name, "Clara");
	wish.tenant = "acme";
	wish.is_wanted = is_of_sales;
	ck_assert_int_eq(assistants_find(trial.a, trial.arena, &wish, &list), STORE_OK);
	ck_assert_uint_eq(list.count, 0);
	wish.sees_metadata = true;
	ck_assert_int_eq(assistants_find(trial.a, trial.arena, &wish, &list), STORE_OK);
	ck_assert_uint_eq(list.count, 601);
	ck_assert_ptr_null(list.items[0].metadata);
	wish.tenant = "acm";
	ck_assert_int_eq(assistants_find(trial.a, trial.arena, &wish, &list), STORE_OK);
	ck_assert_uint_eq(list.count, 0);
}

START_TEST(all_are_found_or_a_tenants)
{
	trial_play(play_all);
}
END_TEST

static void
fill(const char *form, const char *count)
{
	static const char code[] = "for i = 1, tonumber(ARGV[2]) do redis.call('ZADD', "
				   "KEYS[1], 0, ARGV[1] .. i) end";

	trial_ask("EVAL", code, "1", KEY_OF_ALL, form, count);
}

static void
play_bounds(void)
{
	struct assistant one = make("acme~one"), other = make("other~one");

	have_agent("clerk");
	fill("acme~", "1000");
	ck_assert_int_eq(assistants_create(trial.a, trial.arena, &one), STORE_REJECTED);
	ck_assert_ptr_nonnull(strstr(store_error(trial.a), "of the tenant"));
	create(&other);
	fill("x", "8999");
	other.id = "another~one";
	ck_assert_int_eq(assistants_create(trial.a, trial.arena, &other), STORE_REJECTED);
}

START_TEST(there_are_so_many_and_no_more)
{
	trial_play(play_bounds);
}
END_TEST

static void
play_damage(void)
{
	struct assistant clara = make("clara"), found;

	have_agent("clerk");
	create(&clara);
	trial_ask("HSET", "fl:assistant:clara", "v1", "x");
	ck_assert_int_eq(
	    assistants_read(trial.a, trial.arena, "clara", &found), STORE_DAMAGED);
	ck_assert_int_eq(assistants_delete(trial.a, trial.arena, "clara"), STORE_OK);
	trial_ask("SET", "fl:assistant:clara", "x");
	ck_assert_int_eq(
	    assistants_read(trial.a, trial.arena, "clara", &found), STORE_DAMAGED);
	ck_assert_int_eq(assistants_create(trial.a, trial.arena, &clara), STORE_DAMAGED);
	ck_assert_int_eq(assistants_delete(trial.a, trial.arena, "clara"), STORE_OK);
	create(&clara);
}

START_TEST(one_that_is_damaged_can_be_deleted)
{
	trial_play(play_damage);
}
END_TEST

/* --- pure --------------------------------------------------------------------------------- */

static void
play_entry(void)
{
	struct assistant clara = make("clara");
	const char *error = NULL;
	const struct value *given,
	    *entry = value_map(trial.arena, "agent", VALUE_TEXT("old"), "input",
		VALUE_TEXT("\"Hi\""), "context", VALUE_TEXT("{\"n\":1}"), NULL);

	clara.metadata = value_map(trial.arena, "team", VALUE_TEXT("sales"), "tags",
	    value_array_add(trial.arena, value_empty_array(), VALUE_TEXT("a")), NULL);
	given = assistant_gives(trial.arena, &clara, entry, &error);
	ck_assert_ptr_nonnull(given);
	ck_assert_uint_eq(value_size(given), 3);
	ck_assert_str_eq(value_get_text(given, "agent"), "clerk");
	ck_assert_str_eq(value_get_text(given, "context"), "{\"tone\":\"dry\",\"n\":1}");
	ck_assert_str_eq(value_get_text(given, "metadata"),
	    "{\"team\":\"sales\",\"tags\":\"[\\\"a\\\"]\"}");
	/* What it says itself counts. */
	entry = value_map_with(
	    trial.arena, entry, "context", VALUE_TEXT("{\"tone\": \"warm\"}"));
	entry = value_map_with(trial.arena, entry, "recursion_limit", VALUE_TEXT("8"));
	clara.config =
	    value_map(trial.arena, "recursion_limit", value_int(trial.arena, 7), NULL);
	given = assistant_gives(trial.arena, &clara, entry, &error);
	ck_assert_ptr_null(value_get(given, "recursion_limit"));
	entry = value_map_with(trial.arena, entry, "recursion_limit", NULL);
	given = assistant_gives(trial.arena, &clara, entry, &error);
	ck_assert_str_eq(value_get_text(given, "recursion_limit"), "7");
	clara.config =
	    value_map(trial.arena, "max_concurrency", value_int(trial.arena, 2), NULL);
	given = assistant_gives(trial.arena, &clara, entry, &error);
	ck_assert_str_eq(value_get_text(given, "max_concurrency"), "2");
	/* As one may lie in Redis since a time when it counted for nothing. */
	clara.config = value_map(trial.arena, "recursion_limit", VALUE_TEXT("7"), NULL);
	given = assistant_gives(trial.arena, &clara, entry, &error);
	ck_assert_ptr_null(value_get(given, "recursion_limit"));
	ck_assert_str_eq(value_get_text(given, "context"), "{\"tone\":\"warm\"}");
	entry = value_map_with(trial.arena, entry, "context", VALUE_TEXT("[]"));
	ck_assert_ptr_null(assistant_gives(trial.arena, &clara, entry, &error));
	ck_assert_str_eq(error, "context: is no map");
}

START_TEST(a_run_has_what_its_assistant_gives_it)
{
	trial_play(play_entry);
}
END_TEST

TCase *
tcase_store_assistants(void)
{
	TCase *tcase = tcase_create("store_assistants");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, trial_open, trial_close);
	tcase_add_test(tcase, an_assistant_is_kept_as_it_is);
	tcase_add_test(tcase, it_is_changed_by_who_knows_it);
	tcase_add_test(tcase, who_knows_one_that_was_deleted_changes_no_other);
	tcase_add_test(tcase, versions_are_kept_and_chosen);
	tcase_add_test(tcase, all_are_found_or_a_tenants);
	tcase_add_test(tcase, there_are_so_many_and_no_more);
	tcase_add_test(tcase, one_that_is_damaged_can_be_deleted);
	tcase_add_test(tcase, a_run_has_what_its_assistant_gives_it);
	return tcase;
}
