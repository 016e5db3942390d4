#include <check.h>
#include <string.h>

#include "chain.h"
#include "json.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

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

static const struct middleware_use *
pii_use(const char *settings)
{
	return literal_use(arena, "pii", settings);
}

/* --- settings ----------------------------------------------------------------------- */

static const struct {
	const char *settings, *path, *reason;
} refused[] = {
	{ "{}", "/pii_type", "needs" },
	{ "{'pii_type': 'shoe_size'}", "/pii_type", "shoe_size" },
	{ "{'pii_type': 7}", "/pii_type", "string" },
	{ "{'pii_type': 'a.b', 'detector': 'x'}", "/pii_type", "name" },
	{ "{'pii_type': '', 'detector': 'x'}", "/pii_type", "name" },
	{ "{'pii_type': 'a b', 'detector': 'x'}", "/pii_type", "name" },
	{ "{'pii_type': 'email', 'strategy': 'eat'}", "/strategy", "redact" },
	{ "{'pii_type': 'email', 'detector': '[a-'}", "/detector", "character 3" },
	{ "{'pii_type': 'email', 'detector': ''}", "/detector", "empty" },
	{ "{'pii_type': 'email', 'detector': 7}", "/detector", "string" },
	{ "{'pii_type': 'email', 'apply_to_input': 1}", "/apply_to_input", "true" },
	{ "{'pii_type': 'email', 'apply_to_output': 'x'}", "/apply_to_output", "true" },
	{ "{'pii_type': 'email', 'apply_to_tool_results': []}", "/apply_to_tool_results",
	    "true" },
	{ "{'pii_type': 'email', 'stream_lookback': -1}", "/stream_lookback", "0" },
	{ "{'pii_type': 'email', 'stream_lookback': 'x'}", "/stream_lookback",
	    "integer" },
	{ "{'pii_type': 'email', 'hash_function': 'md5'}", "/hash_function", "sha256" },
	{ "{'pii_type': 'email', 'lookback': 1}", "", "lookback" },
};

START_TEST(bad_settings_are_refused_by_name)
{
	const char *path = "", *error = "";

	ck_assert_ptr_null(registry_use(
	    arena, "pii", literal(arena, refused[_i].settings), &path, &error));
	ck_assert_msg(strncmp(path, refused[_i].path, strlen(refused[_i].path)) == 0,
	    "%s: %s", path, error);
	ck_assert_msg(
	    strstr(arena_printf(arena, "%s %s", path, error), refused[_i].reason) != NULL,
	    "%s: %s", path, error);
}
END_TEST

START_TEST(a_use_has_the_name_of_its_type)
{
	ck_assert_str_eq(pii_use("{'pii_type': 'email'}")->name, "PIIMiddleware[email]");
	ck_assert_str_eq(
	    pii_use("{'pii_type': 'key', 'detector': 'k'}")->name, "PIIMiddleware[key]");
}
END_TEST

/* --- hooks -------------------------------------------------------------------------- */

/* The update as JSON, or the fault. */
static const char *
turn(const char *settings, enum hook hook, const char *messages)
{
	struct turn turn = { .arena = arena,
		.use = pii_use(settings),
		.messages = literal(arena, messages),
		.state = value_empty_map() };
	const struct value *update = chain_node_hook(&turn, hook);

	if (turn.fault != NULL)
		return arena_printf(
		    arena, "%s: %s", turn.fault->type, turn.fault->message);
	return update == NULL ? "none" : json_text(arena, update);
}

static const struct {
	const char *settings;
	enum hook hook;
	const char *messages, *gives;
} turns[] = {
	/* The last human message alone, found again with its id. */
	{ "{'pii_type': 'ip'}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','id':'1','content':'1.1.1.1'},"
	    "{'type':'human','id':'2','name':'n','content':'2.2.2.2'},"
	    "{'type':'ai','id':'3','content':'3.3.3.3'},"
	    "{'type':'tool','id':'4','tool_call_id':'c','content':'4.4.4.4'}]",
	    "{\"messages\":[{\"type\":\"human\",\"id\":\"2\",\"name\":\"n\","
	    "\"content\":\"[REDACTED_IP]\"}]}" },
	{ "{'pii_type': 'ip', 'apply_to_input': false}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','content':'1.1.1.1'}]", "none" },
	{ "{'pii_type': 'ip'}", HOOK_BEFORE_MODEL, "[{'type':'human','content':'1.1'}]",
	    "none" },
	{ "{'pii_type': 'ip'}", HOOK_BEFORE_MODEL, "[]", "none" },
	/* Tool messages behind the last AI message. */
	{ "{'pii_type': 'ip', 'apply_to_input': false, 'apply_to_tool_results': true}",
	    HOOK_BEFORE_MODEL,
	    "[{'type':'ai','content':''},{'type':'tool','id':'1','content':'1.1.1.1'},"
	    "{'type':'ai','content':''},{'type':'tool','id':'2','content':'2.2.2.2',"
	    "'tool_call_id':'c','name':'f','status':'error','artifact':{'a':'2.2.2.2'}},"
	    "{'type':'human','content':'5.5.5.5'}]",
	    "{\"messages\":[{\"type\":\"tool\",\"id\":\"2\",\"content\":\"[REDACTED_IP]"
	    "\","
	    "\"tool_call_id\":\"c\",\"name\":\"f\",\"status\":\"error\"}]}" },
	{ "{'pii_type': 'ip', 'apply_to_tool_results': true}", HOOK_BEFORE_MODEL,
	    "[{'type':'tool','content':'1.1.1.1'}]", "none" },
	/* The answer's text, not its calls. */
	{ "{'pii_type': 'ip', 'apply_to_output': true}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','id':'1','content':[{'type':'text','text':'1.1.1.1'},"
	    "{'type':'image','url':'http://1.1.1.1'}],"
	    "'tool_calls':[{'name':'f','args':{'a':'1.1.1.1'}}]}]",
	    "{\"messages\":[{\"type\":\"ai\",\"id\":\"1\",\"content\":[{\"type\":"
	    "\"text\","
	    "\"text\":\"[REDACTED_IP]\"},{\"type\":\"image\",\"url\":\"http://"
	    "1.1.1.1\"}],"
	    "\"tool_calls\":[{\"name\":\"f\",\"args\":{\"a\":\"1.1.1.1\"}}]}]}" },
	{ "{'pii_type': 'ip', 'apply_to_output': true}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':null,'additional_kwargs':{'refusal':'no 1.1.1.1'}}]",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":null,"
	    "\"additional_kwargs\":{\"refusal\":\"no [REDACTED_IP]\"}}]}" },
	{ "{'pii_type': 'ip', 'apply_to_output': true}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':null,'additional_kwargs':{'reasoning_content':"
	    "'1.1.1.1','reasoning_details':[{'type':'reasoning.text','text':'1.1.1.1',"
	    "'signature':'1.1.1.1'},{'summary':'a 1.1.1.1'}]}}]",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":null,"
	    "\"additional_kwargs\":{\"reasoning_content\":\"[REDACTED_IP]\","
	    "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"[REDACTED_IP]"
	    "\",\"signature\":\"1.1.1.1\"},{\"summary\":\"a [REDACTED_IP]\"}]}}]}" },
	/* Bedrock's thoughts, whose signature is none. */
	{ "{'pii_type': 'ip', 'apply_to_output': true}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':[{'type':'reasoning_content','reasoning_content':{"
	    "'text':'1.1.1.1','signature':'1.1.1.1'}}]}]",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":[{\"type\":\"reasoning_content\""
	    ",\"reasoning_content\":{\"text\":\"[REDACTED_IP]\",\"signature\":\"1.1.1.1\""
	    "}}]}]}" },
	/* Documents that are text, and what is quoted of them. */
	{ "{'pii_type': 'ip'}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','content':[{'type':'document','title':'of 1.1.1.1',"
	    "'context':'at 1.1.1.1','source':{'type':'text','media_type':'text/plain',"
	    "'data':'1.1.1.1'}},{'type':'document','source':{'type':'content',"
	    "'content':[{'type':'text','text':'1.1.1.1'}]}},{'type':'document',"
	    "'source':{'type':'base64','data':'1.1.1.1'}}]}]",
	    "{\"messages\":[{\"type\":\"human\",\"content\":[{\"type\":\"document\","
	    "\"title\":\"of [REDACTED_IP]\",\"context\":\"at [REDACTED_IP]\","
	    "\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":"
	    "\"[REDACTED_IP]\"}},{\"type\":\"document\",\"source\":{\"type\":"
	    "\"content\",\"content\":[{\"type\":\"text\",\"text\":\"[REDACTED_IP]\"}]}},"
	    "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"data\":"
	    "\"1.1.1.1\"}}]}]}" },
	{ "{'pii_type': 'ip', 'apply_to_output': true}", HOOK_AFTER_MODEL,
	    "[{'type':'ai','content':[{'type':'text','text':'So.','citations':[{'type':"
	    "'char_location','cited_text':'1.1.1.1','document_title':'of 1.1.1.1',"
	    "'encrypted_index':'1.1.1.1'}]},{'type':'text','text':'So.','annotations':[{"
	    "'type':'url_citation','title':'1.1.1.1','url':'http://1.1.1.1'}]}]}]",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":[{\"type\":\"text\",\"text\":"
	    "\"So.\",\"citations\":[{\"type\":\"char_location\",\"cited_text\":"
	    "\"[REDACTED_IP]\",\"document_title\":\"of [REDACTED_IP]\","
	    "\"encrypted_index\":\"1.1.1.1\"}]},{\"type\":\"text\",\"text\":\"So.\","
	    "\"annotations\":[{\"type\":\"url_citation\",\"title\":\"[REDACTED_IP]\","
	    "\"url\":\"http://1.1.1.1\"}]}]}]}" },
	{ "{'pii_type': 'ip'}", HOOK_AFTER_MODEL, "[{'type':'ai','content':'1.1.1.1'}]",
	    "none" },
	{ "{'pii_type': 'ip', 'strategy': 'block', 'apply_to_output': true}",
	    HOOK_AFTER_MODEL, "[{'type':'ai','content':'1.1.1.1 2.2.2.2'}]",
	    "PIIDetectionError: Detected 2 instance(s) of ip in text content" },
	{ "{'pii_type': 'ip', 'strategy': 'block'}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','content':'1.1.1.1'}]",
	    "PIIDetectionError: Detected 1 instance(s) of ip in text content" },
	/* What is replaced is not replaced again, whatever the detector. */
	{ "{'pii_type': 'pin', 'detector': '[0-9]{4,}', 'strategy': 'mask'}",
	    HOOK_BEFORE_MODEL, "[{'type':'human','content':'****5678, ****56789'}]",
	    "{\"messages\":[{\"type\":\"human\",\"content\":\"****5678, "
	    "********6789\"}]}" },
	{ "{'pii_type': 'x', 'detector': '[A-Z]+'}", HOOK_BEFORE_MODEL,
	    "[{'type':'human','content':'[REDACTED_X] [REDACTED_Y]'}]",
	    "{\"messages\":[{\"type\":\"human\",\"content\":"
	    "\"[REDACTED_X] [[REDACTED_X]_[REDACTED_X]]\"}]}" },
	{ "{'pii_type': 'x', 'detector': '[a-z]+', 'strategy': 'hash'}",
	    HOOK_BEFORE_MODEL, "[{'type':'human','content':'<x_hash:0123abcd>'}]",
	    "none" },
};

START_TEST(the_hooks_do_what_langchains_do)
{
	ck_assert_str_eq(turn(turns[_i].settings, turns[_i].hook, turns[_i].messages),
	    turns[_i].gives);
}
END_TEST

START_TEST(a_detector_that_takes_too_long_ends_the_run)
{
	char *text = arena_alloc(arena, 200001);

	memset(text, 'a', 200000);
	ck_assert_ptr_nonnull(strstr(
	    turn("{'pii_type': 'x', 'detector': '(a+)+\\\\u0062$|c$'}", HOOK_BEFORE_MODEL,
		arena_printf(arena, "[{'type':'human','content':'%sbbx'}]", text)),
	    "PIIDetectionError"));
}
END_TEST

/* --- what leaves -------------------------------------------------------------------- */

static const struct {
	const char *settings;
	bool is_tool;
	const char *body, *sealed;
} bodies[] = {
	{ "{'pii_type': 'ip', 'apply_to_output': true}", false,
	    "{'messages':[{'type':'ai','content':'1.1.1.1'},"
	    "{'type':'tool','content':'2.2.2.2'}],'structured_response':'3.3.3.3',"
	    "'notes':[{'middleware':'m','text':'4.4.4.4'}],'kept':'k'}",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":\"[REDACTED_IP]\"},"
	    "{\"type\":\"tool\",\"content\":\"2.2.2.2\"}],"
	    "\"structured_response\":\"3.3.3.3\","
	    "\"notes\":[{\"middleware\":\"m\",\"text\":\"[REDACTED_IP]\"}],"
	    "\"kept\":\"k\"}" },
	{ "{'pii_type': 'ip'}", false, "{'messages':[{'type':'ai','content':'1.1.1.1'}]}",
	    "{\"messages\":[{\"type\":\"ai\",\"content\":\"1.1.1.1\"}]}" },
	{ "{'pii_type': 'x', 'detector': '[A-Z].*', 'apply_to_output': true}", false,
	    "{'fault':{'type':'RateLimitError','message':'Sorry'}}",
	    "{\"fault\":{\"type\":\"RateLimitError\",\"message\":\"[REDACTED_X]\"}}" },
	{ "{'pii_type': 'ip', 'apply_to_output': true}", false,
	    "{'interrupt':{'draft':['1.1.1.1']}}",
	    "{\"interrupt\":{\"draft\":[\"[REDACTED_IP]\"]}}" },
	{ "{'pii_type': 'ip', 'apply_to_tool_results': true}", true,
	    "{'commands':[{'update':{'messages':[{'type':'tool','content':'1.1.1.1'}],"
	    "'own':'2.2.2.2'},'goto':'end'}]}",
	    "{\"commands\":[{\"update\":{\"messages\":[{\"type\":\"tool\","
	    "\"content\":\"[REDACTED_IP]\"}],\"own\":\"2.2.2.2\"},\"goto\":\"end\"}]}" },
	{ "{'pii_type': 'ip', 'apply_to_output': true}", true,
	    "{'commands':[{'update':{'messages':[{'type':'tool','content':'1.1.1.1'}]}}]"
	    "}",
	    "{\"commands\":[{\"update\":{\"messages\":[{\"type\":\"tool\","
	    "\"content\":\"1.1.1.1\"}]}}]}" },
};

static const struct value *
seal(const char *settings, bool is_tool, const char *body)
{
	const struct middleware_use *use = pii_use(settings);

	return use->type->seal_outcome(arena, use, is_tool, literal(arena, body));
}

START_TEST(an_outcome_is_sealed)
{
	ck_assert_str_eq(json_text(arena, seal(bodies[_i].settings, bodies[_i].is_tool,
					      bodies[_i].body)),
	    bodies[_i].sealed);
}
END_TEST

/* Wherever it is: nothing of the body is left. */
START_TEST(blocking_leaves_a_fault_without_the_value)
{
	static const char *const blocked[] = {
		"{'messages':[{'type':'ai','content':'1.1.1.1'}],'notes':[]}",
		"{'fault':{'type':'ValueError','message':'no 1.1.1.1'}}",
		"{'interrupt':'1.1.1.1'}",
	};
	size_t i;

	for (i = 0; i < 3; i++) {
		const struct value *body = seal(
		    "{'pii_type': 'ip', 'strategy': 'block', 'apply_to_output': true}",
		    false, blocked[i]);
		const struct value *fault = value_get(body, "fault");

		ck_assert_uint_eq(value_size(body), 1);
		ck_assert_str_eq(value_get_text(fault, "type"), "PIIDetectionError");
		ck_assert(value_get_bool(fault, "fatal", false));
		ck_assert_ptr_null(strstr(json_text(arena, body), "1.1.1.1"));
	}
}
END_TEST

START_TEST(tokens_are_filtered_where_output_is)
{
	const struct middleware_use *use = pii_use("{'pii_type': 'ip'}");
	struct text_filter *filter;
	struct packet out = { 0 };

	ck_assert(!use->filters_tokens);
	use =
	    pii_use("{'pii_type': 'ip', 'apply_to_output': true, 'stream_lookback': 0}");
	ck_assert(use->filters_tokens);
	filter = use->type->filter_tokens(use);
	filter->feed(filter, "at 1.1.", 7, &out);
	ck_assert_uint_eq(out.size, 3);
	filter->feed(filter, "1.1", 3, &out);
	filter->end(filter, &out);
	packet_append(&out, "", 1);
	ck_assert_str_eq(out.data, "at [REDACTED_IP]");
	packet_release(&out);
	filter->destroy(filter);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

TCase *tcase_pii(void);
TCase *
tcase_pii(void)
{
	TCase *tcase = tcase_create("pii");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, bad_settings_are_refused_by_name, 0, COUNT(refused));
	tcase_add_test(tcase, a_use_has_the_name_of_its_type);
	tcase_add_loop_test(tcase, the_hooks_do_what_langchains_do, 0, COUNT(turns));
	tcase_add_test(tcase, a_detector_that_takes_too_long_ends_the_run);
	tcase_add_loop_test(tcase, an_outcome_is_sealed, 0, COUNT(bodies));
	tcase_add_test(tcase, blocking_leaves_a_fault_without_the_value);
	tcase_add_test(tcase, tokens_are_filtered_where_output_is);
	return tcase;
}
