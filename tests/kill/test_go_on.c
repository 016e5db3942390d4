/* Runs that fail of one call of a round and are gone on with, until they are whole, while coordinators and tool workers die: what had
 * ended is not done again, what must not run twice does not, and all of it ends. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chat.h"
#include "json.h"
#include "ledger.h"
#include "verdict.h"

TCase *tcase_go_on(void);

#define THREADS 24u
#define FAILURES 2u /* of each thread */
#define CALLS 5u
#define KILLS 4u /* of each kind: fewer than make a call or a run one that kills */
#define SEEDS 3

/* The calls of a round, by their ids; SLOW ones are under way when stumble fails, unless something is in their way. */
#define ROUND(name, seconds, first)                                                      \
	"name: " name "\nmodel: scripted:m\ntool_errors: raise\n"                        \
	"tools: [pay, mail, move, note, stumble]\n"                                      \
	"middleware: [{subagent: {general_purpose_agent: false, subagents: [{name: "     \
	"helper, description: helps, model: 'scripted:helper', tools: [toil]}]}}]\n"     \
	"script:\n"                                                                      \
	"  helper:\n"                                                                    \
	"    - tool_calls: [{id: t, name: toil, args: {seconds: 3}}]\n"                  \
	"    - content: toil done\n"                                                     \
	"  m:\n"                                                                         \
	"    - tool_calls:\n"                                                            \
	"        - {id: a, name: " first "}\n"                                           \
	"        - {id: b, name: mail, args: {seconds: " seconds "}}\n"                  \
	"        - {id: c, name: move, args: {seconds: " seconds "}}\n"                  \
	"        - {id: d, name: note, args: {seconds: " seconds "}}\n"                  \
	"        - {id: e, name: stumble, args: {seconds: 0.3}}\n"                       \
	"    - content: All is done.\n"
#define PAY(seconds) "pay, args: {seconds: " seconds "}"
#define TASK "task, args: {description: do it, subagent_type: helper}"

static const char *const kinds[] = { "early", "late", "leading" };
static const char agents[] = ROUND("early", "0", PAY("0")) "---\n" ROUND(
    "late", "1.5", PAY("1.5")) "---\n" ROUND("leading", "0.1", TASK);

static const char tool_text[] =
    "%sname: %s\n"
    "description: does it\n"
    "parameters: {properties: {seconds: {type: number}}, required: [seconds]}\n"
    "%s"
    "input: none\n"
    "command: |\n"
    "  echo \"%s/$FLOTILLA_RUN $FLOTILLA_IDEMPOTENCY_KEY 0\" >> %s\n"
    "  await-file gone %s\n"
    "  sleep \"$ARG_SECONDS\"\n"
    "%s"
    "  echo %s done\n";

/* Fails in the first runs that call it, however often they do. */
static const char stumbling[] =
    "  for i in 1 2; do\n"
    "    ln -s \"$FLOTILLA_RUN\" %s/$FLOTILLA_IDEMPOTENCY_KEY.$i 2>/dev/null\n"
    "    if [ \"$(readlink %s/$FLOTILLA_IDEMPOTENCY_KEY.$i)\" = \"$FLOTILLA_RUN\" ]; "
    "then\n"
    "      echo 'ValueError: not yet' >&2\n"
    "      exit 1\n"
    "    fi\n"
    "  done\n";

static const struct {
	const char *name, *how;
	bool once;
} tools[] = {
	{ "pay", "idempotent: false\n", true },
	{ "mail", "idempotent: false\nuncertain: repeat\n", false },
	{ "move", "idempotent: false\nuncertain: interrupt\n", true },
	{ "note", "", false },
	{ "stumble", "", false },
	{ "toil", "idempotent: false\n", true },
};
#define TOOLS (sizeof tools / sizeof *tools)

struct going {
	struct storm storm; /* arena, kit, client */
	void (*play)(struct going *going);
	const char *hold, *wait; /* files: no call ends, stumble does not */
	unsigned seed;
	struct {
		unsigned runs, failed; /* so far; runs r1, r1+1, ... */
		unsigned kept[CALLS];  /* from that run on: it had ended; 0: it had not */
		bool done;
	} threads[THREADS + 1];
	unsigned lines, wanted, done;
};

/* --- a fleet ------------------------------------------------------------------------ */

static void
play_main(struct fleet_client *client, void *arg)
{
	struct going *going = arg;

	going->storm.client = client;
	going->play(going);
}

static const char *
all_tools(struct going *going)
{
	struct arena *arena = going->storm.arena;
	const char *marks = kit_path(going->storm.kit, "marks"), *text = "";
	size_t i;

	mkdir(marks, 0700);
	for (i = 0; i < TOOLS; i++) {
		bool stumbles = strcmp(tools[i].name, "stumble") == 0;

		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, tool_text, i > 0 ? "---\n" : "", tools[i].name,
			tools[i].how, tools[i].name, going->storm.ledger,
			stumbles ? going->wait : going->hold,
			stumbles ? arena_printf(arena, stumbling, marks, marks) : "",
			tools[i].name));
	}
	return text;
}

static void
act(void (*play)(struct going *going), unsigned seed)
{
	static const struct storm_plan plan = { .coordinators = 2 };
	struct going going = { .play = play, .seed = seed };
	struct storm *storm = &going.storm;

	*storm = (struct storm){ .plan = &plan, .arena = arena_new(), .kit = kit_new() };
	storm->ledger = kit_path(storm->kit, "ledger");
	going.hold = kit_path(storm->kit, "hold");
	going.wait = kit_path(storm->kit, "wait");
	kit_flag(storm->kit, KIT_TOOLS, "--tools",
	    kit_write(storm->kit, "tools.yaml", all_tools(&going)));
	kit_flag(storm->kit, KIT_TOOLS, "--slots", "32");
	kit_start_all(storm->kit, 2, 1, plan.coordinators);
	kit_flotilla(storm->kit, "agents", "apply",
	    kit_write(storm->kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(storm->kit), play_main, &going);
	kit_destroy(&storm->kit);
	arena_destroy(&storm->arena);
}

/* --- runs --------------------------------------------------------------------------- */

static const char *
kind_of(unsigned number)
{
	return kinds[number % (sizeof kinds / sizeof *kinds)];
}

/* That run of a thread, from 0. */
static const char *
run_of(struct going *going, unsigned number, unsigned run)
{
	const char *first = storm_run(&going->storm, number);

	return run == 0 ? first : arena_printf(going->storm.arena, "%s+%u", first, run);
}

static void
submit(struct going *going, unsigned number, const char *what, const char *text)
{
	struct storm *storm = &going->storm;
	struct arena *arena = storm->arena;

	client_submit(storm->client, arena,
	    value_map(arena, "agent", value_str(arena, kind_of(number)), "run",
		value_str(arena, run_of(going, number, going->threads[number].runs++)),
		"thread", value_str(arena, storm_thread(storm, number)), what,
		value_str(arena, text), NULL));
}

static void
begin(struct going *going, unsigned count)
{
	while (going->storm.runs < count)
		submit(going, ++going->storm.runs, "input", "\"hi\"");
}

/* Notes which calls have ended, by what their thread says. */
static void
note_kept(struct going *going, unsigned number)
{
	struct storm *storm = &going->storm;
	const struct value *head = NULL, *round;
	unsigned i;

	ck_assert_int_eq(store_head(storm->client->store, storm->arena,
			     storm_thread(storm, number), &head),
	    STORE_OK);
	round = value_get(head, "round");
	ck_assert_msg(
	    value_size(round) == CALLS, "%u: %s", number, json_text(storm->arena, head));
	for (i = 0; i < CALLS; i++) {
		const struct value *kept =
		    value_get(round, arena_printf(storm->arena, "%u", i));

		if (going->threads[number].kept[i] > 0)
			ck_assert_msg(
			    value_has(kept, "outcome"), "%u: call %u is lost", number, i);
		else if (value_has(kept, "outcome"))
			going->threads[number].kept[i] = going->threads[number].runs;
	}
}

/* Each third by its command. */
static void
go_on(struct going *going, unsigned number, const char *last)
{
	ck_assert_uint_le(++going->threads[number].failed, FAILURES);
	note_kept(going, number);
	if (number / 3 % 3 == 0)
		kit_flotilla(going->storm.kit, "retry", last, "--run-id",
		    run_of(going, number, going->threads[number].runs++), NULL);
	else
		submit(going, number, "resume", "null");
}

/* Does what its thread's last run wants done. */
static void
tend(struct going *going, unsigned number)
{
	struct storm *storm = &going->storm;
	struct arena *arena = storm->arena;
	const char *last = run_of(going, number, going->threads[number].runs - 1);
	const struct value *record = NULL, *status, *fault;

	store_run(
	    storm->client->store, arena, storm_thread(storm, number), last, &record);
	status = value_get(record, "status");
	fault = value_get(record, "fault");
	if (value_text_is(status, "success")) {
		going->threads[number].done = true;
		going->done++;
	} else if (value_text_is(status, "interrupted")) {
		submit(going, number, "resume", "{\"respond\": \"move done\"}");
	} else if (value_has(record, "ended")) {
		ck_assert_msg(value_text_is(status, "error") &&
				  value_text_is(value_get(fault, "message"), "not yet"),
		    "%s: %s", last, json_text(arena, record));
		go_on(going, number, last);
	}
}

static void
count_line(const char *tool, const char *key, int worker, void *arg)
{
	struct going *going = arg;

	(void)tool;
	(void)key;
	(void)worker;
	going->lines++;
}

/* All are whole, or the tools have been begun as often as is wanted. */
static bool
have_come_so_far(void *arg)
{
	struct going *going = arg;
	unsigned i;

	for (i = 1; i <= going->storm.runs; i++)
		if (!going->threads[i].done)
			tend(going, i);
	going->lines = 0;
	ledger_read(going->storm.ledger, count_line, going);
	return going->done == going->storm.runs || going->lines >= going->wanted;
}

static void
come_so_far(struct going *going, unsigned lines)
{
	going->wanted = lines;
	ck_assert_msg(
	    client_wait(going->storm.client, have_come_so_far, going, STORM_WAIT_MS),
	    "%u of %u threads are whole, behind %u calls", going->done, going->storm.runs,
	    going->lines);
}

/* --- what must hold ------------------------------------------------------------------- */

struct begun {
	unsigned times;
	char key[256];
};

struct effects {
	struct going *going;
	struct begun of[THREADS + 1][TOOLS];
};

static size_t
tool_of(const char *line)
{
	size_t size = strcspn(line, "/"), i = 0;

	while (i < TOOLS &&
	       (strlen(tools[i].name) != size || strncmp(tools[i].name, line, size) != 0))
		i++;
	ck_assert_uint_lt(i, TOOLS);
	return i;
}

/* line: "tool/run", of a call's own run or of its child's. */
static void
check_line(const char *line, const char *key, int worker, void *arg)
{
	struct effects *effects = arg;
	size_t tool = tool_of(line);
	unsigned number = 0, run = 0, kept;
	struct begun *begun;

	(void)worker;
	ck_assert_int_ge(sscanf(line, "%*[^/]/r%u+%u", &number, &run), 1);
	ck_assert(number >= 1 && number <= THREADS);
	begun = &effects->of[number][tool];
	ck_assert_msg(
	    begun->times++ == 0 || !tools[tool].once, "%s: %s is begun twice", line, key);
	ck_assert_msg(begun->times == 1 || strcmp(begun->key, key) == 0,
	    "%s: %s had the key %s", line, key, begun->key);
	snprintf(begun->key, sizeof begun->key, "%s", key);
	kept = effects->going->threads[number].kept[tool < CALLS ? tool : 0];
	ck_assert_msg(
	    kept == 0 || run < kept, "%s: it had ended before run %u", line, kept);
}

static void
check_answer(struct going *going, unsigned number, const struct effects *effects,
    unsigned call, const struct value *message)
{
	struct arena *arena = going->storm.arena;
	bool leads = call == 0 && strcmp(kind_of(number), "leading") == 0;
	size_t tool = leads ? TOOLS - 1 : call;
	bool is_lost = value_get_bool(value_get(message, "artifact"), "uncertain", false);

	ck_assert_msg(
	    chat_is(message, "tool") && value_text_is(value_get(message, "tool_call_id"),
					    arena_printf(arena, "%c", 'a' + (int)call)),
	    "%u: %s", number, json_text(arena, message));
	if (is_lost) {
		ck_assert_msg(strcmp(tools[tool].name, "pay") == 0, "%u: %s", number,
		    json_text(arena, message));
		return;
	}
	ck_assert_msg(value_text_is(value_get(message, "content"),
			  arena_printf(arena, "%s done", tools[tool].name)),
	    "%u: %s", number, json_text(arena, message));
	/* What must not may be told instead: by a human, or to a subagent's model. */
	ck_assert_msg(effects->of[number][tool].times > 0 || leads ||
			  strcmp(tools[tool].name, "move") == 0,
	    "%u: %s was not done", number, tools[tool].name);
}

static void
check_thread(struct going *going, unsigned number, const struct effects *effects)
{
	struct storm *storm = &going->storm;
	const struct value *state = NULL, *messages;
	unsigned i;

	ck_assert_uint_eq(going->threads[number].failed, FAILURES);
	ck_assert_int_eq(store_thread(storm->client->store, storm->arena,
			     storm_thread(storm, number), &state),
	    STORE_OK);
	messages = value_get(state, "messages");
	ck_assert_msg(value_size(messages) == CALLS + 3, "%u: %s", number,
	    json_text(storm->arena, messages));
	for (i = 0; i < CALLS; i++)
		check_answer(going, number, effects, i, value_at(messages, 2 + i));
	ck_assert_str_eq(
	    value_get_text(value_at(messages, 2 + CALLS), "content"), "All is done.");
	verdict_history(storm, number, state);
}

static void
check(struct going *going)
{
	struct effects *effects = arena_alloc(going->storm.arena, sizeof *effects);
	unsigned i;

	effects->going = going;
	ledger_read(going->storm.ledger, check_line, effects);
	for (i = 1; i <= going->storm.runs; i++)
		check_thread(going, i, effects);
	verdict_leftovers(&going->storm);
}

/* --- what happens ----------------------------------------------------------------------- */

static unsigned
chosen(struct going *going, unsigned count)
{
	return (unsigned)rand_r(&going->seed) % count;
}

static void
play_kills(struct going *going)
{
	unsigned i;

	begin(going, THREADS);
	for (i = 0; i < 2 * KILLS; i++) {
		come_so_far(going, going->lines + 5 + chosen(going, 25));
		storm_replace(&going->storm, i % 2 == 0 ? KIT_COORDINATOR : KIT_TOOLS,
		    chosen(going, 2));
	}
	come_so_far(going, UINT32_MAX);
	check(going);
}

START_TEST(what_has_ended_stays_done_whoever_dies)
{
	act(play_kills, (unsigned)_i + 1);
}
END_TEST

/* How often the log of a run says that a call of that tool is uncertain, and that this follows. */
static unsigned
uncertain(struct going *going, const char *run, const char *tool, const char *then)
{
	struct storm *storm = &going->storm;
	const struct value *events = value_empty_array();
	unsigned count = 0;
	size_t i;

	store_events(storm->client->store, storm->arena, "t1", run, 0, 0, &events);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		count += value_text_is(value_get(event, "kind"), "uncertain") &&
			 value_text_is(value_get(event, "tool"), tool) &&
			 value_text_is(value_get(event, "then"), then);
	}
	return count;
}

/* All are under way when the coordinators die, when stumble fails, and when everything does. */
static void
play_policies(struct going *going)
{
	struct storm *storm = &going->storm;

	kit_write(storm->kit, "hold", "");
	kit_write(storm->kit, "wait", "");
	begin(going, 1);
	come_so_far(going, CALLS);
	storm_replace(storm, KIT_COORDINATOR, 0);
	storm_replace(storm, KIT_COORDINATOR, 1);
	unlink(going->wait);
	come_so_far(going, CALLS + 1); /* of the run that goes on */
	ck_assert_uint_eq(uncertain(going, "r1", "pay", "tell_model"), 1);
	ck_assert_uint_eq(uncertain(going, "r1", "move", "interrupt"), 1);
	kit_restart_all(storm->kit);
	unlink(going->hold);
	come_so_far(going, UINT32_MAX);
	check(going);
}

START_TEST(what_must_not_run_twice_follows_its_policy_behind_a_failure)
{
	act(play_policies, 1);
}
END_TEST

TCase *
tcase_go_on(void)
{
	TCase *tcase = tcase_create("go_on");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(
	    tcase, what_must_not_run_twice_follows_its_policy_behind_a_failure);
	tcase_add_loop_test(tcase, what_has_ended_stays_done_whoever_dies, 0, SEEDS);
	return tcase;
}
