/* What is too long, and what may not be: filesystem's wraps, its hook and its rules. */
#include <check.h>
#include <string.h>

#include "backend_bench.h"
#include "chain_play.h"
#include "chat.h"
#include "has.h"
#include "json.h"
#include "literal.h"
#include "tool_trial.h"

/* Interface under test */
#include "filesystem.h"

TCase *tcase_filesystem_evict(void);

static struct tool_trial trial;
static struct arena *arena;

static void
set_up(void)
{
	tool_trial_open(&trial);
	arena = trial.arena;
	desk_open();
	stub_log_clear();
}

static void
tear_down(void)
{
	desk_close();
	tool_trial_close(&trial);
}

/* "line 1\nline 2\n..." */
static const char *
lines(size_t count)
{
	struct packet text = { 0 };
	const char *line, *copy;
	size_t i;

	for (i = 1; i <= count; i++) {
		line = arena_printf(arena, "line %zu\n", i);
		packet_append(&text, line, strlen(line));
	}
	copy = arena_copy(arena, text.data, text.size);
	packet_release(&text);
	return copy;
}

/* --- answers of tools ----------------------------------------------------------------- */

static const struct value *given_update;

static struct tool_result *
give(void *arg, struct tool_request *request)
{
	const struct value *message = chat_tool(
	    tool_arena(request), arg, tool_call_id(request), tool_name(request), "error");

	if (given_update != NULL)
		return tool_command(request, given_update);
	return tool_command(
	    request, value_map(tool_arena(request), "messages",
			 value_array(tool_arena(request), &message, 1), NULL));
}

/* Calls a tool of somebody else's that gives text, around which filesystem is. */
static const struct value *
update_of(const char *settings, const char *tool, const char *text)
{
	trial.chain = stub_chain(arena, literal_use(arena, "filesystem", settings), NULL);
	trial.run = give;
	trial.arg = arena_strdup(arena, text);
	tool_trial_call(&trial,
	    literal(arena, arena_printf(arena, "{'name': '%s', 'parameters': {}}", tool)),
	    "{}");
	return value_get(value_at(value_get(trial.body, "commands"), 0), "update");
}

START_TEST(a_long_answer_becomes_a_file)
{
	const char *text = lines(100), *content;
	const struct value *update =
	    update_of("{'tool_token_limit_before_evict': 100}", "search", text);
	const struct value *message = value_at(value_get(update, "messages"), 0);

	ck_assert_str_eq(value_get_text(value_get(value_get(update, "files"),
					    "/large_tool_results/call_7"),
			     "content"),
	    text);
	content = value_get_text(message, "content");
	ck_assert_has(content, "call_7");
	ck_assert_has(content, "/large_tool_results/call_7");
	ck_assert_has(content, "  1  line 1\n  2  line 2\n");
	ck_assert_has(content, "  5  line 5\n... [90 lines truncated] ...\n 96  line 96");
	ck_assert_has(content, "100  line 100");
	ck_assert_str_eq(value_get_text(message, "status"), "error");
	ck_assert_str_eq(value_get_text(message, "name"), "search");
	ck_assert_value(arena, value_get(message, "additional_kwargs"),
	    "{'lc_evicted_to': '/large_tool_results/call_7'}");
}
END_TEST

START_TEST(what_is_short_or_bounded_stays)
{
	const struct value *update;

	update = update_of("{'tool_token_limit_before_evict': 2}", "search", "12345678");
	ck_assert(!value_has(update, "files"));
	/* Characters count, not bytes. */
	update = update_of("{'tool_token_limit_before_evict': 2}", "search", "ääääääää");
	ck_assert(!value_has(update, "files"));
	update = update_of("{'tool_token_limit_before_evict': 2}", "search", "123456789");
	ck_assert(value_has(update, "files"));
	update = update_of("{'tool_token_limit_before_evict': null}", "search", lines(9));
	ck_assert(!value_has(update, "files"));
	update = update_of("{'tool_token_limit_before_evict': 0}", "search", lines(9));
	ck_assert(!value_has(update, "files"));
}
END_TEST

START_TEST(long_lines_are_shown_in_part)
{
	char *text = arena_alloc(arena, 5001);
	const struct value *update;

	memset(text, 'x', 5000);
	update = update_of("{'tool_token_limit_before_evict': 100}", "search", text);
	ck_assert_uint_lt(
	    strlen(value_get_text(value_at(value_get(update, "messages"), 0), "content")),
	    1500);
}
END_TEST

START_TEST(answers_in_commands_become_files_too)
{
	const char *text = lines(60);
	const struct value *update, *message;

	given_update = value_map(arena, "messages",
	    literal(arena, arena_printf(arena,
			       "[{'type': 'tool', 'tool_call_id': 'call_7', 'content': "
			       "[{'type': 'text', 'text': %s}, {'type': 'image', "
			       "'base64': 'AAAA'}]}]",
			       json_text(arena, value_str(arena, text)))),
	    "files", literal(arena, "{'/own': {'content': 'x'}}"), "note",
	    value_str(arena, "kept"), NULL);
	update = update_of("{'tool_token_limit_before_evict': 100}", "task", "");
	given_update = NULL;
	message = value_at(value_get(update, "messages"), 0);
	ck_assert(value_has(value_get(update, "files"), "/own"));
	ck_assert(value_has(value_get(update, "files"), "/large_tool_results/call_7"));
	ck_assert_str_eq(value_get_text(update, "note"), "kept");
	ck_assert_uint_eq(value_size(value_get(message, "content")), 2);
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(message, "content"), 1), "type"), "image");
}
END_TEST

START_TEST(what_cannot_be_saved_stays)
{
	const char *text = lines(60);
	const struct value *update = update_of(
	    "{'tool_token_limit_before_evict': 100, 'backend': 'store'}", "search", text);

	ck_assert_str_eq(
	    value_get_text(value_at(value_get(update, "messages"), 0), "content"), text);
	ck_assert_uint_eq(value_size(value_get(trial.body, "notes")), 1);
}
END_TEST

/* --- a user's message ----------------------------------------------------------------- */

static const struct value *
before_agent(const char *settings, const struct value *messages)
{
	desk.turn.use = literal_use(desk.arena, "filesystem", settings);
	desk.turn.run = "run/1.x";
	desk.turn.messages = messages;
	return chain_node_hook(&desk.turn, HOOK_BEFORE_AGENT);
}

static const struct value *
human(const char *text)
{
	const struct value *message = value_map_with(
	    desk.arena, chat_human(desk.arena, text), "id", value_str(desk.arena, "m1"));

	return value_array(desk.arena, &message, 1);
}

START_TEST(a_long_message_is_tagged_and_saved)
{
	const char *settings = "{'human_message_token_limit_before_evict': 100}";
	const char *path = "/conversation_history/run_1_x.md", *text = lines(100);
	const struct value *update = before_agent(settings, human(text)), *message;
	struct play play = { .arena = arena };
	const char *shown;

	message = value_at(value_get(update, "messages"), 0);
	ck_assert_str_eq(value_get_text(message, "content"), text);
	ck_assert_str_eq(value_get_text(message, "id"), "m1");
	ck_assert_value(arena, value_get(message, "additional_kwargs"),
	    arena_printf(arena, "{'lc_evicted_to': '%s'}", path));
	ck_assert_str_eq(
	    value_get_text(value_get(value_get(update, "files"), path), "content"), text);
	/* It is done once, and each model call is shown the short form. */
	ck_assert_ptr_null(before_agent(settings, value_get(update, "messages")));
	play.profile = literal(arena, "{'model': 'x:y'}");
	play.request = value_map(arena, "messages", value_get(update, "messages"), NULL);
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "filesystem", settings), NULL));
	shown = value_get_text(value_at(value_get(play.seen, "messages"), 0), "content");
	ck_assert_has(shown, path);
	ck_assert_has(shown, "... [90 lines truncated] ...");
	ck_assert_has(shown, "100  line 100");
	/* What another hook has put in its place is no long message. */
	message = value_map_with(arena, message, "content", value_str(arena, "Flagged."));
	play.request =
	    value_map(arena, "messages", value_array(arena, &message, 1), NULL);
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "filesystem", settings), NULL));
	shown = value_get_text(value_at(value_get(play.seen, "messages"), 0), "content");
	ck_assert_str_eq(shown, "Flagged.");
}
END_TEST

START_TEST(other_messages_stay)
{
	const char *settings = "{'human_message_token_limit_before_evict': 100}";
	const struct value *message = chat_ai(desk.arena, lines(100));

	ck_assert_ptr_null(before_agent(settings, human("short")));
	ck_assert_ptr_null(before_agent(settings, value_array(desk.arena, &message, 1)));
	ck_assert_ptr_null(before_agent(settings, value_empty_array()));
	ck_assert(!literal_use(
	    arena, "filesystem", "{'human_message_token_limit_before_evict': null}")
		       ->hooks[HOOK_BEFORE_AGENT]);
}
END_TEST

/* --- permissions ---------------------------------------------------------------------- */

#define RULES                                                                            \
	"{'permissions': [{'operations': ['read', 'write'], 'paths': "                   \
	"['/secrets/public/**']}, {'operations': ['read', 'write'], 'paths': "           \
	"['/secrets/**'], 'mode': 'deny'}, {'operations': ['write'], 'paths': "          \
	"['/work/*.log'], 'mode': 'deny'}, {'operations': ['read', 'write'], 'paths': "  \
	"['/asked/**'], 'mode': 'interrupt'}]}"

static void
call_by(const char *settings, const char *tool, const char *args)
{
	const struct middleware_use *use = literal_use(arena, "filesystem", settings);
	size_t i;

	trial.state = literal(arena,
	    "{'files': {'/secrets/a': {'content': 'needle\\n[hidden]'}, "
	    "'/secrets/public/b': "
	    "{'content': 'needle'}, '/work/notes.txt': {'content': 'needle'}, "
	    "'/work/d/x': {'content': ''}, '/asked/q': {'content': 'needle'}}}");
	trial.chain = stub_chain(arena, use, NULL);
	for (i = 0; i < value_size(use->tools); i++)
		if (value_text_is(value_get(value_at(use->tools, i), "name"), tool))
			tool_trial_call(&trial, value_at(use->tools, i),
			    json_text(arena, literal(arena, args)));
}

static void
call(const char *tool, const char *args)
{
	call_by(RULES, tool, args);
}

static const struct {
	const char *tool, *args, *words; /* NULL: it is allowed */
} calls[] = {
	{ "read_file", "{'file_path': '/secrets/a'}",
	    "permission denied for read on /secrets/a" },
	{ "read_file", "{'file_path': 'secrets/./a'}", "permission denied" },
	{ "read_file", "{'file_path': '/secrets/public/b'}", NULL },
	{ "write_file", "{'file_path': '/secrets/n', 'content': ''}",
	    "permission denied for write" },
	{ "write_file", "{'file_path': '/work/a.log', 'content': ''}",
	    "permission denied for write" },
	{ "write_file", "{'file_path': '/work/a.txt', 'content': ''}", NULL },
	{ "ls", "{'path': '/secrets'}", "permission denied for read" },
	{ "ls", "{'path': '/work'}", NULL },
	{ "grep", "{'pattern': 'x', 'path': '/secrets'}", "permission denied" },
	{ "delete", "{'file_path': '/secrets/a'}", "/secrets/**" },
	{ "delete", "{'file_path': '/secrets/public/b'}", NULL },
	{ "delete", "{'file_path': '/secrets/public'}", "matches deny rule" },
	{ "delete", "{'file_path': '/secrets'}", "matches deny rule" },
	{ "delete", "{'file_path': '/'}", "matches deny rule" },
	{ "delete", "{'file_path': '/work'}", "/work/*.log" },
	{ "delete", "{'file_path': '/work/notes.txt'}", NULL },
	{ "delete", "{'file_path': '/work/d'}", NULL },
};

START_TEST(the_first_rule_that_fits_counts)
{
	call(calls[_i].tool, calls[_i].args);
	if (calls[_i].words == NULL)
		tool_trial_answer(&trial, "success");
	else
		ck_assert_has(tool_trial_answer(&trial, "error"), calls[_i].words);
}
END_TEST

static void
check_answer(const char *tool, const char *args, const char *answer)
{
	call(tool, args);
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), answer);
}

/* An answer for one question. */
static const struct value *
decided(const char *decision)
{
	return literal(arena, arena_printf(arena, "[{'decisions': [%s]}]", decision));
}

START_TEST(lists_leave_out_what_is_denied)
{
	trial.answers = decided("{'type': 'approve'}");
	check_answer("glob", "{'pattern': '**'}",
	    "/asked/q\n/secrets/public/b\n/work/d/x\n/work/notes.txt");
	check_answer("grep", "{'pattern': 'needle'}",
	    "/asked/q\n/secrets/public/b\n/work/notes.txt");
	check_answer("ls", "{}", "/asked/\n/work/");
}
END_TEST

START_TEST(a_human_is_asked)
{
	const struct value *question, *about;

	call("write_file", "{'file_path': '/asked/n', 'content': 'x'}");
	question = value_get(trial.body, "interrupt");
	about = value_get(trial.body, "about");
	ck_assert_str_eq(
	    value_get_text(value_at(value_get(question, "action_requests"), 0), "name"),
	    "write_file");
	ck_assert_value(arena, value_get(question, "review_configs"),
	    "[{'action_name': 'write_file', 'allowed_decisions': ['approve', "
	    "'reject']}]");
	ck_assert_value(arena, value_get(about, "tool_call_ids"), "['call_7']");
	ck_assert(value_has(about, "response_schema"));
	trial.answers = decided("{'type': 'approve'}");
	check_answer(
	    "write_file", "{'file_path': '/asked/n', 'content': 'x'}", "Wrote /asked/n");
	trial.answers = decided("{'type': 'reject', 'message': 'not now'}");
	call("write_file", "{'file_path': '/asked/n', 'content': 'x'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "not now");
	ck_assert(!value_has(
	    value_get(value_at(value_get(trial.body, "commands"), 0), "update"),
	    "files"));
	/* What is no approval is none. */
	trial.answers = literal(arena, "['yes']");
	call("write_file", "{'file_path': '/asked/n', 'content': 'x'}");
	tool_trial_answer(&trial, "error");
}
END_TEST

START_TEST(a_search_that_may_meet_such_a_path_asks)
{
	call("glob", "{'pattern': '*', 'path': '/work'}");
	tool_trial_answer(&trial, "success");
	call("glob", "{'pattern': '*', 'path': '/asked/deep'}");
	ck_assert(value_has(trial.body, "interrupt"));
	call("grep", "{'pattern': 'x'}");
	ck_assert(value_has(trial.body, "interrupt"));
}
END_TEST

START_TEST(to_delete_a_folder_asks_for_what_is_in_it)
{
	static const char rules[] =
	    "{'permissions': [{'operations': ['write'], 'paths': ['/asked/*'], "
	    "'mode': 'interrupt'}]}";

	call_by(rules, "delete", "{'file_path': '/asked'}");
	ck_assert(value_has(trial.body, "interrupt"));
	call_by(rules, "delete", "{'file_path': '/'}");
	ck_assert(value_has(trial.body, "interrupt"));
	call_by(rules, "delete", "{'file_path': '/work'}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "Deleted /work");
	call_by(rules, "grep", "{'pattern': 'needle'}");
	tool_trial_answer(&trial, "success");
	trial.answers = decided("{'type': 'approve'}");
	call_by(rules, "delete", "{'file_path': '/asked'}");
	ck_assert_str_eq(tool_trial_answer(&trial, "success"), "Deleted /asked");
}
END_TEST

/* A pattern means the same paths to all that ask, however it is written. */
START_TEST(patterns_are_brought_into_form)
{
	call_by("{'permissions': [{'operations': ['write'], 'paths': ['//work/./*.txt'], "
		"'mode': 'deny'}]}",
	    "delete", "{'file_path': '/work'}");
	ck_assert_has(tool_trial_answer(&trial, "error"), "/work/*.txt");
	call_by("{'permissions': [{'operations': ['read'], 'paths': ['/./work//*'], "
		"'mode': 'interrupt'}]}",
	    "grep", "{'pattern': 'needle', 'path': '/work'}");
	ck_assert(value_has(trial.body, "interrupt"));
}
END_TEST

/* Whether a denied file has a text shows in nothing: neither in what is left of max_count nor in a note. */
START_TEST(matches_that_are_denied_do_not_count)
{
	trial.answers = decided("{'type': 'approve'}");
	check_answer("grep", "{'pattern': 'needle', 'max_count': 3}",
	    "/asked/q\n/secrets/public/b\n/work/notes.txt");
	call("grep", "{'pattern': 'needle', 'max_count': 2}");
	ck_assert_has(tool_trial_answer(&trial, "success"),
	    "/asked/q\n/secrets/public/b\n\nNote: the search was stopped");
	check_answer("grep", "{'pattern': 'needle', 'max_count': 1e300}",
	    "/asked/q\n/secrets/public/b\n/work/notes.txt");
	call("grep", "{'pattern': '[hidden]'}");
	ck_assert_has(tool_trial_answer(&trial, "success"), "no regular expression");
	call("grep", "{'pattern': '[absent]'}");
	ck_assert_has(tool_trial_answer(&trial, "success"), "no regular expression");
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

TCase *
tcase_filesystem_evict(void)
{
	TCase *tcase = tcase_create("filesystem_evict");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_long_answer_becomes_a_file);
	tcase_add_test(tcase, what_is_short_or_bounded_stays);
	tcase_add_test(tcase, long_lines_are_shown_in_part);
	tcase_add_test(tcase, answers_in_commands_become_files_too);
	tcase_add_test(tcase, what_cannot_be_saved_stays);
	tcase_add_test(tcase, a_long_message_is_tagged_and_saved);
	tcase_add_test(tcase, other_messages_stay);
	tcase_add_loop_test(tcase, the_first_rule_that_fits_counts, 0, COUNT(calls));
	tcase_add_test(tcase, lists_leave_out_what_is_denied);
	tcase_add_test(tcase, a_human_is_asked);
	tcase_add_test(tcase, a_search_that_may_meet_such_a_path_asks);
	tcase_add_test(tcase, to_delete_a_folder_asks_for_what_is_in_it);
	tcase_add_test(tcase, patterns_are_brought_into_form);
	tcase_add_test(tcase, matches_that_are_denied_do_not_count);
	return tcase;
}
