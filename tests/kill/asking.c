#include "asking.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "ledger.h"
#include "literal.h"
#include "verdict.h"

#define ASKS(at) "asks_human: {at: " at ", questions: [{sure: 1}]}"
#define REVIEWED(more)                                                                   \
	"human_in_the_loop: {interrupt_on: {note: true, calculate: true}" more "}"

/* Who asks, and which tool has the effect. goes_on: this is of the run that goes on. decides: the
 * answer is a decision about the call. noticed: it puts the tool in the place of another one, which may
 * run twice, and the model is told. */
static const struct kind {
	const char *name, *middleware, *tool;
	bool in_hook, goes_on, noticed;
	const char *decides;
} kinds[] = {
	{ "before", ASKS("before_agent"), "note", .in_hook = true, .goes_on = true },
	{ "behind", ASKS("after_agent"), "note", .in_hook = true },
	{ "wrap", ASKS("wrap_tool_call"), "note", .in_hook = false },
	{ "tool", ASKS("nowhere"), "pay", .in_hook = false },
	{ "batched", REVIEWED(""), "note", .goes_on = true,
	    .decides = "{\"decisions\":[{\"type\":\"approve\"}]}" },
	{ "noticed", REVIEWED(", edit_notice: Edited."), "note", .goes_on = true,
	    .noticed = true,
	    .decides = "{\"decisions\":[{\"type\":\"edit\",\"edited_action\":{"
		       "\"name\":\"note\",\"args\":{\"n\":7}}}]}" },
	{ "per_call", REVIEWED(", interrupt_mode: per_call"), "note",
	    .decides = "{\"type\":\"approve\"}" },
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const char agent[] = "name: %s\n"
			    "model: scripted:m\n"
			    "middleware: [%s]\n"
			    "tools: [%s, calculate]\n"
			    "script:\n"
			    "  m:\n"
			    "    - delay_ms: 400\n"
			    "      tool_calls: [{id: a, name: %s, args: {}}]\n"
			    "    - delay_ms: 200\n"
			    "      content: All is done.\n"
			    "---\n";

/* The effect is the line in the ledger. */
static const char tools[] =
    "name: note\n"
    "description: notes\n"
    "idempotent: %s\n"
    "input: none\n"
    "command: |\n"
    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
    "  echo \"note $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
    "  exec await-file gone %s 0 noted\n"
    "---\n"
    "name: pay\n"
    "description: pays when a human says so\n"
    "interrupts: true\n"
    "idempotent: %s\n"
    "input: none\n"
    "command: |\n"
    "  [ -n \"$FLOTILLA_ANSWER\" ] || { echo '{\"sure\": 1}'; exit 75; }\n"
    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
    "  echo \"pay $FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
    "  exec await-file gone %s 0 \"$FLOTILLA_ANSWERS\"\n";

static const struct kind *
kind_of(unsigned number)
{
	return &kinds[number % KINDS];
}

static bool
asks_in_tool(unsigned number)
{
	return strcmp(kind_of(number)->tool, "pay") == 0;
}

static const char *
all_agents(struct arena *arena)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < KINDS; i++)
		text = arena_printf(arena, "%s%s", text,
		    arena_printf(arena, agent, kinds[i].name, kinds[i].middleware,
			kinds[i].tool, kinds[i].noticed ? "calculate" : kinds[i].tool));
	return text;
}

static void
play_main(struct fleet_client *client, void *arg)
{
	struct asking *asking = arg;

	asking->storm.client = client;
	asking->play(asking);
}

void
asking_play(struct asking asking, unsigned tool_workers)
{
	static const enum kit_kind users[] = { KIT_TOOLS, KIT_MODEL, KIT_COORDINATOR };
	static const struct storm_plan plan = { .coordinators = 2 };
	struct storm *storm = &asking.storm;
	const char *plugin, *idempotent = asking.once ? "false" : "true";
	size_t i;

	*storm = (struct storm){ .plan = &plan, .arena = arena_new(), .kit = kit_new() };
	storm->ledger = kit_path(storm->kit, "ledger");
	asking.hold = kit_path(storm->kit, "hold");
	plugin = kit_built(storm->kit, "plugins/asks_human.so");
	kit_flag(storm->kit, KIT_TOOLS, "--tools",
	    kit_write(storm->kit, "tools.yaml",
		arena_printf(storm->arena, tools, idempotent, storm->ledger, asking.hold,
		    idempotent, storm->ledger, asking.hold)));
	kit_flag(storm->kit, KIT_TOOLS, "--slots", "16");
	for (i = 0; i < sizeof users / sizeof *users; i++)
		kit_flag(storm->kit, users[i], "--plugin", plugin);
	kit_start_all(storm->kit, tool_workers, 1, plan.coordinators);
	kit_flotilla(storm->kit, "agents", "apply", "--plugin", plugin,
	    kit_write(storm->kit, "agents.yaml", all_agents(storm->arena)), NULL);
	client_run(kit_redis(storm->kit), play_main, &asking);
	kit_destroy(&storm->kit);
	arena_destroy(&storm->arena);
}

/* --- questions and answers ------------------------------------------------------------ */

static void
submit(struct asking *asking, const char *what,
    const char *(*text)(struct arena *, unsigned))
{
	struct storm *storm = &asking->storm;
	struct arena *arena = storm->arena;
	unsigned i;

	for (i = 1; i <= STORM_RUNS; i++)
		client_submit(storm->client, arena,
		    value_map(arena, "agent", value_str(arena, kind_of(i)->name), "run",
			value_str(arena, storm_run(storm, i)), "thread",
			value_str(arena, storm_thread(storm, i)), what,
			value_str(arena, text(arena, i)), NULL));
	storm->runs = STORM_RUNS;
}

static const char *
greeting(struct arena *arena, unsigned number)
{
	return arena_printf(arena, "\"Hello, %u.\"", number);
}

static const char *
answer_to(struct arena *arena, unsigned number)
{
	const char *decides = kind_of(number)->decides;

	return decides != NULL ? decides : arena_printf(arena, "\"yes, %u\"", number);
}

static const struct value *
record_of(struct storm *storm, unsigned number)
{
	const struct value *record = NULL;

	store_run(storm->client->store, storm->arena, storm_thread(storm, number),
	    storm_run(storm, number), &record);
	return record;
}

static const struct value *
wait_end(struct storm *storm, unsigned number, const char *status)
{
	const struct value *record;

	ck_assert_msg(client_wait_end(storm->client, storm_thread(storm, number),
			  storm_run(storm, number), STORM_WAIT_MS),
	    "%s never ended", storm_run(storm, number));
	record = record_of(storm, number);
	ck_assert_msg(value_text_is(value_get(record, "status"), status),
	    "%s is not %s: %s", storm_run(storm, number), status,
	    json_text(storm->arena, record));
	return record;
}

void
asking_ask(struct asking *asking)
{
	submit(asking, "input", greeting);
}

void
asking_wait_asked(struct asking *asking)
{
	const struct value *interrupts;
	unsigned i;

	for (i = 1; i <= STORM_RUNS; i++) {
		interrupts =
		    value_get(wait_end(&asking->storm, i, "interrupted"), "interrupts");
		ck_assert_uint_eq(value_size(interrupts), 1);
		if (kind_of(i)->decides == NULL)
			ck_assert_value(asking->storm.arena,
			    value_get(value_at(interrupts, 0), "value"), "{'sure': 1}");
	}
}

/* From now on the runs looked at are those that go on: a1, ... */
void
asking_answer(struct asking *asking)
{
	asking->storm.prefix = "a";
	submit(asking, "resume", answer_to);
}

void
asking_hold(struct asking *asking)
{
	kit_write(asking->storm.kit, "hold", "");
}

void
asking_let_go_on(struct asking *asking)
{
	remove(asking->hold);
}

struct goal {
	struct asking *asking;
	const char *status; /* counts runs that are that far */
	unsigned wanted, count;
};

static bool
have_status(void *arg)
{
	struct goal *goal = arg;
	unsigned i;

	goal->count = 0;
	for (i = 1; i <= STORM_RUNS; i++) {
		const struct value *record = record_of(&goal->asking->storm, i);

		goal->count += value_text_is(value_get(record, "status"), goal->status) &&
			       storm_events(&goal->asking->storm, i) >= 2;
	}
	return goal->count >= goal->wanted;
}

void
asking_wait_status(struct asking *asking, const char *status, unsigned wanted)
{
	struct goal goal = { .asking = asking, .status = status, .wanted = wanted };

	ck_assert_msg(
	    client_wait(asking->storm.client, have_status, &goal, STORM_WAIT_MS),
	    "only %u runs are %s", goal.count, status);
}

struct worker_count {
	const struct asking *asking;
	int worker;
	unsigned begun, wanted;
};

static void
count_of_worker(const char *tool, const char *key, int worker, void *arg)
{
	struct worker_count *count = arg;

	(void)tool;
	(void)key;
	count->begun += worker == count->worker;
}

static bool
has_begun(void *arg)
{
	struct worker_count *count = arg;

	count->begun = 0;
	ledger_read(count->asking->storm.ledger, count_of_worker, count);
	return count->begun >= count->wanted;
}

/* Answers all, and waits until the tool worker has begun a call that was answered; none ends
 * before asking_let_go_on. */
void
asking_answer_until_begun(struct asking *asking, unsigned worker)
{
	struct worker_count count = { .asking = asking,
		.worker = (int)kit_pid(asking->storm.kit, KIT_TOOLS, worker) };

	has_begun(&count);
	count.wanted = count.begun + 1;
	asking_hold(asking);
	asking_answer(asking);
	ck_assert_msg(client_wait(asking->storm.client, has_begun, &count, STORM_WAIT_MS),
	    "tool worker %u has begun no call that was answered", worker);
}

/* --- what must hold ------------------------------------------------------------------- */

/* The log of the run that went on is numbered 1, 2, ..., and has that answer in it once. */
static void
check_events(struct asking *asking, unsigned number)
{
	struct storm *storm = &asking->storm;
	const struct value *events = NULL;
	unsigned decided = 0, finished = 0;
	size_t i;

	ck_assert_int_eq(
	    store_events(storm->client->store, storm->arena, storm_thread(storm, number),
		storm_run(storm, number), 0, 0, &events),
	    STORE_OK);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		ck_assert_int_eq(value_get_int(event, "seq", 0), (int64_t)i + 1);
		finished += value_text_is(value_get(event, "kind"), "finished");
		if (!value_text_is(value_get(event, "kind"), "decided"))
			continue;
		decided++;
		ck_assert_str_eq(json_text(storm->arena, value_get(event, "answer")),
		    answer_to(storm->arena, number));
	}
	ck_assert_msg(decided == 1 && finished == 1, "run %u: events are %s", number,
	    json_text(storm->arena, events));
}

/* The answer got where it was asked for: to the program, or into the hook's field. */
static void
check_answer(struct asking *asking, unsigned number, const struct value *record,
    const struct value *tool_message)
{
	struct arena *arena = asking->storm.arena;
	const struct value *answers = value_get(value_get(record, "output"), "answers");
	const char *given = arena_printf(arena, "[%s]", answer_to(arena, number));
	bool lost =
	    value_get_bool(value_get(tool_message, "artifact"), "uncertain", false);

	ck_assert(lost ? asking->once
		       : value_text_is(value_get(tool_message, "status"), "success"));
	asking->lost[number] = lost;
	if (!asks_in_tool(number) && kind_of(number)->decides == NULL &&
	    (!lost || kind_of(number)->in_hook))
		ck_assert_str_eq(json_text(arena, answers), given);
	if (lost)
		return;
	if (kind_of(number)->noticed)
		given = "Edited.\nExecuted instead: note with arguments "
			"{\"n\":7}.\n\nTool response:\nnoted";
	else if (!asks_in_tool(number))
		given = "noted";
	ck_assert_str_eq(value_get_text(tool_message, "content"), given);
}

static void
check_run(struct asking *asking, unsigned number)
{
	static const char *const types[] = { "human", "ai", "tool", "ai" };
	struct storm *storm = &asking->storm;
	const struct value *record = wait_end(storm, number, "success"), *state = NULL,
			   *messages;
	size_t i;

	ck_assert_int_eq(store_thread(storm->client->store, storm->arena,
			     storm_thread(storm, number), &state),
	    STORE_OK);
	messages = value_get(state, "messages");
	ck_assert_str_eq(value_get_text(state, "run"), "");
	ck_assert_msg(value_size(messages) == 4, "run %u: messages are %s", number,
	    json_text(storm->arena, messages));
	for (i = 0; i < 4; i++)
		ck_assert(
		    value_text_is(value_get(value_at(messages, i), "type"), types[i]));
	ck_assert_str_eq(
	    value_get_text(value_at(messages, 3), "content"), "All is done.");
	check_answer(asking, number, record, value_at(messages, 2));
	check_events(asking, number);
	verdict_history(storm, number, state);
}

struct effect {
	char key[256];
	unsigned times;
};

struct effects {
	struct asking *asking;
	struct effect of[STORM_RUNS + 1];
};

/* All starts for one run have one key; only of what may run twice there are several. */
static void
note_effect(const char *tool, const char *key, int worker, void *arg)
{
	struct effects *effects = arg;
	struct effect *effect;
	unsigned number = 0;

	(void)worker;
	ck_assert_int_eq(sscanf(key, "%*[ra]%u.", &number), 1);
	ck_assert(number >= 1 && number <= STORM_RUNS);
	/* Of the run that first wanted it. */
	ck_assert_msg(key[0] == (kind_of(number)->goes_on ? 'a' : 'r'),
	    "run %u: %s has the key %s", number, tool, key);
	effect = &effects->of[number];
	ck_assert_msg(effect->times == 0 || strcmp(effect->key, key) == 0,
	    "run %u: %s has the keys %s and %s", number, tool, effect->key, key);
	snprintf(effect->key, sizeof effect->key, "%s", key);
	effect->times++;
	ck_assert_msg(effect->times == 1 ||
			  (effects->asking->worker_dies && !effects->asking->once),
	    "run %u: %s was done twice", number, tool);
}

static void
check_effects(struct asking *asking)
{
	struct effects effects = { .asking = asking };
	unsigned i;

	ledger_read(asking->storm.ledger, note_effect, &effects);
	for (i = 1; i <= STORM_RUNS; i++) {
		ck_assert_msg(effects.of[i].times > 0 || asking->lost[i],
		    "run %u: nothing was done", i);
		/* A coordinator may die between noting that it sends a call and sending it. */
		ck_assert_msg(
		    effects.of[i].times == 0 || !asking->lost[i] || asking->worker_dies,
		    "run %u: what was done is told as lost", i);
	}
}

void
asking_check(struct asking *asking)
{
	unsigned i;

	for (i = 1; i <= STORM_RUNS; i++)
		check_run(asking, i);
	check_effects(asking);
	verdict_leftovers(&asking->storm);
}
