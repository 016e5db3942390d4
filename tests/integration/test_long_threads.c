/* Model calls on long threads: what travels of them, to workers of every kind. The worker here is one of this
 * process, which notes in what form each request came. */
#include <check.h>
#include <string.h>

#include "bodies.h"
#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "worker.h"

TCase *tcase_long_threads(void);

#define WAIT_MS 60000u

enum manner {
	KEEPS, /* one thread, as of the last request that came whole or was based on that */
	FORGETS, /* says that it keeps, and has nothing */
	IS_OLD,  /* never heard of it, though somebody says it has */
	IS_MUTE, /* never heard of it */
};

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct worker *worker;
	enum manner manner;
	const struct value *kept; /* a digest */
	const char *forms;        /* a letter a request: Whole and named, Brief, whole */
	const char *last_id, *last_key;
	size_t tool_rounds;
	bool holds;   /* the next whole request that follows a brief one waits */
	bool waiting; /* and does */
	bool drained;
};

static const char agents[] = "name: long\nmodel: fake:m\ntools: [calculate]\n";

/* --- the worker --------------------------------------------------------------------- */

static char
form_of(const struct value *request)
{
	if (value_has(request, "base"))
		return 'B';
	return value_has(request, "digest") ? 'W' : 'w';
}

static const struct value *
reply(struct arena *arena, bool asks)
{
	const struct value *args =
	    value_map(arena, "expression", value_str(arena, "1+1"), NULL);
	const struct value *call =
	    value_map(arena, "name", value_str(arena, "calculate"), "args", args, "id",
		value_str(arena, "c"), "type", value_str(arena, "tool_call"), NULL);
	const struct value *message = value_map(arena, "type", value_str(arena, "ai"),
	    "content", value_str(arena, "ok"), "tool_calls",
	    asks ? value_array_add(arena, NULL, call) : NULL, NULL);

	return value_map(arena, "messages", value_array_add(arena, NULL, message), NULL);
}

static const struct value *
answer(void *arg, struct worker_call *call)
{
	struct scene *scene = arg;
	const struct value *request = call->request, *body;
	const struct value *digest = value_get(request, "digest");
	char form = form_of(request);
	bool knows =
	    form != 'B' || (scene->manner == KEEPS && scene->kept != NULL &&
			       value_equal(scene->kept, value_get(request, "base")));

	scene->forms = arena_printf(scene->arena, "%s%c", scene->forms, form);
	scene->last_id = arena_strdup(scene->arena, call->header->call_id);
	scene->last_key = arena_strdup(scene->arena, call->header->idempotency_key);
	if (!knows && scene->manner != IS_OLD)
		return value_map(call->arena, "whole", value_bool(true), NULL);
	while (scene->holds && strchr(scene->forms, 'B') != NULL) {
		scene->waiting = true;
		if (fiber_sleep(5) == -1)
			break;
	}
	body = reply(call->arena, scene->tool_rounds > 0 && knows);
	if (knows && scene->tool_rounds > 0)
		scene->tool_rounds--;
	if (scene->manner == IS_MUTE || !knows)
		return body;
	scene->kept = value_copy(scene->arena, digest);
	return digest == NULL ? body : value_map_with(call->arena, body, "kept", digest);
}

static void
start_worker(struct scene *scene)
{
	static const struct wire_service service = { "model:fake", 8 };
	const char *endpoints[] = { kit_broker(scene->kit), NULL };
	const struct value *threads =
	    value_map(scene->arena, "threads", value_bool(true), NULL);
	const char *wrong, *allowed;

	scene->worker = worker_new(scene->client->loop,
	    &(struct worker_options){ .endpoints = endpoints,
		.name = "fake-1",
		.services = &service,
		.service_count = 1,
		.capacity = 8,
		.catalog = scene->manner == IS_MUTE
			       ? NULL
			       : value_array(scene->arena, &threads, 1),
		.answer = answer,
		.arg = scene },
	    &wrong, &allowed);
	ck_assert_ptr_nonnull(scene->worker);
}

static void
on_drained(void *arg)
{
	((struct scene *)arg)->drained = true;
}

static bool
is_drained(void *arg)
{
	return ((struct scene *)arg)->drained;
}

static bool
is_waiting(void *arg)
{
	return ((struct scene *)arg)->waiting;
}

/* --- runs --------------------------------------------------------------------------- */

static void
submit(struct scene *scene, const char *agent, const char *run, const char *input)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread", value_str(arena, "t"), "input",
		value_str(arena, input), NULL));
}

static void
expect_success(struct scene *scene, const char *run)
{
	const struct value *record;

	ck_assert_msg(
	    client_wait_end(scene->client, "t", run, WAIT_MS), "%s never ended", run);
	ck_assert_int_eq(
	    store_run(scene->client->store, scene->arena, "t", run, &record), STORE_OK);
	ck_assert_str_eq(value_get_text(record, "status"), "success");
}

/* Runs on a thread that is long from its first message on; forms: of all requests so far. */
static void
expect_run(struct scene *scene, const char *run, size_t tool_rounds, const char *forms)
{
	char text[12001];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	scene->tool_rounds = tool_rounds;
	submit(scene, "long", run,
	    arena_printf(scene->arena, "{\"messages\": \"%s\"}", text));
	expect_success(scene, run);
	ck_assert_str_eq(scene->forms, forms);
}

static const struct value *
messages_of(struct scene *scene)
{
	const struct value *state;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, "t", &state), STORE_OK);
	return value_get(state, "messages");
}

static void
play_worker(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	start_worker(scene);
	switch (scene->manner) {
	case KEEPS:
		expect_run(scene, "r1", 2, "WBB");
		expect_run(scene, "r2", 1, "WBBBB");
		scene->kept = NULL; /* as if it had started again */
		expect_run(scene, "r3", 1, "WBBBBBWB");
		ck_assert_uint_eq(value_size(messages_of(scene)), 14);
		break;
	case FORGETS:
		expect_run(scene, "r1", 0, "W");
		expect_run(scene, "r2", 3, "WBWBWWW");
		ck_assert_uint_eq(value_size(messages_of(scene)), 10);
		break;
	case IS_OLD:
		expect_run(scene, "r1", 0, "W");
		expect_run(scene, "r2", 0, "WBW");
		ck_assert_str_eq(scene->last_id, "r2.1.0w");
		ck_assert_str_eq(scene->last_key, "r2.1.0");
		break;
	case IS_MUTE:
		expect_run(scene, "r1", 1, "ww");
		expect_run(scene, "r2", 0, "www");
		break;
	}
	worker_drain(scene->worker, 2000, on_drained, scene);
	ck_assert(client_wait(client, is_drained, scene, WAIT_MS));
	worker_destroy(&scene->worker);
}

static struct scene
scene_new(void)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .forms = "" };

	return scene;
}

static void
scene_play(struct scene *scene, unsigned models, unsigned coordinators, const char *specs,
    void (*play)(struct fleet_client *client, void *arg))
{
	kit_start_all(scene->kit, 1, models, coordinators);
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "agents.yaml", specs), NULL);
	client_run(kit_redis(scene->kit), play, scene);
	kit_destroy(&scene->kit);
	arena_destroy(&scene->arena);
}

START_TEST(a_worker_gets_what_it_can_make_something_of)
{
	struct scene scene = scene_new();

	scene.manner = (enum manner)_i;
	scene_play(&scene, 0, 1, agents, play_worker);
}
END_TEST

/* --- an owner that dies in between -------------------------------------------------- */

static void
play_takeover(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	start_worker(scene);
	expect_run(scene, "r1", 0, "W");
	scene->kept = NULL;
	scene->holds = true;
	submit(scene, "long", "r2", "{\"messages\": \"more\"}");
	ck_assert(client_wait(client, is_waiting, scene, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	scene->holds = false;
	expect_success(scene, "r2");
	/* The new owner was told of the miss and of the answer to the second call: neither ran again. */
	ck_assert_str_eq(scene->forms, "WBW");
	ck_assert_uint_eq(value_size(messages_of(scene)), 4);
	worker_drain(scene->worker, 2000, on_drained, scene);
	ck_assert(client_wait(client, is_drained, scene, WAIT_MS));
	worker_destroy(&scene->worker);
}

START_TEST(
    an_owner_that_dies_between_the_two_calls_is_followed_by_one_that_makes_the_same)
{
	struct scene scene = scene_new();

	scene.manner = KEEPS;
	scene_play(&scene, 0, 1, agents, play_takeover);
}
END_TEST

/* --- the real worker ---------------------------------------------------------------- */

#define SCRIPTED                                                                         \
	"name: scripted\n"                                                               \
	"model: scripted:m\n"                                                            \
	"tools: [calculate]\n"                                                           \
	"script:\n"                                                                      \
	"  m:\n"                                                                         \
	"    - content: one\n"                                                           \
	"    - content: ''\n"                                                            \
	"      tool_calls: [{id: a, name: calculate, args: {expression: 1+1}}]\n"        \
	"    - content: three\n"                                                         \
	"    - content: four\n"                                                          \
	"    - content: five\n"

/* Which worker gets a call, and what it has kept, must not show. The n-th call of a thread gives the
 * n-th reply: so the provider sees all messages. */
static void
play_real(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;
	static const char *const runs[] = { "r1", "r2", "r3", "r4" };
	char text[12001];
	size_t i;

	scene->client = client;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (i = 0; i < sizeof runs / sizeof *runs; i++) {
		submit(scene, "scripted", runs[i],
		    arena_printf(scene->arena, "{\"messages\": \"%s\"}", text));
		expect_success(scene, runs[i]);
		if (i == 2) {
			kit_kill(scene->kit, KIT_MODEL, 0);
			kit_start(scene->kit, KIT_MODEL, 0);
		}
	}
	ck_assert_uint_eq(value_size(messages_of(scene)), 10);
	ck_assert_str_eq(
	    value_get_text(value_at(messages_of(scene), 9), "content"), "five");
}

static const struct {
	unsigned models;
	const char *bytes;
} fleets[] = { { 1, "67108864" }, { 2, "67108864" }, { 2, "20000" }, { 1, "0" } };

START_TEST(what_workers_keep_does_not_show)
{
	struct scene scene = scene_new();

	kit_flag(scene.kit, KIT_MODEL, "--threads-bytes", fleets[_i].bytes);
	scene_play(&scene, fleets[_i].models, 1, SCRIPTED, play_real);
}
END_TEST

TCase *
tcase_long_threads(void)
{
	TCase *tcase = tcase_create("long_threads");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(
	    tcase, a_worker_gets_what_it_can_make_something_of, KEEPS, IS_MUTE + 1);
	tcase_add_test(tcase,
	    an_owner_that_dies_between_the_two_calls_is_followed_by_one_that_makes_the_same);
	tcase_add_loop_test(
	    tcase, what_workers_keep_does_not_show, 0, sizeof fleets / sizeof *fleets);
	return tcase;
}
