#include <check.h>
#include <string.h>

#include "fiber.h"
#include "hook_stub.h"
#include "literal.h"

/* Interface under test */
#include "chain.h"

static struct arena *arena;
static struct turn turn;

static void
setup(void)
{
	arena = arena_new();
	turn = (struct turn){ .arena = arena,
		.messages = literal(arena, "[{'type': 'human', 'content': '?'}]"),
		.state = literal(arena, "{'count': 2}"),
		.context = literal(arena, "{'user': 'u'}"),
		.run = "r",
		.thread = "t",
		.agent = "helper" };
}

static void
teardown(void)
{
	arena_destroy(&arena);
}

typedef const struct value *node_hook(struct turn *own);

/* Runs hook as the before_model of a middleware named "A". */
static const struct value *
run(node_hook *hook)
{
	struct middleware *type = arena_alloc(arena, sizeof *type);
	struct middleware_use *use = arena_alloc(arena, sizeof *use);

	type->before_model = hook;
	use->type = type;
	use->name = "A";
	use->settings = literal(arena, "{'limit': 5}");
	use->hooks[HOOK_BEFORE_MODEL] = true;
	turn.use = use;
	return chain_node_hook(&turn, HOOK_BEFORE_MODEL);
}

static const struct value *
look(struct turn *own)
{
	ck_assert_ptr_eq(turn_arena(own), arena);
	ck_assert_value(arena, turn_settings(own), "{'limit': 5}");
	ck_assert_uint_eq(value_size(turn_messages(own)), 1);
	ck_assert_value(arena, turn_get(own, "count"), "2");
	ck_assert_ptr_null(turn_get(own, "other"));
	ck_assert_value(arena, turn_state(own),
	    "{'count': 2, 'messages': [{'type': 'human', 'content': '?'}]}");
	ck_assert_value(arena, turn_context(own), "{'user': 'u'}");
	ck_assert_str_eq(turn_run(own), "r");
	ck_assert_str_eq(turn_thread(own), "t");
	ck_assert_str_eq(turn_agent(own), "helper");
	ck_assert_str_eq(turn_middleware(own), "A");
	return literal(arena, "{'count': 3, 'jump_to': 'end'}");
}

START_TEST(a_node_hook_sees_the_run_and_returns_an_update)
{
	ck_assert_value(arena, run(look), "{'count': 3, 'jump_to': 'end'}");
	ck_assert_ptr_null(turn.fault);
}
END_TEST

static const struct value *
nothing(struct turn *own)
{
	(void)own;
	return NULL;
}

static const struct value *
nil(struct turn *own)
{
	(void)own;
	return value_nil();
}

START_TEST(no_update_is_no_failure)
{
	turn.fault = fault_new(arena, "OSError", "of the hook before");
	ck_assert_ptr_null(run(nothing));
	ck_assert_ptr_null(turn.fault);
	ck_assert_ptr_null(run(nil));
	ck_assert_ptr_null(turn.fault);
}
END_TEST

static const struct value *
give_up(struct turn *own)
{
	return turn_fail(own, "ModelCallLimitExceededError", "%d of %d calls", 3, 2);
}

static const struct value *
fail_and_update(struct turn *own)
{
	turn_fail(own, "ValueError", "x");
	return literal(arena, "{'count': 9}");
}

START_TEST(a_hook_ends_the_run_with_its_failure)
{
	ck_assert_ptr_null(run(give_up));
	ck_assert_str_eq(turn.fault->type, "ModelCallLimitExceededError");
	ck_assert_str_eq(turn.fault->message, "3 of 2 calls");
	ck_assert(turn.fault->fatal);
	ck_assert_ptr_null(run(fail_and_update));
	ck_assert_str_eq(turn.fault->type, "ValueError");
}
END_TEST

static const struct value *
list(struct turn *own)
{
	(void)own;
	return literal(arena, "[1]");
}

START_TEST(an_update_that_is_no_map_names_its_hook)
{
	ck_assert_ptr_null(run(list));
	ck_assert_str_eq(turn.fault->type, "InvalidUpdateError");
	ck_assert_str_eq(
	    turn.fault->message, "A.before_model gave an update that is not a map");
}
END_TEST

/* --- models ------------------------------------------------------------------------- */

static const struct value *answer;

static const struct value *
answer_call(struct turn *own, const struct value *request)
{
	(void)own;
	ck_assert_value(arena, request, "{'messages': ['hi']}");
	return answer;
}

static const struct value *
ask(struct turn *own)
{
	const struct value *body =
	    turn_call_model(own, literal(arena, "{'messages': ['hi']}"));

	return value_map(
	    arena, "said", value_str(arena, stub_outcome(arena, body)), NULL);
}

START_TEST(a_hook_asks_a_model)
{
	turn.call_model = answer_call;
	answer = literal(arena, "{'messages': [{'type': 'ai', 'content': 'hello'}]}");
	ck_assert_value(arena, run(ask), "{'said': 'hello'}");
	answer = literal(arena, "{'fault': {'type': 'APIError', 'message': 'x'}}");
	ck_assert_value(arena, run(ask), "{'said': 'fault: APIError: x'}");
	ck_assert_ptr_null(turn.fault);
}
END_TEST

static const struct value *
ask_unheard(struct turn *own)
{
	ck_assert_ptr_null(turn_call_model(own, literal(arena, "{'messages': ['hi']}")));
	return literal(arena, "{'count': 1}");
}

START_TEST(a_call_cut_short_by_cancellation_ends_the_run_so)
{
	turn.call_model = answer_call;
	answer = NULL;
	ck_assert_ptr_null(run(ask_unheard));
	ck_assert_str_eq(turn.fault->type, "CancelledError");
	ck_assert(turn.fault->control);
}
END_TEST

static struct loop *loop;
static struct timer *timer;
static bool done;

static void
cancel(void *arg)
{
	fiber_cancel(arg);
}

static const struct value *
sleep_long(struct turn *own)
{
	timer = timer_start(loop, 1, 0, cancel, fiber_current());
	ck_assert_int_eq(hook_sleep(3600000), -1);
	return turn_fail(own, "ValueError", "woken too early");
}

static void
run_on_fiber(void *arg)
{
	(void)arg;
	ck_assert_int_eq(hook_sleep(0), 0);
	ck_assert_ptr_null(run(sleep_long));
	done = true;
}

static bool
is_done(void *arg)
{
	(void)arg;
	return done && fiber_count(loop) == 0;
}

START_TEST(cancellation_wakes_a_sleeping_hook_and_wins)
{
	loop = loop_new();
	ck_assert_ptr_nonnull(fiber_start(loop, "hook", run_on_fiber, NULL));
	loop_run_until(loop, is_done, NULL);
	timer_stop(&timer);
	loop_destroy(&loop);
	ck_assert_str_eq(turn.fault->type, "CancelledError");
}
END_TEST

/* --- names -------------------------------------------------------------------------- */

START_TEST(hooks_and_jumps_have_names)
{
	ck_assert_str_eq(hook_name(HOOK_BEFORE_AGENT), "before_agent");
	ck_assert_str_eq(hook_name(HOOK_BEFORE_MODEL), "before_model");
	ck_assert_str_eq(hook_name(HOOK_AFTER_MODEL), "after_model");
	ck_assert_str_eq(hook_name(HOOK_AFTER_AGENT), "after_agent");
	ck_assert_str_eq(hook_name(HOOK_MODIFY_MODEL_REQUEST), "modify_model_request");
	ck_assert_str_eq(hook_name(HOOK_WRAP_MODEL_CALL), "wrap_model_call");
	ck_assert_str_eq(hook_name(HOOK_WRAP_TOOL_CALL), "wrap_tool_call");
	ck_assert_int_eq(jump_from_name("model"), JUMP_MODEL);
	ck_assert_int_eq(jump_from_name("tools"), JUMP_TOOLS);
	ck_assert_int_eq(jump_from_name("end"), JUMP_END);
	ck_assert_int_eq(jump_from_name("__end__"), JUMP_END);
	ck_assert_int_eq(jump_from_name("moon"), JUMP_NONE);
	ck_assert_int_eq(jump_from_name(NULL), JUMP_NONE);
	ck_assert_str_eq(jump_name(JUMP_END), "end");
	ck_assert_str_eq(jump_name(JUMP_TOOLS), "tools");
	ck_assert_str_eq(jump_name(JUMP_MODEL), "model");
}
END_TEST

TCase *tcase_chain_node(void);
TCase *
tcase_chain_node(void)
{
	TCase *tcase = tcase_create("chain_node");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_node_hook_sees_the_run_and_returns_an_update);
	tcase_add_test(tcase, no_update_is_no_failure);
	tcase_add_test(tcase, a_hook_ends_the_run_with_its_failure);
	tcase_add_test(tcase, an_update_that_is_no_map_names_its_hook);
	tcase_add_test(tcase, a_hook_asks_a_model);
	tcase_add_test(tcase, a_call_cut_short_by_cancellation_ends_the_run_so);
	tcase_add_test(tcase, cancellation_wakes_a_sleeping_hook_and_wins);
	tcase_add_test(tcase, hooks_and_jumps_have_names);
	return tcase;
}
