/* What is wrong with a submission is said in whole characters, whatever bytes it has; none of them is left out. */
#include <check.h>
#include <string.h>

#include "submission.h"
#include "arena.h"
#include "json.h"
#include "utf8.h"

TCase *tcase_submission(void);

/* Of the characters of two and three bytes some lie across each place where a text may be cut. */
#define LONG                                                                             \
	"ééééééééééééééééééééééééééééééééééé"         \
	"€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€"

static const char *const names[] = { "multitask", "checkpoint", "after_ms", "at",
	"deadline_ms", "priority", "recursion_limit", "max_concurrency" };
static const char *const texts[] = { LONG, "x" LONG, "xx" LONG, "\xff" LONG, "\xc3" };
#define TEXTS (sizeof texts / sizeof *texts)

/* Entries come from Redis as bytes. */
static struct submission
read_with(struct arena *arena, const char *name, const char *text, size_t size)
{
	struct value_fields fields = { .arena = arena };
	struct submission submission;

	value_fields_set(&fields, "agent", value_bin(arena, "a", 1));
	value_fields_set(&fields, "input", value_bin(arena, "\"hi\"", 4));
	value_fields_set(&fields, name, value_bin(arena, text, size));
	submission_read(arena, "1-0", value_fields_end(&fields), &submission);
	return submission;
}

static const char *
error_of(struct arena *arena, const char *name, const char *text)
{
	return read_with(arena, name, text, strlen(text)).error;
}

static void
must_be_text(const char *error)
{
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(utf8_valid(error, strlen(error)), "%s", error);
	ck_assert_uint_lt(strlen(error), 300);
}

START_TEST(what_is_refused_is_shown_in_whole_characters)
{
	struct arena *arena = arena_new();
	size_t i;

	for (i = 0; i < TEXTS; i++)
		must_be_text(error_of(arena, names[_i], texts[i]));
	arena_destroy(&arena);
}
END_TEST

START_TEST(so_is_a_field_that_nobody_knows)
{
	struct arena *arena = arena_new();
	size_t i;

	for (i = 0; i < TEXTS; i++)
		must_be_text(error_of(arena, texts[i], "x"));
	must_be_text(error_of(arena, "metadata", "{\"" LONG "\": []}"));
	must_be_text(error_of(arena, "metadata", "{\"x" LONG "\": []}"));
	arena_destroy(&arena);
}
END_TEST

static const char *const with_nul[] = { "agent", "run", "thread", "parent", "tenant",
	"multitask", "checkpoint", "priority", "webhook", "stream", "ttl_ms", "input",
	"traceparent", "fingerprint", "assistant", "recursion_limit", "max_concurrency" };

/* What stands before it may be another run's id: nothing of that one may be touched. */
START_TEST(a_field_does_not_end_at_a_nul_byte)
{
	struct arena *arena = arena_new();
	struct submission submission = read_with(arena, with_nul[_i], "1\0x", 3);

	ck_assert_ptr_nonnull(submission.error);
	ck_assert_msg(
	    strstr(submission.error, with_nul[_i]) != NULL, "%s", submission.error);
	ck_assert_str_eq(submission.run, "run-1-0");
	ck_assert_str_eq(submission.thread, "run-1-0");
	arena_destroy(&arena);
}
END_TEST

static const char *
messages_of(struct arena *arena, const char *field, const char *json)
{
	struct value_fields fields = { .arena = arena };
	struct submission submission;
	const struct value *written;

	value_fields_set(&fields, "agent", value_bin(arena, "a", 1));
	value_fields_set(&fields, "thread", value_bin(arena, "t", 1));
	if (strcmp(field, "update") == 0)
		value_fields_set(&fields, "as", value_bin(arena, "model", 5));
	value_fields_set(&fields, field, value_bin(arena, json, strlen(json)));
	submission_read(arena, "1-0", value_fields_end(&fields), &submission);
	if (submission.error != NULL)
		return submission.error;
	written = strcmp(field, "update") == 0 ? value_get(submission.options, "update")
					       : submission.input;
	return json_text(
	    arena, value_get(value_at(value_get(written, "messages"), 0), "tool_calls"));
}

#define CALLING(arguments)                                                               \
	"{\"messages\": [{\"role\": \"assistant\", \"content\": null, \"tool_calls\": "  \
	"[{\"id\": \"c1\", \"type\": \"function\", \"function\": "                       \
	"{\"name\": \"add\", \"arguments\": " arguments "}}]}]}"
#define CALLS(args)                                                                      \
	"[{\"name\":\"add\",\"args\":" args ",\"id\":\"c1\",\"type\":\"tool_call\"}]"

START_TEST(calls_may_have_openais_form)
{
	static const char *const fields[] = { "input", "update" };
	struct arena *arena = arena_new();
	const char *field = fields[_i];

	ck_assert_str_eq(messages_of(arena, field, CALLING("\"{\\\"a\\\": [1]}\"")),
	    CALLS("{\"a\":[1]}"));
	ck_assert_str_eq(messages_of(arena, field, CALLING("\"\"")), CALLS("{}"));
	arena_destroy(&arena);
}
END_TEST

START_TEST(arguments_in_openais_form_are_an_object)
{
	struct arena *arena = arena_new();

	ck_assert_str_eq(messages_of(arena, "input", CALLING("\"{\"")),
	    "input: messages[0].tool_calls[0]: needs args, a map");
	ck_assert_str_eq(messages_of(arena, "input", CALLING("\"[1]\"")),
	    "input: messages[0].tool_calls[0]: needs args, a map");
	arena_destroy(&arena);
}
END_TEST

/* What OpenAI answered, as messages of LangChain have kept it. */
#define BESIDE(calls)                                                                    \
	"{\"messages\": [{\"type\": \"ai\", \"content\": \"\", " calls                   \
	"\"additional_kwargs\": {\"tool_calls\": [{\"id\": \"c1\", \"type\": "           \
	"\"function\", \"function\": {\"name\": \"add\", \"arguments\": "                \
	"\"{\\\"a\\\": 1}\"}}, {\"id\": \"c2\", \"type\": \"function\", "                \
	"\"function\": {\"name\": \"add\", \"arguments\": \"{\"}}]}}]}"

START_TEST(calls_may_be_in_additional_kwargs_alone)
{
	struct value_fields fields = { .arena = arena_new() };
	struct arena *arena = fields.arena;
	const char *entry = BESIDE("");
	struct submission submission;
	const struct value *message;

	value_fields_set(&fields, "agent", value_bin(arena, "a", 1));
	value_fields_set(&fields, "input", value_bin(arena, entry, strlen(entry)));
	submission_read(arena, "1-0", value_fields_end(&fields), &submission);
	ck_assert_ptr_null(submission.error);
	message = value_at(value_get(submission.input, "messages"), 0);
	ck_assert_str_eq(
	    json_text(arena, value_get(message, "tool_calls")), CALLS("{\"a\":1}"));
	ck_assert_str_eq(json_text(arena, value_get(message, "invalid_tool_calls")),
	    "[{\"name\":\"add\",\"args\":\"{\",\"id\":\"c2\",\"type\":\"invalid_tool_"
	    "call\",\"error\":\"the arguments are no JSON object\"}]");
	ck_assert_str_eq(
	    messages_of(arena, "input", BESIDE("\"tool_calls\": [], ")), "[]");
	arena_destroy(&arena);
}
END_TEST

static const struct {
	const char *text;
	int64_t steps; /* 0: none; -1: refused */
} limits[] = {
	{ "", 0 },
	{ "1", 1 },
	{ "007", 7 },
	{ "9223372036854775807", INT64_MAX },
	{ "0", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ " 1", -1 },
	{ "1.0", -1 },
	{ "many", -1 },
	{ "9223372036854775808", -1 },
};

static void
check_count(const char *name, const char *text, int64_t count, const char *what)
{
	struct arena *arena = arena_new();
	struct submission submission = read_with(arena, name, text, strlen(text));

	if (count == -1) {
		ck_assert_ptr_nonnull(submission.error);
		ck_assert_str_eq(submission.error,
		    arena_printf(arena, "%s: '%s' is no number of %s, at least 1", name,
			text, what));
	} else {
		ck_assert_ptr_null(submission.error);
		ck_assert_int_eq(value_get_int(submission.options, name, 0), count);
	}
	arena_destroy(&arena);
}

START_TEST(a_run_may_have_a_limit_of_its_own)
{
	check_count("recursion_limit", limits[_i].text, limits[_i].steps, "steps");
	check_count("max_concurrency", limits[_i].text, limits[_i].steps, "calls");
}
END_TEST

TCase *
tcase_submission(void)
{
	TCase *tcase = tcase_create("submission");

	tcase_add_loop_test(tcase, what_is_refused_is_shown_in_whole_characters, 0,
	    sizeof names / sizeof *names);
	tcase_add_test(tcase, so_is_a_field_that_nobody_knows);
	tcase_add_loop_test(tcase, a_field_does_not_end_at_a_nul_byte, 0,
	    sizeof with_nul / sizeof *with_nul);
	tcase_add_loop_test(tcase, calls_may_have_openais_form, 0, 2);
	tcase_add_test(tcase, arguments_in_openais_form_are_an_object);
	tcase_add_test(tcase, calls_may_be_in_additional_kwargs_alone);
	tcase_add_loop_test(
	    tcase, a_run_may_have_a_limit_of_its_own, 0, sizeof limits / sizeof *limits);
	return tcase;
}
