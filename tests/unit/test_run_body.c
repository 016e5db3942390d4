/* What a client of LangGraph's API asks of a run: which field of the inbox's entry each key of its body becomes, or
 * with which words it is refused. Texts have ' for ". */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "has.h"
#include "literal.h"

/* Interface under test */
#include "run_body.h"

TCase *tcase_run_body(void);

#define NOW INT64_C(1760000000000)
#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])

static const struct run_place usual = { .thread = "t", .run = "r" };
static struct arena *arena;
static struct run_body read_body;

static void
setup(void)
{
	arena = arena_new();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const char *
quoted(const char *text)
{
	char *copy = arena_strdup(arena, text), *at;

	while ((at = strchr(copy, '\'')) != NULL)
		*at = '"';
	return copy;
}

static const char *
read_at(const struct run_place *place, const char *body)
{
	return run_body_read(arena, literal(arena, body), place, NOW, &read_body);
}

/* keys: what stands in the body beside an agent; it must be taken. */
static const struct value *
fields_at(const struct run_place *place, const char *keys)
{
	const char *error =
	    read_at(place, arena_printf(arena, "{'assistant_id': 'a'%s%s}",
			       *keys != '\0' ? ", " : "", keys));

	ck_assert_msg(error == NULL, "%s: %s", keys, error);
	return read_body.fields;
}

/* The same with an input. */
static const struct value *
fields_of(const char *keys)
{
	return fields_at(&usual,
	    arena_printf(arena, "'input': {}%s%s", *keys != '\0' ? ", " : "", keys));
}

/* --- what is taken ------------------------------------------------------------------------ */

START_TEST(without_more_a_run_has_an_agent_ids_and_its_input)
{
	ck_assert_value(arena, fields_of(""),
	    "{'agent': 'a', 'run': 'r', 'thread': 't', 'input': '{}'}");
	ck_assert_str_eq(read_body.agent, "a");
	ck_assert_uint_eq(read_body.modes, MODE_VALUES);
	ck_assert(!read_body.cancels_on_disconnect);
	ck_assert(!read_body.keeps_thread);
}
END_TEST

/* expected NULL: the entry has no such field. */
static const struct {
	const char *keys, *field, *expected;
} taken[] = {
	{ "'input': {'messages': [{'role': 'user', 'content': 'é'}], 'n': 1}", "input",
	    "{'messages':[{'role':'user','content':'é'}],'n':1}" },
	{ "'input': 'Hi'", "input", "'Hi'" },
	{ "'input': [1]", "input", "[1]" },
	{ "'input': false", "input", "false" },
	{ "'input': {}, 'command': null", "input", "{}" },
	{ "'input': {}, 'checkpoint_id': '7'", "checkpoint", "7" },
	{ "'input': {}, 'checkpoint_id': '0'", "checkpoint", "0" },
	{ "'input': {}, 'checkpoint': {'checkpoint_id': '7'}", "checkpoint", "7" },
	{ "'input': {}, 'checkpoint': {'checkpoint_id': '7', 'checkpoint_ns': '', "
	  "'checkpoint_map': null}, 'checkpoint_id': '8'",
	    "checkpoint", "7" },
	{ "'input': {}, 'checkpoint': {'checkpoint_id': null}", "checkpoint", NULL },
	{ "'input': {}, 'checkpoint': {}, 'checkpoint_id': '8'", "checkpoint", "8" },
	{ "'input': {}, 'checkpoint': null, 'checkpoint_id': null", "checkpoint", NULL },
	{ "'command': {'resume': 'yes'}", "resume", "'yes'" },
	{ "'command': {'resume': 'yes'}, 'input': {'n': 1}", "resume", "'yes'" },
	{ "'command': {'resume': 'yes'}, 'input': {'n': 1}", "input", NULL },
	{ "'command': {}, 'input': {'n': 1}", "input", "{'n':1}" },
	{ "'command': {'resume': null}", "resume", "null" },
	{ "'command': {'resume': false}", "resume", "false" },
	{ "'command': {'resume': {'decisions': [{'type': 'approve'}]}, 'goto': null, "
	  "'update': null}, 'input': null",
	    "resume", "{'decisions':[{'type':'approve'}]}" },
	{ "'input': {}, 'context': {'user': 7}", "context", "{'user':7}" },
	{ "'input': {}, 'context': {}", "context", NULL },
	{ "'input': {}, 'context': null", "context", NULL },
	{ "'input': {}, 'config': {'configurable': {'user': 7, 'langgraph': 1}}",
	    "context", "{'user':7,'langgraph':1}" },
	{ "'input': {}, 'context': {'user': 8}, 'config': {'configurable': {'user': 7}}",
	    "context", "{'user':8}" },
	{ "'input': {}, 'context': {}, 'config': {'configurable': {'user': 7}}",
	    "context", NULL },
	{ "'input': {}, 'config': {'configurable': {'thread_id': 't', 'run_id': 'r', "
	  "'assistant_id': 'a', 'graph_id': 'a', 'checkpoint_id': '1', "
	  "'checkpoint_ns': '', 'checkpoint_map': {}, 'user-agent': 'node', "
	  "'__pregel': 1, 'langgraph_auth_user': {}}}",
	    "context", NULL },
	{ "'input': {}, 'config': {'configurable': null, 'tags': ['a'], "
	  "'recursion_limit': 30}",
	    "context", NULL },
	{ "'input': {}, 'config': {'configurable': null, 'recursion_limit': 30}",
	    "recursion_limit", "30" },
	{ "'input': {}, 'config': {'recursion_limit': 9223372036854775807}",
	    "recursion_limit", "9223372036854775807" },
	{ "'input': {}, 'config': {'recursion_limit': null}", "recursion_limit", NULL },
	{ "'input': {}, 'config': {'max_concurrency': 3}", "max_concurrency", "3" },
	{ "'command': {'resume': 1}, 'config': {'recursion_limit': 1}", "recursion_limit",
	    "1" },
	{ "'input': {}, 'metadata': {'t': 'x', 'n': 1, 'r': 1.5, 'b': true}", "metadata",
	    "{'t':'x','n':1,'r':1.5,'b':true}" },
	{ "'input': {}, 'metadata': {'n': null}", "metadata", NULL },
	{ "'input': {}, 'metadata': {}", "metadata", NULL },
	{ "'input': {}, 'metadata': null", "metadata", NULL },
	{ "'input': {}, 'after_seconds': 2", "after_ms", "2000" },
	{ "'input': {}, 'after_seconds': 0.25", "after_ms", "250" },
	{ "'input': {}, 'after_seconds': 31536000", "after_ms", "31536000000" },
	{ "'input': {}, 'after_seconds': 0", "after_ms", NULL },
	{ "'input': {}, 'after_seconds': null", "after_ms", NULL },
	{ "'input': {}, 'multitask_strategy': 'enqueue'", "multitask", "enqueue" },
	{ "'input': {}, 'multitask_strategy': 'interrupt'", "multitask", "interrupt" },
	{ "'input': {}, 'interrupt_before': ['tools']", "interrupt_before",
	    "[\"tools\"]" },
	{ "'input': {}, 'interrupt_after': '*'", "interrupt_after", "\"*\"" },
	{ "'input': {}, 'multitask_strategy': 'rollback'", "multitask", "rollback" },
	{ "'input': {}, 'multitask_strategy': 'reject'", "multitask", "reject" },
	{ "'input': {}, 'multitask_strategy': null", "multitask", NULL },
	{ "'input': {}, 'webhook': 'https://example.com/x'", "webhook",
	    "https://example.com/x" },
	{ "'input': {}, 'webhook': null", "webhook", NULL },
	{ "'input': {}, 'stream_mode': 'values'", "stream", NULL },
	{ "'input': {}, 'stream_mode': 'messages'", "stream", "1" },
	{ "'input': {}, 'stream_mode': ['values', 'messages-tuple']", "stream", "1" },
	{ "'input': {}", "tenant", NULL },
	{ "'input': {}, 'on_completion': 'delete'", "ttl_ms", NULL },
};

START_TEST(each_key_becomes_a_field)
{
	const struct value *fields = fields_at(&usual, taken[_i].keys);
	const char *text = value_get_text(fields, taken[_i].field);

	if (taken[_i].expected == NULL)
		ck_assert_msg(text == NULL, "%s: %s", taken[_i].keys, text);
	else
		ck_assert_pstr_eq(text, quoted(taken[_i].expected));
}
END_TEST

/* In Redis, too, it is a map of what is plain. */
START_TEST(metadata_that_is_not_plain_is_kept_as_its_json)
{
	const char *text = value_get_text(
	    fields_of("'metadata': {'m': {'a': [1]}, 'l': [true, null], 't': 'x'}"),
	    "metadata");

	ck_assert_value(arena, literal(arena, text),
	    "{'m': '{\\'a\\':[1]}', 'l': '[true,null]', 't': 'x'}");
}
END_TEST

/* A run on a fleet, and nobody of the clients must have it changed. */
START_TEST(what_else_clients_send_is_passed_over)
{
	ck_assert_value(arena,
	    fields_of("'interrupt_before': [], 'interrupt_after': null, "
		      "'stream_subgraphs': true, 'stream_resumable': false, "
		      "'feedback_keys': ['x'], 'durability': 'exit', "
		      "'checkpoint_during': true, 'strict_resume': true, "
		      "'langsmith_tracer': {}, 'assistantId': 'b', 'nonsense': [{}], "
		      "'run': 'other', 'thread': 'other', 'tenant': 'other', 'agent': "
		      "'other', 'recursion_limit': 3, 'ttl_ms': '1', 'at': '5', "
		      "'priority': '0'"),
	    "{'agent': 'a', 'run': 'r', 'thread': 't', 'input': '{}'}");
}
END_TEST

static const struct {
	const char *mode;
	unsigned bits;
} named_modes[] = {
	{ "'values'", MODE_VALUES },
	{ "'updates'", MODE_UPDATES },
	{ "'messages'", MODE_MESSAGES },
	{ "'messages-tuple'", MODE_MESSAGES_TUPLE },
	{ "'custom'", MODE_CUSTOM },
	{ "'events'", MODE_EVENTS },
	{ "'debug'", MODE_DEBUG },
	{ "'tasks'", MODE_TASKS },
	{ "'checkpoints'", MODE_CHECKPOINTS },
	{ "'tools'", MODE_TOOLS },
	{ "null", MODE_VALUES },
	{ "[]", MODE_VALUES }, /* as none at all */
	{ "['debug', 'custom']", MODE_DEBUG | MODE_CUSTOM },
	{ "['events', 'custom']", MODE_EVENTS | MODE_CUSTOM },
	{ "['values', 'updates', 'values']", MODE_VALUES | MODE_UPDATES },
};

START_TEST(stream_modes_have_langgraphs_names)
{
	fields_of(arena_printf(arena, "'stream_mode': %s", named_modes[_i].mode));
	ck_assert_uint_eq(read_body.modes, named_modes[_i].bits);
}
END_TEST

/* In Location: whoever comes back there gets what he had asked for. */
START_TEST(modes_are_said_again)
{
	ck_assert_str_eq(mode_names(arena, MODE_VALUES), "values");
	ck_assert_str_eq(mode_names(arena, MODE_CUSTOM | MODE_UPDATES | MODE_MESSAGES |
					       MODE_MESSAGES_TUPLE),
	    "updates,messages,messages-tuple,custom");
	ck_assert_str_eq(mode_names(arena, MODE_EVENTS | MODE_TOOLS), "events,tools");
}
END_TEST

START_TEST(what_becomes_of_thread_and_run_is_said)
{
	fields_of("'on_disconnect': 'cancel', 'on_completion': 'keep', 'if_not_exists': "
		  "'create'");
	ck_assert(read_body.cancels_on_disconnect);
	ck_assert(read_body.keeps_thread);
	fields_of("'on_disconnect': 'continue', 'on_completion': 'delete', "
		  "'if_not_exists': 'reject'");
	ck_assert(!read_body.cancels_on_disconnect);
	ck_assert(!read_body.keeps_thread);
}
END_TEST

START_TEST(the_tenant_is_the_keys)
{
	const struct run_place place = { .thread = "t", .run = "r", .tenant = "acme" };

	ck_assert_str_eq(
	    value_get_text(fields_at(&place, "'input': {}, 'tenant': 'other'"), "tenant"),
	    "acme");
}
END_TEST

/* Should whoever waits for the run die before it, nobody else deletes the thread. */
START_TEST(a_thread_that_is_made_for_a_run_ends_by_itself)
{
	const struct run_place place = {
		.thread = "t", .run = "r", .is_stateless = true
	};
	const struct value *fields = fields_at(&place, "'input': {}");

	ck_assert_int_gt(strtoll(value_get_text(fields, "ttl_ms"), NULL, 10), 60000);
	ck_assert_str_eq(value_get_text(fields, "ttl_action"), "delete");
	fields = fields_at(&place, "'input': {}, 'on_completion': 'keep'");
	ck_assert_ptr_null(value_get(fields, "ttl_ms"));
	ck_assert_ptr_null(value_get(fields, "ttl_action"));
}
END_TEST

START_TEST(a_request_that_may_be_made_again_is_told_from_others)
{
	const struct run_place place = {
		.thread = "t", .run = "r", .fingerprint = "0af765"
	};

	ck_assert_str_eq(
	    value_get_text(
		fields_at(&place, "'input': {}, 'fingerprint': 'other'"), "fingerprint"),
	    "0af765");
}
END_TEST

/* --- without input ------------------------------------------------------------------------ */

#define STANDS .thread = "t", .run = "r", .version = 4
#define PAUSED STANDS, .goes_on = true
#define RUN "{'agent': 'a', 'run': 'r', 'thread': 't', "
static const struct {
	struct run_place place;
	const char *keys, *expected; /* NULL: refused */
} continued[] = {
	{ { PAUSED }, "'input': null", RUN "'resume': 'null'}" },
	{ { PAUSED }, "", RUN "'resume': 'null'}" },
	{ { STANDS }, "'input': null", RUN "'checkpoint': '4'}" },
	{ { PAUSED }, "'input': null, 'checkpoint_id': '2'", RUN "'checkpoint': '2'}" },
	{ { PAUSED }, "'command': {'resume': 7}, 'checkpoint': {'checkpoint_id': '4'}",
	    RUN "'resume': '7'}" },
	{ { PAUSED }, "'command': {'goto': '__end__', 'update': {'n': 1}}",
	    RUN "'update': '{\\'n\\':1}', 'as': '__end__', 'multitask': 'enqueue'}" },
	{ { PAUSED }, "'command': {'goto': '__end__'}, 'multitask_strategy': 'reject'",
	    RUN "'update': '{}', 'as': '__end__', 'multitask': 'reject'}" },
	{ { .thread = "t", .run = "r" }, "'input': null", NULL },
	{ { .thread = "t", .run = "r", .is_stateless = true }, "", NULL },
};

START_TEST(without_input_a_thread_goes_on_where_it_stands)
{
	const char *body = arena_printf(arena, "{'assistant_id': 'a'%s%s}",
	    *continued[_i].keys != '\0' ? ", " : "", continued[_i].keys);
	const char *error = read_at(&continued[_i].place, body);

	if (continued[_i].expected == NULL) {
		ck_assert_has(error, "input: a new thread needs one");
	} else {
		ck_assert_msg(error == NULL, "%s", error);
		ck_assert_value(arena, read_body.fields, continued[_i].expected);
	}
}
END_TEST

/* --- what is refused ---------------------------------------------------------------------- */

/* Beside an agent; what the words begin with is the key's name. */
static const char *const refused[][2] = {
	{ "'command': {}, 'x': 1", "input: a new thread needs one" },
	{ "'command': []", "command: must have" },
	{ "'command': {'resume': 'y'}, 'checkpoint_id': '2'", "checkpoint: an answer" },
	{ "'command': 'resume'", "command: must have" },
	{ "'command': {'resume': 1}, 'checkpoint_id': 'x'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': ''", "checkpoint_id" },
	{ "'input': null, 'checkpoint_id': '0'", "input: a new thread" },
	{ "'input': {}, 'checkpoint_id': '-1'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': '1x'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': '+1'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': ' 1'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': '1.0'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': '99999999999999999999'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': '1f1e91e7-5c87-6c40-8001-1e1051da209e'",
	    "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': 1", "checkpoint_id" },
	{ "'input': {}, 'checkpoint_id': ['1']", "checkpoint_id" },
	{ "'input': {}, 'checkpoint': {'checkpoint_id': 'x'}", "checkpoint_id" },
	{ "'input': {}, 'checkpoint': {'checkpoint_id': 1}", "checkpoint_id" },
	{ "'input': {}, 'checkpoint': '1'", "checkpoint_id" },
	{ "'input': {}, 'checkpoint': 1", "checkpoint_id" },
	{ "'input': {}, 'checkpoint': ['1'], 'checkpoint_id': '1'", "checkpoint_id" },
	{ "'input': null, 'checkpoint_id': 'x'", "checkpoint_id" },
	{ "'input': {}, 'context': 'x'", "context: must be a map" },
	{ "'input': {}, 'context': ['x']", "context: must be a map" },
	{ "'input': {}, 'context': 1", "context: must be a map" },
	{ "'input': {}, 'config': 'x'", "config: must be a map" },
	{ "'input': {}, 'config': []", "config: must be a map" },
	{ "'input': {}, 'config': {'configurable': 'x'}",
	    "config.configurable: must be" },
	{ "'input': {}, 'config': {'configurable': [1]}",
	    "config.configurable: must be" },
	{ "'input': {}, 'config': {'recursion_limit': 0}",
	    "config.recursion_limit: must be an integer, at least 1" },
	{ "'input': {}, 'config': {'max_concurrency': 0}",
	    "config.max_concurrency: must be an integer, at least 1" },
	{ "'input': {}, 'config': {'recursion_limit': true}",
	    "config.recursion_limit: " },
	{ "'input': {}, 'config': {'recursion_limit': 9223372036854775808}",
	    "config.recursion_limit: " },
	{ "'input': {}, 'metadata': 'x'", "metadata: must be a map" },
	{ "'input': {}, 'metadata': [1]", "metadata: must be a map" },
	{ "'input': {}, 'metadata': 1", "metadata: must be a map" },
	{ "'input': {}, 'after_seconds': -1", "after_seconds: must be from 0" },
	{ "'input': {}, 'after_seconds': 31536001", "after_seconds: must be from 0" },
	{ "'input': {}, 'after_seconds': 1e300", "after_seconds: must be from 0" },
	{ "'input': {}, 'after_seconds': '2'", "after_seconds: must be from 0" },
	{ "'input': {}, 'after_seconds': true", "after_seconds: must be from 0" },
	{ "'input': {}, 'after_seconds': [2]", "after_seconds: must be from 0" },
	{ "'input': {}, 'interrupt_before': true", "interrupt_before: must be" },
	{ "'input': {}, 'interrupt_after': 'tools'", "interrupt_after: must be" },
	{ "'input': {}, 'multitask_strategy': 'queue'",
	    "multitask_strategy: must be one of enqueue, interrupt, rollback, reject" },
	{ "'input': {}, 'multitask_strategy': ''", "multitask_strategy: must be" },
	{ "'input': {}, 'multitask_strategy': 1", "multitask_strategy: must be" },
	{ "'input': {}, 'multitask_strategy': ['reject']", "multitask_strategy: must" },
	{ "'input': {}, 'on_completion': 'x'",
	    "on_completion: must be one of keep, delete" },
	{ "'input': {}, 'on_completion': false", "on_completion: must be" },
	{ "'input': {}, 'on_disconnect': 'x'",
	    "on_disconnect: must be one of continue, cancel" },
	{ "'input': {}, 'on_disconnect': true", "on_disconnect: must be" },
	{ "'input': {}, 'if_not_exists': 'x'",
	    "if_not_exists: must be one of reject, create" },
	{ "'input': {}, 'if_not_exists': {}", "if_not_exists: must be" },
	{ "'input': {}, 'webhook': 1", "webhook: must be a URL" },
	{ "'input': {}, 'webhook': {}", "webhook: must be a URL" },
	{ "'input': {}, 'webhook': 'example.com'", "webhook: must be a URL" },
	{ "'input': {}, 'webhook': 'ftp://example.com/'", "webhook: must be a URL" },
	{ "'input': {}, 'webhook': 'https://me:x@example.com/'", "webhook: the URL" },
	{ "'input': {}, 'stream_mode': 'all'", "stream_mode: there is no 'all'" },
	{ "'input': {}, 'stream_mode': ''", "stream_mode: there is no ''" },
	{ "'input': {}, 'stream_mode': 1", "stream_mode: there is no" },
	{ "'input': {}, 'stream_mode': {'values': 1}", "stream_mode: there is no" },
	{ "'input': {}, 'stream_mode': ['values', 'all']",
	    "stream_mode: there is no 'all'" },
	{ "'input': {}, 'stream_mode': ['values', 1]", "stream_mode: there is no" },
	{ "'input': {}, 'stream_mode': [['values']]", "stream_mode: there is no" },
};

START_TEST(what_is_wrong_is_named)
{
	const char *error = read_at(
	    &usual, arena_printf(arena, "{'assistant_id': 'a', %s}", refused[_i][0]));

	ck_assert_msg(error != NULL, "%s", refused[_i][0]);
	ck_assert_msg(strncmp(error, refused[_i][1], strlen(refused[_i][1])) == 0,
	    "%s: %s", refused[_i][0], error);
}
END_TEST

static const char *const without_agent[][2] = {
	{ "{'input': {}}", "assistant_id: is missing" },
	{ "{'input': {}, 'assistant_id': ''}",
	    "assistant_id: must be the name of an agent" },
	{ "{'input': {}, 'assistant_id': null}", "assistant_id: is missing" },
	{ "{'input': {}, 'assistant_id': 1}",
	    "assistant_id: must be the name of an agent" },
	{ "{'input': {}, 'assistant_id': ['a']}",
	    "assistant_id: must be the name of an agent" },
	{ "[]", "the body must be a map" },
	{ "'a'", "the body must be a map" },
	{ "null", "the body must be a map" },
	{ "1", "the body must be a map" },
};

START_TEST(a_body_without_an_agent_is_refused)
{
	ck_assert_has(read_at(&usual, without_agent[_i][0]), without_agent[_i][1]);
}
END_TEST

/* The first of several is named, whatever stands behind it. */
START_TEST(of_several_mistakes_one_is_named)
{
	ck_assert_has(
	    read_at(&usual, "{'assistant_id': 'a', 'stream_mode': 'x', 'config': "
			    "1, 'metadata': 1, 'on_disconnect': 1}"),
	    "stream_mode");
}
END_TEST

START_TEST(metadata_that_is_too_much_is_refused)
{
	char text[METADATA_BYTES_MAX + 1];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert_has(
	    read_at(&usual, arena_printf(arena,
				"{'assistant_id': 'a', 'input': {}, 'metadata': "
				"{'m': '%s'}}",
				text)),
	    "metadata: ");
}
END_TEST

TCase *
tcase_run_body(void)
{
	TCase *tcase = tcase_create("run_body");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, without_more_a_run_has_an_agent_ids_and_its_input);
	tcase_add_loop_test(tcase, each_key_becomes_a_field, 0, COUNT(taken));
	tcase_add_test(tcase, metadata_that_is_not_plain_is_kept_as_its_json);
	tcase_add_test(tcase, what_else_clients_send_is_passed_over);
	tcase_add_loop_test(
	    tcase, stream_modes_have_langgraphs_names, 0, COUNT(named_modes));
	tcase_add_test(tcase, modes_are_said_again);
	tcase_add_test(tcase, what_becomes_of_thread_and_run_is_said);
	tcase_add_test(tcase, the_tenant_is_the_keys);
	tcase_add_test(tcase, a_thread_that_is_made_for_a_run_ends_by_itself);
	tcase_add_test(tcase, a_request_that_may_be_made_again_is_told_from_others);
	tcase_add_loop_test(
	    tcase, without_input_a_thread_goes_on_where_it_stands, 0, COUNT(continued));
	tcase_add_loop_test(tcase, what_is_wrong_is_named, 0, COUNT(refused));
	tcase_add_loop_test(
	    tcase, a_body_without_an_agent_is_refused, 0, COUNT(without_agent));
	tcase_add_test(tcase, of_several_mistakes_one_is_named);
	tcase_add_test(tcase, metadata_that_is_too_much_is_refused);
	return tcase;
}
