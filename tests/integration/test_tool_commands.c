/* Commands that tools give: where the run goes on, and what becomes of the state. */
#include <check.h>
#include <string.h>

#include "ask_bench.h"
#include "chat.h"

TCase *tcase_tool_commands(void);

static const struct command_case {
	const char *calls; /* of tool `command`, as YAML */
	const char *status, *says, *note;
	unsigned replies; /* of the model */
} commands[] = {
	{ "[{id: a, name: command, args: {note: x, goto: end}}]", "success", NULL, "x",
	    1 },
	{ "[{id: a, name: command, args: {note: x, goto: [__end__]}}]", "success", NULL,
	    "x", 1 },
	{ "[{id: a, name: command, args: {note: x, goto: model}},"
	  " {id: b, name: command, args: {goto: [model, model]}},"
	  " {id: c, name: command, args: {}}]",
	    "success", NULL, "x", 2 },
	{ "[{id: a, name: command, args: {goto: model}},"
	  " {id: b, name: confirm, args: {question: q}}]",
	    "interrupted", NULL, NULL, 1 },
	{ "[{id: a, name: command, args: {goto: model}},"
	  " {id: b, name: command, args: {goto: end}}]",
	    "error", "tool command goes to 'model' and tool command to '", NULL, 1 },
	{ "[{id: a, name: command, args: {goto: [model, tools]}}]", "error",
	    "to 'tools' in one step", NULL, 1 },
	{ "[{id: a, name: command, args: {goto: moon}}]", "error",
	    "'moon', which is no node", NULL, 1 },
	{ "[{id: a, name: command, args: {goto: {node: tools}}}]", "error", "a Send",
	    NULL, 1 },
	{ "[{id: a, name: command, args: {note: x}},"
	  " {id: b, name: command, args: {note: y}}]",
	    "error", "note", NULL, 1 },
	/* The model is told. */
	{ "[{id: a, name: command, args: {note: x, mute: true}}]", "success",
	    "without a tool message that answers", NULL, 2 },
};
#define COMMANDS (sizeof commands / sizeof *commands)

/* Of the agent, its run and its thread. */
static const char *
name_of(struct scene *scene, size_t i)
{
	return arena_printf(scene->arena, "c%zu", i);
}

static const char *
command_agents(struct arena *arena)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		text = arena_printf(arena,
		    "%s---\nname: c%zu\nmodel: scripted:m\nmiddleware: [asks_human]\n"
		    "script:\n  m:\n    - tool_calls: %s\n    - content: Back.\n",
		    text, i, commands[i].calls);
	return text;
}

static unsigned
replies_of(struct scene *scene, const char *thread)
{
	const struct value *messages = value_get(ask_state_of(scene, thread), "messages");
	unsigned count = 0;
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		count += chat_is(value_at(messages, i), "ai");
	return count;
}

static void
check_command(struct scene *scene, size_t i)
{
	const struct command_case *one = &commands[i];
	const char *name = name_of(scene, i);
	const struct value *record = ask_wait_end(scene, name, name);
	const char *said = value_get_text(value_get(record, "fault"), "message");

	ask_check_status(scene, record, one->status);
	if (said == NULL)
		said = ask_tool_answers_of(scene, name);
	ck_assert_msg(one->says == NULL || strstr(said, one->says) != NULL,
	    "case %zu: no '%s' in '%s'", i, one->says, said);
	ck_assert_msg(replies_of(scene, name) == one->replies, "case %zu: %u replies", i,
	    replies_of(scene, name));
	if (one->note != NULL)
		ck_assert_str_eq(
		    value_get_text(value_get(record, "output"), "note"), one->note);
}

static void
play_commands(struct scene *scene)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		ask_submit(scene, name_of(scene, i), name_of(scene, i), name_of(scene, i),
		    "input", "\"hi\"");
	for (i = 0; i < COMMANDS; i++)
		check_command(scene, i);
}

START_TEST(tools_say_where_the_run_goes_on)
{
	struct arena *arena = arena_new();

	ask_act_with(play_commands, command_agents(arena));
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_tool_commands(void)
{
	TCase *tcase = tcase_create("tool_commands");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, tools_say_where_the_run_goes_on);
	return tcase;
}
