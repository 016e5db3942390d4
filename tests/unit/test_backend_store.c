#include <check.h>
#include <string.h>

#include "backend_bench.h"
#include "has.h"
#include "literal.h"

/* Interface under test */
#include "backend.h"

TCase *tcase_backend_store(void);

#define USERS "{'store': {'namespace': ['users', '7']}}"

static void
set_up(void)
{
	desk_open();
	desk_use(USERS, "{}");
}

START_TEST(a_file_is_an_item_and_no_update)
{
	const struct value *file;

	desk_write("/notes.md", "alpha");
	ck_assert_str_eq(desk_read("/notes.md"), "alpha");
	file = value_get(value_get(desk.memory, "users 7"), "/notes.md");
	ck_assert_str_eq(value_get_text(file, "content"), "alpha");
	ck_assert_str_eq(value_get_text(file, "encoding"), "utf-8");
	ck_assert_ptr_null(desk.backend.update);
	desk_use("'store'", "{}");
	ck_assert_str_eq(desk_read("/notes.md"), "missing");
	desk_write("/a", "x");
	ck_assert(value_has(value_get(desk.memory, "filesystem"), "/a"));
}
END_TEST

START_TEST(items_are_edited_appended_and_deleted)
{
	size_t count;

	desk_write("/d/a", "v v");
	desk_write("/d/b", "");
	desk_write("/e", "");
	ck_assert_int_eq(desk_edit("/d/a", "v", "w", true, &count), BACKEND_DONE);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(
	    backend_append(&desk.backend, "/d/a", value_str(desk.arena, "!")),
	    BACKEND_DONE);
	ck_assert_str_eq(desk_read("/d/a"), "w w!");
	ck_assert_int_eq(desk_edit("/none", "v", "w", true, &count), BACKEND_MISSING);
	ck_assert_int_eq(backend_delete(&desk.backend, "/d"), BACKEND_DONE);
	ck_assert_str_eq(desk_ls("/"), "/e");
	ck_assert_int_eq(backend_delete(&desk.backend, "/d"), BACKEND_MISSING);
}
END_TEST

START_TEST(items_below_the_namespace_and_other_values_are_no_files)
{
	desk.memory = literal(desk.arena,
	    "{'users 7': {'/a': {'content': 'needle'}, 'wishes': {'tea': 'green'}, "
	    "'/b': 7}, 'users 7 more': {'/c': {'content': 'needle'}}, 'users 70': {'/d': "
	    "{'content': 'needle'}}}");
	ck_assert_str_eq(desk_ls("/"), "/a");
	ck_assert_str_eq(desk_grep("needle", "/", NULL, 9), "/a:1:needle");
	ck_assert_str_eq(desk_glob("**", "/"), "/a");
}
END_TEST

START_TEST(many_items_come_page_by_page)
{
	struct value_fields files = { .arena = desk.arena };
	const struct value *file = literal(desk.arena, "{'content': 'x'}");
	struct backend_list list;
	int i;

	for (i = 0; i < 250; i++)
		value_fields_set(&files, arena_printf(desk.arena, "/f%03d", i), file);
	desk.memory =
	    value_map_with(desk.arena, desk.memory, "users 7", value_fields_end(&files));
	ck_assert_int_eq(backend_glob(&desk.backend, "*", "/", &list), BACKEND_DONE);
	ck_assert_uint_eq(value_size(list.items), 250);
	ck_assert(!list.is_cut);
}
END_TEST

START_TEST(a_memory_that_fails_is_an_error)
{
	desk.memory = NULL;
	ck_assert_has(desk_read("/a"), "nobody is there");
	ck_assert_int_eq(backend_write(&desk.backend, "/a", value_str(desk.arena, "")),
	    BACKEND_FAILED);
	ck_assert_has(desk_glob("*", "/"), "nobody is there");
}
END_TEST

START_TEST(a_route_leads_into_memory)
{
	desk_use("{'composite': {'default': 'state', 'routes': {'/memories/': " USERS
		 "}}}",
	    "{}");
	desk_write("/memories/tea.md", "green");
	desk_write("/draft.md", "x");
	ck_assert_str_eq(
	    value_get_text(
		value_get(value_get(desk.memory, "users 7"), "/tea.md"), "content"),
	    "green");
	ck_assert(value_has(desk.backend.update, "/draft.md"));
	ck_assert(!value_has(desk.backend.update, "/tea.md"));
	ck_assert_str_eq(desk_ls("/"), "/draft.md /memories/");
	ck_assert_str_eq(desk_glob("**/*.md", "/"), "/draft.md /memories/tea.md");
	ck_assert_int_eq(backend_delete(&desk.backend, "/"), BACKEND_DONE);
	ck_assert_str_eq(desk_glob("**/*.md", "/"), "");
	ck_assert_uint_eq(value_size(value_get(desk.memory, "users 7")), 0);
}
END_TEST

START_TEST(a_namespace_has_places_for_what_the_run_knows)
{
	const char *setting =
	    "{'store': {'namespace': ['{agent}', 'u-{context.user}', '{thread}']}}";

	desk.turn.agent = "a";
	desk.turn.thread = "t";
	desk.turn.context = literal(desk.arena, "{'user': 7}");
	desk_use(setting, "{}");
	desk_write("/x", "1");
	ck_assert(value_has(value_get(desk.memory, "a u-7 t"), "/x"));
	desk.turn.context = literal(desk.arena, "{'user': '{thread}'}");
	desk_use(setting, "{}");
	desk_write("/x", "1");
	ck_assert(value_has(value_get(desk.memory, "a u-{thread} t"), "/x"));
	/* Whom it is for is nobody's word but the fleet's. */
	desk.turn.tenant = "acme";
	desk.turn.context = literal(desk.arena, "{'tenant': 'other'}");
	desk_use("{'store': {'namespace': ['{tenant}', 'x']}}", "{}");
	desk_write("/x", "1");
	ck_assert(value_has(value_get(desk.memory, "acme x"), "/x"));
	desk.turn.tenant = NULL;
	desk_use("{'store': {'namespace': ['{tenant}', 'x']}}", "{}");
	ck_assert_has(desk_read("/x"), "has nothing for '{tenant}'");
	/* What is not known is no place at all. */
	desk.turn.context = literal(desk.arena, "{'user': ''}");
	desk_use(setting, "{}");
	ck_assert_has(desk_read("/x"), "has nothing for 'u-{context.user}'");
	desk.turn.context = NULL;
	desk_use(setting, "{}");
	ck_assert_has(desk_glob("**", "/"), "has nothing for");
}
END_TEST

START_TEST(a_hook_without_a_tool_does_not_reach_a_folder)
{
	desk_use("{'filesystem': {'root_dir': '/srv'}}", "{}");
	ck_assert_has(desk_read("/a"), "does not reach a folder");
}
END_TEST

TCase *
tcase_backend_store(void)
{
	TCase *tcase = tcase_create("backend_store");

	tcase_add_checked_fixture(tcase, set_up, desk_close);
	tcase_add_test(tcase, a_file_is_an_item_and_no_update);
	tcase_add_test(tcase, items_are_edited_appended_and_deleted);
	tcase_add_test(tcase, items_below_the_namespace_and_other_values_are_no_files);
	tcase_add_test(tcase, many_items_come_page_by_page);
	tcase_add_test(tcase, a_memory_that_fails_is_an_error);
	tcase_add_test(tcase, a_route_leads_into_memory);
	tcase_add_test(tcase, a_namespace_has_places_for_what_the_run_knows);
	tcase_add_test(tcase, a_hook_without_a_tool_does_not_reach_a_folder);
	return tcase;
}
