/* Runs as an OpenTelemetry collector is told of them: one tree, in which everything stands where it belongs and nothing
 * says what was said; and collectors that do not listen. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet_up.h"
#include "patience.h"
#include "trace_bench.h"

TCase *tcase_tracing(void);

#define WAIT_MS (20000L * PATIENCE)
#define POLL_US 20000
#define CALLER "0af7651916cd43dd8448eb211c80319c"
#define CALLERS_SPAN "b7ad6b7169203331"

static struct trace_bench bench;

/* What is said has `secret` in it, wherever that is. */
static const char tools[] = "name: work\n"
			    "description: works\n"
			    "input: none\n"
			    "command: |\n"
			    "  echo begun >> %s/begun\n"
			    "  await-file there %s/gate\n"
			    "  echo secret result\n"
			    "---\n"
			    "name: fails\n"
			    "description: fails\n"
			    "input: none\n"
			    "command: \"echo secret reason >&2; exit 1\"\n";

static const char agents[] =
    "name: clerk\n"
    "model: openai:gpt-test\n"
    "system_prompt: secret prompt\n"
    "tools: [work, fails]\n"
    "middleware: [{model_retry: {initial_delay: 0}}]\n"
    "---\n"
    "name: chief\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - subagent: {general_purpose_agent: false, subagents: [{name: clerk, description: "
    "works, agent: clerk}]}\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: task, args: {description: secret task, "
    "subagent_type: clerk}}]\n"
    "    - content: All is done.\n";

/* The answers of the provider. */
#define USED(input, output)                                                              \
	"\"usage\": {\"input_tokens\": " #input ", \"output_tokens\": " #output "}"
#define CALLS(tool)                                                                      \
	"{\"content\": \"secret thought\", \"tool_calls\": [{\"id\": \"c-1\", "          \
	"\"name\": \"" tool "\", \"args\": {\"note\": \"secret\"}}], " USED(7, 5) "}"
#define DONE "{\"content\": \"secret answer\", " USED(20, 3) "}"
#define BUSY "{\"http_error\": 500, \"message\": \"secret trouble\"}"
#define SCRIPT(replies) "{\"gpt-test\": [" replies "]}"
#define AND ", "

static void
open_bench(const char *script)
{
	trace_bench_open(&bench, TRACE_OK, TINY_KEEP, script);
}

static void
start(unsigned coordinators)
{
	const char *folder = kit_path(bench.kit, ".");

	kit_flag(bench.kit, KIT_TOOLS, "--tools",
	    kit_write(bench.kit, "tools.yaml",
		arena_printf(bench.arena, tools, folder, folder)));
	kit_write(bench.kit, "agents.yaml", agents);
	kit_start_all(bench.kit, 1, 1, coordinators);
	kit_flotilla(
	    bench.kit, "agents", "apply", kit_path(bench.kit, "agents.yaml"), NULL);
}

static void
open_gate(void)
{
	kit_write(bench.kit, "gate", "");
}

static void
close_bench(void)
{
	if (bench.kit != NULL)
		trace_bench_close(&bench);
}

static void
check_text(const struct value *span, const char *key, const char *text)
{
	ck_assert_str_eq(trace_bench_attribute(span, key), text);
}

static void
check_nothing_said(void)
{
	ck_assert_ptr_null(strstr(bench.told, "secret"));
}

/* --- one tree -------------------------------------------------------------------------- */

/* What a worker says of call. */
static const struct value *
handled(const struct value *call, const char *name, const char *process)
{
	const struct value *handle = trace_bench_only(&bench, name, call);

	ck_assert_str_eq(value_get_text(handle, "process"), process);
	check_text(handle, "flotilla.attempt", "1");
	check_text(handle, "flotilla.call", trace_bench_attribute(call, "flotilla.call"));
	return handle;
}

static void
check_model_call(
    const struct value *root, size_t index, const char *input, const char *output)
{
	const struct value *chat = trace_bench_find(&bench, "chat gpt-test", root, index);
	const struct value *handle =
	    handled(chat, "handle model:openai", "flotilla-worker-model");
	size_t last = trace_bench_count(&bench, "request gpt-test", handle) - 1;
	const struct value *request =
	    trace_bench_find(&bench, "request gpt-test", handle, last);

	check_text(chat, "gen_ai.operation.name", "chat");
	check_text(chat, "gen_ai.provider.name", "openai");
	check_text(chat, "gen_ai.request.model", "gpt-test");
	check_text(request, "gen_ai.usage.input_tokens", input);
	check_text(request, "gen_ai.usage.output_tokens", output);
	check_text(request, "error.type", "");
	check_text(chat, "gen_ai.usage.input_tokens", "");
}

static void
check_root(const struct value *root, const char *run)
{
	ck_assert(!value_has(root, "parentSpanId"));
	check_text(root, "gen_ai.operation.name", "invoke_agent");
	check_text(root, "gen_ai.agent.name", "clerk");
	check_text(root, "gen_ai.conversation.id", run);
	check_text(root, "flotilla.run", run);
	check_text(root, "flotilla.status", "success");
	ck_assert(!value_has(root, "status"));
}

static void
check_tool_call(const struct value *root, const char *error)
{
	const struct value *tool = trace_bench_only(
	    &bench, *error == '\0' ? "execute_tool work" : "execute_tool fails", root);

	handled(tool, *error == '\0' ? "handle tool:work" : "handle tool:fails",
	    "flotilla-worker-tools");
	check_text(tool, "gen_ai.tool.call.id", "c-1");
	check_text(tool, "error.type", error);
}

/* The tree of a run with a model call that was tried twice, a tool's, and another one to the model. */
static void
check_tree(const char *run)
{
	const struct value *root = trace_bench_only(&bench, "invoke_agent clerk", NULL);
	const struct value *failed;

	trace_bench_check_trace(&bench, trace_bench_of(&bench, run));
	check_nothing_said();
	check_root(root, run);
	ck_assert_uint_eq(trace_bench_count(&bench, "chat gpt-test", root), 2);
	check_model_call(root, 0, "7", "5");
	check_model_call(root, 1, "20", "3");
	ck_assert_uint_eq(trace_bench_count(&bench, "request gpt-test", NULL), 3);
	failed = trace_bench_find(&bench, "request gpt-test", NULL, 0);
	check_text(failed, "error.type", "InternalServerError");
	ck_assert_int_eq(value_get_int(value_get(failed, "status"), "code", 0), 2);
	/* 1 root, 2 chat, 1 execute_tool, 3 handle, 3 request */
	ck_assert_uint_eq(bench.spans.count, 10);
}

START_TEST(a_run_is_one_tree)
{
	open_bench(SCRIPT(BUSY AND CALLS("work") AND DONE));
	start(1);
	open_gate();
	trace_bench_run(&bench, "one", "secret question", "secret answer");
	/* Nobody is invoked. */
	kit_flotilla(bench.kit, "copy", "one", "two", NULL);
	trace_bench_end(&bench);
	check_tree("one");
	check_tool_call(trace_bench_only(&bench, "invoke_agent clerk", NULL), "");
}
END_TEST

START_TEST(a_hub_tells_of_a_run_as_a_coordinator_does)
{
	open_bench(SCRIPT(BUSY AND CALLS("fails") AND DONE));
	kit_have_hub(bench.kit);
	start(0);
	trace_bench_run(&bench, "one", "secret question", "secret answer");
	trace_bench_end(&bench);
	check_tree("one");
	check_tool_call(
	    trace_bench_only(&bench, "invoke_agent clerk", NULL), "ToolException");
	ck_assert_str_eq(
	    value_get_text(
		trace_bench_only(&bench, "invoke_agent clerk", NULL), "process"),
	    "flotilla-hub");
}
END_TEST

/* --- whose trace ----------------------------------------------------------------------- */

static struct said
submit_beneath(const char *run, const char *traceparent)
{
	return CLI(&bench.flotilla, "submit", "clerk", "secret question", "--wait",
	    "--run-id", run, "--traceparent", traceparent, "--redis",
	    kit_redis(bench.kit), "--status", kit_status(bench.kit), "--broker",
	    kit_broker(bench.kit));
}

START_TEST(a_submission_brings_its_trace_and_whether_it_is_sampled)
{
	const struct value *root;

	open_bench(SCRIPT(DONE AND DONE AND DONE));
	kit_flag(bench.kit, KIT_COORDINATOR, "--trace-sample", "0");
	start(1);
	ck_assert_int_eq(
	    submit_beneath("a", "00-" CALLER "-" CALLERS_SPAN "-01").status, 0);
	ck_assert_int_eq(
	    submit_beneath("b", "00-" CALLER "-" CALLERS_SPAN "-00").status, 0);
	trace_bench_run(&bench, "c", "secret question", "secret answer");
	trace_bench_end(&bench);
	root = trace_bench_only(&bench, "invoke_agent clerk", NULL);
	trace_bench_check_trace(&bench, CALLER);
	ck_assert_str_eq(value_get_text(root, "parentSpanId"), CALLERS_SPAN);
	check_text(root, "flotilla.run", "a");
	ck_assert_uint_eq(bench.spans.count, 4);
}
END_TEST

START_TEST(a_wrong_trace_is_refused_with_what_it_should_be)
{
	struct said said;

	open_bench(SCRIPT(DONE));
	start(1);
	said = submit_beneath("a", "00-" CALLER "-0000000000000000-01");
	ck_assert_int_ne(said.status, 0);
	ck_assert_ptr_nonnull(
	    strstr(said.err, "traceparent: must be a W3C trace context"));
	kit_redis_cli(bench.kit, 0, "XADD", "fl:inbox", "*", "agent", "clerk", "input",
	    "\"Hi\"", "run", "b", "traceparent", "none", NULL);
	while (strstr(kit_redis_cli(bench.kit, 0, "XRANGE", "fl:refused", "-", "+", NULL),
		   "traceparent: must be a W3C trace context") == NULL)
		usleep(POLL_US);
}
END_TEST

START_TEST(an_agent_that_works_for_another_is_in_its_trace)
{
	const struct value *root, *task, *child;
	struct said said;

	open_bench(SCRIPT(DONE));
	start(1);
	said = CLI(&bench.flotilla, "submit", "chief", "secret question", "--wait",
	    "--run-id", "top", "--redis", kit_redis(bench.kit), "--status",
	    kit_status(bench.kit), "--broker", kit_broker(bench.kit));
	ck_assert_msg(said.status == 0, "%s", said.err);
	trace_bench_end(&bench);
	trace_bench_check_trace(&bench, trace_bench_of(&bench, "top"));
	check_nothing_said();
	root = trace_bench_only(&bench, "invoke_agent chief", NULL);
	ck_assert(!value_has(root, "parentSpanId"));
	/* The call that wants the agent, and the one that goes on with what came of it. */
	ck_assert_uint_eq(trace_bench_count(&bench, "execute_tool task", root), 2);
	child = trace_bench_only(&bench, "invoke_agent clerk", NULL);
	task = trace_bench_find(&bench, "execute_tool task", root, 0);
	ck_assert_str_eq(
	    value_get_text(child, "parentSpanId"), value_get_text(task, "spanId"));
	ck_assert_uint_eq(trace_bench_count(&bench, "chat gpt-test", child), 1);
}
END_TEST

START_TEST(a_run_submitted_for_another_is_in_its_trace)
{
	const struct value *root, *child;

	open_bench(SCRIPT(DONE AND DONE));
	start(1);
	trace_bench_run(&bench, "one", "secret question", "secret answer");
	kit_flotilla(bench.kit, "submit", "clerk", "secret", "--wait", "--run-id", "two",
	    "--parent", "one", NULL);
	trace_bench_end(&bench);
	trace_bench_check_trace(&bench, trace_bench_of(&bench, "one"));
	root = trace_bench_find(&bench, "invoke_agent clerk", NULL, 0);
	child = trace_bench_only(&bench, "invoke_agent clerk", root);
	check_text(child, "flotilla.run", "two");
}
END_TEST

static void
load_plugin(const char *plugin)
{
	kit_flag(bench.kit, KIT_COORDINATOR, "--plugin", plugin);
	kit_flag(bench.kit, KIT_MODEL, "--plugin", plugin);
	kit_flag(bench.kit, KIT_TOOLS, "--plugin", plugin);
}

/* A wrap of the tool asks a model instead. */
START_TEST(a_call_that_a_call_makes_stands_beneath_it)
{
	static const char agent[] =
	    "name: asker\n"
	    "model: scripted:m\n"
	    "tools: [fails]\n"
	    "middleware: [{asks_model: {model: 'scripted:nested'}}]\n"
	    "script:\n"
	    "  m: [{tool_calls: [{id: a, name: fails, args: {}}]}, {content: Done.}]\n"
	    "  nested: [{content: secret}]\n";
	const char *plugin;
	const struct value *call, *handle;

	open_bench(NULL);
	plugin = kit_built(bench.kit, "plugins/asks_model.so");
	load_plugin(plugin);
	start(1);
	kit_flotilla(bench.kit, "agents", "apply", "--plugin", plugin,
	    kit_write(bench.kit, "asker.yaml", agent), NULL);
	kit_flotilla(bench.kit, "submit", "asker", "Go", "--wait", NULL);
	trace_bench_end(&bench);
	check_nothing_said();
	call = trace_bench_only(&bench, "execute_tool fails", NULL);
	handle = handled(call, "handle tool:fails", "flotilla-worker-tools");
	handle = trace_bench_only(&bench, "handle model:scripted", handle);
	trace_bench_only(&bench, "request nested", handle);
}
END_TEST

/* --- processes that die ----------------------------------------------------------------- */

static void
wait_begun(void)
{
	const char *path = kit_path(bench.kit, "begun");
	long left;

	for (left = WAIT_MS; access(path, F_OK) == -1; left -= POLL_US / 1000) {
		ck_assert_msg(left > 0, "the tool has not begun");
		usleep(POLL_US);
	}
}

START_TEST(the_next_coordinator_goes_on_with_the_trace)
{
	struct cli_job *job;
	struct said said;
	const struct value *root;

	open_bench(SCRIPT(CALLS("work") AND DONE));
	start(1);
	job = CLI_START(&bench.flotilla, "submit", "clerk", "secret question", "--wait",
	    "--run-id", "one", "-t", "one", "--redis", kit_redis(bench.kit), "--status",
	    kit_status(bench.kit), "--broker", kit_broker(bench.kit));
	wait_begun();
	kit_kill(bench.kit, KIT_COORDINATOR, 0);
	kit_start(bench.kit, KIT_COORDINATOR, 1);
	open_gate();
	said = cli_end(&job);
	ck_assert_msg(said.status == 0, "%s", said.err);
	trace_bench_end(&bench);
	trace_bench_check_trace(&bench, trace_bench_of(&bench, "one"));
	root = trace_bench_only(&bench, "invoke_agent clerk", NULL);
	check_root(root, "one");
	/* It took the call over, which has been handled once. */
	check_tool_call(root, "");
	check_text(trace_bench_find(&bench, "chat gpt-test", root,
		       trace_bench_count(&bench, "chat gpt-test", root) - 1),
	    "flotilla.step", "3");
}
END_TEST

/* --- collectors that do not listen ------------------------------------------------------ */

static void
check_undisturbed(void)
{
	start(1);
	open_gate();
	trace_bench_run(&bench, "one", "secret question", "secret answer");
	trace_bench_run(&bench, "two", "secret question", "secret answer");
	trace_bench_end(&bench);
}

START_TEST(a_collector_that_is_not_there_disturbs_nobody)
{
	static const char nowhere[] = "http://127.0.0.1:1";

	open_bench(SCRIPT(CALLS("work") AND DONE AND CALLS("work") AND DONE));
	kit_flag(bench.kit, KIT_COORDINATOR, "--trace-endpoint", nowhere);
	kit_flag(bench.kit, KIT_MODEL, "--trace-endpoint", nowhere);
	kit_flag(bench.kit, KIT_TOOLS, "--trace-endpoint", nowhere);
	check_undisturbed();
	ck_assert_uint_eq(bench.spans.count, 0);
}
END_TEST

START_TEST(a_collector_that_never_answers_disturbs_nobody)
{
	trace_bench_open(&bench, "", TINY_HANG,
	    SCRIPT(CALLS("work") AND DONE AND CALLS("work") AND DONE));
	check_undisturbed();
}
END_TEST

START_TEST(a_collector_that_refuses_disturbs_nobody)
{
	trace_bench_open(&bench, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
	    TINY_KEEP, SCRIPT(CALLS("work") AND DONE AND CALLS("work") AND DONE));
	check_undisturbed();
}
END_TEST

/* --- up --------------------------------------------------------------------------------- */

START_TEST(up_tells_all_of_its_children)
{
	struct tiny_http *collector = tiny_http_new();
	struct fleet_up fleet;
	struct said said;
	char *request;
	char url[64];
	unsigned i;
	bool has_run = false;

	tiny_http_add(
	    collector, &(struct tiny_answer){ .bytes = TRACE_OK, .end = TINY_KEEP });
	snprintf(url, sizeof url, "http://127.0.0.1:%u", tiny_http_port(collector));
	fleet_up_start_with(
	    &fleet, "1", (const char *const[]){ "--trace-endpoint", url, NULL });
	said = CLI(&fleet.flotilla, "submit", "quick", "Hi", "--wait");
	ck_assert_msg(said.status == 0, "%s", said.err);
	fleet_up_stop(&fleet);
	for (i = 0; (request = tiny_http_request(collector, i)) != NULL; i++) {
		has_run = has_run || strstr(request, "invoke_agent quick") != NULL;
		free(request);
	}
	ck_assert(has_run);
	tiny_http_destroy(&collector);
}
END_TEST

TCase *
tcase_tracing(void)
{
	TCase *tc = tcase_create("tracing");

	tcase_set_timeout(tc, 90);
	tcase_add_checked_fixture(tc, NULL, close_bench);
	tcase_add_test(tc, a_run_is_one_tree);
	tcase_add_test(tc, a_hub_tells_of_a_run_as_a_coordinator_does);
	tcase_add_test(tc, a_submission_brings_its_trace_and_whether_it_is_sampled);
	tcase_add_test(tc, a_wrong_trace_is_refused_with_what_it_should_be);
	tcase_add_test(tc, an_agent_that_works_for_another_is_in_its_trace);
	tcase_add_test(tc, a_run_submitted_for_another_is_in_its_trace);
	tcase_add_test(tc, a_call_that_a_call_makes_stands_beneath_it);
	tcase_add_test(tc, the_next_coordinator_goes_on_with_the_trace);
	tcase_add_test(tc, a_collector_that_is_not_there_disturbs_nobody);
	tcase_add_test(tc, a_collector_that_never_answers_disturbs_nobody);
	tcase_add_test(tc, a_collector_that_refuses_disturbs_nobody);
	tcase_add_test(tc, up_tells_all_of_its_children);
	return tc;
}
