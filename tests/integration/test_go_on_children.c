/* The subagents of who goes on behind a failure, when it fails again, was taken over, or something of it is deleted meanwhile. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"
#include "redis.h"
#include "store_runs.h"

TCase *tcase_go_on_children(void);

#define WAIT_MS 60000u
#define CHILD "r1-2-0-1"

#define AGENT(name, tools, script)                                                       \
	"name: " name "\nmodel: scripted:m\ntool_errors: raise\n"                        \
	"middleware: [{subagent: {general_purpose_agent: false, subagents: "             \
	"[{name: helper, description: helps, model: 'scripted:helper', tools: "          \
	"[" tools "]}]}}]\ntools: [break]\n"                                             \
	"script:\n  m:\n    - tool_calls: [{id: a, name: task, args: {description: "     \
	"do it, subagent_type: helper}}, {id: b, name: break, args: {}}]\n"              \
	"    - content: All is done.\n"                                                  \
	"  helper:\n"                                                                    \
	"    - tool_calls: [{id: c, name: note, args: {text: helped}}]\n" script         \
	"    - content: I have helped.\n"
#define LINGER "    - tool_calls: [{id: d, name: linger, args: {}}]\n"

static const char leads[] = AGENT("leads", "note, linger", LINGER);
/* Their helper begins when somebody serves late. */
static const char hires[] = AGENT("hires", "note, late", "");
static const char relays[] = AGENT("relays", "note, linger, late", LINGER);

/* Its helper fails the first time, which the call's wrap takes for no end. */
static const char insists[] =
    "name: helps\nmodel: scripted:helper\ntool_errors: raise\n"
    "tools: [trip, note, linger]\n"
    "script:\n  helper:\n"
    "    - tool_calls: [{id: c, name: trip, args: {}}]\n"
    "    - tool_calls: [{id: e, name: note, args: {text: helped}}]\n" LINGER
    "    - content: I have helped.\n"
    "---\n"
    "name: insists\nmodel: scripted:m\ntool_errors: raise\n"
    "middleware:\n"
    "  - tool_retry: {tools: [task], max_retries: 3, retry_on: [Exception], "
    "initial_delay: 0}\n"
    "  - subagent: {general_purpose_agent: false, subagents: [{name: helper, "
    "description: helps, agent: helps}]}\n"
    "tools: [break]\n"
    "script:\n  m:\n    - tool_calls: [{id: a, name: task, args: {description: "
    "do it, subagent_type: helper}}, {id: b, name: break, args: {}}]\n"
    "    - content: All is done.\n";

/* Its helper asks, and needs late whenever it goes on. */
#define PAYS(calls)                                                                      \
	"name: patient\nmodel: scripted:m\ntools: [pay, late]\n"                         \
	"script: {m: [" calls ", {content: It is paid.}]}\n"                             \
	"---\n"                                                                          \
	"name: leads\nmodel: scripted:m\ntool_errors: raise\n"                           \
	"middleware: [{subagent: {general_purpose_agent: false, subagents: [{name: "     \
	"helper, description: helps, agent: patient}]}}]\n"                              \
	"script: {m: [{tool_calls: [{id: a, name: task, args: {description: do it, "     \
	"subagent_type: helper}}]}, {content: All is done.}]}\n"

static const char trip[] = "name: trip\n"
			   "description: fails once\n"
			   "input: none\n"
			   "command: 'if rm %s; then exit 1; fi; echo fine'\n";

static const char late[] = "name: late\n"
			   "description: comes late\n"
			   "input: none\n"
			   "command: echo late\n";

/* --- what is there, what is done ------------------------------------------------------ */

static void
serve_late(struct scene *scene)
{
	kit_flag(
	    scene->kit, KIT_TOOLS, "--tools", kit_write(scene->kit, "late.yaml", late));
	kit_start(scene->kit, KIT_TOOLS, 1);
}

/* And no coordinator knows late any more, or waits for it. */
static void
serve_late_no_more(struct scene *scene)
{
	kit_stop(scene->kit, KIT_TOOLS, 1);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_flag(scene->kit, KIT_COORDINATOR, "--served-wait-ms", "1000");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
}

/* The child that was to take the answer fails in front of it: nobody serves late. */
static void
play_untaken(struct scene *scene)
{
	const struct value *record;

	serve_late(scene);
	record = ask_run(scene, "leads", "r1", "t", "input", "\"hi\"");
	ask_check_status(scene, record, "interrupted");
	serve_late_no_more(scene);
	ask_check_status(
	    scene, ask_run(scene, "leads", "r2", "t", "resume", "\"yes\""), "error");
	ask_check_lines(scene, "pay", 1);
	/* And again: it is not forgotten by a second failure. */
	ask_go_on(scene, "leads", "again", "error");
	kit_start(scene->kit, KIT_TOOLS, 1);
	ask_go_on(scene, "leads", "r3", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=It is paid.;");
	ask_check_lines(scene, "pay", 2);
}

START_TEST(a_subagent_is_given_what_it_was_answered_and_had_not_taken)
{
	ask_act_with(
	    play_untaken, PAYS("{tool_calls: [{id: c, name: pay, args: {amount: 3}}]}"));
}
END_TEST

/* A human goes on with the subagent's thread himself meanwhile: it asks something else there. */
static void
play_overtaken(struct scene *scene)
{
	const struct value *record;
	const char *thread;

	serve_late(scene);
	record = ask_run(scene, "leads", "r1", "t", "input", "\"hi\"");
	ask_check_status(scene, record, "interrupted");
	thread = value_get_text(ask_interrupt_of(record, 0), "run");
	serve_late_no_more(scene);
	ask_check_status(
	    scene, ask_run(scene, "leads", "r2", "t", "resume", "\"yes\""), "error");
	kit_start(scene->kit, KIT_TOOLS, 1);
	ask_check_status(scene,
	    ask_run(scene, "patient", "own", thread, "resume", "\"yes\""), "interrupted");
	ask_go_on(scene, "leads", "r3", "interrupted");
	ask_check_status(
	    scene, ask_run(scene, "leads", "r4", "t", "resume", "\"yes\""), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=It is paid.;");
}

START_TEST(a_subagent_that_asks_anew_is_not_given_an_old_answer)
{
	ask_act_with(play_overtaken, PAYS("{tool_calls: [{id: c, name: pay, args: "
					  "{amount: 3}}]}, {tool_calls: [{id: d, name: "
					  "pay, args: {amount: 4}}]}"));
}
END_TEST

/* Nobody finds r1's children to cancel them: what they do goes on. */
static void
spare_children(struct scene *scene)
{
	ask_redis(scene, "DEL", "r:r1:k");
}

static bool
is_claimed(void *arg)
{
	struct scene *scene = arg;
	const struct value *record = NULL;

	return store_run(scene->client->store, scene->arena, CHILD, CHILD, &record) ==
		   STORE_OK &&
	       value_text_is(value_get(record, "status"), "running");
}

/* The helper of r1 waits for late, and has written nothing to its thread. */
static void
begin_late(struct scene *scene, const char *agent)
{
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_flag(scene->kit, KIT_COORDINATOR, "--served-wait-ms", "600000");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ask_begin(scene, agent);
	ck_assert(client_wait(scene->client, is_claimed, scene, WAIT_MS));
}

/* The second run fails while it waits for what the first one has left at work. */
static void
play_twice(struct scene *scene)
{
	ask_begin(scene, "leads");
	ask_wait_lines(scene, "linger", 1);
	spare_children(scene);
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	ask_go_on(scene, "leads", "again", "error");
	unlink(scene->broken);
	unlink(scene->hold);
	ask_go_on(scene, "leads", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
	ask_check_lines(scene, "linger", 1);
	ask_check_lines(scene, "break", 3);
}

START_TEST(a_subagent_that_is_waited_for_is_kept_by_the_next_failure)
{
	ask_act_with(play_twice, leads);
}
END_TEST

static void
play_not_begun(struct scene *scene)
{
	begin_late(scene, "hires");
	spare_children(scene);
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	unlink(scene->broken);
	ask_submit(scene, "hires", "r2", "t", "resume", "null");
	ask_wait_lines(scene, "break", 2);
	serve_late(scene);
	ask_check_end(scene, "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
}

START_TEST(a_subagent_that_had_not_begun_begins_once)
{
	ask_act_with(play_not_begun, hires);
}
END_TEST

/* Whoever looks for r1's helper finds a thread that nobody has begun. */
static void
forget_child(struct scene *scene)
{
	const struct value *reply;

	ck_assert_int_eq(redis_text(scene->client->redis, scene->arena, WAIT_MS, &reply,
			     "DEL", store_thread_key(scene->arena, CHILD), NULL),
	    REDIS_OK);
}

/* Has the end of r1's helper in Redis, or not. Who waits for it then waits. */
static void
end_child(struct scene *scene, const char *verb, const char *ended)
{
	const struct value *reply;

	ck_assert_int_eq(
	    redis_text(scene->client->redis, scene->arena, WAIT_MS, &reply, verb,
		store_run_key(scene->arena, CHILD, CHILD), "ended", ended, NULL),
	    REDIS_OK);
}

/* r2 has begun another one, and is taken over by who finds that it has failed before all else. */
static void
play_begun_anew(struct scene *scene)
{
	begin_late(scene, "relays");
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	ask_check_status(scene, ask_wait_end(scene, CHILD, CHILD), "cancelled");
	forget_child(scene);
	ask_put(scene->wait);
	serve_late(scene);
	ask_submit(scene, "relays", "r2", "t", "resume", "null");
	ask_wait_lines(scene, "linger", 1);
	ask_wait_lines(scene, "break", 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	end_child(scene, "HDEL", NULL);
	ask_store_failure(scene, "r2", "r2.3.1");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ask_check_end(scene, "r2", "error");
	end_child(scene, "HSET", "1");
	unlink(scene->wait);
	unlink(scene->broken);
	unlink(scene->hold);
	ask_go_on(scene, "relays", "r3", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
}

START_TEST(a_subagent_that_a_dead_coordinator_had_begun_is_gone_on_with)
{
	ask_act_with(play_begun_anew, relays);
}
END_TEST

/* The first helper's failure is the call's past: the second goes on, and not the first. */
static void
play_absorbed(struct scene *scene)
{
	const char *first = kit_write(scene->kit, "first", "");

	kit_flag(scene->kit, KIT_TOOLS, "--tools",
	    kit_write(scene->kit, "trip.yaml", arena_printf(scene->arena, trip, first)));
	kit_start(scene->kit, KIT_TOOLS, 1);
	ask_begin(scene, "insists");
	ask_wait_lines(scene, "linger", 1);
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	unlink(scene->broken);
	unlink(scene->hold);
	ask_go_on(scene, "insists", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
}

START_TEST(a_subagent_behind_a_failure_that_was_absorbed_is_gone_on_with)
{
	ask_act_with(play_absorbed, insists);
}
END_TEST

static bool
is_forgotten(void *arg)
{
	struct scene *scene = arg;
	const char *answer = NULL;

	return store_forget_run(scene->client->store, scene->arena, "t", "r1", &answer) ==
		   STORE_OK &&
	       strcmp(answer, "FORGOTTEN") == 0;
}

static bool
is_swept(void *arg)
{
	return ask_redis(arg, "HLEN", "forgotten")->integer == 0;
}

static void
play_deleted(struct scene *scene)
{
	ask_begin(scene, "leads");
	ask_wait_lines(scene, "linger", 1);
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	ask_check_status(scene, ask_wait_end(scene, CHILD, CHILD), "cancelled");
	ck_assert(client_wait(scene->client, is_forgotten, scene, WAIT_MS));
	ck_assert(client_wait(scene->client, is_swept, scene, WAIT_MS));
	unlink(scene->broken);
	unlink(scene->hold);
	ask_go_on(scene, "leads", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
	ask_check_lines(scene, "linger", 1);
}

START_TEST(a_run_that_is_deleted_leaves_what_its_thread_needs)
{
	ask_act_with(play_deleted, leads);
}
END_TEST

TCase *
tcase_go_on_children(void)
{
	TCase *tcase = tcase_create("go_on_children");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, a_subagent_that_is_waited_for_is_kept_by_the_next_failure);
	tcase_add_test(tcase, a_subagent_that_had_not_begun_begins_once);
	tcase_add_test(tcase, a_subagent_is_given_what_it_was_answered_and_had_not_taken);
	tcase_add_test(tcase, a_subagent_that_asks_anew_is_not_given_an_old_answer);
	tcase_add_test(
	    tcase, a_subagent_that_a_dead_coordinator_had_begun_is_gone_on_with);
	tcase_add_test(
	    tcase, a_subagent_behind_a_failure_that_was_absorbed_is_gone_on_with);
	tcase_add_test(tcase, a_run_that_is_deleted_leaves_what_its_thread_needs);
	return tcase;
}
