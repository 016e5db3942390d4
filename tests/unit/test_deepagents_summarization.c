#include <check.h>
#include <string.h>

#include "bounds.h"
#include "chain.h"
#include "fault.h"
#include "has.h"
#include "literal.h"
#include "registry.h"

/* Interface under test */
#include "../../middleware/builtin/deepagents_summarization.h"

static struct arena *arena;
static struct turn turn;

/* What the model that sums up is asked, and answers; NULL: the run is cancelled, "!text" a fault. */
static struct {
	const struct value *wish;
	const char *answer;
	size_t calls, too_long; /* so many calls are */
} model;

/* Long-term memory: {key: value}; or it fails. */
static struct {
	const struct value *items;
	bool is_broken;
	size_t largest; /* content that was put */
} memory;

static void
setup(void)
{
	arena = arena_new();
	memset(&turn, 0, sizeof turn);
	memset(&model, 0, sizeof model);
	memset(&memory, 0, sizeof memory);
	model.answer = "the summary";
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

static const struct value *
fault_body(const char *type, const char *text)
{
	return value_map(arena, "fault",
	    fault_to_value(arena, fault_new(arena, type, "%s", text)), NULL);
}

static const struct value *
answer(struct turn *own, const struct value *wish)
{
	const struct value *message;

	(void)own;
	model.wish = wish;
	model.calls++;
	if (model.answer == NULL)
		return NULL;
	if (model.calls <= model.too_long)
		return fault_body("ContextOverflowError", "too long");
	if (model.answer[0] == '!')
		return fault_body("TimeoutError", model.answer + 1);
	message = chat_ai(arena, model.answer);
	return value_map(arena, "messages", value_array(arena, &message, 1), NULL);
}

static const struct value *
remember(struct turn *own, const struct value *op)
{
	const char *name = value_get_text(op, "op"), *key = value_get_text(op, "key");
	const struct value *value = value_get(memory.items, key), *item;

	(void)own;
	if (memory.is_broken)
		return fault_body("OSError", "out of order");
	if (strcmp(name, "put") == 0) {
		value = value_get(op, "value");
		if (value_size(value_get(value, "content")) > memory.largest)
			memory.largest = value_size(value_get(value, "content"));
		memory.items =
		    value_map_with(arena, memory.items, key, value_get(op, "value"));
		return value_map(arena, "item", value_empty_map(), NULL);
	}
	item = value == NULL ? value_nil() : value_map(arena, "value", value, NULL);
	return value_map(arena, "item", item, NULL);
}

static const struct value *
run_hook(enum hook hook, const char *settings, const struct value *messages)
{
	const struct value *update;

	turn = (struct turn){ .arena = arena,
		.use = literal_use(arena, "deepagents_summarization", settings),
		.messages = messages,
		.state = turn.state,
		.run = "run-1",
		.thread = "thread-1",
		.profile = literal(arena, "{'model': 'local:m', 'system_prompt': "
					  "'abcdefgh', 'tools': [{'name': 'add'}], "
					  "'model_settings': {'temperature': 0.5, "
					  "'tool_choice': 'any'}}"),
		.call_model = answer,
		.store = remember };
	update = chain_node_hook(&turn, hook);
	if (model.answer != NULL)
		ck_assert_ptr_null(turn.fault);
	return update;
}

static const struct value *
before_model(const char *settings, const char *messages)
{
	return run_hook(HOOK_BEFORE_MODEL, settings, literal(arena, messages));
}

static const char *
asked(void)
{
	return chat_text(arena, value_at(value_get(model.wish, "messages"), 0));
}

/* What the model is shown under update's event, its ids joined; "S" is a summary. */
static const char *
shown(const struct value *update, const char *messages)
{
	struct deep_view view =
	    deep_view_of(arena, literal(arena, messages), value_get(update, DEEP_EVENT));
	const char *text = "";
	size_t i;

	for (i = 0; i < value_size(view.messages); i++) {
		const struct value *message = value_at(view.messages, i);

		text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : " ",
		    summarization_is_summary(message) ? "S"
						      : value_get_text(message, "id"));
	}
	return text;
}

static const char *
summary_of(const struct value *update)
{
	return chat_text(
	    arena, value_get(value_get(update, DEEP_EVENT), "summary_message"));
}

/* The content of the only file that update changes, whose path is path. */
static const char *
saved(const struct value *update, const char **path_r)
{
	const struct value *files = value_get(update, "files");

	ck_assert_uint_eq(value_size(files), 1);
	*path_r = files->pairs[0].key->text;
	return value_get_text(files->pairs[0].value, "content");
}

static size_t
times(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		count++;
	return count;
}

#define H(id) "{'type': 'human', 'id': '" id "', 'content': 'question " id "'}"
#define A(id) "{'type': 'ai', 'id': '" id "', 'content': 'answer " id "'}"
#define CALLS(id, name, args)                                                            \
	"{'type': 'ai', 'id': '" id "', 'content': '', 'tool_calls': [{'id': 'c" id      \
	"', 'name': '" name "', 'args': " args "}]}"
#define T(id, call, text)                                                                \
	"{'type': 'tool', 'id': '" id "', 'tool_call_id': '" call "', 'content': '" text \
	"'}"
#define FOUR H("1") ", " A("2") ", " H("3") ", " A("4")
#define SIX "[" FOUR ", " H("5") ", " A("6") "]"
#define TEN                                                                              \
	"[" FOUR                                                                         \
	", " H("5") ", " A("6") ", " H("7") ", " A("8") ", " H("9") ", " A("10") "]"
#define SMALL "'trigger': ['messages', 6], 'keep': ['messages', 2]"

/* --- a summary --------------------------------------------------------------------------- */

START_TEST(the_thread_stays_and_an_event_says_what_is_shown)
{
	const struct value *update = before_model("{" SMALL "}", SIX);
	const char *path, *text = saved(update, &path);

	ck_assert(!value_has(update, "messages"));
	ck_assert_str_eq(shown(update, SIX), "S 5 6");
	ck_assert_int_eq(
	    value_get_int(value_get(update, DEEP_EVENT), "cutoff_index", 0), 4);
	ck_assert_has(summary_of(update), "the summary");
	ck_assert_has(summary_of(update), path);
	ck_assert_str_eq(path, arena_printf(arena, "/conversation_history/%s.md",
				   value_get_text(update, DEEP_SESSION)));
	ck_assert_has(text, "<message type=\"human\">question 1</message>");
	ck_assert_has(text, "answer 4");
	ck_assert_ptr_null(strstr(text, "question 5"));
	/* The agent's own model writes it, with its settings, and calls no tool. */
	ck_assert_ptr_null(value_get(model.wish, "model"));
	ck_assert_value(
	    arena, value_get(model.wish, "model_settings"), "{'temperature': 0.5}");
	ck_assert_has(asked(), "answer 4");
	ck_assert_ptr_null(strstr(asked(), "question 5"));
	ck_assert_uint_eq(turn.notes.count, 1);
}
END_TEST

START_TEST(the_next_one_carries_it_on)
{
	const struct value *update = before_model("{" SMALL "}", SIX);
	const char *path, *text;

	turn.state = update;
	ck_assert_ptr_null(before_model("{" SMALL "}", SIX));
	turn.state = update;
	update = before_model("{" SMALL "}", TEN);
	ck_assert_str_eq(shown(update, TEN), "S 9 10");
	ck_assert_int_eq(
	    value_get_int(value_get(update, DEEP_EVENT), "cutoff_index", 0), 8);
	ck_assert_has(asked(), "the summary");
	text = saved(update, &path);
	ck_assert_uint_eq(times(text, "## Summed up at"), 2);
	ck_assert_uint_eq(times(text, "question 1"), 1);
	ck_assert_uint_eq(times(text, "answer 8"), 1);
	/* Of what was saved before the summary is no part. */
	ck_assert_ptr_null(strstr(text, "the summary"));
}
END_TEST

static const struct {
	const char *settings;
	bool is_due;
} triggers[] = {
	{ "'trigger': ['messages', 7], 'keep': ['messages', 2]", false },
	{ "'trigger': null, 'keep': ['messages', 2]", false },
	{ "'keep': ['messages', 2]", false },
	{ "'trigger': ['messages', 1]", false }, /* keeps 6 */
	/* A message has 7 tokens (question) or 8 (answer), the prompt 7, the tools 5. */
	{ "'trigger': ['tokens', 57], 'keep': ['messages', 2]", true },
	{ "'trigger': ['tokens', 58], 'keep': ['messages', 2]", false },
};

START_TEST(trigger_and_keep_are_sizes)
{
	ck_assert_int_eq(
	    before_model(arena_printf(arena, "{%s}", triggers[_i].settings), SIX) != NULL,
	    triggers[_i].is_due);
}
END_TEST

START_TEST(a_summary_alone_is_not_summed_up_again)
{
	const char *one_group =
	    "[" FOUR ", " CALLS("5", "add", "{}") ", " T("6", "c5", "x") "]";
	const char *settings = "{'trigger': ['messages', 3], 'keep': ['messages', 1]}";
	const struct value *update = before_model(settings, one_group);

	ck_assert_str_eq(shown(update, one_group), "S 5 6");
	turn.state = update;
	ck_assert_ptr_null(before_model(settings, one_group));
	ck_assert_uint_eq(model.calls, 1);
}
END_TEST

START_TEST(a_thread_that_was_rewritten_is_shown_whole)
{
	const struct value *update = before_model("{" SMALL "}", SIX);

	ck_assert_str_eq(shown(update, "[" H("8") ", " A("9") "]"), "8 9");
	ck_assert_str_eq(shown(update, "[" FOUR ", " H("5") "]"), "S 5");
	/* Some before it went, or came. */
	ck_assert_str_eq(shown(update, "[" H("3") ", " A("4") ", " H("5") "]"), "S 5");
	ck_assert_str_eq(shown(update, "[" H("0") ", " FOUR ", " H("5") "]"), "S 5");
}
END_TEST

#define USED(id, total)                                                                  \
	"{'type': 'ai', 'id': '" id "', 'content': 'x', 'usage_metadata': "              \
	"{'total_tokens': " total "}, 'response_metadata': {'model_provider': 'local'}}"
#define AT_900 "{'trigger': ['tokens', 900], 'keep': ['messages', 2]}"

START_TEST(a_reported_count_is_enough_once)
{
	const char *thread = "[" H("1") ", " A("2") ", " USED("3", "900") ", " H("4") "]";
	const struct value *update = before_model(AT_900, thread);

	ck_assert_str_eq(shown(update, thread), "S 3 4");
	turn.state = update;
	ck_assert_ptr_null(before_model(AT_900, thread));
}
END_TEST

/* --- failures ---------------------------------------------------------------------------- */

static const char *const no_summaries[] = { "!no answer for 60 s", "", " \n\t" };

START_TEST(without_a_summary_nothing_goes_and_nothing_is_written)
{
	model.answer = no_summaries[_i];
	ck_assert_ptr_null(before_model("{" SMALL "}", SIX));
	ck_assert_uint_eq(turn.notes.count, 1);
	ck_assert_has(value_get_text(turn.notes.items[0], "text"), "history stays");
}
END_TEST

START_TEST(a_cancelled_run_writes_nothing)
{
	model.answer = NULL;
	ck_assert_ptr_null(before_model("{" SMALL "}", SIX));
	ck_assert(turn.fault->control);
}
END_TEST

/* The whole of it first, then the last half, ... */
START_TEST(what_is_too_long_to_be_summed_up_is_asked_for_with_less)
{
	model.too_long = 2;
	ck_assert_str_eq(shown(before_model("{" SMALL "}", SIX), SIX), "S 5 6");
	ck_assert_uint_eq(model.calls, 3);
	ck_assert_ptr_null(strstr(asked(), "question 1"));
	ck_assert_has(asked(), "4");
	model.calls = 0;
	model.too_long = 9;
	ck_assert_ptr_null(before_model("{" SMALL "}", SIX));
	ck_assert_uint_eq(model.calls, 4);
}
END_TEST

#define IN_STORE "{" SMALL ", 'backend': 'store'}"

START_TEST(files_that_cannot_be_written_are_a_note)
{
	const struct value *update;

	memory.is_broken = true;
	update = before_model(IN_STORE, SIX);
	ck_assert_str_eq(shown(update, SIX), "S 5 6");
	ck_assert_ptr_null(value_get(value_get(update, DEEP_EVENT), "file_path"));
	ck_assert_has(summary_of(update), "the summary");
	ck_assert_ptr_null(strstr(summary_of(update), "/conversation_history"));
	ck_assert_uint_eq(turn.notes.count, 2);
	ck_assert_has(value_get_text(turn.notes.items[0], "text"), "not saved");
}
END_TEST

/* As behind a crash between the hook and its commit. */
START_TEST(a_hook_that_runs_again_saves_once)
{
	const struct value *first = before_model(IN_STORE, SIX), *items = memory.items;
	const struct value *again = before_model(IN_STORE, SIX);

	ck_assert_uint_eq(value_size(items), 1);
	ck_assert(value_equal(items, memory.items));
	ck_assert(value_equal(first, again));
}
END_TEST

/* --- what is saved ------------------------------------------------------------------------- */

START_TEST(a_long_file_is_followed_by_another)
{
	const char *path = "/conversation_history/s.md";
	const struct value *update;
	char *text = arena_alloc(arena, (512u << 10) + 1);

	memset(text, 'x', 512u << 10);
	turn.state = value_map(arena, DEEP_SESSION, VALUE_TEXT("s"), "files",
	    value_map_with(arena, NULL, path,
		value_map(arena, "content", value_str(arena, text), "encoding",
		    VALUE_TEXT("utf-8"), NULL)),
	    NULL);
	update = before_model("{" SMALL "}", SIX);
	ck_assert_has(saved(update, &path), "question 1");
	ck_assert_str_eq(path, "/conversation_history/s-2.md");
	ck_assert_has(summary_of(update), path);
	ck_assert_int_eq(value_get_int(value_get(update, DEEP_EVENT), "part", 0), 2);
}
END_TEST

/* SIX with an answer of size bytes; the first message has that id. */
static const struct value *
long_thread(const char *id, size_t size)
{
	char *text = arena_alloc(arena, size + 1);
	const struct value *six = literal(arena, SIX), *message;

	memset(text, 'x', size);
	text[size] = '\0';
	message = value_map_with(arena, value_at(six, 0), "id", value_str(arena, id));
	message = value_map_with(arena, message, "content", value_str(arena, text));
	return value_array_concat(
	    arena, value_array(arena, &message, 1), value_array_slice(arena, six, 1, 6));
}

static const struct {
	size_t bytes, files;
} lengths[] = { { 500000, 1 }, { 700000, 2 }, { 2500000, 4 } };

/* Behind a file that has less than a half of what it may have. */
START_TEST(what_is_longer_than_an_item_has_several_files)
{
	const struct value *update, *items;
	const char *path;

	turn.state = value_map(arena, DEEP_SESSION, VALUE_TEXT("s"), NULL);
	run_hook(HOOK_BEFORE_MODEL, IN_STORE, long_thread("a", 400000));
	update =
	    run_hook(HOOK_BEFORE_MODEL, IN_STORE, long_thread("b", lengths[_i].bytes));
	items = memory.items;
	ck_assert_uint_eq(value_size(items), lengths[_i].files);
	ck_assert_uint_lt(memory.largest, ITEM_VALUE_BYTES_MAX - 1000);
	path = value_get_text(value_get(update, DEEP_EVENT), "file_path");
	ck_assert_str_eq(path, lengths[_i].files == 1
				   ? "/conversation_history/s.md"
				   : arena_printf(arena, "/conversation_history/s-%zu.md",
					 lengths[_i].files));
	/* As behind a crash. */
	run_hook(HOOK_BEFORE_MODEL, IN_STORE, long_thread("b", lengths[_i].bytes));
	ck_assert(value_equal(items, memory.items));
}
END_TEST

static const char *const images[] = {
	"{'type': 'image', 'base64': 'Zm8=', 'mime_type': 'image/png'}",
	"{'type': 'image', 'source': {'type': 'base64', 'media_type': 'image/png', "
	"'data': 'Zm8='}}",
	"{'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,Zm8='}}",
};

START_TEST(images_are_saved_as_files)
{
	const struct value *update = before_model("{" SMALL "}",
	    arena_printf(arena,
		"[{'type': 'human', 'id': '1', 'content': [{'type': 'text', 'text': "
		"'see '}, %s]}, " A("2") ", " H("3") ", " A("4") ", " H("5") ", " A(
		    "6") "]",
		images[_i]));
	const struct value *files = value_get(update, "files");
	const char *path;

	ck_assert_uint_eq(value_size(files), 2);
	path = files->pairs[0].key->text;
	ck_assert_has(path, ".png");
	ck_assert_str_eq(value_get_text(files->pairs[0].value, "content"), "Zm8=");
	ck_assert_str_eq(value_get_text(files->pairs[0].value, "encoding"), "base64");
	ck_assert_has(value_get_text(files->pairs[1].value, "content"),
	    arena_printf(arena, "see [image"));
	ck_assert_has(value_get_text(files->pairs[1].value, "content"), path);
	ck_assert_ptr_null(strstr(asked(), "Zm8="));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

TCase *tcase_deepagents_summarization(void);

TCase *
tcase_deepagents_summarization(void)
{
	TCase *tcase = tcase_create("deepagents_summarization");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_thread_stays_and_an_event_says_what_is_shown);
	tcase_add_test(tcase, the_next_one_carries_it_on);
	tcase_add_loop_test(tcase, trigger_and_keep_are_sizes, 0, COUNT(triggers));
	tcase_add_test(tcase, a_summary_alone_is_not_summed_up_again);
	tcase_add_test(tcase, a_thread_that_was_rewritten_is_shown_whole);
	tcase_add_test(tcase, a_reported_count_is_enough_once);
	tcase_add_loop_test(tcase, without_a_summary_nothing_goes_and_nothing_is_written,
	    0, COUNT(no_summaries));
	tcase_add_test(tcase, a_cancelled_run_writes_nothing);
	tcase_add_test(tcase, what_is_too_long_to_be_summed_up_is_asked_for_with_less);
	tcase_add_test(tcase, files_that_cannot_be_written_are_a_note);
	tcase_add_test(tcase, a_hook_that_runs_again_saves_once);
	tcase_add_test(tcase, a_long_file_is_followed_by_another);
	tcase_add_loop_test(
	    tcase, what_is_longer_than_an_item_has_several_files, 0, COUNT(lengths));
	tcase_add_loop_test(tcase, images_are_saved_as_files, 0, COUNT(images));
	return tcase;
}
