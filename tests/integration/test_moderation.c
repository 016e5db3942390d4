/* The middleware openai_moderation on a fleet, against the moderations of a server that plays OpenAI. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "play_provider.h"

TCase *tcase_moderation(void);

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *provider;
static struct cli flotilla;

#define AGENT(name, settings)                                                            \
	"name: " name "\nmodel: openai:" name "\ntools: [now]\n"                         \
	"middleware:\n- openai_moderation: {model: 'openai:m-" name "'" settings         \
	"}\n---\n"

static const char agents_text[] = AGENT("clean", "") AGENT("input", "") AGENT(
    "output", ", check_input: false") AGENT("replaced",
    ", exit_behavior: replace, check_tool_results: true, "
    "violation_message: 'Not {categories}.'") AGENT("failing", ", exit_behavior: error")
    AGENT("limited", "") AGENT("broken", "") AGENT("cut",
	"") "name: elsewhere\nmodel: scripted:x\nscript: {x: [{content: Hm.}]}\n"
	    "middleware:\n- openai_moderation: {model: 'anthropic:judge'}\n"
	    "---\nname: unjudged\nmodel: scripted:x\nscript: {x: [{content: Hm.}]}\n"
	    "middleware:\n- openai_moderation: {model: 'nobody:judge'}\n";

#define GOOD                                                                             \
	"{\"moderation\": {\"flagged\": false, \"categories\": {\"hate\": false}, "      \
	"\"category_scores\": {\"hate\": 0.01}}}"
#define BAD                                                                              \
	"{\"moderation\": {\"flagged\": true, \"categories\": {\"hate\": true, "         \
	"\"self-harm\": true}, \"category_scores\": {\"hate\": 0.9}}}"

static const char script_text[] =
    "{\"clean\": [{\"content\": \"Fine.\"}], \"m-clean\": [" GOOD "," GOOD "],"
    "\"input\": [], \"m-input\": [" BAD "],"
    "\"output\": [{\"content\": \"Bad words.\"}], \"m-output\": [" BAD "],"
    "\"replaced\": [{\"tool_calls\": [{\"id\": \"c\", \"name\": \"now\", \"args\": {}}]},"
    " {\"content\": \"Fine.\"}],"
    "\"m-replaced\": [" BAD "," BAD "," GOOD "," GOOD "],"
    "\"failing\": [], \"m-failing\": [" BAD "],"
    "\"limited\": [], \"m-limited\": [{\"http_error\": 429, \"message\": \"slow down\"}],"
    "\"broken\": [], \"m-broken\": [{\"raw\": \"{\\\"results\\\": []}\"}],"
    "\"cut\": [], \"m-cut\": [{\"drop\": true}]}";

static void
setup(void)
{
	const char *url;

	arena = arena_new();
	kit = kit_new();
	provider = play_provider(kit, arena, script_text, &url);
	play_openai(kit, arena, url, "sk-1");
	play_anthropic(kit, arena, url, "sk-2");
	kit_flag(kit, KIT_COORDINATOR, "--served-wait-ms", "1000");
	kit_start_all(kit, 1, 1, 1);
	kit_flotilla(
	    kit, "agents", "apply", kit_write(kit, "agents.yaml", agents_text), NULL);
	flotilla =
	    (struct cli){ .program = kit_program(kit, "flotilla"), .arena = arena };
}

static void
teardown(void)
{
	kit_destroy(&kit);
	child_stop(&provider);
	arena_destroy(&arena);
}

static const struct {
	const char *agent;
	int status;
	const char *says; /* the answer, or the error */
} plays[] = {
	{ "clean", 0, "Fine.\n" },
	{ "input", 0, "hate, self-harm" },
	{ "output", 0, "hate, self-harm" },
	{ "replaced", 0, "Fine.\n" },
	{ "failing", 1, "OpenAIModerationError" },
	{ "limited", 1, "RateLimitError: moderation: " },
	{ "broken", 1, "moderation: " },
	{ "cut", 1, "APIConnectionError: moderation: " },
	{ "elsewhere", 1, "the provider anthropic has no moderation" },
	{ "unjudged", 1, "no worker serves 'model:nobody'" },
};

static void
play(size_t i)
{
	struct said said = CLI(&flotilla, "submit", plays[i].agent, "Bad input.", "-t",
	    arena_printf(arena, "t-%s", plays[i].agent), "--wait", "--redis",
	    kit_redis(kit));
	const char *text = plays[i].status == 0 ? said.out : said.err;

	ck_assert_msg((said.status == 0) == (plays[i].status == 0), "%s: %s%s",
	    plays[i].agent, said.out, said.err);
	ck_assert_msg(
	    strstr(text, plays[i].says) != NULL, "%s: %s", plays[i].agent, text);
}

START_TEST(what_is_flagged_is_acted_upon)
{
	const char *state;
	size_t i;

	for (i = 0; i < sizeof plays / sizeof *plays; i++)
		play(i);
	state = kit_flotilla(kit, "state", "t-replaced", "--json", NULL);
	ck_assert_ptr_null(strstr(state, "Bad input."));
	ck_assert_ptr_nonnull(strstr(state, "Not hate, self-harm."));
	state = kit_flotilla(kit, "state", "t-output", "--json", NULL);
	ck_assert_ptr_nonnull(strstr(state, "Bad words."));
}
END_TEST

TCase *
tcase_moderation(void)
{
	TCase *tcase = tcase_create("moderation");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, what_is_flagged_is_acted_upon);
	return tcase;
}
