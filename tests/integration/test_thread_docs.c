/* The examples of docs/threads.md, as they stand there. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"

TCase *tcase_thread_docs(void);

static void
run_line(struct fleet_kit *kit, struct arena *arena, const char *line)
{
	const struct cli cli = { .program = "sh", .arena = arena };
	const char *command = arena_printf(arena,
	    "programs=$(realpath %s) && cd %s && PATH=$programs:$PATH FLOTILLA_REDIS=%s "
	    "FLOTILLA_BROKER=%s FLOTILLA_STATUS=%s %s",
	    kit_program(kit, ""), kit_path(kit, ""), kit_redis(kit), kit_broker(kit),
	    kit_status(kit), line);
	struct said said = CLI(&cli, "-c", command);

	ck_assert_msg(said.status == 0, "%s: status %d: %s%s", line, said.status,
	    said.out, said.err);
}

/* Writes the page's YAML, an agent's file, and runs the lines of its shell blocks, in their order.
 * Returns how many. */
static unsigned
run_page(struct fleet_kit *kit, struct arena *arena, FILE *page)
{
	const char *yaml = "";
	char line[512];
	enum { TEXT, SHELL, YAML, OTHER } inside = TEXT;
	unsigned count = 0;

	while (fgets(line, sizeof line, page) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "```", 3) == 0) {
			inside = inside != TEXT                 ? TEXT
				 : strcmp(line, "```sh") == 0   ? SHELL
				 : strcmp(line, "```yaml") == 0 ? YAML
								: OTHER;
		} else if (inside == YAML) {
			yaml = arena_printf(arena, "%s%s\n", yaml, line);
			kit_write(kit, "clerk.yaml", yaml);
		} else if (inside == SHELL) {
			run_line(kit, arena, line);
			count++;
		}
	}
	return count;
}

START_TEST(what_the_page_says_can_be_done)
{
	struct arena *arena = arena_new();
	struct fleet_kit *kit = kit_new();
	FILE *page = fopen("docs/threads.md", "re");

	ck_assert_ptr_nonnull(page);
	kit_start_all(kit, 1, 1, 1);
	ck_assert_uint_ge(run_page(kit, arena, page), 16);
	fclose(page);
	kit_destroy(&kit);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_thread_docs(void)
{
	TCase *tcase = tcase_create("thread_docs");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_the_page_says_can_be_done);
	return tcase;
}
