#include "dead_bench.h"

#include <check.h>

#include "store_past.h"

static const char deadly_agent[] = "name: clerk\n"
				   "model: scripted:clerk\n"
				   "middleware: [%s]\n"
				   "script:\n"
				   "  clerk:\n"
				   "    - {delay_ms: 400, content: Never read.}\n"
				   "  quick:\n"
				   "    - {content: One.}\n";
static const char patient_agent[] = "name: patient\n"
				    "model: scripted:patient\n"
				    "tools: [hold]\n"
				    "script:\n"
				    "  patient:\n"
				    "    - tool_calls: [{id: a, name: hold, args: {}}]\n"
				    "    - {content: It was worth the wait.}\n";
static const char quick_agent[] = "name: quick\n"
				  "model: scripted:quick\n"
				  "script:\n"
				  "  quick:\n"
				  "    - {delay_ms: 400, content: Here.}\n";
static const char tools[] = "name: hold\n"
			    "description: holds until it is let go\n"
			    "timeout_ms: 600000\n"
			    "idempotent: false\n"
			    "input: none\n"
			    "command: |\n"
			    "  await-file there %s\n"
			    "  echo held\n"
			    "---\n"
			    "name: hold_any\n"
			    "description: the same, and may run twice\n"
			    "timeout_ms: 600000\n"
			    "input: none\n"
			    "command: |\n"
			    "  await-file there %s\n"
			    "  echo held\n";

const struct value *
dead_record(const struct trouble *trouble, const char *thread, const char *run)
{
	const struct value *record = NULL;

	store_run(trouble->client->store, trouble->arena, thread, run, &record);
	return record;
}

const char *
dead_epoch(const struct trouble *trouble, const char *thread)
{
	const struct value *epoch = NULL;

	ck_assert_int_eq(
	    redis_text(trouble->client->redis, trouble->arena, DEAD_WAIT_MS, &epoch,
		"HGET", store_thread_key(trouble->arena, thread), "epoch", NULL),
	    REDIS_OK);
	return redis_reply_text(epoch) == NULL
		   ? ""
		   : arena_strdup(trouble->arena, redis_reply_text(epoch));
}

struct trouble
trouble_new(const char *middleware)
{
	struct trouble trouble = { .kit = kit_new(), .arena = arena_new() };

	trouble.plugin = kit_built(trouble.kit, "plugins/takes_down.so");
	trouble.let_go = kit_path(trouble.kit, "let_go");
	kit_flag(trouble.kit, KIT_COORDINATOR, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_MODEL, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_TOOLS, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_TOOLS, "--tools",
	    kit_write(trouble.kit, "tools.yaml",
		arena_printf(trouble.arena, tools, trouble.let_go, trouble.let_go)));
	kit_start_all(trouble.kit, 1, 1, 1);
	kit_flotilla(trouble.kit, "agents", "apply", "--plugin", trouble.plugin,
	    kit_write(trouble.kit, "clerk.yaml",
		arena_printf(trouble.arena, deadly_agent, middleware)),
	    NULL);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "patient.yaml", patient_agent), NULL);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "quick.yaml", quick_agent), NULL);
	return trouble;
}

void
trouble_end(struct trouble *trouble)
{
	kit_destroy(&trouble->kit);
	arena_destroy(&trouble->arena);
}

void
trouble_submit(struct trouble *trouble, const char *agent, const char *name)
{
	struct arena *arena = trouble->arena;

	client_submit(trouble->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, name), "thread", value_str(arena, name), "input",
		value_str(arena, "\"Hello\""), NULL));
}

bool
trouble_calls(void *arg)
{
	const struct trouble *trouble = arg;
	const struct value *history = NULL;

	store_history(trouble->client->store, trouble->arena, "p", &history);
	return value_size(history) > 1; /* the model has asked for the tool */
}

bool
trouble_rests(void *arg)
{
	const struct claim_wait *wait = arg;

	return strcmp(dead_epoch(wait->trouble, "p"), wait->epoch) != 0 &&
	       value_get_int(dead_record(wait->trouble, "p", "p"), "attempts", 0) <=
		   DEAD_PROVED;
}
