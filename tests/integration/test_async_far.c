/* Agents of another server that work in the background, on a fleet of real processes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_bench.h"
#include "chat.h"
#include "has.h"
#include "json.h"
#include "tiny_http.h"

TCase *tcase_async_far(void);

#define KEY "sk-far-7361"
#define WAIT_MS 60000u

/* Its runs, one after the other, start, check, update and cancel a task on the server of that port. */
static const char chief[] =
    "name: chief\n"
    "model: scripted:m\n"
    "middleware: [{async_subagent: {async_subagents: [{name: far, description: Works., "
    "graph_id: books, url: \"http://127.0.0.1:%u\", headers: {X-Team: blue}}]}}]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: start_async_task, args: {description: do it, "
    "subagent_type: far}}]\n"
    "    - content: Begun.\n"
    "    - tool_calls: [{id: b, name: check_async_task, args: {task_id: th-1}}]\n"
    "    - content: Checked.\n"
    "    - tool_calls: [{id: c, name: update_async_task, args: {task_id: th-1, message: "
    "hurry}}]\n"
    "    - content: Told.\n"
    "    - tool_calls: [{id: d, name: cancel_async_task, args: {task_id: th-1}}]\n"
    "    - content: Over.\n";

static struct tiny_http *server;

static void
answers(const char *body)
{
	struct arena *arena = arena_new();
	const char *bytes = arena_printf(arena,
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
	    strlen(body), body);

	tiny_http_add(server, &(struct tiny_answer){ bytes, 0, TINY_CLOSE });
	arena_destroy(&arena);
}

/* The worker may call the server, with a key. */
static void
let_worker_call(struct scene *scene)
{
	kit_env(scene->kit, KIT_TOOLS, "FAR_KEY=" KEY);
	kit_env(scene->kit, KIT_TOOLS,
	    arena_printf(scene->arena,
		"FLOTILLA_AGENT_SERVER=http://127.0.0.1:%u,FAR_KEY",
		tiny_http_port(server)));
	kit_stop(scene->kit, KIT_TOOLS, 0);
	kit_start(scene->kit, KIT_TOOLS, 0);
}

static void
act(void (*play)(struct scene *scene))
{
	char agents[sizeof chief + 8];

	server = tiny_http_new();
	snprintf(agents, sizeof agents, chief, (unsigned)tiny_http_port(server));
	ask_act_with(play, agents);
	tiny_http_destroy(&server);
}

/* What the last tool said, when the run of the thread "t" has ended well. */
static const char *
said_in(struct scene *scene, const char *run)
{
	const struct value *messages;
	size_t i;

	ask_check_status(scene, ask_wait_end(scene, run, "t"), "success");
	messages = value_get(ask_state_of(scene, "t"), "messages");
	for (i = value_size(messages); i > 0; i--)
		if (chat_is(value_at(messages, i - 1), "tool"))
			return chat_text(scene->arena, value_at(messages, i - 1));
	ck_abort_msg("%s has called no tool", run);
}

static const char *
next_says(struct scene *scene, const char *run)
{
	ask_submit(scene, "chief", run, "t", "input", "\"hi\"");
	return said_in(scene, run);
}

static void
check_task(struct scene *scene, const char *name, const char *text)
{
	const struct value *fields = value_get(ask_state_of(scene, "t"), "fields");
	const struct value *task = value_get(value_get(fields, "async_tasks"), "th-1");

	ck_assert_msg(value_text_is(value_get(task, name), text), "%s",
	    json_text(scene->arena, task));
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
	free(sent);
}

/* --- a task ---------------------------------------------------------------------------- */

static void
play_task(struct scene *scene)
{
	let_worker_call(scene);
	answers("{\"thread_id\": \"th-1\"}");
	answers("[]");
	answers("{\"run_id\": \"ru-1\", \"status\": \"pending\"}");
	ck_assert_has(next_says(scene, "r1"), "task_id: th-1");
	check_task(scene, "run_id", "ru-1");
	check_sent(0, "POST /threads HTTP", "\"if_exists\":\"do_nothing\"");
	check_sent(2, "POST /threads/th-1/runs HTTP", "\"content\":\"do it\"");
	answers("{\"status\": \"success\"}");
	answers("{\"values\": {\"messages\": [{\"content\": \"Found it.\"}]}}");
	ck_assert_has(next_says(scene, "r2"), "\"result\":\"Found it.\"");
	check_sent(3, "GET /threads/th-1/runs/ru-1 HTTP", "");
	answers("[{\"run_id\": \"ru-1\"}]");
	answers("{\"run_id\": \"ru-2\"}");
	ck_assert_has(next_says(scene, "r3"), "th-1");
	check_task(scene, "run_id", "ru-2");
	check_sent(6, "POST /threads/th-1/runs HTTP", "\"content\":\"hurry\"");
	answers("{\"status\": \"running\"}");
	answers("{}");
	ck_assert_has(next_says(scene, "r4"), "is cancelled");
	check_sent(8, "POST /threads/th-1/runs/ru-2/cancel", "");
	check_task(scene, "status", "cancelled");
	ck_assert_uint_eq(tiny_http_requests(server), 9);
	ck_assert_ptr_null(
	    strstr(kit_flotilla(scene->kit, "state", "t", "--json", NULL), KEY));
	ck_assert_ptr_null(
	    strstr(kit_flotilla(scene->kit, "watch", "r1", "--json", NULL), KEY));
}

START_TEST(a_task_is_done_on_another_server)
{
	act(play_task);
}
END_TEST

/* --- what goes wrong ------------------------------------------------------------------- */

static void
play_closed(struct scene *scene)
{
	ck_assert_has(next_says(scene, "r1"), "not among the servers");
	ck_assert_uint_eq(tiny_http_accepted(server), 0);
}

START_TEST(a_server_that_no_worker_may_call_is_not_called)
{
	act(play_closed);
}
END_TEST

static bool
has_begun_run(void *arg)
{
	(void)arg;
	return tiny_http_requests(server) >= 3;
}

/* The name that the call has given to the run which it began. */
static const char *
call_of(struct arena *arena, unsigned index)
{
	static const char mark[] = "\"flotilla_call\":\"";
	char *sent = tiny_http_request(server, index), *at;
	const char *name;

	ck_assert_ptr_nonnull(sent);
	at = strstr(sent, mark);
	ck_assert_msg(at != NULL, "%s", sent);
	at += sizeof mark - 1;
	name = arena_copy(arena, at, strcspn(at, "\""));
	free(sent);
	return name;
}

/* The worker dies when the server has begun the run and its answer has not come. */
static void
play_killed(struct scene *scene)
{
	char *first, *second;

	let_worker_call(scene);
	answers("{\"thread_id\": \"th-1\"}");
	answers("[]");
	tiny_http_add(server, &(struct tiny_answer){ .bytes = "", .end = TINY_HANG });
	ask_submit(scene, "chief", "r1", "t", "input", "\"hi\"");
	ck_assert(client_wait(scene->client, has_begun_run, NULL, WAIT_MS));
	answers("{\"thread_id\": \"th-1\"}");
	answers(arena_printf(scene->arena,
	    "[{\"run_id\": \"ru-9\", \"metadata\": {\"flotilla_call\": \"%s\"}}]",
	    call_of(scene->arena, 2)));
	kit_kill(scene->kit, KIT_TOOLS, 0);
	kit_start(scene->kit, KIT_TOOLS, 0);
	ck_assert_has(said_in(scene, "r1"), "task_id: th-1");
	check_task(scene, "run_id", "ru-9");
	ck_assert_uint_eq(tiny_http_requests(server), 5);
	first = tiny_http_request(server, 0);
	second = tiny_http_request(server, 3);
	ck_assert_str_eq(strstr(first, "\r\n\r\n"), strstr(second, "\r\n\r\n"));
	free(first);
	free(second);
}

START_TEST(a_worker_that_dies_begins_no_second_run)
{
	act(play_killed);
}
END_TEST

TCase *
tcase_async_far(void)
{
	TCase *tcase = tcase_create("async_far");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_task_is_done_on_another_server);
	tcase_add_test(tcase, a_server_that_no_worker_may_call_is_not_called);
	tcase_add_test(tcase, a_worker_that_dies_begins_no_second_run);
	return tcase;
}
