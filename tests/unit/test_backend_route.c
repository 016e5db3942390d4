/* Errors of a folder that is below a route of a composite. */
#include <check.h>
#include <stdio.h>
#include <sys/stat.h>

#include "children.h"
#include "json.h"
#include "literal.h"
#include "hook_stub.h"
#include "tool_trial.h"

static struct tool_trial trial;
static struct arena *arena;
static char *folder;

static void
set_up(void)
{
	FILE *file;

	tool_trial_open(&trial);
	arena = trial.arena;
	folder = folder_new();
	ck_assert_int_eq(mkdir(arena_printf(arena, "%s/src", folder), 0755), 0);
	file = fopen(arena_printf(arena, "%s/a.txt", folder), "we");
	ck_assert_ptr_nonnull(file);
	fclose(file);
}

static void
tear_down(void)
{
	folder_remove(&folder);
	tool_trial_close(&trial);
}

static void
call(const struct middleware_use *use, const char *tool, const char *args)
{
	size_t i;

	trial.chain = stub_chain(arena, use, NULL);
	trial.body = NULL;
	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), tool))
			tool_trial_call(&trial, value_at(use->tools, i),
			    json_text(arena, literal(arena, args)));
	ck_assert_ptr_nonnull(trial.body);
}

/* The last tool's refusal below the route /disk/. */
static const char *
refusal_of_route(const char *more, const char *tool, const char *args)
{
	const struct middleware_use *use = literal_use(arena, "filesystem",
	    arena_printf(arena,
		"{'backend': {'composite': {'default': 'state', 'routes': {'/disk/': "
		"{'filesystem': {'root_dir': '%s'%s}}}}}}",
		folder, more));

	call(use, tool, args);
	return tool_trial_answer(&trial, "error");
}

START_TEST(an_error_below_a_route_names_the_path_that_was_given)
{
	ck_assert_str_eq(refusal_of_route("", "read_file", "{'file_path': '/disk/nope'}"),
	    "Error: File '/disk/nope' not found");
	ck_assert_str_eq(refusal_of_route("", "read_file", "{'file_path': '/disk/src'}"),
	    "Error: '/disk/src' is a folder");
	ck_assert_str_eq(refusal_of_route("", "write_file",
			     "{'file_path': '/disk/a.txt/x', 'content': ''}"),
	    "Error: '/disk/a.txt/x' leads through something that is no folder (links are "
	    "not followed)");
	ck_assert_str_eq(refusal_of_route(", 'virtual_mode': false", "read_file",
			     "{'file_path': '/disk/src'}"),
	    arena_printf(arena,
		"Error: '/disk/src' is outside of '/disk%s', where the files are",
		folder));
}
END_TEST

TCase *tcase_backend_route(void);
TCase *
tcase_backend_route(void)
{
	TCase *tcase = tcase_create("backend_route");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, an_error_below_a_route_names_the_path_that_was_given);
	return tcase;
}
