/* What an agent says of its runs: cache, context, debug; on a fleet of real processes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "children.h"
#include "cli.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_agent_options(void);

static const char agents[] =
    "name: parrot\n"
    "model: scripted:s\n"
    "cache: {ttl: 3600}\n"
    "context:\n"
    "  properties: {user: {type: string}}\n"
    "  required: [user]\n"
    "script: {s: [{content: First.}, {content: Second.}]}\n"
    "---\n"
    "name: tidy\n"
    "model: scripted:s\n"
    "cache: true\n"
    "middleware:\n"
    "  - lua:\n"
    "      code: |\n"
    "        function wrap_model_call(request, handler)\n"
    "          local response = handler(request)\n"
    "          local first = request.messages[1].id\n"
    "          response.update = {messages = {{remove = first}}}\n"
    "          return response\n"
    "        end\n"
    "script: {s: [{content: First.}, {content: Second.}]}\n"
    "---\n"
    "name: chatty\n"
    "model: scripted:s\n"
    "middleware: [todo_list]\n"
    "debug: true\n"
    "script: {s: [{content: Done.}]}\n";

static struct fleet_kit *kit;
static struct arena *arena;

static void
open_fleet(void)
{
	arena = arena_new();
	kit = kit_new();
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
close_fleet(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static const char *
answer(const char *thread, const char *text, const char *context)
{
	return kit_flotilla(kit, "submit", "parrot", text, "--thread", thread,
	    "--context", context, "--wait", NULL);
}

/* How many calls the broker has given to workers since it began. */
static int64_t
dispatched(void)
{
	const char *text = kit_flotilla(kit, "top", "--once", "--json", "--status",
		       kit_status(kit), "--broker", kit_broker(kit), NULL),
		   *error;
	const struct value *top = json_parse(arena, text, strlen(text), &error);
	const struct value *broker = value_get(top, "broker");

	ck_assert(value_is(broker, VALUE_MAP));
	return value_get_int(value_get(broker, "counters"), "dispatched", -1);
}

/* The scripted model would say `Second.` to the second message of a thread. */
START_TEST(an_equal_call_is_answered_from_the_cache)
{
	ck_assert_str_eq(answer("t1", "Hi", "{\"user\": \"ann\"}"), "First.\n");
	ck_assert_str_eq(answer("t1", "Hi", "{\"user\": \"ann\"}"), "Second.\n");
	ck_assert_int_eq(dispatched(), 2);
	kit_restart_all(kit); /* what is in Redis outlives everybody */
	ck_assert_str_eq(answer("t2", "Hi", "{\"user\": \"ann\"}"), "First.\n");
	ck_assert_str_eq(answer("t2", "Hi", "{\"user\": \"ann\"}"), "Second.\n");
	ck_assert_int_eq(dispatched(), 0);
	/* Another context is another call, and another thread's ids are its own. */
	ck_assert_str_eq(answer("t3", "Hi", "{\"user\": \"bob\"}"), "First.\n");
	ck_assert_int_eq(dispatched(), 1);
	ck_assert_ptr_nonnull(
	    strstr(kit_flotilla(kit, "state", "t2", NULL), "thread t2: success, 4"));
}
END_TEST

/* It names messages by the ids of its thread, and a cached answer is another's, too. */
START_TEST(what_writes_messages_is_not_cached)
{
	const char *thread;
	char name[] = "u1";

	for (; name[1] <= '2'; name[1]++) {
		ck_assert_str_eq(kit_flotilla(kit, "submit", "tidy", "Hi", "--thread",
				     name, "--wait", NULL),
		    "First.\n");
		thread = kit_flotilla(kit, "state", name, NULL);
		ck_assert_msg(
		    strstr(thread, "success, 1 message,") != NULL, "%s", thread);
	}
}
END_TEST

/* No answer is kept for ever. */
START_TEST(a_cache_without_ttl_has_one_all_the_same)
{
	const char *found;

	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "plain.yaml",
		"name: plain\nmodel: scripted:s\ncache: true\n"
		"script: {s: [{content: Done.}]}\n"),
	    NULL);
	kit_flotilla(kit, "submit", "plain", "Hi", "--wait", NULL);
	found = kit_redis_cli(kit, 0, "EVAL",
	    "return redis.call('PTTL', redis.call('KEYS', 'fl:cache:*')[1])", "0", NULL);
	ck_assert_msg(atoll(found) > 0, "%s", found);
}
END_TEST

START_TEST(a_context_that_does_not_fit_ends_the_run)
{
	const struct cli flotilla = { kit_program(kit, "flotilla"), NULL, arena };
	struct said said = cli_run(&flotilla, NULL,
	    (const char *const[]){ "submit", "parrot", "Hi", "--thread", "t", "--context",
		"{\"user\": 7}", "--wait", "--redis", kit_redis(kit), "--broker",
		kit_broker(kit), "--status", kit_status(kit), NULL });

	ck_assert_int_eq(said.status, 1);
	ck_assert_msg(
	    strstr(said.err, "context: /user: must be") != NULL, "%s", said.err);
	said = cli_run(&flotilla, NULL,
	    (const char *const[]){ "submit", "parrot", "Hi", "--thread", "t", "--wait",
		"--redis", kit_redis(kit), "--broker", kit_broker(kit), "--status",
		kit_status(kit), NULL });
	ck_assert_int_eq(said.status, 1);
	ck_assert_msg(strstr(said.err, "user") != NULL, "%s", said.err);
	/* The thread is as it was: new. */
	ck_assert_str_eq(answer("t", "Hi", "{\"user\": \"ann\"}"), "First.\n");
}
END_TEST

/* It runs nothing that would read one. */
START_TEST(an_update_needs_no_context)
{
	answer("up", "Hi", "{\"user\": \"ann\"}");
	kit_flotilla(kit, "update", "up", "--as", "model",
	    "{\"messages\": [{\"type\": \"ai\", \"content\": \"Or not.\"}]}", NULL);
	ck_assert_ptr_nonnull(
	    strstr(kit_flotilla(kit, "state", "up", NULL), "thread up: success, 3"));
}
END_TEST

START_TEST(debug_tells_what_each_step_wrote)
{
	const char *said;

	kit_flotilla(kit, "submit", "chatty", "Hi", "--run-id", "r1", "--wait", NULL);
	said = kit_flotilla(kit, "watch", "r1", "--json", NULL);
	ck_assert_msg(strstr(said, "\"kind\":\"debug\"") != NULL &&
			  strstr(said, "\"writer\":\"model\"") != NULL &&
			  strstr(said, "\"next\":\"__end__\"") != NULL,
	    "%s", said);
	kit_flotilla(kit, "submit", "parrot", "Hi", "--run-id", "r2", "--context",
	    "{\"user\": \"ann\"}", "--wait", NULL);
	said = kit_flotilla(kit, "watch", "r2", "--json", NULL);
	ck_assert_msg(strstr(said, "\"kind\":\"debug\"") == NULL, "%s", said);
}
END_TEST

TCase *
tcase_agent_options(void)
{
	TCase *tc = tcase_create("agent_options");

	tcase_add_checked_fixture(tc, open_fleet, close_fleet);
	tcase_add_test(tc, an_equal_call_is_answered_from_the_cache);
	tcase_add_test(tc, what_writes_messages_is_not_cached);
	tcase_add_test(tc, a_cache_without_ttl_has_one_all_the_same);
	tcase_add_test(tc, a_context_that_does_not_fit_ends_the_run);
	tcase_add_test(tc, an_update_needs_no_context);
	tcase_add_test(tc, debug_tells_what_each_step_wrote);
	tcase_set_timeout(tc, 120);
	return tc;
}
