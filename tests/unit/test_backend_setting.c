#include <check.h>
#include <sys/stat.h>
#include <string.h>

#include "backend_bench.h"
#include "has.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "backend.h"
#include "backend_disk.h"
#include "file_walk.h"

TCase *tcase_backend_setting(void);

/* --- routes --------------------------------------------------------------------------- */

#define ROUTED                                                                           \
	"{'composite': {'default': 'state', 'routes': {'/memories/': 'state', "          \
	"'/memories/deep/': 'state'}}}"

START_TEST(the_longest_route_takes_a_path)
{
	desk_use(ROUTED, "{}");
	desk_write("/memories/a.md", "1");
	desk_write("/memories/deep/b.md", "2");
	desk_write("/memoriesx", "3");
	desk_write("/c.md", "4");
	ck_assert(value_has(desk.backend.update, "/a.md"));
	ck_assert(value_has(desk.backend.update, "/b.md"));
	ck_assert(value_has(desk.backend.update, "/memoriesx"));
	ck_assert(value_has(desk.backend.update, "/c.md"));
	ck_assert_str_eq(desk_read("/memories/deep/b.md"), "2");
	ck_assert_str_eq(desk_read("/memories/nope"), "missing");
	ck_assert_str_eq(desk.backend.error, "File '/memories/nope' not found");
}
END_TEST

START_TEST(an_error_below_a_route_names_the_path_that_was_given)
{
	const struct value *text = value_str(desk.arena, "x");
	size_t count;

	desk_use(ROUTED, "{'/a.png': {'content': 'AAAA', 'encoding': 'base64'}}");
	ck_assert_int_eq(
	    desk_edit("/memories/a.png", "x", "y", false, &count), BACKEND_FAILED);
	ck_assert_str_eq(desk.backend.error, "'/memories/a.png' is not text");
	ck_assert_int_eq(
	    backend_append(&desk.backend, "/memories/deep/a.png", text), BACKEND_FAILED);
	ck_assert_str_eq(desk.backend.error, "'/memories/deep/a.png' is not text");
	ck_assert_int_eq(
	    backend_write(&desk.backend, "/memories/", text), BACKEND_FAILED);
	ck_assert_str_eq(desk.backend.error, "'/memories/' is no name for a file");
	ck_assert_int_eq(desk_edit("/a.png", "x", "y", false, &count), BACKEND_FAILED);
	ck_assert_str_eq(desk.backend.error, "'/a.png' is not text");
}
END_TEST

START_TEST(routes_are_folders_and_are_searched_from_above)
{
	desk_use(ROUTED, "{'/a.md': {'content': 'x'}}");
	ck_assert_str_eq(desk_ls("/"), "/a.md /memories/");
	ck_assert_str_eq(desk_ls("/memories"), "/memories/a.md /memories/deep/");
	ck_assert_str_eq(desk_glob("memories/*.md", "/"), "/memories/a.md");
	ck_assert_str_eq(
	    desk_glob("**/*.md", "/"), "/a.md /memories/a.md /memories/deep/a.md");
	ck_assert_str_eq(desk_glob("/*.md", "/memories"), "/memories/a.md");
	ck_assert_str_eq(desk_grep("x", "/", NULL, 9),
	    "/a.md:1:x /memories/a.md:1:x /memories/deep/a.md:1:x");
	ck_assert_str_eq(
	    desk_grep("x", "/", NULL, 2), "/a.md:1:x /memories/a.md:1:x ...");
	/* A glob with folders means paths from where the search begins, in routes as well. */
	ck_assert_str_eq(desk_grep("x", "/", "memories/*.md", 9), "/memories/a.md:1:x");
	ck_assert_str_eq(desk_grep("x", "/", "/*.md", 9), "/a.md:1:x");
	ck_assert_str_eq(desk_grep("x", "/", "memories/**", 1), "/memories/a.md:1:x ...");
	ck_assert_str_eq(
	    desk_grep("x", "/memories", "*/a.md", 9), "/memories/deep/a.md:1:x");
}
END_TEST

/* A pattern that each name is held against for long, and names that there are many of. */
START_TEST(a_search_of_a_route_ends)
{
	struct value_fields items = { .arena = desk.arena };
	const char *a = arena_printf(desk.arena, "%01000d", 0), *glob = "*";
	struct backend_list list;
	size_t i;

	desk_use("{'composite': {'default': 'state', 'routes': {'/memories/': 'store'}}}",
	    "{}");
	for (i = 0; i < 1000; i++)
		value_fields_set(&items, arena_printf(desk.arena, "/%s%04zu", a, i),
		    literal(desk.arena, "{'content': ''}"));
	desk.memory = value_map(desk.arena, "filesystem", value_fields_end(&items), NULL);
	glob = arena_printf(desk.arena, "*%.40s{x", a);
	for (i = 0; i < 250; i++)
		glob = arena_printf(desk.arena, "%s,x", glob);
	ck_assert_int_eq(backend_glob(&desk.backend,
			     arena_printf(desk.arena, "memories/%s}", glob), "/", &list),
	    BACKEND_DONE);
	ck_assert(list.is_cut);
}
END_TEST

/* --- the setting ---------------------------------------------------------------------- */

static const struct field own_fields[] = { { .name = "own" }, BACKEND_FIELD, { 0 } };

static const char *
configured(const char *setting, enum backend_readers readers)
{
	const char *error = NULL;

	desk_use(setting, "{}");
	desk.use.fields = own_fields;
	desk.use.field_count = 2;
	desk.use.reads = value_empty_array();
	if (backend_configure(desk.arena, &desk.use, readers, &error) == -1)
		return error;
	return arena_printf(desk.arena, "%zu fields, reads %s%s", desk.use.field_count,
	    json_text(desk.arena, desk.use.reads),
	    backend_has_folder(value_get(desk.use.settings, "backend")) ? ", folder"
									: "");
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
	{ "{'store': {'namespace': ['u', '{context.user}-{thread}', '{{x}}']}}",
	    "1 fields, reads []" },
	{ "{'store': {'namespace': ['{user}']}}",
	    "/backend/store/namespace/0: {user} is none of {tenant}" },
	{ "{'store': {'namespace': ['{context.}']}}",
	    "/backend/store/namespace/0: {context.} is" },
	{ "{'store': {'name': 'x'}}",
	    "/backend/store/name: there is no setting 'name' here" },
	{ "{'store': {'namespce': ['x']}}",
	    "/backend/store/namespce: there is no setting 'namespce' here; did you mean "
	    "namespace?" },
	{ "{'store': 7}", "/backend/store: must be a map" },
	{ "'filesystem'", "/backend/root_dir: root_dir must be there" },
	{ "{'filesystem': {'root_dir': 'srv'}}",
	    "/backend/filesystem/root_dir: root_dir must" },
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
	const char *result = configured(settings[_i].setting, BACKEND_READ_BY_WORKERS);

	ck_assert_msg(
	    strncmp(result, settings[_i].result, strlen(settings[_i].result)) == 0,
	    "%s: %s", settings[_i].setting, result);
}
END_TEST

START_TEST(what_only_nodes_read_is_not_sent_to_workers)
{
	ck_assert_str_eq(
	    configured("'state'", BACKEND_READ_BY_NODES), "2 fields, reads []");
	ck_assert_ptr_null(desk.use.tool_reads);
	ck_assert_str_eq(
	    configured("'state'", BACKEND_READ_BY_TOOLS), "2 fields, reads []");
	ck_assert_value(desk.arena, desk.use.tool_reads, "['files']");
}
END_TEST

START_TEST(commands_are_for_a_shell_that_is_the_default)
{
	struct backend_output output;

	ck_assert(
	    backend_executes(literal(desk.arena, "{'local_shell': {'root_dir': '/'}}")));
	ck_assert(backend_executes(literal(desk.arena,
	    "{'composite': {'default': {'local_shell': {'root_dir': '/'}}}}")));
	ck_assert(!backend_executes(literal(desk.arena,
	    "{'composite': {'routes': {'/a/': {'local_shell': {'root_dir': '/'}}}}}")));
	ck_assert_int_eq(
	    backend_execute(&desk.backend, value_str(desk.arena, "ls"), 0, &output),
	    BACKEND_FAILED);
	ck_assert_has(desk.backend.error, "no commands");
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

static const struct {
	int64_t seconds, ns;
	const char *shown;
} times[] = {
	{ 0, 1000, "1970-01-01T00:00:00.000001+00:00" },
	{ -1, 500000000, "1969-12-31T23:59:59.500000+00:00" },
	{ -2, 0, "1969-12-31T23:59:58.000000+00:00" },
	{ INT64_C(13569465600), 7, "2262-04-11T23:47:16.854775+00:00" }, /* of 2400 */
	{ INT64_C(-13569465600), 7, "1677-09-21T00:12:43.145224+00:00" },
};

START_TEST(files_have_been_changed_at_any_time)
{
	const struct stat stat = { .st_mtim = { .tv_sec = times[_i].seconds,
				       .tv_nsec = times[_i].ns } };

	ck_assert_str_eq(
	    disk_time(desk.arena, file_walk_changed(&stat)), times[_i].shown);
}
END_TEST

START_TEST(bytes_become_base64)
{
	ck_assert_str_eq(value_text(backend_base64(desk.arena, "", 0)), "");
	ck_assert_str_eq(value_text(backend_base64(desk.arena, "f", 1)), "Zg==");
	ck_assert_str_eq(value_text(backend_base64(desk.arena, "fo", 2)), "Zm8=");
	ck_assert_str_eq(
	    value_text(backend_base64(desk.arena, "foob\xff\0", 6)), "Zm9vYv8A");
}
END_TEST

static const struct {
	const char *base64, *bytes; /* NULL: it is none */
	size_t size;
} encoded[] = {
	{ "", "", 0 },
	{ "Zg==", "f", 1 },
	{ "Zg", "f", 1 },
	{ "Zm8=", "fo", 2 },
	{ "Zm9v\nYv8A", "foob\xff\0", 6 },
	{ "Z", NULL, 0 },
	{ "Zm9v-", NULL, 0 },
};

START_TEST(base64_becomes_bytes)
{
	const struct value *bytes =
	    backend_bytes(desk.arena, value_str(desk.arena, encoded[_i].base64));

	if (encoded[_i].bytes == NULL) {
		ck_assert_ptr_null(bytes);
		return;
	}
	ck_assert_uint_eq(bytes->size, encoded[_i].size);
	ck_assert_mem_eq(bytes->text, encoded[_i].bytes, encoded[_i].size);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

TCase *
tcase_backend_setting(void)
{
	TCase *tcase = tcase_create("backend_setting");

	tcase_add_checked_fixture(tcase, desk_open, desk_close);
	tcase_add_test(tcase, the_longest_route_takes_a_path);
	tcase_add_test(tcase, an_error_below_a_route_names_the_path_that_was_given);
	tcase_add_test(tcase, routes_are_folders_and_are_searched_from_above);
	tcase_add_test(tcase, a_search_of_a_route_ends);
	tcase_add_loop_test(
	    tcase, settings_are_checked_with_their_place, 0, COUNT(settings));
	tcase_add_test(tcase, what_only_nodes_read_is_not_sent_to_workers);
	tcase_add_test(tcase, commands_are_for_a_shell_that_is_the_default);
	tcase_add_test(tcase, files_have_kinds_by_their_names);
	tcase_add_loop_test(tcase, files_have_been_changed_at_any_time, 0, COUNT(times));
	tcase_add_test(tcase, bytes_become_base64);
	tcase_add_loop_test(tcase, base64_becomes_bytes, 0, COUNT(encoded));
	return tcase;
}
