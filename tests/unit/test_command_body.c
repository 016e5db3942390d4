/* What LangGraph's clients say where a run begins: a node, what is written before, an answer; and what cannot be done. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "literal.h"
#include "submission.h"

/* Interface under test */
#include "command_body.h"

TCase *tcase_command_body(void);

static struct arena *arena;
static struct command_body body;

/* Places: none yet, one at which nothing is next, one in front of the tools. */
static const struct run_place fresh = { .thread = "t", .run = "r" };
static const struct run_place idle = { .thread = "t", .run = "r", .version = 4 };
static const struct run_place paused = {
	.thread = "t", .run = "r", .version = 4, .goes_on = true, .next = "tools"
};

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct {
	const struct run_place *place;
	const char *command;
	int64_t checkpoint;
	const char *moves, *resume, *ends;
} taken[] = {
	{ &fresh, "{'resume': 'yes'}", NO_CHECKPOINT, NULL, "'yes'", NULL },
	{ &fresh, "{'resume': null}", NO_CHECKPOINT, NULL, "null", NULL },
	{ &fresh, "{'resume': 1, 'goto': [], 'update': []}", NO_CHECKPOINT, NULL, "1",
	    NULL },
	{ &fresh, "{'goto': 'model'}", NO_CHECKPOINT, "{'goto': 'model'}", NULL, NULL },
	{ &idle, "{'goto': ['model', 'model'], 'resume': null, 'graph': null}",
	    NO_CHECKPOINT, "{'goto': 'model'}", NULL, NULL },
	{ &idle, "{'update': {'n': 1}}", 2, "{'update': {'n': 1}}", NULL, NULL },
	{ &idle, "{'update': [['n', 1], ['m', null]], 'goto': null}", NO_CHECKPOINT,
	    "{'update': {'n': 1, 'm': null}}", NULL, NULL },
	{ &paused, "{'goto': 'tools', 'update': {'n': 1}, 'resume': 'y'}", 4,
	    "{'goto': 'tools', 'update': {'n': 1}, 'resume': 'y'}", NULL, NULL },
	{ &paused, "{'update': {'n': 1}}", NO_CHECKPOINT, "{'update': {'n': 1}}", NULL,
	    NULL },
	/* Elsewhere another node is next. */
	{ &paused, "{'goto': 'model'}", 2, "{'goto': 'model'}", NULL, NULL },
	{ &idle, "{'goto': '__end__'}", NO_CHECKPOINT, NULL, NULL, "{}" },
	{ &paused, "{'goto': ['__end__'], 'update': {'n': 1}}", NO_CHECKPOINT, NULL, NULL,
	    "{'n': 1}" },
};

START_TEST(a_command_is_read)
{
	const char *wrong = command_body_read(arena, literal(arena, taken[_i].command),
	    taken[_i].place, taken[_i].checkpoint, &body);

	ck_assert_msg(wrong == NULL, "%s", wrong);
	ck_assert((body.moves != NULL) == (taken[_i].moves != NULL));
	ck_assert((body.resume != NULL) == (taken[_i].resume != NULL));
	if (taken[_i].moves != NULL)
		ck_assert_value(arena, body.moves, taken[_i].moves);
	if (taken[_i].resume != NULL)
		ck_assert_value(arena, body.resume, taken[_i].resume);
	ck_assert((body.ends != NULL) == (taken[_i].ends != NULL));
	if (taken[_i].ends != NULL)
		ck_assert_value(arena, body.ends, taken[_i].ends);
}
END_TEST

static const struct {
	const struct run_place *place;
	const char *command;
	int64_t checkpoint;
	const char *wrong;
} refused[] = {
	{ &fresh, "{}", NO_CHECKPOINT, "must have resume, goto or update" },
	{ &fresh, "{'goto': [], 'update': {}}", NO_CHECKPOINT, "must have resume" },
	{ &fresh, "7", NO_CHECKPOINT, "must have resume" },
	{ &fresh, "[['goto', 'model']]", NO_CHECKPOINT, "must have resume" },
	{ &fresh, "{'goto': 7}", NO_CHECKPOINT, "must be the name of a node" },
	{ &fresh, "{'goto': ''}", NO_CHECKPOINT, "must be the name of a node" },
	{ &fresh, "{'goto': [['model']]}", NO_CHECKPOINT, "must be the name of a node" },
	{ &fresh, "{'goto': ['model', 'tools']}", NO_CHECKPOINT, "not several" },
	{ &fresh, "{'goto': {'node': 'model', 'input': {}}}", NO_CHECKPOINT, "Send" },
	{ &fresh, "{'goto': ['model', {'node': 'model'}]}", NO_CHECKPOINT, "Send" },
	{ &fresh, "{'goto': 'model', 'graph': '__parent__'}", NO_CHECKPOINT, "graph" },
	{ &fresh, "{'update': 'n'}", NO_CHECKPOINT, "update: must be a map" },
	{ &fresh, "{'update': [['n']]}", NO_CHECKPOINT, "update: must be a map" },
	{ &fresh, "{'update': [[1, 2]]}", NO_CHECKPOINT, "update: must be a map" },
	{ &fresh, "{'update': [['n', 1], ['n', 2]]}", NO_CHECKPOINT, "must be a map" },
	{ &paused, "{'goto': 'model'}", NO_CHECKPOINT, "in front of 'tools'" },
	{ &paused, "{'goto': 'model'}", 4, "in front of 'tools'" },
	{ &paused, "{'goto': 'model', 'resume': 1}", 4, "in front of 'tools'" },
	{ &paused, "{'update': {'n': 1}, 'resume': 1}", 2, "checkpoint: an answer" },
	{ &paused, "{'resume': 1}", 2, "checkpoint: an answer" },
	{ &paused, "{'goto': '__end__', 'resume': 1}", 4, "not to the end" },
};

START_TEST(what_cannot_be_done_is_refused)
{
	const char *wrong = command_body_read(arena, literal(arena, refused[_i].command),
	    refused[_i].place, refused[_i].checkpoint, &body);

	ck_assert_has(wrong != NULL ? wrong : "", refused[_i].wrong);
}
END_TEST

/* As an entry of the inbox. */
static const struct {
	const char *command, *wrong;
} entries[] = {
	{ "{'goto': 'model'}", NULL },
	{ "{'update': {'messages': [{'role': 'user', 'content': 'Hi'}]}}", NULL },
	{ "{'goto': 'model', 'update': {}, 'resume': null}", NULL },
	{ "{'resume': 1}", "with goto or update" },
	{ "{}", "with goto or update" },
	{ "[]", "with goto or update" },
	{ "{'goto': 'model', 'x': 1}", "with goto or update" },
	{ "{'goto': ['model']}", "goto must be the name" },
	{ "{'goto': null}", "goto must be the name" },
	{ "{'update': []}", "update must be a JSON object" },
	{ "{", "not valid JSON" },
};

START_TEST(an_entry_is_checked)
{
	struct submission submission;
	char *text = arena_strdup(arena, entries[_i].command), *at;

	for (at = text; *at != '\0'; at++)
		*at = *at == '\'' ? '"' : *at;
	submission_read(arena, "1-0",
	    value_map(arena, "agent", value_str(arena, "a"), "command",
		value_bin(arena, text, strlen(text)), NULL),
	    &submission);
	if (entries[_i].wrong == NULL) {
		ck_assert_msg(submission.error == NULL, "%s", submission.error);
		ck_assert(value_is(value_get(submission.options, "command"), VALUE_MAP));
	} else {
		ck_assert_has(submission.error, entries[_i].wrong);
	}
}
END_TEST

START_TEST(beside_another_task_it_is_refused)
{
	struct submission submission;

	submission_read(arena, "1-0",
	    value_map(arena, "agent", value_str(arena, "a"), "input",
		value_str(arena, "[]"), "command", value_str(arena, "{\"goto\":\"x\"}"),
		NULL),
	    &submission);
	ck_assert_has(submission.error, "input and command: a run has one of them");
}
END_TEST

TCase *
tcase_command_body(void)
{
	TCase *tcase = tcase_create("command_body");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_command_is_read, 0, sizeof taken / sizeof *taken);
	tcase_add_loop_test(
	    tcase, what_cannot_be_done_is_refused, 0, sizeof refused / sizeof *refused);
	tcase_add_loop_test(
	    tcase, an_entry_is_checked, 0, sizeof entries / sizeof *entries);
	tcase_add_test(tcase, beside_another_task_it_is_refused);
	return tcase;
}
