#include "hold_bench.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fleet_client.h"
#include "json.h"

#define WAIT_MS 60000u

static const char tools[] = "name: hold\n"
			    "description: waits\n"
			    "parameters: {type: object}\n"
			    "input: none\n"
			    "command: |\n"
			    "  echo run >> %s\n"
			    "  await-file gone %s\n"
			    "  echo held\n";

struct hold_bench hold;

void
hold_begin(const char *agents)
{
	struct fleet_kit *kit = kit_new();

	hold = (struct hold_bench){ .arena = arena_new(),
		.kit = kit,
		.flotilla = { .program = kit_program(kit, "flotilla") },
		.ledger = kit_path(kit, "ledger"),
		.held = kit_path(kit, "held") };
	hold.flotilla.arena = hold.arena;
	kit_write(kit, "ledger", "");
	kit_flag(kit, KIT_TOOLS, "--tools",
	    kit_write(kit, "tools.yaml",
		arena_printf(hold.arena, tools, hold.ledger, hold.held)));
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agents.yaml", agents), NULL);
}

void
hold_end(void)
{
	kit_destroy(&hold.kit);
	arena_destroy(&hold.arena);
}

unsigned
hold_runs(void)
{
	FILE *file = fopen(hold.ledger, "re");
	char line[16];
	unsigned count = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		count++;
	if (file != NULL)
		fclose(file);
	return count;
}

static bool
tool_runs(void *arg)
{
	(void)arg;
	return hold_runs() > 0;
}

static void
await_tool(struct fleet_client *client, void *arg)
{
	ck_assert(client_wait(client, tool_runs, arg, WAIT_MS));
}

void
hold_take_over(const char *agent)
{
	struct said said;

	kit_write(hold.kit, "held", "");
	said = HOLD_FLOTILLA("submit", agent, "Go.", "-t", "t", "--run-id", "r1");
	ck_assert_msg(said.status == 0, "%s", said.err);
	client_run(kit_redis(hold.kit), await_tool, NULL);
	kit_kill(hold.kit, KIT_COORDINATOR, 0);
	kit_start(hold.kit, KIT_COORDINATOR, 0);
	ck_assert_int_eq(unlink(hold.held), 0);
	said = HOLD_FLOTILLA("watch", "r1");
	ck_assert_msg(said.status == 0, "%s%s", said.out, said.err);
}

const struct value *
hold_messages(const char *thread)
{
	struct said said = HOLD_FLOTILLA("state", thread, "--json");
	const char *error;

	ck_assert_msg(said.status == 0, "%s", said.err);
	return value_get(
	    json_parse(hold.arena, said.out, strlen(said.out), &error), "messages");
}

const char *
hold_types(const char *thread)
{
	const struct value *messages = hold_messages(thread);
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(hold.arena, "%s%s%s", text, i == 0 ? "" : " ",
		    value_get_text(value_at(messages, i), "type"));
	return text;
}
