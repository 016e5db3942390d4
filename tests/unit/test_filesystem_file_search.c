#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "fiber.h"
#include "hook_stub.h"
#include "json.h"
#include "literal.h"
#include "tool_trial.h"

/* Interface under test */
#include "file_search.h"
#include "registry.h"

TCase *tcase_filesystem_file_search(void);

static struct tool_trial trial;
static struct arena *arena;
static char *folder;

static const char *
path_of(const char *name)
{
	return arena_printf(arena, "%s/root/%s", folder, name);
}

/* Writes a file of that age, and the folders it is in. */
static void
put(const char *path, const char *text, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
	char *slash;
	FILE *file;

	for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
		mkdir(arena_copy(arena, path, (size_t)(slash - path)), 0755);
	file = fopen(path, "we");
	ck_assert_msg(file != NULL, "%s", path);
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* secret is beside the root; everything that could lead to it is in the root. */
static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
	put(arena_printf(arena, "%s/secret/key.txt", folder), "needle outside\n", 900);
	put(path_of("a.txt"), "one\nneedle two\r\nneedle", 100);
	put(path_of("src/b.c"), "int needle;\n", 300);
	put(path_of("src/deep/c.h"), "int x;\nint NEEDLE;\n", 200);
	put(path_of("src/.hidden"), "needle ä1\n", 50);
	put(path_of("src-old/d.txt"), "needle\n", 400);
	put(path_of("latin.txt"), "needle \xe4\n", 10);
	ck_assert_int_eq(symlink("../secret", path_of("link")), 0);
	ck_assert_int_eq(symlink("../secret/key.txt", path_of("key.txt")), 0);
	ck_assert_int_eq(symlink("/", path_of("src/all")), 0);
	ck_assert_int_eq(symlink("a.txt", path_of("inner.txt")), 0);
	ck_assert_int_eq(symlink(".", path_of("round")), 0);
	ck_assert_int_eq(mkfifo(path_of("pipe.txt"), 0644), 0);
}

static void
tear_down(void)
{
	folder_remove(&folder);
	tool_trial_close(&trial);
}

/* Calls the tool with the settings, a literal's inside, in which the root is given. */
static void
call_with(const char *tool, const char *settings, const char *args)
{
	const char *path = "", *error = "";
	const struct middleware_use *use = registry_use(arena, "filesystem_file_search",
	    literal(arena,
		arena_printf(arena, "{'root_path': '%s/root'%s}", folder, settings)),
	    &path, &error);
	size_t i;

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	trial.chain = stub_chain(arena, use, NULL);
	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), tool))
			tool_trial_call(&trial, value_at(use->tools, i),
			    json_text(arena, literal(arena, args)));
}

static const char *
answer(const char *tool, const char *settings, const char *args)
{
	call_with(tool, settings, args);
	return tool_trial_answer(&trial, "success");
}

/* --- names -------------------------------------------------------------------------- */

static const struct {
	const char *args, *answer;
} globs[] = {
	{ "{'pattern': '**/*'}",
	    "/src-old/d.txt\n/src/b.c\n/src/deep/c.h\n/a.txt\n/src/.hidden\n/latin.txt" },
	{ "{'pattern': '*.txt'}", "/a.txt\n/latin.txt" },
	{ "{'pattern': '**/*.{c,h}', 'path': '/'}", "/src/b.c\n/src/deep/c.h" },
	{ "{'pattern': '*', 'path': '/src/'}", "/src/b.c\n/src/.hidden" },
	{ "{'pattern': 'deep/*', 'path': 'src'}", "/src/deep/c.h" },
	{ "{'pattern': '**/key.txt'}", "No files found" },
	{ "{'pattern': 'link/*'}", "No files found" },
	{ "{'pattern': 'inner.txt'}", "No files found" },
};

START_TEST(files_are_found_by_name_newest_first)
{
	ck_assert_str_eq(answer("glob_search", "", globs[_i].args), globs[_i].answer);
}
END_TEST

/* --- lines -------------------------------------------------------------------------- */

static const struct {
	const char *args, *answer;
} greps[] = {
	{ "{'pattern': 'needle'}", "/a.txt\n/src-old/d.txt\n/src/.hidden\n/src/b.c" },
	{ "{'pattern': 'needle', 'output_mode': 'content'}",
	    "/a.txt:2:needle two\n/a.txt:3:needle\n/src-old/d.txt:1:needle\n"
	    "/src/.hidden:1:needle ä1\n/src/b.c:1:int needle;" },
	{ "{'pattern': 'needle', 'output_mode': 'count'}",
	    "/a.txt:2\n/src-old/d.txt:1\n/src/.hidden:1\n/src/b.c:1" },
	{ "{'pattern': '(?i)needle', 'include': '*.{c,h}'}", "/src/b.c\n/src/deep/c.h" },
	{ "{'pattern': '(?i)needle', 'include': 'deep/*.h', 'path': '/src'}",
	    "/src/deep/c.h" },
	{ "{'pattern': 'needle', 'include': 'src/**', 'output_mode': 'count'}",
	    "/src/.hidden:1\n/src/b.c:1" },
	{ "{'pattern': 'needle', 'path': '/src/b.c', 'include': null}", "/src/b.c" },
	{ "{'pattern': 'needle \\\\w\\\\d'}", "/src/.hidden" },
	{ "{'pattern': '^needle$'}", "/a.txt\n/src-old/d.txt" },
	{ "{'pattern': 'outside'}", "No matches found" },
	{ "{'pattern': 'nothing', 'path': '/src'}", "No matches found" },
	{ "{'pattern': '--help'}", "No matches found" },
};

/* The same whether ripgrep looks first or not. */
START_TEST(lines_are_found_sorted_by_path)
{
	ck_assert_str_eq(answer("grep_search", ", 'use_ripgrep': false", greps[_i].args),
	    greps[_i].answer);
	ck_assert_str_eq(answer("grep_search", "", greps[_i].args), greps[_i].answer);
}
END_TEST

START_TEST(what_is_too_large_is_not_searched)
{
	char *text = arena_alloc(arena, (1 << 20) + 8);

	memset(text, 'x', 1 << 20);
	put(path_of("large.log"), text, 1);
	ck_assert_str_eq(answer("grep_search", "", "{'pattern': 'xx'}"), "/large.log");
	memcpy(text + (1 << 20), "\n", 2);
	put(path_of("large.log"), text, 1);
	ck_assert_str_eq(
	    answer("grep_search", ", 'max_file_size_mb': 1", "{'pattern': 'xx'}"),
	    "No matches found");
}
END_TEST

START_TEST(a_long_answer_is_cut_and_says_so)
{
	const size_t lines = 2 * FILE_SEARCH_ANSWER_BYTES / 2000;
	char *text = arena_alloc(arena, lines * 2001 + 1);
	const char *said,
	    *note = "\n[There is more, which was left out: narrow the search.]";
	size_t i;

	for (i = 0; i < lines; i++) {
		memset(text + i * 2001, 'y', 2000);
		text[i * 2001 + 2000] = '\n';
	}
	put(path_of("y.txt"), text, 1);
	said = answer("grep_search", "", "{'pattern': 'y', 'output_mode': 'content'}");
	ck_assert_uint_lt(strlen(said), FILE_SEARCH_ANSWER_BYTES + 1000);
	ck_assert_str_eq(said + strlen(said) - strlen(note), note);
	ck_assert_int_eq(strncmp(strchr(said, '\n') - 4, "y...", 4), 0);
}
END_TEST

START_TEST(a_pattern_that_takes_too_much_work_is_told_of)
{
	char text[64] = { 0 };
	const char *said;

	memset(text, 'z', sizeof text - 1);
	put(path_of("z.txt"), text, 1);
	said = answer(
	    "grep_search", "", "{'pattern': '^(z+)+(z+)+(z+)+\\\\d', 'include': 'z.*'}");
	ck_assert_ptr_nonnull(strstr(said, "takes too much work on 1 files"));
}
END_TEST

/* --- refusals ----------------------------------------------------------------------- */

static const struct {
	const char *tool, *args, *begin;
} refused[] = {
	{ "glob_search", "{'pattern': '*', 'path': '/../secret'}",
	    "Error: a path must not have \"..\"" },
	{ "glob_search", "{'pattern': '*', 'path': '~root'}",
	    "Error: a path must not have \"..\"" },
	{ "glob_search", "{'pattern': '../secret/*'}",
	    "Invalid pattern: a component is \"..\"." },
	{ "glob_search", "{'pattern': ''}", "Invalid pattern: it is empty." },
	{ "glob_search", "{'pattern': '*', 'path': '/link'}",
	    "Error: there is no folder and no file /link " },
	{ "glob_search", "{'pattern': '*', 'path': '/round/src'}",
	    "Error: there is no folder and no file /round/src " },
	{ "grep_search", "{'pattern': 'n', 'path': '/key.txt'}",
	    "Error: there is no folder and no file /key.txt " },
	{ "grep_search", "{'pattern': 'n', 'path': '/src/all/etc'}",
	    "Error: there is no folder and no file /src/all/etc " },
	{ "grep_search", "{'pattern': 'n', 'path': '/pipe.txt'}",
	    "Error: there is no folder and no file /pipe.txt " },
	{ "grep_search", "{'pattern': 'n', 'path': '/none'}",
	    "Error: there is no folder and no file /none " },
	{ "grep_search", "{'pattern': '('}", "Invalid regex pattern: " },
	{ "grep_search", "{'pattern': 'n', 'include': '*.{c'}",
	    "Invalid include pattern: a { is not closed." },
	{ "grep_search", "{'pattern': 'n', 'include': '../*'}",
	    "Invalid include pattern: a component is \"..\"." },
	{ "grep_search", "{'pattern': 'n', 'output_mode': 'all'}",
	    "Error: the tool grep_search was not run" },
};

START_TEST(what_leads_outside_or_is_nothing_is_refused)
{
	const char *said;

	call_with(refused[_i].tool, "", refused[_i].args);
	said = tool_trial_answer(&trial, "error");
	ck_assert_msg(
	    strncmp(said, refused[_i].begin, strlen(refused[_i].begin)) == 0, "%s", said);
}
END_TEST

static const struct {
	const char *settings, *path, *error;
} bad[] = {
	{ "{}", "", "root_path" },
	{ "{'root_path': 'src'}", "/root_path", "absolute" },
	{ "{'root_path': '/no/such/folder'}", "/root_path", "is no folder" },
	{ "{'root_path': '/etc/passwd'}", "/root_path", "is no folder" },
	{ "{'root_path': 7}", "/root_path", "string" },
	{ "{'root_path': '/', 'max_file_size_mb': 0}", "/max_file_size_mb", "1" },
	{ "{'root_path': '/', 'max_file_size_mb': '1'}", "/max_file_size_mb", "integer" },
	{ "{'root_path': '/', 'use_ripgrep': 'no'}", "/use_ripgrep", "true" },
	{ "{'root_path': '/', 'root_check': 'never'}", "/root_check", "workers" },
	{ "{'root_path': '/', 'roots': []}", "/roots", "roots" },
};

START_TEST(bad_settings_are_refused_by_name)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(arena, "filesystem_file_search",
	    literal(arena, bad[_i].settings), &path, &error));
	ck_assert_msg(strcmp(path, bad[_i].path) == 0 ||
			  strstr(error, bad[_i].path + (bad[_i].path[0] == '/')) != NULL,
	    "%s: %s", path, error);
	ck_assert_msg(
	    strstr(arena_printf(arena, "%s %s", path, error), bad[_i].error) != NULL,
	    "%s: %s", path, error);
}
END_TEST

/* A root that only the workers have is their affair; there it is a fault. */
START_TEST(a_root_that_is_gone_is_a_fault)
{
	const char *root = path_of("");

	put(arena_printf(arena, "%s/other", folder), "", 1);
	call_with("glob_search", ", 'root_check': 'workers'", "{'pattern': '*'}");
	ck_assert_int_eq(rename(root, arena_printf(arena, "%s/moved", folder)), 0);
	call_with("glob_search", ", 'root_check': 'workers'", "{'pattern': '*'}");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "FileNotFoundError");
	call_with("grep_search", ", 'root_check': 'workers'", "{'pattern': 'n'}");
	ck_assert_str_eq(tool_trial_fault(&trial)->type, "FileNotFoundError");
}
END_TEST

static atomic_bool ends;

/* Waits until somebody has opened the pipe to read it. */
static void *
open_to_write(void *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	atomic_store(&ends, true);
	close(fd);
	return NULL;
}

START_TEST(a_pipe_is_opened_by_nobody)
{
	const char *path = path_of("pipe.txt");
	pthread_t thread;
	int fd;

	ck_assert_int_eq(
	    pthread_create(&thread, NULL, open_to_write, (void *)(uintptr_t)path), 0);
	call_with("grep_search", "", "{'pattern': 'n', 'path': '/pipe.txt'}");
	ck_assert_ptr_nonnull(
	    strstr(tool_trial_answer(&trial, "error"), "no file /pipe.txt"));
	ck_assert(!atomic_load(&ends));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pthread_join(thread, NULL);
	close(fd);
}
END_TEST

/* --- somebody who changes the disk meanwhile ----------------------------------------- */

/* Makes root/flip a folder of the root's and a link to the secret, in turns. */
static void *
flip(void *arg)
{
	const char *flip = arg;
	char aside[512], link[512];

	snprintf(aside, sizeof aside, "%s.aside", flip);
	snprintf(link, sizeof link, "%s.link", flip);
	while (!atomic_load(&ends)) {
		rename(flip, aside);
		rename(link, flip);
		rename(flip, link);
		rename(aside, flip);
	}
	return NULL;
}

START_TEST(a_folder_that_becomes_a_link_leads_nowhere)
{
	const char *flipped = path_of("flip");
	pthread_t thread;
	size_t i;

	put(path_of("flip/key.txt"), "needle inside\n", 1);
	ck_assert_int_eq(
	    symlink("../secret", arena_printf(arena, "%s.link", flipped)), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, flip, (void *)flipped), 0);
	for (i = 0; i < 150; i++) {
		call_with("grep_search", i % 2 == 0 ? "" : ", 'use_ripgrep': false",
		    "{'pattern': 'needle', 'path': '/flip', 'output_mode': 'content'}");
		ck_assert_ptr_null(strstr(json_text(arena, trial.body), "outside"));
	}
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
}
END_TEST

/* --- limits ------------------------------------------------------------------------- */

static bool
count_file(void *arg, int at, const char *name, const char *path, const char *inside)
{
	size_t *files = arg;

	(void)at;
	(void)name;
	(void)path;
	(void)inside;
	++*files;
	return true;
}

/* As if all names but two had been looked at elsewhere: the limit is of all folders together. */
START_TEST(behind_the_limit_of_names_no_folder_has_any)
{
	const atomic_bool stop = false;
	size_t files = 0;
	struct file_walk walk = { .arena = arena,
		.root = folder,
		.path = "root/many",
		.end_us = UINT64_MAX,
		.stop = &stop,
		.entries = FILE_WALK_ENTRIES_MAX - 2,
		.visit = count_file,
		.arg = &files };

	put(path_of("many/a/1"), "", 1);
	put(path_of("many/b/2"), "", 1);
	put(path_of("many/c/3"), "", 1);
	ck_assert_int_eq(file_walk(&walk), FILE_WALK_DONE);
	ck_assert(walk.is_cut);
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(walk.entries, FILE_WALK_ENTRIES_MAX);
}
END_TEST

/* Folders have names, too: as if others had filled the arena. */
START_TEST(a_walk_ends_when_its_names_are_too_much)
{
	const atomic_bool stop = false;
	size_t files = 0;
	struct file_walk walk = { .arena = arena,
		.root = folder,
		.path = "root/many",
		.end_us = UINT64_MAX,
		.stop = &stop,
		.visit = count_file,
		.arg = &files };

	put(path_of("many/a/b/1"), "", 1);
	arena_take(arena, FILE_WALK_BYTES_MAX - arena_bytes(arena) - 1);
	ck_assert_int_eq(file_walk(&walk), FILE_WALK_DONE);
	ck_assert(walk.is_cut);
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(walk.entries, 1);
}
END_TEST

/* --- cancellation ------------------------------------------------------------------- */

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

START_TEST(a_search_can_be_cancelled)
{
	char text[64] = { 0 };
	size_t i;

	memset(text, 'z', sizeof text - 1);
	for (i = 0; i < 500; i++)
		put(path_of(arena_printf(arena, "many/%zu", i)), text, 1);
	trial.cancels = at_once;
	call_with("grep_search", ", 'use_ripgrep': false",
	    "{'pattern': '^(z+)+(z+)+(z+)+\\\\d', 'path': '/many'}");
	ck_assert(tool_trial_fault(&trial)->control);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *
tcase_filesystem_file_search(void)
{
	TCase *tcase = tcase_create("filesystem_file_search");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, files_are_found_by_name_newest_first, 0, COUNT(globs));
	tcase_add_loop_test(tcase, lines_are_found_sorted_by_path, 0, COUNT(greps));
	tcase_add_test(tcase, what_is_too_large_is_not_searched);
	tcase_add_test(tcase, a_long_answer_is_cut_and_says_so);
	tcase_add_test(tcase, a_pattern_that_takes_too_much_work_is_told_of);
	tcase_add_loop_test(
	    tcase, what_leads_outside_or_is_nothing_is_refused, 0, COUNT(refused));
	tcase_add_loop_test(tcase, bad_settings_are_refused_by_name, 0, COUNT(bad));
	tcase_add_test(tcase, a_root_that_is_gone_is_a_fault);
	tcase_add_test(tcase, a_pipe_is_opened_by_nobody);
	tcase_add_test(tcase, a_folder_that_becomes_a_link_leads_nowhere);
	tcase_add_test(tcase, behind_the_limit_of_names_no_folder_has_any);
	tcase_add_test(tcase, a_walk_ends_when_its_names_are_too_much);
	tcase_add_test(tcase, a_search_can_be_cancelled);
	return tcase;
}
