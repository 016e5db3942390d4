/* What a child begins with of its parent's state, and what comes back. */
#include <check.h>
#include <stdint.h>

/* Interface under test */
#include "../../coordinator/shared_fields.h"

#include "literal.h"
#include "sample_spec.h"
#include "sample_state.h"

TCase *tcase_shared_fields(void);

static struct arena *arena;
static struct state *state;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	state_destroy(&state);
	arena_destroy(&arena);
}

static const struct spec *
agent(const char *fields)
{
	return sample_spec(
	    arena, arena_printf(arena, "model: m:x\nstate: {%s}\n", fields));
}

#define FILES "files: {type: object, reducer: merge, default: {}}"
#define LIST "log: {type: array, reducer: append, default: []}"
#define SUM "sum: {type: integer, reducer: add, default: 0}"

/* above, below: fields of the parent and of the child; has: the parent's state; begins: what the child begins
 * with; output: what it ends with; update: what comes back, NULL: nothing. */
static const struct {
	const char *above, *below, *has, *begins, *output, *update;
} cases[] = {
	{ "a: {type: string}", "a: {type: string}", "{'a':'x'}", "{'a':'x'}",
	    "{'a':'y','messages':[],'structured_response':1}", "{'a':'y'}" },
	{ "a: {type: string}", "a: {type: string}", "{'a':'x'}", "{'a':'x'}", "{'a':'x'}",
	    NULL },
	{ "a: {type: string}", "b: {type: string}", "{'a':'x'}", "{}",
	    "{'b':'y','a':'z'}", NULL },
	/* What is private to one of them stays. */
	{ "a: {private: true}", "a: {}", "{}", "{}", "{'a':1}", NULL },
	{ "a: {}", "a: {private: true}", "{'a':1}", "{}", "{'a':2}", NULL },
	{ "a: {omit_from_input: true}", "a: {}", "{}", "{}", "{'a':2}", NULL },
	{ "a: {}", "a: {omit_from_output: true}", "{'a':1}", "{}", "{'a':2}", NULL },
	/* What each has of its own. */
	{ "todos: {type: array}", "todos: {type: array}", "{'todos':[1]}", "{}",
	    "{'todos':[2]}", NULL },
	/* Of what is folded only the change. */
	{ FILES, FILES, "{'files':{'a':1,'b':2,'c':3}}", "{'files':{'a':1,'b':2,'c':3}}",
	    "{'files':{'a':1,'b':5,'d':4}}", "{'files':{'b':5,'c':null,'d':4}}" },
	{ FILES, FILES, "{}", "{'files':{}}", "{'files':{}}", NULL },
	{ LIST, LIST, "{'log':[1,2]}", "{'log':[1,2]}", "{'log':[1,2,3]}",
	    "{'log':[3]}" },
	{ LIST, LIST, "{'log':[1,2]}", "{'log':[1,2]}", "{'log':[1,2]}", NULL },
	/* The child's is no list that is appended to: it has written another one. */
	{ LIST, "log: {type: array}", "{'log':[1,2]}", "{'log':[1,2]}", "{'log':[7]}",
	    "{'log':[7]}" },
	{ SUM, SUM, "{'sum':5}", "{'sum':5}", "{'sum':7}", "{'sum':2}" },
	{ SUM, SUM, "{'sum':5}", "{'sum':5}", "{'sum':5}", NULL },
	{ "sum: {reducer: add}", "sum: {reducer: add}", "{'sum':0.5}", "{'sum':0.5}",
	    "{'sum':2}", "{'sum':1.5}" },
	/* A default that nobody has touched is no change. */
	{ "mode: {type: string}", "mode: {type: string, default: fast}", "{}", "{}",
	    "{'mode':'fast'}", NULL },
	{ "mode: {type: string}", "mode: {type: string, default: fast}", "{}", "{}",
	    "{'mode':'slow'}", "{'mode':'slow'}" },
	/* Of another kind than the other's. */
	{ "a: {type: string}", "a: {type: integer}", "{'a':'x'}", "{}", "{'a':3}", NULL },
	{ FILES, "files: {type: array}", "{'files':{'a':1}}", "{}", "{'files':[1]}",
	    NULL },
	{ LIST, "log: {type: object}", "{'log':[1]}", "{}", "{'log':{'a':1}}", NULL },
	{ SUM, "sum: {type: string}", "{'sum':1}", "{}", "{'sum':'x'}", NULL },
	{ "a: {type: integer}", "a: {}", "{'a':1}", "{'a':1}", "{'a':[]}", NULL },
	{ "a: {type: integer}", "a: {}", "{'a':1}", "{'a':1}", "{'a':2}", "{'a':2}" },
};

START_TEST(a_child_has_what_both_know_and_returns_what_it_changed)
{
	const struct spec *above = agent(cases[_i].above),
			  *below = agent(cases[_i].below);
	const struct value *update;

	state = state_new(above);
	sample_begin(state, arena, cases[_i].has);
	ck_assert_value(
	    arena, shared_fields(arena, above, below, state), cases[_i].begins);
	update =
	    shared_update(arena, above, below, state, literal(arena, cases[_i].output));
	if (cases[_i].update == NULL)
		ck_assert_ptr_null(update);
	else
		ck_assert_value(arena, update, cases[_i].update);
}
END_TEST

/* A fork's: those of a conversation, private ones, too. */
static const struct {
	const char *above, *below, *has, *begins;
} forks[] = {
	{ "todos: {type: array}, a: {}", "todos: {type: array}, a: {}",
	    "{'todos':[1],'a':2}", "{'todos':[1]}" },
	{ "todos: {type: array}", "todos: {type: array, private: true}", "{'todos':[1]}",
	    "{'todos':[1]}" },
	{ "todos: {type: array}", "a: {}", "{'todos':[1]}", "{}" },
	{ "todos: {type: array}", "todos: {type: string}", "{'todos':[1]}", "{}" },
	{ "todos: {type: array}", "todos: {type: array}", "{}", "{}" },
};

START_TEST(a_fork_has_what_belongs_to_the_conversation)
{
	const struct spec *above = agent(forks[_i].above),
			  *below = agent(forks[_i].below);

	state = state_new(above);
	sample_begin(state, arena, forks[_i].has);
	ck_assert_value(
	    arena, shared_with_fork(arena, above, below, state), forks[_i].begins);
}
END_TEST

START_TEST(a_difference_that_is_no_whole_number_is_none_that_overflows)
{
	const struct spec *spec = agent(SUM);
	const struct value *output =
	    value_map(arena, "sum", value_int(arena, INT64_MIN), NULL);
	const struct value *update;

	state = state_new(spec);
	sample_begin(state, arena, "{'sum':9}");
	update = shared_update(arena, spec, spec, state, output);
	ck_assert(value_is(value_get(update, "sum"), VALUE_FLOAT));
}
END_TEST

/* Those of a folder, say: looked up one by one in each other they would cost their square. */
START_TEST(of_very_many_files_the_one_that_changed_comes_back)
{
	const struct spec *spec = agent(FILES);
	struct value_fields all = { .arena = arena };
	const struct value *files, *update;
	const char *error;
	unsigned i;

	for (i = 0; i < 200000; i++)
		value_fields_set(&all, arena_printf(arena, "/f%u", i), value_bool(true));
	files = value_fields_end(&all);
	state = state_new(spec);
	ck_assert_int_eq(state_begin(state, arena, "r",
			     value_map(arena, "files", files, NULL), &error),
	    0);
	files = value_map_with(arena, files, "/f7", value_bool(false));
	files = value_map_with(arena, files, "/new", value_bool(true));
	update = shared_update(
	    arena, spec, spec, state, value_map(arena, "files", files, NULL));
	ck_assert_value(arena, update, "{'files':{'/f7':false,'/new':true}}");
}
END_TEST

/* Both began with the whole. */
START_TEST(children_side_by_side_do_not_undo_each_others_changes)
{
	const struct spec *spec = agent(FILES ", " LIST ", " SUM);
	const struct value *one, *other;
	const char *error;

	state = state_new(spec);
	sample_begin(state, arena, "{'files':{'a':1,'b':2},'log':['p'],'sum':10}");
	one = shared_update(arena, spec, spec, state,
	    literal(arena, "{'files':{'a':3,'b':2},'log':['p','x'],'sum':11}"));
	other = shared_update(arena, spec, spec, state,
	    literal(arena, "{'files':{'a':1,'c':4},'log':['p','y'],'sum':8}"));
	ck_assert_int_eq(
	    state_apply(state, arena,
		(const struct state_write[]){ { "A", one }, { "B", other } }, 2, &error),
	    0);
	ck_assert_value(arena, state_field(state, "files"), "{'a':3,'c':4}");
	ck_assert_value(arena, state_field(state, "log"), "['p','x','y']");
	ck_assert_value(arena, state_field(state, "sum"), "9");
}
END_TEST

TCase *
tcase_shared_fields(void)
{
	TCase *tcase = tcase_create("shared_fields");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_child_has_what_both_know_and_returns_what_it_changed,
	    0, sizeof cases / sizeof *cases);
	tcase_add_loop_test(tcase, a_fork_has_what_belongs_to_the_conversation, 0,
	    sizeof forks / sizeof *forks);
	tcase_add_test(
	    tcase, a_difference_that_is_no_whole_number_is_none_that_overflows);
	tcase_add_test(tcase, of_very_many_files_the_one_that_changed_comes_back);
	tcase_add_test(tcase, children_side_by_side_do_not_undo_each_others_changes);
	return tcase;
}
