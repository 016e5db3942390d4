#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "../../worker-model/provider.h"

#include "fiber.h"
#include "literal.h"

static struct loop *loop;
static struct arena *arena;
static char shown[128]; /* "|" behind each piece */

static const struct endpoint endpoint = { .name = "scripted",
	.provider = &provider_scripted };

static void
setup(void)
{
	loop = loop_new();
	arena = arena_new();
	shown[0] = '\0';
}

static void
teardown(void)
{
	loop_destroy(&loop);
	arena_destroy(&arena);
}

/* Returns a conversation with so many AI messages in it. */
static const struct value *
conversation(unsigned ai_count)
{
	struct value_list list = { .arena = arena };

	value_list_add(&list, literal(arena, "{'type':'human','content':'?'}"));
	for (unsigned i = 0; i < ai_count; i++) {
		value_list_add(&list, literal(arena, "{'type':'ai','content':'x'}"));
		value_list_add(&list, literal(arena, "{'type':'tool','content':'y'}"));
	}
	return value_list_end(&list);
}

static const struct value *
ask(const char *script, unsigned ai_count, unsigned attempt, struct fault **fault_r)
{
	const struct ask given = {
		.arena = arena,
		.model = "m",
		.messages = conversation(ai_count),
		.script = value_map(arena, "m", literal(arena, script), NULL),
		.attempt = attempt,
	};

	return provider_scripted.send(&endpoint, &given, fault_r);
}

/* --- which entry ------------------------------------------------------------------- */

#define SCRIPT                                                                           \
	"[{'content':'r0'},{'http_error':500,'message':'f1a'},"                          \
	"{'error':'f1b','error_type':'ValueError'},{'content':'r1'},{'content':'r2'},"   \
	"{'drop':true}]"

static const struct {
	unsigned ai_count, attempt;
	const char *content; /* of the reply, or NULL */
	const char *type;    /* of the fault */
} turns[] = {
	{ 0, 1, "r0", NULL },
	{ 0, 2, "r0", NULL },
	{ 1, 1, NULL, "InternalServerError" },
	{ 1, 2, NULL, "ValueError" },
	{ 1, 3, "r1", NULL },
	{ 1, 4, "r1", NULL },
	{ 2, 1, "r2", NULL },
	{ 3, 1, NULL, "APIConnectionError" },
	{ 3, 2, NULL, "ValueError" }, /* behind the end */
	{ 4, 1, NULL, "ValueError" },
	{ 900, 1, NULL, "ValueError" },
};

START_TEST(the_place_in_the_script_follows_from_the_call_alone)
{
	/* Twice, as when the worker that played it first was killed. */
	for (int i = 0; i < 2; i++) {
		struct fault *fault = NULL;
		const struct value *message =
		    ask(SCRIPT, turns[_i].ai_count, turns[_i].attempt, &fault);

		if (turns[_i].content != NULL)
			ck_assert_str_eq(
			    value_get_text(message, "content"), turns[_i].content);
		else
			ck_assert_ptr_null(message);
		if (turns[_i].type != NULL)
			ck_assert_str_eq(fault->type, turns[_i].type);
	}
}
END_TEST

START_TEST(behind_the_end_the_number_of_replies_is_told)
{
	struct fault *fault = NULL;

	ask(SCRIPT, 7, 1, &fault);
	ck_assert_str_eq(fault->message, "the script of model 'm' has only 3 replies");
	ck_assert(!fault->retryable);
}
END_TEST

START_TEST(a_model_without_a_script_is_named)
{
	struct fault *fault = NULL;
	const struct ask given = { .arena = arena, .model = "other", .attempt = 1 };

	ck_assert_ptr_null(provider_scripted.send(&endpoint, &given, &fault));
	ck_assert_str_eq(fault->message, "the script has no model 'other'");
	ck_assert(!fault->retryable);
}
END_TEST

/* --- what is in it ----------------------------------------------------------------- */

static const struct {
	const char *entry, *message;
} replies[] = {
	{ "{'content':'x','usage':{'input_tokens':3,'output_tokens':4}}",
	    "{'type':'ai','content':'x','usage_metadata':{'input_tokens':3,'output_"
	    "tokens':4,"
	    "'total_tokens':7},'response_metadata':{'finish_reason':'stop','model_name':'"
	    "m'}}" },
	{ "{'content':'','tool_calls':[{'id':'c1','name':'f','args':{'a':1}}]}",
	    "{'type':'ai','content':'','tool_calls':[{'name':'f','args':{'a':1},'id':'c1'"
	    ","
	    "'type':'tool_call'}],'response_metadata':{'finish_reason':'tool_calls',"
	    "'model_name':'m'}}" },
	{ "{'tool_calls':[{'id':'c1','name':'f','args':'[]'}]}",
	    "{'type':'ai','content':'','invalid_tool_calls':[{'name':'f','args':'[]','id'"
	    ":'c1'"
	    ",'error':'the arguments are not a JSON object','type':'invalid_tool_call'}],"
	    "'response_metadata':{'finish_reason':'tool_calls','model_name':'m'}}" },
	{ "{'structured':{'tools':['a']}}",
	    "{'type':'ai','content':'{\\'tools\\':[\\'a\\']}','response_metadata':{"
	    "'finish_reason':'stop','model_name':'m'}}" },
};

START_TEST(a_reply_is_played)
{
	struct fault *fault = NULL;
	const char *script = arena_printf(arena, "[%s]", replies[_i].entry);

	ck_assert_value(arena, ask(script, 0, 1, &fault), replies[_i].message);
}
END_TEST

START_TEST(a_structured_reply_calls_the_tool_that_is_asked_for)
{
	struct fault *fault = NULL;
	struct ask given = {
		.arena = arena,
		.model = "m",
		.tools = literal(arena, "[{'name':'first'},{'name':'pick'}]"),
		.script = literal(arena, "{'m':[{'structured':{'a':1}}]}"),
		.attempt = 1,
	};

	ck_assert_value(arena,
	    value_get(provider_scripted.send(&endpoint, &given, &fault), "tool_calls"),
	    "[{'name':'first','args':{'a':1},'id':'structured','type':'tool_call'}]");
	given.tool_choice = literal(arena, "'pick'");
	ck_assert_value(arena,
	    value_get(provider_scripted.send(&endpoint, &given, &fault), "tool_calls"),
	    "[{'name':'pick','args':{'a':1},'id':'structured','type':'tool_call'}]");
	/* An output tool is there to be called for just this. */
	given.tool_choice = literal(arena, "'any'");
	given.response_format =
	    literal(arena, "{'strategy':'tool','schemas':[{'title':'pick'}]}");
	ck_assert_value(arena,
	    value_get(provider_scripted.send(&endpoint, &given, &fault), "tool_calls"),
	    "[{'name':'pick','args':{'a':1},'id':'structured','type':'tool_call'}]");
	given.response_format =
	    literal(arena, "{'strategy':'provider','schemas':[{'title':'pick'}]}");
	ck_assert_str_eq(
	    value_get_text(provider_scripted.send(&endpoint, &given, &fault), "content"),
	    "{\"a\":1}");
}
END_TEST

static const struct {
	const char *entry, *type, *message;
	int64_t retry_after_ms;
} faults[] = {
	{ "{'http_error':429,'message':'slow','retry_after':'1.5'}", "RateLimitError",
	    "scripted answered with status 429: slow", 1500 },
	{ "{'http_error':401,'message':'no','retry_after':2}", "AuthenticationError",
	    "scripted answered with status 401: no", 2000 },
	{ "{'drop':true}", "APIConnectionError",
	    "the connection to scripted failed: dropped, as the script says", 0 },
	{ "{'timeout':true}", "APITimeoutError",
	    "the request to scripted timed out: as the script says", 0 },
	{ "{'error':'odd','error_type':'MyError'}", "MyError", "odd", 0 },
	{ "{'error':'odd'}", "Exception", "odd", 0 },
	{ "{'tool_calls':[{'id':'c1'}]}", "ValueError",
	    "a scripted reply has a tool call without a name, or too many", 0 },
};

START_TEST(a_fault_is_played)
{
	struct fault *fault = NULL;
	const char *script = arena_printf(arena, "[%s]", faults[_i].entry);

	ck_assert_ptr_null(ask(script, 0, 1, &fault));
	ck_assert_str_eq(fault->type, faults[_i].type);
	ck_assert_str_eq(fault->message, faults[_i].message);
	ck_assert_int_eq(fault->retry_after_ms, faults[_i].retry_after_ms);
}
END_TEST

/* --- time and tokens --------------------------------------------------------------- */

struct play {
	struct ask ask;
	const struct value *message;
	struct fault *fault;
};

static void
play(void *arg)
{
	struct play *now = arg;

	now->message = provider_scripted.send(&endpoint, &now->ask, &now->fault);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(loop) == 0;
}

static void
publish(void *arg, const char *kind, const struct value *body)
{
	size_t used = strlen(shown);

	(void)arg;
	(void)kind;
	snprintf(
	    shown + used, sizeof shown - used, "%s|", value_get_text(body, "content"));
}

START_TEST(a_delay_is_waited_out_and_text_comes_in_words)
{
	struct tokens tokens = { .loop = loop, .publish = publish };
	struct play now = {
		.ask = { .arena = arena,
		    .model = "m",
		    .attempt = 1,
		    .tokens = &tokens,
		    .script = literal(
			arena, "{'m':[{'content':'one two  three','delay_ms':90}]}") }
	};
	uint64_t started_us = loop_now_us();

	tokens_begin(&tokens, "scripted:m");
	fiber_start(loop, "play", play, &now);
	loop_run_until(loop, all_ended, NULL);
	tokens_end(&tokens);
	tokens_release(&tokens);
	ck_assert_uint_ge(loop_now_us() - started_us, 85000);
	ck_assert_str_eq(value_get_text(now.message, "content"), "one two  three");
	ck_assert_str_eq(shown, "one |two  |three|");
}
END_TEST

START_TEST(a_call_that_is_cancelled_does_not_wait)
{
	struct play now = { .ask = { .arena = arena,
				.model = "m",
				.attempt = 1,
				.script = literal(arena,
				    "{'m':[{'content':'late','delay_ms':3000000}]}") } };

	fiber_cancel(fiber_start(loop, "play", play, &now));
	loop_run_until(loop, all_ended, NULL);
	ck_assert_ptr_null(now.message);
	ck_assert(now.fault->control);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_provider_scripted(void);

TCase *
tcase_provider_scripted(void)
{
	TCase *tcase = tcase_create("provider_scripted");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, the_place_in_the_script_follows_from_the_call_alone, 0, COUNT(turns));
	tcase_add_test(tcase, behind_the_end_the_number_of_replies_is_told);
	tcase_add_test(tcase, a_model_without_a_script_is_named);
	tcase_add_loop_test(tcase, a_reply_is_played, 0, COUNT(replies));
	tcase_add_test(tcase, a_structured_reply_calls_the_tool_that_is_asked_for);
	tcase_add_loop_test(tcase, a_fault_is_played, 0, COUNT(faults));
	tcase_add_test(tcase, a_delay_is_waited_out_and_text_comes_in_words);
	tcase_add_test(tcase, a_call_that_is_cancelled_does_not_wait);
	return tcase;
}
