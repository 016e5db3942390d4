/* LangGraph's own client on a fleet (tests/languages/sdk.mjs), and the chat that is an example of it. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../cli/command.h"
#include "has.h"
#include "serve_bench.h"

TCase *tcase_serve_sdk(void);

#define NODE_MODULES "examples/clients/javascript/node_modules"
#define SDK "tests/languages/sdk.mjs"
#define CHAT "examples/clients/javascript/chat.mjs"

static struct said
run_node(const char *input, const char *const argv[])
{
	const struct cli node = { "node", NULL, serve_bench.fleet.arena };

	ck_assert_msg(access(NODE_MODULES, F_OK) == 0,
	    NODE_MODULES " is missing: `make check-integration` installs it, or `npm ci "
			 "--prefix examples/clients/javascript`");
	return cli_run(&node, input, argv);
}

START_TEST(the_client_of_langgraph_works)
{
	struct said said =
	    run_node(NULL, (const char *const[]){ SDK, serve_bench.url, NULL });

	ck_assert_msg(said.status == 0, "%.3000s", said.err);
	ck_assert_str_eq(said.err, "");
}
END_TEST

static struct said
chat(const char *input, const char *agent)
{
	setenv("FLOTILLA_URL", serve_bench.url, 1);
	return run_node(input, (const char *const[]){ CHAT, agent, "gate", NULL });
}

/* One who leaves at a question finds it again. */
START_TEST(one_can_chat)
{
	struct said said = chat("Hi\n", "approver");

	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_has(said.out, "> May I?\n");
	ck_assert_has(said.out, "note {\"text\":\"hello\"}: y, or why not?");
	ck_assert_has(said.out, "thread gate\n");
	said = chat("y\n", "approver");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_has(said.out, "[note: success]");
	ck_assert_has(said.out, "It is done.");
	said = chat("Hi\n", "nobody");
	ck_assert_int_eq(said.status, 1);
	ck_assert_has(said.err, "no agent 'nobody'");
}
END_TEST

TCase *
tcase_serve_sdk(void)
{
	TCase *tcase = tcase_create("serve_sdk");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, serve_open, serve_close);
	tcase_add_test(tcase, the_client_of_langgraph_works);
	tcase_add_test(tcase, one_can_chat);
	return tcase;
}
