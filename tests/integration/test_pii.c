/* What a rule of the middleware pii hides is nowhere: not on the status channel, not in the event
 * log, not in Redis or its files, not in what processes and commands say. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "play_provider.h"
#include "secure_kit.h"
#include "secure_traces.h"

TCase *tcase_pii(void);

#define WAIT_TRIES 400

/* The values, and what must not even be there in part. */
#define VALUE "zq7marker.one@leak-example.org"
#define INPUT "zq8marker.two@input-example.org"
#define BARRED "zq9marker.three@barred-example.org"
static const char *const hidden[] = { "zq7mark", "leak-exam", NULL };
static const char *const hidden_input[] = { "zq8mark", "input-exam", NULL };
static const char *const barred[] = { "zq9mark", "barred-exam", NULL };

static struct secure_kit secure;
static struct child *provider;
static struct cli_job *watch;

#define RULE                                                                             \
	"pii: {pii_type: email, apply_to_output: true, apply_to_tool_results: true, "    \
	"stream_lookback: 0}"
static const char agents_text[] =
    "name: talker\nmodel: openai:talker\ncache: true\n"
    "middleware:\n- pii: {pii_type: email, apply_to_output: true, stream_lookback: 0}\n"
    "---\n"
    "name: asker\nmodel: openai:asker\n"
    "middleware:\n- " RULE "\n"
    "- lua: {name: ask, code: \"function after_model(state, runtime) "
    "runtime.note(state.messages[#state.messages].content) "
    "runtime.interrupt(state.messages[#state.messages].content) end\"}\n"
    "---\n"
    "name: retried\nmodel: openai:retried\n"
    "middleware:\n- " RULE "\n- model_retry: {max_retries: 3, initial_delay: 0}\n"
    "---\n"
    "name: crossed\nmodel: openai:crossed\n"
    "middleware:\n- " RULE "\n- model_fallback: {models: ['anthropic:other']}\n"
    "- model_retry: {max_retries: 1, initial_delay: 0, on_failure: error}\n"
    "---\n"
    "name: blocked\nmodel: openai:blocked\n"
    "middleware:\n- pii: {pii_type: email, strategy: block, apply_to_output: true}\n"
    "---\n"
    "name: walled\nmodel: openai:walled\ntools: [crm]\n"
    "middleware:\n- pii: {pii_type: email, strategy: block, apply_to_tool_results: "
    "true}\n"
    "---\n"
    "name: refused\nmodel: openai:refused\nmiddleware:\n- " RULE "\n"
    "---\n"
    "name: sorted\nmodel: openai:sorted\ntools: [crm]\nmiddleware:\n- " RULE "\n"
    "- lua: {name: ask, code: \"function before_agent(state, runtime) "
    "pcall(runtime.call_model, {messages = state.messages}) end\"}\n"
    "- llm_tool_emulator: {tools: [crm]}\n"
    "---\n"
    "name: finder\nmodel: openai:finder\ntools: [crm, slow_crm, bad_crm]\n"
    "middleware:\n- " RULE "\n"
    "---\n"
    "name: warm\nmodel: scripted:w\nscript:\n  w:\n  - content: Up.\n---\n"
    "name: reader\nmodel: openai:reader\nmiddleware:\n- pii: {pii_type: email}\n";

/* The value is made when they run: the file is no place for it either. */
static const char tools_text[] =
    "name: crm\ndescription: finds\ninput: none\n"
    "command: printf 'Ann is zq7%s.one@leak-%s.org' marker example\n"
    "---\n"
    "name: slow_crm\ndescription: finds\ninput: none\n"
    "command: sleep 0.3; printf 'Bob is zq7%s.one@leak-%s.org' marker example\n"
    "---\n"
    "name: bad_crm\ndescription: fails\ninput: none\n"
    "command: printf 'no zq7%s.one@leak-%s.org' marker example >&2; exit 3\n";

static const char script_text[] =
    "{\"talker\": [{\"content\": \"Write to " VALUE ", or call.\", \"delta_bytes\": 3}],"
    "\"asker\": [{\"content\": \"Is " VALUE " right?\", \"delta_bytes\": 1}],"
    "\"retried\": [{\"content\": \"It is " VALUE "\", \"delta_bytes\": 2,"
    " \"piece_bytes\": 150, \"piece_delay_ms\": 1, \"cut_after\": -600},"
    " {\"http_error\": 500, \"message\": \"no " VALUE "\"},"
    " {\"content\": \"It is " VALUE "\", \"delta_bytes\": 2}],"
    "\"crossed\": [{\"content\": \"It is " VALUE "\", \"delta_bytes\": 2,"
    " \"piece_bytes\": 150, \"piece_delay_ms\": 1, \"cut_after\": -600},"
    " {\"http_error\": 500, \"message\": \"no " VALUE "\"}],"
    "\"other\": [{\"http_error\": 529, \"message\": \"no " VALUE "\"},"
    " {\"content\": \"Then " VALUE " it is, " VALUE "\"}],"
    "\"blocked\": [{\"content\": \"It is " VALUE "\", \"delta_bytes\": 2}],"
    "\"walled\": [{\"content\": \"Asking.\", \"tool_calls\": ["
    "{\"id\": \"a\", \"name\": \"crm\", \"args\": {}}]}],"
    "\"refused\": [{\"http_error\": 400, \"message\": \"bad: " VALUE "\"}],"
    "\"sorted\": [{\"http_error\": 500, \"message\": \"hook: " VALUE "\"},"
    " {\"content\": \"\", \"tool_calls\": ["
    "{\"id\": \"a\", \"name\": \"crm\", \"args\": {}}]},"
    " {\"http_error\": 500, \"message\": \"tool: " VALUE "\"}],"
    "\"finder\": [{\"content\": \"Asking.\", \"tool_calls\": ["
    "{\"id\": \"a\", \"name\": \"crm\", \"args\": {}},"
    "{\"id\": \"b\", \"name\": \"slow_crm\", \"args\": {}},"
    "{\"id\": \"c\", \"name\": \"bad_crm\", \"args\": {}}]},"
    " {\"content\": \"Found.\"}],"
    "\"reader\": [{\"content\": \"Read.\"}]}";

/* What another provider says another worker gets. */
static void
start_other_worker(const char *url)
{
	kit_env(secure.kit, KIT_MODEL, "OPENAI_BASE_URL=");
	kit_env(secure.kit, KIT_MODEL, "OPENAI_API_KEY=");
	kit_env(secure.kit, KIT_MODEL,
	    arena_printf(secure.arena, "ANTHROPIC_BASE_URL=%s", url));
	kit_start(secure.kit, KIT_MODEL, 1);
}

static void
setup(void)
{
	const char *url;

	secure_start(&secure);
	provider = play_provider(secure.kit, secure.arena, script_text, &url);
	play_openai(secure.kit, secure.arena, url, "sk-1");
	kit_flag(secure.kit, KIT_TOOLS, "--tools",
	    kit_write(secure.kit, "tools.yaml", tools_text));
	kit_start_all(secure.kit, 1, 1, 1);
	start_other_worker(url);
	SECURE_EXPECT(&secure, "agents", "apply",
	    kit_write(secure.kit, "agents.yaml", agents_text));
	watch = CLI_START(&secure.flotilla, "watch", "--json", "--status",
	    kit_status(secure.kit), "--key", secure.client_key, "--broker-key",
	    arena_printf(secure.arena, "%s.pub", secure.broker_key));
	while (strstr(cli_out(watch), "finished") == NULL)
		SECURE_EXPECT(&secure, "submit", "warm", "Go", "--wait");
}

static void
teardown(void)
{
	cli_signal(watch, SIGINT);
	cli_end(&watch);
	child_stop(&provider);
	secure_stop(&secure);
}

/* --- looking for it ------------------------------------------------------------------ */

static void
look(const char *where, const char *data, size_t size, const char *const *words)
{
	size_t i;

	for (i = 0; words[i] != NULL; i++)
		ck_assert_msg(memmem(data, size, words[i], strlen(words[i])) == NULL,
		    "'%s' is in %s", words[i], where);
}

/* The model server's script may have all in it. */
static void
look_at_file(void *words, const char *path, const char *data, size_t size)
{
	if (strcmp(strrchr(path, '/'), "/script.json") != 0)
		look(path, data, size, words);
}

static void
look_in_files(const char *const *words)
{
	secure_look_in_files(&secure, look_at_file, (void *)words);
}

static void
look_in_redis(const char *const *words)
{
	const char *all = secure_all_of_redis(&secure);

	ck_assert_ptr_nonnull(strstr(all, "[REDACTED_EMAIL]"));
	ck_assert_ptr_nonnull(strstr(all, "fl:cache:"));
	look("Redis", all, strlen(all), words);
}

static struct said
play(const char *agent, const char *text)
{
	const char *id = arena_printf(secure.arena, "r-%s", agent);
	struct said said = SECURE_RUN(&secure, "submit", agent, text, "-t",
	    arena_printf(secure.arena, "t-%s", agent), "--run-id", id, "--follow");

	look("submit", said.out, strlen(said.out), hidden);
	look("submit", said.err, strlen(said.err), hidden);
	return said;
}

/* The tokens of that run, one behind the other, without those before the last restart. */
static const char *
shown(const char *run)
{
	const char *line = cli_out(watch), *text = "", *error;

	while (*line != '\0') {
		size_t size = strcspn(line, "\n");
		const struct value *event =
		    value_get(json_parse(secure.arena, line, size, &error), "body");

		if (value_text_is(value_get(event, "run"), run)) {
			if (value_text_is(value_get(event, "kind"), "token"))
				text = arena_printf(secure.arena, "%s%s", text,
				    value_get_text(event, "content"));
			if (value_text_is(value_get(event, "kind"), "restart"))
				text = "";
		}
		line += size + (line[size] == '\n');
	}
	return text;
}

/* Until the watcher has seen the end of that run. */
static void
await_end(const char *run)
{
	unsigned tries;

	for (tries = 0; tries < WAIT_TRIES; tries++) {
		const char *at = cli_out(watch);

		for (; (at = strstr(at, "\"finished\"")) != NULL; at++) {
			const char *name = strstr(at, run);

			if (name != NULL && name - at < 200)
				return;
		}
		SECURE_RUN(&secure, "runs", "--json"); /* takes a moment */
	}
	ck_abort_msg("the end of %s was not seen", run);
}

/* --- the tests ------------------------------------------------------------------------ */

static void
play_all(void)
{
	struct said said = play("talker", "Go");

	ck_assert_int_eq(said.status, 0);
	ck_assert_has(said.out, "Write to [REDACTED_EMAIL], or call.");
	ck_assert_has(SECURE_EXPECT(&secure, "submit", "talker", "Go", "--wait"),
	    "[REDACTED_EMAIL]"); /* from the cache */
	play("asker", "Go");
	ck_assert_has(SECURE_EXPECT(&secure, "state", "t-asker", "--json"),
	    "Is [REDACTED_EMAIL] right?");
	ck_assert_has(play("retried", "Go").out, "It is [REDACTED_EMAIL]");
	ck_assert_has(play("crossed", "Go").out, "Then [REDACTED_EMAIL] it is");
	said = play("blocked", "Go");
	ck_assert_int_ne(said.status, 0);
	ck_assert_has(said.err, "Detected 1 instance(s) of email");
	said = play("walled", "Go");
	ck_assert_has(said.err, "Detected 1 instance(s) of email");
	said = play("refused", "Go");
	ck_assert_has(said.err, "bad: [REDACTED_EMAIL]");
	ck_assert_has(play("sorted", "Go").err, "tool: [REDACTED_EMAIL]");
	ck_assert_int_eq(play("finder", "Go").status, 0);
}

START_TEST(what_a_rule_hides_is_nowhere)
{
	const char *log;

	play_all();
	await_end("r-finder");
	ck_assert_ptr_nonnull(strstr(cli_out(watch), "\"restart\""));
	ck_assert_str_eq(shown("r-talker"), "Write to [REDACTED_EMAIL], or call.");
	ck_assert_str_eq(shown("r-retried"), "It is [REDACTED_EMAIL]");
	ck_assert_str_eq(
	    shown("r-crossed"), "Then [REDACTED_EMAIL] it is, [REDACTED_EMAIL]");
	ck_assert_str_eq(shown("r-blocked"), "");
	log = cli_out(watch);
	look("the status channel", log, strlen(log), hidden);
	look_in_redis(hidden);
	look_in_files(hidden); /* as it was written */
	log = secure_log(&secure);
	ck_assert_has(log, "r-refused");
	look("the log", log, strlen(log), hidden);
}
END_TEST

/* What is dealt with leaves the inbox a moment later. */
static void
await_inbox(void)
{
	unsigned tries;

	for (tries = 0; tries < WAIT_TRIES; tries++)
		if (atoi(SECURE_ASK(&secure, "XLEN", "fl:inbox")) == 0)
			return;
	ck_abort_msg("something stays in the inbox");
}

/* It lies in the inbox, and in the record until the hook has run: not longer. */
START_TEST(an_input_is_nowhere_once_the_hook_has_seen_it)
{
	const char *all, *log;

	ck_assert_int_eq(play("reader", "I am " INPUT ".").status, 0);
	await_inbox();
	all = secure_all_of_redis(&secure);
	ck_assert_has(all, "I am [REDACTED_EMAIL].");
	look("Redis", all, strlen(all), hidden_input);
	await_end("r-reader");
	log = cli_out(watch);
	look("the status channel", log, strlen(log), hidden_input);
	log = secure_log(&secure);
	look("the log", log, strlen(log), hidden_input);
	secure_rewrite_files(&secure);
	look_in_files(hidden_input);
}
END_TEST

/* The thread keeps it, and with it the record; nobody is told. */
START_TEST(an_input_that_is_blocked_stays_in_its_thread_alone)
{
	struct said said = play("walled", "I am " BARRED ".");
	const char *log;

	ck_assert_has(said.err, "Detected 1 instance(s) of email");
	look("submit", said.err, strlen(said.err), barred);
	ck_assert_has(SECURE_EXPECT(&secure, "state", "t-walled", "--json"), BARRED);
	await_inbox();
	await_end("r-walled");
	log = cli_out(watch);
	look("the status channel", log, strlen(log), barred);
	log = secure_log(&secure);
	look("the log", log, strlen(log), barred);
}
END_TEST

TCase *
tcase_pii(void)
{
	TCase *tcase = tcase_create("pii");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_a_rule_hides_is_nowhere);
	tcase_add_test(tcase, an_input_is_nowhere_once_the_hook_has_seen_it);
	tcase_add_test(tcase, an_input_that_is_blocked_stays_in_its_thread_alone);
	return tcase;
}
