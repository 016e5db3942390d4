/* Hooks, wraps and tools that ask a human, on a fleet of real processes: a pause is answered in
 * part and whole, by value and by id, each half with every process of the fleet killed in
 * between. And the commands of tools. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "literal.h"

TCase *tcase_interrupts(void);

#define WAIT_MS 60000u

static const char *const places[] = { "before_agent", "before_model", "after_model",
	"after_agent", "modify_model_request", "wrap_model_call", "wrap_tool_call" };
#define PLACES (sizeof places / sizeof *places)

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
    "  while [ -e %s ]; do sleep 0.01; done\n"
    "  [ -n \"$FLOTILLA_ANSWER\" ] || { echo \"{\\\"pay\\\": $ARG_AMOUNT}\"; exit 75; }\n"
    "  echo \"paid: $FLOTILLA_ANSWERS\"\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger, *hold;
	void (*play)(struct scene *scene);
};

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

	for (i = 0; i < PLACES; i++) {
		calls = strcmp(places[i], "wrap_tool_call") == 0
			    ? arena_printf(arena, one_note, places[i])
			    : "";
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, asking, places[i], places[i], calls));
	}
	return arena_printf(arena, "%s%s", text, parallel);
}

/* agents: NULL: all_agents. more_tools: a tool file, or NULL. */
static void
act_tools(void (*play)(struct scene *scene), const char *agents, const char *more_tools)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };
	const char *plugin = kit_built(scene.kit, "plugins/asks_human.so");
	const char *example = kit_built(scene.kit, "plugins/ask_first.so");
	static const enum kit_kind users[] = { KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR };
	size_t i;

	scene.ledger = kit_path(scene.kit, "ledger");
	scene.hold = kit_path(scene.kit, "hold");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    more_tools != NULL ? more_tools
			       : kit_write(scene.kit, "tools.yaml",
				     arena_printf(scene.arena, tools, scene.ledger,
					 scene.ledger, scene.hold)));
	for (i = 0; i < sizeof users / sizeof *users; i++) {
		kit_flag(scene.kit, users[i], "--plugin", plugin);
		kit_flag(scene.kit, users[i], "--plugin", example);
	}
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply", "--plugin", plugin, "--plugin",
	    example,
	    kit_write(scene.kit, "agents.yaml",
		agents != NULL ? agents : all_agents(scene.arena)),
	    NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

static void
act_with(void (*play)(struct scene *scene), const char *agents)
{
	act_tools(play, agents, NULL);
}

static void
act(void (*play)(struct scene *scene))
{
	act_with(play, NULL);
}

static void
restart_everything(struct scene *scene)
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

static void
submit(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, thread), what,
		value_str(arena, text), NULL));
}

static const struct value *
wait_end(struct scene *scene, const char *run, const char *thread)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	return record;
}

static const struct value *
play_run(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *what, const char *text)
{
	submit(scene, agent, run, thread, what, text);
	return wait_end(scene, run, thread);
}

static void
check_status(struct scene *scene, const struct value *record, const char *status)
{
	ck_assert_msg(value_text_is(value_get(record, "status"), status), "not %s: %s",
	    status, json_text(scene->arena, record));
}

/* A resume that is refused, and leaves the pause as it is. */
static void
check_refused(struct scene *scene, const char *agent, const char *run, const char *thread,
    const char *answer, const char *says)
{
	const struct value *record =
	    play_run(scene, agent, run, thread, "resume", answer);
	const char *error = value_get_text(value_get(record, "fault"), "message");

	check_status(scene, record, "error");
	ck_assert_msg(strstr(error, says) != NULL, "no '%s' in '%s'", says, error);
}

static const struct value *
state_of(struct scene *scene, const char *thread)
{
	const struct value *state = NULL;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, thread, &state), STORE_OK);
	return state;
}

static const struct value *
interrupt_of(const struct value *record, size_t index)
{
	return value_at(value_get(record, "interrupts"), index);
}

static const char *
id_of(const struct value *record, size_t index)
{
	return value_get_text(interrupt_of(record, index), "id");
}

/* What the thread's tool messages say, in their order. */
static const char *
tool_answers_of(struct scene *scene, const char *thread)
{
	const struct value *messages = value_get(state_of(scene, thread), "messages");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		if (chat_is(value_at(messages, i), "tool"))
			text = arena_printf(scene->arena, "%s%s=%s;", text,
			    value_get_text(value_at(messages, i), "tool_call_id"),
			    chat_text(scene->arena, value_at(messages, i)));
	return text;
}

struct lines {
	size_t count;
	bool same_key;
};

/* The ledger's lines that begin with what. */
static struct lines
lines_of(const struct scene *scene, const char *what)
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

/* --- hooks and wraps ------------------------------------------------------------------ */

static const char *
run_name(struct scene *scene, const char *prefix, size_t i)
{
	return arena_printf(scene->arena, "%s%zu", prefix, i);
}

static const struct value *
wait_asked(struct scene *scene, const char *run, size_t i, const char *question)
{
	const struct value *record = wait_end(scene, run, places[i]);

	check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
	ck_assert_value(
	    scene->arena, value_get(interrupt_of(record, 0), "value"), question);
	return record;
}

static void
play_everywhere(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const char *first[PLACES];
	const struct value *record;
	size_t i;

	for (i = 0; i < PLACES; i++)
		submit(scene, places[i], run_name(scene, "a", i), places[i], "input",
		    "\"hi\"");
	for (i = 0; i < PLACES; i++) {
		record = wait_asked(scene, run_name(scene, "a", i), i, "{'n': 1}");
		first[i] = id_of(record, 0);
	}
	restart_everything(scene);
	for (i = 0; i < PLACES; i++)
		submit(scene, places[i], run_name(scene, "b", i), places[i], "resume",
		    arena_printf(arena, "{\"%s\": [\"x\"]}", first[i]));
	for (i = 0; i < PLACES; i++) {
		record = wait_asked(scene, run_name(scene, "b", i), i, "'two?'");
		ck_assert_str_ne(id_of(record, 0), first[i]);
	}
	restart_everything(scene);
	for (i = 0; i < PLACES; i++)
		submit(scene, places[i], run_name(scene, "c", i), places[i], "resume",
		    "{\"y\": 1}");
	for (i = 0; i < PLACES; i++) {
		record = wait_end(scene, run_name(scene, "c", i), places[i]);
		check_status(scene, record, "success");
		/* modify_model_request changes no state. */
		ck_assert_value(arena, value_get(value_get(record, "output"), "answers"),
		    strcmp(places[i], "modify_model_request") == 0 ? "[]"
								   : "[['x'], {'y': 1}]");
	}
	ck_assert_uint_eq(lines_of(scene, "wrap_tool_call").count, 1);
}

START_TEST(every_hook_asks_and_goes_on_behind_restarts_of_everything)
{
	act(play_everywhere);
}
END_TEST

static void
play_refused(struct scene *scene)
{
	const char *agent = "before_model", *t = agent, *id;
	const struct value *record = play_run(scene, agent, "r1", t, "input", "\"hi\"");

	check_status(scene, record, "interrupted");
	id = id_of(record, 0);
	check_refused(scene, agent, "r2", t, "null", "null is none");
	check_refused(scene, agent, "r3", t, "{\"r1.9.hook:1\": 1}", id);
	check_refused(scene, agent, "r4", t,
	    arena_printf(scene->arena, "{\"%s\": 1, \"other\": 2}", id), "'other'");
	check_refused(scene, "stops", "r5", t, "1", "before_model");
	/* A hook that refuses the answer leaves the question. */
	check_refused(scene, agent, "r6", t, "\"refuse\"", "it was refused");
	record = play_run(scene, agent, "r7", t, "resume", "1");
	check_status(scene, record, "interrupted");
	check_refused(scene, agent, "r8", t,
	    arena_printf(scene->arena, "{\"%s\": 1}", id), id_of(record, 0));
	record = play_run(scene, agent, "r9", t, "resume", "2");
	check_status(scene, record, "success");
	ck_assert_value(
	    scene->arena, value_get(value_get(record, "output"), "answers"), "[1, 2]");
	check_refused(scene, agent, "r10", t, "3", "waits for nothing");
}

START_TEST(what_answers_nothing_leaves_the_thread_as_it_was)
{
	act(play_refused);
}
END_TEST

static void
play_stops(struct scene *scene)
{
	const struct value *record =
	    play_run(scene, "stops", "r1", "t", "input", "\"hi\"");

	check_status(scene, record, "interrupted");
	restart_everything(scene);
	check_refused(scene, "stops", "r2", "t", "\"yes\"", "asks nothing");
	record = play_run(scene, "stops", "r3", "t", "resume", "null");
	check_status(scene, record, "interrupted");
	ck_assert_uint_eq(lines_of(scene, "stops").count, 1);
	restart_everything(scene);
	check_refused(scene, "stops", "r4", "t", "{}", "asks nothing");
	record = play_run(scene, "stops", "r5", "t", "resume", "null");
	check_status(scene, record, "success");
	ck_assert_uint_eq(lines_of(scene, "stops").count, 1);
}

START_TEST(a_pause_before_or_behind_a_node_asks_nothing)
{
	act(play_stops);
}
END_TEST

/* --- several at once ------------------------------------------------------------------ */

static void
play_parallel(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *record =
	    play_run(scene, "parallel", "r1", "t", "input", "\"hi\"");
	const char *pay, *confirm;

	check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 2);
	ck_assert_value(arena, value_get(interrupt_of(record, 0), "value"), "{'pay': 3}");
	ck_assert_value(
	    arena, value_get(interrupt_of(record, 1), "value"), "{'really': [1, 2]}");
	ck_assert_str_eq(value_get_text(interrupt_of(record, 1), "tool_call_id"), "c");
	pay = id_of(record, 0);
	confirm = id_of(record, 1);
	restart_everything(scene);
	check_refused(scene, "parallel", "r2", "t", "\"yes\"", "2 interrupts wait");
	record = play_run(scene, "parallel", "r3", "t", "resume",
	    arena_printf(arena, "{\"%s\": \"yes\"}", pay));
	check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
	ck_assert_str_eq(id_of(record, 0), confirm);
	/* With a wrap around it a program is asked again for what it was answered. */
	ck_assert_uint_eq(lines_of(scene, "pay").count, 3);
	ck_assert_str_eq(tool_answers_of(scene, "t"), "");
	restart_everything(scene);
	check_refused(scene, "parallel", "r4", "t",
	    arena_printf(arena, "{\"%s\": \"yes\"}", pay), confirm);
	record = play_run(scene, "parallel", "r5", "t", "resume", "\"it is so\"");
	check_status(scene, record, "success");
	ck_assert_str_eq(
	    tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=it is so;");
	/* What had ended is not run again, what runs again has the same key. */
	ck_assert_uint_eq(lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(lines_of(scene, "pay").count, 3);
	ck_assert(lines_of(scene, "pay").same_key);
}

START_TEST(answers_in_part_go_on_with_that_part)
{
	act(play_parallel);
}
END_TEST

struct paying {
	struct scene *scene;
	size_t lines;
};

static bool
has_paid(void *arg)
{
	const struct paying *paying = arg;

	return lines_of(paying->scene, "pay").count >= paying->lines;
}

/* The coordinator dies while the call that was answered runs. */
static void
play_takeover(struct scene *scene)
{
	struct paying paying = { scene, 2 };
	const struct value *record =
	    play_run(scene, "parallel", "r1", "t", "input", "\"hi\"");

	check_status(scene, record, "interrupted");
	kit_write(scene->kit, "hold", "");
	submit(scene, "parallel", "r2", "t", "resume",
	    arena_printf(scene->arena, "{\"%s\": \"yes\", \"%s\": \"so\"}",
		id_of(record, 0), id_of(record, 1)));
	ck_assert(client_wait(scene->client, has_paid, &paying, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	remove(scene->hold);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	check_status(scene, wait_end(scene, "r2", "t"), "success");
	ck_assert_str_eq(tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=so;");
	ck_assert_uint_eq(lines_of(scene, "kept").count, 1);
	ck_assert_uint_eq(lines_of(scene, "pay").count, 3);
	ck_assert(lines_of(scene, "pay").same_key);
}

START_TEST(who_takes_a_resumed_run_over_knows_the_answers)
{
	act(play_takeover);
}
END_TEST

/* New input begins a run of its own, and the open calls are answered for the model. */
static void
play_left(struct scene *scene)
{
	const struct value *record =
	    play_run(scene, "parallel", "r1", "t", "input", "\"hi\"");

	check_status(scene, record, "interrupted");
	record = play_run(scene, "parallel", "r2", "t", "input", "\"never mind\"");
	check_status(scene, record, "success");
	ck_assert_ptr_nonnull(strstr(tool_answers_of(scene, "t"), "a="));
	check_refused(scene, "parallel", "r3", "t", "1", "waits for nothing");
}

START_TEST(new_input_leaves_the_question_behind)
{
	act(play_left);
}
END_TEST

/* --- the command line ----------------------------------------------------------------- */

#define WORDS_MAX 6

static const struct {
	int status;
	const char *says;
	const char *words[WORDS_MAX]; /* behind "resume t" */
} resumes[] = {
	{ 2, "an answer is wanted", { NULL } },
	{ 2, "r1.2.2:1 asks: {\"really\":[1,2]}", { "--answer", "r1=x" } },
	{ 2, "exclude each other", { "yes", "--file", "-" } },
	{ 2, "exclude each other", { "--answer", "r1.2.2:1=x", "--file", "-" } },
	{ 2, "No such file", { "--file", "/nowhere" } },
	{ 2, "no JSON", { "--file", "/dev/null" } },
	{ 2, "begins like JSON and is none", { "{\"r1.2.2:1\": " } },
	{ 2, "begins like JSON and is none", { "--answer", "r1.2.2:1=[so" } },
	{ 2, "is answered twice",
	    { "--answer", "r1.2.2:1=so", "--answer", "r1.2.2:1=no" } },
	{ 1, "2 interrupts wait", { "yes", "--wait" } },
	{ 5, "r1.2.0:1 asks", { "--answer", "r1.2.2:1=so", "--wait" } },
	{ 2, "ID=ANSWER", { "--answer", "r1.2.2:1=so" } },
	{ 0, "All is done.", { "--file", "-", "--wait" } }, /* "yes", by id */
	{ 1, "waits for nothing", { "yes" } },
};

static void
play_resumes(struct scene *scene)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	size_t i, j, n;

	check_status(scene, play_run(scene, "parallel", "r1", "t", "input", "\"hi\""),
	    "interrupted");
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(scene->kit, "runs", NULL), "r1.2.2:1 asks: {\"really\":[1,2]}"));
	for (i = 0; i < sizeof resumes / sizeof *resumes; i++) {
		const char *argv[WORDS_MAX + 7] = { "resume", "--redis",
			kit_redis(scene->kit), "--broker", kit_broker(scene->kit), "t" };
		struct said said;

		for (j = 0, n = 6; resumes[i].words[j] != NULL; j++)
			argv[n++] = resumes[i].words[j];
		said = cli_run(&cli, "{\"r1.2.0:1\": \"yes\"}", argv);
		ck_assert_msg(said.status == resumes[i].status &&
				  (strstr(said.err, resumes[i].says) != NULL ||
				      strstr(said.out, resumes[i].says) != NULL),
		    "case %zu: %d %s%s", i, said.status, said.out, said.err);
	}
	ck_assert_str_eq(tool_answers_of(scene, "t"), "a=paid: [\"yes\"];b=noted;c=so;");
	/* It waits no more. */
	ck_assert_ptr_null(strstr(
	    kit_flotilla(scene->kit, "runs", "--state", "interrupted", NULL), "asks"));
}

START_TEST(the_command_line_answers_by_id_and_from_a_file)
{
	act(play_resumes);
}
END_TEST

/* --- docs/interrupts.md --------------------------------------------------------------- */

/* Runs each "$ command" of the page's console blocks: it must say what the page says. */
static void
check_console(struct scene *scene, const char *line)
{
	while (strncmp(line, "```", 3) != 0) {
		const char *end = strchr(line, '\n'), *from;
		char said[8192];
		FILE *shell;

		ck_assert_msg(strncmp(line, "$ ", 2) == 0, "no command: %.60s", line);
		from = end + 1;
		shell = popen(
		    arena_printf(scene->arena, "PATH=%s:$PATH; { %.*s; } 2>&1",
			kit_program(scene->kit, ""), (int)(end - line - 2), line + 2),
		    "r");
		ck_assert_ptr_nonnull(shell);
		said[fread(said, 1, sizeof said - 1, shell)] = '\0';
		pclose(shell);
		ck_assert_msg(strncmp(from, said, strlen(said)) == 0,
		    "'%.*s' says\n%snot\n%.400s", (int)(end - line), line, said, from);
		line = from + strlen(said);
	}
}

static void
play_page(struct scene *scene)
{
	char *page = arena_alloc(scene->arena, 32768);
	FILE *file = fopen("docs/interrupts.md", "re");
	const char *at = page, *begin = "\n```console\n";
	unsigned blocks = 0;

	ck_assert_ptr_nonnull(file);
	page[fread(page, 1, 32767, file)] = '\0';
	fclose(file);
	setenv("FLOTILLA_REDIS", kit_redis(scene->kit), 1);
	setenv("FLOTILLA_BROKER", kit_broker(scene->kit), 1);
	for (; (at = strstr(at, begin)) != NULL; blocks++) {
		at += strlen(begin);
		check_console(scene, at);
	}
	ck_assert_uint_ge(blocks, 4);
}

START_TEST(the_page_on_interrupts_is_true)
{
	act_tools(play_page, NULL, "examples/tools/pay.yaml");
}
END_TEST

static void
play_ask_first(struct scene *scene)
{
	const struct value *record =
	    play_run(scene, "first", "r1", "t", "input", "\"hi\"");

	check_status(scene, record, "interrupted");
	ck_assert_value(scene->arena, value_get(interrupt_of(record, 0), "value"),
	    "{'tool': 'note', 'args': {'text': 'one'}}");
	record = play_run(scene, "first", "r2", "t", "resume", "\"no\"");
	check_status(scene, record, "interrupted");
	ck_assert_uint_eq(lines_of(scene, "one").count, 0);
	record = play_run(scene, "first", "r3", "t", "resume", "\"yes\"");
	check_status(scene, record, "success");
	ck_assert_str_eq(
	    tool_answers_of(scene, "t"), "a=A human does not want that.;b=noted;");
	ck_assert_uint_eq(lines_of(scene, "two").count, 1);
}

START_TEST(the_example_asks_before_certain_tools)
{
	act_with(play_ask_first,
	    "name: first\nmodel: scripted:m\ntools: [note]\n"
	    "middleware: [ask_first: {tools: note}]\n"
	    "script:\n  m:\n"
	    "    - tool_calls: [{id: a, name: note, args: {text: one}}]\n"
	    "    - tool_calls: [{id: b, name: note, args: {text: two}}]\n"
	    "    - content: Done.\n");
}
END_TEST

/* --- commands ------------------------------------------------------------------------- */

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
	const struct value *messages = value_get(state_of(scene, thread), "messages");
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
	const char *name = run_name(scene, "c", i);
	const struct value *record = wait_end(scene, name, name);
	const char *said = value_get_text(value_get(record, "fault"), "message");

	check_status(scene, record, one->status);
	if (said == NULL)
		said = tool_answers_of(scene, name);
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
		submit(scene, run_name(scene, "c", i), run_name(scene, "c", i),
		    run_name(scene, "c", i), "input", "\"hi\"");
	for (i = 0; i < COMMANDS; i++)
		check_command(scene, i);
}

START_TEST(tools_say_where_the_run_goes_on)
{
	struct arena *arena = arena_new();

	act_with(play_commands, command_agents(arena));
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_interrupts(void)
{
	TCase *tcase = tcase_create("interrupts");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, every_hook_asks_and_goes_on_behind_restarts_of_everything);
	tcase_add_test(tcase, what_answers_nothing_leaves_the_thread_as_it_was);
	tcase_add_test(tcase, a_pause_before_or_behind_a_node_asks_nothing);
	tcase_add_test(tcase, answers_in_part_go_on_with_that_part);
	tcase_add_test(tcase, who_takes_a_resumed_run_over_knows_the_answers);
	tcase_add_test(tcase, new_input_leaves_the_question_behind);
	tcase_add_test(tcase, the_command_line_answers_by_id_and_from_a_file);
	tcase_add_test(tcase, the_page_on_interrupts_is_true);
	tcase_add_test(tcase, the_example_asks_before_certain_tools);
	tcase_add_test(tcase, tools_say_where_the_run_goes_on);
	return tcase;
}
