/* The state of a run and those of its children, on a real fleet; what crosses is tested in
 * tests/unit/test_shared_fields.c. */
#include <check.h>

#include "ask_bench.h"
#include "json.h"
#include "literal.h"

TCase *tcase_children_state(void);

#define FIELDS                                                                           \
	"{files: {type: object, reducer: merge, default: {}}, "                          \
	"log: {type: array, reducer: append, default: [n]}, "                            \
	"total: {type: integer, reducer: add, default: 5}, "                             \
	"mood: {type: string}, secret: {type: string, private: true}}"

#define WRITER(name, code)                                                               \
	"{name: " name ", description: writes, model: 'scripted:" name                   \
	"', state: " FIELDS ", middleware: [{lua: {name: l, code: '" code "'}}]}"
#define WRITES(update) "before_model = function(state) return " update " end"
#define TASK(id, agent)                                                                  \
	"{id: " id ", name: task, args: {description: do it, subagent_type: " agent "}}"

/* clang-format off */
static const char agents[] =
    "name: boss\n"
    "model: scripted:m\n"
    "state: " FIELDS "\n"
    "middleware:\n"
    "  - lua: {name: own, code: 'before_agent = function() return {secret = \"mine\"} end'}\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - " WRITER("one",
	WRITES("{files = {a = #state.messages, b = \"one\"}, log = {\"one\"}, total = 1, "
	       "mood = \"good\", secret = \"its\"}")) "\n"
    "        - " WRITER("two",
	WRITES("{files = {c = state.files.c .. \"!\"}, log = {\"two\"}, total = 2}")) "\n"
    "        - " WRITER("three", WRITES("{mood = \"bad\"}")) "\n"
    "script:\n"
    "  one: [{content: I am one.}]\n"
    "  two: [{content: I am two.}]\n"
    "  three: [{content: I am three.}]\n"
    "  m:\n"
    "    - tool_calls: [" TASK("a", "one") ", " TASK("b", "two") "]\n"
    "    - tool_calls: [" TASK("c", "three") "]\n"
    "    - content: All is done.\n"
    "---\n"
    "name: torn\n"
    "model: scripted:m\n"
    "state: " FIELDS "\n"
    "middleware:\n"
    "  - subagent:\n"
    "      general_purpose_agent: false\n"
    "      subagents:\n"
    "        - " WRITER("one", WRITES("{mood = \"good\"}")) "\n"
    "        - " WRITER("three", WRITES("{mood = \"bad\"}")) "\n"
    "script:\n"
    "  one: [{content: I am one.}]\n"
    "  three: [{content: I am three.}]\n"
    "  m:\n"
    "    - tool_calls: [" TASK("a", "one") ", " TASK("b", "three") "]\n"
    "    - content: All is done.\n";
/* clang-format on */

static void
play_state(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *record = ask_run(scene, "boss", "r1", "t", "input",
	    "{\"messages\": \"hi\", \"files\": {\"b\": 0, \"c\": \"c\"}, \"log\": "
	    "[\"p\"], "
	    "\"total\": 10}");
	const struct value *output = value_get(record, "output");

	ask_check_status(scene, record, "success");
	ck_assert_value(
	    arena, value_get(output, "files"), "{'a': 1, 'b': 'one', 'c': 'c!'}");
	/* A child begins with what its parent has, not with that on top of its default. */
	ck_assert_value(arena, value_get(output, "log"), "['n', 'p', 'one', 'two']");
	ck_assert_value(arena, value_get(output, "total"), "18");
	ck_assert_value(arena, value_get(output, "mood"), "'bad'");
	ck_assert_value(arena,
	    value_get(value_get(ask_state_of(scene, "t"), "fields"), "secret"), "'mine'");
	ck_assert_str_eq(
	    ask_tool_answers_of(scene, "t"), "a=I am one.;b=I am two.;c=I am three.;");
}

START_TEST(children_side_by_side_change_what_they_changed)
{
	ask_act_with(play_state, agents);
}
END_TEST

static void
play_torn(struct scene *scene)
{
	const struct value *record = ask_run(scene, "torn", "r1", "t", "input", "\"hi\"");

	ask_check_status(scene, record, "error");
	ck_assert(value_text_is(
	    value_get(value_get(record, "fault"), "type"), "InvalidUpdateError"));
}

START_TEST(two_that_write_the_same_last_value_are_an_error)
{
	ask_act_with(play_torn, agents);
}
END_TEST

TCase *
tcase_children_state(void)
{
	TCase *tcase = tcase_create("children_state");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, children_side_by_side_change_what_they_changed);
	tcase_add_test(tcase, two_that_write_the_same_last_value_are_an_error);
	return tcase;
}
