/* What pages of docs/ show, as a reader would try it: the graphs of graph.md, the commands and the
 * receiver of runs.md, the table of cli.md. Run from the project's folder. */
#include <check.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "cli.h"
#include "fleet_kit.h"
#include "json.h"
#include "page.h"

TCase *tcase_pages(void);

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

/* --- graph.md ------------------------------------------------------------------------ */

START_TEST(the_graphs_are_what_the_command_draws)
{
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	const char *at = page_read(arena, "docs/graph.md"), *source, *file = NULL;
	struct said said;
	unsigned count = 0;

	while ((source = page_block(arena, &at, "yaml")) != NULL) {
		const char *drawn = page_block(arena, &at, "mermaid");

		file = kit_write(kit, arena_printf(arena, "%u.yaml", count++), source);
		said = CLI(&cli, "graph", file);
		ck_assert_msg(said.status == 0, "%s", said.err);
		ck_assert_str_eq(said.out, drawn);
	}
	ck_assert_uint_eq(count, 3);
	said = CLI(&cli, "graph", kit_path(kit, "0.yaml"), "--json");
	ck_assert_str_eq(said.out, page_block(arena, &at, "json"));
}
END_TEST

/* --- cli.md -------------------------------------------------------------------------- */

/* Flags that every command has are told above the table. */
static bool
is_common(const char *flag)
{
	static const char *const common[] = { "--redis", "--broker", "--status", "--key",
		"--broker-key", "--json", "--help", "--usage", "--version" };
	size_t i;

	for (i = 0; i < sizeof common / sizeof *common; i++)
		if (strcmp(common[i], flag) == 0)
			return true;
	return false;
}

/* All rows of the page's table that are of command, one behind the other. */
static const char *
rows_of(const char *page, const char *command)
{
	const char *begin = arena_printf(arena, "\n| `%s", command), *rows = "", *end;

	while ((page = strstr(page, begin)) != NULL) {
		end = strchr(page + 1, '\n');
		ck_assert_ptr_nonnull(end);
		if (strchr(" `", page[strlen(begin)]) != NULL)
			rows =
			    arena_printf(arena, "%s%.*s", rows, (int)(end - page), page);
		page = end;
	}
	return rows;
}

/* Whether rows have flag, and not only one that begins like it. */
static bool
names_flag(const char *rows, const char *flag)
{
	while ((rows = strstr(rows, flag)) != NULL) {
		rows += strlen(flag);
		if (strchr(" `,", *rows) != NULL)
			return true;
	}
	return false;
}

/* Each flag stands first in a line of the help, behind its letter maybe. */
static void
check_flags(const char *command, const char *help, const char *rows)
{
	const char *line, *flag, *next;

	for (line = help; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			next++;
		line += strspn(line, " ");
		if (line[0] == '-' && line[1] != '-' && line[2] == ',')
			line += 4;
		if (strncmp(line, "--", 2) != 0)
			continue;
		flag = arena_copy(arena, line, strcspn(line, "= ,[\n"));
		ck_assert_msg(is_common(flag) || names_flag(rows, flag),
		    "docs/cli.md does not name %s of `%s`", flag, command);
	}
}

START_TEST(the_table_of_commands_has_each_with_its_flags)
{
	const struct cli cli = { .program = kit_program(kit, "flotilla"),
		.arena = arena };
	const char *page = page_read(arena, "docs/cli.md");
	const char *at = CLI(&cli, "--help").out;
	unsigned count = 0;

	while ((at = strstr(at, "\n  ")) != NULL) {
		const char *command, *rows;
		struct said said;

		at += 3;
		command = arena_copy(arena, at, strcspn(at, " "));
		rows = rows_of(page, command);
		ck_assert_msg(*rows != '\0', "docs/cli.md has no row of `%s`", command);
		said = CLI(&cli, command, "--help");
		ck_assert_int_eq(said.status, 0);
		check_flags(command, said.out, rows);
		count++;
	}
	ck_assert_uint_ge(count, 20);
}
END_TEST

/* --- runs.md ------------------------------------------------------------------------- */

static const char greeter[] = "name: greeter\n"
			      "model: scripted:s\n"
			      "script:\n"
			      "  s:\n"
			      "    - content: Hello.\n";

static void
run_line(const char *line)
{
	const struct cli cli = { .program = "/bin/sh", .arena = arena };
	const struct said said = CLI(&cli, "-c",
	    arena_printf(arena,
		"export FLOTILLA_REDIS='%s' FLOTILLA_BROKER='%s' FLOTILLA_STATUS='%s'; "
		"PATH=${0%%/*}:$PATH; %s",
		kit_redis(kit), kit_broker(kit), kit_status(kit), line),
	    kit_program(kit, "flotilla"));

	ck_assert_msg(said.status == 0, "%s\n%s%s", line, said.out, said.err);
}

START_TEST(the_commands_of_runs_work)
{
	const char *at = page_read(arena, "docs/runs.md");
	unsigned count = 0;

	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(
	    kit, "agents", "apply", kit_write(kit, "greeter.yaml", greeter), NULL);
	while ((at = strstr(at, "\n    flotilla ")) != NULL) {
		const char *end = strchr(at + 1, '\n');

		ck_assert_ptr_nonnull(end);
		run_line(arena_copy(arena, at + 5, (size_t)(end - at - 5)));
		at = end;
		count++;
	}
	ck_assert_uint_ge(count, 7);
}
END_TEST

/* A receiver's `is_ours` against what we send. */
START_TEST(the_signature_is_checked_as_runs_says)
{
	static const char secret[] = "quite secret", body[] = "{\"run\": \"r\"}";
	const struct cli cli = { .program = "python3", .arena = arena };
	const char *at = page_read(arena, "docs/runs.md"),
		   *code = page_block(arena, &at, "python");
	const char *text =
	    arena_printf(arena, "%" PRId64 ".%s", (int64_t)time(NULL), body);
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;
	char hex[2 * sizeof hash + 1];
	struct said said;

	crypto_auth_hmacsha256_init(
	    &state, (const unsigned char *)secret, strlen(secret));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, hash);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	said = CLI(&cli, "-c",
	    arena_printf(arena,
		"%s\n"
		"signature = 't=%.*s,v1=%s'\n"
		"assert is_ours(b'%s', signature, b'%s')\n"
		"assert not is_ours(b'%s', signature, b'{}')\n"
		"assert not is_ours(b'other', signature, b'%s')\n",
		code, (int)(strchr(text, '.') - text), text, hex, secret, body, secret,
		body));
	ck_assert_msg(said.status == 0, "%s", said.err);
}
END_TEST

TCase *
tcase_pages(void)
{
	TCase *tcase = tcase_create("pages");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_graphs_are_what_the_command_draws);
	tcase_add_test(tcase, the_table_of_commands_has_each_with_its_flags);
	tcase_add_test(tcase, the_commands_of_runs_work);
	tcase_add_test(tcase, the_signature_is_checked_as_runs_says);
	return tcase;
}
