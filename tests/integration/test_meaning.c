/* Long-term memory searched by meaning on a fleet: by whom, with which provider, and whoever dies meanwhile. */
#include <check.h>
#include <string.h>

#include "arena.h"
#include "cli.h"
#include "json.h"
#include "literal.h"
#include "play_provider.h"

TCase *tcase_meaning(void);

static struct arena *arena;
static struct fleet_kit *kit;
static struct child *provider;
static struct cli flotilla;
static const char *url;

/* The answer of a server that plays OpenAI: vectors as JSON. */
#define VECTORS(data) "{\"raw\": \"{\\\"data\\\": [" data "]}\"}"
#define TEA "{\\\"embedding\\\": [1, 0.1]}"
#define DOG "{\\\"embedding\\\": [0.1, 1]}"

static void
setup(void)
{
	arena = arena_new();
	kit = kit_new();
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

static void
start_with_provider(const char *script)
{
	provider = play_provider(kit, arena, script, &url);
	play_openai(kit, arena, url, "sk-1");
	kit_flag(
	    kit, KIT_MODEL, "--drain-ms", "100"); /* a call may be under way at the end */
	kit_flag(kit, KIT_COORDINATOR, "--embed", "openai:e");
	kit_flag(kit, KIT_COORDINATOR, "--embed-field", "text");
	kit_start_all(kit, 0, 1, 1);
}

static void
put_two(void)
{
	kit_flotilla(
	    kit, "store", "put", "u/7", "a", "{\"text\": \"a dog\", \"n\": 1}", NULL);
	kit_flotilla(kit, "store", "put", "u/7", "b", "{\"text\": \"tea\"}", NULL);
}

/* What a provider was asked so far. */
static const char *
requests(void)
{
	const struct cli curl = { .program = "curl", .arena = arena };

	return CLI(&curl, "-s", arena_printf(arena, "%s/requests", url)).out;
}

static struct said
search(const char *query)
{
	return CLI(&flotilla, "store", "search", "u", "--query", query, "--redis",
	    kit_redis(kit));
}

/* --- a provider ------------------------------------------------------------------------- */

START_TEST(openai_says_what_texts_mean)
{
	struct said said;
	const char *asked;

	start_with_provider("{\"e\": [" VECTORS(TEA) "," VECTORS(DOG "," TEA) "," VECTORS(
	    DOG) ",{\"http_error\": 429, \"message\": \"slow down\"}," VECTORS("") "]}");
	put_two();
	said = search("drinks?");
	ck_assert_str_eq(said.err, "");
	ck_assert_str_eq(said.out, "1.000  u/7  b  {\"text\":\"tea\"}\n"
				   "0.198  u/7  a  {\"text\":\"a dog\",\"n\":1}\n");
	/* Both have their vectors: only the query is embedded. */
	said = search("animals?");
	ck_assert_ptr_nonnull(strstr(said.out, "1.000  u/7  a"));
	asked = requests();
	ck_assert_ptr_nonnull(strstr(asked, "/v1/embeddings"));
	ck_assert_ptr_nonnull(strstr(asked, "\"input\":[\"a dog\",\"tea\"]"));
	ck_assert_ptr_nonnull(strstr(asked, "\"input\":[\"animals?\"]"));
	said = search("x");
	ck_assert_int_ne(said.status, 0);
	ck_assert_msg(strstr(said.err, "slow down") != NULL, "%s", said.err);
	said = search("x");
	ck_assert_msg(strstr(said.err, "0 vectors for 1 texts") != NULL, "%s", said.err);
}
END_TEST

/* How often what is in text. */
static unsigned
count_of(const char *text, const char *what)
{
	unsigned count = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		count++;
	}
	return count;
}

/* It is asked for bytes once, and never again. */
START_TEST(who_knows_no_base64_says_numbers)
{
	struct said said;

	start_with_provider(
	    "{\"e\": [{\"http_error\": 400, \"message\": \"encoding_format?\"}," VECTORS(
		TEA) "," VECTORS(DOG "," TEA) "," VECTORS(DOG) "]}");
	put_two();
	said = search("drinks?");
	ck_assert_msg(strncmp(said.out, "1.000  u/7  b", 13) == 0, "%s", said.err);
	ck_assert_str_eq(search("animals?").err, "");
	ck_assert_uint_eq(count_of(requests(), "\"encoding_format\":\"base64\""), 1);
}
END_TEST

/* --- from everywhere ---------------------------------------------------------------------- */

/* What the hook's code says is answered. */
static const char *
answered(const char *code)
{
	kit_flag(kit, KIT_COORDINATOR, "--embed", "scripted:words");
	kit_start_all(kit, 0, 1, 1);
	put_two();
	kit_write(kit, "recalls.lua", code);
	kit_flotilla(kit, "agents", "apply",
	    kit_write(kit, "host.yaml",
		"name: host\nmodel: scripted:s\nmiddleware:\n- lua: {file: recalls.lua}\n"
		"script: {s: [{content: Hello.}]}\n"),
	    NULL);
	return kit_flotilla(kit, "submit", "host", "hi", "--wait", NULL);
}

START_TEST(a_hook_finds_by_meaning)
{
	ck_assert_str_eq(
	    answered(
		"before_agent = {can_jump_to = {'end'}, run = function(state, runtime)\n"
		"  local answer = runtime.store{op = 'search', namespace = {'u'},\n"
		"    query = 'a cup of tea', limit = 1}\n"
		"  return {jump_to = 'end', messages = {{role = 'assistant',\n"
		"    content = answer.items[1].key .. #answer.items}}}\n"
		"end}\n"),
	    "b1\n");
}
END_TEST

/* Of a worker, by a coordinator's service. */
START_TEST(a_wrap_finds_by_meaning)
{
	ck_assert_str_eq(answered("function wrap_model_call(request, handler)\n"
				  "  local answer = request.runtime.store{op = 'search', "
				  "query = 'what a dog'}\n"
				  "  return answer.items[1].key .. #answer.items\n"
				  "end\n"),
	    "a2\n");
}
END_TEST

/* --- who dies ------------------------------------------------------------------------------ */

/* Its provider is silent for the first one who asks. */
static struct cli_job *
start_held(void)
{
	struct cli_job *job;

	start_with_provider(
	    "{\"e\": [{\"hang\": true}," VECTORS(TEA) "," VECTORS(DOG "," TEA) "]}");
	put_two();
	job = CLI_START(&flotilla, "store", "search", "u", "--query", "drinks?",
	    "--redis", kit_redis(kit));
	while (strstr(requests(), "/embeddings") == NULL)
		continue;
	return job;
}

static void
check_found(struct cli_job **job)
{
	struct said said = cli_end(job);

	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_ptr_nonnull(strstr(said.out, "1.000  u/7  b"));
}

START_TEST(a_coordinator_that_leaves_gives_back_what_was_asked)
{
	struct cli_job *job;

	if (kit_has_hub(kit)) /* it was asked, perhaps */
		return;
	job = start_held();
	kit_stop(kit, KIT_COORDINATOR, 0);
	ck_assert_str_eq(kit_redis_cli(kit, 0, "LLEN", "fl:embed", NULL), "1\n");
	kit_start(kit, KIT_COORDINATOR, 0);
	check_found(&job);
}
END_TEST

START_TEST(what_a_dead_coordinator_was_asked_another_is_asked)
{
	struct cli_job *job;

	if (kit_has_hub(kit)) /* it was asked, perhaps */
		return;
	job = start_held();
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_start(kit, KIT_COORDINATOR, 0);
	check_found(&job);
	kit_kill(kit, KIT_MODEL, 0); /* the dead one's call is under way there still */
}
END_TEST

/* It could have no model called: what is asked is for the others. */
START_TEST(a_coordinator_without_a_broker_is_not_asked)
{
	struct child *alone;
	int i;

	start_with_provider("{\"e\": [" VECTORS(TEA) "," VECTORS(DOG "," TEA) "," VECTORS(
	    TEA) "," VECTORS(TEA) "," VECTORS(TEA) "]}");
	put_two();
	alone = child_start(
	    (const char *[]){ kit_program(kit, "coordinator"), "--redis", kit_redis(kit),
		"--broker", arena_printf(arena, "ipc://%s", kit_path(kit, "nobody")),
		"--embed", "openai:e", "--log-level", "error", NULL },
	    NULL);
	/* Who waits longest is given the next one. */
	for (i = 0; i < 4; i++)
		ck_assert_str_eq(search("drinks?").err, "");
	child_stop(&alone);
}
END_TEST

START_TEST(what_is_no_model_is_refused)
{
	const struct cli coordinator = { .program = kit_program(kit, "coordinator"),
		.arena = arena };
	struct said said = CLI(&coordinator, "--embed", "e5");

	ck_assert_int_ne(said.status, 0);
	ck_assert_ptr_nonnull(strstr(said.err, "--embed"));
	ck_assert_ptr_nonnull(strstr(said.err, "provider:name"));
}
END_TEST

TCase *
tcase_meaning(void)
{
	TCase *tcase = tcase_create("meaning");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, openai_says_what_texts_mean);
	tcase_add_test(tcase, who_knows_no_base64_says_numbers);
	tcase_add_test(tcase, a_hook_finds_by_meaning);
	tcase_add_test(tcase, a_wrap_finds_by_meaning);
	tcase_add_test(tcase, a_coordinator_that_leaves_gives_back_what_was_asked);
	tcase_add_test(tcase, what_a_dead_coordinator_was_asked_another_is_asked);
	tcase_add_test(tcase, a_coordinator_without_a_broker_is_not_asked);
	tcase_add_test(tcase, what_is_no_model_is_refused);
	return tcase;
}
