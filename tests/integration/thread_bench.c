#include "thread_bench.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

#define WAIT_MS 60000u

/* The n-th model call of a thread gives the n-th reply: two short ones, a round that lasts until
 * it is cancelled, then short ones again. */
#define SCRIPT                                                                           \
	"model: scripted:clerk\n"                                                        \
	"tools: [note]\n"                                                                \
	"state:\n"                                                                       \
	"  count: {type: integer, reducer: add}\n"                                       \
	"  topic: {type: string}\n"                                                      \
	"script:\n"                                                                      \
	"  clerk:\n"                                                                     \
	"    - content: One.\n"                                                          \
	"    - content: ''\n"                                                            \
	"      tool_calls: [{id: a, name: note, args: {text: a, seconds: 0}}]\n"         \
	"    - content: ''\n"                                                            \
	"      tool_calls: [{id: b, name: note, args: {text: b, seconds: 600}}]\n"       \
	"    - content: Four.\n"                                                         \
	"    - content: Five.\n"

static const char agents[] = "name: clerk\n" SCRIPT "---\nname: careful\n"
			     "interrupt_before: [tools]\n" SCRIPT "---\n"
			     "name: poster\n"
			     "model: scripted:poster\n"
			     "tools: [post]\n"
			     "script:\n"
			     "  poster:\n"
			     "    - content: ''\n"
			     "      tool_calls: [{id: a, name: post, args: {}}]\n"
			     "    - content: Posted.\n";

static const char note[] =
    "name: note\n"
    "description: notes a text, after a while\n"
    "parameters:\n"
    "  properties: {text: {type: string}, seconds: {type: number}}\n"
    "  required: [text, seconds]\n"
    "input: none\n"
    "command: |\n"
    "  echo \"$ARG_TEXT\" >> %s\n"
    "  sleep \"$ARG_SECONDS\"\n"
    "  echo \"noted $ARG_TEXT\"\n"
    "---\n"
    "name: post\n"
    "description: posts a letter\n"
    "input: none\n"
    "idempotent: false\n"
    "command: echo posted >> %s; printf sent\n";

/* --- runs --------------------------------------------------------------------------- */

/* Submits to thread "t"; more is {name: text}. */
void
bench_submit_more(struct scene *scene, const char *agent, const char *run,
    const char *input, const struct value *more)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map_merge(arena,
		value_map(arena, "agent", value_str(arena, agent), "run",
		    value_str(arena, run), "thread", value_str(arena, "t"), "input",
		    input != NULL ? value_str(arena, input) : NULL, NULL),
		more));
}

void
bench_submit(struct scene *scene, const char *run, const char *multitask)
{
	struct arena *arena = scene->arena;

	bench_submit_more(scene, "clerk", run,
	    json_text(arena, value_map(arena, "messages", value_str(arena, run), "count",
				 value_int(arena, 1), NULL)),
	    value_map(arena, "multitask",
		multitask != NULL ? value_str(arena, multitask) : NULL, NULL));
}

const struct value *
bench_record(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, "t", run, &record);
	return record;
}

const char *
bench_wait(struct scene *scene, const char *run)
{
	ck_assert_msg(
	    client_wait_end(scene->client, "t", run, WAIT_MS), "%s never ended", run);
	return value_get_text(bench_record(scene, run), "status");
}

const char *
bench_error(struct scene *scene, const char *run)
{
	return value_get_text(value_get(bench_record(scene, run), "fault"), "message");
}

const struct value *
bench_thread(struct scene *scene)
{
	const struct value *state = NULL;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, "t", &state), STORE_OK);
	return state;
}

/* The texts of the thread's messages, with spaces between them; "-" for one without. */
const char *
bench_talk(struct scene *scene, const struct value *state)
{
	const struct value *messages = value_get(state, "messages");
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const char *content = value_get_text(value_at(messages, i), "content");

		text = arena_printf(scene->arena, "%s%s%s", text, i > 0 ? " " : "",
		    content != NULL && *content != '\0' ? content : "-");
	}
	return text;
}

struct said_so {
	struct scene *scene;
	const char *text;
};

static bool
is_talk(void *arg)
{
	struct said_so *said = arg;

	return strcmp(bench_talk(said->scene, bench_thread(said->scene)), said->text) ==
	       0;
}

void
bench_wait_talk(struct scene *scene, const char *text)
{
	struct said_so said = { scene, text };

	ck_assert_msg(client_wait(scene->client, is_talk, &said, WAIT_MS),
	    "'%s' never became '%s'", bench_talk(scene, bench_thread(scene)), text);
}

struct noted {
	const struct scene *scene;
	unsigned lines;
};

static bool
is_noted(void *arg)
{
	const struct noted *noted = arg;
	FILE *file = fopen(noted->scene->ledger, "re");
	char line[256];
	unsigned lines = 0;

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		lines++;
	if (file != NULL)
		fclose(file);
	return lines >= noted->lines;
}

/* So many calls have begun. */
void
bench_wait_noted(struct scene *scene, unsigned lines)
{
	struct noted noted = { scene, lines };

	ck_assert_msg(client_wait(scene->client, is_noted, &noted, WAIT_MS),
	    "no %u calls were begun", lines);
}

/* r1 has ended, r2 stands in its second round of tools. */
void
bench_begin_long(struct scene *scene)
{
	bench_submit(scene, "r1", NULL);
	ck_assert_str_eq(bench_wait(scene, "r1"), "success");
	bench_submit(scene, "r2", NULL);
	bench_wait_noted(scene, 2);
}

int64_t
bench_count(const struct value *state)
{
	return value_get_int(value_get(state, "fields"), "count", -1);
}

/* --- a fleet ------------------------------------------------------------------------ */

void
bench_cancel(struct scene *scene, const char *run)
{
	const char *answer, *status;

	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena, "t", run, &answer, &status),
	    STORE_OK);
}

/* A worker does not end while a call of it lasts. */
static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;
	const struct value *state;
	const char *run;

	scene->client = client;
	scene->play(scene);
	if (store_thread(client->store, scene->arena, "t", &state) != STORE_OK)
		return;
	run = value_get_text(state, "run");
	if (run == NULL || *run == '\0')
		return;
	bench_cancel(scene, run);
	ck_assert_str_eq(bench_wait(scene, run), "cancelled");
}

void
bench_act(void (*play)(struct scene *scene), bool restarts)
{
	struct scene scene = {
		.arena = arena_new(), .kit = kit_new(), .restarts = restarts, .play = play
	};

	scene.ledger = kit_path(scene.kit, "ledger");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "note.yaml",
		arena_printf(scene.arena, note, scene.ledger, scene.ledger)));
	kit_flag(scene.kit, KIT_COORDINATOR, "--served-wait-ms", "2000");
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* Between the two halves of a play. */
void
bench_halfway(struct scene *scene)
{
	if (scene->restarts)
		kit_restart_all(scene->kit);
}

struct said
bench_flotilla(struct scene *scene, const char *const *words, size_t count)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };
	const char *argv[24];
	size_t n = 0, i;

	argv[n++] = words[0];
	argv[n++] = "--redis";
	argv[n++] = kit_redis(scene->kit);
	argv[n++] = "--broker";
	argv[n++] = kit_broker(scene->kit);
	ck_assert_uint_lt(count, sizeof argv / sizeof *argv - n);
	for (i = 1; i < count; i++)
		argv[n++] = words[i];
	argv[n] = NULL;
	return cli_run(&cli, NULL, argv);
}

/* --- what a command says ----------------------------------------------------------- */

void
bench_says(const struct said said, int status, const char *part)
{
	ck_assert_msg(
	    said.status == status, "status %d: %s%s", said.status, said.out, said.err);
	ck_assert_msg(strstr(said.out, part) != NULL || strstr(said.err, part) != NULL,
	    "'%s' is not in: %s%s", part, said.out, said.err);
}

const struct value *
bench_json(struct scene *scene, const struct said said)
{
	const char *error = NULL;
	const struct value *value =
	    json_parse(scene->arena, said.out, strlen(said.out), &error);

	ck_assert_msg(value != NULL, "%s: %s%s", error, said.out, said.err);
	return value;
}

const struct value *
bench_history(struct scene *scene)
{
	return bench_json(scene, FLOTILLA(scene, "history", "t", "--json"));
}
