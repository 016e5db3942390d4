#include "child_bench.h"

#include <check.h>
#include <czmq.h>
#include <string.h>

#include "chat.h"
#include "json.h"
#include "ledger.h"
#include "store_fleet.h"
#include "verdict.h"

#define TASK(id, agent)                                                                  \
	"{id: " id ", name: task, args: {description: do it, subagent_type: " agent "}}"
#define WORKER                                                                           \
	"subagent: {general_purpose_agent: false, subagents: [{name: worker, "           \
	"description: works, model: 'scripted:worker', tools: [work]}]}"
#define WORKERS_SCRIPT                                                                   \
	"  worker:\n"                                                                    \
	"    - tool_calls: [{id: w, name: work, args: {}}]\n"                            \
	"    - content: I worked.\n"
#define BOSS(name, more, calls)                                                          \
	"name: " name "\n"                                                               \
	"model: scripted:m\n" more "middleware: [" WORKER "]\n"                          \
	"script:\n" WORKERS_SCRIPT "  m:\n"                                              \
	"    - tool_calls: [" calls "]\n"                                                \
	"    - content: All is done.\n"                                                  \
	"---\n"

/* clang-format off */
static const char agents[] =
	BOSS("boss", "", TASK("a", "worker"))
	BOSS("pair", "", TASK("a", "worker") ", " TASK("b", "worker"))
	BOSS("failing", "tools: [fail]\ntool_errors: raise\n",
	    TASK("a", "worker") ", {id: b, name: fail, args: {}}")
	"name: deep\n"
	"model: scripted:m\n"
	"middleware:\n"
	"  - subagent:\n"
	"      general_purpose_agent: false\n"
	"      subagents:\n"
	"        - name: middle\n"
	"          description: has it done\n"
	"          model: scripted:middle\n"
	"          middleware: [" WORKER "]\n"
	"script:\n" WORKERS_SCRIPT
	"  middle:\n"
	"    - tool_calls: [" TASK("m", "worker") "]\n"
	"    - content: I had it worked.\n"
	"  m:\n"
	"    - tool_calls: [" TASK("a", "middle") "]\n"
	"    - content: All is done.\n"
	"---\n"
	"name: wrapped\n"
	"model: scripted:m\n"
	"middleware:\n"
	"  - tool_retry: {initial_delay: 0}\n"
	"  - lua:\n"
	"      name: sees\n"
	"      code: |\n"
	"        function wrap_tool_call(request, handler)\n"
	"          local asked = {messages = 'say', model = 'scripted:side'}\n"
	"          local before = request.runtime.call_model(asked)\n"
	"          local result = handler(request)\n"
	"          local behind = request.runtime.call_model(asked)\n"
	"          return before.text .. result.text .. behind.text\n"
	"        end\n"
	"  - " WORKER "\n"
	"script:\n" WORKERS_SCRIPT
	"  side: [{content: Said.}]\n"
	"  m:\n"
	"    - tool_calls: [" TASK("a", "worker") "]\n"
	"    - content: All is done.\n"
	"---\n"
	"name: forked\n"
	"model: scripted:m\n"
	"middleware:\n"
	"  - todo_list\n"
	"  - subagent: {general_purpose_agent: false, subagents: [{name: worker, description: works, mode: fork, "
	"model: 'scripted:worker', tools: [work]}]}\n"
	"script:\n"
	"  worker: [{content: none}, {tool_calls: [{id: w, name: work, args: {}}]}, {content: ''}]\n"
	"  m:\n"
	"    - {content: I have a plan., tool_calls: [{id: p, name: write_todos, args: {todos: []}}]}\n"
	"    - tool_calls: [" TASK("a", "worker") "]\n"
	"    - content: All is done.\n"
	"---\n"
	"name: starts\n"
	"model: scripted:m\n"
	"middleware: [{async_subagent: {async_subagents: [{name: worker, description: works, "
	"graph_id: single}]}}]\n"
	"script:\n"
	"  m:\n"
	"    - tool_calls: [{id: a, name: start_async_task, args: {description: do it, "
	"subagent_type: worker}}]\n"
	"    - content: It has begun.\n"
	"---\n"
	"name: single\n"
	"model: scripted:worker\n"
	"tools: [work]\n"
	"script:\n" WORKERS_SCRIPT;
/* clang-format on */

static const char tools[] = "name: work\n"
			    "description: works\n"
			    "idempotent: false\n"
			    "input: none\n"
			    "command: |\n"
			    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
			    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
			    "  echo \"work $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
			    "  exec await-file there %s 0 worked\n"
			    "---\n"
			    "name: fail\n"
			    "description: fails, when it may\n"
			    "input: none\n"
			    "command: 'await-file there %s; exit 1'\n";

static void
play_main(struct fleet_client *client, void *arg)
{
	struct children *children = arg;

	children->storm.client = client;
	children->play(children);
}

void
cb_act(unsigned coordinators, const char *slots, void (*play)(struct children *children))
{
	struct storm_plan plan = { .coordinators = coordinators };
	struct children children = { .play = play };
	struct storm *storm = &children.storm;

	*storm = (struct storm){ .plan = &plan, .arena = arena_new(), .kit = kit_new() };
	storm->ledger = kit_path(storm->kit, "ledger");
	children.go_on = kit_path(storm->kit, "go_on");
	children.fail = kit_path(storm->kit, "fail");
	kit_flag(storm->kit, KIT_TOOLS, "--tools",
	    kit_write(storm->kit, "tools.yaml",
		arena_printf(
		    storm->arena, tools, storm->ledger, children.go_on, children.fail)));
	kit_flag(storm->kit, KIT_TOOLS, "--slots", "500");
	if (slots != NULL)
		kit_flag(storm->kit, KIT_COORDINATOR, "--slots", slots);
	kit_start_all(storm->kit, 1, 1, coordinators);
	kit_flotilla(storm->kit, "agents", "apply",
	    kit_write(storm->kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(storm->kit), play_main, &children);
	kit_destroy(&storm->kit);
	arena_destroy(&storm->arena);
}

/* --- what works ------------------------------------------------------------------------ */

struct works {
	struct children *children;
	zhashx_t *keys;
	unsigned begun, wanted;
};

static void
count_work(const char *tool, const char *key, int worker, void *arg)
{
	struct works *works = arg;

	(void)worker;
	ck_assert_str_eq(tool, "work");
	ck_assert_msg(
	    zhashx_insert(works->keys, key, works) == 0, "%s has begun twice", key);
	works->begun++;
}

unsigned
cb_works(struct children *children)
{
	struct works works = { .keys = zhashx_new() };

	ledger_read(children->storm.ledger, count_work, &works);
	zhashx_destroy(&works.keys);
	return works.begun;
}

/* Nothing is left that could begin. */
static bool
have_all_ended(struct children *children)
{
	const struct value *counts = NULL;
	struct arena *arena = arena_new();
	bool ended =
	    store_counts(children->storm.client->store, arena, &counts) == STORE_OK &&
	    value_get_int(counts, "inbox", 1) == 0 &&
	    value_get_int(counts, "live_threads", 1) == 0;

	arena_destroy(&arena);
	return ended;
}

static bool
have_begun(void *arg)
{
	struct works *works = arg;

	works->begun = cb_works(works->children);
	return works->begun >= works->wanted ||
	       (works->children->unsent && have_all_ended(works->children));
}

void
cb_wait_working(struct children *children, unsigned count)
{
	struct works works = { .children = children, .wanted = count };

	ck_assert_msg(client_wait(children->storm.client, have_begun, &works, CB_WAIT_MS),
	    "%u of %u works have begun", works.begun, count);
}

void
cb_let_go_on(struct children *children)
{
	kit_write(children->storm.kit, "go_on", "");
}

void
cb_let_fail(struct children *children)
{
	kit_write(children->storm.kit, "fail", "");
}

/* --- runs ------------------------------------------------------------------------------ */

void
cb_submit(struct children *children, const char *agent, unsigned count)
{
	struct storm *storm = &children->storm;
	struct arena *arena = storm->arena;

	while (storm->runs < count) {
		storm->runs++;
		client_submit(storm->client, arena,
		    value_map(arena, "agent", value_str(arena, agent), "run",
			value_str(arena, storm_run(storm, storm->runs)), "thread",
			value_str(arena, storm_thread(storm, storm->runs)), "input",
			value_str(arena, "\"hi\""), NULL));
	}
}

const struct value *
cb_record(struct children *children, const char *thread, const char *run)
{
	const struct value *record = NULL;

	store_run(
	    children->storm.client->store, children->storm.arena, thread, run, &record);
	return record;
}

static const char *
thread_of(struct children *children, const char *run)
{
	return strchr(run, '-') != NULL
		   ? run
		   : arena_printf(children->storm.arena, "t%s", run + 1);
}

const struct value *
cb_wait_end(struct children *children, const char *run)
{
	const char *thread = thread_of(children, run);

	ck_assert_msg(client_wait_end(children->storm.client, thread, run, CB_WAIT_MS),
	    "%s never ended", run);
	return cb_record(children, thread, run);
}

void
cb_check_status(struct children *children, const char *run, const char *status)
{
	const struct value *record = cb_wait_end(children, run);

	ck_assert_msg(value_text_is(value_get(record, "status"), status),
	    "%s is no %s: %s", run, status, json_text(children->storm.arena, record));
}

void
cb_cancel(struct children *children, const char *run)
{
	const char *answer, *ended;

	ck_assert_int_eq(
	    store_cancel(children->storm.client->store, children->storm.arena,
		thread_of(children, run), run, &answer, &ended),
	    STORE_OK);
	ck_assert_str_eq(answer, "CANCELLING");
}

const char *
cb_said(struct children *children, const char *run)
{
	const struct value *state = NULL;

	ck_assert_int_eq(store_thread(children->storm.client->store,
			     children->storm.arena, thread_of(children, run), &state),
	    STORE_OK);
	return json_text(children->storm.arena, value_get(state, "messages"));
}

static void
check_messages(struct children *children, const char *run, unsigned tasks)
{
	struct arena *arena = children->storm.arena;
	const struct value *state = NULL, *messages, *one;
	size_t i;

	ck_assert_int_eq(store_thread(children->storm.client->store, arena,
			     thread_of(children, run), &state),
	    STORE_OK);
	messages = value_get(state, "messages");
	ck_assert_msg(
	    value_size(messages) == 3 + tasks, "%s: %s", run, json_text(arena, messages));
	for (i = 0; i < tasks; i++) {
		one = value_at(messages, 2 + i);
		ck_assert_msg(chat_is(one, "tool") &&
				  value_text_is(value_get(one, "status"), "success") &&
				  strstr(chat_text(arena, one), "worked") != NULL,
		    "%s: %s", run, json_text(arena, one));
	}
	ck_assert_str_eq(chat_text(arena, value_at(messages, 2 + tasks)), "All is done.");
}

void
cb_check_reported(struct children *children, unsigned count, unsigned tasks)
{
	unsigned i;

	for (i = 1; i <= count; i++) {
		const char *run = storm_run(&children->storm, i);

		cb_check_status(children, run, "success");
		check_messages(children, run, tasks);
	}
	if (children->unsent)
		ck_assert_uint_le(cb_works(children), (size_t)count * tasks);
	else
		ck_assert_uint_eq(cb_works(children), (size_t)count * tasks);
}

void
cb_check_leftovers(struct children *children)
{
	verdict_leftovers(&children->storm);
}
