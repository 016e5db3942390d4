#include <check.h>
#include <string.h>

#include "chain.h"
#include "json.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "../../worker-model/openai_moderation.h"
#include "../../worker-model/openai_url.h"

static struct arena *arena;
static const struct value *asked; /* the texts that were judged */

static void
setup(void)
{
	arena = arena_new();
	asked = value_empty_array();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* --- the endpoint ------------------------------------------------------------------- */

START_TEST(the_last_text_is_sent_beside_the_chat)
{
	struct ask ask = { .arena = arena,
		.model = "omni-moderation-latest",
		.messages = literal(arena,
		    "[{'type':'human','content':'old'},"
		    "{'type':'human','content':[{'type':'text','text':'new'}]}]") };

	ck_assert_value(arena, openai_moderation_request(&ask, false, NULL),
	    "{'model':'omni-moderation-latest','input':'new'}");
	ask.messages = literal(arena, "[{'type':'human','content':'a\\u0000b'}]");
	ck_assert_value(arena, openai_moderation_request(&ask, false, NULL),
	    "{'model':'omni-moderation-latest','input':'a\\u0000b'}");
	ck_assert_str_eq(
	    openai_url_beside(arena, "https://x.y/v1/chat/completions", "/moderations"),
	    "https://x.y/v1/moderations");
}
END_TEST

START_TEST(the_verdict_is_read)
{
	const char *error = NULL;
	const struct value *message = openai_moderation_answer(arena,
	    literal(arena,
		"{'id':'modr-1','model':'m','results':[{'flagged':true,'categories':"
		"{'hate':true,'violence':false,'illicit':null},'category_scores':"
		"{'hate':0.9,'violence':0},'category_applied_input_types':{}}]}"),
	    &error);

	ck_assert_msg(message != NULL, "%s", error);
	ck_assert_str_eq(value_get_text(message, "content"),
	    "{\"flagged\":true,\"categories\":{\"hate\":true,\"violence\":false,"
	    "\"illicit\":null},\"category_scores\":{\"hate\":0.9,\"violence\":0}}");
}
END_TEST

static const char *const unreadable[] = { "{}", "{'results':[]}", "{'results':[{}]}",
	"{'results':[{'flagged':'no','categories':{},'category_scores':{}}]}",
	"{'results':[{'flagged':true,'categories':[],'category_scores':{}}]}",
	"{'results':[{'flagged':true,'categories':{},'category_scores':{'a':'b'}}]}",
	"{'results':[{'flagged':true,'categories':{'a':7},'category_scores':{}}]}",
	"{'results':{'flagged':true}}", "[]" };

START_TEST(an_answer_without_a_verdict_is_none)
{
	const char *error = NULL;

	ck_assert_ptr_null(
	    openai_moderation_answer(arena, literal(arena, unreadable[_i]), &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

/* --- the middleware ----------------------------------------------------------------- */

static const struct middleware_use *
use_of(const char *settings)
{
	return literal_use(arena, "openai_moderation", settings);
}

#define ODD_LISTS "{\"flagged\":true,\"categories\":[\"a\",\"b\"],\"category_scores\":{}}"
#define ODD_SCORES "{\"flagged\":true,\"categories\":{},\"category_scores\":[1,2,3]}"

/* "bad" is flagged, "lost" and "mute" cannot be judged, "odd" gets no verdict. */
static const struct value *
judge(struct turn *turn, const struct value *wish)
{
	const struct value *message = value_at(value_get(wish, "messages"), 0);
	const char *text = value_get_text(message, "content");

	ck_assert_str_eq(value_get_text(wish, "task"), "moderation");
	asked = value_array_add(arena, asked, value_get(message, "content"));
	if (strstr(text, "lost") != NULL)
		return literal(
		    turn->arena, "{'fault':{'type':'RateLimitError','message':'slow'}}");
	if (strstr(text, "mute") != NULL)
		return literal(turn->arena, "{'fault':{}}");
	message = chat_ai(turn->arena,
	    strstr(text, "odd lists") != NULL    ? ODD_LISTS
	    : strstr(text, "odd scores") != NULL ? ODD_SCORES
	    : strstr(text, "odd") != NULL        ? "I think so"
	    : strstr(text, "bad") != NULL
		? "{\"flagged\":true,\"categories\":{\"hate\":true,\"x\":false,"
		  "\"violence\":true},\"category_scores\":{\"x\":0.1,\"hate\":0.9}}"
		: "{\"flagged\":false,\"categories\":{},\"category_scores\":{}}");
	return value_map(
	    turn->arena, "messages", value_array(turn->arena, &message, 1), NULL);
}

static const char *
turn(const char *settings, enum hook hook, const char *messages)
{
	struct turn turn = { .arena = arena,
		.use = use_of(settings),
		.messages = literal(arena, messages),
		.state = value_empty_map(),
		.call_model = judge };
	const struct value *update = chain_node_hook(&turn, hook);

	if (turn.fault != NULL)
		return arena_printf(
		    arena, "%s: %s", turn.fault->type, turn.fault->message);
	return update == NULL ? "none" : json_text(arena, update);
}

#define TALK                                                                             \
	"[{'type':'human','id':'1','content':'bad old'},"                                \
	"{'type':'ai','id':'2','content':'bad','tool_calls':[{'id':'c','name':'f',"      \
	"'args':{}}]},{'type':'tool','id':'3','tool_call_id':'c','content':'bad tool'}," \
	"{'type':'human','id':'4','content':'bad new'}]"
#define SAY "'violation_message': 'No: {categories}'"

static const struct {
	const char *settings;
	enum hook hook;
	const char *messages, *gives, *asks;
} turns[] = {
	{ "{" SAY "}", HOOK_BEFORE_MODEL, TALK,
	    "{\"messages\":[{\"type\":\"ai\",\"content\":\"No: hate, violence\"}],"
	    "\"jump_to\":\"end\"}",
	    "['bad new']" },
	{ "{'exit_behavior': 'replace', 'check_tool_results': true, " SAY "}",
	    HOOK_BEFORE_MODEL, TALK,
	    "{\"messages\":[{\"type\":\"tool\",\"id\":\"3\",\"tool_call_id\":\"c\","
	    "\"content\":\"No: hate, violence\"},{\"type\":\"human\",\"id\":\"4\","
	    "\"content\":\"No: hate, violence\"}]}",
	    "['bad tool','bad new']" },
	{ "{'exit_behavior': 'error', 'check_tool_results': true, " SAY "}",
	    HOOK_BEFORE_MODEL, TALK, "OpenAIModerationError: No: hate, violence",
	    "['bad tool']" },
	{ "{'check_input': false}", HOOK_BEFORE_MODEL, TALK, "none", "[]" },
	{ "{}", HOOK_BEFORE_MODEL, "[{'type':'human','content':'good'}]", "none",
	    "['good']" },
	{ "{}", HOOK_BEFORE_MODEL, "[{'type':'human','content':''}]", "none", "[]" },
	{ "{}", HOOK_BEFORE_MODEL, "[]", "none", "[]" },
	{ "{'exit_behavior': 'error', " SAY "}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','content':'\\u0000bad'}]",
	    "OpenAIModerationError: No: hate, violence", "[' bad']" },
	{ "{'check_output': false}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'bad'}]",
	    "none", "[]" },
	{ "{'exit_behavior': 'replace', 'violation_message': "
	  "'{category_scores} {original_content} {{categories}}'}",
	    HOOK_AFTER_MODEL, "[{'type':'ai','id':'a','content':'bad'}]",
	    "{\"messages\":[{\"type\":\"ai\",\"id\":\"a\",\"content\":"
	    "\"{\\\"hate\\\":0.9,\\\"x\\\":0.1} bad {categories}\"}]}",
	    "['bad']" },
	{ "{'exit_behavior': 'error', 'violation_message': 'See {page}: {categories}'}",
	    HOOK_AFTER_MODEL, "[{'type':'ai','content':'bad'}]",
	    "OpenAIModerationError: See {page}: {categories}", "['bad']" },
	{ "{}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'mute'}]",
	    "Exception: moderation: no reason was given", "['mute']" },
	{ "{}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'lost'}]",
	    "RateLimitError: moderation: slow", "['lost']" },
	{ "{}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'odd'}]",
	    "OpenAIModerationError: the moderation gave no verdict", "['odd']" },
	{ "{}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'odd lists'}]",
	    "OpenAIModerationError: the moderation gave no verdict", "['odd lists']" },
	{ "{'violation_message': '{category_scores}'}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':'odd scores'}]",
	    "OpenAIModerationError: the moderation gave no verdict", "['odd scores']" },
};

START_TEST(what_is_flagged_is_acted_upon)
{
	ck_assert_str_eq(turn(turns[_i].settings, turns[_i].hook, turns[_i].messages),
	    turns[_i].gives);
	ck_assert_value(arena, asked, turns[_i].asks);
}
END_TEST

START_TEST(calls_of_a_flagged_answer_are_answered)
{
	const char *update = turn("{}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':'bad','tool_calls':[{'id':'c','name':'f',"
	    "'args':{}}]}]");

	ck_assert_ptr_nonnull(strstr(update, "\"tool_call_id\":\"c\""));
	ck_assert_ptr_nonnull(strstr(update, "\"status\":\"error\""));
	ck_assert_ptr_nonnull(strstr(update, "hate, violence"));
}
END_TEST

static const struct {
	const char *settings, *path;
} refused[] = {
	{ "{'model': 7}", "/model" },
	{ "{'model': ''}", "/model" },
	{ "{'model': ':x'}", "/model" },
	{ "{'model': 'x:'}", "/model" },
	{ "{'check_input': 'x'}", "/check_input" },
	{ "{'check_output': 1}", "/check_output" },
	{ "{'check_tool_results': []}", "/check_tool_results" },
	{ "{'exit_behavior': 'stop'}", "/exit_behavior" },
	{ "{'violation_message': 7}", "/violation_message" },
	{ "{'client': 'x'}", "" },
};

/* So that a run does not begin where nobody can judge. */
START_TEST(who_judges_is_among_the_models_that_are_asked)
{
	ck_assert_value(
	    arena, use_of("{}")->asks_models, "['openai:omni-moderation-latest']");
	ck_assert_value(
	    arena, use_of("{'model': 'near:judge'}")->asks_models, "['near:judge']");
	ck_assert_uint_eq(
	    value_size(
		use_of("{'check_input': false, 'check_output': false}")->asks_models),
	    0);
}
END_TEST

START_TEST(bad_settings_are_refused_by_name)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(arena, "openai_moderation",
	    literal(arena, refused[_i].settings), &path, &error));
	ck_assert_msg(strncmp(path, refused[_i].path, strlen(refused[_i].path)) == 0,
	    "%s: %s", path, error);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

TCase *tcase_openai_moderation(void);
TCase *
tcase_openai_moderation(void)
{
	TCase *tcase = tcase_create("openai_moderation");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_last_text_is_sent_beside_the_chat);
	tcase_add_test(tcase, the_verdict_is_read);
	tcase_add_loop_test(
	    tcase, an_answer_without_a_verdict_is_none, 0, COUNT(unreadable));
	tcase_add_loop_test(tcase, what_is_flagged_is_acted_upon, 0, COUNT(turns));
	tcase_add_test(tcase, calls_of_a_flagged_answer_are_answered);
	tcase_add_test(tcase, who_judges_is_among_the_models_that_are_asked);
	tcase_add_loop_test(tcase, bad_settings_are_refused_by_name, 0, COUNT(refused));
	return tcase;
}
