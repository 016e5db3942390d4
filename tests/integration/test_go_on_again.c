/* Who goes on behind a failure, when it fails again, was taken over, or something of it is deleted meanwhile. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"
#include "bounds.h"
#include "fault.h"
#include "fleet_up.h"
#include "json.h"
#include "redis.h"
#include "store_runs.h"

TCase *tcase_go_on_again(void);

#define WAIT_MS 60000u
#define CHILD "r1-2-0-1"

#define AGENT(name, more, calls)                                                         \
	"name: " name "\nmodel: scripted:m\n" more                                       \
	"script:\n  m:\n    - tool_calls: [" calls "]\n    - content: All is done.\n"
#define TASK "{id: a, name: task, args: {description: do it, subagent_type: helper}}"
#define BREAK "{id: b, name: break, args: {}}"
#define HELPED "    - tool_calls: [{id: c, name: note, args: {text: helped}}]\n"
#define RAISES "tool_errors: raise\n"
#define HELPER(tools)                                                                    \
	RAISES "middleware: [{subagent: {general_purpose_agent: false, subagents: "      \
	       "[{name: helper, description: helps, model: 'scripted:helper', tools: "   \
	       "[" tools "]}]}}]\ntools: [break]\n"

static const char leads[] = AGENT("leads", HELPER("note, linger"),
    TASK ", " BREAK) "  helper:\n" HELPED
		     "    - tool_calls: [{id: d, name: linger, args: {}}]\n"
		     "    - content: I have helped.\n";
static const char hires[] = AGENT("hires", HELPER("note, late"),
    TASK ", " BREAK) "  helper:\n" HELPED "    - content: I have helped.\n";
static const char stops[] =
    AGENT("stops", RAISES "tools: [note, break]\ninterrupt_before: [tools]\n",
	"{id: a, name: note, args: {text: once}}, " BREAK);
/* Its first call is the one that fails; concurrency: how many are under way at once. */
#define FAILS_FIRST(concurrency)                                                         \
	AGENT("hurries", RAISES concurrency "tools: [break, note, linger]\n",            \
	    "{id: b, name: break, args: {}}, {id: a, name: note, args: {text: once}}, "  \
	    "{id: c, name: linger, args: {}}")
static const char stubborn[] = AGENT("stubborn", RAISES "tools: [resist, break]\n",
    "{id: a, name: resist, args: {}}, " BREAK);

#define STRIKES(more, field)                                                             \
	AGENT("strikes",                                                                 \
	    more "middleware: [asks_human]\ntools: [strike]\nstate: {note: " field       \
		 "}\n",                                                                  \
	    "{id: a, name: strike, args: {}}, {id: b, name: command, args: {note: "      \
	    "[x]}}, {id: c, name: command, args: {note: [y]}}")

static const char more_tools[] = "name: late\n"
				 "description: comes late\n"
				 "input: none\n"
				 "command: echo late\n"
				 "---\n"
				 "name: strike\n"
				 "description: strikes once\n"
				 "idempotent: false\n"
				 "input: none\n"
				 "command: 'echo \"strike $FLOTILLA_IDEMPOTENCY_KEY\" >> "
				 "%s; exit 1'\n"
				 "---\n"
				 "name: resist\n"
				 "description: ends not before it must\n"
				 "grace_ms: 1000\n"
				 "input: none\n"
				 "command: |\n"
				 "  trap '' TERM\n"
				 "  echo \"resist $$\" >> %s\n"
				 "  await-file gone %s\n"
				 "  echo gone\n";

/* --- what is there, what is done ------------------------------------------------------ */

static void
put(const char *path)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fclose(file);
}

static void
check_lines(struct scene *scene, const char *what, size_t count)
{
	struct lines lines = ask_lines_of(scene, what);

	ck_assert_msg(lines.count == count && lines.same_key, "%zu of '%s'%s",
	    lines.count, what, lines.same_key ? "" : ", with other keys");
}

/* Somebody serves late, strike and resist from now on. */
static void
serve_more(struct scene *scene)
{
	kit_flag(scene->kit, KIT_TOOLS, "--tools",
	    kit_write(scene->kit, "more.yaml",
		arena_printf(scene->arena, more_tools, scene->ledger, scene->ledger,
		    scene->hold)));
	kit_start(scene->kit, KIT_TOOLS, 1);
}

static const struct value *
ask_redis(struct scene *scene, const char *verb, const char *rest)
{
	struct arena *arena = scene->arena;
	const struct value *reply = NULL;

	ck_assert_int_eq(
	    redis_text(scene->client->redis, arena, WAIT_MS, &reply, verb,
		arena_printf(arena, "%s%s", store_prefix(arena, store_shard("t")), rest),
		NULL),
	    REDIS_OK);
	return reply;
}

/* Nobody finds r1's children to cancel them: what they do goes on. */
static void
spare_children(struct scene *scene)
{
	ask_redis(scene, "DEL", "r:r1:k");
}

static void
begin(struct scene *scene, const char *agent)
{
	put(scene->hold);
	put(scene->wait);
	put(scene->broken);
	ask_submit(scene, agent, "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "break", 1);
}

static void
check_end(struct scene *scene, const char *run, const char *status)
{
	ask_check_status(scene, ask_wait_end(scene, run, "t"), status);
}

static void
go_on(struct scene *scene, const char *agent, const char *run, const char *status)
{
	ask_submit(scene, agent, run, "t", "resume", "null");
	check_end(scene, run, status);
}

/* --- subagents --------------------------------------------------------------------------- */

/* The second run fails while it waits for what the first one has left at work. */
static void
play_twice(struct scene *scene)
{
	begin(scene, "leads");
	ask_wait_lines(scene, "linger", 1);
	spare_children(scene);
	unlink(scene->wait);
	check_end(scene, "r1", "error");
	go_on(scene, "leads", "again", "error");
	unlink(scene->broken);
	unlink(scene->hold);
	go_on(scene, "leads", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	check_lines(scene, "helped", 1);
	check_lines(scene, "linger", 1);
	check_lines(scene, "break", 3);
}

START_TEST(a_subagent_that_is_waited_for_is_kept_by_the_next_failure)
{
	ask_act_with(play_twice, leads);
}
END_TEST

static bool
is_claimed(void *arg)
{
	struct scene *scene = arg;
	const struct value *record = NULL;

	return store_run(scene->client->store, scene->arena, CHILD, CHILD, &record) ==
		   STORE_OK &&
	       value_text_is(value_get(record, "status"), "running");
}

/* It waits for a tool that nobody serves when its parent fails, and has written nothing to its thread. */
static void
play_not_begun(struct scene *scene)
{
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_flag(scene->kit, KIT_COORDINATOR, "--served-wait-ms", "600000");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	begin(scene, "hires");
	ck_assert(client_wait(scene->client, is_claimed, scene, WAIT_MS));
	spare_children(scene);
	unlink(scene->wait);
	check_end(scene, "r1", "error");
	unlink(scene->broken);
	ask_submit(scene, "hires", "r2", "t", "resume", "null");
	ask_wait_lines(scene, "break", 2);
	serve_more(scene);
	check_end(scene, "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	check_lines(scene, "helped", 1);
}

START_TEST(a_subagent_that_had_not_begun_begins_once)
{
	ask_act_with(play_not_begun, hires);
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
	begin(scene, "leads");
	ask_wait_lines(scene, "linger", 1);
	unlink(scene->wait);
	check_end(scene, "r1", "error");
	ask_check_status(scene, ask_wait_end(scene, CHILD, CHILD), "cancelled");
	ck_assert(client_wait(scene->client, is_forgotten, scene, WAIT_MS));
	ck_assert(client_wait(scene->client, is_swept, scene, WAIT_MS));
	unlink(scene->broken);
	unlink(scene->hold);
	go_on(scene, "leads", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=I have helped.;b=mended;");
	check_lines(scene, "helped", 1);
	check_lines(scene, "linger", 1);
}

START_TEST(a_run_that_is_deleted_leaves_what_its_thread_needs)
{
	ask_act_with(play_deleted, leads);
}
END_TEST

/* --- calls ------------------------------------------------------------------------------- */

/* Its failure was told to the model, until the agent was changed: then the run that goes on ends with it, having sent nothing. */
static void
play_known(struct scene *scene)
{
	serve_more(scene);
	ask_check_status(
	    scene, ask_run(scene, "strikes", "r1", "t", "input", "\"hi\""), "error");
	kit_flotilla(scene->kit, "agents", "apply", "--plugin",
	    kit_built(scene->kit, "plugins/asks_human.so"),
	    kit_write(scene->kit, "changed.yaml",
		STRIKES(RAISES, "{type: array, reducer: append}")),
	    NULL);
	go_on(scene, "strikes", "again", "error");
	go_on(scene, "strikes", "r2", "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=Error: nobody knows whether this call of strike took effect: it failed "
	    "(ToolException"));
	check_lines(scene, "strike", 1);
}

START_TEST(what_must_not_run_twice_and_is_known_is_not_sent_again)
{
	ask_act_with(play_known, STRIKES("", "{type: array}"));
}
END_TEST

static void
play_resists(struct scene *scene)
{
	const struct value *record;

	serve_more(scene);
	begin(scene, "stubborn");
	ask_wait_lines(scene, "resist", 1);
	unlink(scene->wait);
	record = ask_wait_end(scene, "r1", "t");
	ask_check_status(scene, record, "error");
	if (value_has(record, "unconfirmed")) { /* so long it has waited for it */
		ck_assert_int_ge(value_get_int(record, "ended", 0) -
				     value_get_int(record, "started", 0),
		    (int64_t)CANCEL_WAIT_MS);
	} else {
		ck_assert(process_is_gone(ask_pid_of(scene, "resist")));
	}
	unlink(scene->broken);
	unlink(scene->hold);
	go_on(scene, "stubborn", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=gone;b=mended;");
}

START_TEST(what_a_failure_has_cut_off_is_over_when_that_is_told)
{
	ask_act_with(play_resists, stubborn);
}
END_TEST

/* --- calls whose turn does not come -------------------------------------------------------- */

static bool
is_stored(void *arg)
{
	return ask_redis(arg, "HLEN", "r:r1:w")->integer > 0;
}

/* As its coordinator would have, had it not died. */
static void
store_failure(struct scene *scene, const char *call)
{
	struct arena *arena = scene->arena;
	const char *key =
	    arena_printf(arena, "%sr:r1:w", store_prefix(arena, store_shard("t")));
	struct packet packet = { 0 };
	const struct value *reply;

	value_pack(&packet,
	    value_map(arena, "fault",
		fault_to_value(arena, fault_new(arena, "ValueError", "it is broken")),
		NULL));
	ck_assert_int_eq(
	    redis_call(scene->client->redis, arena, WAIT_MS,
		(const struct redis_arg[]){ { "HSET", 4 }, { key, strlen(key) },
		    { call, strlen(call) }, { packet.data, packet.size } },
		4, &reply),
	    REDIS_OK);
	packet_release(&packet);
}

/* The next one finds the failure at once, and all the same what the others have done, or do. */
static void
play_failed_before(struct scene *scene)
{
	begin(scene, "hurries");
	ask_wait_lines(scene, "linger", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	store_failure(scene, "r1.2.0");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	check_end(scene, "r1", "error");
	unlink(scene->wait);
	unlink(scene->broken);
	unlink(scene->hold);
	go_on(scene, "hurries", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "b=mended;a=noted;c=lingered;");
	check_lines(scene, "once", 1);
}

START_TEST(what_others_did_is_kept_where_a_failure_is_found)
{
	ask_act_with(play_failed_before, FAILS_FIRST(""));
}
END_TEST

/* One after the other, the first one fails once more. */
static void
play_one_by_one(struct scene *scene)
{
	begin(scene, "hurries");
	ask_wait_lines(scene, "linger", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	unlink(scene->wait);
	check_end(scene, "r1", "error");
	unlink(scene->hold);
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "changed.yaml", FAILS_FIRST("max_concurrency: 1\n")),
	    NULL);
	go_on(scene, "hurries", "again", "error");
	unlink(scene->broken);
	go_on(scene, "hurries", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "b=mended;a=noted;c=lingered;");
	check_lines(scene, "once", 1);
	check_lines(scene, "linger", 2);
}

START_TEST(what_had_ended_is_kept_though_its_turn_has_not_come)
{
	ask_act_with(play_one_by_one, FAILS_FIRST(""));
}
END_TEST

/* --- a fleet whose workers come last ------------------------------------------------------- */

static bool
is_taken_over(void *arg)
{
	struct scene *scene = arg;
	const struct value *record = NULL;

	return store_run(scene->client->store, scene->arena, "t", "r1", &record) ==
		   STORE_OK &&
	       (value_get_int(record, "attempts", 0) >= 2 || value_has(record, "ended"));
}

/* r1 is in its round, note has ended, break has not; then nobody is there but a new broker, and who takes over waits for no worker. */
static void
begin_stops(struct scene *scene)
{
	put(scene->wait);
	ask_check_status(
	    scene, ask_run(scene, "stops", "r0", "t", "input", "\"hi\""), "interrupted");
	ask_submit(scene, "stops", "r1", "t", "resume", "null");
	ask_wait_lines(scene, "break", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_TOOLS, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_flag(scene->kit, KIT_COORDINATOR, "--served-wait-ms", "0");
}

static void
play_workers_last(struct scene *scene)
{
	begin_stops(scene);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ck_assert(client_wait(scene->client, is_taken_over, scene, WAIT_MS));
	kit_start(scene->kit, KIT_TOOLS, 0);
	ask_wait_lines(scene, "break", 2);
	unlink(scene->wait);
	check_end(scene, "r1", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=noted;b=mended;");
	check_lines(scene, "once", 1);
}

START_TEST(a_round_that_is_taken_over_waits_for_its_workers)
{
	ask_act_with(play_workers_last, stops);
}
END_TEST

/* Neither workers nor Redis say what break is, and no broker has it any more: it might be one that must not run twice. */
static void
play_unknown(struct scene *scene)
{
	const struct value *reply = NULL;

	begin_stops(scene);
	redis_text(scene->client->redis, scene->arena, WAIT_MS, &reply, "DEL",
	    STORE_TOOLS, NULL);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	check_end(scene, "r1", "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=noted;b=Error: nobody knows whether this call of break took effect"));
	check_lines(scene, "once", 1);
	check_lines(scene, "break", 1);
}

START_TEST(a_call_of_what_nobody_knows_is_not_made_again)
{
	ask_act_with(play_unknown, stops);
}
END_TEST

TCase *
tcase_go_on_again(void)
{
	TCase *tcase = tcase_create("go_on_again");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, a_subagent_that_is_waited_for_is_kept_by_the_next_failure);
	tcase_add_test(tcase, a_subagent_that_had_not_begun_begins_once);
	tcase_add_test(tcase, a_run_that_is_deleted_leaves_what_its_thread_needs);
	tcase_add_test(tcase, what_must_not_run_twice_and_is_known_is_not_sent_again);
	tcase_add_test(tcase, what_a_failure_has_cut_off_is_over_when_that_is_told);
	tcase_add_test(tcase, what_others_did_is_kept_where_a_failure_is_found);
	tcase_add_test(tcase, what_had_ended_is_kept_though_its_turn_has_not_come);
	tcase_add_test(tcase, a_round_that_is_taken_over_waits_for_its_workers);
	tcase_add_test(tcase, a_call_of_what_nobody_knows_is_not_made_again);
	return tcase;
}
