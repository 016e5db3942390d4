#include "mcp_bench.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tool_bench mcp_bench;
static struct child *http_server;

void
mcp_bench_set_up(void)
{
	tool_bench_start(&mcp_bench);
}

void
mcp_bench_tear_down(void)
{
	tool_bench_stop(&mcp_bench);
	child_kill(&http_server);
}

/* --- the server -------------------------------------------------------------------------- */

static const char *
path_of(const char *server)
{
	char path[PATH_MAX];

	ck_assert_ptr_nonnull(realpath(server, path));
	return arena_strdup(mcp_bench.arena, path);
}

/* Writes the file that makes it the server "test", with more lines. */
void
mcp_offer_program(const char *more)
{
	tool_bench_write(&mcp_bench, "tools/mcp.yaml",
	    arena_printf(mcp_bench.arena,
		"mcp: test\ncommand: [/usr/bin/python3, %s, %s]\n%s",
		path_of("tests/mcp/server.py"), mcp_bench.folder, more));
}

void
mcp_offer_bad(const char *what, const char *more)
{
	tool_bench_write(&mcp_bench, "tools/mcp.yaml",
	    arena_printf(mcp_bench.arena,
		"mcp: bad\ncommand: [/usr/bin/python3, %s, %s, %s]\n%s",
		path_of("tests/mcp/bad.py"), mcp_bench.folder, what, more));
}

static bool
has_port(struct tool_bench *at)
{
	return tool_bench_exists(at, "port");
}

/* The same behind HTTP, which wants the key. */
void
mcp_offer_http(const char *key)
{
	const char *argv[] = { "/usr/bin/python3", path_of("tests/mcp/server.py"),
		mcp_bench.folder, "http", "secret", NULL };

	http_server = child_spawn(argv, NULL);
	tool_bench_await(&mcp_bench, has_port);
	tool_bench_write(&mcp_bench, "tools/mcp.yaml",
	    arena_printf(mcp_bench.arena,
		"mcp: test\nurl: http://127.0.0.1:%s/mcp\n"
		"headers: {Authorization: \"Bearer %s\"}\n",
		tool_bench_text(&mcp_bench, "port"), key));
}

size_t
mcp_lines_of(const char *name)
{
	const char *text =
	    tool_bench_exists(&mcp_bench, name) ? tool_bench_text(&mcp_bench, name) : "";
	size_t count = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		text++;
		count++;
	}
	return count;
}

const char *
mcp_printed(const char *arguments)
{
	FILE *pipe =
	    popen(arena_printf(mcp_bench.arena, "exec worker-tools --tools %s %s",
		      tool_bench_path(&mcp_bench, "tools"), arguments),
		"r");
	char *text = arena_alloc(mcp_bench.arena, 8192);

	ck_assert_ptr_nonnull(pipe);
	text[fread(text, 1, 8191, pipe)] = '\0';
	ck_assert_int_eq(pclose(pipe), 0);
	return text;
}

/* --- calls ------------------------------------------------------------------------------- */

struct tool_call *
mcp_begin(const char *tool, const char *args)
{
	return tool_bench_begin_of(
	    &mcp_bench, arena_printf(mcp_bench.arena, "tool:%s", tool), tool, args, "[]");
}

struct tool_call *
mcp_called(const char *tool, const char *args)
{
	struct tool_call *call = mcp_begin(tool, args);

	tool_bench_await_all(&mcp_bench);
	return call;
}

static const struct tool_call *awaited;

static bool
awaited_has_ended(struct tool_bench *at)
{
	(void)at;
	return awaited->fiber == NULL;
}

void
mcp_await(const struct tool_call *call)
{
	awaited = call;
	tool_bench_await(&mcp_bench, awaited_has_ended);
}

void
mcp_expect_text(const struct tool_call *call, const char *text)
{
	ck_assert_str_eq(tool_bench_content(&mcp_bench, call, "success"), text);
}

void
mcp_expect_fault(const struct tool_call *call, const char *type, const char *words)
{
	const struct fault *fault = tool_bench_fault(&mcp_bench, call);

	ck_assert_str_eq(fault->type, type);
	ck_assert_msg(strstr(fault->message, words) != NULL, "%s", fault->message);
}
