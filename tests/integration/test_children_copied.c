/* Agents that ask while they work for another one, whose thread is put back, or copied: their threads are copied, and the copies
 * asked. */
#include <check.h>
#include <unistd.h>

#include "ask_bench.h"
#include "literal.h"
#include "redis.h"

TCase *tcase_children_copied(void);

#define WAIT_MS 60000u

#define TASK "{id: a, name: task, args: {description: do it, subagent_type: buyer}}"
/* clang-format off */
#define MANAGER(more, calls)                                                             \
    "name: manager\n"                                                                    \
    "model: scripted:m\n"                                                                \
    "middleware:\n"                                                                      \
    "  - subagent:\n"                                                                    \
    "      general_purpose_agent: false\n"                                               \
    "      subagents: [{name: buyer, description: buys, model: 'scripted:buyer', " more "}]\n" \
    "script:\n"                                                                          \
    "  buyer:\n"                                                                         \
    calls                                                                                \
    "    - tool_calls: [{id: p, name: pay, args: {amount: 3}}]\n"                        \
    "    - content: It is bought.\n"                                                     \
    "  m:\n"                                                                             \
    "    - tool_calls: [" TASK "]\n"                                                     \
    "    - content: All is done.\n"
/* clang-format on */
static const char buys[] = MANAGER("tools: [pay]", "");
/* Asks before it pays, and in front of both calls. */
static const char steps[] = MANAGER("tools: [note, pay], interrupt_before: [tools]",
    "    - tool_calls: [{id: n, name: note, args: {text: kept}}]\n");

static void
check_asked(struct scene *scene, const struct value *record)
{
	ask_check_status(scene, record, "interrupted");
	ck_assert_uint_eq(value_size(value_get(record, "interrupts")), 1);
}

/* The thread is put back by a run that comes to nothing, or by two; the subagent has had its answer. */
static void
play_put_back(struct scene *scene)
{
	check_asked(scene, ask_run(scene, "manager", "r1", "t", "input", "\"hi\""));
	ask_put(scene->hold);
	ask_submit(scene, "manager", "r2", "t", "resume", "\"yes\"");
	ask_wait_lines(scene, "pay", 2);
	ask_put_back(scene, "r2");
	unlink(scene->hold);
	ask_check_refused(scene, "manager", "r3", "t", "null", "null is none");
	ask_check_refused(scene, "manager", "r4", "t", "null", "null is none");
	ask_check_status(
	    scene, ask_run(scene, "manager", "r5", "t", "resume", "\"yes\""), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=It is bought.;");
}

START_TEST(what_is_put_back_by_a_run_that_fails_can_still_be_answered)
{
	ask_act_with(play_put_back, buys);
}
END_TEST

/* rc copies t to u. */
static void
copy(struct scene *scene)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, "manager"), "run",
		value_str(arena, "rc"), "thread", value_str(arena, "u"), "copy_of",
		value_str(arena, "t"), NULL));
	ask_check_status(scene, ask_wait_end(scene, "rc", "u"), "success");
}

/* As if who had copied what the subagent asks had died with that: there is nothing else of rc. */
static void
undo_copy(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *reply = NULL;
	struct store_pruned pruned;

	ck_assert_int_eq(
	    redis_text(scene->client->redis, arena, WAIT_MS, &reply, "DEL",
		arena_printf(arena, "%sr:rc:k", store_prefix(arena, store_shard("u"))),
		NULL),
	    REDIS_OK);
	ck_assert_int_eq(reply->integer, 1);
	ck_assert_int_eq(
	    store_erase(scene->client->store, arena, "u", true, &pruned), STORE_OK);
}

/* Who takes the copying over finds the subagent at its next question. */
static void
play_taken_over(struct scene *scene)
{
	const struct value *record;

	check_asked(scene, ask_run(scene, "manager", "r1", "t", "input", "\"hi\""));
	copy(scene);
	undo_copy(scene);
	check_asked(scene, ask_run(scene, "manager", "r2", "t", "resume", "true"));
	ask_check_lines(scene, "kept", 1);
	copy(scene);
	record = ask_run(scene, "manager", "r3", "u", "resume", "true");
	check_asked(scene, record);
	ck_assert_value(
	    scene->arena, value_get(ask_interrupt_of(record, 0), "value"), "{'pay': 3}");
	ask_check_lines(scene, "kept", 1);
}

START_TEST(what_was_copied_before_the_thread_went_on_is_not_asked)
{
	ask_act_with(play_taken_over, steps);
}
END_TEST

TCase *
tcase_children_copied(void)
{
	TCase *tcase = tcase_create("children_copied");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_is_put_back_by_a_run_that_fails_can_still_be_answered);
	tcase_add_test(tcase, what_was_copied_before_the_thread_went_on_is_not_asked);
	return tcase;
}
