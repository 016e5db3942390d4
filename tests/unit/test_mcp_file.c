#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* Interface under test */
#include "../../worker-tools/mcp_file.h"

TCase *tcase_mcp_file(void);

static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new();
	setenv("A_KEY", "k-1\n", 1);
	unsetenv("NO_KEY");
}

static void
tear_down(void)
{
	arena_destroy(&arena);
}

static const struct tool_file *
file_of(const char *text)
{
	const char *error = NULL;
	const struct tool_file *file =
	    tool_file_parse(arena, "/tmp/m.yaml", text, strlen(text), &error);

	ck_assert_msg(file != NULL, "%s: %s", text, error);
	return file;
}

static const struct mcp_options *
server_of(const char *text)
{
	return file_of(text)->servers[0];
}

START_TEST(reads_what_is_behind_a_url)
{
	const struct mcp_options *server = server_of(
	    "mcp: git\nurl: https://x.y/mcp\nheaders: {Authorization: 'Bearer ${A_KEY}', "
	    "X-Price: '$5 $ ${A_KEY}${A_KEY}'}\nprefix: g_\ntools: [a, b.c]\n"
	    "timeout_ms: 5\nstart_ms: 7\nmax_parallel: 3\nidempotent: false\n"
	    "uncertain: interrupt\n");

	ck_assert_str_eq(server->name, "git");
	ck_assert_str_eq(server->url, "https://x.y/mcp");
	ck_assert_ptr_null(server->program);
	ck_assert_str_eq(server->headers[0], "Authorization: Bearer k-1");
	ck_assert_str_eq(server->headers[1], "X-Price: $5 $ k-1k-1");
	ck_assert_ptr_null(server->headers[2]);
	ck_assert_str_eq(server->prefix, "g_");
	ck_assert_str_eq(json_text(arena, server->tools), "[\"a\",\"b.c\"]");
	ck_assert_uint_eq(server->timeout_ms, 5);
	ck_assert_uint_eq(server->start_ms, 7);
	ck_assert_uint_eq(server->max_parallel, 3);
	ck_assert(!server->idempotent->boolean);
	ck_assert_str_eq(value_text(server->uncertain), "interrupt");
}
END_TEST

START_TEST(reads_what_is_a_program)
{
	const struct mcp_options *server =
	    server_of("mcp: git\ncommand: [sh, -c, 'exec git-mcp {{x}}']\n"
		      "environment: [A_KEY, B=2]\nlimits: {open_files: 64}\n");

	ck_assert_ptr_null(server->url);
	ck_assert_ptr_null(server->tools);
	ck_assert_ptr_null(server->idempotent);
	ck_assert_str_eq(server->prefix, "");
	ck_assert_uint_eq(server->program->item_count, 3);
	ck_assert_str_eq(server->program->environment[1], "B=2");
	ck_assert_uint_eq(server->program->limits.open_files, 64);
	/* It stays: there is no time that it could use too much of. */
	ck_assert_uint_eq(server->program->limits.cpu_seconds, 0);
	ck_assert_uint_eq(server_of("mcp: a\ncommand: sleep\nlimits: {cpu_seconds: 9}\n")
			      ->program->limits.cpu_seconds,
	    9);
}
END_TEST

START_TEST(stands_beside_tools)
{
	const struct tool_file *file =
	    file_of("name: t\ndescription: d\ncommand: a\n---\nmcp: m\nurl: "
		    "http://x/@a/mcp\n---\n"
		    "name: u\ndescription: d\ncommand: a\n");

	ck_assert_str_eq(file->tools[1]->name, "u");
	ck_assert_ptr_null(file->tools[2]);
	ck_assert_str_eq(file->servers[0]->name, "m");
	ck_assert_ptr_null(file->servers[1]);
}
END_TEST

static const struct {
	const char *text, *place, *reason;
} refused[] = {
	{ "mcp: 7\nurl: http://x\n", "1:", "mcp must be text" },
	{ "mcp: a b\nurl: http://x\n", "1:", "'a b' has not" },
	{ "mcp: m\n", "1:1", "either a url or a command" },
	{ "mcp: m\nurl: http://x\ncommand: a\n", "3:", "either a url or a command" },
	{ "mcp: m\nurl: ftp://x\n", "2:6", "must begin with http:// or https://" },
	{ "mcp: m\nurl: http://u:p@x\n", "2:6", "a key goes into headers" },
	{ "mcp: m\nurl: http://u@x/@y\n", "2:6", "a key goes into headers" },
	{ "mcp: m\nurl: 'http://x y'\n", "2:6", "no spaces" },
	{ "mcp: m\nurl: http://x\nheaders: [a]\n", "3:", "headers are a map" },
	{ "mcp: m\nurl: http://x\nheaders: {A: 1}\n", "3:14", "put it in quotes" },
	{ "mcp: m\nurl: http://x\nheaders: {A: 'b ${NO_KEY}'}\n", "3:14",
	    "the variable 'NO_KEY' is not set" },
	{ "mcp: m\nurl: http://x\nheaders: {A: 'b ${A_KEY'}\n", "3:14",
	    "the variable '' is not set" },
	{ "mcp: m\nurl: http://x\nheaders: {Host: a}\n", "3:", "cannot be set here" },
	{ "mcp: m\nurl: http://x\nheaders: {\"A B\": a}\n", "3:", "HTTP does not allow" },
	{ "mcp: m\nurl: http://x\nheaders: {A: \"b\\r\\nC: d\"}\n",
	    "3:", "HTTP does not allow" },
	{ "mcp: m\ncommand: a\nheaders: {A: b}\n", "3:", "headers are for a url" },
	{ "mcp: m\ncommand: [no-such-program]\n", "2:11", "is not in PATH" },
	{ "mcp: m\nurl: http://x\nprefix: 'a.'\n", "3:", "'a.' has not" },
	{ "mcp: m\nurl: http://x\ntools: []\n", "3:", "leave it out for all" },
	{ "mcp: m\nurl: http://x\ntools: [1]\n", "3:9", "a tool's name is text" },
	{ "mcp: m\nurl: http://x\nidempotent: 1\n", "3:", "true or false" },
	{ "mcp: m\nurl: http://x\nuncertain: x\n", "3:", "tell_model, interrupt" },
	{ "mcp: m\nurl: http://x\nstart_ms: 0\n", "3:", "from 1 to" },
	{ "mcp: m\nurl: http://x\ninput: json\n", "3:1", "unknown key 'input'" },
	{ "mcp: m\nurl: http://x\nhaeders: {}\n", "3:1", "did you mean 'headers'?" },
};

START_TEST(refuses_with_place_and_remedy)
{
	const char *text = refused[_i].text, *error = NULL, *place;

	ck_assert_msg(
	    tool_file_parse(arena, "/tmp/m.yaml", text, strlen(text), &error) == NULL,
	    "taken: %s", text);
	place = arena_printf(arena, "/tmp/m.yaml:%s", refused[_i].place);
	ck_assert_msg(strncmp(error, place, strlen(place)) == 0, "%s: %s", text, error);
	ck_assert_msg(strstr(error, refused[_i].reason) != NULL, "%s: %s", text, error);
	/* Whatever is wrong with a key, it is not shown. */
	ck_assert_ptr_null(strstr(error, "k-1"));
}
END_TEST

START_TEST(knows_the_same_server_again)
{
	static const char text[] = "mcp: m\nurl: http://x\nheaders: {A: '${A_KEY}'}\n";
	const struct mcp_options *one = server_of(text);

	ck_assert(mcp_options_equal(one, server_of(text)));
	setenv("A_KEY", "k-2", 1);
	ck_assert(!mcp_options_equal(one, server_of(text)));
	ck_assert(!mcp_options_equal(one, server_of("mcp: m\nurl: http://x\n")));
	ck_assert(mcp_options_equal(
	    server_of("mcp: m\ncommand: a\n"), server_of("mcp: m\ncommand: a\n")));
	ck_assert(!mcp_options_equal(server_of("mcp: m\ncommand: a\n"),
	    server_of("mcp: m\ncommand: a\ntools: [b]\n")));
}
END_TEST

TCase *
tcase_mcp_file(void)
{
	TCase *tcase = tcase_create("mcp_file");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, reads_what_is_behind_a_url);
	tcase_add_test(tcase, reads_what_is_a_program);
	tcase_add_test(tcase, stands_beside_tools);
	tcase_add_loop_test(
	    tcase, refuses_with_place_and_remedy, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tcase, knows_the_same_server_again);
	return tcase;
}
