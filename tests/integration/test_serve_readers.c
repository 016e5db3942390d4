/* Readers of `flotilla serve`'s streams who take their time, or wait for what takes its: what is written to them, in which
 * order, and what is kept for them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "has.h"
#include "repeated.h"
#include "serve_bench.h"

TCase *tcase_serve_readers(void);

#define LARGE_BYTES (6u << 20) /* more than the kernel takes for who reads nothing */
#define PIECE_BYTES 65536u
#define END "\r\n0\r\n\r\n"

static struct fleet_up *const fleet = &serve_bench.fleet;

static const char agents_text[] =
    "name: walker\n"
    "model: scripted:s\n"
    "tools: [note]\n"
    "script:\n"
    "  s:\n"
    "    - {content: A., delay_ms: 1500, tool_calls: [{id: a, name: note, args: {text: "
    "a}}]}\n"
    "    - {content: B., delay_ms: 1500, tool_calls: [{id: b, name: note, args: {text: "
    "b}}]}\n"
    "    - {content: C., delay_ms: 1500, tool_calls: [{id: c, name: note, args: {text: "
    "c}}]}\n"
    "    - {content: D., delay_ms: 1500, tool_calls: [{id: d, name: note, args: {text: "
    "d}}]}\n"
    "    - {content: E.}\n"
    "---\n"
    "name: asker\n"
    "model: scripted:s\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - lua:\n"
    "      code: |\n"
    "        function wrap_tool_call(request, handler)\n"
    "          request.runtime.stream('I ask')\n"
    "          request.runtime.interrupt('may I?')\n"
    "          return handler(request)\n"
    "        end\n"
    "script:\n"
    "  s:\n"
    "    - {content: A., delay_ms: 1500, tool_calls: [{id: a, name: note, args: {text: "
    "a}}]}\n"
    "    - {content: B.}\n"
    "---\n"
    "name: thinker\n"
    "model: scripted:s\n"
    "script:\n"
    "  s: [{content: A., delay_ms: 1500}]\n";

static void
open_fleet(void)
{
	serve_open();
	fleet_up_write(fleet, "readers.yaml", agents_text);
	ck_assert_int_eq(CLI(&fleet->flotilla, "agents", "apply",
			     arena_printf(fleet->arena, "%s/readers.yaml", fleet->folder))
			     .status,
	    0);
}

/* Reads until text has come, and returns all that came. */
static const char *
hear(int fd, const char *text)
{
	char *all = NULL, *tail;
	const char *heard;
	size_t size = 0, room = 0, back = strlen(text);
	ssize_t got;

	do {
		if (room - size <= PIECE_BYTES) {
			room = 2 * room + 2 * PIECE_BYTES;
			all = realloc(all, room);
			ck_assert_ptr_nonnull(all);
		}
		got = recv(fd, all + size, PIECE_BYTES, 0);
		ck_assert_msg(got > 0, "no %s", text);
		tail = all + (size > back ? size - back : 0);
		size += (size_t)got;
		all[size] = '\0';
	} while (strstr(tail, text) == NULL);
	heard = arena_strdup(fleet->arena, all);
	free(all);
	return heard;
}

/* A run's body, with a large input. */
static const char *
much(const char *agent, const char *modes)
{
	return serve_text("{'assistant_id': '%s', 'stream_mode': [%s], 'input': "
			  "{'messages': [{'role': 'user', 'content': '%s'}]}}",
	    agent, modes, repeated(fleet->arena, "y", LARGE_BYTES));
}

/* Of steps that come more often than heartbeats, and show nothing. */
START_TEST(a_run_that_shows_nothing_has_heartbeats)
{
	int fd = serve_dial(serve_bench.url,
	    serve_text("POST /threads/%s/runs/stream", serve_thread()),
	    serve_text("{'assistant_id': 'walker', 'stream_mode': ['custom'], %s}", HI));
	const char *told = hear(fd, END);

	ck_assert_has(told, "\n: heartbeat\n");
	ck_assert_has_not(told, "event: error");
	close(fd);
}
END_TEST

/* Who has much to take before comes to both at once. */
START_TEST(what_a_step_tells_is_shown_before_its_question)
{
	const char *id = serve_thread(), *told, *custom, *question;
	int fd =
	    serve_dial(serve_bench.url, serve_text("POST /threads/%s/runs/stream", id),
		much("asker", "'values', 'updates', 'custom'"));

	hear(fd, "event: values");
	serve_run_wait(id,
	    value_get_text(
		value_at(serve_get(serve_text("/threads/%s/runs", id), 200), 0),
		"run_id"),
	    "interrupted");
	told = hear(fd, END);
	custom = strstr(told, "event: custom");
	question = strstr(told, "__interrupt__");
	ck_assert_ptr_nonnull(custom);
	ck_assert_ptr_nonnull(question);
	ck_assert(custom < question);
	close(fd);
}
END_TEST

static const char *
status_of(const char *run)
{
	return value_get_text(
	    serve_get(serve_text("/threads/%s/runs/%s", run, run), 200), "status");
}

/* Begins a run without thread of which nobody takes more than the beginning. */
static int
begin_and_look_away(const char *url, const char **run_r)
{
	int fd = serve_dial(url, "POST /runs/stream", much("thinker", "'values'"));
	const char *head = hear(fd, "event: values");
	const char *id = strstr(head, "Content-Location: /runs/");

	ck_assert_ptr_nonnull(id);
	id = strrchr(arena_copy(fleet->arena, id, strcspn(id, "\r")), '/') + 1;
	*run_r = id;
	return fd;
}

/* Who comes back finds the end. */
START_TEST(a_run_without_thread_is_kept_where_its_end_was_not_taken)
{
	struct cli_job *server;
	const char *url = serve_start(&server, NULL), *run;
	int fd = begin_and_look_away(url, &run);

	/* Only then is its end another frame. */
	while (strcmp(status_of(run), "running") != 0) {
		close(fd);
		fd = begin_and_look_away(url, &run);
	}
	/* Who asks the same server after it is told after it. */
	ASK(.url = url, .path = serve_text("/threads/%s/runs/%s/join", run, run));
	close(fd);
	serve_stop(&server); /* so it has seen that */
	ck_assert_str_eq(status_of(run), "success");
}
END_TEST

TCase *
tcase_serve_readers(void)
{
	TCase *tcase = tcase_create("serve_readers");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, open_fleet, serve_close);
	tcase_add_test(tcase, a_run_that_shows_nothing_has_heartbeats);
	tcase_add_test(tcase, what_a_step_tells_is_shown_before_its_question);
	tcase_add_test(tcase, a_run_without_thread_is_kept_where_its_end_was_not_taken);
	return tcase;
}
