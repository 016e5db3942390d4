#include <check.h>
#include <string.h>

#include "backend_bench.h"
#include "has.h"
#include "literal.h"

/* Interface under test */
#include "backend.h"

TCase *tcase_backend(void);

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
	const char *path = backend_path(desk.arena, good_paths[_i].given, &error);

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

	ck_assert_ptr_null(backend_path(desk.arena, bad_paths[_i].path, &error));
	ck_assert_has(error, bad_paths[_i].reason);
	/* And so they are by each operation. */
	ck_assert_has(desk_read(bad_paths[_i].path), bad_paths[_i].reason);
	ck_assert_int_eq(
	    backend_write(&desk.backend, bad_paths[_i].path, value_str(desk.arena, "x")),
	    BACKEND_FAILED);
	ck_assert_ptr_null(desk.backend.update);
}
END_TEST

START_TEST(long_paths_are_refused)
{
	char *path = arena_alloc(desk.arena, BACKEND_PATH_BYTES_MAX + 2);
	const char *error;

	memset(path, 'a', BACKEND_PATH_BYTES_MAX + 1);
	ck_assert_ptr_null(backend_path(desk.arena, path, &error));
	ck_assert_has(error, "too long");
}
END_TEST

/* --- the state ------------------------------------------------------------------------ */

START_TEST(what_is_written_is_read_and_is_the_update)
{
	const struct value *file;

	desk_write("/notes.txt", "alpha\nbeta");
	ck_assert_str_eq(desk_read("notes.txt"), "alpha\nbeta");
	file = value_get(desk.backend.update, "/notes.txt");
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
	    backend_write_base64(&desk.backend, "/a.png", value_str(desk.arena, "Zm8=")),
	    BACKEND_DONE);
	ck_assert_int_eq(backend_read(&desk.backend, "/a.png", &file), BACKEND_DONE);
	ck_assert(file.is_base64);
	ck_assert_str_eq(value_text(file.content), "Zm8=");
	desk_write("/a.png", "text");
	ck_assert_str_eq(desk_read("/a.png"), "text");
}
END_TEST

START_TEST(a_file_that_is_replaced_keeps_its_age)
{
	desk_use("'state'",
	    "{'/a': {'content': 'x', 'created_at': 'then', 'modified_at': 'then'}}");
	desk_write("/a", "y");
	ck_assert_str_eq(
	    value_get_text(value_get(desk.backend.update, "/a"), "created_at"), "then");
	ck_assert_str_ne(
	    value_get_text(value_get(desk.backend.update, "/a"), "modified_at"), "then");
	ck_assert_str_eq(desk_read("/a"), "y");
}
END_TEST

START_TEST(what_is_not_there_is_missing)
{
	size_t count;

	ck_assert_str_eq(desk_read("/nope.txt"), "missing");
	ck_assert_str_eq(desk.backend.error, "File '/nope.txt' not found");
	ck_assert_int_eq(
	    desk_edit("/nope.txt", "a", "b", false, &count), BACKEND_MISSING);
	ck_assert_int_eq(backend_delete(&desk.backend, "/nope.txt"), BACKEND_MISSING);
	ck_assert_ptr_null(desk.backend.update);
	ck_assert_str_eq(desk_ls("/nope"), "");
}
END_TEST

START_TEST(a_list_of_lines_is_a_text)
{
	desk_use("'state'", "{'/old': {'content': ['a', 'b']}, '/bad': 7, '/worse': {}}");
	ck_assert_str_eq(desk_read("/old"), "a\nb");
	ck_assert_str_eq(desk_read("/bad"), "missing");
	ck_assert_str_eq(desk_read("/worse"), "missing");
	ck_assert_str_eq(desk_ls("/"), "/bad /old /worse");
}
END_TEST

START_TEST(text_is_appended)
{
	ck_assert_int_eq(
	    backend_append(&desk.backend, "/log", value_str(desk.arena, "a")),
	    BACKEND_DONE);
	ck_assert_int_eq(
	    backend_append(&desk.backend, "/log", value_str(desk.arena, "b")),
	    BACKEND_DONE);
	ck_assert_str_eq(desk_read("/log"), "ab");
}
END_TEST

START_TEST(folders_list_what_is_right_in_them)
{
	desk_write("/b.md", "B");
	desk_write("/a.md", "A");
	desk_write("/src/x.c", "x");
	desk_write("/src/deep/y.c", "y");
	desk_write("/srcs", "z");
	ck_assert_str_eq(desk_ls("/"), "/a.md /b.md /src/ /srcs");
	ck_assert_str_eq(desk_ls("/src"), "/src/deep/ /src/x.c");
	ck_assert_str_eq(desk_ls("/src/x.c"), "");
}
END_TEST

START_TEST(what_is_deleted_is_nil_in_the_update)
{
	desk_use("'state'", "{'/a/x': {'content': '1'}, '/a/y/z': {'content': '2'}, "
			    "'/ab': {'content': '3'}}");
	ck_assert_int_eq(backend_delete(&desk.backend, "/a"), BACKEND_DONE);
	ck_assert_value(
	    desk.arena, desk.backend.update, "{'/a/x': null, '/a/y/z': null}");
	ck_assert_str_eq(desk_ls("/"), "/ab");
	desk_write("/a/x", "again");
	ck_assert_str_eq(desk_read("/a/x"), "again");
	ck_assert(value_is_nil(value_get(desk.backend.update, "/a/y/z")));
}
END_TEST

START_TEST(files_of_a_thread_have_a_bound)
{
	const struct value *half;
	char *text = arena_alloc(desk.arena, BACKEND_STATE_BYTES_MAX / 2);

	memset(text, 'x', BACKEND_STATE_BYTES_MAX / 2);
	half = value_strn(desk.arena, text, BACKEND_STATE_BYTES_MAX / 2 - 100);
	ck_assert_int_eq(backend_write(&desk.backend, "/a", half), BACKEND_DONE);
	ck_assert_int_eq(backend_write(&desk.backend, "/b", half), BACKEND_DONE);
	ck_assert_int_eq(
	    backend_write(&desk.backend, "/c", value_strn(desk.arena, text, 1000)),
	    BACKEND_FAILED);
	ck_assert_has(desk.backend.error, "delete");
	ck_assert_str_eq(desk_read("/c"), "missing");
	ck_assert_int_eq(backend_delete(&desk.backend, "/a"), BACKEND_DONE);
	ck_assert_int_eq(
	    backend_write(&desk.backend, "/c", value_strn(desk.arena, text, 1000)),
	    BACKEND_DONE);
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

	desk_write("/x.py", edits[_i].content);
	if (edits[_i].result != NULL) {
		ck_assert_int_eq(desk_edit("/x.py", edits[_i].old, edits[_i].new,
				     edits[_i].all, &count),
		    BACKEND_DONE);
		ck_assert_uint_eq(count, edits[_i].count);
		ck_assert_str_eq(desk_read("/x.py"), edits[_i].result);
		return;
	}
	ck_assert_int_eq(
	    desk_edit("/x.py", edits[_i].old, edits[_i].new, edits[_i].all, &count),
	    BACKEND_FAILED);
	ck_assert_has(desk.backend.error, edits[_i].words);
	ck_assert_str_eq(desk_read("/x.py"), edits[_i].content);
}
END_TEST

START_TEST(replacing_everywhere_has_a_bound)
{
	char *text = arena_alloc(desk.arena, 40001),
	     *longer = arena_alloc(desk.arena, 1001);
	size_t count;

	memset(text, 'a', 40000);
	memset(longer, 'b', 1000);
	desk_write("/a", text);
	ck_assert_int_eq(desk_edit("/a", "a", longer, true, &count), BACKEND_FAILED);
	ck_assert_has(desk.backend.error, "bytes");
}
END_TEST

START_TEST(newlines_at_the_end_take_no_more_memory_than_they_are)
{
	char *old = arena_alloc(desk.arena, 200002);
	size_t count, before;

	memset(old, '\n', 200001);
	old[0] = 'x';
	old[200001] = '\0';
	desk_write("/a", "x");
	before = arena_bytes(desk.arena);
	ck_assert_int_eq(desk_edit("/a", old, "y", false, &count), BACKEND_FAILED);
	ck_assert_has(desk.backend.error, "without the newline");
	ck_assert_uint_lt(arena_bytes(desk.arena) - before, 4u << 20);
}
END_TEST

/* --- searching ------------------------------------------------------------------------ */

static void
write_sources(void)
{
	desk_write("/a.txt", "one\nneedle two\r\nNeedle\nneedle");
	desk_write("/src/b.c", "int needle;\n");
	desk_write("/src/deep/c.h", "int a.b*c;\n");
	desk_write("/src/.hidden", "needle ä");
}

START_TEST(files_are_found_by_name)
{
	write_sources();
	ck_assert_str_eq(desk_glob("*.txt", "/"), "/a.txt");
	ck_assert_str_eq(desk_glob("/src/*.c", "/"), "/src/b.c");
	ck_assert_str_eq(desk_glob("*.c", "/src"), "/src/b.c");
	ck_assert_str_eq(desk_glob("b.c", "/src/b.c"), "/src/b.c");
	ck_assert_str_eq(desk_glob("*.py", "/"), "");
	ck_assert_str_eq(desk_glob("*.c", "/"), ""); /* those right in it */
	ck_assert_has(desk_glob("[", "/"), "pattern is wrong");
	ck_assert_has(desk_glob("**/*.{c,h}", "/"), "/src/deep/c.h");
	ck_assert_has(desk_glob("**/*.{c,h}", "/"), "/src/b.c");
}
END_TEST

START_TEST(the_newest_is_found_first)
{
	desk_use("'state'",
	    "{'/a': {'content': '', 'modified_at': '2026-01-01'}, '/b': {'content': '', "
	    "'modified_at': '2026-01-03'}, '/c': {'content': '', 'modified_at': "
	    "'2026-01-03'}, '/d': {'content': ''}}");
	ck_assert_str_eq(desk_glob("*", "/"), "/b /c /a /d");
}
END_TEST

START_TEST(lines_are_found_by_a_text_as_it_stands)
{
	write_sources();
	ck_assert_str_eq(desk_grep("needle", "/", NULL, 100),
	    "/a.txt:2:needle two /a.txt:4:needle /src/.hidden:1:needle ä "
	    "/src/b.c:1:int needle;");
	ck_assert_str_eq(
	    desk_grep("a.b*c", "/", NULL, 100), "/src/deep/c.h:1:int a.b*c;");
	ck_assert_str_eq(desk_grep("n.*e", "/", NULL, 100), "");
	ck_assert_str_eq(
	    desk_grep("needle", "/src", "*.c", 100), "/src/b.c:1:int needle;");
	ck_assert_str_eq(
	    desk_grep("needle", "/", "src/*.c", 100), "/src/b.c:1:int needle;");
	ck_assert_str_eq(
	    desk_grep("needle", "/a.txt", NULL, 1), "/a.txt:2:needle two ...");
	ck_assert_has(desk_grep("", "/", NULL, 1), "empty");
	ck_assert_has(desk_grep("a", "/", "{", 1), "glob is wrong");
}
END_TEST

START_TEST(a_text_over_two_lines_is_where_it_begins)
{
	desk_write("/a", "one\ntwo\nthree\n");
	ck_assert_str_eq(desk_grep("two\nth", "/", NULL, 9), "/a:2:two");
}
END_TEST

START_TEST(long_lines_are_shown_in_part_and_whole_characters)
{
	struct packet text = { 0 };
	size_t i;

	packet_append(&text, "x", 1);
	for (i = 0; i < 2000; i++)
		packet_append(&text, "ä", strlen("ä"));
	desk_write("/a", arena_copy(desk.arena, text.data, text.size));
	packet_release(&text);
	ck_assert_uint_eq(strlen(desk_grep("x", "/", NULL, 9)),
	    strlen("/a:1:") + BACKEND_LINE_BYTES - 1);
}
END_TEST

START_TEST(bytes_are_not_searched)
{
	desk_use("'state'", "{'/a.png': {'content': 'AAAA', 'encoding': 'base64'}, "
			    "'/t': {'content': 'A'}}");
	ck_assert_str_eq(desk_grep("A", "/", NULL, 9), "/t:1:A");
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

TCase *
tcase_backend(void)
{
	TCase *tcase = tcase_create("backend");

	tcase_add_checked_fixture(tcase, desk_open, desk_close);
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
	tcase_add_test(tcase, newlines_at_the_end_take_no_more_memory_than_they_are);
	tcase_add_test(tcase, files_are_found_by_name);
	tcase_add_test(tcase, the_newest_is_found_first);
	tcase_add_test(tcase, lines_are_found_by_a_text_as_it_stands);
	tcase_add_test(tcase, a_text_over_two_lines_is_where_it_begins);
	tcase_add_test(tcase, long_lines_are_shown_in_part_and_whole_characters);
	tcase_add_test(tcase, bytes_are_not_searched);
	return tcase;
}
