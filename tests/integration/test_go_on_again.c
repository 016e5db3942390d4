/* Who goes on behind a failure, when it fails again, was taken over, or something of it is deleted meanwhile. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"
#include "bounds.h"
#include "chat.h"
#include "fault.h"
#include "fleet_up.h"
#include "has.h"
#include "json.h"
#include "redis.h"
#include "store_runs.h"

TCase *tcase_go_on_again(void);

#define WAIT_MS 60000u

#define AGENT(name, more, calls)                                                         \
	"name: " name "\nmodel: scripted:m\n" more                                       \
	"script:\n  m:\n    - tool_calls: [" calls "]\n    - content: All is done.\n"
#define BREAK "{id: b, name: break, args: {}}"
#define RAISES "tool_errors: raise\n"
#define STOPS                                                                            \
	AGENT("stops", RAISES "tools: [note, break]\ninterrupt_before: [tools]\n",       \
	    "{id: a, name: note, args: {text: once}}, " BREAK)
static const char stops[] = STOPS;
/* The thread has an answer of the other's model. */
static const char stops_lingers[] =
    STOPS "---\nname: lingers\nmodel: scripted:m\ntools: [linger]\n"
	  "script: {m: [{content: none}, {tool_calls: [{id: l, name: linger, args: "
	  "{}}]}]}\n";
/* Its first call is the one that fails; concurrency: how many are under way at once. */
#define FAILS_FIRST(concurrency)                                                         \
	AGENT("hurries", RAISES concurrency "tools: [break, note, linger]\n",            \
	    "{id: b, name: break, args: {}}, {id: a, name: note, args: {text: once}}, "  \
	    "{id: c, name: linger, args: {}}")
static const char stubborn[] = AGENT("stubborn", RAISES "tools: [resist, break]\n",
    "{id: a, name: resist, args: {}}, " BREAK);
static const char clinging[] = AGENT("clinging", RAISES "tools: [cling, break]\n",
    "{id: a, name: cling, args: {}}, " BREAK);

#define STRIKES(more, field)                                                             \
	AGENT("strikes",                                                                 \
	    more "middleware: [asks_human]\ntools: [strike]\nstate: {note: " field       \
		 "}\n",                                                                  \
	    "{id: a, name: strike, args: {}}, {id: b, name: command, args: {note: "      \
	    "[x]}}, {id: c, name: command, args: {note: [y]}}")

static const char more_tools[] = "name: strike\n"
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
				 "  echo gone\n"
				 "---\n"
				 "name: cling\n"
				 "description: says that it must end, and does not\n"
				 "grace_ms: 3000\n"
				 "input: none\n"
				 "command: |\n"
				 "  trap 'echo asked >> \"$ledger\"' TERM\n"
				 "  ledger=%s\n"
				 "  echo \"cling $$\" >> \"$ledger\"\n"
				 "  until await-file gone %s; do :; done\n"
				 "  echo gone\n";

/* --- what is there, what is done ------------------------------------------------------ */

/* Somebody serves strike and resist from now on. */
static void
serve_more(struct scene *scene)
{
	kit_flag(scene->kit, KIT_TOOLS, "--tools",
	    kit_write(scene->kit, "more.yaml",
		arena_printf(scene->arena, more_tools, scene->ledger, scene->ledger,
		    scene->hold, scene->ledger, scene->hold)));
	kit_start(scene->kit, KIT_TOOLS, 1);
}

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
	ask_go_on(scene, "strikes", "again", "error");
	ask_go_on(scene, "strikes", "r2", "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=Error: nobody knows whether this call of strike took effect: it failed "
	    "(ToolException"));
	ask_check_lines(scene, "strike", 1);
}

START_TEST(what_must_not_run_twice_and_is_known_is_not_sent_again)
{
	ask_act_with(play_known, STRIKES("", "{type: array}"));
}
END_TEST

/* break fails beside a call that has said so in the ledger. */
static void
fail_beside(struct scene *scene, const char *agent, const char *line)
{
	serve_more(scene);
	ask_begin(scene, agent);
	ask_wait_lines(scene, line, 1);
	unlink(scene->wait);
}

static void
play_resists(struct scene *scene)
{
	const struct value *record;

	fail_beside(scene, "stubborn", "resist");
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
	ask_go_on(scene, "stubborn", "r2", "success");
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

/* The next one finds the failure at once, and all the same what the others have done, or do. */
static void
play_failed_before(struct scene *scene)
{
	ask_begin(scene, "hurries");
	ask_wait_lines(scene, "linger", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	ask_store_failure(scene, "r1", "r1.2.0");
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ask_check_end(scene, "r1", "error");
	unlink(scene->wait);
	unlink(scene->broken);
	unlink(scene->hold);
	ask_go_on(scene, "hurries", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "b=mended;a=noted;c=lingered;");
	ask_check_lines(scene, "once", 1);
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
	ask_begin(scene, "hurries");
	ask_wait_lines(scene, "linger", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	unlink(scene->wait);
	ask_check_end(scene, "r1", "error");
	unlink(scene->hold);
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "changed.yaml", FAILS_FIRST("max_concurrency: 1\n")),
	    NULL);
	ask_go_on(scene, "hurries", "again", "error");
	unlink(scene->broken);
	ask_go_on(scene, "hurries", "r2", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "b=mended;a=noted;c=lingered;");
	ask_check_lines(scene, "once", 1);
	ask_check_lines(scene, "linger", 2);
}

START_TEST(what_had_ended_is_kept_though_its_turn_has_not_come)
{
	ask_act_with(play_one_by_one, FAILS_FIRST(""));
}
END_TEST

/* Its coordinator leaves while it waits for what the failure has cut off. */
static void
play_leaves(struct scene *scene)
{
	const struct value *record;

	fail_beside(scene, "clinging", "cling");
	ask_wait_lines(scene, "asked", 1);
	kit_signal(scene->kit, KIT_COORDINATOR, 0, SIGTERM);
	record = ask_wait_end(scene, "r1", "t");
	ask_check_status(scene, record, "error");
	ck_assert(value_has(record, "unconfirmed") ||
		  process_is_gone(ask_pid_of(scene, "cling")));
	kit_await_end(scene->kit, KIT_COORDINATOR, 0);
	unlink(scene->hold);
}

START_TEST(who_leaves_waits_for_what_a_failure_has_cut_off)
{
	ask_act_with(play_leaves, clinging);
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
leave_in_round(struct scene *scene)
{
	ask_wait_lines(scene, "break", 1);
	ck_assert(client_wait(scene->client, is_stored, scene, WAIT_MS));
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_TOOLS, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_flag(scene->kit, KIT_COORDINATOR, "--served-wait-ms", "0");
}

static void
begin_stops(struct scene *scene)
{
	ask_put(scene->wait);
	ask_check_status(
	    scene, ask_run(scene, "stops", "r0", "t", "input", "\"hi\""), "interrupted");
	ask_submit(scene, "stops", "r1", "t", "resume", "null");
	leave_in_round(scene);
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
	ask_check_end(scene, "r1", "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), "a=noted;b=mended;");
	ask_check_lines(scene, "once", 1);
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
	ask_check_end(scene, "r1", "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=noted;b=Error: nobody knows whether this call of break took effect"));
	ask_check_lines(scene, "once", 1);
	ask_check_lines(scene, "break", 1);
}

START_TEST(a_call_of_what_nobody_knows_is_not_made_again)
{
	ask_act_with(play_unknown, stops);
}
END_TEST

/* --- agents that are not what they were ----------------------------------------------------- */

/* The middleware that failed is left out; the model is not asked again for what it has said. */
static void
play_left_out(struct scene *scene)
{
	const struct value *messages;

	ask_check_status(
	    scene, ask_run(scene, "mends", "r1", "t", "input", "\"hi\""), "error");
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "mended.yaml",
		"name: mends\nmodel: scripted:m\nscript: {m: [{content: Again.}]}\n"),
	    NULL);
	ask_go_on(scene, "mends", "r2", "success");
	messages = value_get(ask_state_of(scene, "t"), "messages");
	ck_assert_uint_eq(value_size(messages), 2);
	ck_assert_str_eq(chat_text(scene->arena, value_at(messages, 1)), "Well.");
}

START_TEST(a_middleware_that_failed_is_left_out)
{
	ask_act_with(play_left_out,
	    "name: mends\nmodel: scripted:m\nmiddleware: [{lua: {name: l, code: "
	    "'after_model = function() error(\"no\") end'}}]\n"
	    "script: {m: [{content: Well.}]}\n");
}
END_TEST

static void
rename_key(struct scene *scene, const char *from, const char *to)
{
	const struct value *reply = NULL;

	ck_assert_int_eq(redis_text(scene->client->redis, scene->arena, WAIT_MS, &reply,
			     "RENAME", from, to, NULL),
	    REDIS_OK);
}

/* Who takes r1 over cannot have its agent. */
static void
lose_agent(struct scene *scene)
{
	const struct value *version = NULL;
	const char *source;

	ck_assert_int_eq(redis_text(scene->client->redis, scene->arena, WAIT_MS, &version,
			     "HGET", "fl:agents", "stops", NULL),
	    REDIS_OK);
	source = arena_printf(scene->arena, "fl:agent:%s", redis_reply_text(version));
	rename_key(scene, source, "elsewhere");
	/* A coordinator that is ready knows who is there. */
	kit_start(scene->kit, KIT_TOOLS, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	ask_check_end(scene, "r1", "error");
	rename_key(scene, "elsewhere", source);
	unlink(scene->wait);
}

/* Nobody goes on there, whichever way he asks for it. */
static void
check_left(struct scene *scene, const char *resume, const char *command)
{
	const struct value *record;

	ask_check_refused(scene, "stops", resume, "t", "null", "was left in 'tools'");
	record =
	    ask_run(scene, "stops", command, "t", "command", "{\"goto\": \"tools\"}");
	ask_check_status(scene, record, "error");
	ck_assert_has(
	    value_get_text(value_get(record, "fault"), "message"), "was left in 'tools'");
}

/* What its round had come to is nowhere then, and note is not made again. */
static void
play_lost_agent(struct scene *scene)
{
	begin_stops(scene);
	lose_agent(scene);
	check_left(scene, "r2", "r3");
	ask_check_status(
	    scene, ask_run(scene, "stops", "r4", "t", "input", "\"Go on.\""), "success");
	ask_check_lines(scene, "once", 1);
}

START_TEST(a_run_whose_agent_is_lost_is_not_gone_on_with)
{
	ask_act_with(play_lost_agent, stops);
}
END_TEST

/* A rollback leads to where it was left, and no further back. */
static void
play_put_back(struct scene *scene)
{
	begin_stops(scene);
	lose_agent(scene);
	ask_put(scene->hold);
	ask_submit(scene, "lingers", "r2", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "linger", 1);
	ask_put_back(scene, "r2");
	unlink(scene->hold);
	ask_submit(scene, "stops", "r3", "t", "command", "{\"goto\": \"tools\"}");
	ask_wait_end(scene, "r3", "t");
	ask_check_lines(scene, "once", 1);
	check_left(scene, "r4", "r5");
}

START_TEST(what_is_put_back_to_where_it_was_left_is_not_gone_on_with)
{
	ask_act_with(play_put_back, stops_lingers);
}
END_TEST

static void
play_said_again(struct scene *scene)
{
	ask_put(scene->wait);
	ask_submit(scene, "stops", "r1", "t", "input", "\"hi\"");
	leave_in_round(scene);
	lose_agent(scene);
	ck_assert_str_eq(
	    kit_flotilla(scene->kit, "retry", "r1", "--run-id", "r2", NULL), "r2\n");
	ask_check_end(scene, "r2", "success");
}

START_TEST(what_a_run_whose_agent_is_lost_was_told_is_said_again)
{
	ask_act_with(
	    play_said_again, AGENT("stops", RAISES "tools: [note, break]\n",
				 "{id: a, name: note, args: {text: once}}, " BREAK));
}
END_TEST

TCase *
tcase_go_on_again(void)
{
	TCase *tcase = tcase_create("go_on_again");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, what_must_not_run_twice_and_is_known_is_not_sent_again);
	tcase_add_test(tcase, what_a_failure_has_cut_off_is_over_when_that_is_told);
	tcase_add_test(tcase, who_leaves_waits_for_what_a_failure_has_cut_off);
	tcase_add_test(tcase, what_others_did_is_kept_where_a_failure_is_found);
	tcase_add_test(tcase, what_had_ended_is_kept_though_its_turn_has_not_come);
	tcase_add_test(tcase, a_round_that_is_taken_over_waits_for_its_workers);
	tcase_add_test(tcase, a_call_of_what_nobody_knows_is_not_made_again);
	tcase_add_test(tcase, a_middleware_that_failed_is_left_out);
	tcase_add_test(tcase, a_run_whose_agent_is_lost_is_not_gone_on_with);
	tcase_add_test(tcase, what_is_put_back_to_where_it_was_left_is_not_gone_on_with);
	tcase_add_test(tcase, what_a_run_whose_agent_is_lost_was_told_is_said_again);
	return tcase;
}
