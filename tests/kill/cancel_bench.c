#include "cancel_bench.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

#include "bounds.h"
#include "json.h"

/* Two hang at once; the next run of the thread only answers. */
static const char agents[] = "name: clerk\n"
			     "model: scripted:clerk\n"
			     "tools: [hang]\n"
			     "script:\n"
			     "  clerk:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: hang, args: {}}\n"
			     "        - {id: b, name: hang, args: {}}\n"
			     "    - content: And so it stays.\n"
			     "---\n"
			     "name: failing\n"
			     "model: scripted:failing\n"
			     "tools: [fail]\n"
			     "tool_errors: raise\n"
			     "script:\n"
			     "  failing:\n"
			     "    - content: ''\n"
			     "      tool_calls:\n"
			     "        - {id: a, name: fail, args: {}}\n";

/* Four processes a call, of which three mind no SIGTERM and one has left the group. */
static const char tools[] = "name: hang\n"
			    "description: never ends\n"
			    "input: none\n"
			    "idempotent: %s\n"
			    "command: |\n"
			    "  trap '' TERM\n"
			    "  sleep 600 & a=$!\n"
			    "  (sleep 600 & echo $!; exec sleep 600) > %s.$$ & b=$!\n"
			    "  setsid sleep 600 & c=$!\n"
			    "  while ! [ -s %s.$$ ]; do sleep 0.01; done\n"
			    "  echo $$ $a $b $c $(cat %s.$$) >> %s\n"
			    "  wait\n"
			    "---\n"
			    "name: fail\n"
			    "description: fails, when it may\n"
			    "input: none\n"
			    "command: 'await-file there %s; exit 1'\n";
#define PIDS 5u /* a call */

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

void
cx_act(const char *idempotent, void (*play)(struct scene *scene))
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };
	const char *pids = scene.pids = kit_path(scene.kit, "pids");

	scene.go_on = kit_path(scene.kit, "go_on");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "tools.yaml",
		arena_printf(scene.arena, tools, idempotent, pids, pids, pids, pids,
		    scene.go_on)));
	kit_flag(scene.kit, KIT_TOOLS, "--slots", "200");
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* --- processes ---------------------------------------------------------------------- */

/* Counts the ids in the file, and those of them that are alive. */
static unsigned
count_pids(const struct scene *scene, unsigned *alive)
{
	FILE *file = fopen(scene->pids, "re"), *stat;
	unsigned count = 0;
	char path[64], state;
	int pid;

	*alive = 0;
	while (file != NULL && fscanf(file, "%d", &pid) == 1) {
		count++;
		snprintf(path, sizeof path, "/proc/%d/stat", pid);
		stat = fopen(path, "re");
		if (stat == NULL)
			continue;
		if (fscanf(stat, "%*d %*s %c", &state) == 1 && state != 'Z' &&
		    state != 'X')
			(*alive)++;
		fclose(stat);
	}
	if (file != NULL)
		fclose(file);
	return count;
}

struct wanted {
	const struct scene *scene;
	unsigned pids;
};

static bool
have_begun(void *arg)
{
	const struct wanted *wanted = arg;
	unsigned alive;

	return count_pids(wanted->scene, &alive) >= wanted->pids;
}

void
cx_wait_hanging(struct scene *scene, unsigned calls)
{
	struct wanted wanted = { scene, calls * PIDS };

	ck_assert_msg(client_wait(scene->client, have_begun, &wanted, CX_WAIT_MS),
	    "%u calls have not begun", calls);
}

static bool
are_gone(void *arg)
{
	const struct wanted *wanted = arg;
	unsigned alive;

	count_pids(wanted->scene, &alive);
	return alive == 0;
}

void
cx_check_gone(struct scene *scene)
{
	unsigned alive, count = count_pids(scene, &alive);

	ck_assert_msg(alive == 0, "%u of %u processes are alive", alive, count);
}

void
cx_note_alive(struct scene *scene)
{
	count_pids(scene, &scene->alive);
}

void
cx_check_confirmed(struct scene *scene)
{
	if (scene->is_unconfirmed)
		cx_wait_gone(scene);
	else
		ck_assert_uint_eq(scene->alive, 0);
}

void
cx_wait_gone(struct scene *scene)
{
	struct wanted wanted = { scene, 0 };

	ck_assert(client_wait(scene->client, are_gone, &wanted, CX_WAIT_MS));
}

/* --- runs --------------------------------------------------------------------------- */

const char *
cx_nth(struct scene *scene, const char *prefix, unsigned number)
{
	return arena_printf(scene->arena, "%s%u", prefix, number);
}

void
cx_submit(struct scene *scene, const char *agent, const char *run, const char *parent)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "thread",
		value_str(arena, arena_printf(arena, "t-%s", run)), "input",
		value_str(arena, "\"hi\""), "parent",
		parent != NULL ? value_str(arena, parent) : NULL, NULL));
}

void
cx_check_status(struct scene *scene, const char *run, const char *status)
{
	const struct value *record = NULL;
	const char *thread = arena_printf(scene->arena, "t-%s", run);

	ck_assert_msg(client_wait_end(scene->client, thread, run, CX_WAIT_MS),
	    "%s never ended", run);
	ck_assert_int_eq(
	    store_run(scene->client->store, scene->arena, thread, run, &record),
	    STORE_OK);
	ck_assert_msg(value_text_is(value_get(record, "status"), status), "%s",
	    json_text(scene->arena, record));
	if (!value_has(record, "unconfirmed"))
		return;
	scene->is_unconfirmed = true;
	ck_assert_int_gt(scene->asked_ms, 0);
	ck_assert_int_ge(
	    value_get_int(record, "ended", 0) - scene->asked_ms, (int64_t)CANCEL_WAIT_MS);
}

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
cx_begin_to_ask(struct scene *scene)
{
	if (scene->asked_ms == 0)
		scene->asked_ms = wall_ms();
}

void
cx_ask(struct scene *scene, const char *run)
{
	const char *answer, *ended;

	cx_begin_to_ask(scene);
	ck_assert_int_eq(
	    store_cancel(scene->client->store, scene->arena,
		arena_printf(scene->arena, "t-%s", run), run, &answer, &ended),
	    STORE_OK);
	ck_assert_str_eq(answer, "CANCELLING");
}

void
cx_check_next_run(struct scene *scene, const char *run)
{
	struct arena *arena = scene->arena;
	const char *thread = arena_printf(arena, "t-%s", run);
	const char *next = arena_printf(arena, "%s-next", run);
	const struct value *record = NULL;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, next), "thread", value_str(arena, thread), "input",
		value_str(arena, "\"and now?\""), NULL));
	ck_assert(client_wait_end(scene->client, thread, next, CX_WAIT_MS));
	store_run(scene->client->store, arena, thread, next, &record);
	ck_assert_msg(value_text_is(value_get(record, "status"), "success"), "%s",
	    json_text(arena, record));
}
