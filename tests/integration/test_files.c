/* Files of agents on a fleet of real processes: in the thread, in Redis, in a folder. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "fleet_kit.h"
#include "has.h"
#include "json.h"

TCase *tcase_files(void);

#define EXIT_INTERRUPTED 5 /* docs/cli.md */

/* A message is long from forty characters on, an answer from eighty. */
static const char agent[] =
    "name: writer\n"
    "model: scripted:main\n"
    "middleware:\n"
    "  - filesystem:\n"
    "      human_message_token_limit_before_evict: 10\n"
    "      tool_token_limit_before_evict: 20\n"
    "      permissions:\n"
    "        - {operations: [write], paths: [/asked/**], mode: interrupt}\n"
    "      backend:\n"
    "        composite:\n"
    "          default: {filesystem: {root_dir: %s}}\n"
    "          routes:\n"
    "            /memories/: {store: {namespace: [team]}}\n"
    "            /draft/: state\n"
    "script:\n"
    "  main:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: write_file, args: {file_path: /disk/a, content: A1}}\n"
    "        - {id: b, name: write_file, args: {file_path: /memories/b, content: B1}}\n"
    "        - {id: c, name: write_file, args: {file_path: /draft/c, content: C1}}\n"
    "        - {id: d, name: write_file, args: {file_path: /draft/d, content: D1}}\n"
    "    - tool_calls:\n"
    "        - {id: e, name: grep, args: {pattern: '1', output_mode: content}}\n"
    "        - {id: f, name: edit_file, args: {file_path: /disk/a, old_string: A1, "
    "new_string: A2}}\n"
    "        - {id: g, name: ls, args: {path: /}}\n"
    "        - {id: h, name: write_file, args: {file_path: /asked/h, content: H}}\n"
    "    - tool_calls:\n"
    "        - {id: i, name: read_file, args: {file_path: /disk/a}}\n"
    "    - content: Done.\n";

/* Its edits are in one round, at two workers. */
static const char editor[] =
    "name: editor\n"
    "model: scripted:main\n"
    "middleware:\n"
    "  - filesystem: {backend: {filesystem: {root_dir: %s}}}\n"
    "script:\n"
    "  main:\n"
    "    - tool_calls:\n"
    "        - {id: w, name: write_file, args: {file_path: /x, content: abcdef}}\n"
    "    - tool_calls:\n"
    "        - {id: a, name: edit_file, args: {file_path: /x, old_string: a, "
    "new_string: A}}\n"
    "        - {id: b, name: edit_file, args: {file_path: /x, old_string: b, "
    "new_string: B}}\n"
    "        - {id: c, name: edit_file, args: {file_path: /x, old_string: c, "
    "new_string: C}}\n"
    "        - {id: d, name: edit_file, args: {file_path: /x, old_string: d, "
    "new_string: D}}\n"
    "        - {id: e, name: edit_file, args: {file_path: /x, old_string: e, "
    "new_string: E}}\n"
    "        - {id: f, name: edit_file, args: {file_path: /x, old_string: f, "
    "new_string: F}}\n"
    "    - content: Edited.\n";

/* Two rounds: small files, then each becomes five million bytes at once, from what all see as little. */
#define WIDE_FILES 3u
#define WIDE_BYTES 5000u

static struct arena *arena;
static struct fleet_kit *kit;

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	ck_assert_int_eq(mkdir(kit_path(kit, "root"), 0755), 0);
	kit_write(kit, "agent.yml", arena_printf(arena, agent, kit_path(kit, "root")));
	kit_start_all(kit, 1, 1, 2);
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "agent.yml"), NULL);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	arena_destroy(&arena);
}

#define FLOTILLA(...)                                                                    \
	CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit), "--broker",               \
	    kit_broker(kit), "--status", kit_status(kit))

static const struct value *
state_of(const char *thread)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("state", thread, "--json");
	const struct value *state;
	const char *error;

	ck_assert_msg(said.status == 0, "%s", said.err);
	state = json_parse(arena, said.out, strlen(said.out), &error);
	ck_assert_msg(state != NULL, "%s", error);
	return state;
}

static const char *
answer_to(const struct value *state, const char *call)
{
	const struct value *messages = value_get(state, "messages");
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (value_text_is(value_get(value_at(messages, i), "tool_call_id"), call))
			return chat_text(arena, value_at(messages, i));
	ck_abort_msg("call %s has no answer", call);
	return NULL;
}

static const char *
text_at(const char *name)
{
	FILE *file = fopen(kit_path(kit, name), "re");
	char *text = arena_alloc(arena, 4096);

	ck_assert_msg(file != NULL, "%s is not there", name);
	ck_assert_uint_lt(fread(text, 1, 4095, file), 4095);
	fclose(file);
	return text;
}

#define QUESTION "Please write some files, and look at them afterwards."

/* What the first part of the run has left. */
static void
check_begin(const struct value *state)
{
	const struct value *question = value_at(value_get(state, "messages"), 0);
	const struct value *files = value_get(value_get(state, "fields"), "files");
	const char *path =
	    value_get_text(value_get(question, "additional_kwargs"), "lc_evicted_to");

	ck_assert_str_eq(value_get_text(question, "content"), QUESTION);
	ck_assert_ptr_nonnull(path);
	ck_assert_str_eq(text_at(arena_printf(arena, "root%s", path)), QUESTION);
	ck_assert_str_eq(text_at("root/disk/a"), "A2");
	ck_assert_str_eq(value_get_text(value_get(files, "/c"), "content"), "C1");
	ck_assert_str_eq(value_get_text(value_get(files, "/d"), "content"), "D1");
}

START_TEST(files_are_where_their_paths_say)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said = FLOTILLA("submit", "writer", QUESTION, "-t", "t1", "--wait");
	const struct value *state;

	ck_assert_msg(
	    said.status == EXIT_INTERRUPTED, "%d: %s%s", said.status, said.out, said.err);
	said = FLOTILLA("approve", "t1", "--wait");
	ck_assert_msg(said.status == 0, "%d: %s%s", said.status, said.out, said.err);
	ck_assert_has(said.out, "Done.");
	state = state_of("t1");
	check_begin(state);
	ck_assert_has(answer_to(state, "e"), "/draft/c:\n  1: C1\n");
	ck_assert_has(answer_to(state, "e"), "/memories/b:\n  1: B1");
	ck_assert_has(answer_to(state, "g"), "/draft/\n/memories/");
	ck_assert_str_eq(answer_to(state, "h"), "Wrote /asked/h");
	ck_assert_str_eq(text_at("root/asked/h"), "H");
	ck_assert_str_eq(answer_to(state, "i"), "1  A2");
	said = FLOTILLA("store", "get", "team", "/b");
	ck_assert_has(said.out, "B1");
}
END_TEST

START_TEST(edits_side_by_side_are_all_kept)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	struct said said;

	kit_write(kit, "editor.yml", arena_printf(arena, editor, kit_path(kit, "root")));
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "editor.yml"), NULL);
	said = FLOTILLA("submit", "editor", "Go.", "--wait");
	ck_assert_msg(said.status == 0, "%d: %s%s", said.status, said.out, said.err);
	ck_assert_str_eq(text_at("root/x"), "ABCDEF");
}
END_TEST

static const char *
wide_agent(void)
{
	char *wide = arena_take(arena, WIDE_BYTES + 1);
	struct packet text = { 0 };
	const char *line = "name: wide\nmodel: scripted:main\nmiddleware: [filesystem]\n"
			   "script:\n  main:\n    - tool_calls:\n";
	unsigned i;

	memset(wide, 'b', WIDE_BYTES);
	wide[WIDE_BYTES] = '\0';
	packet_append(&text, line, strlen(line));
	for (i = 0; i < WIDE_FILES; i++) {
		line = arena_printf(arena,
		    "        - {id: w%u, name: write_file, args: {file_path: /f%u, "
		    "content: '%01000d'}}\n",
		    i, i, 0);
		packet_append(&text, line, strlen(line));
	}
	packet_append(&text, "    - tool_calls:\n", 18);
	for (i = 0; i < WIDE_FILES; i++) {
		line = arena_printf(arena,
		    "        - {id: e%u, name: edit_file, args: {file_path: /f%u, "
		    "old_string: '0', new_string: %s, replace_all: true}}\n",
		    i, i, wide);
		packet_append(&text, line, strlen(line));
	}
	line = "    - tool_calls: [{id: d, name: delete, args: {file_path: /f0}}]\n"
	       "    - content: Done.\n";
	packet_append(&text, line, strlen(line));
	line = arena_copy(arena, text.data, text.size);
	packet_release(&text);
	return line;
}

/* Each call brings all files: more than a call can hold would end every run of the thread from then on. */
START_TEST(files_that_calls_make_side_by_side_have_a_bound)
{
	struct cli flotilla = { .program = kit_program(kit, "flotilla"), .arena = arena };
	const struct value *state, *files;
	struct said said;

	kit_write(kit, "wide.yml", wide_agent());
	kit_flotilla(kit, "agents", "apply", kit_path(kit, "wide.yml"), NULL);
	said = FLOTILLA("submit", "wide", "Go.", "-t", "w", "--wait");
	ck_assert_msg(said.status == 0, "%d: %s%s", said.status, said.out, said.err);
	state = state_of("w");
	files = value_get(value_get(state, "fields"), "files");
	ck_assert_has(answer_to(state, "e0"), "Replaced 1000 occurrences");
	ck_assert_has(answer_to(state, "e1"), "Replaced 1000 occurrences");
	ck_assert_has(answer_to(state, "e2"), "Error: what this call wrote to \"files\"");
	ck_assert_has(answer_to(state, "e2"), "Replaced 1000 occurrences");
	ck_assert_str_eq(answer_to(state, "d"), "Deleted /f0");
	ck_assert_uint_eq(value_size(files), WIDE_FILES - 1);
	ck_assert_uint_eq(
	    value_size(value_get(value_get(files, "/f1"), "content")), 5000000);
	ck_assert_uint_eq(
	    value_size(value_get(value_get(files, "/f2"), "content")), 1000);
}
END_TEST

TCase *
tcase_files(void)
{
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, files_are_where_their_paths_say);
	tcase_add_test(tcase, edits_side_by_side_are_all_kept);
	/* Sanitized, a coordinator takes longer for so much than its lease lasts. */
#ifdef __SANITIZE_ADDRESS__
	(void)files_that_calls_make_side_by_side_have_a_bound;
#else
	tcase_add_test(tcase, files_that_calls_make_side_by_side_have_a_bound);
#endif
	return tcase;
}
