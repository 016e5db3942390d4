/* A human decides about a call whose arguments a rule of pii hides: what he is shown, what is stored of the
 * question and of the answer, and what the tool gets. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "fleet_kit.h"
#include "has.h"

TCase *tcase_pii_approvals(void);

#define VALUE "ann@example.org"
#define HIDDEN "[REDACTED_EMAIL]"

static const char agent[] =
    "name: gated\n"
    "model: scripted:s\n"
    "tools: [send]\n"
    "middleware:\n"
    "  - pii: {pii_type: email, apply_to_tool_results: true}\n"
    "  - human_in_the_loop: {interrupt_on: {send: true}, interrupt_mode: per_call}\n"
    "script:\n"
    "  s:\n"
    "    - tool_calls: [{id: a, name: send, args: {to: " VALUE "}}]\n"
    "    - content: Done.\n";
static const char tool[] = "name: send\n"
			   "description: sends\n"
			   "parameters: {properties: {to: {type: string}}}\n"
			   "input: none\n"
			   "command: printf '%%s' \"$ARG_TO\" > %s; echo \"sent to "
			   "$ARG_TO\"\n";

static struct fleet_kit *kit;
static struct arena *arena;

static void
set_up(void)
{
	arena = arena_new();
	kit = kit_new();
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(
		kit, "tools.yaml", arena_printf(arena, tool, kit_path(kit, "sent"))));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agent.yaml", agent), NULL);
}

static void
tear_down(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

/* Submits, and waits until the question is there. */
static void
ask(void)
{
	const char *asked;

	kit_flotilla(kit, "submit", "gated", "Go", "--thread", "t1", "--run", "r1", NULL);
	while ((asked = kit_flotilla(kit, "approvals", "--json", NULL),
	    strstr(asked, "send") == NULL))
		usleep(50000);
	ck_assert_has(asked, HIDDEN);
	ck_assert_ptr_null(strstr(asked, VALUE));
}

static const char *
sent(void)
{
	static char text[256];
	FILE *file = fopen(kit_path(kit, "sent"), "re");
	size_t size;

	ck_assert_ptr_nonnull(file);
	size = fread(text, 1, sizeof text - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* What was asked and what was answered has it nowhere. */
static void
check_told(void)
{
	const char *log = kit_flotilla(kit, "watch", "a1", "--json", NULL);

	ck_assert_has(
	    kit_flotilla(kit, "state", "t1", "--json", NULL), "sent to " HIDDEN);
	ck_assert_msg(strstr(log, VALUE) == NULL, "%s", log);
}

START_TEST(an_approved_call_gets_what_the_human_is_not_shown)
{
	ask();
	kit_flotilla(kit, "approve", "t1", "--run-id", "a1", "--wait", NULL);
	ck_assert_str_eq(sent(), VALUE);
	check_told();
}
END_TEST

/* An edit is what the human wrote, and nothing else. */
START_TEST(an_edited_call_gets_what_the_human_wrote)
{
	ask();
	kit_flotilla(kit, "edit", "t1", "--run-id", "a1", "--args",
	    "{\"to\": \"bob@example.org\"}", "--wait", NULL);
	ck_assert_str_eq(sent(), "bob@example.org");
	check_told();
}
END_TEST

TCase *
tcase_pii_approvals(void)
{
	TCase *tcase = tcase_create("pii_approvals");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, an_approved_call_gets_what_the_human_is_not_shown);
	tcase_add_test(tcase, an_edited_call_gets_what_the_human_wrote);
	return tcase;
}
