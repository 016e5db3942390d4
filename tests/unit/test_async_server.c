#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "has.h"
#include "hook_stub.h"
#include "http.h"
#include "json.h"
#include "literal.h"
#include "registry.h"
#include "tiny_http.h"
#include "tool_trial.h"

/* Interface under test */
#include "async_server.h"

TCase *tcase_async_server(void);

#define TASK                                                                             \
	"{'async_tasks': {'t': {'task_id': 't', 'agent_name': 'far', 'thread_id': 't', " \
	"'run_id': 'r', 'status': 'running'}}}"
#define KEY "sk-hidden-7"

static struct tool_trial trial;
static struct tiny_http *server;
static struct http *http;
static char url[64];

static void
set_up(void)
{
	tool_trial_open(&trial);
	trial.state = literal(trial.arena, TASK);
	server = tiny_http_new();
	http = http_new(trial.loop);
	snprintf(url, sizeof url, "http://127.0.0.1:%u", tiny_http_port(server));
	setenv("FAR_KEY", KEY, 1);
	stub_log_clear();
}

static void
tear_down(void)
{
	async_servers_close();
	http_destroy(&http);
	tiny_http_destroy(&server);
	tool_trial_close(&trial);
}

static void
open_server(void)
{
	const char *list[] = { url, "FAR_KEY", NULL }, *item, *allowed;

	ck_assert_int_eq(async_servers_open(http, list, &item, &allowed), 0);
}

static void
answers_bytes(const char *status, const char *body, enum tiny_end end)
{
	const char *bytes = arena_printf(trial.arena,
	    "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
	    strlen(body), body);

	tiny_http_add(server, &(struct tiny_answer){ bytes, 0, end });
}

static void
answers(const char *text)
{
	answers_bytes(
	    "200 OK", json_text(trial.arena, literal(trial.arena, text)), TINY_CLOSE);
}

/* What the tool says; the whole result has no key. */
static const char *
call(const char *name, const char *args)
{
	const char *settings = arena_printf(trial.arena,
	    "{'async_subagents': [{'name': 'far', 'description': 'Works.', 'graph_id': "
	    "'books', 'url': '%s/', 'headers': {'X-Team': 'blue'}}]}",
	    url);
	const struct middleware_use *use =
	    literal_use(trial.arena, "async_subagent", settings);
	const struct value *update;
	size_t i;

	trial.chain = stub_chain(trial.arena, use, NULL);
	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), name))
			tool_trial_call(&trial, value_at(use->tools, i), args);
	ck_assert_ptr_null(strstr(json_text(trial.arena, trial.body), KEY));
	update = value_get(value_at(value_get(trial.body, "commands"), 0), "update");
	return value_get_text(value_at(value_get(update, "messages"), 0), "content");
}

static void
check_sent(unsigned index, const char *line, const char *has)
{
	char *sent = tiny_http_request(server, index);

	ck_assert_ptr_nonnull(sent);
	ck_assert_msg(strncmp(sent, line, strlen(line)) == 0, "%s", sent);
	ck_assert_has(sent, has);
	ck_assert_has(sent, "x-api-key: " KEY);
	ck_assert_has(sent, "X-Team: blue");
	ck_assert_has(sent, "x-auth-scheme: langsmith");
	free(sent);
}

#define START "{\"description\": \"Go.\", \"subagent_type\": \"far\"}"
#define THE_TASK "{\"task_id\": \"t\"}"

START_TEST(a_task_begins_there)
{
	open_server();
	answers("{'thread_id': 'th-1'}");
	answers("[]");
	answers("{'run_id': 'ru-1', 'status': 'pending'}");
	ck_assert_has(call("start_async_task", START), "task_id: th-1");
	check_sent(0, "POST /threads HTTP", "\"if_exists\":\"do_nothing\"");
	check_sent(1, "GET /threads/th-1/runs?", "");
	check_sent(2, "POST /threads/th-1/runs HTTP", "\"assistant_id\":\"books\"");
	check_sent(2, "POST", "\"messages\":[{\"role\":\"user\",\"content\":\"Go.\"}]");
	ck_assert_has(json_text(trial.arena, trial.body), "\"run_id\":\"ru-1\"");
}
END_TEST

/* A worker died behind its POST: the second one finds what that began. */
START_TEST(no_second_run_begins)
{
	open_server();
	answers("{'thread_id': 'th-1'}");
	answers("[{'run_id': 'other'}, {'run_id': 'ru-1', 'metadata': {'flotilla_call': "
		"'run_1/3/call_7'}}]");
	ck_assert_has(call("start_async_task", START), "task_id: th-1");
	ck_assert_has(json_text(trial.arena, trial.body), "\"run_id\":\"ru-1\"");
	ck_assert_uint_eq(tiny_http_requests(server), 2);
}
END_TEST

START_TEST(statuses_are_told)
{
	static const char *const words[][2] = { { "pending", "running" },
		{ "running", "running" }, { "error", "error" }, { "timeout", "error" },
		{ "interrupted", "interrupted" } };
	size_t i;

	open_server();
	for (i = 0; i < sizeof words / sizeof *words; i++) {
		answers(arena_printf(trial.arena, "{'status': '%s'}", words[i][0]));
		ck_assert_has(call("check_async_task", THE_TASK),
		    arena_printf(trial.arena, "\"status\":\"%s\"", words[i][1]));
	}
	check_sent(0, "GET /threads/t/runs/r HTTP", "");
	answers("{'status': 'success'}");
	answers("{'values': {'messages': [{'content': 'x'}, {'content': 'Found.'}]}}");
	ck_assert_has(call("check_async_task", THE_TASK), "\"result\":\"Found.\"");
	answers("{'status': 'success'}");
	ck_assert_has(call("list_async_tasks", "{}"), "status: success");
}
END_TEST

START_TEST(a_task_is_told_more_and_cancelled)
{
	open_server();
	answers("[]");
	answers("{'run_id': 'r2'}");
	ck_assert_has(
	    call("update_async_task", "{\"task_id\": \"t\", \"message\": \"Hurry.\"}"),
	    "new instructions");
	check_sent(
	    1, "POST /threads/t/runs HTTP", "\"multitask_strategy\":\"interrupt\"");
	answers("{'status': 'running'}");
	answers_bytes("204 No Content", "", TINY_CLOSE);
	ck_assert_has(call("cancel_async_task", THE_TASK), "is cancelled");
	check_sent(3, "POST /threads/t/runs/r/cancel?wait=0&action=interrupt", "");
	answers("{'status': 'success'}");
	ck_assert_has(call("cancel_async_task", THE_TASK), "had ended before: success");
}
END_TEST

START_TEST(what_goes_wrong_is_told)
{
	ck_assert_has(call("check_async_task", THE_TASK), "not among the servers");
	ck_assert_uint_eq(tiny_http_requests(server), 0);
	open_server();
	answers_bytes("500 Oops", "the key is " KEY, TINY_CLOSE);
	ck_assert_has(call("check_async_task", THE_TASK), "HTTP 500");
	answers_bytes("200 OK", "{\"status\": \"" KEY "\"}", TINY_CLOSE);
	ck_assert_has(call("check_async_task", THE_TASK), "repeats its key");
	answers_bytes("200 OK", "<html>", TINY_CLOSE);
	ck_assert_has(call("check_async_task", THE_TASK), "not that of a LangGraph");
	answers("{'status': 'odd'}");
	ck_assert_has(call("check_async_task", THE_TASK), "not that of a LangGraph");
	answers("{'thread_id': '../../secret'}");
	ck_assert_has(call("start_async_task", START), "not that of a LangGraph");
	tiny_http_add(server, &(struct tiny_answer){ "HTTP", 0, TINY_RESET });
	ck_assert_has(call("check_async_task", THE_TASK), "no answer of the server");
	ck_assert_has(call("list_async_tasks", "{}"), "status: running");
	trial.state = literal(trial.arena,
	    "{'async_tasks': {'t': {'task_id': 't', 'agent_name': 'far', 'thread_id': "
	    "'../x', 'run_id': 'r', 'status': 'running'}}}");
	ck_assert_has(call("check_async_task", THE_TASK), "not that of a LangGraph");
}
END_TEST

START_TEST(a_list_of_servers_is_checked)
{
	static const char *const bad[][3] = { { "KEY" }, { "ftp://x" }, { "http://" },
		{ "http://x,FAR_KEY", "FAR_KEY" }, { "http://x,NO_SUCH_VARIABLE" },
		{ "http://x,9" } };
	/* A key that stands where its variable's name belongs is not shown. */
	static const struct {
		const char *items[3], *shown;
	} secret[] = {
		{ { "http://u:key@x" }, "..." },
		{ { "http://x?key" }, "..." },
		{ { "http://x,sk-key" }, "http://x,..." },
		{ { "sk-key" }, "..." },
		{ { "http://x", "sk-key" }, "..." },
		{ { "http://x,K:bad header" }, "http://x,K..." },
		{ { "http://x,:h" }, "http://x,..." },
		{ { "http://x,FAR_KEY", "far.example.com:2024" }, "..." },
		{ { "http://x,FAR_KEY,OTHER" }, "http://x,FAR_KEY..." },
	};
	const char *item, *allowed;
	size_t i;

	setenv("FAR_KEY", "k", 1);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(async_servers_open(http, bad[i], &item, &allowed) == -1,
		    "%s", bad[i][0]);
		ck_assert_str_eq(item, bad[i][1] != NULL ? bad[i][1] : bad[i][0]);
	}
	for (i = 0; i < sizeof secret / sizeof *secret; i++) {
		ck_assert_int_eq(
		    async_servers_open(http, secret[i].items, &item, &allowed), -1);
		ck_assert_str_eq(item, secret[i].shown);
	}
}
END_TEST

TCase *
tcase_async_server(void)
{
	TCase *tcase = tcase_create("async_server");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_task_begins_there);
	tcase_add_test(tcase, no_second_run_begins);
	tcase_add_test(tcase, statuses_are_told);
	tcase_add_test(tcase, a_task_is_told_more_and_cancelled);
	tcase_add_test(tcase, what_goes_wrong_is_told);
	tcase_add_test(tcase, a_list_of_servers_is_checked);
	return tcase;
}
