/* A middleware that asks for what is no model's name is told so, wherever it runs, and nobody
 * else's calls are hurt. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"

TCase *tcase_model_names(void);

static const char agent_text[] =
    "name: clerk\n"
    "model: scripted:clerk\n"
    "tools: [noted]\n"
    "middleware:\n"
    "  - lua:\n"
    "      code: |\n"
    "        local function ask(runtime, model)\n"
    "          local ok, e = pcall(runtime.call_model, {messages = 'Hi', model = "
    "model})\n"
    "          return tostring(ok) .. ' ' .. (ok and e.text or e.type)\n"
    "        end\n"
    "        local function ask_all(runtime)\n"
    "          local said = {}\n"
    "          for i = 1, 12 do said[i] = ask(runtime, 'a b:' .. i) end\n"
    "          said[13] = ask(runtime, ('a'):rep(95) .. ':x')\n"
    "          said[14] = ask(runtime, 'no-colon')\n"
    "          said[15] = ask(runtime, 'scripted:other')\n"
    "          return table.concat(said, ',')\n"
    "        end\n"
    "        function before_agent(state, runtime)\n"
    "          return {messages = {{role = 'user', content = ask_all(runtime)}}}\n"
    "        end\n"
    "        function wrap_tool_call(request, handler)\n"
    "          return ask_all(request.runtime)\n"
    "        end\n"
    "script:\n"
    "  clerk:\n"
    "    - {content: '', tool_calls: [{id: n, name: noted, args: {}}]}\n"
    "    - {content: Done.}\n"
    "  other:\n"
    "    - {content: Here.}\n";

static const char tool_text[] = "name: noted\n"
				"description: is never run\n"
				"input: none\n"
				"command: [echo, no]\n";

#define REFUSED "false ValueError,"
#define REFUSED_4 REFUSED REFUSED REFUSED REFUSED
#define ALL_REFUSED REFUSED_4 REFUSED_4 REFUSED_4 REFUSED REFUSED

START_TEST(what_is_no_models_name_is_refused_where_it_is_said)
{
	struct fleet_kit *kit = kit_new();
	const char *said;

	kit_flag(kit, KIT_TOOLS, "--tools", kit_write(kit, "noted.yaml", tool_text));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(
	    kit, "agents", "apply", kit_write(kit, "clerk.yaml", agent_text), NULL);
	ck_assert_str_eq(kit_flotilla(kit, "submit", "clerk", "Hi", "--run-id", "r",
			     "--deadline", "60s", "--wait", NULL),
	    "Done.\n");
	said = kit_flotilla(kit, "state", "r", "--json", NULL);
	said = strstr(said, ALL_REFUSED "true Here.");
	ck_assert_ptr_nonnull(said);
	/* That was the hook; a tool's wrap speaks for the tool. */
	ck_assert_msg(strstr(said, "\"content\":\"" ALL_REFUSED) != NULL, "%s", said);
	/* Ten refusals would have ended a session with all its calls. */
	said = kit_flotilla(
	    kit, "top", "--once", "--json", "--broker", kit_broker(kit), NULL);
	ck_assert_msg(strstr(said, "\"protocol_errors\":0") != NULL, "%s", said);
	kit_destroy(&kit);
}
END_TEST

/* Named where it is of no use yet: who finds out when it is needed finds out too late. */
START_TEST(a_fallback_that_nobody_serves_is_found_out_before_it_is_needed)
{
	struct fleet_kit *kit = kit_new();
	struct arena *arena = arena_new();
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said;

	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "200");
	kit_start_all(kit, 1, 1, 1);
	said = CLI(&flotilla, "submit",
	    kit_write(kit, "a.yaml",
		"name: a\nmodel: scripted:m\nscript: {m: [{content: Hi.}]}\n"
		"middleware: [{model_fallback: {models: ['scriptde:m']}}]\n"),
	    "Hi", "--wait", "--redis", kit_redis(kit));
	ck_assert_int_eq(said.status, 1);
	ck_assert_msg(strstr(said.err, "no worker serves 'model:scriptde' (did you mean "
				       "'model:scripted'?)") != NULL,
	    "%s", said.err);
	arena_destroy(&arena);
	kit_destroy(&kit);
}
END_TEST

TCase *
tcase_model_names(void)
{
	TCase *tcase = tcase_create("model_names");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(
	    tcase, a_fallback_that_nobody_serves_is_found_out_before_it_is_needed);
	tcase_add_test(tcase, what_is_no_models_name_is_refused_where_it_is_said);
	return tcase;
}
