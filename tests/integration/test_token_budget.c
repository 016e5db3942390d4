/* token_budget on a fleet of real processes: what the run's own calls and those of a middleware have
 * used is counted once, whoever dies. */
#include <check.h>
#include <string.h>

#include "chat.h"
#include "hold_bench.h"

TCase *tcase_token_budget(void);

/* A model call uses 300 tokens, a summary 250. `hold` waits while there is a file. */
static const char agents[] =
    "name: spender\n"
    "model: scripted:m\n"
    "tools: [hold]\n"
    "middleware:\n"
    "  - token_budget: {run_limit: 1000, thread_limit: {output_tokens: 600}}\n"
    "  - summarization: {model: scripted:s, trigger: [messages, 3], keep: [messages, "
    "2]}\n"
    "script:\n"
    "  m:\n"
    "    - {tool_calls: [{id: a, name: hold, args: {}}], usage: {input_tokens: 200, "
    "output_tokens: 100}}\n"
    "    - {tool_calls: [{id: b, name: hold, args: {}}], usage: {input_tokens: 200, "
    "output_tokens: 100}}\n"
    "  s: [{content: Sum., usage: {input_tokens: 200, output_tokens: 50}}]\n"
    "---\n"
    "name: cheap\n"
    "model: scripted:m\n"
    "cache: true\n"
    "middleware: [{token_budget: {thread_limit: 100}}]\n"
    "script:\n"
    "  m:\n"
    "    - &reply {content: Yes., usage: {input_tokens: 80, output_tokens: 10}}\n"
    "    - *reply\n"
    "    - *reply\n"
    "    - *reply\n";

static void
setup(void)
{
	hold_begin(agents);
}

/* The text of the thread's last message. */
static const char *
last_of(const char *thread)
{
	const struct value *messages = hold_messages(thread);

	return chat_text(hold.arena, value_at(messages, value_size(messages) - 1));
}

/* m 300, the tool (where the owner dies), summary 250, m 300, the tool, summary 250, m 300: its call of
 * the tool is not run. */
START_TEST(nothing_is_forgotten_or_counted_twice)
{
	struct said said;

	hold_take_over("spender");
	ck_assert_str_eq(last_of("t"),
	    "The token budget is used up: run limit of total_tokens "
	    "(1400 of 1000).");
	ck_assert_str_eq(hold_types("t"), "human ai tool ai tool ai");
	/* The next run begins anew, on what the thread has used: a summary, a call, a summary, a
	 * call. */
	said =
	    HOLD_FLOTILLA("submit", "spender", "Again.", "-t", "t", "--wait", "--json");
	ck_assert_msg(said.status == 0, "%s", said.err);
	ck_assert_msg(strstr(said.out, "token_usage") == NULL, "%s", said.out);
	ck_assert_str_eq(last_of("t"),
	    "The token budget is used up: run limit of total_tokens (1100 of 1000), "
	    "thread limit of output_tokens (700 of 600).");
}
END_TEST

static const char *
say(const char *thread)
{
	return kit_flotilla(
	    hold.kit, "submit", "cheap", "Hi", "--thread", thread, "--wait", NULL);
}

/* Of the second thread's calls the first is answered from the cache, the next two use 90 each. */
START_TEST(what_was_not_paid_is_not_counted)
{
	ck_assert_str_eq(say("u1"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "Yes.\n");
	ck_assert_str_eq(say("u2"), "The token budget is used up: thread limit of "
				    "total_tokens (180 of 100).\n");
}
END_TEST

TCase *
tcase_token_budget(void)
{
	TCase *tcase = tcase_create("token_budget");

	tcase_add_checked_fixture(tcase, setup, hold_end);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, nothing_is_forgotten_or_counted_twice);
	tcase_add_test(tcase, what_was_not_paid_is_not_counted);
	return tcase;
}
