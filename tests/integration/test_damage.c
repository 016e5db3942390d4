/* A Redis whose keys are damaged, by a hand, a disk or a restore: a thread that cannot be read is one
 * thread's trouble. The coordinator lives, other runs go on, the command line tells what it can. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "arena.h"
#include "cli.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "store_agents.h"

TCase *tcase_damage(void);

#define WAIT_MS 60000u
#define HEALTHY ((size_t)2 * SHARDS)
#define INPUT "{\"messages\": \"Hi\"}"

/* One call of a tool, then an answer; again for the thread's next run. `asks` stops before its tool. */
#define SCRIPT                                                                           \
	"model: scripted:m\n"                                                            \
	"tools: [note]\n"                                                                \
	"middleware: [todo_list]\n"                                                      \
	"script:\n"                                                                      \
	"  m:\n"                                                                         \
	"    - {content: '', tool_calls: [{id: a, name: note, args: {}}]}\n"             \
	"    - {content: Done.}\n"                                                       \
	"    - {content: '', tool_calls: [{id: b, name: note, args: {}}]}\n"             \
	"    - {content: Done again.}\n"

static const char agents[] =
    "name: works\n" SCRIPT "---\nname: asks\ninterrupt_before: [tools]\n" SCRIPT;

/* What of a thread is damaged, with a command on a key of it; %b are the bytes. */
enum where { THREAD_KEY, RUN_KEY };

struct damage {
	const char *verb;
	enum where where;
	const char *ending; /* of the key */
	const char *name;   /* of a field, or an index; NULL: none */
	const char *bytes;
	size_t size;
};
#define BYTES(text) (text), sizeof(text) - 1

static const struct damage damages[] = {
	/* The thread's hash. */
	{ "HSET", THREAD_KEY, "", "head", BYTES("") },
	{ "HSET", THREAD_KEY, "", "head", BYTES("\xc1\xc1") },
	{ "HSET", THREAD_KEY, "", "head", BYTES("\xc0") },
	{ "HSET", THREAD_KEY, "", "head", BYTES("\x93\x01\x02\x03") },
	{ "HSET", THREAD_KEY, "", "head",
	    BYTES("\x86\xa3run\x05\xa4next\x90\xa4step\xa1x\xa6status\xabinterrupted"
		  "\xa5"
		  "agent\xc0\xa7version\x01") },
	{ "HSET", THREAD_KEY, "", "head",
	    BYTES("\x84\xa4next\xa7nowhere\xa6status\xabinterrupted\xa5"
		  "agent\xa4"
		  "asks\xa4step\xd3\x80\x00\x00\x00\x00\x00\x00\x00") },
	{ "HSET", THREAD_KEY, "", "order", BYTES("\xc1") },
	{ "HSET", THREAD_KEY, "", "order",
	    BYTES("\x91\x92\x00\xcf\x7f\xff\xff\xff\xff\xff\xff\xff") },
	{ "HSET", THREAD_KEY, "", "order", BYTES("\x92\x92\xff\x02\x92\x02\xff") },
	{ "HSET", THREAD_KEY, "", "order",
	    BYTES("\x93\x92\x00\x00\x92\x00\x00\x92\x00\x00") },
	{ "HSET", THREAD_KEY, "", "version", BYTES("-7") },
	{ "HSET", THREAD_KEY, "", "version", BYTES("many") },
	{ "HSET", THREAD_KEY, "", "epoch", BYTES("many") },
	{ "HSET", THREAD_KEY, "", "epoch", BYTES("9007199254740993") },
	{ "HSET", THREAD_KEY, "", "run", BYTES("not a run") },
	{ "SET", THREAD_KEY, "", NULL, BYTES("no hash") },
	{ "DEL", THREAD_KEY, "", NULL, NULL, 0 },
	/* Messages and fields. */
	{ "LSET", THREAD_KEY, ":m", "0", BYTES("\xc1") },
	{ "LSET", THREAD_KEY, ":m", "0", BYTES("\xc0") },
	{ "LSET", THREAD_KEY, ":m", "1",
	    BYTES("\x82\xa4type\xa2"
		  "ai\xaatool_calls\x91\xc0") },
	{ "LSET", THREAD_KEY, ":m", "1", BYTES("\x81\xa4type\x07") },
	{ "DEL", THREAD_KEY, ":m", NULL, NULL, 0 },
	{ "SET", THREAD_KEY, ":m", NULL, BYTES("no list") },
	{ "HSET", THREAD_KEY, ":f", "todos", BYTES("\x01") },
	{ "HSET", THREAD_KEY, ":f", "todos", BYTES("\xc1") },
	{ "HSET", THREAD_KEY, ":f", "unheard-of", BYTES("\x01") },
	{ "SET", THREAD_KEY, ":c", NULL, BYTES("no list") },
	{ "LPUSH", THREAD_KEY, ":c", NULL, BYTES("\xc1") },
	{ "LPUSH", THREAD_KEY, ":q", NULL, BYTES("no-such-run") },
	{ "SET", THREAD_KEY, ":q", NULL, BYTES("no list") },
	/* The record of the next run, before anybody claims it. */
	{ "HSET", RUN_KEY, "", "input", BYTES("\xc1") },
	{ "HSET", RUN_KEY, "", "input", BYTES("\x81\xa8messages\x01") },
	{ "HSET", RUN_KEY, "", "options", BYTES("\x91\x01") },
	{ "HSET", RUN_KEY, "", "agent", BYTES("") },
	{ "HSET", RUN_KEY, "", "version", BYTES("no version") },
	{ "HSET", RUN_KEY, "", "events", BYTES("many") },
	{ "HSET", RUN_KEY, "", "attempts", BYTES("many") },
	{ "HDEL", RUN_KEY, "", "events", NULL, 0 },
	{ "DEL", RUN_KEY, "", NULL, NULL, 0 },
	{ "SET", RUN_KEY, ":e", NULL, BYTES("no stream") },
	{ "SET", RUN_KEY, ":w", NULL, BYTES("no hash") },
	{ "HSET", RUN_KEY, "", "options", BYTES("\x81\xb0interrupt_before\x91\x01") },
	{ "HSET", RUN_KEY, "", "options", BYTES("\x81\xb0interrupt_before\xa1*") },
};
#define DAMAGES (sizeof damages / sizeof *damages)

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
};

static const char *
thread_of(struct scene *scene, size_t number)
{
	return arena_printf(scene->arena, "t%zu", number);
}

static const char *
run_of(struct scene *scene, size_t number)
{
	return arena_printf(scene->arena, "r%zu", number);
}

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

static void
must_end(struct scene *scene, const char *run, const char *thread, const char *status)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, thread, run, WAIT_MS), "%s never ended", run);
	store_run(scene->client->store, scene->arena, thread, run, &record);
	ck_assert_msg(value_text_is(value_get(record, "status"), status), "%s: %s", run,
	    json_text(scene->arena, record));
}

static void
do_damage(struct scene *scene, const struct damage *damage, size_t number)
{
	struct arena *arena = scene->arena;
	const char *thread = thread_of(scene, number);
	const char *key = damage->where == THREAD_KEY
			      ? store_thread_key(arena, thread)
			      : store_run_key(arena, thread, run_of(scene, number));
	struct redis_arg args[4];
	const struct value *reply = NULL;
	size_t count = 0;

	key = arena_printf(arena, "%s%s", key, damage->ending);
	/* A key of another type is in its place. */
	if (strcmp(damage->verb, "SET") == 0)
		redis_text(
		    scene->client->redis, arena, WAIT_MS, &reply, "DEL", key, NULL);
	args[count++] = (struct redis_arg){ damage->verb, strlen(damage->verb) };
	args[count++] = (struct redis_arg){ key, strlen(key) };
	if (damage->name != NULL)
		args[count++] = (struct redis_arg){ damage->name, strlen(damage->name) };
	if (damage->bytes != NULL)
		args[count++] = (struct redis_arg){ damage->bytes, damage->size };
	ck_assert_msg(redis_call(scene->client->redis, arena, WAIT_MS, args, count,
			  &reply) == REDIS_OK,
	    "%s %s: %s", damage->verb, key, redis_reply_text(reply));
}

/* Whatever there is to say of a damaged thread, the command line says it and ends. */
static void
look_at(struct scene *scene, size_t number)
{
	static const char *const commands[] = { "state", "history" };
	const struct cli cli = { kit_program(scene->kit, "flotilla"),
		kit_path(scene->kit, ""), scene->arena };
	const char *thread = thread_of(scene, number);
	size_t i;

	for (i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct said said = CLI(&cli, commands[i], thread, "--redis",
		    kit_redis(scene->kit), number % 2 == 0 ? "--json" : NULL);

		ck_assert_msg(said.status != -1, "%s of damage %zu: %s", commands[i],
		    number, said.err);
	}
}

/* Puts the next run behind the thread's first, as the inbox would. */
static void
queue_next(struct scene *scene, size_t number)
{
	struct arena *arena = scene->arena;
	const char *agent = number % 2 == 0 ? "works" : "asks", *version = NULL, *error;
	struct packet options = { 0 }, input = { 0 };
	int64_t before;

	ck_assert_int_eq(
	    store_agent_version(scene->client->store, arena, agent, &version), STORE_OK);
	value_pack(&input, json_parse(arena, INPUT, strlen(INPUT), &error));
	value_pack(&options, number % 2 == 0
				 ? value_empty_map()
				 : value_map(arena, "resume", value_nil(), NULL));
	ck_assert_int_eq(store_submit(scene->client->store, arena,
			     thread_of(scene, number), run_of(scene, number),
			     value_map(arena, "agent", value_str(arena, agent), "version",
				 value_str(arena, version), "input",
				 value_bin(arena, input.data, input.size), "options",
				 value_bin(arena, options.data, options.size), NULL),
			     &before),
	    STORE_OK);
	packet_release(&input);
	packet_release(&options);
}

/* A run does not go on from an order that nobody can read as from none, and leaves it as it is. */
static void
check_order_is_left(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *record = NULL, *reply = NULL;
	size_t i = 0;

	while (damages[i].name == NULL || strcmp(damages[i].name, "order") != 0)
		i++;
	must_end(scene, run_of(scene, i), thread_of(scene, i), "error");
	store_run(
	    scene->client->store, arena, thread_of(scene, i), run_of(scene, i), &record);
	ck_assert_ptr_nonnull(
	    strstr(json_text(arena, value_get(record, "fault")), "order of thread"));
	redis_text(scene->client->redis, arena, WAIT_MS, &reply, "HGET",
	    store_thread_key(arena, thread_of(scene, i)), "order", NULL);
	ck_assert_mem_eq(reply->text, damages[i].bytes, damages[i].size);
}

/* --- threads ------------------------------------------------------------------------------ */

static void
play(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;
	pid_t coordinator = kit_pid(scene->kit, KIT_COORDINATOR, 0);
	size_t i;

	scene->client = client;
	for (i = 0; i < DAMAGES; i++)
		submit(scene, i % 2 == 0 ? "works" : "asks",
		    arena_printf(scene->arena, "before-%zu", i), thread_of(scene, i),
		    "input", INPUT);
	for (i = 0; i < DAMAGES; i++)
		must_end(scene, arena_printf(scene->arena, "before-%zu", i),
		    thread_of(scene, i), i % 2 == 0 ? "success" : "interrupted");
	/* Nobody looks while the next runs come and the damage is done. */
	kit_signal(scene->kit, KIT_COORDINATOR, 0, SIGSTOP);
	for (i = 0; i < DAMAGES; i++) {
		queue_next(scene, i);
		do_damage(scene, &damages[i], i);
	}
	kit_signal(scene->kit, KIT_COORDINATOR, 0, SIGCONT);
	/* Behind the damaged ones, in every shard. */
	for (i = 0; i < HEALTHY; i++)
		submit(scene, "works", arena_printf(scene->arena, "healthy-%zu", i),
		    arena_printf(scene->arena, "healthy-%zu", i), "input", INPUT);
	for (i = 0; i < HEALTHY; i++)
		must_end(scene, arena_printf(scene->arena, "healthy-%zu", i),
		    arena_printf(scene->arena, "healthy-%zu", i), "success");
	for (i = 0; i < DAMAGES; i++)
		look_at(scene, i);
	check_order_is_left(scene);
	ck_assert_int_eq(waitpid(coordinator, NULL, WNOHANG), 0);
}

START_TEST(a_damaged_thread_is_its_own_trouble_alone)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new() };

	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "note.yaml",
		"{name: note, description: notes, command: echo noted, input: none}\n"));
	kit_flag(scene.kit, KIT_COORDINATOR, "--served-wait-ms", "500");
	kit_flag(scene.kit, KIT_COORDINATOR, "--log-level", "error");
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play, &scene);
	kit_destroy(&scene.kit); /* and every process ends with status 0 */
	arena_destroy(&scene.arena);
}
END_TEST

TCase *
tcase_damage(void)
{
	TCase *tcase = tcase_create("damage");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, a_damaged_thread_is_its_own_trouble_alone);
	return tcase;
}
