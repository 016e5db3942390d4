/* Wraps around a call that waits for another agent, on a fleet of real processes: they see one call, and what
 * they asked in front of it is there behind it. */
#include <check.h>
#include <string.h>

#include "ask_bench.h"

TCase *tcase_wraps_of_tasks(void);

/* How often it has begun is in long-term memory. */
#define COUNTS                                                                           \
	"        function begin(runtime)\n"                                              \
	"          local at = {op = 'get', namespace = {'wraps'}, key = "                \
	"runtime.thread_id}\n"                                                           \
	"          local got = runtime.store(at)\n"                                      \
	"          local has = got.item ~= nil and got.item ~= null\n"                   \
	"          local value = {n = (has and got.item.value.n or 0) + 1}\n"            \
	"          runtime.store{op = 'put', namespace = {'wraps'}, key = at.key, "      \
	"value = value}\n"                                                               \
	"          return value, got\n"                                                  \
	"        end\n"                                                                  \
	"        function say(runtime)\n"                                                \
	"          return runtime.call_model{messages = 'say', model = "                 \
	"'scripted:side'}\n"                                                             \
	"        end\n"

/* What each does with a call of `from`, when it has begun. */
static const struct {
	const char *name, *from, *does;
} agents[] = {
	{ "one", "task",
	    "          local before = say(runtime)\n"
	    "          local result = handler(request)\n"
	    "          return before.text .. value.n .. result.text .. "
	    "say(runtime).text\n" },
	{ "twice", "task",
	    "          return handler(request).text .. value.n .. "
	    "handler(request).text\n" },
	{ "asks_before", "task",
	    "          local answer = runtime.interrupt('may I?')\n"
	    "          return answer .. value.n .. handler(request).text\n" },
	{ "asks_behind", "task",
	    "          local text = handler(request).text\n"
	    "          return text .. value.n .. runtime.interrupt('good?')\n" },
	{ "renames", "task",
	    "          local text = handler(request).text\n"
	    "          return text .. value.n .. handler(request:override{name = 'note', "
	    "args = {text = 'renamed'}}).text\n" },
	{ "renamed", "note",
	    "          return value.n .. handler(request:override{name = 'task', args = "
	    "{description = 'do it', subagent_type = 'noter'}}).text\n" },
	{ "buys", "task",
	    "          local before = say(runtime)\n"
	    "          return before.text .. value.n .. "
	    "handler(request:override{args = {description = 'x', subagent_type = "
	    "'buyer'}}).text\n" },
};
#define AGENTS (sizeof agents / sizeof *agents)

static const char agent[] =
    "name: %s\n"
    "model: scripted:m\n"
    "tools: [note]\n"
    "middleware:\n"
    "  - lua:\n"
    "      name: sees\n"
    "      code: |\n" COUNTS "        function wrap_tool_call(request, handler)\n"
    "          local runtime = request.runtime\n"
    "          if request.tool_call.name ~= '%s' then return handler(request) end\n"
    "          local value, got = begin(runtime)\n"
    "%s"
    "        end\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - {name: noter, description: notes, model: 'scripted:noter', tools: "
    "[note], middleware: [{lua: {name: l, code: 'function wrap_tool_call(request, "
    "handler) return handler(request) end'}}]}\n"
    "        - {name: buyer, description: buys, model: 'scripted:buyer', tools: "
    "[pay]}\n"
    "script:\n"
    "  side: [{content: Said.}]\n"
    "  noter:\n"
    "    - tool_calls: [{id: n, name: note, args: {text: kept}}]\n"
    "    - content: It is noted.\n"
    "  buyer:\n"
    "    - tool_calls: [{id: p, name: pay, args: {amount: 3}}]\n"
    "    - content: It is bought.\n"
    "  m:\n"
    "    - tool_calls: [%s]\n"
    "    - content: All is done.\n"
    "---\n";

#define TASK "{id: a, name: task, args: {description: do it, subagent_type: noter}}"
#define NOTE "{id: a, name: note, args: {text: own}}"

static void
act(void (*play)(struct scene *scene))
{
	struct arena *arena = arena_new();
	const char *text = "";
	size_t i;

	for (i = 0; i < AGENTS; i++)
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, agent, agents[i].name, agents[i].from,
			agents[i].does,
			strcmp(agents[i].from, "note") == 0 ? NOTE : TASK));
	ask_act_with(play, text);
	arena_destroy(&arena);
}

/* On the thread of the agent's name. */
static void
check_run(struct scene *scene, const char *name, const char *run, const char *what,
    const char *text, const char *says)
{
	ask_check_status(scene, ask_run(scene, name, run, name, what, text), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, name), says);
}

static void
check_asks(struct scene *scene, const char *name, const char *run)
{
	ask_check_status(
	    scene, ask_run(scene, name, run, name, "input", "\"hi\""), "interrupted");
}

static void
play_one(struct scene *scene)
{
	check_run(scene, "one", "r1", "input", "\"hi\"", "a=Said.1It is noted.Said.;");
	check_run(
	    scene, "twice", "r2", "input", "\"hi\"", "a=It is noted.1It is noted.;");
	check_run(scene, "renames", "r3", "input", "\"hi\"", "a=It is noted.1noted;");
	/* A call that did not look like one that waits keeps no place. */
	check_run(scene, "renamed", "r4", "input", "\"hi\"", "a=2It is noted.;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 5);
	ck_assert_uint_eq(ask_lines_of(scene, "renamed").count, 1);
}

START_TEST(a_wrap_sees_one_call)
{
	act(play_one);
}
END_TEST

/* As with every question the hook runs again from its first line; the child does not. */
static void
play_asks(struct scene *scene)
{
	check_asks(scene, "asks_before", "r1");
	check_asks(scene, "asks_behind", "r2");
	check_run(scene, "asks_before", "r3", "resume", "\"yes\"", "a=yes2It is noted.;");
	check_run(scene, "asks_behind", "r4", "resume", "\"yes\"", "a=It is noted.2yes;");
	ck_assert_uint_eq(ask_lines_of(scene, "kept").count, 2);
}

START_TEST(a_wrap_asks_beside_its_child)
{
	act(play_asks);
}
END_TEST

/* What waits for a human waits for long: no place is kept that a worker's end would not let go. */
static void
play_stopped(struct scene *scene)
{
	check_asks(scene, "buys", "r1");
	kit_stop(scene->kit, KIT_TOOLS, 0);
	kit_start(scene->kit, KIT_TOOLS, 0);
	check_run(scene, "buys", "r2", "resume", "\"yes\"", "a=Said.2It is bought.;");
}

START_TEST(a_worker_ends_while_it_keeps_a_place)
{
	act(play_stopped);
}
END_TEST

TCase *
tcase_wraps_of_tasks(void)
{
	TCase *tcase = tcase_create("wraps_of_tasks");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_wrap_sees_one_call);
	tcase_add_test(tcase, a_wrap_asks_beside_its_child);
	tcase_add_test(tcase, a_worker_ends_while_it_keeps_a_place);
	return tcase;
}
