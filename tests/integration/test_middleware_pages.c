/* The agents that the pages of docs/middleware/ show, run as they stand there: every block that is a
 * whole agent of the scripted provider. Run from the project's folder. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"
#include "json.h"

TCase *tcase_middleware_pages(void);

#define PAGE_BYTES_MAX (1 << 17)
#define FENCE "\n```yaml\n"
#define EXIT_INTERRUPTED 5 /* docs/cli.md */

static struct arena *arena;
static struct fleet_kit *kit;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

static const char *
read_page(const char *path)
{
	char *text = arena_alloc(arena, PAGE_BYTES_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	ck_assert_msg(file != NULL, "%s is not there", path);
	size = fread(text, 1, PAGE_BYTES_MAX - 1, file);
	fclose(file);
	ck_assert_uint_lt(size, PAGE_BYTES_MAX - 1);
	return text;
}

/* The next whole agent behind *at_p, which goes behind it; NULL when there is none. */
static const char *
next_agent(const char **at_p)
{
	const char *begin, *end, *block;

	while ((begin = strstr(*at_p, FENCE)) != NULL) {
		begin += strlen(FENCE);
		end = strstr(begin, "\n```");
		ck_assert_ptr_nonnull(end);
		block = arena_copy(arena, begin, (size_t)(end + 1 - begin));
		*at_p = end;
		if (strncmp(block, "name:", 5) == 0 &&
		    strstr(block, "\nmodel: scripted:") != NULL)
			return block;
	}
	return NULL;
}

static unsigned
run_agents_of(const char *path)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	const char *at = read_page(path), *agent;
	unsigned count = 0;

	while ((agent = next_agent(&at)) != NULL) {
		const char *file = kit_write(kit, "agent.yaml", agent);
		struct said said = CLI(&flotilla, "submit", file, "Hello.", "--wait",
		    "--redis", kit_redis(kit));

		ck_assert_msg(said.status == 0 || said.status == EXIT_INTERRUPTED,
		    "%s: agent %u: %s", path, count, said.err);
		count++;
	}
	return count;
}

START_TEST(the_agents_of_the_pages_run)
{
	DIR *folder = opendir("docs/middleware");
	struct dirent *entry;
	unsigned pages = 0;

	kit_start_all(kit, 1, 1, 1);
	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)) != NULL) {
		if (strstr(entry->d_name, ".md") != NULL)
			pages += run_agents_of(arena_printf(
				     arena, "docs/middleware/%s", entry->d_name)) > 0;
	}
	closedir(folder);
	ck_assert_uint_ge(pages, 5);
}
END_TEST

/* Without a fleet. */
START_TEST(the_command_tells_of_each_middleware)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = CLI(&flotilla, "middleware", "--json");
	const struct value *all;
	const char *error;
	size_t i;

	ck_assert_int_eq(said.status, 0);
	all = json_parse(arena, said.out, strlen(said.out), &error);
	ck_assert_uint_ge(value_size(all), 10);
	for (i = 0; i < value_size(all); i++) {
		const char *name = value_get_text(value_at(all, i), "name");

		said = CLI(&flotilla, "middleware", name);
		ck_assert_int_eq(said.status, 0);
		ck_assert_ptr_nonnull(
		    strstr(said.out, value_get_text(value_at(all, i), "summary")));
		ck_assert_ptr_nonnull(strstr(said.out, "Settings:"));
	}
	said = CLI(&flotilla, "middleware", "todo_lists");
	ck_assert_int_eq(said.status, 3);
	ck_assert_ptr_nonnull(strstr(said.err, "did you mean 'todo_list'?"));
	said = CLI(&flotilla, "middleware", "latency", "--plugin",
	    kit_built(kit, "plugins/latency.so"));
	ck_assert_msg(said.status == 0, "%s", said.err);
}
END_TEST

TCase *
tcase_middleware_pages(void)
{
	TCase *tcase = tcase_create("middleware_pages");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_agents_of_the_pages_run);
	tcase_add_test(tcase, the_command_tells_of_each_middleware);
	return tcase;
}
