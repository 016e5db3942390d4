/* LangGraph's own client on a fleet (tests/languages/sdk.mjs), and the programs that are examples of it. */
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
#define MOVE "examples/clients/javascript/move_threads.mjs"

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

/* --- from one server to another -------------------------------------------------------- */

/* Nobody else's: all threads of them are looked at. */
static const char movers[] =
    "name: told\n"
    "model: scripted:t\n"
    "tools: [note]\n"
    "script:\n"
    "  t:\n"
    "    - {content: '', tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - {content: It is told.}\n"
    "---\n"
    "name: asking\n"
    "model: scripted:a\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {note: true}}\n"
    "script:\n"
    "  a:\n"
    "    - {content: May I?, tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"
    "    - {content: It is done.}\n";

/* Another fleet with the same agents, whose server answers at url. */
struct other_fleet {
	struct fleet_up fleet;
	struct cli_job *server;
	const char *url;
};

static void
apply_movers(struct fleet_up *fleet)
{
	struct said said;

	fleet_up_write(fleet, "movers.yaml", movers);
	said = CLI(&fleet->flotilla, "agents", "apply", "movers.yaml");
	ck_assert_msg(said.status == 0, "%s", said.err);
}

static void
other_open(struct other_fleet *other)
{
	fleet_up_start(&other->fleet, "1");
	apply_movers(&other->fleet);
	other->url = serve_start(
	    &other->server, (const char *const[]){ "--redis", other->fleet.redis, NULL });
}

static void
other_close(struct other_fleet *other)
{
	serve_stop(&other->server);
	fleet_up_stop(&other->fleet);
}

static const struct value *
other_get(const struct other_fleet *other, const char *path)
{
	return ASK(.url = other->url, .path = path).json;
}

static void
check_moved(struct other_fleet *other, const char *out)
{
	struct said said;

	setenv("FROM_URL", serve_bench.url, 1);
	setenv("TO_URL", other->url, 1);
	said = run_node(NULL, (const char *const[]){ MOVE, "told", "asking", NULL });
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
	ck_assert_str_eq(said.out, out);
}

/* All that is said there is there, and it goes on: what waited for a human asks again. */
START_TEST(threads_move_to_another_server)
{
	struct other_fleet other;
	const char *talked = serve_thread(), *asks = serve_thread(), *path;
	const struct value *state;

	apply_movers(&serve_bench.fleet);
	serve_run_end(talked, serve_run(talked, "told", ""));
	serve_run_wait(asks, serve_run(asks, "asking", ""), "interrupted");
	other_open(&other);
	check_moved(&other, "told: 1 moved, 0 were there, 0 busy, 0 failed\n"
			    "asking: 1 moved, 0 were there, 0 busy, 0 failed\n");
	path = serve_text("/threads/%s/state", talked);
	state = other_get(&other, path);
	ck_assert(value_equal(
	    value_get(state, "values"), value_get(serve_get(path, 200), "values")));
	ck_assert_uint_eq(value_size(value_get(state, "next")), 0);
	state = ASK(.url = other.url, .path = serve_text("/threads/%s/runs/wait", asks),
	    .body = serve_text("{'assistant_id': 'asking', 'input': null}"))
		    .json;
	ck_assert_uint_eq(value_size(value_get(state, "__interrupt__")), 1);
	check_moved(&other, "told: 0 moved, 1 were there, 0 busy, 0 failed\n"
			    "asking: 0 moved, 1 were there, 0 busy, 0 failed\n");
	other_close(&other);
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
	tcase_add_test(tcase, threads_move_to_another_server);
	return tcase;
}
