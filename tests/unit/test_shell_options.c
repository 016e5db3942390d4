#include <check.h>
#include <string.h>

#include "arena.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

TCase *tcase_shell_options(void);

static const struct {
	const char *settings, *path;
} bad[] = {
	{ "'policy': 'docker'", "/policy" },
	{ "'command_timeout': 0", "/command_timeout" },
	{ "'command_timeout': '1'", "/command_timeout" },
	{ "'command_timeout': 86400", "/command_timeout" },
	{ "'command_timeout': 40000, 'shutdown_commands': ['a', 'b', 'c']",
	    "/command_timeout" },
	{ "'max_output_lines': 0", "/max_output_lines" },
	{ "'workspace_root': 'here'", "/workspace_root" },
	{ "'shell_command': []", "/shell_command" },
	{ "'env': {'A B': 'c'}", "/env" },
	{ "'env': {'1': 'c'}", "/env" },
	{ "'env': {'A': 1}", "/env/A" },
	{ "'tool_name': 'my shell'", "/tool_name" },
	{ "'redaction_rules': ['email']", "/redaction_rules/0" },
	{ "'redaction_rules': [{'pii_type': 'mood'}]", "/redaction_rules/0" },
	{ "'redaction_rules': [{'pii_type': 'x', 'detector': '('}]",
	    "/redaction_rules/0" },
	{ "'redaction_rules': [{'pii_type': 'email', 'strategy': 'burn'}]",
	    "/redaction_rules/0/strategy" },
	{ "'redaction_rules': [{'strategy': 'mask'}]", "/redaction_rules/0/pii_type" },
	{ "'redaction_rules': [{'pii_type': 'email', 'stratgy': 'block'}]",
	    "/redaction_rules/0/stratgy" },
	{ "'redaction_rules': [{'pii_type': 'email', 'detector': ['@']}]",
	    "/redaction_rules/0/detector" },
	{ "'redaction_rules': [{'pii_type': 'key', 'detector': ''}]",
	    "/redaction_rules/0/detector" },
	{ "'memory_bytes': 5", "/memory_bytes" },
	{ "'commands': []", "/commands" },
};

START_TEST(bad_settings_are_refused_by_name)
{
	struct arena *arena = arena_new();
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(arena, "shell_tool",
	    literal(arena, arena_printf(arena, "{%s}", bad[_i].settings)), &path,
	    &error));
	ck_assert_msg(strcmp(path, bad[_i].path) == 0, "%s: %s", path, error);
	arena_destroy(&arena);
}
END_TEST

/* The fleet gives a call the time that its shell may take. */
START_TEST(the_tool_says_how_long_it_may_take)
{
	struct arena *arena = arena_new();
	const char *path = "", *error = "";
	const struct middleware_use *use = registry_use(arena, "shell_tool",
	    literal(arena, "{'command_timeout': 3600, 'startup_timeout': 5, "
			   "'startup_commands': ['a', 'b']}"),
	    &path, &error);

	ck_assert_msg(use != NULL, "%s: %s", path, error);
	ck_assert_int_eq(
	    (int)value_get_int(value_at(use->tools, 0), "timeout_ms", 0), 3615000);
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_shell_options(void)
{
	TCase *tcase = tcase_create("shell_options");

	tcase_add_loop_test(
	    tcase, bad_settings_are_refused_by_name, 0, (int)(sizeof bad / sizeof *bad));
	tcase_add_test(tcase, the_tool_says_how_long_it_may_take);
	return tcase;
}
