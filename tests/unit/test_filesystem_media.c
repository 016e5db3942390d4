/* What of files a provider takes. */
#include <check.h>

#include "chain_play.h"
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

static const struct value *
messages_for(const char *model)
{
	struct play play = { .arena = arena };

	play.profile = literal(arena, arena_printf(arena, "{'model': '%s'}", model));
	play.request = literal(arena, "{'messages': " SEEN "}");
	play_model(
	    &play, stub_chain(arena, literal_use(arena, "filesystem", "{}"), NULL));
	return value_get(play.seen, "messages");
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

TCase *tcase_filesystem_media(void);
TCase *
tcase_filesystem_media(void)
{
	TCase *tcase = tcase_create("filesystem_media");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, media_stand_behind_the_results_where_a_result_must_be_text);
	return tcase;
}
