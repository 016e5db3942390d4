/* The examples of docs/middleware-examples.md, each in C and in Lua: the two do the same.
 * Run from the project's folder. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chain_play.h"
#include "fiber.h"
#include "literal.h"
#include "registry.h"
#include "spec.h"

/* Interface under test: examples/middleware */

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

static const struct middleware_use *
lua_use_of(const char *name)
{
	const char *path = arena_printf(arena, "examples/middleware/lua/%s.yaml", name);
	const struct spec *const *specs;
	const char *error = "";

	ck_assert_msg(spec_load_file(arena, path, &specs, &error) == 1, "%s", error);
	ck_assert_uint_eq(specs[0]->use_count, 1);
	return specs[0]->uses[0];
}

/* With the settings that the agent of the Lua one has. */
static const struct middleware_use *
c_use_of(const char *name, const struct middleware_use *lua)
{
	const char *path = "", *error = "";
	const struct middleware_use *use;
	char program[4096];
	ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);

	ck_assert_int_gt(size, 0);
	program[size] = '\0';
	*strrchr(program, '/') = '\0';
	ck_assert_msg(
	    registry_load(
		arena_printf(arena, "%s/plugins/%s.so", program, name), &error) == 0,
	    "%s", error);
	use = registry_use(
	    arena, name, value_get(lua->settings, "settings"), &path, &error);
	ck_assert_msg(use != NULL, "%s %s: %s", name, path, error);
	return use;
}

static const struct play_case {
	const char *name;
	enum hook hook;
	const char *request; /* state and messages of a node hook; of a call: all of it */
	const char *outcomes[4];
	const char *said;  /* the update of a node hook; the answer of a call */
	const char *seen;  /* what the model saw of the field, or NULL */
	const char *field; /* of play.seen */
	const char *notes; /* or NULL */
} cases[] = {
	{ "early_exit", HOOK_BEFORE_MODEL, "{'messages': [{}, {}]}", { NULL }, "null",
	    NULL, NULL, NULL },
	{ "early_exit", HOOK_BEFORE_MODEL, "{'messages': [{}, {}, {}]}", { NULL },
	    "{'messages': [{'type': 'ai', 'content': 'This conversation is too long: "
	    "please "
	    "begin a new one.'}], 'jump_to': 'end'}",
	    NULL, NULL, NULL },
	{ "logging", HOOK_BEFORE_MODEL, "{'messages': [{}, {}]}", { NULL }, "null", NULL,
	    NULL, "[{'middleware': 'logging', 'text': 'asking the model: 2 messages'}]" },
	{ "logging", HOOK_AFTER_MODEL,
	    "{'messages': [{'type': 'ai', 'content': 'Hm.', 'tool_calls': [{}]}]}",
	    { NULL }, "null", NULL, NULL,
	    "[{'middleware': 'logging', 'text': 'the model says \\\"Hm.\\\" and calls 1 "
	    "tools'}]" },
	{ "call_tracker", HOOK_BEFORE_MODEL, "{'tracked_calls': 1}", { NULL }, "null",
	    NULL, NULL, NULL },
	{ "call_tracker", HOOK_BEFORE_MODEL, "{'tracked_calls': 2}", { NULL },
	    "{'messages': [{'type': 'ai', 'content': 'I have been asked often "
	    "enough.'}], "
	    "'jump_to': 'end'}",
	    NULL, NULL, NULL },
	{ "call_tracker", HOOK_AFTER_MODEL, "{}", { NULL }, "{'tracked_calls': 1}", NULL,
	    NULL, NULL },
	{ "cached_response", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [{'type': 'human', 'content': 'q'}], 'state': "
	    "{'cached_answers': {}}}",
	    { "a" }, "a", NULL, NULL, NULL },
	{ "cached_response", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [{'type': 'human', 'content': 'q'}], 'state': "
	    "{'cached_answers': {'q': 'known'}}}",
	    { "!ValueError never asked" }, "known", NULL, NULL, NULL },
	{ "cached_response", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [{'type': 'tool', 'content': 'q'}], 'state': "
	    "{'cached_answers': {'q': 'known'}}}",
	    { "asked" }, "asked", NULL, NULL, NULL },
	{ "retry", HOOK_WRAP_MODEL_CALL, "{'messages': []}",
	    { "!RateLimitError slow", "!TimeoutError late", "ok" }, "ok", NULL, NULL,
	    "[{'middleware': 'retry', 'text': 'attempt 1 failed: RateLimitError'}, "
	    "{'middleware': 'retry', 'text': 'attempt 2 failed: TimeoutError'}]" },
	{ "retry", HOOK_WRAP_MODEL_CALL, "{'messages': []}",
	    { "!TimeoutError 1", "!TimeoutError 2", "!TimeoutError 3" },
	    "fault: TimeoutError: 3", NULL, NULL, NULL },
	{ "retry", HOOK_WRAP_MODEL_CALL, "{'messages': []}", { "!BadRequestError no" },
	    "fault: BadRequestError: no", NULL, NULL, NULL },
	{ "fallback", HOOK_WRAP_MODEL_CALL, "{'messages': []}",
	    { "!InternalServerError broken", "second" }, "second", "'scripted:second'",
	    "model",
	    "[{'middleware': 'fallback', 'text': 'm:x failed (InternalServerError): "
	    "asking "
	    "scripted:second'}]" },
	{ "fallback", HOOK_WRAP_MODEL_CALL, "{'messages': []}", { "first" }, "first",
	    "'m:x'", "model", NULL },
	{ "transform", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [{'type': 'human', 'content': 'My card 123456789012 of "
	    "2024.'}, "
	    "{'type': 'ai', 'content': '123456789012'}]}",
	    { "Seen." }, "Seen. -- your bank",
	    "[{'type': 'human', 'content': 'My card [number] of 2024.'}, {'type': 'ai', "
	    "'content': '123456789012'}]",
	    "messages", NULL },
	{ "prompt_for_user", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [], 'context': {'role': 'expert'}}", { "x" }, "x",
	    "'You are a helpful assistant. Go into technical detail.'", "system", NULL },
	{ "prompt_for_user", HOOK_WRAP_MODEL_CALL,
	    "{'messages': [], 'context': {'role': 'beginner'}}", { "x" }, "x",
	    "'You are a helpful assistant. Explain simply, and avoid jargon.'", "system",
	    NULL },
	{ "prompt_for_user", HOOK_WRAP_MODEL_CALL, "{'messages': []}", { "x" }, "x",
	    "'You are a helpful assistant.'", "system", NULL },
	{ "latency", HOOK_WRAP_MODEL_CALL, "{'messages': []}", { "x" }, "x", NULL, NULL,
	    NULL },
	{ "latency", HOOK_WRAP_MODEL_CALL, "{'messages': []}", { "!TimeoutError late" },
	    "fault: TimeoutError: late", NULL, NULL, NULL },
	{ "latency", HOOK_WRAP_TOOL_CALL,
	    "{'tool_call': {'name': 'add', 'id': 'c', 'args': {'a': 3}}, 'tool': "
	    "{'name': "
	    "'add'}}",
	    { NULL }, "3", NULL, NULL, NULL },
};

static bool
is_node(enum hook hook)
{
	return hook < HOOK_MODIFY_MODEL_REQUEST;
}

static void
check_node(const struct play_case *play, const struct middleware_use *use)
{
	const struct value *all = literal(arena, play->request), *update, *messages;
	struct turn turn = { .arena = arena,
		.use = use,
		.messages = value_get(all, "messages"),
		.state = all };
	const char *error;

	update = chain_node_hook(&turn, play->hook);
	ck_assert_ptr_null(turn.fault);
	messages = value_get(update, "messages");
	if (messages != NULL) {
		messages = chat_normalise(arena, messages, &error);
		ck_assert_msg(messages != NULL, "%s", error);
		update = value_map_with(arena, update, "messages", messages);
	}
	ck_assert_value(arena, update == NULL ? value_nil() : update, play->said);
	if (play->notes != NULL)
		ck_assert_value(arena, value_list_end(&turn.notes), play->notes);
}

static void
check_call(const struct play_case *one, const struct middleware_use *use)
{
	struct play play = { .arena = arena };
	const struct chain *chain = stub_chain(arena, use, NULL);
	const struct value *body;

	play.profile = literal(arena, "{'model': 'm:x', 'tools': ['add']}");
	play.request = literal(arena, one->request);
	memcpy(play.outcomes, one->outcomes, sizeof one->outcomes);
	body = one->hook == HOOK_WRAP_TOOL_CALL ? play_tool(&play, chain)
						: play_model(&play, chain);
	ck_assert_str_eq(stub_outcome(arena, body), one->said);
	if (one->seen != NULL)
		ck_assert_value(arena, value_get(play.seen, one->field), one->seen);
	if (one->notes != NULL)
		ck_assert_value(arena, value_get(body, "notes"), one->notes);
	if (strcmp(one->name, "latency") == 0)
		ck_assert_ptr_nonnull(
		    strstr(value_get_text(value_at(value_get(body, "notes"), 0), "text"),
			" took "));
}

struct player {
	struct loop *loop;
	const struct play_case *one;
	bool in_c;
};

/* On a fiber: some of them wait. */
static void
play_one(void *arg)
{
	const struct player *player = arg;
	const struct play_case *one = player->one;
	const struct middleware_use *use = lua_use_of(one->name);

	if (player->in_c)
		use = c_use_of(one->name, use);
	ck_assert(use->hooks[one->hook]);
	ck_assert_str_eq(use->name, one->name);
	if (is_node(one->hook))
		check_node(one, use);
	else
		check_call(one, use);
	loop_stop(player->loop);
}

START_TEST(c_and_lua_do_the_same)
{
	struct player player = {
		.loop = loop_new(), .one = &cases[_i / 2], .in_c = _i % 2 == 1
	};

	ck_assert_ptr_nonnull(fiber_start(player.loop, "play", play_one, &player));
	loop_run(player.loop);
	loop_destroy(&player.loop);
}
END_TEST

/* What a cached answer leaves in the state is the same, too. */
START_TEST(the_cache_is_filled_alike)
{
	const struct middleware_use *lua = lua_use_of("cached_response");
	const struct middleware_use *uses[] = { lua, c_use_of("cached_response", lua) };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct play play = { .arena = arena, .outcomes = { "a" } };

		play.profile = literal(arena, "{'model': 'm:x'}");
		play.request = literal(arena,
		    "{'messages': [{'type': 'human', 'content': 'q'}], 'state': "
		    "{'cached_answers': {}}}");
		ck_assert_value(arena,
		    value_get(
			play_model(&play, stub_chain(arena, uses[i], NULL)), "updates"),
		    "[{'cached_answers': {'q': 'a'}}]");
		ck_assert_uint_eq(uses[i]->field_count, 1);
		ck_assert_value(arena, uses[i]->reads, "['cached_answers']");
		ck_assert(uses[i]->fields[0].reducer == REDUCE_MERGE);
	}
}
END_TEST

TCase *tcase_middleware_examples(void);
TCase *
tcase_middleware_examples(void)
{
	TCase *tcase = tcase_create("middleware_examples");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(
	    tcase, c_and_lua_do_the_same, 0, 2 * (int)(sizeof cases / sizeof *cases));
	tcase_add_test(tcase, the_cache_is_filled_alike);
	return tcase;
}
