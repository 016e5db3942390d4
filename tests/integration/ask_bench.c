#include "ask_bench.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"
#include "fault.h"
#include "json.h"
#include "redis.h"

#define WAIT_MS 60000u

const char *const ask_places[ASK_PLACES] = { "before_agent", "before_model",
	"after_model", "after_agent", "modify_model_request", "wrap_model_call",
	"wrap_tool_call" };

/* Of each place: asks there twice, with a retry around everything. */
static const char asking[] =
    "name: %s\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - tool_retry: {max_retries: 5, retry_on: [Exception], initial_delay: 0}\n"
    "  - model_retry: {max_retries: 5, retry_on: [Exception], initial_delay: 0}\n"
    "  - asks_human: {at: %s, questions: [{n: 1}, 'two?']}\n"
    "tools: [note]\n"
    "script:\n"
    "  m:\n"
    "%s"
    "    - content: All is done.\n"
    "---\n";

static const char one_note[] =
    "    - tool_calls: [{id: a, name: note, args: {text: '%s'}}]\n";

/* Three calls at once: a program and a function that ask, and one that is done. */
static const char parallel[] =
    "name: parallel\n"
    "model: scripted:m\n"
    "middleware:\n"
    "  - tool_retry: {max_retries: 5, retry_on: [Exception], initial_delay: 0}\n"
    "  - asks_human\n"
    "tools: [note, pay]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls:\n"
    "        - {id: a, name: pay, args: {amount: 3}}\n"
    "        - {id: b, name: note, args: {text: kept}}\n"
    "        - {id: c, name: confirm, args: {question: {really: [1, 2]}}}\n"
    "    - content: All is done.\n"
    "---\n"
    "name: stops\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "interrupt_before: [tools]\n"
    "interrupt_after: [tools]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: note, args: {text: stops}}]\n"
    "    - content: All is done.\n";

static const char tools[] =
    "name: note\n"
    "description: notes a text\n"
    "parameters: {properties: {text: {type: string}}, required: [text]}\n"
    "idempotent: false\n"
    "input: none\n"
    "command: |\n"
    "  echo \"$ARG_TEXT $FLOTILLA_IDEMPOTENCY_KEY\" >> %s\n"
    "  echo noted\n"
    "---\n"
    "name: pay\n"
    "description: pays when a human says so\n"
    "parameters: {properties: {amount: {type: integer}}, required: [amount]}\n"
    "interrupts: true\n"
    "idempotent: false\n"
    "input: none\n"
    "command: |\n"
    "  echo \"pay $FLOTILLA_IDEMPOTENCY_KEY\" >> %s\n"
    "  await-file gone %s\n"
    "  [ -n \"$FLOTILLA_ANSWER\" ] || { echo \"{\\\"pay\\\": $ARG_AMOUNT}\"; exit 75; }\n"
    "  echo \"paid: $FLOTILLA_ANSWERS\"\n"
    "---\n"
    "name: break\n"
    "description: breaks, if something is broken\n"
    "parameters: {properties: {}}\n"
    "input: none\n"
    "command: |\n"
    "  echo \"break $FLOTILLA_IDEMPOTENCY_KEY\" >> %s\n"
    "  await-file gone %s\n"
    "  [ ! -e %s ] || { echo it is broken >&2; exit 1; }\n"
    "  echo mended\n"
    "---\n"
    "name: linger\n"
    "description: takes its time\n"
    "parameters: {properties: {}}\n"
    "input: none\n"
    "command: |\n"
    "  echo linger >> %s\n"
    "  await-file gone %s\n"
    "  echo lingered\n";

/* --- a fleet ------------------------------------------------------------------------ */

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static const char *
all_agents(struct arena *arena)
{
	const char *text = "", *calls;
	size_t i;

	for (i = 0; i < ASK_PLACES; i++) {
		calls = strcmp(ask_places[i], "wrap_tool_call") == 0
			    ? arena_printf(arena, one_note, ask_places[i])
			    : "";
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, asking, ask_places[i], ask_places[i], calls));
	}
	return arena_printf(arena, "%s%s", text, parallel);
}

void
ask_act_tools(
    void (*play)(struct scene *scene), const char *agents, const char *more_tools)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };
	const char *plugin = kit_built(scene.kit, "plugins/asks_human.so");
	const char *example = kit_built(scene.kit, "plugins/ask_first.so");
	const char *children = kit_built(scene.kit, "plugins/asks_children.so");
	static const enum kit_kind users[] = { KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR };
	size_t i;

	scene.ledger = kit_path(scene.kit, "ledger");
	scene.hold = kit_path(scene.kit, "hold");
	scene.wait = kit_path(scene.kit, "wait");
	scene.broken = kit_path(scene.kit, "broken");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    more_tools != NULL
		? more_tools
		: kit_write(scene.kit, "tools.yaml",
		      arena_printf(scene.arena, tools, scene.ledger, scene.ledger,
			  scene.hold, scene.ledger, scene.wait, scene.broken,
			  scene.ledger, scene.hold)));
	for (i = 0; i < sizeof users / sizeof *users; i++) {
		kit_flag(scene.kit, users[i], "--plugin", plugin);
		kit_flag(scene.kit, users[i], "--plugin", example);
		kit_flag(scene.kit, users[i], "--plugin", children);
	}
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply", "--plugin", plugin, "--plugin",
	    example, "--plugin", children,
	    kit_write(scene.kit, "agents.yaml",
		agents != NULL ? agents : all_agents(scene.arena)),
	    NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

void
ask_act_with(void (*play)(struct scene *scene), const char *agents)
{
	ask_act_tools(play, agents, NULL);
}

void
ask_act(void (*play)(struct scene *scene))
{
	ask_act_with(play, NULL);
}

void
ask_restart_everything(struct scene *scene)
{
	static const enum kit_kind order[] = { KIT_COORDINATOR, KIT_MODEL, KIT_TOOLS,
		KIT_BROKER, KIT_REDIS };
	size_t i, count = sizeof order / sizeof *order;

	for (i = 0; i < count; i++)
		kit_kill(scene->kit, order[i], 0);
	for (i = count; i > 0; i--)
		kit_start(scene->kit, order[i - 1], 0);
}

/* --- runs --------------------------------------------------------------------------- */

struct cli
ask_command_line(struct scene *scene)
{
	return (struct cli){ .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
}

void
ask_with_fleet(struct scene *scene, const char *const *words, const char **argv)
{
	size_t count = 0;

	for (; words[count] != NULL; count++) {
		ck_assert_uint_lt(count, ASK_WORDS_MAX);
		argv[count] = words[count];
	}
	argv[count++] = "--redis";
	argv[count++] = kit_redis(scene->kit);
	argv[count] = NULL;
}

struct said
ask_flotilla(struct scene *scene, const char *const *words)
{
	const struct cli cli = ask_command_line(scene);
	const char *argv[ASK_WORDS_MAX + 3];

	ask_with_fleet(scene, words, argv);
	return cli_run(&cli, NULL, argv);
}

void
ask_submit(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), what,
		value_str(arena, text), NULL));
}

const struct value *
ask_wait_end(struct scene *scene, const char *run, const char *thread)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	return record;
}

const struct value *
ask_run(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	ask_submit(scene, agent, run, thread, what, text);
	return ask_wait_end(scene, run, thread);
}

void
ask_check_status(struct scene *scene, const struct value *record, const char *status)
{
	ck_assert_msg(value_text_is(value_get(record, "status"), status), "not %s: %s",
	    status, json_text(scene->arena, record));
}

void
ask_check_end(struct scene *scene, const char *run, const char *status)
{
	ask_check_status(scene, ask_wait_end(scene, run, "t"), status);
}

void
ask_put_back(struct scene *scene, const char *run)
{
	const char *answer, *status;

	ck_assert_int_eq(store_cancel_back(scene->client->store, scene->arena, "t", run,
			     &answer, &status),
	    STORE_OK);
	ask_check_end(scene, run, "cancelled");
}

void
ask_go_on(struct scene *scene, const char *agent, const char *run, const char *status)
{
	ask_submit(scene, agent, run, "t", "resume", "null");
	ask_check_end(scene, run, status);
}

void
ask_check_refused(struct scene *scene, const char *agent, const char *run,
    const char *thread, const char *answer, const char *says)
{
	const struct value *record = ask_run(scene, agent, run, thread, "resume", answer);
	const char *error = value_get_text(value_get(record, "fault"), "message");

	ask_check_status(scene, record, "error");
	ck_assert_msg(strstr(error, says) != NULL, "no '%s' in '%s'", says, error);
}

const struct value *
ask_state_of(struct scene *scene, const char *thread)
{
	const struct value *state = NULL;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, thread, &state), STORE_OK);
	return state;
}

const struct value *
ask_interrupt_of(const struct value *record, size_t index)
{
	return value_at(value_get(record, "interrupts"), index);
}

const char *
ask_id_of(const struct value *record, size_t index)
{
	return value_get_text(ask_interrupt_of(record, index), "id");
}

const char *
ask_tool_answers_of(struct scene *scene, const char *thread)
{
	const struct value *messages = value_get(ask_state_of(scene, thread), "messages");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool"))
			text = arena_printf(scene->arena, "%s%s=%s;", text,
			    value_get_text(value_at(messages, i), "tool_call_id"),
			    chat_text(scene->arena, value_at(messages, i)));
	return text;
}

struct lines
ask_lines_of(const struct scene *scene, const char *what)
{
	struct lines lines = { 0, true };
	FILE *file = fopen(scene->ledger, "re");
	char line[256], first[256] = "";

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, what, strlen(what)) != 0)
			continue;
		if (lines.count++ == 0)
			snprintf(first, sizeof first, "%s", line);
		lines.same_key = lines.same_key && strcmp(line, first) == 0;
	}
	if (file != NULL)
		fclose(file);
	return lines;
}

void
ask_check_lines(struct scene *scene, const char *what, size_t count)
{
	struct lines lines = ask_lines_of(scene, what);

	ck_assert_msg(lines.count == count && lines.same_key, "%zu of '%s'%s",
	    lines.count, what, lines.same_key ? "" : ", with other keys");
}

pid_t
ask_pid_of(const struct scene *scene, const char *what)
{
	FILE *file = fopen(scene->ledger, "re");
	char line[256];
	size_t size = strlen(what);
	long pid = 0;

	ck_assert_ptr_nonnull(file);
	while (pid == 0 && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, what, size) == 0)
			pid = strtol(line + size, NULL, 10);
	fclose(file);
	ck_assert_int_gt(pid, 0);
	return (pid_t)pid;
}

struct awaited {
	const struct scene *scene;
	const char *what;
	size_t count;
};

static bool
are_written(void *arg)
{
	const struct awaited *awaited = arg;

	return ask_lines_of(awaited->scene, awaited->what).count >= awaited->count;
}

void
ask_wait_lines(struct scene *scene, const char *what, size_t count)
{
	struct awaited awaited = { scene, what, count };

	ck_assert_msg(client_wait(scene->client, are_written, &awaited, WAIT_MS),
	    "no %zu of %s", count, what);
}

void
ask_put(const char *path)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fclose(file);
}

void
ask_store_failure(struct scene *scene, const char *run, const char *call)
{
	struct arena *arena = scene->arena;
	const char *key =
	    arena_printf(arena, "%sr:%s:w", store_prefix(arena, store_shard("t")), run);
	struct packet packet = { 0 };
	const struct value *reply;

	value_pack(&packet,
	    value_map(arena, "fault",
		fault_to_value(arena, fault_new(arena, "ValueError", "it is broken")),
		NULL));
	ck_assert_int_eq(
	    redis_call(scene->client->redis, arena, WAIT_MS,
		(const struct redis_arg[]){ { "HSET", 4 }, { key, strlen(key) },
		    { call, strlen(call) }, { packet.data, packet.size } },
		4, &reply),
	    REDIS_OK);
	packet_release(&packet);
}

const struct value *
ask_redis(struct scene *scene, const char *verb, const char *rest)
{
	struct arena *arena = scene->arena;
	const struct value *reply = NULL;

	ck_assert_int_eq(
	    redis_text(scene->client->redis, arena, WAIT_MS, &reply, verb,
		arena_printf(arena, "%s%s", store_prefix(arena, store_shard("t")), rest),
		NULL),
	    REDIS_OK);
	return reply;
}

void
ask_begin(struct scene *scene, const char *agent)
{
	ask_put(scene->hold);
	ask_put(scene->wait);
	ask_put(scene->broken);
	ask_submit(scene, agent, "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "break", 1);
}
