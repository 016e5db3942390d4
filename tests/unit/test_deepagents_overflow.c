/* deepagents_summarization where a model worker has a part: the wrap, what it leaves to the coordinator; and
 * the tool compact_conversation. */
#include <check.h>
#include <string.h>

#include "chain_play.h"
#include "has.h"
#include "literal.h"

/* Interface under test */
#include "../../middleware/builtin/deepagents_summarization.h"

static struct arena *arena;
static struct play play;
static size_t summaries;
static const char *no_summary; /* the reason why there is none, or NULL */

static void
setup(void)
{
	arena = arena_new();
	play = (struct play){ .arena = arena };
	play.profile = literal(arena, "{'model': 'local:m', 'system_prompt': 'abcd', "
				      "'tools': []}");
	summaries = 0;
	no_summary = NULL;
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

#define H(id) "{'type': 'human', 'id': '" id "', 'content': 'question " id "'}"
#define A(id) "{'type': 'ai', 'id': '" id "', 'content': 'answer " id "'}"
#define CALL(id, name)                                                                   \
	"{'type': 'ai', 'id': '" id "', 'content': '', 'tool_calls': [{'id': 'c/" id     \
	"', 'name': '" name "', 'args': {}}]}"
#define FIVE "[" H("1") ", " A("2") ", " H("3") ", " A("4") ", " H("5") "]"
#define LESS "{'trigger': null, 'keep': ['messages', 2]}"
#define TOO_LONG "!ContextOverflowError the prompt is too long"

static const struct value *
ask(const char *settings, const struct value *messages, const struct value *state)
{
	play.request = value_map(arena, "run", VALUE_TEXT("run-1"), "messages", messages,
	    "state", state, NULL);
	return play_model(
	    &play, stub_chain(arena,
		       literal_use(arena, "deepagents_summarization", settings), NULL));
}

static const struct value *
update_of(const struct value *body)
{
	return value_at(value_get(body, "updates"), 0);
}

/* The ids of messages; "S" is a summary. */
static const char *
ids_of(const struct value *messages)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    summarization_is_summary(value_at(messages, i))
			? "S"
			: value_get_text(value_at(messages, i), "id"));
	return text;
}

/* --- the wrap ------------------------------------------------------------------------------- */

START_TEST(the_model_is_shown_the_events_view)
{
	const struct value *state = literal(arena,
	    "{'summarization_event': {'cutoff_index': 3, 'through_id': '3', "
	    "'summary_message': {'type': 'human', 'content': 'so far', "
	    "'additional_kwargs': {'lc_source': 'summarization'}}}}");
	const struct value *body = ask(LESS, literal(arena, FIVE), state);

	ck_assert_str_eq(ids_of(value_get(play.seen, "messages")), "S 4 5");
	ck_assert_ptr_null(value_get(body, "updates"));
	/* Messages that are as they came keep the worker's JSON of them. */
	ask(LESS, literal(arena, FIVE), NULL);
	ck_assert_ptr_eq(
	    value_get(play.seen, "messages"), value_get(play.request, "messages"));
}
END_TEST

START_TEST(what_is_too_long_is_summed_up_and_asked_again)
{
	const struct value *body, *event;

	play.outcomes[0] = TOO_LONG;
	play.outcomes[1] = "the summary";
	body = ask(LESS, literal(arena, FIVE), NULL);
	ck_assert_str_eq(stub_outcome(arena, body), "ok");
	ck_assert_str_eq(stub_log(), "send send send");
	ck_assert_str_eq(ids_of(value_get(play.seen, "messages")), "S 4 5");
	event = value_get(update_of(body), DEEP_EVENT);
	ck_assert_int_eq(value_get_int(event, "cutoff_index", 0), 3);
	ck_assert_str_eq(value_get_text(event, "through_id"), "3");
	ck_assert_value(
	    arena, value_get(event, "unsaved"), "{'from': 0, 'summary': 'the summary'}");
	ck_assert_has(chat_text(arena, value_get(event, "summary_message")),
	    value_get_text(event, "file_path"));
	ck_assert_ptr_nonnull(value_get(update_of(body), DEEP_SESSION));
}
END_TEST

static const struct {
	const char *outcomes[3];
	const char *log, *fault, *settings;
} in_vain[] = {
	/* Other faults are not ours, nor is one behind the summary. */
	{ { "!BadRequestError no" }, "send", "fault: BadRequestError: no", LESS },
	{ { TOO_LONG, "!TimeoutError late" }, "send send",
	    "fault: ContextOverflowError: the prompt is too long", LESS },
	{ { TOO_LONG, "the summary", "!ContextOverflowError still" }, "send send send",
	    "fault: ContextOverflowError: still", LESS },
	/* There is nothing to sum up. */
	{ { TOO_LONG, "!ContextOverflowError still" }, "send send",
	    "fault: ContextOverflowError: still",
	    "{'trigger': null, 'keep': ['messages', 5]}" },
};

START_TEST(what_cannot_be_mended_is_told)
{
	const struct value *body;
	size_t i;

	for (i = 0; i < 3; i++)
		play.outcomes[i] = in_vain[_i].outcomes[i];
	body = ask(in_vain[_i].settings, literal(arena, FIVE), NULL);
	ck_assert_str_eq(stub_outcome(arena, body), in_vain[_i].fault);
	ck_assert_str_eq(stub_log(), in_vain[_i].log);
	ck_assert_ptr_null(value_get(body, "updates"));
}
END_TEST

/* A tool message with size characters. */
static const struct value *
long_result(const char *id, const char *call, size_t size)
{
	char *text = arena_alloc(arena, size + 1);

	memset(text, 'x', size);
	return value_map_with(arena, chat_tool(arena, text, call, "add", "success"), "id",
	    value_str(arena, id));
}

static size_t
size_of(const struct value *messages, size_t at)
{
	return value_size(value_get(value_at(messages, at), "content"));
}

START_TEST(long_results_of_tools_are_cut)
{
	const struct value *thread = literal(arena, "[" H("1") ", " CALL("2", "add") "]"),
			   *body, *seen, *event, *clips;

	thread = value_array_add(arena, thread, long_result("3", "c/2", 40000));
	play.outcomes[0] = TOO_LONG;
	body = ask("{'trigger': null, 'keep': ['messages', 9]}", thread, NULL);
	ck_assert_str_eq(stub_outcome(arena, body), "ok");
	ck_assert_str_eq(stub_log(), "send send"); /* nothing is summed up */
	seen = value_get(play.seen, "messages");
	ck_assert_str_eq(ids_of(seen), "1 2 3");
	ck_assert_uint_lt(size_of(seen, 2), 30000);
	ck_assert_uint_gt(size_of(seen, 2), 20000);
	ck_assert_has(
	    value_get_text(value_at(seen, 2), "content"), "/large_tool_results/c_2");
	event = value_get(update_of(body), DEEP_EVENT);
	clips = value_get(event, "clipped");
	ck_assert_uint_eq(value_size(clips), 1);
	/* The next call shows it like that at once. */
	body = ask(LESS, thread, value_map(arena, DEEP_EVENT, event, NULL));
	ck_assert(value_equal(seen, value_get(play.seen, "messages")));
	ck_assert_ptr_null(value_get(body, "updates"));
}
END_TEST

START_TEST(short_results_leave_their_room_to_long_ones)
{
	const struct value *messages[] = { long_result("1", "a", 40),
		long_result("2", "b", 80000), long_result("3", "c", 4000),
		long_result("4", "d", 80000) };
	const struct value *clips =
	    deep_clips(arena, value_array(arena, messages, 4), 0, 11000, 4.0);

	ck_assert_uint_eq(value_size(clips), 2);
	ck_assert_str_eq(value_get_text(value_at(clips, 0), "id"), "2");
	ck_assert_str_eq(value_get_text(value_at(clips, 1), "id"), "4");
	ck_assert_int_ge(value_get_int(value_at(clips, 0), "bytes", 0), 19000);
	ck_assert_int_le(value_get_int(value_at(clips, 0), "bytes", 0), 20000);
	/* Something is left of each. */
	clips = deep_clips(arena, value_array(arena, messages, 4), 0, -5, 4.0);
	ck_assert_uint_eq(value_size(clips), 3);
	ck_assert_int_eq(value_get_int(value_at(clips, 0), "bytes", 0), 1600);
}
END_TEST

/* --- what the coordinator does behind it ------------------------------------------------------- */

static struct turn turn;

static const struct value *
answer(struct turn *own, const struct value *wish)
{
	const struct value *message = chat_ai(arena, "a summary");

	(void)own;
	(void)wish;
	summaries++;
	if (no_summary != NULL)
		return value_map(arena, "fault",
		    fault_to_value(
			arena, fault_new(arena, "TimeoutError", "%s", no_summary)),
		    NULL);
	return value_map(arena, "messages", value_array(arena, &message, 1), NULL);
}

static const struct value *
run_hook(enum hook hook, const char *settings, const struct value *messages,
    const struct value *state)
{
	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "deepagents_summarization", settings),
		.messages = messages,
		.state = state,
		.run = "run-1",
		.thread = "thread-1",
		.profile = play.profile,
		.call_model = answer };
	return chain_node_hook(&turn, hook);
}

static const enum hook late_hooks[] = { HOOK_AFTER_MODEL, HOOK_BEFORE_MODEL };

START_TEST(what_the_wrap_left_is_saved)
{
	const struct value *thread =
	    literal(arena, "[" H("1") ", " A("2") ", " CALL("3", "add") "]");
	const struct value *update, *files, *event;

	thread = value_array_add(arena, thread, long_result("4", "c/3", 40000));
	play.outcomes[0] = TOO_LONG;
	play.outcomes[1] = "the summary";
	update = update_of(ask(LESS, thread, NULL));
	update = run_hook(late_hooks[_i], LESS, thread, update);
	files = value_get(update, "files");
	event = value_get(update, DEEP_EVENT);
	ck_assert_uint_eq(value_size(files), 2);
	ck_assert_has(value_get_text(value_get(files, value_get_text(event, "file_path")),
			  "content"),
	    "answer 2");
	ck_assert_uint_eq(
	    value_size(value_get(value_get(files, "/large_tool_results/c_3"), "content")),
	    40000);
	ck_assert(!value_has(event, "unsaved"));
	ck_assert(!value_has(value_at(value_get(event, "clipped"), 0), "unsaved"));
	ck_assert_ptr_null(run_hook(late_hooks[_i], LESS, thread, update));
}
END_TEST

START_TEST(what_filesystem_has_saved_is_left_as_it_is)
{
	const struct value *thread = literal(arena, "[" H("1") ", " CALL("2", "add") "]");
	const struct value *message =
	    value_map_with(arena, long_result("3", "c.2", 40000), "additional_kwargs",
		literal(arena, "{'lc_evicted_to': '/large_tool_results/c_2'}"));
	const struct value *update, *clip;

	thread = value_array_add(arena, thread, message);
	play.outcomes[0] = TOO_LONG;
	update =
	    update_of(ask("{'trigger': null, 'keep': ['messages', 9]}", thread, NULL));
	clip = value_at(value_get(value_get(update, DEEP_EVENT), "clipped"), 0);
	ck_assert_str_eq(value_get_text(clip, "path"), "/large_tool_results/c_2");
	ck_assert(!value_has(clip, "unsaved"));
	update = run_hook(HOOK_AFTER_MODEL, LESS, thread, update);
	ck_assert(!value_has(value_get(update, "files"), "/large_tool_results/c_2"));
}
END_TEST

START_TEST(what_goes_is_saved_whole)
{
	const char *settings = "{'trigger': ['messages', 4], 'keep': ['messages', 2]}";
	const struct value *update, *file,
	    *state = literal(arena,
		"{'summarization_event': {'cutoff_index': 0, 'clipped': [{'id': '3', "
		"'bytes': 8, 'path': '/large_tool_results/c_2'}]}}");
	const struct value *thread = literal(arena, "[" H("1") ", " CALL("2", "add") "]");

	thread = value_array_add(arena, thread, long_result("3", "c/2", 4000));
	thread =
	    value_array_concat(arena, thread, literal(arena, "[" A("4") ", " H("5") "]"));
	update = run_hook(HOOK_BEFORE_MODEL, settings, thread, state);
	file = value_get(value_get(update, "files"),
	    value_get_text(value_get(update, DEEP_EVENT), "file_path"));
	ck_assert_uint_gt(value_size(value_get(file, "content")), 4000);
}
END_TEST

START_TEST(a_tagged_message_counts_in_its_short_form)
{
	const char *settings = "{'trigger': ['tokens', 5000], 'keep': ['messages', 2]}";
	const struct value *message =
	    chat_human(arena, value_get_text(long_result("1", "a", 40000), "content"));
	const struct value *tag = literal(arena, "{'lc_evicted_to': '/x'}"), *thread;

	message = value_map_with(arena, message, "id", VALUE_TEXT("1"));
	thread = value_array_concat(arena, value_array(arena, &message, 1),
	    literal(arena, "[" A("2") ", " H("3") ", " A("4") ", " H("5") "]"));
	ck_assert_ptr_nonnull(run_hook(HOOK_BEFORE_MODEL, settings, thread, NULL));
	message = value_map_with(arena, message, "additional_kwargs", tag);
	thread = value_array_concat(arena, value_array(arena, &message, 1),
	    value_array_slice(arena, thread, 1, 5));
	ck_assert_ptr_null(run_hook(HOOK_BEFORE_MODEL, settings, thread, NULL));
}
END_TEST

START_TEST(what_could_not_be_saved_is_not_said_to_be)
{
	const struct value *thread =
	    literal(arena, "[" H("1") ", " A("2") ", " CALL("3", "add") "]");
	const char *settings = "{'trigger': null, 'keep': ['messages', 2], 'backend': "
			       "{'filesystem': {'root_dir': '/tmp/x'}}}";
	const struct value *update, *event;

	thread = value_array_add(arena, thread, long_result("4", "c/3", 40000));
	play.outcomes[0] = TOO_LONG;
	play.outcomes[1] = "the summary";
	update = update_of(ask(settings, thread, NULL));
	update = run_hook(HOOK_AFTER_MODEL, settings, thread, update);
	event = value_get(update, DEEP_EVENT);
	ck_assert(!value_has(event, "file_path"));
	ck_assert_ptr_null(strstr(
	    chat_text(arena, value_get(event, "summary_message")), "/conversation"));
	ck_assert(!value_has(value_at(value_get(event, "clipped"), 0), "path"));
	ck_assert_uint_eq(turn.notes.count, 2);
}
END_TEST

/* What `flotilla update` may put there. */
static const char *const junk[] = {
	"7",
	"'x'",
	"[]",
	"{'cutoff_index': 'x', 'clipped': 3, 'unsaved': [1]}",
	"{'cutoff_index': -1, 'through_id': 3, 'summary_message': 'x'}",
	"{'cutoff_index': 9000000000000, 'summary_message': {}, 'part': -7, 'file_path': "
	"1}",
	"{'cutoff_index': 3, 'through_id': '3', 'summary_message': {}, 'clipped': [null, "
	"7, "
	"{'id': '5', 'bytes': -3}], 'unsaved': {'from': 9000000000, 'summary': 'x'}}",
	"{'cutoff_index': 5, 'through_id': '5', 'summary_message': {'type': 'human'}, "
	"'unsaved': {'from': -1, 'summary': 3}, 'clipped': [{'unsaved': true, 'path': "
	"'../x', 'id': '9'}]}",
	"{'cutoff_index': 4, 'summary_message': {}, 'through_id': null, 'unsaved': "
	"{'from': "
	"0, 'summary': 'x'}, 'clipped': [{'unsaved': true, 'path': 3}]}",
};

START_TEST(an_event_that_is_none_does_no_harm)
{
	const struct value *thread = literal(arena, FIVE);
	const struct value *state = value_map(arena, DEEP_EVENT, literal(arena, junk[_i]),
	    DEEP_SESSION, value_int(arena, 3), NULL);
	const char *settings = "{'trigger': ['messages', 1], 'keep': ['messages', 2]}";
	const struct value *update;

	play.outcomes[0] = TOO_LONG;
	play.outcomes[1] = "the summary";
	ck_assert_has_not(stub_outcome(arena, ask(settings, thread, state)), "fault");
	run_hook(HOOK_AFTER_MODEL, settings, thread, state);
	ck_assert_ptr_null(turn.fault);
	update = run_hook(HOOK_BEFORE_MODEL, settings, thread, state);
	ck_assert_ptr_null(turn.fault);
	ask(settings, thread, update != NULL ? update : state);
	ck_assert_uint_gt(value_size(value_get(play.seen, "messages")), 0);
}
END_TEST

/* --- compact_conversation ------------------------------------------------------------------------ */

#define TOOL "'compact_conversation': true"
#define COMPACT CALL("6", "compact_conversation")
#define THREAD "[" H("1") ", " A("2") ", " H("3") ", " A("4") ", " H("5") ", " COMPACT "]"

static const struct {
	const char *settings, *status, *words;
	const char *fails;
	size_t calls;
	int64_t cutoff;
} compacts[] = {
	{ "'trigger': ['messages', 12], 'keep': ['messages', 2]", "success", "first 4",
	    NULL, 1, 4 },
	{ "'trigger': ['messages', 13], 'keep': ['messages', 2]", "success",
	    "nothing to compact", NULL, 0, -1 },
	{ "'trigger': ['tokens', 60], 'keep': ['messages', 2]", "success", "first 4",
	    NULL, 1, 4 },
	{ "'trigger': ['tokens', 1000], 'keep': ['messages', 2]", "success",
	    "nothing to compact", NULL, 0, -1 },
	{ "'trigger': null, 'keep': ['messages', 2]", "success", "first 4", NULL, 1, 4 },
	{ "'trigger': null, 'keep': ['messages', 6]", "success", "nothing to compact",
	    NULL, 0, -1 },
	{ "'trigger': null, 'keep': ['messages', 2]", "error", "nothing is lost", "late",
	    1, -1 },
};

START_TEST(the_model_can_have_it_summed_up)
{
	const struct value *update, *message;

	no_summary = compacts[_i].fails;
	update = run_hook(HOOK_AFTER_MODEL,
	    arena_printf(arena, "{" TOOL ", %s}", compacts[_i].settings),
	    literal(arena, THREAD), NULL);
	ck_assert_uint_eq(value_size(value_get(update, "messages")), 1);
	message = value_at(value_get(update, "messages"), 0);
	ck_assert_str_eq(value_get_text(message, "tool_call_id"), "c/6");
	ck_assert_str_eq(value_get_text(message, "status"), compacts[_i].status);
	ck_assert_has(value_get_text(message, "content"), compacts[_i].words);
	ck_assert_uint_eq(summaries, compacts[_i].calls);
	ck_assert_int_eq(value_get_int(value_get(update, DEEP_EVENT), "cutoff_index", -1),
	    compacts[_i].cutoff);
}
END_TEST

START_TEST(other_calls_are_not_its_own)
{
	const char *settings = "{" TOOL ", 'trigger': null, 'keep': ['messages', 1]}";

	ck_assert_ptr_null(run_hook(HOOK_AFTER_MODEL, settings,
	    literal(arena, "[" H("1") ", " CALL("2", "add") "]"), NULL));
	/* Without the setting there is no such tool. */
	ck_assert_ptr_null(
	    run_hook(HOOK_AFTER_MODEL, LESS, literal(arena, THREAD), NULL));
	ck_assert_uint_eq(summaries, 0);
}
END_TEST

START_TEST(the_model_is_told_of_the_tool)
{
	const struct middleware_use *use =
	    literal_use(arena, "deepagents_summarization", "{" TOOL "}");

	ck_assert_uint_eq(value_size(use->tools), 1);
	ask("{" TOOL "}", literal(arena, FIVE), NULL);
	ck_assert_has(value_get_text(play.seen, "system"), "abcd\n\n");
	ck_assert_has(value_get_text(play.seen, "system"), "compact_conversation");
	ask("{}", literal(arena, FIVE), NULL);
	ck_assert_str_eq(value_get_text(play.seen, "system"), "abcd");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_deepagents_overflow(void);

TCase *
tcase_deepagents_overflow(void)
{
	TCase *tcase = tcase_create("deepagents_overflow");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_model_is_shown_the_events_view);
	tcase_add_test(tcase, what_is_too_long_is_summed_up_and_asked_again);
	tcase_add_loop_test(tcase, what_cannot_be_mended_is_told, 0, COUNT(in_vain));
	tcase_add_test(tcase, long_results_of_tools_are_cut);
	tcase_add_test(tcase, short_results_leave_their_room_to_long_ones);
	tcase_add_loop_test(tcase, what_the_wrap_left_is_saved, 0, COUNT(late_hooks));
	tcase_add_test(tcase, what_filesystem_has_saved_is_left_as_it_is);
	tcase_add_test(tcase, what_goes_is_saved_whole);
	tcase_add_test(tcase, a_tagged_message_counts_in_its_short_form);
	tcase_add_test(tcase, what_could_not_be_saved_is_not_said_to_be);
	tcase_add_loop_test(tcase, an_event_that_is_none_does_no_harm, 0, COUNT(junk));
	tcase_add_loop_test(tcase, the_model_can_have_it_summed_up, 0, COUNT(compacts));
	tcase_add_test(tcase, other_calls_are_not_its_own);
	tcase_add_test(tcase, the_model_is_told_of_the_tool);
	return tcase;
}
