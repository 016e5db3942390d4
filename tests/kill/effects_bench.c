#include "effects_bench.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "ledger.h"

/* Pays and notes at once; the note takes its time, so that it is known later than the loss. */
static const char agent[] =
    "name: clerk\n"
    "model: scripted:clerk\n"
    "tools: [pay, note]\n"
    "script:\n"
    "  clerk:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: a, name: pay, args: {}}\n"
    "        - {id: b, name: note, args: {}}\n"
    "    - content: All is done.\n"
    "---\n"
    "name: asker\n"
    "model: scripted:asker\n"
    "tools: [wonder, pay]\n"
    "script:\n"
    "  asker:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: w, name: wonder, args: {}}\n"
    "        - {id: a, name: pay, args: {}}\n"
    "---\n"
    "name: doomed\n"
    "model: scripted:doomed\n"
    "tools: [deadly]\n"
    "middleware: [tool_retry: {max_retries: 3}, model_retry]\n"
    "script:\n"
    "  doomed:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: a, name: deadly, args: {}}\n"
    "    - content: Never said.\n"
    "---\n"
    "name: boss\n"
    "model: scripted:boss\n"
    "middleware:\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents: [{name: c, description: pays, agent: clerk}]\n"
    "script:\n"
    "  boss:\n"
    "    - content: ''\n"
    "      tool_calls:\n"
    "        - {id: a, name: task, args: {description: pay, "
    "subagent_type: c}}\n"
    "    - content: It is settled.\n";

/* The first to pay does so for ever; its worker is to die. */
static const char tools[] = "name: pay\n"
			    "description: pays\n"
			    "idempotent: false\n"
			    "uncertain: %s\n"
			    "input: none\n"
			    "command: |\n"
			    "  mkdir %s 2>/dev/null && first=1\n"
			    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
			    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
			    "  echo \"pay $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
			    "  [ -z \"$first\" ] || exec sleep 600\n"
			    "  echo paid\n"
			    "---\n"
			    "name: note\n"
			    "description: notes\n"
			    "input: none\n"
			    "command: |\n"
			    "  await-file there %s\n"
			    "  echo \"note $FLOTILLA_IDEMPOTENCY_KEY 0\" >> %s\n"
			    "  echo noted\n"
			    "---\n"
			    "name: wonder\n"
			    "description: asks\n"
			    "input: none\n"
			    "interrupts: true\n"
			    "command: |\n"
			    "  echo '\"really?\"'\n"
			    "  exit 75\n"
			    "---\n"
			    "name: deadly\n"
			    "description: kills its worker\n"
			    "input: none\n"
			    "command: |\n"
			    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
			    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
			    "  echo \"deadly $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
			    "  kill -9 $worker\n"
			    "  exec sleep 600\n";

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

void
fx_act(const char *policy, void (*play)(struct scene *scene))
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };

	scene.ledger = kit_path(scene.kit, "ledger");
	scene.go_on = kit_path(scene.kit, "go_on");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "tools.yaml",
		arena_printf(scene.arena, tools, policy, kit_path(scene.kit, "first"),
		    scene.ledger, scene.go_on, scene.ledger, scene.ledger)));
	kit_start_all(scene.kit, 2, 1, 1);
	scene.first_worker = kit_pid(scene.kit, KIT_TOOLS, 0);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agent.yaml", agent), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* --- what is known ------------------------------------------------------------------ */

static void
visit_to_count(const char *tool, const char *key, int worker, void *arg)
{
	struct fx_count *count = arg;

	if (strcmp(tool, count->tool) != 0)
		return;
	ck_assert_msg(count->lines == 0 || strcmp(key, count->key) == 0,
	    "%s was called with %s and %s", tool, key, count->key);
	snprintf(count->key, sizeof count->key, "%s", key);
	count->worker = worker;
	count->lines++;
}

struct fx_count
fx_count_calls(const struct scene *scene, const char *tool)
{
	struct fx_count count = { .scene = scene, .tool = tool };

	ledger_read(scene->ledger, visit_to_count, &count);
	return count;
}

bool
fx_is_begun(void *arg)
{
	const struct fx_count *wanted = arg;

	return fx_count_calls(wanted->scene, wanted->tool).lines >= wanted->wanted;
}

unsigned
fx_wait_paying(struct scene *scene, unsigned times)
{
	struct fx_count count = { .scene = scene, .tool = "pay", .wanted = times };

	ck_assert_msg(client_wait(scene->client, fx_is_begun, &count, FX_WAIT_MS),
	    "pay has not begun %u times", times);
	return fx_count_calls(scene, "pay").worker == scene->first_worker ? 0 : 1;
}

void
fx_let_go_on(struct scene *scene)
{
	kit_write(scene->kit, "go_on", "");
}

/* --- runs --------------------------------------------------------------------------- */

void
fx_submit_to(struct scene *scene, const char *agent_name, const char *run,
    const char *what, const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent_name), "run",
		value_str(arena, run), "thread", value_str(arena, "t"), what,
		value_str(arena, text), NULL));
}

void
fx_submit(struct scene *scene, const char *run, const char *what, const char *text)
{
	fx_submit_to(scene, "clerk", run, what, text);
}

const struct value *
fx_wait_end(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, "t", run, FX_WAIT_MS), "%s never ended", run);
	ck_assert_int_eq(
	    store_run(scene->client->store, scene->arena, "t", run, &record), STORE_OK);
	return record;
}

void
fx_check_status(struct scene *scene, const char *run, const char *status)
{
	const struct value *record = fx_wait_end(scene, run);

	ck_assert_msg(value_text_is(value_get(record, "status"), status), "%s",
	    json_text(scene->arena, record));
}

const char *
fx_answer_to(struct scene *scene, const char *id, const char *status)
{
	const struct value *state = NULL, *messages;
	size_t i;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, "t", &state), STORE_OK);
	messages = value_get(state, "messages");
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (!value_text_is(value_get(message, "tool_call_id"), id))
			continue;
		ck_assert_msg(value_text_is(value_get(message, "status"), status), "%s",
		    json_text(scene->arena, message));
		return value_get_text(message, "content");
	}
	ck_abort_msg("nothing answers %s", id);
	return NULL;
}

unsigned
fx_uncertain_events(struct scene *scene, const char *run, const char *then)
{
	const struct value *events = value_empty_array();
	unsigned count = 0;
	size_t i;

	ck_assert_int_eq(
	    store_events(scene->client->store, scene->arena, "t", run, 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		if (!value_text_is(value_get(event, "kind"), "uncertain"))
			continue;
		ck_assert(value_text_is(value_get(event, "tool"), "pay"));
		ck_assert(value_text_is(value_get(event, "tool_call_id"), "a"));
		ck_assert(value_text_is(value_get(event, "then"), then));
		ck_assert_ptr_nonnull(value_get_text(event, "reason"));
		count++;
	}
	return count;
}

void
fx_check_calls(struct scene *scene, unsigned pays, unsigned notes)
{
	ck_assert_uint_eq(fx_count_calls(scene, "pay").lines, pays);
	ck_assert_uint_eq(fx_count_calls(scene, "note").lines, notes);
}
