/* Fields of the state on a fleet of real processes: how long they live, who may write them. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_state_run(void);

/* `flash` is seen by the hook behind it alone, and there is a pause between the two. */
static const char agents[] =
    "name: flashing\n"
    "model: scripted:m\n"
    "interrupt_before: [second.before_model]\n"
    "state: {flash: {ephemeral: true}, seen: {reducer: append, type: array}}\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: first\n"
    "      code: |\n"
    "        function before_model(state) return {flash = 'now'} end\n"
    "  - lua:\n"
    "      name: second\n"
    "      code: |\n"
    "        function before_model(state) return {seen = {state.flash or 'gone'}} end\n"
    "  - lua:\n"
    "      name: third\n"
    "      code: |\n"
    "        function before_model(state) return {seen = {state.flash or 'gone'}} end\n"
    "script: {m: [{content: Done.}]}\n"
    "---\n"
    "name: quarrel\n"
    "model: scripted:m\n"
    "state: {who: {type: string}}\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: outer\n"
    "      code: |\n"
    "        function wrap_model_call(request, handler)\n"
    "          local response = handler(request)\n"
    "          response.update = {who = 'outer'}\n"
    "          return response\n"
    "        end\n"
    "  - lua:\n"
    "      name: inner\n"
    "      code: |\n"
    "        function wrap_model_call(request, handler)\n"
    "          local response = handler(request)\n"
    "          response.update = {who = 'inner'}\n"
    "          return response\n"
    "        end\n"
    "script: {m: [{content: Never.}]}\n";

static struct arena *arena;
static struct fleet_kit *kit;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

#define FLOTILLA(...) CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit))

START_TEST(an_ephemeral_field_outlives_a_pause_but_not_the_next_step)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("submit", "flashing", "Go.", "-t", "t", "--wait");
	const struct value *state;
	const char *error;

	ck_assert_int_eq(said.status, 5);
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_stop(kit, KIT_MODEL, 0);
	kit_stop(kit, KIT_TOOLS, 0);
	kit_stop(kit, KIT_BROKER, 0);
	kit_stop(kit, KIT_REDIS, 0);
	kit_start_all(kit, 1, 1, 1);
	said = FLOTILLA("resume", "t", "--wait", "--json");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	state = value_get(json_parse(arena, said.out, strlen(said.out), &error), "state");
	ck_assert_value(arena, value_get(state, "seen"), "['now', 'gone']");
}
END_TEST

START_TEST(two_wraps_that_write_one_field_are_named)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("submit", "quarrel", "Go.", "--wait");

	ck_assert_int_eq(said.status, 1);
	ck_assert_ptr_nonnull(strstr(said.err, "InvalidUpdateError"));
	ck_assert_ptr_nonnull(
	    strstr(said.err, "\"inner.wrap_model_call\" and \"outer.wrap_model_call\""));
}
END_TEST

TCase *
tcase_state_run(void)
{
	TCase *tcase = tcase_create("state_run");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_ephemeral_field_outlives_a_pause_but_not_the_next_step);
	tcase_add_test(tcase, two_wraps_that_write_one_field_are_named);
	return tcase;
}
