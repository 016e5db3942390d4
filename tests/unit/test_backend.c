#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "backend.h"

TCase *tcase_backend(void);

static struct arena *arena;
static struct turn turn;
static struct middleware_use use;
static struct backend backend;

/* Opens the backend of setting, with these files in the state. */
static void
open_backend(const char *setting, const char *files)
{
	use.settings = literal(arena, arena_printf(arena, "{'backend': %s}", setting));
	turn.arena = arena;
	turn.use = &use;
	turn.state = literal(arena, arena_printf(arena, "{'files': %s}", files));
	backend_of_turn(&backend, &turn, NULL);
}

static void
setup(void)
{
	arena = arena_new();
	memset(&turn, 0, sizeof turn);
	memset(&use, 0, sizeof use);
	open_backend("'state'", "{}");
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
read_text(const char *path)
{
	struct backend_file file;
	enum backend_end end = backend_read(&backend, path, &file);

	if (end != BACKEND_DONE)
		return end == BACKEND_MISSING ? "missing" : backend.error;
	ck_assert(!file.is_base64);
	return value_text(file.content);
}

static void
write_text(const char *path, const char *text)
{
	enum backend_end end = backend_write(&backend, path, value_str(arena, text));

	ck_assert_msg(end == BACKEND_DONE, "%s: %s", path, backend.error);
}

static enum backend_end
edit(const char *path, const char *old, const char *new, bool all, size_t *count_r)
{
	return backend_edit(
	    &backend, path, value_str(arena, old), value_str(arena, new), all, count_r);
}

/* "path path/ path" of a list. */
static const char *
paths_of(const struct backend_list *list)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(list->items); i++)
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(value_at(list->items, i), "path"));
	return text;
}

static const char *
ls(const char *path)
{
	struct backend_list list;

	ck_assert_int_eq(backend_ls(&backend, path, &list), BACKEND_DONE);
	return paths_of(&list);
}

static const char *
glob(const char *pattern, const char *path)
{
	struct backend_list list;

	if (backend_glob(&backend, pattern, path, &list) != BACKEND_DONE)
		return backend.error;
	return paths_of(&list);
}

/* "path:line:text ..." */
static const char *
grep(const char *text, const char *path, const char *names, size_t most)
{
	struct backend_list list;
	const char *lines = "";
	size_t i;

	if (backend_grep(&backend, value_str(arena, text), path, names, most, &list) !=
	    BACKEND_DONE)
		return backend.error;
	for (i = 0; i < value_size(list.items); i++) {
		const struct value *match = value_at(list.items, i);

		lines = arena_printf(arena, "%s%s%s:%d:%s", lines, i == 0 ? "" : " ",
		    value_get_text(match, "path"), (int)value_get_int(match, "line", 0),
		    value_get_text(match, "text"));
	}
	return list.is_cut ? arena_printf(arena, "%s ...", lines) : lines;
}

/* --- paths ---------------------------------------------------------------------------- */

static const struct {
	const char *given, *path;
} good_paths[] = {
	{ "/a/b.txt", "/a/b.txt" },
	{ "a/b", "/a/b" },
	{ "/./a//b/", "/a/b" },
	{ "", "/" },
	{ "/", "/" },
	{ "/a/..b/c..", "/a/..b/c.." },
	{ "/a/~b", "/a/~b" },
	{ "a\\b", "/a/b" },
	{ "/ä ö.txt", "/ä ö.txt" },
};

START_TEST(paths_are_brought_into_form)
{
	const char *error = "";
	const char *path = backend_path(arena, good_paths[_i].given, &error);

	ck_assert_msg(path != NULL, "%s", error);
	ck_assert_str_eq(path, good_paths[_i].path);
}
END_TEST

static const struct {
	const char *path, *reason;
} bad_paths[] = {
	{ "..", "upwards" },
	{ "/a/../../etc/passwd", "upwards" },
	{ "a\\..\\b", "upwards" },
	{ "~", "begin with ~" },
	{ "~root/.ssh", "begin with ~" },
	{ "C:/Users", "drive" },
	{ "z:x", "drive" },
	{ "/a\nb", "control" },
	{ "/a\x7f", "control" },
};

START_TEST(paths_that_lead_elsewhere_are_refused)
{
	const char *error = "";

	ck_assert_ptr_null(backend_path(arena, bad_paths[_i].path, &error));
	ck_assert_has(error, bad_paths[_i].reason);
	/* And so they are by each operation. */
	ck_assert_has(read_text(bad_paths[_i].path), bad_paths[_i].reason);
	ck_assert_int_eq(
	    backend_write(&backend, bad_paths[_i].path, value_str(arena, "x")),
	    BACKEND_FAILED);
	ck_assert_ptr_null(backend.update);
}
END_TEST

START_TEST(long_paths_are_refused)
{
	char *path = arena_alloc(arena, BACKEND_PATH_BYTES_MAX + 2);
	const char *error;

	memset(path, 'a', BACKEND_PATH_BYTES_MAX + 1);
	ck_assert_ptr_null(backend_path(arena, path, &error));
	ck_assert_has(error, "too long");
}
END_TEST

/* --- the state ------------------------------------------------------------------------ */

START_TEST(what_is_written_is_read_and_is_the_update)
{
	const struct value *file;

	write_text("/notes.txt", "alpha\nbeta");
	ck_assert_str_eq(read_text("notes.txt"), "alpha\nbeta");
	file = value_get(backend.update, "/notes.txt");
	ck_assert_str_eq(value_get_text(file, "content"), "alpha\nbeta");
	ck_assert_str_eq(value_get_text(file, "encoding"), "utf-8");
	ck_assert_str_eq(
	    value_get_text(file, "created_at"), value_get_text(file, "modified_at"));
	ck_assert_uint_eq(strlen(value_get_text(file, "created_at")),
	    strlen("2026-01-31T12:00:00.000000+00:00"));
}
END_TEST

START_TEST(bytes_are_written_as_base64)
{
	struct backend_file file;

	ck_assert_int_eq(
	    backend_write_base64(&backend, "/a.png", value_str(arena, "Zm8=")),
	    BACKEND_DONE);
	ck_assert_int_eq(backend_read(&backend, "/a.png", &file), BACKEND_DONE);
	ck_assert(file.is_base64);
	ck_assert_str_eq(value_text(file.content), "Zm8=");
	write_text("/a.png", "text");
	ck_assert_str_eq(read_text("/a.png"), "text");
}
END_TEST

START_TEST(a_file_that_is_replaced_keeps_its_age)
{
	open_backend("'state'",
	    "{'/a': {'content': 'x', 'created_at': 'then', 'modified_at': 'then'}}");
	write_text("/a", "y");
	ck_assert_str_eq(
	    value_get_text(value_get(backend.update, "/a"), "created_at"), "then");
	ck_assert_str_ne(
	    value_get_text(value_get(backend.update, "/a"), "modified_at"), "then");
	ck_assert_str_eq(read_text("/a"), "y");
}
END_TEST

START_TEST(what_is_not_there_is_missing)
{
	size_t count;

	ck_assert_str_eq(read_text("/nope.txt"), "missing");
	ck_assert_str_eq(backend.error, "File '/nope.txt' not found");
	ck_assert_int_eq(edit("/nope.txt", "a", "b", false, &count), BACKEND_MISSING);
	ck_assert_int_eq(backend_delete(&backend, "/nope.txt"), BACKEND_MISSING);
	ck_assert_ptr_null(backend.update);
	ck_assert_str_eq(ls("/nope"), "");
}
END_TEST

START_TEST(a_list_of_lines_is_a_text)
{
	open_backend(
	    "'state'", "{'/old': {'content': ['a', 'b']}, '/bad': 7, '/worse': {}}");
	ck_assert_str_eq(read_text("/old"), "a\nb");
	ck_assert_str_eq(read_text("/bad"), "missing");
	ck_assert_str_eq(read_text("/worse"), "missing");
	ck_assert_str_eq(ls("/"), "/bad /old /worse");
}
END_TEST

START_TEST(text_is_appended)
{
	ck_assert_int_eq(
	    backend_append(&backend, "/log", value_str(arena, "a")), BACKEND_DONE);
	ck_assert_int_eq(
	    backend_append(&backend, "/log", value_str(arena, "b")), BACKEND_DONE);
	ck_assert_str_eq(read_text("/log"), "ab");
}
END_TEST

START_TEST(folders_list_what_is_right_in_them)
{
	write_text("/b.md", "B");
	write_text("/a.md", "A");
	write_text("/src/x.c", "x");
	write_text("/src/deep/y.c", "y");
	write_text("/srcs", "z");
	ck_assert_str_eq(ls("/"), "/a.md /b.md /src/ /srcs");
	ck_assert_str_eq(ls("/src"), "/src/deep/ /src/x.c");
	ck_assert_str_eq(ls("/src/x.c"), "");
}
END_TEST

START_TEST(what_is_deleted_is_nil_in_the_update)
{
	open_backend("'state'", "{'/a/x': {'content': '1'}, '/a/y/z': {'content': '2'}, "
				"'/ab': {'content': '3'}}");
	ck_assert_int_eq(backend_delete(&backend, "/a"), BACKEND_DONE);
	ck_assert_value(arena, backend.update, "{'/a/x': null, '/a/y/z': null}");
	ck_assert_str_eq(ls("/"), "/ab");
	write_text("/a/x", "again");
	ck_assert_str_eq(read_text("/a/x"), "again");
	ck_assert(value_is_nil(value_get(backend.update, "/a/y/z")));
}
END_TEST

START_TEST(files_of_a_thread_have_a_bound)
{
	const struct value *half;
	char *text = arena_alloc(arena, BACKEND_STATE_BYTES_MAX / 2);

	memset(text, 'x', BACKEND_STATE_BYTES_MAX / 2);
	half = value_strn(arena, text, BACKEND_STATE_BYTES_MAX / 2 - 100);
	ck_assert_int_eq(backend_write(&backend, "/a", half), BACKEND_DONE);
	ck_assert_int_eq(backend_write(&backend, "/b", half), BACKEND_DONE);
	ck_assert_int_eq(
	    backend_write(&backend, "/c", value_strn(arena, text, 1000)), BACKEND_FAILED);
	ck_assert_has(backend.error, "delete");
	ck_assert_str_eq(read_text("/c"), "missing");
	ck_assert_int_eq(backend_delete(&backend, "/a"), BACKEND_DONE);
	ck_assert_int_eq(
	    backend_write(&backend, "/c", value_strn(arena, text, 1000)), BACKEND_DONE);
}
END_TEST

/* --- editing -------------------------------------------------------------------------- */

static const struct {
	const char *content, *old, *new;
	bool all;
	const char *result; /* NULL: error has words */
	size_t count;
	const char *words;
} edits[] = {
	{ "a = 1\nb = 2\n", "b = 2", "b = 33", false, "a = 1\nb = 33\n", 1, "" },
	{ "v\nv", "v", "w", true, "w\nw", 2, "" },
	{ "v\nv", "v", "w", false, NULL, 0, "appears 2 times" },
	{ "v\nv", "v", "w", false, NULL, 0, "replace_all=True" },
	{ "a = 1", "zzz", "y", false, NULL, 0, "String not found in file" },
	{ "aaa", "aa", "b", true, "ba", 1, "" },
	{ "abc", "b", "", false, "ac", 1, "" },
	{ "abc", "", "x", false, NULL, 0, "must not be empty" },
	{ "", "", "new", false, "new", 0, "" },
	{ "last line", "last line\n", "x\n", false, NULL, 0, "without the newline" },
	{ "x", "x", "xx", false, "xx", 1, "" },
	{ "äöä", "ö", "ü", false, "äüä", 1, "" },
};

START_TEST(a_text_is_replaced_where_it_is_alone)
{
	size_t count = 99;

	write_text("/x.py", edits[_i].content);
	if (edits[_i].result != NULL) {
		ck_assert_int_eq(
		    edit("/x.py", edits[_i].old, edits[_i].new, edits[_i].all, &count),
		    BACKEND_DONE);
		ck_assert_uint_eq(count, edits[_i].count);
		ck_assert_str_eq(read_text("/x.py"), edits[_i].result);
		return;
	}
	ck_assert_int_eq(
	    edit("/x.py", edits[_i].old, edits[_i].new, edits[_i].all, &count),
	    BACKEND_FAILED);
	ck_assert_has(backend.error, edits[_i].words);
	ck_assert_str_eq(read_text("/x.py"), edits[_i].content);
}
END_TEST

START_TEST(replacing_everywhere_has_a_bound)
{
	char *text = arena_alloc(arena, 40001), *longer = arena_alloc(arena, 1001);
	size_t count;

	memset(text, 'a', 40000);
	memset(longer, 'b', 1000);
	write_text("/a", text);
	ck_assert_int_eq(edit("/a", "a", longer, true, &count), BACKEND_FAILED);
	ck_assert_has(backend.error, "bytes");
}
END_TEST

/* --- searching ------------------------------------------------------------------------ */

static void
write_sources(void)
{
	write_text("/a.txt", "one\nneedle two\r\nNeedle\nneedle");
	write_text("/src/b.c", "int needle;\n");
	write_text("/src/deep/c.h", "int a.b*c;\n");
	write_text("/src/.hidden", "needle ä");
}

START_TEST(files_are_found_by_name)
{
	write_sources();
	ck_assert_str_eq(glob("*.txt", "/"), "/a.txt");
	ck_assert_str_eq(glob("/src/*.c", "/"), "/src/b.c");
	ck_assert_str_eq(glob("*.c", "/src"), "/src/b.c");
	ck_assert_str_eq(glob("b.c", "/src/b.c"), "/src/b.c");
	ck_assert_str_eq(glob("*.py", "/"), "");
	ck_assert_has(glob("[", "/"), "pattern is wrong");
	ck_assert_has(glob("**/*.{c,h}", "/"), "/src/deep/c.h");
	ck_assert_has(glob("**/*.{c,h}", "/"), "/src/b.c");
}
END_TEST

START_TEST(the_newest_is_found_first)
{
	open_backend("'state'",
	    "{'/a': {'content': '', 'modified_at': '2026-01-01'}, '/b': {'content': '', "
	    "'modified_at': '2026-01-03'}, '/c': {'content': '', 'modified_at': "
	    "'2026-01-03'}, '/d': {'content': ''}}");
	ck_assert_str_eq(glob("*", "/"), "/b /c /a /d");
}
END_TEST

START_TEST(lines_are_found_by_a_text_as_it_stands)
{
	write_sources();
	ck_assert_str_eq(grep("needle", "/", NULL, 100),
	    "/a.txt:2:needle two /a.txt:4:needle /src/.hidden:1:needle ä "
	    "/src/b.c:1:int needle;");
	ck_assert_str_eq(grep("a.b*c", "/", NULL, 100), "/src/deep/c.h:1:int a.b*c;");
	ck_assert_str_eq(grep("n.*e", "/", NULL, 100), "");
	ck_assert_str_eq(grep("needle", "/src", "*.c", 100), "/src/b.c:1:int needle;");
	ck_assert_str_eq(grep("needle", "/", "src/*.c", 100), "/src/b.c:1:int needle;");
	ck_assert_str_eq(grep("needle", "/a.txt", NULL, 1), "/a.txt:2:needle two ...");
	ck_assert_has(grep("", "/", NULL, 1), "empty");
	ck_assert_has(grep("a", "/", "{", 1), "glob is wrong");
}
END_TEST

START_TEST(a_text_over_two_lines_is_where_it_begins)
{
	write_text("/a", "one\ntwo\nthree\n");
	ck_assert_str_eq(grep("two\nth", "/", NULL, 9), "/a:2:two");
}
END_TEST

START_TEST(long_lines_are_shown_in_part_and_whole_characters)
{
	char *text = arena_alloc(arena, 4003);
	size_t i;

	for (i = 0; i < 2000; i++)
		memcpy(text + 2 * i, "ä", 2);
	write_text("/a", arena_printf(arena, "x%s", text));
	ck_assert_uint_eq(
	    strlen(grep("x", "/", NULL, 9)), strlen("/a:1:") + BACKEND_LINE_BYTES - 1);
}
END_TEST

START_TEST(bytes_are_not_searched)
{
	open_backend("'state'", "{'/a.png': {'content': 'AAAA', 'encoding': 'base64'}, "
				"'/t': {'content': 'A'}}");
	ck_assert_str_eq(grep("A", "/", NULL, 9), "/t:1:A");
}
END_TEST

/* --- routes --------------------------------------------------------------------------- */

#define ROUTED                                                                           \
	"{'composite': {'default': 'state', 'routes': {'/memories/': 'state', "          \
	"'/memories/deep/': 'state'}}}"

START_TEST(the_longest_route_takes_a_path)
{
	open_backend(ROUTED, "{}");
	write_text("/memories/a.md", "1");
	write_text("/memories/deep/b.md", "2");
	write_text("/memoriesx", "3");
	write_text("/c.md", "4");
	ck_assert(value_has(backend.update, "/a.md"));
	ck_assert(value_has(backend.update, "/b.md"));
	ck_assert(value_has(backend.update, "/memoriesx"));
	ck_assert(value_has(backend.update, "/c.md"));
	ck_assert_str_eq(read_text("/memories/deep/b.md"), "2");
	ck_assert_str_eq(read_text("/memories/nope"), "missing");
	ck_assert_str_eq(backend.error, "File '/memories/nope' not found");
}
END_TEST

START_TEST(routes_are_folders_and_are_searched_from_above)
{
	open_backend(ROUTED, "{'/a.md': {'content': 'x'}}");
	ck_assert_str_eq(ls("/"), "/a.md /memories/");
	ck_assert_str_eq(ls("/memories"), "/memories/a.md /memories/deep/");
	ck_assert_str_eq(glob("memories/*.md", "/"), "/memories/a.md");
	ck_assert_str_eq(
	    glob("**/*.md", "/"), "/a.md /memories/a.md /memories/deep/a.md");
	ck_assert_str_eq(glob("*.md", "/memories"), "/memories/a.md");
	ck_assert_str_eq(grep("x", "/", NULL, 9),
	    "/a.md:1:x /memories/a.md:1:x /memories/deep/a.md:1:x");
	ck_assert_str_eq(grep("x", "/", NULL, 2), "/a.md:1:x /memories/a.md:1:x ...");
}
END_TEST

/* --- the setting ---------------------------------------------------------------------- */

static const struct field own_fields[] = { { .name = "own" }, BACKEND_FIELD, { 0 } };

static const char *
configured(const char *setting, bool workers_read)
{
	const char *error = NULL;

	open_backend(setting, "{}");
	use.fields = own_fields;
	use.field_count = 2;
	use.reads = value_empty_array();
	if (backend_configure(arena, &use, workers_read, &error) == -1)
		return error;
	return arena_printf(arena, "%zu fields, reads %s%s", use.field_count,
	    json_text(arena, use.reads),
	    backend_has_folder(value_get(use.settings, "backend")) ? ", folder" : "");
}

static const struct {
	const char *setting, *result;
} settings[] = {
	{ "'state'", "2 fields, reads [\"files\"]" },
	{ "null", "2 fields, reads [\"files\"]" },
	{ "{'state': {}}", "2 fields, reads [\"files\"]" },
	{ "'store'", "1 fields, reads []" },
	{ "{'store': {'namespace': ['users', '7']}}", "1 fields, reads []" },
	{ "{'filesystem': {'root_dir': '/srv'}}", "1 fields, reads [], folder" },
	{ ROUTED, "2 fields, reads [\"files\"]" },
	{ "{'composite': {'default': {'local_shell': {'root_dir': '/srv', 'timeout': "
	  "1.5}}, 'routes': {'/m/': 'state'}}}",
	    "2 fields, reads [\"files\"], folder" },
	{ "'stat'",
	    "/backend: must be state, store, filesystem, local_shell or composite, or a "
	    "map of one of them to its settings; did you mean state?" },
	{ "7", "/backend: must be state" },
	{ "{'state': {}, 'store': {}}", "/backend: must be state" },
	{ "{'store': {'namespace': []}}", "/backend/store/namespace: must have 1 to 16" },
	{ "{'store': {'namespace': ['a', 7]}}", "/backend/store/namespace/1: must be" },
	{ "{'store': {'name': 'x'}}", "/backend/store/name: there is no such setting" },
	{ "{'store': 7}", "/backend/store: must be a map" },
	{ "'filesystem'", "/backend/root_dir: must be there" },
	{ "{'filesystem': {'root_dir': 'srv'}}", "/backend/filesystem/root_dir: must" },
	{ "{'filesystem': {'root_dir': '/', 'max_file_size_mb': 0}}",
	    "/backend/filesystem/max_file_size_mb: must be from 1 to 1024" },
	{ "{'filesystem': {'root_dir': '/', 'virtual_mode': 1}}",
	    "/backend/filesystem/virtual_mode: must be true or false" },
	{ "{'local_shell': {'root_dir': '/', 'env': {'A=B': 'c'}}}",
	    "/backend/local_shell/env/A=B: must be" },
	{ "{'local_shell': {'root_dir': '/', 'timeout': 0}}",
	    "/backend/local_shell/timeout: must be from" },
	{ "{'composite': {'default': 'nothing'}}",
	    "/backend/composite/default: must be state" },
	{ "{'composite': {'routes': {'memories': 'state'}}}",
	    "/backend/composite/routes/memories: a route" },
	{ "{'composite': {'routes': {'/': 'state'}}}",
	    "/backend/composite/routes//: a route" },
	{ "{'composite': {'routes': {'/../': 'state'}}}",
	    "/backend/composite/routes//../: a route" },
	{ "{'composite': {'routes': {'/a/': {'composite': {}}}}}",
	    "/backend/composite/routes//a//composite: a composite has no other" },
};

START_TEST(settings_are_checked_with_their_place)
{
	const char *result = configured(settings[_i].setting, true);

	ck_assert_msg(
	    strncmp(result, settings[_i].result, strlen(settings[_i].result)) == 0,
	    "%s: %s", settings[_i].setting, result);
}
END_TEST

START_TEST(what_only_nodes_read_is_not_sent_to_workers)
{
	ck_assert_str_eq(configured("'state'", false), "2 fields, reads []");
}
END_TEST

START_TEST(commands_are_for_a_shell_that_is_the_default)
{
	struct backend_output output;

	ck_assert(backend_executes(literal(arena, "{'local_shell': {'root_dir': '/'}}")));
	ck_assert(backend_executes(literal(
	    arena, "{'composite': {'default': {'local_shell': {'root_dir': '/'}}}}")));
	ck_assert(!backend_executes(literal(arena,
	    "{'composite': {'routes': {'/a/': {'local_shell': {'root_dir': '/'}}}}}")));
	ck_assert_int_eq(backend_execute(&backend, value_str(arena, "ls"), 0, &output),
	    BACKEND_FAILED);
	ck_assert_has(backend.error, "no commands");
}
END_TEST

/* --- names and bytes ------------------------------------------------------------------ */

START_TEST(files_have_kinds_by_their_names)
{
	ck_assert_str_eq(backend_kind("/a/b.PNG"), "image");
	ck_assert_str_eq(backend_media_type("/a/b.jpeg"), "image/jpeg");
	ck_assert_str_eq(backend_kind("/a.png/b"), "text");
	ck_assert_str_eq(backend_kind("/x.pdf"), "file");
	ck_assert_str_eq(backend_media_type("/x.c"), "text/plain");
}
END_TEST

START_TEST(bytes_become_base64)
{
	ck_assert_str_eq(value_text(backend_base64(arena, "", 0)), "");
	ck_assert_str_eq(value_text(backend_base64(arena, "f", 1)), "Zg==");
	ck_assert_str_eq(value_text(backend_base64(arena, "fo", 2)), "Zm8=");
	ck_assert_str_eq(value_text(backend_base64(arena, "foob\xff\0", 6)), "Zm9vYv8A");
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

TCase *
tcase_backend(void)
{
	TCase *tcase = tcase_create("backend");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, paths_are_brought_into_form, 0, COUNT(good_paths));
	tcase_add_loop_test(
	    tcase, paths_that_lead_elsewhere_are_refused, 0, COUNT(bad_paths));
	tcase_add_test(tcase, long_paths_are_refused);
	tcase_add_test(tcase, what_is_written_is_read_and_is_the_update);
	tcase_add_test(tcase, bytes_are_written_as_base64);
	tcase_add_test(tcase, a_file_that_is_replaced_keeps_its_age);
	tcase_add_test(tcase, what_is_not_there_is_missing);
	tcase_add_test(tcase, a_list_of_lines_is_a_text);
	tcase_add_test(tcase, text_is_appended);
	tcase_add_test(tcase, folders_list_what_is_right_in_them);
	tcase_add_test(tcase, what_is_deleted_is_nil_in_the_update);
	tcase_add_test(tcase, files_of_a_thread_have_a_bound);
	tcase_add_loop_test(tcase, a_text_is_replaced_where_it_is_alone, 0, COUNT(edits));
	tcase_add_test(tcase, replacing_everywhere_has_a_bound);
	tcase_add_test(tcase, files_are_found_by_name);
	tcase_add_test(tcase, the_newest_is_found_first);
	tcase_add_test(tcase, lines_are_found_by_a_text_as_it_stands);
	tcase_add_test(tcase, a_text_over_two_lines_is_where_it_begins);
	tcase_add_test(tcase, long_lines_are_shown_in_part_and_whole_characters);
	tcase_add_test(tcase, bytes_are_not_searched);
	tcase_add_test(tcase, the_longest_route_takes_a_path);
	tcase_add_test(tcase, routes_are_folders_and_are_searched_from_above);
	tcase_add_loop_test(
	    tcase, settings_are_checked_with_their_place, 0, COUNT(settings));
	tcase_add_test(tcase, what_only_nodes_read_is_not_sent_to_workers);
	tcase_add_test(tcase, commands_are_for_a_shell_that_is_the_default);
	tcase_add_test(tcase, files_have_kinds_by_their_names);
	tcase_add_test(tcase, bytes_become_base64);
	return tcase;
}
