/* anthropic_prompt_caching, bedrock_prompt_caching, provider_tool_search, and the tools that Claude knows by itself as it is offered them. */
#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "registry.h"

static struct arena *arena;
static struct play play;
static const struct value *answer;

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

/* What the provider is asked when a model is, with that middleware around. */
static const struct value *
asked(const char *name, const char *settings, const char *profile, const char *request)
{
	play.profile = literal(arena, profile);
	play.request = literal(arena, request);
	play.count = 0;
	play.seen = NULL;
	answer = play_model(
	    &play, stub_chain(arena, literal_use(arena, name, settings), NULL));
	return play.seen;
}

static void
assert_fault(const char *type, const char *text)
{
	const struct value *fault = value_get(answer, "fault");

	ck_assert_ptr_null(play.seen);
	ck_assert_str_eq(value_get_text(fault, "type"), type);
	ck_assert_msg(strstr(value_get_text(fault, "message"), text) != NULL,
	    "'%s' is not in: %s", text, value_get_text(fault, "message"));
	ck_assert(!value_get_bool(fault, "retryable", true));
}

/* --- anthropic_prompt_caching ------------------------------------------------------- */

#define CACHING "anthropic_prompt_caching"
#define TWO_TOOLS                                                                        \
	"'tools':[{'name':'a','parameters':{}},{'name':'b','parameters':{},'extras':"    \
	"{'x':1}}]"
#define SHORT "{'type':'ephemeral','ttl':'5m'}"

START_TEST(prompt_tools_and_tail_are_marked)
{
	const struct value *seen = asked(CACHING, "{}",
	    "{'model':'anthropic:c','system_prompt':'S','model_settings':{'top_k':1}"
	    "," TWO_TOOLS "}",
	    "{'messages':[{'type':'human','content':'hi'}]}");

	ck_assert_value(arena, value_get(seen, "settings"),
	    "{'top_k':1,'cache_control':" SHORT ",'system_cache_control':" SHORT "}");
	ck_assert_value(arena, value_get(seen, "tools"),
	    "[{'name':'a','parameters':{}},{'name':'b','parameters':{},'extras':{'x':1,"
	    "'cache_control':" SHORT "}}]");
}
END_TEST

START_TEST(what_is_absent_is_left_alone)
{
	const struct value *seen = asked(CACHING, "{'ttl':'1h'}",
	    "{'model':'anthropic:c'}", "{'messages':[{'type':'human','content':'hi'}]}");

	ck_assert_value(arena, value_get(seen, "settings"),
	    "{'cache_control':{'type':'ephemeral','ttl':'1h'}}");
	ck_assert_uint_eq(value_size(value_get(seen, "tools")), 0);
}
END_TEST

START_TEST(a_tool_that_is_loaded_later_is_not_marked)
{
	const struct value *seen = asked(CACHING, "{}",
	    "{'model':'anthropic:c','tools':[{'type':'web_search_20250305','name':'w'},"
	    "{'name':'b','parameters':{},'extras':{'defer_loading':true}}]}",
	    "{'messages':[{'type':'human','content':'hi'}]}");

	ck_assert_value(arena, value_get(seen, "tools"),
	    "[{'type':'web_search_20250305','name':'w','cache_control':" SHORT "},"
	    "{'name':'b','parameters':{},'extras':{'defer_loading':true}}]");
}
END_TEST

/* The system message is one of them. */
static const struct {
	const char *profile;
	bool marked;
} least[] = {
	{ "{'model':'anthropic:c'}", false },
	{ "{'model':'anthropic:c','system_prompt':'S'}", true },
};

START_TEST(short_requests_are_left_alone)
{
	const struct value *seen = asked(CACHING, "{'min_messages_to_cache':3}",
	    least[_i].profile,
	    "{'messages':[{'type':'human','content':'a'},{'type':'ai','content':'b'}]}");

	ck_assert_int_eq(
	    value_has(value_get(seen, "settings"), "cache_control"), least[_i].marked);
}
END_TEST

static const struct {
	const char *settings;
	size_t notes;
} behaviors[] = {
	{ "{}", 1 },
	{ "{'unsupported_model_behavior':'ignore'}", 0 },
};

START_TEST(another_providers_model_is_asked_as_it_was)
{
	const struct value *seen =
	    asked(CACHING, behaviors[_i].settings, "{'model':'openai:gpt'," TWO_TOOLS "}",
		"{'messages':[{'type':'human','content':'hi'}]}");

	ck_assert_uint_eq(value_size(value_get(seen, "settings")), 0);
	ck_assert_value(arena, value_get(seen, "tools"),
	    "[{'name':'a','parameters':{}},{'name':'b','parameters':{},'extras':{'x':1}}"
	    "]");
	ck_assert_uint_eq(value_size(value_get(answer, "notes")), behaviors[_i].notes);
}
END_TEST

START_TEST(another_providers_model_may_end_the_run)
{
	asked(CACHING, "{'unsupported_model_behavior':'raise'}", "{'model':'openai:gpt'}",
	    "{'messages':[]}");
	assert_fault("ValueError", "not 'openai:gpt'");
}
END_TEST

START_TEST(settings_of_caching_are_checked)
{
	literal_refused(arena, CACHING, "{'ttl':'2h'}", "/ttl", "5m");
	literal_refused(arena, CACHING, "{'type':'for ever'}", "/type", "ephemeral");
	literal_refused(arena, CACHING, "{'min_messages_to_cache':-1}",
	    "/min_messages_to_cache", "0");
	literal_refused(arena, CACHING, "{'unsupported_model_behavior':'shout'}",
	    "/unsupported_model_behavior", "warn");
	literal_refused(arena, CACHING, "{'tll':'5m'}", "/tll", "ttl");
}
END_TEST

/* --- bedrock_prompt_caching --------------------------------------------------------- */

static const struct {
	const char *model, *settings, *tools; /* as it is asked */
	size_t notes;
} bedrocks[] = {
	{ "bedrock_converse:eu.anthropic.claude-x-v1:0",
	    "{'cache_control':" SHORT ",'system_cache_control':" SHORT "}",
	    "[{'name':'a','parameters':{},'extras':{'cache_control':" SHORT "}}]", 0 },
	{ "bedrock_converse:us.amazon.nova-pro-v1:0",
	    "{'cache_control':" SHORT ",'system_cache_control':" SHORT "}",
	    "[{'name':'a','parameters':{}}]", 0 },
	{ "bedrock_converse:meta.llama4-x", NULL, "[{'name':'a','parameters':{}}]", 1 },
	{ "anthropic:claude-x", NULL, "[{'name':'a','parameters':{}}]", 1 },
};

START_TEST(bedrock_keeps_what_its_models_can)
{
	const struct value *seen = asked("bedrock_prompt_caching", "{}",
	    arena_printf(arena,
		"{'model':'%s','system_prompt':'S','tools':[{'name':'a','parameters':{}}]"
		"}",
		bedrocks[_i].model),
	    "{'messages':[{'type':'human','content':'hi'}]}");

	if (bedrocks[_i].settings == NULL)
		ck_assert_uint_eq(value_size(value_get(seen, "settings")), 0);
	else
		ck_assert_value(
		    arena, value_get(seen, "settings"), bedrocks[_i].settings);
	ck_assert_value(arena, value_get(seen, "tools"), bedrocks[_i].tools);
	ck_assert_uint_eq(value_size(value_get(answer, "notes")), bedrocks[_i].notes);
}
END_TEST

START_TEST(another_model_than_bedrocks_may_end_the_run)
{
	asked("bedrock_prompt_caching", "{'unsupported_model_behavior':'raise'}",
	    "{'model':'openai:gpt'}", "{'messages':[]}");
	assert_fault("ValueError",
	    "bedrock_prompt_caching is for models of Anthropic or Nova at Bedrock, not "
	    "'openai:gpt'");
}
END_TEST

/* --- provider_tool_search ----------------------------------------------------------- */

#define SEARCH "provider_tool_search"

static const struct {
	const char *model, *search, *settings;
} providers[] = {
	{ "anthropic:c",
	    "{'type':'tool_search_tool_bm25_20251119','name':'tool_search_tool_bm25'}",
	    "{'betas':['mine','advanced-tool-use-2025-11-20']}" },
	{ "openai:gpt", "{'type':'tool_search'}", "{'betas':['mine']}" },
};

START_TEST(tools_are_found_by_the_providers_search)
{
	const struct value *seen = asked(SEARCH, "{'searchable_tools':'b'}",
	    arena_printf(arena,
		"{'model':'%s','model_settings':{'betas':['mine']}," TWO_TOOLS "}",
		providers[_i].model),
	    "{'messages':[{'type':'human','content':'hi'}]}");

	ck_assert_value(arena, value_get(seen, "tools"),
	    arena_printf(arena,
		"[{'name':'a','parameters':{}},{'name':'b','parameters':{},'extras':{'x':"
		"1,"
		"'defer_loading':true}},%s]",
		providers[_i].search));
	ck_assert_value(arena, value_get(seen, "settings"), providers[_i].settings);
}
END_TEST

static const struct {
	const char *settings, *model, *reason;
} mistakes[] = {
	{ "{'searchable_tools':['a','c']}", "anthropic:c",
	    "names 'c', which the request does not offer (it offers: a, b)" },
	{ "{'searchable_tools':['a']}", "scripted:x", "has no search for tools" },
	{ "{'searchable_tools':['a']}", "else:x", "has no search for tools" },
};

START_TEST(what_cannot_be_searched_ends_the_run)
{
	asked(SEARCH, mistakes[_i].settings,
	    arena_printf(arena, "{'model':'%s'," TWO_TOOLS "}", mistakes[_i].model),
	    "{'messages':[]}");
	assert_fault("ValueError", mistakes[_i].reason);
}
END_TEST

START_TEST(nothing_to_search_asks_for_nothing)
{
	const struct value *seen = asked(SEARCH, "{'searchable_tools':[]}",
	    "{'model':'else:x'," TWO_TOOLS "}", "{'messages':[]}");

	ck_assert_uint_eq(value_size(value_get(seen, "tools")), 2);
}
END_TEST

START_TEST(a_tool_may_say_itself_that_it_is_searched_for)
{
	const struct value *seen = asked(SEARCH, "{}",
	    "{'model':'openai:gpt','tools':[{'name':'a','parameters':{}},{'name':'b',"
	    "'parameters':{},'extras':{'defer_loading':true}}]}",
	    "{'messages':[]}");

	ck_assert_value(arena, value_get(seen, "tools"),
	    "[{'name':'a','parameters':{}},{'name':'b','parameters':{},'extras':"
	    "{'defer_loading':true}},{'type':'tool_search'}]");
}
END_TEST

START_TEST(settings_of_search_are_checked)
{
	literal_refused(
	    arena, SEARCH, "{'searchable_tools':[1]}", "/searchable_tools/0", "string");
	literal_refused(arena, SEARCH, "{'searchable_tool':['a']}", "/searchable_tool",
	    "searchable_tools");
}
END_TEST

/* --- tools of Claude's own ------------------------------------------------------------ */

static const struct {
	const char *middleware, *tool, *sent, *settings;
} own_tools[] = {
	{ "claude_bash_tool", "bash", "{'type':'bash_20250124','name':'bash'}", NULL },
	{ "claude_text_editor", "str_replace_based_edit_tool",
	    "{'type':'text_editor_20250728','name':'str_replace_based_edit_tool'}",
	    NULL },
	{ "claude_memory", "memory", "{'type':'memory_20250818','name':'memory'}",
	    "{'betas':['context-management-2025-06-27']}" },
};

/* A request that offers the tool, with what somebody has said of it, between two others. */
static const struct value *
asked_of(size_t i, const char *model)
{
	return asked(own_tools[i].middleware, "{}",
	    arena_printf(arena,
		"{'model':'%s','tools':[{'name':'a','parameters':{}},{'name':'%s',"
		"'description':'D','parameters':{'type':'object'},'extras':{'x':1}},"
		"{'type':'other','name':'%s'}]}",
		model, own_tools[i].tool, own_tools[i].tool),
	    "{'messages':[]}");
}

START_TEST(claude_is_told_the_type_and_nothing_else)
{
	const struct value *seen = asked_of((size_t)_i, "anthropic:c");
	const struct value *tools = value_get(seen, "tools");

	ck_assert_uint_eq(value_size(tools), 3);
	ck_assert_value(arena, value_at(tools, 0), "{'name':'a','parameters':{}}");
	ck_assert_value(arena, value_map_with(arena, value_at(tools, 1), "x", NULL),
	    own_tools[_i].sent);
	ck_assert_int_eq(value_get_int(value_at(tools, 1), "x", 0), 1);
	ck_assert_str_eq(value_get_text(value_at(tools, 2), "type"), "other");
	if (own_tools[_i].settings != NULL)
		ck_assert_value(
		    arena, value_get(seen, "settings"), own_tools[_i].settings);
}
END_TEST

START_TEST(other_models_are_told_as_of_any_tool)
{
	const struct value *seen = asked_of((size_t)_i, "openai:o");

	ck_assert_value(arena, value_at(value_get(seen, "tools"), 1),
	    arena_printf(arena,
		"{'name':'%s','description':'D','parameters':{'type':'object'},"
		"'extras':{'x':1}}",
		own_tools[_i].tool));
	ck_assert_ptr_null(value_get(value_get(seen, "settings"), "betas"));
}
END_TEST

START_TEST(a_tool_that_is_not_offered_is_not)
{
	const struct value *seen = asked("claude_memory", "{'system_prompt':''}",
	    "{'model':'anthropic:c','tools':[{'name':'a','parameters':{}}]}",
	    "{'messages':[]}");

	ck_assert_value(
	    arena, value_get(seen, "tools"), "[{'name':'a','parameters':{}}]");
	ck_assert_ptr_null(value_get(value_get(seen, "settings"), "betas"));
}
END_TEST

START_TEST(memory_is_spoken_of_in_the_prompt)
{
	const char *profile = "{'model':'scripted:s','system_prompt':'S','tools':[]}";
	const struct value *seen =
	    asked("claude_memory", "{}", profile, "{'messages':[]}");

	ck_assert_ptr_nonnull(strstr(value_get_text(seen, "system"), "/memories"));
	ck_assert_int_eq(strncmp(value_get_text(seen, "system"), "S\n\n", 3), 0);
	seen = asked(
	    "claude_memory", "{'system_prompt':'Note.'}", profile, "{'messages':[]}");
	ck_assert_str_eq(value_get_text(seen, "system"), "S\n\nNote.");
	seen = asked("claude_memory", "{'system_prompt':''}", profile, "{'messages':[]}");
	ck_assert_str_eq(value_get_text(seen, "system"), "S");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

TCase *tcase_anthropic_middleware(void);

TCase *
tcase_anthropic_middleware(void)
{
	TCase *tcase = tcase_create("anthropic_middleware");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, prompt_tools_and_tail_are_marked);
	tcase_add_test(tcase, what_is_absent_is_left_alone);
	tcase_add_test(tcase, a_tool_that_is_loaded_later_is_not_marked);
	tcase_add_loop_test(tcase, short_requests_are_left_alone, 0, COUNT(least));
	tcase_add_loop_test(
	    tcase, another_providers_model_is_asked_as_it_was, 0, COUNT(behaviors));
	tcase_add_test(tcase, another_providers_model_may_end_the_run);
	tcase_add_test(tcase, settings_of_caching_are_checked);
	tcase_add_loop_test(tcase, bedrock_keeps_what_its_models_can, 0, 4);
	tcase_add_test(tcase, another_model_than_bedrocks_may_end_the_run);
	tcase_add_loop_test(
	    tcase, tools_are_found_by_the_providers_search, 0, COUNT(providers));
	tcase_add_loop_test(
	    tcase, what_cannot_be_searched_ends_the_run, 0, COUNT(mistakes));
	tcase_add_test(tcase, nothing_to_search_asks_for_nothing);
	tcase_add_test(tcase, a_tool_may_say_itself_that_it_is_searched_for);
	tcase_add_test(tcase, settings_of_search_are_checked);
	tcase_add_loop_test(
	    tcase, claude_is_told_the_type_and_nothing_else, 0, COUNT(own_tools));
	tcase_add_loop_test(
	    tcase, other_models_are_told_as_of_any_tool, 0, COUNT(own_tools));
	tcase_add_test(tcase, a_tool_that_is_not_offered_is_not);
	tcase_add_test(tcase, memory_is_spoken_of_in_the_prompt);
	return tcase;
}
