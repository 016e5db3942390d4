/* Structured output around one model call: the whole chain, with a backend that plays. */
#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "output.h"

#define WEATHER                                                                          \
	"{'title': 'Weather', 'description': 'The sky.', 'type': 'object',"              \
	" 'properties': {'celsius': {'type': 'number'}}, 'required': ['celsius']}"
#define EVENT "{'title': 'Event', 'type': 'object', 'required': ['what']}"
#define GOOD "{'id': 'c1', 'name': 'Weather', 'args': {'celsius': 21}}"
#define BAD "{'id': 'c1', 'name': 'Weather', 'args': {'celsius': 'warm'}}"
#define AI(calls) "{'type': 'ai', 'content': '', 'tool_calls': [" calls "]}"

static struct arena *arena;
static struct play play;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena,
		.request = literal(arena,
		    "{'run': 'r', 'messages': [{'type': 'human', 'content': '?'}]}") };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* Calls with this response_format; settings, when there are, are of a wrap. */
static const struct value *
call(const char *format, const char *outcome, const char *settings)
{
	const char *path, *error;
	const struct value *form =
	    output_format(arena, literal(arena, format), NULL, &path, &error);

	ck_assert_msg(form != NULL, "%s: %s", path, error);
	play.profile = value_map_merge(arena,
	    literal(arena, "{'agent': 'a', 'model': 'openai:main', 'tools': []}"),
	    play.profile);
	play.profile = value_map_with(arena, play.profile, "response_format", form);
	play.outcomes[play.count] = outcome;
	return play_model(&play,
	    settings == NULL ? stub_chain(arena, NULL)
			     : stub_chain(arena, stub_use(arena, "A", settings), NULL));
}

static void
assert_fault(const struct value *body, const char *type, const char *text)
{
	const struct fault *fault = fault_from_value(arena, value_get(body, "fault"));

	ck_assert_ptr_nonnull(fault);
	ck_assert_str_eq(fault->type, type);
	ck_assert_msg(strstr(fault->message, text) != NULL, "'%s' is not in: %s", text,
	    fault->message);
	ck_assert(!fault->retryable);
}

/* What the model was told, by the n-th message behind its own. */
static const struct value *
answer(const struct value *body, size_t n)
{
	return value_at(value_get(body, "messages"), n + 1);
}

/* --- the tool strategy -------------------------------------------------------------- */

START_TEST(an_output_tool_is_offered_beside_the_others_and_must_be_called)
{
	play.profile = literal(arena, "{'tools': [{'name': 'add'}]}");
	call("{'strategy': 'tool', 'schema': " WEATHER "}", AI(GOOD), NULL);
	ck_assert_value(arena, value_get(play.seen, "tools"),
	    "[{'name': 'add'}, {'name': 'Weather', 'description': 'The sky.',"
	    " 'parameters': {'type': 'object', 'properties': {'celsius': {'type':"
	    " 'number'}}, 'required': ['celsius']}}]");
	ck_assert_str_eq(value_get_text(play.seen, "choice"), "any");
	/* Whatever a wrap wishes. */
	call("{'strategy': 'tool', 'schema': " WEATHER "}", AI(GOOD),
	    "{'override': [['tool_choice', 'none']]}");
	ck_assert_str_eq(value_get_text(play.seen, "choice"), "any");
}
END_TEST

START_TEST(a_call_that_fits_is_the_structured_response)
{
	const struct value *body =
	    call("{'strategy': 'tool', 'schema': " WEATHER "}", AI(GOOD), NULL);

	ck_assert_value(arena, value_get(body, "structured_response"), "{'celsius': 21}");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 2);
	ck_assert_str_eq(value_get_text(answer(body, 0), "content"),
	    "Returning structured response: {\"celsius\":21}");
	ck_assert_value(arena, value_map_with(arena, answer(body, 0), "content", NULL),
	    "{'type': 'tool', 'tool_call_id': 'c1', 'name': 'Weather', 'status':"
	    " 'success'}");
	body = call(
	    "{'strategy': 'tool', 'tool_message_content': 'Noted.', 'schema': " WEATHER
	    "}",
	    AI(GOOD), NULL);
	ck_assert_str_eq(value_get_text(answer(body, 0), "content"), "Noted.");
	body = call("{'strategy': 'tool', 'tool_message_content': '', 'schema': " WEATHER
		    "}",
	    AI(GOOD), NULL);
	ck_assert_str_eq(value_get_text(answer(body, 0), "content"),
	    "Returning structured response: {\"celsius\":21}");
}
END_TEST

static const struct {
	const char *handle_errors;
	const char *calls;
	const char *told; /* NULL: the run fails */
} handled[] = {
	{ "true", BAD, "tool 'Weather'" },
	{ "true", BAD, "/celsius" },
	{ "'Give a number.'", BAD, "Give a number." },
	{ "false", BAD, NULL },
	{ "['StructuredOutputValidationError']", BAD, "Weather" },
	{ "['StructuredOutputError']", BAD, "Weather" },
	{ "['Exception']", BAD, "Weather" },
	{ "['MultipleStructuredOutputsError']", BAD, NULL },
	{ "[]", BAD, NULL },
	{ "true", GOOD ", {'id': 'c2', 'name': 'Weather', 'args': {}}",
	    "(Weather, Weather)" },
	{ "['MultipleStructuredOutputsError']",
	    GOOD ", {'id': 'c2', 'name': 'Event', 'args': {}}", "(Weather, Event)" },
	{ "['StructuredOutputValidationError']",
	    GOOD ", {'id': 'c2', 'name': 'Event', 'args': {}}", NULL },
	{ "false", GOOD ", {'id': 'c2', 'name': 'Event', 'args': {}}", NULL },
};

START_TEST(what_does_not_fit_is_handled_as_told)
{
	const char *format = arena_printf(arena,
	    "{'strategy': 'tool', 'handle_errors': %s, 'schemas': [" WEATHER ", " EVENT
	    "]}",
	    handled[_i].handle_errors);
	const struct value *body =
	    call(format, arena_printf(arena, AI("%s"), handled[_i].calls), NULL);
	bool multiple = strstr(handled[_i].calls, "c2") != NULL;
	size_t i;

	if (handled[_i].told == NULL) {
		assert_fault(body,
		    multiple ? "MultipleStructuredOutputsError"
			     : "StructuredOutputValidationError",
		    "Weather");
		return;
	}
	ck_assert(!value_has(body, "structured_response"));
	/* Each call has its answer. */
	ck_assert_uint_eq(value_size(value_get(body, "messages")), multiple ? 3 : 2);
	for (i = 0; i < (multiple ? 2 : 1); i++) {
		const struct value *message = answer(body, i);

		ck_assert_str_eq(value_get_text(message, "status"), "error");
		ck_assert_str_eq(
		    value_get_text(message, "tool_call_id"), i == 0 ? "c1" : "c2");
		ck_assert_msg(
		    strstr(value_get_text(message, "content"), handled[_i].told) != NULL,
		    "'%s' is not in: %s", handled[_i].told,
		    value_get_text(message, "content"));
	}
}
END_TEST

START_TEST(arguments_that_are_no_json_are_an_error_of_the_output_too)
{
	const char *message =
	    "{'type': 'ai', 'content': '', 'invalid_tool_calls': [{'id': 'c1', 'name':"
	    " 'Weather', 'args': '{cel', 'error': 'cut'}]}";
	const struct value *body =
	    call("{'strategy': 'tool', 'schema': " WEATHER "}", message, NULL);

	ck_assert_str_eq(value_get_text(answer(body, 0), "tool_call_id"), "c1");
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(answer(body, 0), "content"), "not valid JSON"));
	body = call("{'strategy': 'tool', 'handle_errors': false, 'schema': " WEATHER "}",
	    message, NULL);
	assert_fault(body, "StructuredOutputValidationError", "Weather");
}
END_TEST

START_TEST(a_malformed_call_does_not_spoil_a_good_one)
{
	const struct value *body =
	    call("{'strategy': 'tool', 'handle_errors': false, 'schema': " WEATHER "}",
		"{'type': 'ai', 'content': '', 'tool_calls': [" GOOD "],"
		" 'invalid_tool_calls': [{'id': 'c0', 'name': 'Weather', 'args': '{cel',"
		" 'error': 'cut'}]}",
		NULL);

	ck_assert_value(arena, value_get(body, "structured_response"), "{'celsius': 21}");
	ck_assert_str_eq(value_get_text(answer(body, 0), "status"), "success");
	ck_assert_str_eq(value_get_text(answer(body, 0), "tool_call_id"), "c1");
}
END_TEST

START_TEST(other_calls_and_texts_are_left_alone)
{
	const struct value *body;

	play.profile = literal(arena, "{'tools': [{'name': 'add'}]}");
	body = call("{'strategy': 'tool', 'schema': " WEATHER "}",
	    AI("{'id': 'c0', 'name': 'add', 'args': {}}"), NULL);
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 1);
	ck_assert(!value_has(body, "structured_response"));
	body = call("{'strategy': 'tool', 'schema': " WEATHER "}", "no tool today", NULL);
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 1);
	/* Beside a good one they stay to be run. */
	body = call("{'strategy': 'tool', 'schema': " WEATHER "}",
	    AI("{'id': 'c0', 'name': 'add', 'args': {}}, " GOOD), NULL);
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 2);
	ck_assert_value(arena, value_get(body, "structured_response"), "{'celsius': 21}");
}
END_TEST

START_TEST(a_variant_of_a_union_keeps_the_definitions_it_refers_to)
{
	const struct value *body =
	    call("{'strategy': 'tool', 'schema': {'oneOf': ["
		 "{'title': 'A', 'properties': {'n': {'$ref':"
		 " '#/$defs/n'}}}, " EVENT "], '$defs': {'n': {'type': 'integer'}}}}",
		AI("{'id': 'c1', 'name': 'A', 'args': {'n': 'x'}}"), NULL);

	ck_assert_ptr_nonnull(
	    strstr(value_get_text(answer(body, 0), "content"), "/n: must be an integer"));
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 2);
}
END_TEST

/* --- the provider strategy ---------------------------------------------------------- */

START_TEST(a_provider_is_asked_for_the_schema_and_its_text_is_read)
{
	const struct value *body = call("{'strategy': 'provider', 'strict': true,"
					" 'schema': " WEATHER "}",
	    "{\"celsius\": 3}", NULL);

	ck_assert_value(arena, value_get(play.seen, "tools"), "[]");
	ck_assert_ptr_null(value_get(play.seen, "choice"));
	ck_assert_value(arena, value_get(play.seen, "format"),
	    "{'strategy': 'provider', 'schemas': [" WEATHER
	    "], 'handle_errors': true, 'strict': true}");
	ck_assert_value(arena, value_get(body, "structured_response"), "{'celsius': 3}");
	ck_assert_uint_eq(value_size(value_get(body, "messages")), 1);
}
END_TEST

START_TEST(a_provider_that_calls_tools_is_not_read_yet)
{
	const struct value *body = call("{'strategy': 'provider', 'schema': " WEATHER "}",
	    AI("{'id': 'c0', 'name': 'add', 'args': {}}"), NULL);

	ck_assert(!value_has(body, "fault") && !value_has(body, "structured_response"));
}
END_TEST

static const struct {
	const char *message, *reason;
} unread[] = {
	{ "It is sunny.", "not JSON" },
	{ "[1]", "not a JSON object" },
	{ "{\"celsius\": \"warm\"}", "/celsius" },
	{ "{'type': 'ai', 'content': '', 'additional_kwargs': {'refusal': 'I will not'}}",
	    "the model refused: I will not" },
	{ "{'type': 'ai', 'content': '{cel', 'response_metadata': {'finish_reason':"
	  " 'length'}}",
	    "cut off" },
	{ "{'type': 'ai', 'content': '{cel', 'response_metadata': {'stopReason':"
	  " 'max_tokens'}}",
	    "cut off" },
	{ "{'type': 'ai', 'content': '{cel', 'response_metadata': {'incomplete_details':"
	  " {'reason': 'max_output_tokens'}}}",
	    "cut off" },
};

START_TEST(a_providers_text_that_does_not_fit_fails_the_run)
{
	/* What handle_errors says is about calls. */
	const struct value *body = call("{'strategy': 'provider', 'handle_errors': true,"
					" 'schema': " WEATHER "}",
	    unread[_i].message, NULL);

	assert_fault(body, "StructuredOutputValidationError", unread[_i].reason);
	assert_fault(body, "StructuredOutputValidationError", "Weather");
}
END_TEST

/* --- auto --------------------------------------------------------------------------- */

static const char *
strategy_seen(void)
{
	return value_get_text(value_get(play.seen, "format"), "strategy");
}

START_TEST(auto_takes_the_provider_where_the_model_can)
{
	const char *format = "{'schema': " WEATHER "}";

	call(format, AI(GOOD), NULL);
	ck_assert_str_eq(strategy_seen(), "tool");
	play.capable = "openai:main";
	call(format, "{\"celsius\": 3}", NULL);
	ck_assert_str_eq(strategy_seen(), "provider");
	/* By the model and the tools of the request, call by call. */
	call(format, AI(GOOD), "{'override': [['model', 'openai:other']]}");
	ck_assert_str_eq(strategy_seen(), "tool");
	play.profile = literal(arena, "{'tools': [{'name': 'add'}]}");
	call(format, AI(GOOD), NULL);
	ck_assert_str_eq(strategy_seen(), "tool");
	call(format, "{\"celsius\": 3}", "{'override': [['tools', []]]}");
	ck_assert_str_eq(strategy_seen(), "provider");
}
END_TEST

START_TEST(a_union_is_for_tools)
{
	play.capable = "openai:main";
	call("{'schemas': [" WEATHER ", " EVENT "]}", AI(GOOD), NULL);
	ck_assert_str_eq(strategy_seen(), "tool");
}
END_TEST

START_TEST(the_agents_word_on_its_model_counts_first)
{
	const char *format = "{'schema': " WEATHER "}";

	play.profile = literal(arena, "{'model_profile': {'structured_output': true}}");
	call(format, "{\"celsius\": 3}", NULL);
	ck_assert_str_eq(strategy_seen(), "provider");
	/* Of another model it says nothing. */
	call(format, AI(GOOD), "{'override': [['model', 'openai:other']]}");
	ck_assert_str_eq(strategy_seen(), "tool");
	play.capable = "openai:main";
	play.profile = literal(arena, "{'model_profile': {'structured_output': false}}");
	call(format, AI(GOOD), NULL);
	ck_assert_str_eq(strategy_seen(), "tool");
	play.profile = literal(arena,
	    "{'model_profile': {'structured_output': true, 'except_with_tools': true},"
	    " 'tools': [{'name': 'add'}]}");
	call(format, AI(GOOD), NULL);
	ck_assert_str_eq(strategy_seen(), "tool");
}
END_TEST

/* --- formats of requests ------------------------------------------------------------ */

#define OVERRIDE(format) "{'override': [['response_format', " format "]]}"

START_TEST(a_wrap_gives_a_request_another_format)
{
	const char *format = "{'strategy': 'tool', 'schemas': [" WEATHER ", " EVENT "]}";
	const struct value *body;

	/* None. */
	body = call(format, "just text", OVERRIDE("null"));
	ck_assert(!value_has(play.seen, "format"));
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 0);
	ck_assert_str_eq(stub_outcome(arena, body), "just text");
	/* One of those declared, as a bare schema. */
	body = call(format, AI(GOOD), OVERRIDE(WEATHER));
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 1);
	ck_assert_value(arena, value_get(body, "structured_response"), "{'celsius': 21}");
	/* Any, for the provider: no name of it matters behind the call. */
	body = call(format, "{\"x\": 1}",
	    OVERRIDE("{'strategy': 'provider', 'schema': {'title': 'New'}}"));
	ck_assert_value(arena, value_get(body, "structured_response"), "{'x': 1}");
	/* The provider's own form is nobody else's. */
	body = call(format, "{\"x\": 1}", OVERRIDE("{'type': 'json_object'}"));
	ck_assert_value(arena, value_get(play.seen, "format"), "{'type': 'json_object'}");
	ck_assert(!value_has(body, "structured_response"));
}
END_TEST

static const struct {
	const char *agents, *requests, *reason;
} refused_formats[] = {
	{ "{'strategy': 'tool', 'schema': " WEATHER "}", "{'title': 'New'}", "New" },
	{ "{'strategy': 'tool', 'schema': " WEATHER "}", "{'title': 'New'}",
	    "it has: Weather" },
	{ "{'strategy': 'provider', 'schema': " WEATHER "}",
	    "{'strategy': 'tool', 'schema': " WEATHER "}", "it has: none" },
	{ "{'strategy': 'tool', 'schema': " WEATHER "}", "{'strategy': 'tol'}",
	    "/strategy: must be auto, tool or provider" },
	{ "{'strategy': 'tool', 'schema': " WEATHER "}",
	    "{'schema': {'title': 'Weather', 'type': 'array'}}", "/schema/type" },
};

START_TEST(a_format_that_cannot_work_fails_the_call_before_it_is_sent)
{
	const struct value *body = call(refused_formats[_i].agents, NULL,
	    arena_printf(arena, OVERRIDE("%s"), refused_formats[_i].requests));

	assert_fault(body, "ValueError", refused_formats[_i].reason);
	ck_assert_uint_eq(play.count, 0);
}
END_TEST

static struct model_response *
asking_wrap(struct model_request *own, struct model_next *next)
{
	struct model_response *response = model_call(
	    own, literal(arena, "{'messages': [], 'response_format': {'strategy': 'tool',"
				" 'schema': " EVENT "}}"));

	(void)next;
	ck_assert_value(arena, response->structured_response, "{'what': 'tea'}");
	return model_answer(own, value_str(arena, "done"));
}

START_TEST(a_call_of_a_middlewares_own_may_ask_for_any_output)
{
	const struct middleware type = { .wrap_model_call = asking_wrap };
	struct middleware_use asker = *stub_use(arena, "asker", "{}");

	asker.type = &type;
	play.profile = literal(arena, "{'agent': 'a', 'model': 'openai:main'}");
	play.outcomes[0] = AI("{'id': 'c1', 'name': 'Event', 'args': {'what': 'tea'}}");
	ck_assert_str_eq(
	    stub_outcome(arena, play_model(&play, stub_chain(arena, &asker, NULL))),
	    "done");
	ck_assert_str_eq(play.tag, "asker");
}
END_TEST

START_TEST(the_profile_of_a_hooks_own_call_has_its_tool_choice)
{
	play.profile = literal(arena, "{'agent': 'a', 'model': 'openai:main', 'tools':"
				      " [{'name': 'pick'}], 'tool_choice': 'pick'}");
	play_model(&play, stub_chain(arena, NULL));
	ck_assert_str_eq(value_get_text(play.seen, "choice"), "pick");
	/* And its response_format as the hook wrote it. */
	play.profile =
	    value_map_with(arena, play.profile, "response_format", literal(arena, EVENT));
	play_model(&play, stub_chain(arena, NULL));
	ck_assert_uint_eq(value_size(value_get(play.seen, "tools")), 2);
}
END_TEST

TCase *tcase_output(void);
TCase *
tcase_output(void)
{
	TCase *tcase = tcase_create("output");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
	    tcase, an_output_tool_is_offered_beside_the_others_and_must_be_called);
	tcase_add_test(tcase, a_call_that_fits_is_the_structured_response);
	tcase_add_loop_test(tcase, what_does_not_fit_is_handled_as_told, 0,
	    sizeof handled / sizeof handled[0]);
	tcase_add_test(tcase, arguments_that_are_no_json_are_an_error_of_the_output_too);
	tcase_add_test(tcase, a_malformed_call_does_not_spoil_a_good_one);
	tcase_add_test(tcase, other_calls_and_texts_are_left_alone);
	tcase_add_test(tcase, a_variant_of_a_union_keeps_the_definitions_it_refers_to);
	tcase_add_test(tcase, a_provider_is_asked_for_the_schema_and_its_text_is_read);
	tcase_add_test(tcase, a_provider_that_calls_tools_is_not_read_yet);
	tcase_add_loop_test(tcase, a_providers_text_that_does_not_fit_fails_the_run, 0,
	    sizeof unread / sizeof unread[0]);
	tcase_add_test(tcase, auto_takes_the_provider_where_the_model_can);
	tcase_add_test(tcase, a_union_is_for_tools);
	tcase_add_test(tcase, the_agents_word_on_its_model_counts_first);
	tcase_add_test(tcase, a_wrap_gives_a_request_another_format);
	tcase_add_loop_test(tcase,
	    a_format_that_cannot_work_fails_the_call_before_it_is_sent, 0,
	    sizeof refused_formats / sizeof refused_formats[0]);
	tcase_add_test(tcase, a_call_of_a_middlewares_own_may_ask_for_any_output);
	tcase_add_test(tcase, the_profile_of_a_hooks_own_call_has_its_tool_choice);
	return tcase;
}
