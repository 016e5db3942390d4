/* One agent with every built-in middleware at once, against servers that play OpenAI and Anthropic:
 * what each of them is asked, and what comes of it. test_everything.c is the same without them. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "chat.h"
#include "cli.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "play_provider.h"

TCase *tcase_providers(void);

/* PROVIDER and OTHER are put in. The selection is in front of the retry: it stays. */
static const char agent_text[] =
    "name: all\n"
    "model: PROVIDER:main\n"
    "system_prompt: Never seen.\n"
    "model_settings: {temperature: 0.5, max_tokens: 300}\n"
    "tools:\n"
    "  - calculate\n"
    "  - now\n"
    "  - {name: weather, description: The weather., parameters: {type: object}}\n"
    "middleware:\n"
    "  - human_in_the_loop: {interrupt_on: {calculate: true}}\n"
    "  - model_call_limit: {thread_limit: 4}\n"
    "  - token_budget: {thread_limit: {total_tokens: 1000000}}\n"
    "  - tool_call_limit: {run_limit: 100}\n"
    "  - tool_call_limit: {tool_name: shell, thread_limit: 2}\n"
    "  - summarization: {model: PROVIDER:helper, trigger: [messages, 9], keep: "
    "[messages, "
    "3]}\n"
    "  - deepagents_summarization: {model: PROVIDER:helper, trigger: [messages, 99]}\n"
    "  - memory: {sources: [/AGENTS.md]}\n"
    "  - skills: {sources: [/skills]}\n"
    "  - rubric: {model: PROVIDER:grader}\n"
    "  - patch_tool_calls\n"
    "  - filesystem\n"
    "  - subagent: {default_tools: []}\n"
    "  - async_subagent:\n"
    "      async_subagents: [{name: far, description: Works., graph_id: nobody}]\n"
    "  - context_editing: {edits: [{trigger: 0, keep: 1}]}\n"
    "  - dynamic_prompt: {template: 'Be kind. Rounds so far: {state.rounds}.'}\n"
    "  - llm_tool_selector: {model: PROVIDER:picker, always_include: [write_todos]}\n"
    "  - model_fallback: {models: [OTHER:spare]}\n"
    "  - model_retry: {initial_delay: 0.001, on_failure: error}\n"
    "  - pii: {pii_type: email, apply_to_output: true}\n"
    "  - openai_moderation: {model: 'openai:judge'}\n"
    "  - todo_list\n"
    "  - shell_tool: {startup_commands: ['BEGUN=yes']}\n"
    "  - claude_text_editor\n"
    "  - claude_memory\n"
    "  - state_file_search\n"
    "  - filesystem_file_search: {root_path: FOLDER}\n"
    "  - provider_tool_search: {searchable_tools: [calculate]}\n"
    "  - anthropic_prompt_caching: {unsupported_model_behavior: ignore}\n"
    "  - bedrock_prompt_caching: {unsupported_model_behavior: ignore}\n"
    "  - tool_error: {catch: [OSError]}\n"
    "  - tool_retry: {initial_delay: 0.001}\n"
    "  - llm_tool_emulator: {model: PROVIDER:player, tools: [weather]}\n"
    "  - lua:\n"
    "      name: own\n"
    "      state: {rounds: {type: integer, default: 0, reducer: add}}\n"
    "      code: |\n"
    "        function after_model(state) return {rounds = 1} end\n";

#define GOOD                                                                             \
	"{'moderation':{'flagged':false,'categories':{'hate':false},'category_scores':{" \
	"'hate':0.1}}}"
#define PICKED "{'structured':{'tools':['calculate','shell','glob_search']}}"

/* The first answer breaks off; the one of the third round never comes; the fourth, of the second
 * run, calls a tool that may not be called any more and costs all that is left. */
static const char script_text[] =
    "{'main':["
    "{'http_error':529,'message':'Overloaded'},"
    "{'content':'void void void void','cut_after':-200},"
    "{'content':'First a plan.','tool_calls':["
    "{'id':'a','name':'write_todos','args':{'todos':[{'content':'Count','status':"
    "'in_progress'}]}},"
    "{'id':'b','name':'calculate','args':{'expression':'6 * 7'}},"
    "{'id':'c','name':'weather','args':{}},"
    "{'id':'d','name':'glob_search','args':{'pattern':'*.yaml'}},"
    "{'id':'e','name':'shell','args':{'command':'X=5; echo shell $BEGUN'}}],"
    "'usage':{'input_tokens':50,'output_tokens':10}},"
    "{'content':'','tool_calls':[{'id':'f','name':'shell','args':{'command':'echo x$X'}},"
    "{'id':'g','name':'glob_search','args':{'pattern':'*.none'}}]},"
    "{'http_error':400,'message':'Never.'},"
    "{'content':'','tool_calls':[{'id':'h','name':'shell','args':{'command':'echo"
    " no'}}],'usage':{'input_tokens':2000000,'output_tokens':10}}],"
    "'spare':[{'content':'Forty-two, says ann@example.org.'}],"
    "'helper':[{'content':'Counting was asked for.'}],"
    "'player':[{'content':'Snow.'}],"
    "'picker':[" PICKED "," PICKED "," PICKED "," PICKED "],"
    "'judge':[" GOOD "," GOOD "," GOOD "," GOOD "," GOOD "," GOOD "," GOOD "," GOOD "]}";

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *provider;
static const char *url;
static struct cli flotilla;

/* --- the fleet ------------------------------------------------------------------------ */

static const char *
with(const char *text, const char *name, const char *value)
{
	const char *at, *all = "";

	while ((at = strstr(text, name)) != NULL) {
		all = arena_printf(arena, "%s%.*s%s", all, (int)(at - text), text, value);
		text = at + strlen(name);
	}
	return arena_printf(arena, "%s%s", all, text);
}

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
	flotilla =
	    (struct cli){ .program = kit_program(kit, "flotilla"), .arena = arena };
	kit_write(kit, "found.yaml", "x: 1\n");
	provider = play_provider(
	    kit, arena, json_text(arena, literal(arena, script_text)), &url);
	play_openai(kit, arena, url, "sk-1");
	play_anthropic(kit, arena, url, "sk-2");
	kit_start_all(kit, 2, 1, 1);
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&provider);
	arena_destroy(&arena);
}

#define FLOTILLA(...)                                                                    \
	CLI(&flotilla, __VA_ARGS__, "--redis", kit_redis(kit), "--broker",               \
	    kit_broker(kit), "--status", kit_status(kit))

static struct said
said_with(int status, struct said said)
{
	ck_assert_msg(said.status == status, "%d: %s%s", said.status, said.out, said.err);
	return said;
}

/* What the provider was asked of that model so far. */
static const struct value *
asked(const char *model)
{
	struct cli curl = { .program = "curl", .arena = arena };
	const char *out =
	    said_with(0, CLI(&curl, "-s", arena_printf(arena, "%s/requests", url))).out;
	const char *error;
	const struct value *all = json_parse(arena, out, strlen(out), &error);
	struct value_list list = { .arena = arena };

	for (size_t i = 0; i < value_size(all); i++)
		if (value_text_is(
			value_get(value_get(value_at(all, i), "body"), "model"), model))
			value_list_add(&list, value_at(all, i));
	return value_list_end(&list);
}

static const struct value *
messages_of(const char *thread)
{
	const char *out = said_with(0, FLOTILLA("state", thread, "--json")).out, *error;

	return value_get(json_parse(arena, out, strlen(out), &error), "messages");
}

/* --- what is checked ------------------------------------------------------------------- */

/* The agent has all that the fleet knows. */
static void
check_all_are_there(const char *agent)
{
	const char *out = said_with(0, FLOTILLA("middleware", "--json")).out, *error;
	const struct value *all = json_parse(arena, out, strlen(out), &error);

	for (size_t i = 0; i < value_size(all); i++) {
		const char *name = value_get_text(value_at(all, i), "name");

		/* The shell of shell_tool under another name: there is one. */
		if (strcmp(name, "claude_bash_tool") != 0)
			ck_assert_has(agent, arena_printf(arena, "\n  - %s", name));
	}
}

static unsigned
count_of(const char *text, const char *piece)
{
	unsigned count = 0;

	for (; (text = strstr(text, piece)) != NULL; text += strlen(piece))
		count++;
	return count;
}

/* What a request of either provider has. `bodies` are JSON. */
static void
check_requests(bool anthropic)
{
	const struct value *requests = asked("main");
	const char *first, *second, *spare;

	ck_assert_uint_eq(value_size(requests), 5);
	/* An attempt that failed is repeated as it was. */
	ck_assert(value_equal(value_at(requests, 0), value_at(requests, 2)));
	ck_assert_str_eq(value_get_text(value_at(requests, 0), "path"),
	    anthropic ? "/v1/messages" : "/v1/responses");
	first = json_text(arena, value_get(value_at(requests, 0), "body"));
	second = json_text(arena, value_get(value_at(requests, 3), "body"));
	ck_assert_has(first, "Be kind. Rounds so far: 0.");
	ck_assert_has(second, "Be kind. Rounds so far: 1.");
	ck_assert_has_not(first, "Never seen.");
	ck_assert_has(first, "\"temperature\":0.5");
	ck_assert_has(
	    first, anthropic ? "\"max_tokens\":300" : "\"max_output_tokens\":300");
	ck_assert_has(first, "I am [REDACTED_EMAIL].");
	ck_assert_has(first, "/memories");
	/* The selected, the one of always_include, and those of wraps behind the selector. */
	ck_assert_has(first, "\"write_todos\"");
	ck_assert_has_not(first, "\"now\"");
	ck_assert_has_not(first, "\"grep_search\"");
	ck_assert_uint_eq(count_of(first, "\"defer_loading\":true"), 1);
	ck_assert_has(first, anthropic ? "tool_search_tool_bm25" : "\"tool_search\"");
	/* Of five results the last one is left. */
	ck_assert_uint_eq(count_of(first, "[cleared]"), 0);
	ck_assert_uint_eq(count_of(second, "[cleared]"), 4);
	ck_assert_has(second, "shell yes");
	ck_assert_uint_eq(count_of(first, "\"cache_control\":{\"type\":\"ephemeral\""),
	    anthropic ? 3 : 0);
	/* The other one: the summary, nothing of the first one's words. */
	ck_assert_uint_eq(value_size(asked("spare")), 1);
	requests = value_at(asked("spare"), 0);
	ck_assert_str_eq(value_get_text(requests, "path"),
	    anthropic ? "/v1/responses" : "/v1/messages");
	spare = json_text(arena, value_get(requests, "body"));
	ck_assert_has(spare, "Counting was asked for.");
	ck_assert_uint_eq(count_of(spare, "[cleared]"), 1);
	ck_assert_has(spare, "Rounds so far: 2.");
	ck_assert_has_not(spare, "REDACTED");
	ck_assert_has_not(spare, anthropic ? "tool_use" : "function_call");
	ck_assert_uint_eq(count_of(spare, "cache_control") > 0, anthropic ? false : true);
}

static const char *
answer_to(const struct value *messages, const char *call)
{
	for (size_t i = 0; i < value_size(messages); i++)
		if (value_text_is(value_get(value_at(messages, i), "tool_call_id"), call))
			return chat_text(arena, value_at(messages, i));
	ck_abort_msg("call %s has no answer", call);
	return NULL;
}

static void
check_waiting(const struct value *messages)
{
	ck_assert_uint_eq(value_size(messages), 2);
	ck_assert_str_eq(
	    chat_text(arena, value_at(messages, 0)), "I am [REDACTED_EMAIL]. Count.");
	ck_assert_str_eq(chat_text(arena, value_at(messages, 1)), "First a plan.");
}

/* A summary, the second round, and the answer. */
static void
check_end(const struct value *messages)
{
	ck_assert_uint_eq(value_size(messages), 5);
	ck_assert_has(chat_text(arena, value_at(messages, 0)), "Counting was asked for.");
	ck_assert_has(answer_to(messages, "f"), "x5");
	ck_assert_str_eq(
	    chat_text(arena, value_at(messages, 4)), "Forty-two, says [REDACTED_EMAIL].");
}

/* The messages before the summary are in the thread's past. */
static void
check_tools(void)
{
	const char *text = json_text(arena,
	    value_get(value_get(value_at(asked("helper"), 0), "body"), "messages"));

	ck_assert_uint_eq(value_size(asked("helper")), 1);
	ck_assert_has(text, "42");
	ck_assert_has(text, "Snow.");
	ck_assert_has(text, "/found.yaml");
	ck_assert_has(text, "shell yes");
	ck_assert_has_not(text, "x5");
	ck_assert_uint_eq(value_size(asked("player")), 1);
	ck_assert_uint_eq(value_size(asked("picker")), 3);
	/* Two users' texts, and the summary in their place; two answers: one says nothing. */
	ck_assert_uint_eq(value_size(asked("judge")), 5);
}

/* The fourth call of the model is the last one that the thread may have, a third one of the shell
 * one too many; given more calls, the thread has no tokens left. */
static void
check_limits(const char *how)
{
	const struct value *messages;
	struct said said =
	    said_with(0, FLOTILLA("submit", "all", "More.", "-t", "t", how));

	ck_assert_has(said.out, "thread limit (4/4)");
	messages = messages_of("t");
	ck_assert_has(answer_to(messages, "h"), "shell");
	ck_assert_has_not(answer_to(messages, "h"), "no\n");
	ck_assert_uint_eq(value_size(asked("main")), 6);
	said_with(0, FLOTILLA("update", "t", "{\"thread_model_call_count\": -10}", "--as",
			 "model"));
	said = said_with(0, FLOTILLA("submit", "all", "Yet more.", "-t", "t", how));
	ck_assert_has(
	    said.out, "The token budget is used up: thread limit of total_tokens");
	ck_assert_uint_eq(value_size(asked("main")), 6);
}

static const char *const names[] = { "openai", "anthropic" };

START_TEST(all_of_it_with_each_provider)
{
	bool anthropic = _i >= 2, streamed = _i % 2 == 1;
	const char *how = streamed ? "--follow" : "--wait", *agent = agent_text;
	struct said said;

	agent = with(agent, "PROVIDER", names[anthropic]);
	agent = with(agent, "OTHER", names[!anthropic]);
	agent = with(agent, "FOLDER", kit_path(kit, "."));
	check_all_are_there(agent);
	kit_flotilla(kit, "agents", "apply", kit_write(kit, "agent.yml", agent), NULL);
	said = said_with(
	    5, FLOTILLA("submit", "all", "I am bob@example.org. Count.", "-t", "t", how));
	ck_assert_has_not(said.out, "void");
	check_waiting(messages_of("t"));
	said = said_with(0, FLOTILLA("approve", "t", how));
	ck_assert_has(said.out, "Forty-two, says [REDACTED_EMAIL].");
	ck_assert_has_not(said.out, "ann@");
	check_end(messages_of("t"));
	check_requests(anthropic);
	check_tools();
	check_limits(how);
}
END_TEST

TCase *
tcase_providers(void)
{
	TCase *tcase = tcase_create("providers");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, all_of_it_with_each_provider, 0, 4);
	return tcase;
}
