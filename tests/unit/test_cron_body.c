/* What is asked of a cron by HTTP, and how it is shown. */
#include <check.h>
#include <string.h>

#include "has.h"
#include "json.h"

/* Interface under test */
#include "cron_body.h"

TCase *tcase_cron_body(void);

static struct arena *arena;

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

/* Of a text with ' for ". */
static const struct value *
json(const char *text)
{
	char *copy = arena_strdup(arena, text), *at;
	const struct value *value;
	const char *error = "";

	for (at = copy; (at = strchr(at, '\'')) != NULL; at++)
		*at = '"';
	value = json_parse(arena, copy, strlen(copy), &error);
	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}

static const char *
read_into(struct cron *cron, const char *text)
{
	return cron_body_read(arena, json(text), "acme", cron);
}

#define FIRST                                                                            \
	"{'assistant_id': 'clerk', 'schedule': '0 9 * * *', 'timezone': "                \
	"'Europe/Berlin', 'input': {'messages': [{'role': 'user', 'content': 'Hi'}]}, "  \
	"'metadata': {'who': 'me', 'list': [1]}, 'webhook': 'https://a.example/x', "     \
	"'end_time': '2030-01-31T09:30:00Z', 'config': {'configurable': {'x': 1}}}"

static struct cron
first(void)
{
	struct cron cron = { .id = "c" };
	const char *wrong = read_into(&cron, FIRST);

	ck_assert_msg(wrong == NULL, "%s", wrong);
	return cron;
}

static void
check_entry(const struct cron *cron, const char *text)
{
	ck_assert_msg(
	    value_equal(cron->entry, json(text)), "%s", json_text(arena, cron->entry));
}

START_TEST(a_body_becomes_what_is_submitted)
{
	struct cron cron = first();

	ck_assert_str_eq(cron.agent, "clerk");
	ck_assert_str_eq(cron.schedule, "0 9 * * *");
	ck_assert_str_eq(cron.timezone, "Europe/Berlin");
	ck_assert_int_eq(cron.end_ms, INT64_C(1896082200000));
	ck_assert(!cron.is_paused && !cron.keeps);
	ck_assert(value_equal(cron.metadata, json("{'who': 'me', 'list': [1]}")));
	check_entry(&cron,
	    "{'agent': 'clerk', 'input': '{\\'messages\\':[{\\'role\\':\\'user\\',"
	    "\\'content\\':\\'Hi\\'}]}', 'context': '{\\'x\\':1}', 'metadata': "
	    "'{\\'who\\':\\'me\\',\\'list\\':\\'[1]\\',\\'cron_id\\':\\'c\\'}', "
	    "'webhook': 'https://a.example/x', 'tenant': 'acme', 'ttl_ms': '3600000', "
	    "'ttl_action': 'delete'}");
}
END_TEST

START_TEST(a_change_leaves_the_rest)
{
	struct cron cron = first();

	ck_assert_ptr_null(read_into(&cron,
	    "{'schedule': '@daily', 'end_time': null, 'enabled': false, 'webhook': null, "
	    "'on_run_completed': 'keep', 'context': {'y': 2}}"));
	ck_assert_str_eq(cron.schedule, "@daily");
	ck_assert_str_eq(cron.timezone, "Europe/Berlin");
	ck_assert_int_eq(cron.end_ms, 0);
	ck_assert(cron.is_paused && cron.keeps);
	check_entry(&cron,
	    "{'agent': 'clerk', 'input': '{\\'messages\\':[{\\'role\\':\\'user\\',"
	    "\\'content\\':\\'Hi\\'}]}', 'context': '{\\'y\\':2}', 'metadata': "
	    "'{\\'who\\':\\'me\\',\\'list\\':\\'[1]\\',\\'cron_id\\':\\'c\\'}', "
	    "'tenant': 'acme'}");
	ck_assert_ptr_null(read_into(&cron, "{'metadata': {'n': 1}}"));
	ck_assert(value_equal(cron.metadata, json("{'n': 1}")));
	ck_assert_ptr_null(read_into(&cron, "{'on_run_completed': 'delete'}"));
	ck_assert_str_eq(value_get_text(cron.entry, "ttl_action"), "delete");
}
END_TEST

/* They are kept as those of its runs, and stay when something else is changed. */
START_TEST(metadata_of_a_config_are_its_metadata)
{
	struct cron cron = first();

	ck_assert_ptr_null(
	    read_into(&cron, "{'config': {'metadata': {'trace': 'x'}}, 'metadata': "
			     "{'n': 1}}"));
	ck_assert(value_equal(cron.metadata, json("{'trace': 'x', 'n': 1}")));
	ck_assert_ptr_null(read_into(&cron, "{'schedule': '@daily'}"));
	ck_assert(value_equal(cron.metadata, json("{'trace': 'x', 'n': 1}")));
	ck_assert_str_eq(value_get_text(cron.entry, "metadata"),
	    "{\"trace\":\"x\",\"n\":1,\"cron_id\":\"c\"}");
	ck_assert_ptr_null(read_into(&cron, "{'config': {'metadata': {'trace': 'y'}}}"));
	ck_assert(value_equal(cron.metadata, json("{'trace': 'y'}")));
}
END_TEST

/* Nothing else of a `config` is kept but the context, which stays where none comes with it. */
START_TEST(a_limit_is_shown_and_goes_with_its_config)
{
	struct cron cron = first();
	const char *before = value_get_text(cron.entry, "context");
	const struct value *payload;

	ck_assert_ptr_nonnull(before);
	ck_assert_ptr_null(
	    read_into(&cron, "{'config': {'recursion_limit': 7, 'tags': ['a']}}"));
	ck_assert_str_eq(value_get_text(cron.entry, "recursion_limit"), "7");
	ck_assert_str_eq(value_get_text(cron.entry, "context"), before);
	ck_assert_ptr_null(
	    read_into(&cron, "{'config': {'configurable': {'y': 2}, 'recursion_limit': "
			     "7}}"));
	ck_assert_str_eq(value_get_text(cron.entry, "context"), "{\"y\":2}");
	ck_assert_str_eq(value_get_text(cron.entry, "recursion_limit"), "7");
	payload = value_get(cron_body_shape(arena, &cron), "payload");
	ck_assert(
	    value_equal(value_get(payload, "config"), json("{'recursion_limit': 7}")));
	ck_assert_ptr_null(read_into(&cron, "{'config': {}}"));
	ck_assert_ptr_null(value_get(cron.entry, "recursion_limit"));
	ck_assert_ptr_null(read_into(&cron, "{'config': {'max_concurrency': 2}}"));
	payload = value_get(cron_body_shape(arena, &cron), "payload");
	ck_assert(
	    value_equal(value_get(payload, "config"), json("{'max_concurrency': 2}")));
	ck_assert_has(read_into(&cron, "{'config': {'recursion_limit': 0}}"),
	    "config.recursion_limit: must be");
}
END_TEST

START_TEST(pauses_are_shown_stay_and_are_taken_back)
{
	struct cron cron = first();
	const struct value *payload;

	ck_assert_ptr_null(
	    read_into(&cron, "{'interrupt_before': ['tools'], 'interrupt_after': '*'}"));
	ck_assert_ptr_null(read_into(&cron, "{'schedule': '@daily', 'webhook': null}"));
	payload = value_get(cron_body_shape(arena, &cron), "payload");
	ck_assert(value_equal(value_get(payload, "interrupt_before"), json("['tools']")));
	ck_assert(value_text_is(value_get(payload, "interrupt_after"), "*"));
	ck_assert_ptr_null(read_into(&cron, "{'interrupt_before': []}"));
	ck_assert_ptr_null(value_get(cron.entry, "interrupt_before"));
	ck_assert_str_eq(value_get_text(cron.entry, "interrupt_after"), "\"*\"");
}
END_TEST

START_TEST(what_only_the_command_line_says_stays)
{
	struct cron cron = first();

	cron.entry =
	    value_map_merge(arena, cron.entry, json("{'ttl_ms': '5', 'priority': '0'}"));
	ck_assert_ptr_null(read_into(&cron, "{'schedule': '@daily'}"));
	ck_assert_str_eq(value_get_text(cron.entry, "ttl_ms"), "5");
	ck_assert_str_eq(value_get_text(cron.entry, "priority"), "0");
}
END_TEST

START_TEST(a_cron_is_shown_as_langgraph_does)
{
	struct cron cron = first();
	const struct value *shape;

	cron.next_ms = INT64_C(1896080400000);
	cron.created_ms = cron.updated_ms = 1000;
	shape = cron_body_shape(arena, &cron);
	ck_assert_msg(
	    value_equal(shape,
		json("{'cron_id': 'c', 'assistant_id': 'clerk', 'thread_id': null, "
		     "'on_run_completed': 'delete', 'schedule': '0 9 * * *', 'timezone': "
		     "'Europe/Berlin', 'end_time': '2030-01-31T09:30:00.000Z', "
		     "'next_run_date': '2030-01-31T09:00:00.000Z', 'enabled': true, "
		     "'created_at': '1970-01-01T00:00:01.000Z', 'updated_at': "
		     "'1970-01-01T00:00:01.000Z', 'user_id': null, 'payload': "
		     "{'assistant_id': 'clerk', 'input': {'messages': [{'role': 'user', "
		     "'content': 'Hi'}]}, 'context': {'x': 1}, 'metadata': {'who': 'me', "
		     "'list': [1]}, 'webhook': 'https://a.example/x'}, 'metadata': "
		     "{'who': 'me', 'list': [1]}}")),
	    "%s", json_text(arena, shape));
}
END_TEST

#define CLERK "'assistant_id': 'clerk', 'input': {}"
static const struct {
	const char *body, *why;
} wrong[] = {
	{ "[]", "the body must be a map" },
	{ "{" CLERK "}", "schedule: is missing" },
	{ "{" CLERK ", 'schedule': 5}", "schedule: must be a text" },
	{ "{" CLERK ", 'schedule': '@daily', 'timezone': 5}", "timezone: must be" },
	{ "{" CLERK ", 'schedule': '@daily', 'end_time': 'soon'}", "end_time: must be" },
	{ "{" CLERK ", 'schedule': '@daily', 'enabled': 1}", "enabled: must be" },
	{ "{" CLERK ", 'schedule': '@daily', 'on_run_completed': 'x'}",
	    "on_run_completed: must be delete or keep" },
	{ "{" CLERK ", 'schedule': '@daily', 'command': {'resume': 1}}", "command: " },
	{ "{" CLERK ", 'schedule': '@daily', 'checkpoint_id': '3'}", "checkpoint: " },
	{ "{" CLERK ", 'schedule': '@daily', 'after_seconds': 3}", "after_seconds: " },
	{ "{" CLERK ", 'schedule': '@daily', 'multitask_strategy': 'x'}",
	    "multitask_strategy: must be" },
	{ "{" CLERK ", 'schedule': '@daily', 'webhook': 'x'}", "webhook: must be" },
	{ "{'input': {}, 'schedule': '@daily'}", "assistant_id: is missing" },
	{ "{'assistant_id': 'clerk', 'schedule': '@daily'}", "input: " },
	{ "{" CLERK ", 'schedule': '@daily\\u0000x'}", "schedule: holds a NUL" },
	{ "{" CLERK ", 'schedule': '@daily', 'timezone': 'UTC\\u0000x'}",
	    "timezone: holds a NUL" },
	{ "{" CLERK ", 'schedule': '@daily', 'end_time': '2030-01-31T09:30:00Z\\u0000'}",
	    "end_time: holds a NUL" },
	{ "{'assistant_id': 'clerk\\u0000x', 'input': {}, 'schedule': '@daily'}",
	    "assistant_id: holds a NUL" },
	{ "{" CLERK ", 'schedule': '@daily', 'metadata': {'who': 1, 'a\\u0000b': 1}}",
	    "metadata.a: holds a NUL" },
	{ "{" CLERK ", 'schedule': '@daily', 'webhook': 'https://a.example\\u0000/x'}",
	    "webhook: holds a NUL" },
	{ "{'assistant_id': 'clerk', 'schedule': '@daily', 'input': {'messages': 5}}",
	    "input: messages" },
	{ "{'assistant_id': 'clerk', 'schedule': '@daily', 'input': {'messages': "
	  "[{'role': 'user', 'content': 'Hi'}, {'role': 'nobody'}]}}",
	    "input: messages[1].role" },
};

START_TEST(what_is_wrong_is_said)
{
	struct cron cron = { .id = "c" };

	ck_assert_has(read_into(&cron, wrong[_i].body), wrong[_i].why);
}
END_TEST

/* As one is that lies in Redis since a time when nobody looked. */
START_TEST(one_that_cannot_run_can_be_paused_but_not_changed)
{
	struct cron cron = first();

	cron.entry = value_map_with(
	    arena, cron.entry, "input", value_str(arena, "{\"messages\": 5}"));
	ck_assert_ptr_null(read_into(&cron, "{'enabled': false, 'end_time': null}"));
	ck_assert(cron.is_paused);
	ck_assert_has(read_into(&cron, "{'metadata': {'a': 1}}"), "input: ");
	ck_assert_ptr_null(read_into(&cron, "{'input': {'messages': 'Hi'}}"));
}
END_TEST

TCase *
tcase_cron_body(void)
{
	TCase *tcase = tcase_create("cron_body");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_body_becomes_what_is_submitted);
	tcase_add_test(tcase, a_change_leaves_the_rest);
	tcase_add_test(tcase, metadata_of_a_config_are_its_metadata);
	tcase_add_test(tcase, a_limit_is_shown_and_goes_with_its_config);
	tcase_add_test(tcase, pauses_are_shown_stay_and_are_taken_back);
	tcase_add_test(tcase, what_only_the_command_line_says_stays);
	tcase_add_test(tcase, one_that_cannot_run_can_be_paused_but_not_changed);
	tcase_add_test(tcase, a_cron_is_shown_as_langgraph_does);
	tcase_add_loop_test(
	    tcase, what_is_wrong_is_said, 0, sizeof wrong / sizeof *wrong);
	return tcase;
}
