/* The nine examples on a real fleet, each in C and in Lua: two runs of a thread, with every
 * process started anew between them. */
#include <check.h>
#include <string.h>

#include "chat.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "spec.h"

TCase *tcase_middleware_examples(void);

#define WAIT_MS 60000u
#define QUESTION "Is 123456789012 my number?"

static const struct {
	const char *name;
	const char *transcript; /* of both runs */
	const char *note;       /* in an event of the first one, or NULL */
} examples[] = {
	{ "early_exit",
	    "human: " QUESTION "\nai: Good morning.\nhuman: " QUESTION
	    "\nai: This conversation is too long: please begin a new one.\n",
	    NULL },
	{ "logging",
	    "human: " QUESTION
	    "\nai: Let me see.\ntool: 42\nai: It is 42.\nhuman: " QUESTION "\n",
	    "the model says \"Let me see.\" and calls 1 tools" },
	{ "latency",
	    "human: " QUESTION "\nai: \ntool: 42\nai: It is 42.\nhuman: " QUESTION "\n",
	    "scripted:talk took " },
	{ "cached_response",
	    "human: " QUESTION "\nai: Paris.\nhuman: " QUESTION "\nai: Paris.\n", NULL },
	{ "retry", "human: " QUESTION "\nai: Here at last.\nhuman: " QUESTION "\n",
	    "attempt 2 failed: InternalServerError" },
	{ "fallback",
	    "human: " QUESTION "\nai: The second one speaks.\nhuman: " QUESTION "\n",
	    "scripted:first failed (InternalServerError): asking scripted:second" },
	{ "transform",
	    "human: " QUESTION "\nai: I have not seen it. -- your bank\nhuman: " QUESTION
	    "\n",
	    NULL },
	{ "call_tracker",
	    "human: " QUESTION "\nai: \ntool: 42\nai: \ntool: 48\nai: I have been asked "
	    "often enough.\nhuman: " QUESTION "\nai: I have been asked often enough.\n",
	    NULL },
	{ "prompt_for_user",
	    "human: " QUESTION "\nai: As you like it.\nhuman: " QUESTION "\n", NULL },
};

#define EXAMPLE_COUNT (sizeof examples / sizeof *examples)

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	unsigned round; /* of 2 */
};

/* --- agents ------------------------------------------------------------------------- */

static const char *
plugin_of(struct scene *scene, const char *name)
{
	return kit_built(scene->kit, arena_printf(scene->arena, "plugins/%s.so", name));
}

static const struct spec *
lua_spec(struct scene *scene, const char *name)
{
	const struct spec *const *specs;
	const char *error = "";

	ck_assert_msg(
	    spec_load_file(scene->arena,
		arena_printf(scene->arena, "examples/middleware/lua/%s.yaml", name),
		&specs, &error) == 1,
	    "%s", error);
	return specs[0];
}

/* The Lua agent, with the C middleware in the place of the chunk. */
static const char *
c_agent(struct scene *scene, const char *name)
{
	const struct spec *spec = lua_spec(scene, name);
	struct arena *arena = scene->arena;
	const struct value *settings, *entry;

	settings = value_get(
	    value_get(value_at(value_get(spec->source, "middleware"), 0), "lua"),
	    "settings");
	entry =
	    value_map(arena, name, settings == NULL ? value_empty_map() : settings, NULL);
	return json_text(
	    arena, value_map_merge(arena, spec->source,
		       value_map(arena, "name", value_printf(arena, "%s-c", spec->name),
			   "middleware", value_array(arena, &entry, 1), NULL)));
}

static void
start(struct scene *scene)
{
	static const enum kit_kind kinds[] = { KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR };
	size_t i, kind;

	for (i = 0; i < EXAMPLE_COUNT; i++) {
		for (kind = 0; kind < 3; kind++)
			kit_flag(scene->kit, kinds[kind], "--plugin",
			    plugin_of(scene, examples[i].name));
	}
	kit_start_all(scene->kit, 1, 1, 1);
	for (i = 0; i < EXAMPLE_COUNT; i++) {
		const char *name = examples[i].name;

		kit_flotilla(scene->kit, "agents", "apply",
		    arena_printf(scene->arena, "examples/middleware/lua/%s.yaml", name),
		    NULL);
		kit_flotilla(scene->kit, "agents", "apply",
		    kit_write(scene->kit, arena_printf(scene->arena, "%s.json", name),
			c_agent(scene, name)),
		    "--plugin", plugin_of(scene, name), NULL);
	}
}

/* --- runs --------------------------------------------------------------------------- */

static const char *
agent_of(struct scene *scene, size_t example, bool in_c)
{
	const char *name = lua_spec(scene, examples[example].name)->name;

	return in_c ? arena_printf(scene->arena, "%s-c", name) : name;
}

/* Submits a run of each agent, and waits for all. */
static void
play_round(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;
	struct arena *arena = scene->arena;
	size_t i;

	for (i = 0; i < 2 * EXAMPLE_COUNT; i++) {
		const char *agent = agent_of(scene, i / 2, i % 2 == 1);

		client_submit(client, arena,
		    value_map(arena, "agent", value_str(arena, agent), "thread",
			value_str(arena, agent), "run",
			value_printf(arena, "%s-%u", agent, scene->round), "input",
			value_str(arena, json_text(arena, value_str(arena, QUESTION))),
			NULL));
	}
	for (i = 0; i < 2 * EXAMPLE_COUNT; i++) {
		const char *agent = agent_of(scene, i / 2, i % 2 == 1);

		ck_assert(client_wait_end(client, agent,
		    arena_printf(arena, "%s-%u", agent, scene->round), WAIT_MS));
	}
}

static const char *
transcript(struct arena *arena, const struct value *messages)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(arena, "%s%s: %s\n", text,
		    value_get_text(value_at(messages, i), "type"),
		    chat_text(arena, value_at(messages, i)));
	return text;
}

static void
check_note(
    struct fleet_client *client, struct arena *arena, const char *agent, const char *note)
{
	const struct value *events = NULL;

	ck_assert_int_eq(store_events(client->store, arena, agent,
			     arena_printf(arena, "%s-1", agent), 0, 0, &events),
	    STORE_OK);
	/* As the JSON of it has it, without the marks around. */
	note = json_text(arena, value_str(arena, note)) + 1;
	note = arena_copy(arena, note, strlen(note) - 1);
	ck_assert_msg(strstr(json_text(arena, events), note) != NULL,
	    "%s: no note \"%s\" in %s", agent, note, json_text(arena, events));
}

static void
look(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;
	size_t i;

	for (i = 0; i < 2 * EXAMPLE_COUNT; i++) {
		const char *agent = agent_of(scene, i / 2, i % 2 == 1);
		const struct value *state = NULL;

		ck_assert_int_eq(
		    store_thread(client->store, scene->arena, agent, &state), STORE_OK);
		ck_assert_str_eq(transcript(scene->arena, value_get(state, "messages")),
		    examples[i / 2].transcript);
		if (examples[i / 2].note != NULL)
			check_note(client, scene->arena, agent, examples[i / 2].note);
	}
}

START_TEST(c_and_lua_have_one_transcript)
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .round = 1 };
	enum kit_kind kind;

	start(&scene);
	client_run(kit_redis(scene.kit), play_round, &scene);
	for (kind = KIT_KINDS; kind-- > KIT_REDIS;)
		kit_stop(scene.kit, kind, 0);
	for (kind = KIT_REDIS; kind < KIT_KINDS; kind++)
		kit_start(scene.kit, kind, 0);
	scene.round = 2;
	client_run(kit_redis(scene.kit), play_round, &scene);
	client_run(kit_redis(scene.kit), look, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}
END_TEST

TCase *
tcase_middleware_examples(void)
{
	TCase *tcase = tcase_create("middleware_examples");

	tcase_set_timeout(tcase, 180);
	tcase_add_test(tcase, c_and_lua_have_one_transcript);
	return tcase;
}
