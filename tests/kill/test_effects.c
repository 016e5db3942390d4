/* Calls that must not run twice, when their worker dies: each policy, over the deaths of
 * everybody who is to carry it out. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "json.h"
#include "ledger.h"

TCase *tcase_effects(void);

#define WAIT_MS 60000u

/* Pays and notes at once; the note takes its time, so that it is known later than the loss. */
static const char agent[] = "name: clerk\n"
			    "model: scripted:clerk\n"
			    "tools: [pay, note]\n"
			    "script:\n"
			    "  clerk:\n"
			    "    - content: ''\n"
			    "      tool_calls:\n"
			    "        - {id: a, name: pay, args: {}}\n"
			    "        - {id: b, name: note, args: {}}\n"
			    "    - content: All is done.\n"
			    "---\n"
			    "name: asker\n"
			    "model: scripted:asker\n"
			    "tools: [wonder, pay]\n"
			    "script:\n"
			    "  asker:\n"
			    "    - content: ''\n"
			    "      tool_calls:\n"
			    "        - {id: w, name: wonder, args: {}}\n"
			    "        - {id: a, name: pay, args: {}}\n"
			    "---\n"
			    "name: doomed\n"
			    "model: scripted:doomed\n"
			    "tools: [deadly]\n"
			    "middleware: [tool_retry: {max_retries: 3}, model_retry]\n"
			    "script:\n"
			    "  doomed:\n"
			    "    - content: ''\n"
			    "      tool_calls:\n"
			    "        - {id: a, name: deadly, args: {}}\n"
			    "    - content: Never said.\n";

/* The first to pay does so for ever; its worker is to die. */
static const char tools[] =
    "name: pay\n"
    "description: pays\n"
    "idempotent: false\n"
    "uncertain: %s\n"
    "input: none\n"
    "command: |\n"
    "  mkdir %s 2>/dev/null && first=1\n"
    "  starter=$(cut -d ' ' -f 4 /proc/$PPID/stat)\n"
    "  echo \"pay $FLOTILLA_IDEMPOTENCY_KEY $(cut -d ' ' -f 4 /proc/$starter/stat)\" "
    ">> %s\n"
    "  [ -z \"$first\" ] || exec sleep 600\n"
    "  echo paid\n"
    "---\n"
    "name: note\n"
    "description: notes\n"
    "input: none\n"
    "command: |\n"
    "  while ! [ -e %s ]; do sleep 0.01; done\n"
    "  echo \"note $FLOTILLA_IDEMPOTENCY_KEY 0\" >> %s\n"
    "  echo noted\n"
    "---\n"
    "name: wonder\n"
    "description: asks\n"
    "input: none\n"
    "interrupts: true\n"
    "command: |\n"
    "  echo '\"really?\"'\n"
    "  exit 75\n"
    "---\n"
    "name: deadly\n"
    "description: kills its worker\n"
    "input: none\n"
    "command: |\n"
    "  starter=$(cut -d ' ' -f 4 /proc/$PPID/stat)\n"
    "  worker=$(cut -d ' ' -f 4 /proc/$starter/stat)\n"
    "  echo \"deadly $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
    "  kill -9 $worker\n"
    "  exec sleep 600\n";

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	const char *ledger, *go_on;
	pid_t first_worker;
	void (*play)(struct scene *scene);
};

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

static void
act(const char *policy, void (*play)(struct scene *scene))
{
	struct scene scene = { .arena = arena_new(), .kit = kit_new(), .play = play };

	scene.ledger = kit_path(scene.kit, "ledger");
	scene.go_on = kit_path(scene.kit, "go_on");
	kit_flag(scene.kit, KIT_TOOLS, "--tools",
	    kit_write(scene.kit, "tools.yaml",
		arena_printf(scene.arena, tools, policy, kit_path(scene.kit, "first"),
		    scene.ledger, scene.go_on, scene.ledger, scene.ledger)));
	kit_start_all(scene.kit, 2, 1, 1);
	scene.first_worker = kit_pid(scene.kit, KIT_TOOLS, 0);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agent.yaml", agent), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	arena_destroy(&scene.arena);
}

/* --- what is known ------------------------------------------------------------------ */

struct count {
	const struct scene *scene;
	const char *tool;
	char key[256]; /* the last one's; all must be equal */
	int worker;    /* the last one's */
	unsigned lines, wanted;
};

static void
visit_to_count(const char *tool, const char *key, int worker, void *arg)
{
	struct count *count = arg;

	if (strcmp(tool, count->tool) != 0)
		return;
	ck_assert_msg(count->lines == 0 || strcmp(key, count->key) == 0,
	    "%s was called with %s and %s", tool, key, count->key);
	snprintf(count->key, sizeof count->key, "%s", key);
	count->worker = worker;
	count->lines++;
}

static struct count
count_calls(const struct scene *scene, const char *tool)
{
	struct count count = { .scene = scene, .tool = tool };

	ledger_read(scene->ledger, visit_to_count, &count);
	return count;
}

static bool
is_begun(void *arg)
{
	const struct count *wanted = arg;

	return count_calls(wanted->scene, wanted->tool).lines >= wanted->wanted;
}

/* Waits until pay has begun so often; returns the last one's worker. */
static unsigned
wait_paying(struct scene *scene, unsigned times)
{
	struct count count = { .scene = scene, .tool = "pay", .wanted = times };

	ck_assert_msg(client_wait(scene->client, is_begun, &count, WAIT_MS),
	    "pay has not begun %u times", times);
	return count_calls(scene, "pay").worker == scene->first_worker ? 0 : 1;
}

static void
let_go_on(struct scene *scene)
{
	kit_write(scene->kit, "go_on", "");
}

/* --- runs --------------------------------------------------------------------------- */

static void
submit_to(struct scene *scene, const char *agent_name, const char *run, const char *what,
    const char *text)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent_name), "run",
		value_str(arena, run), "thread", value_str(arena, "t"), what,
		value_str(arena, text), NULL));
}

static void
submit(struct scene *scene, const char *run, const char *what, const char *text)
{
	submit_to(scene, "clerk", run, what, text);
}

static const struct value *
wait_end(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	ck_assert_msg(
	    client_wait_end(scene->client, "t", run, WAIT_MS), "%s never ended", run);
	ck_assert_int_eq(
	    store_run(scene->client->store, scene->arena, "t", run, &record), STORE_OK);
	return record;
}

static void
check_status(struct scene *scene, const char *run, const char *status)
{
	const struct value *record = wait_end(scene, run);

	ck_assert_msg(value_text_is(value_get(record, "status"), status), "%s",
	    json_text(scene->arena, record));
}

/* The content of the answer to call id, which has that status. */
static const char *
answer_to(struct scene *scene, const char *id, const char *status)
{
	const struct value *state = NULL, *messages;
	size_t i;

	ck_assert_int_eq(
	    store_thread(scene->client->store, scene->arena, "t", &state), STORE_OK);
	messages = value_get(state, "messages");
	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i);

		if (!value_text_is(value_get(message, "tool_call_id"), id))
			continue;
		ck_assert_msg(value_text_is(value_get(message, "status"), status), "%s",
		    json_text(scene->arena, message));
		return value_get_text(message, "content");
	}
	ck_abort_msg("nothing answers %s", id);
	return NULL;
}

/* How often the log of run tells that pay is uncertain, and that this follows. */
static unsigned
uncertain_events(struct scene *scene, const char *run, const char *then)
{
	const struct value *events = value_empty_array();
	unsigned count = 0;
	size_t i;

	ck_assert_int_eq(
	    store_events(scene->client->store, scene->arena, "t", run, 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		if (!value_text_is(value_get(event, "kind"), "uncertain"))
			continue;
		ck_assert(value_text_is(value_get(event, "tool"), "pay"));
		ck_assert(value_text_is(value_get(event, "tool_call_id"), "a"));
		ck_assert(value_text_is(value_get(event, "then"), then));
		ck_assert_ptr_nonnull(value_get_text(event, "reason"));
		count++;
	}
	return count;
}

static void
check_calls(struct scene *scene, unsigned pays, unsigned notes)
{
	ck_assert_uint_eq(count_calls(scene, "pay").lines, pays);
	ck_assert_uint_eq(count_calls(scene, "note").lines, notes);
}

/* --- tell_model --------------------------------------------------------------------- */

static void
check_told(struct scene *scene)
{
	check_status(scene, "r1", "success");
	ck_assert_ptr_nonnull(strstr(answer_to(scene, "a", "error"), "nobody knows"));
	ck_assert_str_eq(answer_to(scene, "b", "success"), "noted");
	ck_assert_uint_eq(uncertain_events(scene, "r1", "tell_model"), 1);
	check_calls(scene, 1, 1);
}

static void
play_told(struct scene *scene)
{
	submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, wait_paying(scene, 1));
	let_go_on(scene);
	check_told(scene);
}

START_TEST(the_model_is_told_that_nobody_knows)
{
	act("tell_model", play_told);
}
END_TEST

/* Whoever comes next sends the call again, flagged, and nobody knows of it. */
static void
play_told_by_another(struct scene *scene)
{
	unsigned worker;

	submit(scene, "r1", "input", "\"hi\"");
	worker = wait_paying(scene, 1);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_kill(scene->kit, KIT_TOOLS, worker);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	let_go_on(scene);
	check_told(scene);
}

START_TEST(nor_is_it_run_again_when_coordinator_and_broker_die_with_the_worker)
{
	act("tell_model", play_told_by_another);
}
END_TEST

/* --- repeat ------------------------------------------------------------------------- */

static void
check_repeated(struct scene *scene)
{
	check_status(scene, "r1", "success");
	ck_assert_str_eq(answer_to(scene, "a", "success"), "paid");
	ck_assert_uint_eq(uncertain_events(scene, "r1", "repeat"), 1);
	check_calls(scene, 2, 1);
}

static void
play_repeated(struct scene *scene)
{
	submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, wait_paying(scene, 1));
	let_go_on(scene);
	check_repeated(scene);
}

START_TEST(a_repeated_call_has_the_same_key)
{
	act("repeat", play_repeated);
}
END_TEST

/* The call was sent again, and that is known: the next owner neither repeats it once more
 * nor takes it for lost. */
static void
play_repeated_and_taken_over(struct scene *scene)
{
	unsigned first;

	submit(scene, "r1", "input", "\"hi\"");
	first = wait_paying(scene, 1);
	kit_kill(scene->kit, KIT_TOOLS, first);
	wait_paying(scene, 2);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	let_go_on(scene);
	check_repeated(scene);
}

START_TEST(a_repeated_call_is_taken_over)
{
	act("repeat", play_repeated_and_taken_over);
}
END_TEST

/* --- interrupt ---------------------------------------------------------------------- */

static const char *
wait_paused(struct scene *scene, const char *run)
{
	const struct value *record = wait_end(scene, run), *ask, *value;

	ck_assert_msg(value_text_is(value_get(record, "status"), "interrupted"), "%s",
	    json_text(scene->arena, record));
	ask = value_at(value_get(record, "interrupts"), 0);
	value = value_get(ask, "value");
	ck_assert(value_text_is(value_get(value, "type"), "uncertain"));
	ck_assert(value_text_is(value_get(value_get(value, "tool_call"), "name"), "pay"));
	return value_get_text(ask, "id");
}

/* The run pauses with the note noted. */
static const char *
pause_run(struct scene *scene)
{
	submit(scene, "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, wait_paying(scene, 1));
	let_go_on(scene);
	return wait_paused(scene, "r1");
}

static void
restart_all(struct scene *scene)
{
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	kit_kill(scene->kit, KIT_BROKER, 0);
	kit_kill(scene->kit, KIT_REDIS, 0);
	kit_start(scene->kit, KIT_REDIS, 0);
	kit_start(scene->kit, KIT_BROKER, 0);
	kit_start(scene->kit, KIT_COORDINATOR, 0);
}

static void
check_refused_of(struct scene *scene, const char *agent_name, const char *run,
    const char *answer, const char *says)
{
	const struct value *record;

	submit_to(scene, agent_name, run, "resume", answer);
	record = wait_end(scene, run);
	ck_assert_msg(value_text_is(value_get(record, "status"), "error"), "%s",
	    json_text(scene->arena, record));
	ck_assert_ptr_nonnull(
	    strstr(value_get_text(value_get(record, "fault"), "message"), says));
}

static void
check_refused(struct scene *scene, const char *run, const char *answer, const char *says)
{
	check_refused_of(scene, "clerk", run, answer, says);
}

static void
play_asked(struct scene *scene)
{
	const char *id = pause_run(scene);

	ck_assert_uint_eq(uncertain_events(scene, "r1", "interrupt"), 1);
	restart_all(scene);
	check_refused(scene, "r2", "null", "null is none");
	check_refused(scene, "r3", "\"perhaps\"", "must be \"repeat\"");
	check_refused(scene, "r4", "{\"other.1.0\": \"repeat\"}", id);
	check_calls(scene, 1, 1);
	submit(scene, "r5", "resume",
	    arena_printf(scene->arena, "{\"%s\": \"repeat\"}", id));
	check_status(scene, "r5", "success");
	ck_assert_str_eq(answer_to(scene, "a", "success"), "paid");
	ck_assert_str_eq(answer_to(scene, "b", "success"), "noted");
	check_calls(scene, 2, 1); /* and with one key: count_calls */
}

START_TEST(a_human_may_have_it_repeated_whatever_was_restarted)
{
	act("interrupt", play_asked);
}
END_TEST

static void
play_responded(struct scene *scene)
{
	pause_run(scene);
	submit(scene, "r2", "resume", "{\"respond\": \"it was paid\"}");
	check_status(scene, "r2", "success");
	ck_assert_str_eq(answer_to(scene, "a", "success"), "it was paid");
	check_calls(scene, 1, 1);
}

START_TEST(a_human_may_answer_for_it)
{
	act("interrupt", play_responded);
}
END_TEST

/* The thread goes on with the next run, and its model sees no open call. */
static void
play_given_up(struct scene *scene)
{
	pause_run(scene);
	check_refused(scene, "r2", "\"fail\"", "nobody knows");
	check_refused(scene, "r3", "\"repeat\"", "waits for nothing");
	submit(scene, "r4", "input", "\"and now?\"");
	check_status(scene, "r4", "success");
	answer_to(scene, "a", "error");
	check_calls(scene, 1, 1);
}

START_TEST(a_human_may_give_up)
{
	act("interrupt", play_given_up);
}
END_TEST

/* Asked for by the first call's id, which is its key, too. */
static void
play_from_the_command_line(struct scene *scene)
{
	const char *first = pause_run(scene);
	struct count count;

	kit_flotilla(scene->kit, "resume", "r1", "repeat", "--run-id", "r2", NULL);
	check_status(scene, "r2", "success");
	ck_assert_str_eq(answer_to(scene, "a", "success"), "paid");
	count = count_calls(scene, "pay");
	ck_assert_str_eq(count.key, first);
	check_calls(scene, 2, 1);
}

START_TEST(the_command_line_resumes_by_run_too)
{
	act("interrupt", play_from_the_command_line);
}
END_TEST

/* What an answer has decided is told once all of the answers have been taken. */
static void
play_half_an_answer(struct scene *scene)
{
	struct arena *arena = scene->arena;
	const struct value *asks, *events = NULL;
	const char *answer, *wonder, *pay;
	size_t i;

	submit_to(scene, "asker", "r1", "input", "\"hi\"");
	kit_kill(scene->kit, KIT_TOOLS, wait_paying(scene, 1));
	asks = value_get(wait_end(scene, "r1"), "interrupts");
	ck_assert_uint_eq(value_size(asks), 2);
	wonder = value_get_text(value_at(asks, 0), "id");
	pay = value_get_text(value_at(asks, 1), "id");
	answer =
	    arena_printf(arena, "{\"%s\": \"yes\", \"%s\": \"perhaps\"}", wonder, pay);
	check_refused_of(scene, "asker", "r2", answer, "must be \"repeat\"");
	ck_assert_int_eq(
	    store_events(scene->client->store, arena, "t", "r2", 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++)
		ck_assert_msg(
		    !value_text_is(value_get(value_at(events, i), "kind"), "decided"),
		    "%s", json_text(arena, events));
}

START_TEST(a_refused_answer_has_decided_nothing)
{
	act("interrupt", play_half_an_answer);
}
END_TEST

/* --- poison ------------------------------------------------------------------------- */

static bool
is_over(const struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	return store_run(scene->client->store, scene->arena, "t", run, &record) ==
		   STORE_OK &&
	       value_has(record, "ended");
}

static bool
is_begun_or_over(void *arg)
{
	const struct count *wanted = arg;

	return is_begun(arg) || is_over(wanted->scene, "r1");
}

static void
play_poison(struct scene *scene)
{
	struct count count = { .scene = scene, .tool = "deadly", .wanted = 1 };
	const struct value *record, *fault;

	kit_kill(scene->kit, KIT_TOOLS, 1); /* one at a time */
	submit_to(scene, "doomed", "r1", "input", "\"hi\"");
	while (client_wait(scene->client, is_begun_or_over, &count, WAIT_MS) &&
	       !is_over(scene, "r1")) {
		count.wanted++;
		kit_kill(scene->kit, KIT_TOOLS, 0); /* it is dead: its name is free */
		kit_start(scene->kit, KIT_TOOLS, 0);
	}
	record = wait_end(scene, "r1");
	fault = value_get(record, "fault");
	ck_assert_msg(value_text_is(value_get(fault, "type"), "PoisonError"), "%s",
	    json_text(scene->arena, record));
	ck_assert(value_has(record, "dead"));
	/* The broker may have given it to the first dead one before it knew of that. */
	ck_assert_uint_le(count_calls(scene, "deadly").lines, CALL_ATTEMPTS_MAX);
	ck_assert_uint_ge(count_calls(scene, "deadly").lines, CALL_ATTEMPTS_MAX - 1);
}

START_TEST(a_call_that_kills_its_workers_ends_the_run_for_good)
{
	act("tell_model", play_poison);
}
END_TEST

TCase *
tcase_effects(void)
{
	TCase *tcase = tcase_create("effects");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_model_is_told_that_nobody_knows);
	tcase_add_test(
	    tcase, nor_is_it_run_again_when_coordinator_and_broker_die_with_the_worker);
	tcase_add_test(tcase, a_repeated_call_has_the_same_key);
	tcase_add_test(tcase, a_repeated_call_is_taken_over);
	tcase_add_test(tcase, a_human_may_have_it_repeated_whatever_was_restarted);
	tcase_add_test(tcase, a_human_may_answer_for_it);
	tcase_add_test(tcase, a_human_may_give_up);
	tcase_add_test(tcase, the_command_line_resumes_by_run_too);
	tcase_add_test(tcase, a_refused_answer_has_decided_nothing);
	tcase_add_test(tcase, a_call_that_kills_its_workers_ends_the_run_for_good);
	return tcase;
}
