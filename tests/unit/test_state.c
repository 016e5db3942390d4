#include <check.h>

#include "has.h"
#include "json.h"
#include "literal.h"
#include "sample_agent.h"
#include "sample_spec.h"
#include "sample_state.h"

/* Interface under test */
#include "state.h"

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

static void
open_state(const char *fields)
{
	state_destroy(&state);
	state = sample_state(arena, fields);
}

static void
begin(const char *input)
{
	sample_begin(state, arena, input);
}

static const char *
step(const char *a, const char *b, const char *c)
{
	return sample_step(state, arena, a, b, c);
}

/* --- reducers ----------------------------------------------------------------------- */

START_TEST(without_reducer_the_last_value_counts)
{
	open_state("mood: {type: string}");
	begin("{}");
	ck_assert_ptr_null(state_field(state, "mood"));
	ck_assert_step("{'mood': 'calm'}", NULL, NULL);
	ck_assert_step("{'mood': 'busy'}", NULL, NULL);
	ck_assert_value(arena, state_field(state, "mood"), "'busy'");
	ck_assert_step("{'mood': null}", NULL, NULL);
	ck_assert_ptr_null(state_field(state, "mood"));
}
END_TEST

START_TEST(append_adds_to_the_list_in_order_of_the_writes)
{
	open_state("log: {type: array, reducer: append}");
	begin("{'log': [0]}");
	ck_assert_step("{'log': ['a', 'b']}", "{'log': []}", "{'log': ['c']}");
	ck_assert_step("{'log': ['d']}", NULL, NULL);
	ck_assert_value(arena, state_field(state, "log"), "[0, 'a', 'b', 'c', 'd']");
}
END_TEST

/* As `files` of filesystem, which each call of a tool brings. */
START_TEST(what_does_not_fit_a_bound_is_refused)
{
	const char *half = arena_printf(arena, "%07000000d", 0), *error;
	const struct value *file = value_map(arena, "a", value_str(arena, half), NULL);
	const struct value *input = value_map(arena, "files", file, NULL);
	struct state_write write = { "B", NULL };

	state_destroy(&state);
	state = state_new(sample_spec(arena, "model: m:x\nmiddleware: [filesystem]\n"));
	ck_assert_int_eq(state_begin(state, arena, "r1", input, &error), 0);
	file = value_map(arena, "b", value_str(arena, half), NULL);
	input = write.update = value_map(arena, "files", file, NULL);
	ck_assert_int_eq(state_begin(state, arena, "r2", input, &error), -1);
	ck_assert_has(
	    error, "the field \"files\" would have more than the 12582912 bytes");
	ck_assert_int_eq(state_apply(state, arena, &write, 1, &error), -1);
	ck_assert_has(error, "by what \"B\" wrote");
	ck_assert_uint_eq(value_size(state_field(state, "files")), 1);
	/* What has become too much in other ways may become less. */
	ck_assert_step("{'files': {'a': null, 'b': 1}}", NULL, NULL);
	ck_assert_value(arena, state_field(state, "files"), "{'b': 1}");
}
END_TEST

START_TEST(add_sums_and_the_input_counts_too)
{
	open_state("hits: {type: integer, reducer: add}, x: {reducer: add}");
	begin("{'hits': 100}");
	ck_assert_step("{'hits': 1, 'x': 0.5}", "{'hits': 10, 'x': 1}", NULL);
	ck_assert_value(arena, state_field(state, "hits"), "111");
	ck_assert_value(arena, state_field(state, "x"), "1.5");
	begin("{'hits': -1}");
	ck_assert_value(arena, state_field(state, "hits"), "110");
}
END_TEST

START_TEST(sums_beyond_an_integer_are_an_error_but_of_numbers)
{
	open_state("n: {type: integer, reducer: add}, x: {reducer: add}");
	begin("{'n': 9223372036854775806, 'x': 9223372036854775807}");
	ck_assert_step("{'n': 1, 'x': 1}", NULL, NULL);
	ck_assert_says(step("{'n': 1}", NULL, NULL), "\"n\" would be more than an int");
	ck_assert_value(arena, state_field(state, "x"), "9223372036854775808.0");
	ck_assert_step("{'n': {'__overwrite__': 1}}", NULL, NULL);
}
END_TEST

START_TEST(merge_lays_maps_over_each_other_and_null_removes)
{
	open_state("meta: {type: object, reducer: merge}");
	begin("{}");
	ck_assert_step("{'meta': {'a': 1, 'b': 1}}", "{'meta': {'b': 2}}", NULL);
	ck_assert_step("{'meta': {'c': {'d': [1]}, 'a': null}}", NULL, NULL);
	ck_assert_value(arena, state_field(state, "meta"), "{'b': 2, 'c': {'d': [1]}}");
	open_state("meta: {type: object, reducer: merge}");
	begin("{'meta': {'gone': null, 'here': 1}}");
	ck_assert_value(arena, state_field(state, "meta"), "{'here': 1}");
}
END_TEST

START_TEST(unknown_fields_and_jump_to_are_dropped)
{
	open_state("a: {}");
	begin("{'zzz': 1, 'jump_to': 'end'}");
	ck_assert_step("{'b': 1, 'jump_to': 'end', 'goto': 'end', 'a': 2}", NULL, NULL);
	ck_assert_value(arena, state_fields(state, arena), "{'a': 2}");
}
END_TEST

/* --- what is refused ----------------------------------------------------------------- */

START_TEST(two_writers_of_one_value_are_an_error_that_names_them)
{
	const char *error;

	open_state("mood: {}, log: {reducer: append}");
	begin("{}");
	error = step("{'log': [1]}", "{'mood': 1}", "{'mood': 1}");
	ck_assert_says(error, "\"mood\"");
	ck_assert_says(error, "\"B\"");
	ck_assert_says(error, "\"C\"");
	error = step("{'structured_response': {}}", "{'structured_response': {}}", NULL);
	ck_assert_says(error, "structured_response");
	ck_assert_ptr_null(state_field(state, "log"));
	ck_assert_ptr_null(state_field(state, "structured_response"));
}
END_TEST

static const struct {
	const char *update, *words;
} misfits[] = {
	{ "{'n': 'x'}", "an integer" },
	{ "{'n': 1.5}", "an integer" },
	{ "{'list': {}}", "a list" },
	{ "{'list': null}", "a list" },
	{ "{'map': []}", "a map" },
	{ "{'flag': 0}", "a boolean" },
	{ "{'text': 1}", "a string" },
	{ "{'real': '1'}", "a number" },
};

START_TEST(a_value_of_another_type_is_refused)
{
	const char *error = NULL;

	open_state("n: {type: integer}, list: {reducer: append}, flag: {type: boolean},"
		   " map: {type: object, reducer: merge}, text: {type: string},"
		   " real: {type: number}");
	begin("{'n': 7}");
	error = step("{'n': 8}", misfits[_i].update, NULL);
	ck_assert_says(error, misfits[_i].words);
	ck_assert_says(error, "\"B\"");
	ck_assert_value(arena, state_fields(state, arena), "{'n': 7}");
	error = NULL;
	ck_assert_int_eq(
	    state_begin(state, arena, "r2-0", literal(arena, misfits[_i].update), &error),
	    -1);
	ck_assert_says(error, misfits[_i].words);
}
END_TEST

START_TEST(a_whole_float_is_an_integer)
{
	open_state("n: {type: integer}");
	begin("{'n': 7.0}");
	ck_assert_value(arena, state_field(state, "n"), "7");
}
END_TEST

START_TEST(an_update_is_a_map)
{
	open_state("");
	begin(NULL);
	ck_assert_says(step("[1]", NULL, NULL), "a list");
	ck_assert_step("null", NULL, NULL);
	ck_assert_says(
	    step("{'messages': [{'type': 'robot'}]}", NULL, NULL), "messages[0].type");
	ck_assert_says(step("{'messages': [3]}", NULL, NULL), "\"A\"");
}
END_TEST

START_TEST(a_step_is_applied_as_a_whole_or_not_at_all)
{
	const char *before;

	open_state("log: {reducer: append}, e: {ephemeral: true}, n: {}");
	begin("{'messages': [{'type': 'human', 'content': 'hi', 'id': 'h1'}],"
	      " 'log': [1], 'e': 1, 'n': 1}");
	before = json_text(arena, state_fields(state, arena));
	ck_assert_says(step("{'log': [2], 'n': 2, 'e': 2, 'messages': ["
			    "{'type': 'human', 'content': 'changed', 'id': 'h1'},"
			    "{'type': 'ai', 'content': 'new'}]}",
			   "{'messages': [{'type': 'remove', 'id': 'h1'}]}",
			   "{'messages': [{'type': 'remove', 'id': 'h9'}]}"),
	    "\"h9\"");
	ck_assert_str_eq(json_text(arena, state_fields(state, arena)), before);
	ck_assert_value(arena, state_messages(state),
	    "[{'type': 'human', 'content': 'hi', 'id': 'h1'}]");
}
END_TEST

/* --- lifetimes ---------------------------------------------------------------------- */

START_TEST(an_ephemeral_field_lives_one_step)
{
	open_state("flash: {ephemeral: true}, sum: {ephemeral: true, reducer: add}");
	begin("{'flash': 'in'}");
	ck_assert_value(arena, state_field(state, "flash"), "'in'");
	ck_assert_step("{'sum': 1}", "{'sum': 2}", NULL);
	ck_assert_ptr_null(state_field(state, "flash"));
	ck_assert_value(arena, state_field(state, "sum"), "3");
	ck_assert_step("{'sum': 5, 'flash': 1}", NULL, NULL);
	ck_assert_value(arena, state_field(state, "sum"), "5");
	ck_assert_step(NULL, NULL, NULL);
	ck_assert_ptr_null(state_field(state, "sum"));
	ck_assert_ptr_null(state_field(state, "flash"));
}
END_TEST

START_TEST(an_ephemeral_field_can_be_kept_in_front_of_the_step_that_sees_it)
{
	const struct value *kept;

	open_state("flash: {ephemeral: true}, mood: {type: string}");
	begin("{}");
	ck_assert_ptr_null(state_ephemeral(state, arena));
	ck_assert_step("{'flash': 1, 'mood': 'calm'}", NULL, NULL);
	kept = value_copy(arena, state_ephemeral(state, arena));
	ck_assert_value(arena, kept, "{'flash': 1}");
	open_state("flash: {ephemeral: true}, mood: {type: string}");
	state_restore(state,
	    &(struct state_stored){ .fields = literal(arena, "{'mood': 'calm'}") });
	ck_assert_ptr_null(state_field(state, "flash"));
	/* What is no ephemeral field, by now or ever, stays as it was stored. */
	state_recall(state,
	    value_map_merge(arena, kept, literal(arena, "{'mood': 'x', 'gone': 1}")));
	ck_assert_value(
	    arena, state_fields(state, arena), "{'flash': 1, 'mood': 'calm'}");
	ck_assert_step("{'mood': 'busy'}", NULL, NULL);
	ck_assert_ptr_null(state_field(state, "flash"));
	ck_assert_ptr_null(state_ephemeral(state, arena));
}
END_TEST

START_TEST(to_mend_the_messages_is_no_step_and_ends_no_ephemeral_field)
{
	const char *error = NULL;

	open_state("flash: {ephemeral: true}, mood: {type: string}");
	begin("{'messages': [{'type': 'human', 'content': 'Hi', 'id': 'h'}]}");
	ck_assert_step("{'flash': 1, 'mood': 'calm'}", NULL, NULL);
	ck_assert_int_eq(
	    state_mend(state, arena,
		literal(arena, "[{'type': 'ai', 'content': 'Ho', 'id': 'a'}]"), &error),
	    0);
	ck_assert_uint_eq(value_size(state_messages(state)), 2);
	ck_assert_value(arena, state_field(state, "flash"), "1");
	ck_assert_value(arena, state_field(state, "mood"), "'calm'");
	ck_assert_int_eq(state_mend(state, arena, literal(arena, "[5]"), &error), -1);
	ck_assert_ptr_nonnull(error);
	ck_assert_uint_eq(value_size(state_messages(state)), 2);
	ck_assert_step("{'mood': 'busy'}", NULL, NULL);
	ck_assert_ptr_null(state_field(state, "flash"));
}
END_TEST

START_TEST(an_untracked_field_lives_one_run)
{
	open_state("temp: {untracked: true}, count: {untracked: true, default: 0,"
		   " type: integer, reducer: add}, kept: {}");
	begin("{}");
	ck_assert_step("{'temp': 1, 'kept': 1, 'count': 4}", NULL, NULL);
	ck_assert_step(NULL, NULL, NULL);
	ck_assert_value(
	    arena, state_fields(state, arena), "{'temp': 1, 'count': 4, 'kept': 1}");
	begin("{}");
	ck_assert_value(arena, state_fields(state, arena), "{'count': 0, 'kept': 1}");
}
END_TEST

START_TEST(an_untracked_field_can_be_handed_over_in_the_middle_of_its_run)
{
	const char *fields =
	    "temp: {untracked: true}, gone: {untracked: true, default: 1},"
	    " count: {untracked: true, default: 0, reducer: add}, kept: {}";
	const struct value *kept;

	open_state(fields);
	begin("{}");
	/* As they are by default: nothing to hand over. */
	ck_assert_ptr_null(state_untracked(state, arena));
	ck_assert_step("{'temp': [1], 'gone': null, 'count': 2, 'kept': 1}", NULL, NULL);
	kept = value_copy(arena, state_untracked(state, arena));
	ck_assert_value(arena, kept, "{'temp': [1], 'gone': null, 'count': 2}");
	open_state(fields);
	state_restore(
	    state, &(struct state_stored){ .fields = literal(arena, "{'kept': 1}") });
	ck_assert_value(
	    arena, state_fields(state, arena), "{'gone': 1, 'count': 0, 'kept': 1}");
	state_recall(state, kept);
	ck_assert_value(
	    arena, state_fields(state, arena), "{'temp': [1], 'count': 2, 'kept': 1}");
	/* And the next run begins without them. */
	begin("{}");
	ck_assert_value(
	    arena, state_fields(state, arena), "{'gone': 1, 'count': 0, 'kept': 1}");
}
END_TEST

START_TEST(a_default_is_there_from_the_start_and_only_once)
{
	open_state("budget: {type: integer, default: 7}, lang: {default: en},"
		   " log: {reducer: append, default: [a]}");
	begin("{'log': ['b']}");
	ck_assert_value(arena, state_fields(state, arena),
	    "{'budget': 7, 'lang': 'en', 'log': ['a', 'b']}");
	ck_assert_step("{'budget': 6}", NULL, NULL);
	begin("{'lang': 'fr'}");
	ck_assert_value(arena, state_fields(state, arena),
	    "{'budget': 6, 'lang': 'fr', 'log': ['a', 'b']}");
}
END_TEST

START_TEST(a_structured_response_is_the_runs)
{
	struct state_changes changes;

	open_state("");
	begin("{'structured_response': {'forged': true}}");
	ck_assert_ptr_null(state_field(state, "structured_response"));
	ck_assert_step("{'structured_response': {'a': 1}}", NULL, NULL);
	ck_assert_value(
	    arena, state_output(state, arena), "{'structured_response': {'a': 1}}");
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'structured_response': {'a': 1}}");
	state_committed(state);
	begin("{}");
	ck_assert_ptr_null(state_field(state, "structured_response"));
	state_changes(state, arena, &changes);
	ck_assert_value(arena, changes.fields, "{'structured_response': null}");
}
END_TEST

START_TEST(a_failed_beginning_changes_nothing)
{
	const char *error = NULL;

	open_state("temp: {untracked: true}, n: {type: integer}");
	begin("{'temp': 1, 'messages': 'hi'}");
	ck_assert_step("{'structured_response': {}}", NULL, NULL);
	ck_assert_int_eq(state_begin(state, arena, "r2-0",
			     literal(arena, "{'messages': ['more'], 'n': 'x'}"), &error),
	    -1);
	ck_assert_str_eq(error, "n: must be an integer, not a string");
	ck_assert_uint_eq(value_size(state_messages(state)), 1);
	ck_assert_value(
	    arena, state_fields(state, arena), "{'temp': 1, 'structured_response': {}}");
	ck_assert_int_eq(
	    state_begin(state, arena, "r2-0", literal(arena, "['hi']"), &error), -1);
	ck_assert_says(error, "a map");
	ck_assert_int_eq(state_begin(state, arena, "r2-0",
			     literal(arena, "{'messages': [{'type': 'human'}]}"), &error),
	    -1);
	ck_assert_says(error, "messages[0].content");
}
END_TEST

/* --- views -------------------------------------------------------------------------- */

#define VIEWS                                                                            \
	"open: {}, secret: {private: true}, in: {omit_from_output: true},"               \
	" out: {omit_from_input: true}"

START_TEST(the_input_sets_what_it_may)
{
	open_state(VIEWS);
	begin("{'open': 1, 'secret': 2, 'in': 3, 'out': 4}");
	ck_assert_value(arena, state_fields(state, arena), "{'open': 1, 'in': 3}");
}
END_TEST

START_TEST(the_output_shows_what_it_may)
{
	open_state(VIEWS);
	begin("{'messages': 'hi'}");
	ck_assert_step("{'open': 1, 'secret': 2, 'in': 3, 'out': 4}", NULL, NULL);
	ck_assert_value(arena, state_output(state, arena), "{'open': 1, 'out': 4}");
	ck_assert_value(arena, state_fields(state, arena),
	    "{'open': 1, 'secret': 2, 'in': 3, 'out': 4}");
}
END_TEST

START_TEST(a_slice_has_the_fields_asked_for)
{
	open_state(VIEWS);
	begin("{'messages': 'hi', 'open': 1}");
	ck_assert_ptr_null(state_slice(state, arena, literal(arena, "[]")));
	ck_assert_ptr_null(
	    state_slice(state, arena, literal(arena, "['secret', 'zzz']")));
	ck_assert_value(arena,
	    state_slice(state, arena, literal(arena, "['secret', 'open']")),
	    "{'open': 1}");
	ck_assert_value(arena,
	    state_slice(state, arena, literal(arena, "['open', 'messages']")),
	    "{'open': 1, 'messages':"
	    " [{'type': 'human', 'content': 'hi', 'id': 'r1-0-1'}]}");
	ck_assert_step("{'secret': 2}", NULL, NULL);
	ck_assert_value(arena, state_slice(state, arena, literal(arena, "['*', 'open']")),
	    "{'open': 1, 'secret': 2, 'messages':"
	    " [{'type': 'human', 'content': 'hi', 'id': 'r1-0-1'}]}");
}
END_TEST

START_TEST(middlewares_fields_are_fields_as_well)
{
	static const struct field fields[] = {
		{ .name = "todos", .type = "array", .omit_from_input = true },
	};
	struct sample_agent *agent = sample_agent(arena);

	agent->spec.fields = fields;
	agent->spec.field_count = 1;
	state = state_new(&agent->spec);
	begin("{'todos': [1]}");
	ck_assert_step("{'todos': [2]}", NULL, NULL);
	ck_assert_value(arena, state_output(state, arena), "{'todos': [2]}");
}
END_TEST

TCase *tcase_state(void);
TCase *
tcase_state(void)
{
	TCase *tcase = tcase_create("state");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, without_reducer_the_last_value_counts);
	tcase_add_test(tcase, append_adds_to_the_list_in_order_of_the_writes);
	tcase_add_test(tcase, what_does_not_fit_a_bound_is_refused);
	tcase_add_test(tcase, add_sums_and_the_input_counts_too);
	tcase_add_test(tcase, sums_beyond_an_integer_are_an_error_but_of_numbers);
	tcase_add_test(tcase, merge_lays_maps_over_each_other_and_null_removes);
	tcase_add_test(tcase, unknown_fields_and_jump_to_are_dropped);
	tcase_add_test(tcase, two_writers_of_one_value_are_an_error_that_names_them);
	tcase_add_loop_test(tcase, a_value_of_another_type_is_refused, 0,
	    sizeof misfits / sizeof misfits[0]);
	tcase_add_test(tcase, a_whole_float_is_an_integer);
	tcase_add_test(tcase, an_update_is_a_map);
	tcase_add_test(tcase, a_step_is_applied_as_a_whole_or_not_at_all);
	tcase_add_test(tcase, an_ephemeral_field_lives_one_step);
	tcase_add_test(
	    tcase, an_ephemeral_field_can_be_kept_in_front_of_the_step_that_sees_it);
	tcase_add_test(
	    tcase, to_mend_the_messages_is_no_step_and_ends_no_ephemeral_field);
	tcase_add_test(tcase, an_untracked_field_lives_one_run);
	tcase_add_test(
	    tcase, an_untracked_field_can_be_handed_over_in_the_middle_of_its_run);
	tcase_add_test(tcase, a_default_is_there_from_the_start_and_only_once);
	tcase_add_test(tcase, a_structured_response_is_the_runs);
	tcase_add_test(tcase, a_failed_beginning_changes_nothing);
	tcase_add_test(tcase, the_input_sets_what_it_may);
	tcase_add_test(tcase, the_output_shows_what_it_may);
	tcase_add_test(tcase, a_slice_has_the_fields_asked_for);
	tcase_add_test(tcase, middlewares_fields_are_fields_as_well);
	return tcase;
}
