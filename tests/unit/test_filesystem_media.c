/* What of files a provider takes. */
#include <check.h>

#include "chain_play.h"
#include "chat.h"
#include "has.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "filesystem.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new();
	stub_log_clear();
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

#define SEEN                                                                             \
	"[{'type': 'human', 'content': 'Look.'}, {'type': 'ai', 'content': '', "         \
	"'tool_calls': [{'id': 'a', 'name': 'read_file', 'args': {}}, {'id': 'b', "      \
	"'name': 'ls', 'args': {}}]}, {'type': 'tool', 'tool_call_id': 'a', 'content': " \
	"[{'type': 'text', 'text': 'Here.'}, {'type': 'image', 'base64': 'AAAA'}]}, "    \
	"{'type': 'tool', 'tool_call_id': 'b', 'content': '/x'}, {'type': 'ai', "        \
	"'content': 'Yes.'}]"

/* What the provider gets of messages; known: the model's profile. */
static const struct value *
sent(const char *model, const char *known, const char *messages)
{
	struct play play = { .arena = arena };
	struct middleware_use use = *literal_use(arena, "filesystem", "{}");

	use.agent_model = model;
	use.agent_profile = literal(arena, known);
	play.profile = literal(arena, arena_printf(arena, "{'model': '%s'}", model));
	play.request = literal(arena, arena_printf(arena, "{'messages': %s}", messages));
	play_model(&play, stub_chain(arena, &use, NULL));
	return value_get(play.seen, "messages");
}

static const struct value *
messages_for(const char *model)
{
	return sent(model, "{}", SEEN);
}

START_TEST(media_stand_behind_the_results_where_a_result_must_be_text)
{
	const struct value *messages = messages_for("openai:gpt-4o"), *moved;

	ck_assert_uint_eq(value_size(messages), 6);
	ck_assert_str_eq(value_get_text(value_at(messages, 2), "content"),
	    "Here.\n[image: see below]");
	ck_assert_str_eq(value_get_text(value_at(messages, 3), "content"), "/x");
	moved = value_at(messages, 4);
	ck_assert_str_eq(value_get_text(moved, "type"), "human");
	ck_assert_value(arena, value_at(value_get(moved, "content"), 1),
	    "{'type': 'image', 'base64': 'AAAA'}");
	ck_assert_has(
	    value_get_text(value_at(value_get(moved, "content"), 0), "text"), "call a");
	ck_assert_value(arena, messages_for("anthropic:claude"), SEEN);
	ck_assert_value(arena, messages_for("scripted:x"), SEEN);
}
END_TEST

#define BLOCK(fields) "[{'type': 'tool', 'tool_call_id': 'a', 'content': [" fields "]}]"
#define AS_TEXT(text) BLOCK("{'type': 'text', 'text': '" text "'}")
#define IMAGE "{'type': 'image', 'base64': 'AAAA'}"
#define PDF "{'type': 'file', 'base64': 'AAAA', 'mime_type': 'application/pdf'}"
#define BYTES                                                                            \
	"{'type': 'file', 'base64': 'AAAA', 'mime_type': 'application/octet-stream'}"
#define SLIDES "{'type': 'file', 'base64': 'AAAA', 'mime_type': 'application/x-slides'}"

static const struct {
	const char *known, *messages, *sent;
} takes[] = {
	{ "{'image_inputs': false}", BLOCK(IMAGE),
	    AS_TEXT("[image: not shown, this model takes none]") },
	{ "{'image_inputs': true, 'pdf_inputs': false}", BLOCK(IMAGE), BLOCK(IMAGE) },
	{ "{}", BLOCK(IMAGE), BLOCK(IMAGE) },
	{ "{'pdf_inputs': false}", BLOCK(PDF),
	    AS_TEXT("[file: not shown, this model takes none]") },
	{ "{'pdf_inputs': false}", BLOCK(SLIDES), BLOCK(SLIDES) },
	{ "{}", BLOCK(BYTES), AS_TEXT("[file: not shown, this model takes none]") },
	{ "{'audio_inputs': false}", BLOCK("{'type': 'audio', 'base64': 'AAAA'}"),
	    AS_TEXT("[audio: not shown, this model takes none]") },
	{ "{'video_inputs': false}", BLOCK("{'type': 'video', 'base64': 'AAAA'}"),
	    AS_TEXT("[video: not shown, this model takes none]") },
};

START_TEST(what_a_model_does_not_take_is_told_in_words)
{
	ck_assert_value(arena,
	    sent("anthropic:claude", takes[_i].known, takes[_i].messages),
	    takes[_i].sent);
}
END_TEST

/* What is not taken is not moved, either. */
START_TEST(what_is_not_taken_stands_in_the_result_where_that_must_be_text)
{
	const struct value *messages =
	    sent("openai:gpt-4o", "{'image_inputs': false}", SEEN);

	ck_assert_uint_eq(value_size(messages), 5);
	ck_assert_has(chat_text(arena, value_at(messages, 2)), "image: not shown");
}
END_TEST

TCase *tcase_filesystem_media(void);
TCase *
tcase_filesystem_media(void)
{
	TCase *tcase = tcase_create("filesystem_media");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, media_stand_behind_the_results_where_a_result_must_be_text);
	tcase_add_loop_test(tcase, what_a_model_does_not_take_is_told_in_words, 0,
	    sizeof takes / sizeof *takes);
	tcase_add_test(
	    tcase, what_is_not_taken_stands_in_the_result_where_that_must_be_text);
	return tcase;
}
