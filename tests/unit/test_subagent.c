#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"
#include "sample_spec.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- the agents that are part of one ------------------------------------------------- */

static const struct value *
child(const struct spec *spec, const char *name)
{
	return value_get(value_get(spec->children, "subagent"), name);
}

static const struct value *
source(const struct spec *spec, const char *name)
{
	return value_get(child(spec, name), "source");
}

START_TEST(an_agent_takes_what_it_does_not_say_from_its_parent)
{
	const struct spec *spec = sample_spec(arena,
	    "model: openai:a\n"
	    "tools: [search]\n"
	    "middleware:\n"
	    "  - subagent:\n"
	    "      default_middleware: [todo_list]\n"
	    "      default_interrupt_on: {search: true}\n"
	    "      subagents:\n"
	    "        - {name: one, description: d}\n"
	    "        - {name: two, description: d, model: openai:b, tools: [],\n"
	    "           middleware: [tool_retry], interrupt_on: {}}\n");
	const char *hitl = "{'human_in_the_loop': {'interrupt_on': {'search': true}}}";

	ck_assert_value(arena, value_get(source(spec, "one"), "model"), "'openai:a'");
	ck_assert_value(arena, value_get(source(spec, "one"), "tools"), "['search']");
	ck_assert_value(arena, value_get(source(spec, "one"), "middleware"),
	    arena_printf(arena, "['todo_list', %s]", hitl));
	ck_assert_value(arena, value_get(source(spec, "two"), "model"), "'openai:b'");
	ck_assert_value(arena, value_get(source(spec, "two"), "tools"), "[]");
	ck_assert_value(arena, value_get(source(spec, "two"), "middleware"),
	    "['todo_list', 'tool_retry']");
	ck_assert(!value_has(source(spec, "two"), "interrupt_on"));
	ck_assert_uint_eq(
	    strlen(value_get_text(child(spec, "one"), "version")), (size_t)40);
}
END_TEST

START_TEST(the_defaults_come_before_the_parents)
{
	const struct spec *spec = sample_spec(arena,
	    "model: openai:a\n"
	    "tools: [search]\n"
	    "middleware:\n"
	    "  - subagent: {default_model: 'openai:b', default_tools: [calculate]}\n");

	ck_assert_value(
	    arena, value_get(source(spec, "general-purpose"), "model"), "'openai:b'");
	ck_assert_value(
	    arena, value_get(source(spec, "general-purpose"), "tools"), "['calculate']");
}
END_TEST

static const struct spec *
general(const char *wanted, const char *name)
{
	return sample_spec(
	    arena, arena_printf(arena,
		       "model: openai:a\n"
		       "middleware:\n"
		       "  - subagent:\n"
		       "      general_purpose_agent: %s\n"
		       "      subagents: [{name: %s, description: mine}]\n",
		       wanted, name));
}

START_TEST(the_general_one_is_there_unless_it_is_not_wanted_or_given)
{
	const struct spec *with = general("true", "x");
	const struct spec *without = general("false", "x");
	const struct spec *own = general("true", "general-purpose");

	ck_assert(child(with, "general-purpose") != NULL && child(with, "x") != NULL);
	ck_assert(child(without, "general-purpose") == NULL);
	ck_assert_value(
	    arena, value_get(source(own, "general-purpose"), "description"), "'mine'");
}
END_TEST

START_TEST(one_of_the_fleets_is_named)
{
	const struct spec *spec = sample_spec(arena,
	    "model: openai:a\n"
	    "middleware:\n"
	    "  - subagent:\n"
	    "      subagents: [{name: books, description: d, agent: accounting}]\n");

	ck_assert_value(arena, child(spec, "books"), "{'agent': 'accounting'}");
}
END_TEST

/* The mirrored task's description is the parent's, whatever that is. */
#define REFUSAL                                                                          \
	"{'subagent': {'delegates': false, 'task_description': 'Ask: - one: d (It goes " \
	"on with this conversation: do not repeat what is said.)\\n- two: d'}}"

START_TEST(a_fork_has_its_parents_prompt_and_a_task_that_refuses)
{
	const struct spec *spec =
	    sample_spec(arena, "model: openai:a\n"
			       "system_prompt: You lead.\n"
			       "middleware:\n"
			       "  - subagent:\n"
			       "      general_purpose_agent: false\n"
			       "      default_middleware: [filesystem, todo_list]\n"
			       "      task_description: 'Ask: {available_agents}'\n"
			       "      subagents:\n"
			       "        - {name: one, description: d, mode: fork, "
			       "system_prompt: You look.}\n"
			       "        - {name: two, description: d, mode: isolated}\n");

	ck_assert_value(arena, value_get(child(spec, "one"), "mode"), "'fork'");
	ck_assert(!value_has(child(spec, "two"), "mode"));
	ck_assert_str_eq(value_get_text(source(spec, "one"), "system_prompt"),
	    "You lead.\n\nYou look.");
	ck_assert(!value_has(source(spec, "two"), "system_prompt"));
	ck_assert_value(arena, value_get(source(spec, "one"), "middleware"),
	    "['filesystem', " REFUSAL ", 'todo_list']");
	ck_assert_value(arena, value_get(source(spec, "two"), "middleware"),
	    "['filesystem', 'todo_list']");
	/* A subagent is no agent's key. */
	ck_assert(!value_has(source(spec, "one"), "mode"));
}
END_TEST

static void
check_refused(const char *subagents, const char *path, const char *says)
{
	const char *at = NULL, *error = NULL;
	const struct value *agent = sample_source(
	    arena, arena_printf(arena,
		       "model: openai:a\n"
		       "middleware:\n"
		       "  - subagent: {general_purpose_agent: false, subagents: %s}\n",
		       subagents));

	ck_assert_msg(spec_load(arena, agent, "test", &at, &error) == NULL, "%s is taken",
	    subagents);
	ck_assert_str_eq(at, path);
	ck_assert_has(error, says);
}

START_TEST(mistakes_are_shown_where_they_stand)
{
#define AT "/middleware/0/subagent/subagents"
	check_refused("[]", AT, "names no agent");
	check_refused("[x]", AT "/0", "must be a map");
	check_refused("[{description: d}]", AT "/0/name", "needs a name");
	check_refused("[{name: x}]", AT "/0/description", "needs a description");
	check_refused("[{name: x, description: d}, {name: x, description: d}]",
	    AT "/1/name", "already");
	check_refused("[{name: x, description: d, modle: y}]", AT "/0/modle",
	    "did you mean \"model\"?");
	check_refused("[{name: x, description: d, model: y}]", AT "/0/model",
	    "must be provider:name");
	check_refused("[{name: x, description: d, middleware: [tool_retri]}]",
	    AT "/0/middleware/0", "did you mean \"tool_retry\"?");
	check_refused("[{name: x, description: d, middleware: 1}]", AT "/0/middleware",
	    "must be a list");
	check_refused("[{name: x, description: d, interrupt_on: [a]}]",
	    AT "/0/interrupt_on", "must be a map");
	check_refused("[{name: x, description: d, agent: y, tools: []}]", AT "/0",
	    "is the agent's own");
	check_refused("[{name: x, description: d, mode: forked}]", AT "/0/mode",
	    "must be \"isolated\" or \"fork\"");
	check_refused("[{name: x, description: d, mode: fork, system_prompt: 7}]",
	    AT "/0/system_prompt", "must be");
	check_refused("[{name: x, description: d, mode: fork, skills: [/s]}]",
	    AT "/0/skills", "its parent's skills");
}
END_TEST

/* settings: of `subagent`, beside general_purpose_agent: false. */
static void
check_default_refused(const char *settings, const char *path, const char *says)
{
	const char *at = NULL, *error = NULL;
	const struct value *source = sample_source(
	    arena, arena_printf(arena,
		       "model: openai:a\nmiddleware: [{subagent: {general_purpose_agent: "
		       "false, %s}}]\n",
		       settings));

	ck_assert_ptr_null(spec_load(arena, source, "test", &at, &error));
	ck_assert_str_eq(at, arena_printf(arena, "/middleware/0/subagent/%s", path));
	ck_assert_has(error, says);
}

/* What an agent has from the defaults is at fault there, and its own where it stands, whatever comes before. */
START_TEST(mistakes_in_defaults_are_shown_there)
{
#define ONE "subagents: [{name: x, description: d}]"
	check_default_refused(
	    "default_model: y, " ONE, "default_model", "must be provider:name");
	check_default_refused("default_tools: [3], " ONE, "default_tools/0", "must be");
	check_default_refused("default_middleware: [todo_list, tool_retri], " ONE,
	    "default_middleware/1", "did you mean \"tool_retry\"?");
	check_default_refused("default_middleware: [{pii: {pii_typ: email}}], " ONE,
	    "default_middleware/0/pii/pii_typ", "pii_type");
	check_default_refused("default_interrupt_on: {ls: 4}, " ONE,
	    "default_interrupt_on/ls", "must be true, false");
	check_default_refused(
	    "default_middleware: [todo_list], default_interrupt_on: {ls: "
	    "true}, subagents: [{name: x, description: d, middleware: "
	    "[model_retry, tool_retri]}]",
	    "subagents/0/middleware/1", "did you mean \"tool_retry\"?");
	check_default_refused(
	    "default_middleware: [todo_list], default_interrupt_on: {ls: "
	    "true}, subagents: [{name: x, description: d, "
	    "interrupt_on: {ls: 4}}]",
	    "subagents/0/interrupt_on/ls", "must be true, false");
	check_default_refused("default_middleware: [filesystem, tool_retri], subagents: "
			      "[{name: x, description: d, mode: fork}]",
	    "default_middleware/1", "did you mean \"tool_retry\"?");
}
END_TEST

START_TEST(general_purpose_mistakes_are_shown_there)
{
	const char *at = NULL, *error = NULL;
	const struct value *source = sample_source(arena,
	    "model: openai:a\nmiddleware: [{subagent: {default_middleware: [todo_list], "
	    "general_purpose_middleware: [todo_list, tool_retri]}}]\n");

	ck_assert_ptr_null(spec_load(arena, source, "test", &at, &error));
	ck_assert_str_eq(at, "/middleware/0/subagent/general_purpose_middleware/1");
}
END_TEST

START_TEST(agents_within_agents_have_an_end)
{
	const char *text = "[{name: x, description: d}]", *path = "";
	size_t i;

	for (i = 0; i < 4; i++) {
		text = arena_printf(arena,
		    "[{name: x, description: d, middleware: [{subagent: "
		    "{general_purpose_agent: false, subagents: %s}}]}]",
		    text);
		path = arena_printf(arena, "%s/0/middleware/0/subagent/subagents", path);
	}
	check_refused(text, arena_printf(arena, "%s%s/0", AT, path), "nested too deep");
}
END_TEST

/* --- the tool ------------------------------------------------------------------------- */

static const struct middleware_use *
aide_use(const char *more)
{
	return literal_use(arena, "subagent",
	    arena_printf(arena,
		"{'general_purpose_agent': false, 'subagents': [{'name': 'aide', "
		"'description': 'Helps with all.'}]%s}",
		more));
}

static const struct value *
call_of(const struct middleware_use *use, const char *args, const char *children)
{
	play.profile = literal(arena, "{'tools': ['task']}");
	play.request = value_map_with(arena,
	    literal(arena,
		arena_printf(arena,
		    "{'tool_call': {'id': 'c', 'name': 'task', 'args': %s}, 'children': "
		    "%s}",
		    args, children)),
	    "tool", value_at(use->tools, 0));
	play.outcomes[0] = "none";
	play.count = 0;
	return play_tool(&play, stub_chain(arena, use, NULL));
}

static const struct value *
call(const char *args, const char *children)
{
	return call_of(aide_use(""), args, children);
}

#define ARGS "{'description': 'Do it.', 'subagent_type': 'aide'}"

static const struct value *
update_of(const struct value *body)
{
	return value_get(value_at(value_get(body, "commands"), 0), "update");
}

START_TEST(the_model_is_told_of_the_agents)
{
	const struct value *tool = value_at(aide_use("")->tools, 0);
	const struct value *own = value_at(
	    aide_use(", 'task_description': 'Of: {available_agents}.'")->tools, 0);

	ck_assert_has(value_get_text(tool, "description"), "- aide: Helps with all.");
	ck_assert_str_eq(
	    value_get_text(own, "description"), "Of: - aide: Helps with all..");
}
END_TEST

START_TEST(the_call_ends_with_what_is_wanted)
{
	const struct value *body = call(ARGS, "[]");

	ck_assert(!value_has(body, "fault") && !value_has(body, "commands"));
	ck_assert_value(arena, value_get(value_get(body, "child"), "name"), "'aide'");
	ck_assert_value(
	    arena, value_get(value_get(body, "child"), "middleware"), "'subagent'");
	ck_assert_value(arena,
	    value_get(
		value_at(value_get(value_get(body, "child"), "messages"), 0), "content"),
	    "'Do it.'");
}
END_TEST

START_TEST(its_report_is_the_answer)
{
	const struct value *update = update_of(call(ARGS,
	    "[{'content': 'Done.', 'update': {'files': {'/a': 1}}, 'run': 'r-1-0-1'}]"));
	const struct value *message = value_at(value_get(update, "messages"), 0);

	ck_assert_value(arena, value_get(message, "content"), "'Done.'");
	ck_assert_value(arena, value_get(message, "status"), "'success'");
	ck_assert_value(arena, value_get(message, "artifact"), "{'run': 'r-1-0-1'}");
	ck_assert_value(arena, value_get(update, "files"), "{'/a': 1}");
	update = update_of(
	    call(ARGS, "[{'content': 'x', 'structured_response': {'fact': 1}}]"));
	message = value_at(value_get(update, "messages"), 0);
	ck_assert_str_eq(value_get_text(message, "content"), "{\"fact\":1}");
}
END_TEST

START_TEST(its_failure_is_the_tools)
{
	const struct value *fault = value_get(
	    call(ARGS, "[{'fault': {'type': 'OSError', 'message': 'no disk'}}]"),
	    "fault");

	ck_assert_value(arena, value_get(fault, "type"), "'OSError'");
	ck_assert(!value_get_bool(fault, "fatal", false));
}
END_TEST

START_TEST(an_agent_that_is_not_there_is_told_with_those_that_are)
{
	const struct value *message = value_at(
	    value_get(
		update_of(call("{'description': 'x', 'subagent_type': 'writer'}", "[]")),
		"messages"),
	    0);

	ck_assert_has(value_get_text(message, "content"), "`writer`");
	ck_assert_has(value_get_text(message, "content"), "`aide`");
	ck_assert_value(arena, value_get(message, "status"), "'error'");
}
END_TEST

START_TEST(a_fork_is_told_that_it_is_one)
{
	const struct middleware_use *use = literal_use(arena, "subagent",
	    "{'general_purpose_agent': false, 'subagents': [{'name': 'twin', "
	    "'description': 'd', 'mode': 'fork'}]}");
	const struct value *wish = value_get(
	    call_of(use, "{'description': 'Do it.', 'subagent_type': 'twin'}", "[]"),
	    "child");
	const struct value *message;

	message = value_at(value_get(wish, "messages"), 0);
	ck_assert_has(value_get_text(message, "content"), "said before you were called");
	ck_assert_has(value_get_text(message, "content"), "\n\nDo it.");
}
END_TEST

START_TEST(a_task_that_refuses_asks_nobody)
{
	const struct middleware_use *use =
	    literal_use(arena, "subagent", "{'delegates': false}");
	const struct value *body = call_of(use, ARGS, "[]");

	ck_assert_uint_eq(value_size(use->children), (size_t)0);
	ck_assert(!value_has(body, "child"));
	ck_assert_has(value_get_text(
			  value_at(value_get(update_of(body), "messages"), 0), "content"),
	    "cannot hand it on");
}
END_TEST

TCase *tcase_subagent(void);
TCase *
tcase_subagent(void)
{
	TCase *tcase = tcase_create("subagent");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_agent_takes_what_it_does_not_say_from_its_parent);
	tcase_add_test(tcase, the_defaults_come_before_the_parents);
	tcase_add_test(tcase, the_general_one_is_there_unless_it_is_not_wanted_or_given);
	tcase_add_test(tcase, one_of_the_fleets_is_named);
	tcase_add_test(tcase, a_fork_has_its_parents_prompt_and_a_task_that_refuses);
	tcase_add_test(tcase, mistakes_are_shown_where_they_stand);
	tcase_add_test(tcase, mistakes_in_defaults_are_shown_there);
	tcase_add_test(tcase, general_purpose_mistakes_are_shown_there);
	tcase_add_test(tcase, agents_within_agents_have_an_end);
	tcase_add_test(tcase, the_model_is_told_of_the_agents);
	tcase_add_test(tcase, the_call_ends_with_what_is_wanted);
	tcase_add_test(tcase, its_report_is_the_answer);
	tcase_add_test(tcase, its_failure_is_the_tools);
	tcase_add_test(tcase, an_agent_that_is_not_there_is_told_with_those_that_are);
	tcase_add_test(tcase, a_fork_is_told_that_it_is_one);
	tcase_add_test(tcase, a_task_that_refuses_asks_nobody);
	return tcase;
}
