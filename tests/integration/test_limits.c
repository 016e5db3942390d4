/* Limits on a fleet of real processes: counted whoever dies and whatever hook is jumped over, and
 * anew in each run. */
#include <check.h>
#include <string.h>

#include "hold_bench.h"

TCase *tcase_limits(void);

/* Each call of `hold` stops while there is a file. The model would go on for ever. */
static const char agents[] =
    "name: bounded\n"
    "model: scripted:m\n"
    "tools: [hold]\n"
    "middleware:\n"
    "  - model_call_limit: {run_limit: 3, thread_limit: 5}\n"
    "  - tool_call_limit: {tool_name: hold, run_limit: 1}\n"
    "script: &for_ever\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: b, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: c, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: d, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: e, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: f, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: g, name: hold, args: {}}]\n"
    "    - tool_calls: [{id: h, name: hold, args: {}}]\n"
    "    - content: Never.\n"
    "---\n"
    "name: guarded\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - model_call_limit: {run_limit: 3}\n"
    "  - lua:\n"
    "      name: guard\n"
    "      code: |\n"
    "        after_model = {\n"
    "          can_jump_to = {'model'},\n"
    "          run = function(state) return {jump_to = 'model'} end,\n"
    "        }\n"
    "script: {m: [{content: one}, {content: two}, {content: three}, {content: four}]}\n"
    "---\n"
    "name: floods\n"
    "model: scripted:m\n"
    "tools: [calculate]\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: flood\n"
    "      code: |\n"
    "        function after_model(state)\n"
    "          local count = tonumber(state.messages[#state.messages].content)\n"
    "          if not count then return nil end\n"
    "          local calls = {}\n"
    "          for i = 1, count do\n"
    "            calls[i] = {id = 'c' .. i, name = 'calculate', type = 'tool_call',\n"
    "              args = {expression = '1 + 1'}}\n"
    "          end\n"
    "          return {messages = {{type = 'ai', content = '', tool_calls = calls}}}\n"
    "        end\n"
    "script: {m: [{content: '1024'}, {content: Never.}, {content: Done.}, {content: "
    "'1025'}]}\n";

static void
setup(void)
{
	hold_begin(agents);
}

/* The owner dies while the first round's tool runs: by then one model call and one call of the
 * tool are counted, and who takes the run over must know. */
START_TEST(a_takeover_forgets_no_count_and_the_next_run_begins_anew)
{
	struct said said;

	hold_take_over("bounded");
	/* Three model calls and the limit's own message; the tool ran for the first alone. */
	ck_assert_str_eq(hold_types("t"), "human ai tool ai tool ai tool ai");
	ck_assert_uint_eq(hold_runs(), 1);
	/* Two more are left of the thread's five; the tool may run once again. */
	said = HOLD_FLOTILLA("submit", "bounded", "Again.", "-t", "t", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_str_eq(
	    hold_types("t"), "human ai tool ai tool ai tool ai human ai tool ai tool ai");
	ck_assert_uint_eq(hold_runs(), 2);
	said =
	    HOLD_FLOTILLA("submit", "bounded", "Again.", "-t", "t", "--wait", "--json");
	ck_assert_msg(strstr(said.out, "thread limit (5/5)") != NULL, "%s", said.out);
	ck_assert_uint_eq(hold_runs(), 2);
}
END_TEST

/* Listed behind the limit, its after_model runs first, and sends the run back past the limit's. */
START_TEST(a_hook_that_jumps_over_the_limits_does_not_escape_it)
{
	struct said said =
	    HOLD_FLOTILLA("submit", "guarded", "Go.", "-t", "t", "--wait", "--json");

	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_msg(strstr(said.out, "run limit (3/3)") != NULL, "%s", said.out);
	ck_assert_str_eq(hold_types("t"), "human ai ai ai ai");
}
END_TEST

/* Providers' answers have fewer calls; those of an update or of middleware may have any number. */
START_TEST(a_round_of_too_many_calls_is_none)
{
	struct said said = HOLD_FLOTILLA("submit", "floods", "Go.", "-t", "t", "--wait");

	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_msg(strstr(said.out, "Done.") != NULL, "%s", said.out);
	said = HOLD_FLOTILLA("submit", "floods", "Again.", "-t", "t", "--wait");
	ck_assert_msg(strstr(said.err, "1025 calls") != NULL, "%s%s", said.out, said.err);
	ck_assert_int_eq(said.status, 1);
}
END_TEST

TCase *
tcase_limits(void)
{
	TCase *tcase = tcase_create("limits");

	tcase_add_checked_fixture(tcase, setup, hold_end);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_takeover_forgets_no_count_and_the_next_run_begins_anew);
	tcase_add_test(tcase, a_hook_that_jumps_over_the_limits_does_not_escape_it);
	tcase_add_test(tcase, a_round_of_too_many_calls_is_none);
	return tcase;
}
