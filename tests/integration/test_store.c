/* Long-term memory on a fleet of real processes: reached from a hook, a wrap, a tool and the command
 * line, and still there when every process was killed. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "children.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_store(void);

static const char agent[] =
    "name: host\n"
    "model: scripted:s\n"
    "middleware: [remembers]\n"
    "script:\n"
    "  s:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: a, name: remember, args: {key: tea, likes: green}}\n"
    "        - {id: b, name: remember, args: {key: cake, likes: none}}\n"
    "    - content: Welcome.\n";

static const struct value *
parsed(struct arena *arena, const char *text)
{
	const char *error;
	const struct value *value = json_parse(arena, text, strlen(text), &error);

	ck_assert_msg(value != NULL, "%s: %s", error, text);
	return value;
}

static const struct value *
fields_of(struct fleet_kit *kit, struct arena *arena, const char *thread)
{
	return value_get(
	    parsed(arena, kit_flotilla(kit, "state", thread, "--json", NULL)), "fields");
}

static void
visit(struct fleet_kit *kit, const char *thread, const char *user)
{
	kit_flotilla(kit, "submit", "host", "hello", "--thread", thread, "--context",
	    user, "--wait", NULL);
}

static void
kill_all(struct fleet_kit *kit)
{
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_kill(kit, KIT_TOOLS, 0);
	kit_kill(kit, KIT_MODEL, 0);
	kit_kill(kit, KIT_BROKER, 0);
	kit_kill(kit, KIT_REDIS, 0);
}

START_TEST(what_an_agent_knows_outlives_threads_and_processes)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	const char *plugin = kit_built(kit, "plugins/remembers.so");
	const struct value *found;

	kit_flag(kit, KIT_COORDINATOR, "--plugin", plugin);
	kit_flag(kit, KIT_MODEL, "--plugin", plugin);
	kit_flag(kit, KIT_TOOLS, "--plugin", plugin);
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "host.yaml", agent),
	    "--plugin", plugin, NULL);
	visit(kit, "t1", "{\"user\": \"ann\"}");
	ck_assert_value(arena, fields_of(kit, arena, "t1"), "{'visits': 1, 'known': 3}");
	kill_all(kit);
	kit_start_all(kit, 1, 1, 1);
	visit(kit, "t2", "{\"user\": \"ann\"}");
	ck_assert_value(arena, fields_of(kit, arena, "t2"), "{'visits': 2, 'known': 3}");
	visit(kit, "t3", "{\"user\": \"bob\"}");
	ck_assert_value(arena, fields_of(kit, arena, "t3"), "{'visits': 1, 'known': 3}");
	found = parsed(arena, kit_flotilla(kit, "store", "search", "users/ann",
				  "--filter", "{\"likes\": \"green\"}", "--json", NULL));
	ck_assert_uint_eq(value_size(value_get(found, "items")), 1);
	ck_assert_value(arena, value_get(value_at(value_get(found, "items"), 0), "value"),
	    "{'key': 'tea', 'likes': 'green'}");
	kit_flotilla(kit, "store", "delete", "users/ann", "tea", NULL);
	kit_flotilla(kit, "store", "put", "users/ann", "pets", "{\"dogs\": 2}", "--index",
	    "[\"dogs\"]", NULL);
	found = parsed(arena,
	    kit_flotilla(kit, "store", "get", "users/ann", "pets", "--json", NULL));
	ck_assert_value(arena, value_get(value_get(found, "item"), "index"), "['dogs']");
	ck_assert_str_eq(kit_flotilla(kit, "store", "get", "users/ann", "pets", NULL),
	    "{\"dogs\":2}\n");
	ck_assert_str_eq(kit_flotilla(kit, "store", "search", "users/ann", NULL),
	    "users/ann  cake  {\"key\":\"cake\",\"likes\":\"none\"}\n"
	    "users/ann  pets  {\"dogs\":2}\n"
	    "users/ann  visits  {\"count\":2}\n");
	ck_assert_str_eq(
	    kit_flotilla(kit, "store", "namespaces", NULL), "users/ann\nusers/bob\n");
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_store(void)
{
	TCase *tc = tcase_create("store");

	tcase_add_test(tc, what_an_agent_knows_outlives_threads_and_processes);
	tcase_set_timeout(tc, 120);
	return tc;
}
