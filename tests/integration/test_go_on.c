/* A run that failed, or was cancelled, is gone on with: what had ended is not done again, also when every process was killed in
 * between. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask_bench.h"
#include "cli.h"
#include "json.h"
#include "redis.h"

TCase *tcase_go_on(void);

#define AGENT(name, more, script)                                                        \
	"name: " name "\n"                                                               \
	"model: scripted:m\n"                                                            \
	"tool_errors: raise\n" more "script:\n" script "---\n"
#define CALLS(calls) "  m:\n    - tool_calls: [" calls "]\n    - content: All is done.\n"
#define HELPER                                                                           \
	"middleware: [{subagent: {general_purpose_agent: false, subagents: [{name: "     \
	"helper, description: helps, model: 'scripted:helper', tools: [note, "           \
	"linger]}]}}]\ntools: [break]\n"

static const char agents[] = AGENT("breaks", "tools: [note, break]\n",
    CALLS("{id: a, name: note, args: {text: once}}, {id: b, name: break, args: {}}"))
    AGENT("pays", "tools: [pay, break]\n",
	CALLS("{id: a, name: pay, args: {amount: 3}}, {id: b, name: break, args: {}}"))
	AGENT("leads", HELPER,
	    CALLS(
		"{id: a, name: task, args: {description: do it, subagent_type: "
		"helper}}, {id: b, name: break, args: {}}") "  helper:\n"
							    "    - tool_calls: [{id: c, "
							    "name: note, args: {text: "
							    "helped}}]\n"
							    "    - tool_calls: [{id: d, "
							    "name: linger, args: {}}]\n"
							    "    - content: I have "
							    "helped.\n")
	    AGENT("asks", "tools: [pay, break]\n",
		"  m:\n"
		"    - tool_calls: [{id: a, name: pay, args: {amount: 3}}]\n"
		"    - tool_calls: [{id: b, name: break, args: {}}]\n"
		"    - content: All is done.\n") AGENT("stops",
		"tools: [break]\ninterrupt_before: [tools]\nrecursion_limit: 1\n",
		CALLS("{id: b, name: break, args: {}}"))
		AGENT("ends", "recursion_limit: 1\n", "  m:\n    - content: Well.\n");

/* "relies" has another agent work, which fails of itself, and asks in "hears". */
#define TASK "{id: a, name: task, args: {description: do it, subagent_type: helper}}"
#define HELPS(agent)                                                                     \
	"middleware: [{subagent: {general_purpose_agent: false, subagents: [{name: "     \
	"helper, description: helps, agent: " agent "}]}}]\ntools: [break]\n"

static const char leading[] = AGENT("helps", "tools: [note, break]\n",
    "  m:\n"
    "    - tool_calls: [{id: c, name: note, args: {text: helped}}]\n"
    "    - tool_calls: [{id: d, name: break, args: {}}]\n"
    "    - content: I have helped.\n") AGENT("asking", "tools: [pay]\n",
    "  m:\n"
    "    - tool_calls: [{id: c, name: pay, args: {amount: 3}}]\n"
    "    - content: It is paid.\n") AGENT("relies", HELPS("helps"), CALLS(TASK))
    AGENT("hears", HELPS("asking"), CALLS(TASK ", {id: b, name: break, args: {}}"));

#define RAISING                                                                          \
	"name: mends\nmodel: scripted:m\nmiddleware: [{lua: {name: l, code: "            \
	"'before_model = function() %s end'}}]\nscript: {m: [{content: Well.}]}\n"

/* --- what is there, what is done ------------------------------------------------------ */

/* Whether an outcome of r1's round is stored. */
static bool
is_stored(void *arg)
{
	struct scene *scene = arg;
	struct arena *arena = arena_new();
	const struct value *reply = NULL;
	bool there =
	    redis_text(scene->client->redis, arena, 1000, &reply, "HLEN",
		arena_printf(arena, "%sr:r1:w", store_prefix(arena, store_shard("t"))),
		NULL) == REDIS_OK &&
	    value_is(reply, VALUE_INT) && reply->integer > 0;

	arena_destroy(&arena);
	return there;
}

/* Has r1 fail of its call of break, behind what is ready when happened is. */
static void
fail_behind(struct scene *scene, const char *agent, const char *line)
{
	ask_put(scene->wait);
	ask_put(scene->broken);
	ask_submit(scene, agent, "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "break", 1);
	if (line != NULL)
		ask_wait_lines(scene, line, 1);
	else
		ck_assert(client_wait(scene->client, is_stored, scene, 60000));
	unlink(scene->wait);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "error");
	unlink(scene->broken);
	unlink(scene->hold);
}

static struct said
retry(struct scene *scene, const char *run, const char *more, const char *value)
{
	const struct cli cli = { .program = kit_program(scene->kit, "flotilla"),
		.arena = scene->arena };

	return CLI(&cli, "retry", "--redis", kit_redis(scene->kit), run, more, value);
}

static void
check_retry(struct said said, int status, const char *part)
{
	ck_assert_msg(said.status == status, "status %d: %s", said.status, said.err);
	ck_assert_msg(strstr(status == 0 ? said.out : said.err, part) != NULL,
	    "no '%s': %s%s", part, said.out, said.err);
}

static void
end_well(struct scene *scene, const char *answers)
{
	ask_check_status(scene, ask_wait_end(scene, "r2", "t"), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "t"), answers);
}

/* --- rounds --------------------------------------------------------------------------- */

static void
play_siblings(struct scene *scene)
{
	fail_behind(scene, "breaks", NULL);
	ck_assert_ptr_nonnull(strstr(kit_flotilla(scene->kit, "state", "t", NULL),
	    "stopped: error in tools, 1 of 2 calls done; `flotilla retry r1` goes on\n"));
	check_retry(retry(scene, "nobody", NULL, NULL), 3, "not known");
	ask_restart_everything(scene);
	check_retry(retry(scene, "r1", "--run-id", "r2"), 0, "r2");
	end_well(scene, "a=noted;b=mended;");
	ask_check_lines(scene, "once", 1);
	ask_check_lines(scene, "break", 2);
	check_retry(retry(scene, "r1", NULL, NULL), 1, "retried already, as r2");
	check_retry(retry(scene, "r2", NULL, NULL), 1, "does not stand where it failed");
	/* Nothing is left to go on with. */
	ask_check_status(
	    scene, ask_run(scene, "breaks", "r3", "t", "resume", "null"), "success");
	ask_check_refused(scene, "breaks", "r4", "t", "\"yes\"", "waits for nothing");
	end_well(scene, "a=noted;b=mended;");
}

START_TEST(what_had_ended_is_not_done_again)
{
	ask_act_with(play_siblings, agents);
}
END_TEST

/* It fails once more, and is resumed as a pause is; what it has already it keeps. */
static void
play_again(struct scene *scene)
{
	fail_behind(scene, "breaks", NULL);
	ask_put(scene->broken);
	ask_check_status(
	    scene, ask_run(scene, "breaks", "again", "t", "resume", "null"), "error");
	unlink(scene->broken);
	ask_check_refused(scene, "breaks", "no", "t", "\"yes\"", "null goes on");
	ask_submit(scene, "breaks", "r2", "t", "command",
	    "{\"goto\": \"tools\", \"resume\": null}");
	end_well(scene, "a=noted;b=mended;");
	ask_check_lines(scene, "once", 1);
	ask_check_lines(scene, "break", 3);
}

START_TEST(it_may_fail_again)
{
	ask_act_with(play_again, agents);
}
END_TEST

/* The thread's newer runs are not undone: what was open is answered, and gone on with no more. */
static void
play_later(struct scene *scene)
{
	fail_behind(scene, "breaks", NULL);
	ask_check_status(
	    scene, ask_run(scene, "breaks", "r2", "t", "input", "\"so?\""), "success");
	check_retry(retry(scene, "r1", NULL, NULL), 1, "flotilla history t");
	check_retry(retry(scene, "--failed-within", "1h", NULL), 0, "");
	ck_assert_ptr_null(strstr(ask_tool_answers_of(scene, "t"), "noted"));
	ask_check_lines(scene, "once", 1);
}

START_TEST(a_later_run_is_no_place_to_go_on)
{
	ask_act_with(play_later, agents);
}
END_TEST

/* What must not run twice was cancelled on its way: nobody knows whether it has paid. */
static void
play_once(struct scene *scene)
{
	const struct value *events = NULL;

	ask_put(scene->hold);
	fail_behind(scene, "pays", "pay");
	store_events(scene->client->store, scene->arena, "t", "r1", 0, 0, &events);
	ck_assert_ptr_nonnull(strstr(json_text(scene->arena, events), "\"uncertain\""));
	check_retry(retry(scene, "r1", "--run-id", "r2"), 0, "r2");
	ask_check_status(scene, ask_wait_end(scene, "r2", "t"), "success");
	ck_assert_ptr_nonnull(strstr(ask_tool_answers_of(scene, "t"),
	    "a=Error: nobody knows whether this call of pay took effect: it was under "
	    "way "
	    "when another call of its round ended the run."));
	ask_check_lines(scene, "pay", 1);
}

START_TEST(what_must_not_run_twice_is_not_sent_again)
{
	ask_act_with(play_once, agents);
}
END_TEST

/* What a human has said once is not asked again. */
static void
play_answered(struct scene *scene)
{
	ask_put(scene->broken);
	ask_check_status(
	    scene, ask_run(scene, "asks", "r0", "t", "input", "\"hi\""), "interrupted");
	ask_check_status(
	    scene, ask_run(scene, "asks", "r1", "t", "resume", "\"yes\""), "error");
	unlink(scene->broken);
	check_retry(retry(scene, "r1", "--run-id", "r2"), 0, "r2");
	end_well(scene, "a=paid: [\"yes\"];b=mended;");
	ask_check_lines(scene, "pay", 2);
}

START_TEST(answers_stay)
{
	ask_act_with(play_answered, agents);
}
END_TEST

/* All has ended well, but what the calls write does not fit: none of them is made again when that is mended. */
#define CLASHING(field)                                                                  \
	AGENT("clashes",                                                                 \
	    "middleware: [asks_human]\ntools: [note]\nstate: {note: " field "}\n",       \
	    CALLS("{id: a, name: note, args: {text: once}}, {id: b, name: command, "     \
		  "args: {note: [x]}}, {id: c, name: command, args: {note: [y]}}"))

static void
play_clash(struct scene *scene)
{
	ask_check_status(
	    scene, ask_run(scene, "clashes", "r1", "t", "input", "\"hi\""), "error");
	ask_check_status(
	    scene, ask_run(scene, "clashes", "again", "t", "resume", "null"), "error");
	kit_flotilla(scene->kit, "agents", "apply", "--plugin",
	    kit_built(scene->kit, "plugins/asks_human.so"),
	    kit_write(
		scene->kit, "mended.yaml", CLASHING("{type: array, reducer: append}")),
	    NULL);
	check_retry(retry(scene, "again", "--run-id", "r2"), 0, "r2");
	end_well(scene, "a=noted;b=done;c=done;");
	ask_check_lines(scene, "once", 1);
}

START_TEST(what_has_ended_is_kept_where_its_writes_fail)
{
	ask_act_with(play_clash, CLASHING("{type: array}"));
}
END_TEST

/* --- agents at work for it --------------------------------------------------------------- */

static void
play_helper(struct scene *scene)
{
	ask_put(scene->hold);
	fail_behind(scene, "leads", "linger");
	check_retry(retry(scene, "r1", "--run-id", "r2"), 0, "r2");
	end_well(scene, "a=I have helped.;b=mended;");
	ask_check_lines(scene, "helped", 1);
	ask_check_lines(scene, "linger", 1);
}

START_TEST(a_subagent_goes_on_where_it_stood)
{
	ask_act_with(play_helper, agents);
}
END_TEST

/* Its own failure is its parent's; it goes on behind what it had done. */
static void
play_failed_helper(struct scene *scene)
{
	ask_put(scene->broken);
	ask_check_status(
	    scene, ask_run(scene, "relies", "r1", "t", "input", "\"hi\""), "error");
	ask_check_status(
	    scene, ask_run(scene, "relies", "again", "t", "resume", "null"), "error");
	unlink(scene->broken);
	ask_put(scene->wait);
	check_retry(retry(scene, "again", "--run-id", "r2"), 0, "r2");
	ask_wait_lines(scene, "break", 3);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
	unlink(scene->wait);
	end_well(scene, "a=I have helped.;");
	ask_check_lines(scene, "helped", 1);
	ask_check_lines(scene, "break", 3);
}

START_TEST(a_subagent_that_failed_goes_on_where_it_stands)
{
	ask_act_with(play_failed_helper, leading);
}
END_TEST

/* It has asked when nobody waited for it any more: the question is its parent's, as ever. */
static void
play_asking_helper(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *reply = NULL;

	ask_put(scene->hold);
	ask_put(scene->wait);
	ask_put(scene->broken);
	ask_submit(scene, "hears", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "break", 1);
	ask_wait_lines(scene, "pay", 1);
	/* Nobody cancels it before it asks. */
	redis_text(scene->client->redis, arena, 1000, &reply, "DEL",
	    arena_printf(arena, "%sr:r1:k", store_prefix(arena, store_shard("t"))), NULL);
	unlink(scene->wait);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "error");
	unlink(scene->broken);
	unlink(scene->hold);
	ask_check_status(
	    scene, ask_wait_end(scene, "r1-2-0-1", "r1-2-0-1"), "interrupted");
	check_retry(retry(scene, "r1", "--run-id", "asked"), 0, "asked");
	ask_check_status(scene, ask_wait_end(scene, "asked", "t"), "interrupted");
	ask_check_status(
	    scene, ask_run(scene, "hears", "r2", "t", "resume", "\"yes\""), "success");
	end_well(scene, "a=It is paid.;b=mended;");
	ask_check_lines(scene, "pay", 2);
}

START_TEST(a_subagent_that_asked_meanwhile_asks)
{
	ask_act_with(play_asking_helper, leading);
}
END_TEST

/* A question that a failed round keeps is asked in a copy as well, and each is answered for itself. */
static void
play_copied(struct scene *scene)
{
	ask_put(scene->wait);
	ask_put(scene->broken);
	ask_submit(scene, "hears", "r1", "t", "input", "\"hi\"");
	ask_wait_lines(scene, "break", 1);
	ask_check_status(
	    scene, ask_wait_end(scene, "r1-2-0-1", "r1-2-0-1"), "interrupted");
	unlink(scene->wait);
	ask_check_status(scene, ask_wait_end(scene, "r1", "t"), "error");
	unlink(scene->broken);
	kit_flotilla(scene->kit, "copy", "t", "u", NULL);
	ask_check_status(
	    scene, ask_run(scene, "hears", "c1", "u", "resume", "null"), "interrupted");
	ask_check_status(
	    scene, ask_run(scene, "hears", "c2", "u", "resume", "\"no\""), "success");
	ck_assert_str_eq(ask_tool_answers_of(scene, "u"), "a=It is paid.;b=mended;");
	check_retry(retry(scene, "r1", "--run-id", "asked"), 0, "asked");
	ask_check_status(scene, ask_wait_end(scene, "asked", "t"), "interrupted");
	ask_check_status(
	    scene, ask_run(scene, "hears", "r2", "t", "resume", "\"yes\""), "success");
	end_well(scene, "a=It is paid.;b=mended;");
	ask_check_lines(scene, "pay", 3);
}

START_TEST(a_copy_asks_for_itself)
{
	ask_act_with(play_copied, leading);
}
END_TEST

/* --- elsewhere --------------------------------------------------------------------------- */

/* It has failed in front of a node at which it was to pause: there nobody has looked yet. */
static void
play_in_front(struct scene *scene)
{
	ask_check_status(
	    scene, ask_run(scene, "stops", "r1", "t", "input", "\"hi\""), "error");
	check_retry(retry(scene, "r1", "--run-id", "r2"), 0, "r2");
	ask_check_status(scene, ask_wait_end(scene, "r2", "t"), "interrupted");
	ask_check_lines(scene, "break", 0);
	/* In front of the end nothing is left to do but that. */
	ask_check_status(
	    scene, ask_run(scene, "ends", "r3", "u", "input", "\"hi\""), "error");
	check_retry(retry(scene, "r3", "--run-id", "r4"), 0, "r4");
	ask_check_status(scene, ask_wait_end(scene, "r4", "u"), "success");
}

START_TEST(a_pause_in_front_of_a_node_is_kept)
{
	ask_act_with(play_in_front, agents);
}
END_TEST

/* The agent is mended meanwhile. --failed-within takes all, of that agent, that have not been gone on with. */
static void
play_mended(struct scene *scene)
{
	struct arena *arena = scene->arena;

	ask_check_status(
	    scene, ask_run(scene, "mends", "r1", "t", "input", "\"hi\""), "error");
	ask_check_status(
	    scene, ask_run(scene, "mends", "c0", "u", "input", "\"hi\""), "error");
	ask_check_status(scene,
	    ask_run(scene, "mends", "acme~r1", "acme~t", "input", "\"hi\""), "error");
	kit_flotilla(scene->kit, "agents", "apply",
	    kit_write(scene->kit, "mended.yaml", arena_printf(arena, RAISING, "")), NULL);
	/* A tenant's run has a tenant's name, by which he finds it. */
	check_retry(retry(scene, "acme~r1", NULL, NULL), 0, "acme~run-");
	ask_check_status(scene,
	    ask_run(scene, "mends", "c1", "u", "command",
		"{\"goto\": \"l.before_model\", \"resume\": null}"),
	    "success");
	check_retry(retry(scene, "--failed-within=1h", "--agent", "other"), 0, "");
	check_retry(
	    retry(scene, "--failed-within=1h", "--agent=mends", "--json"), 0, "\"r1\"");
	check_retry(retry(scene, "--failed-within=1h", "--json", NULL), 0, "[]");
	check_retry(retry(scene, "--failed-within=soon", NULL, NULL), 2, "unit");
	check_retry(retry(scene, "--failed-within=1h", "r1", NULL), 2, "name no RUN");
	check_retry(retry(scene, "r1", "--agent=mends", NULL), 2, "--failed-within");
}

START_TEST(an_agent_is_mended)
{
	struct arena *arena = arena_new();

	ask_act_with(play_mended, arena_printf(arena, RAISING, "error(\"no\")"));
	arena_destroy(&arena);
}
END_TEST

TCase *
tcase_go_on(void)
{
	TCase *tcase = tcase_create("go_on");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, what_had_ended_is_not_done_again);
	tcase_add_test(tcase, it_may_fail_again);
	tcase_add_test(tcase, a_later_run_is_no_place_to_go_on);
	tcase_add_test(tcase, what_must_not_run_twice_is_not_sent_again);
	tcase_add_test(tcase, answers_stay);
	tcase_add_test(tcase, what_has_ended_is_kept_where_its_writes_fail);
	tcase_add_test(tcase, a_subagent_goes_on_where_it_stood);
	tcase_add_test(tcase, a_subagent_that_failed_goes_on_where_it_stands);
	tcase_add_test(tcase, a_subagent_that_asked_meanwhile_asks);
	tcase_add_test(tcase, a_copy_asks_for_itself);
	tcase_add_test(tcase, a_pause_in_front_of_a_node_is_kept);
	tcase_add_test(tcase, an_agent_is_mended);
	return tcase;
}
