#include "storm.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "everything.h"
#include "fiber.h"
#include "verdict.h"

/* Two rounds of tools at once; the first call of a round takes longer, so that results do not
 * arrive in call order. A run takes about two seconds. */
#define FIRST_MS 400u
/* No tool ends before there is this file: however slow the machine is, no run is over before all are
 * in flight. */
#define GATE "gate"
static const char agent_text[] =
    "name: clerk\n"
    "model: scripted:clerk\n"
    "tools: [note]\n"
    "script:\n"
    "  clerk:\n"
    "    - delay_ms: %u\n"
    "      content: Two notes first.\n"
    "      tool_calls:\n"
    "        - {id: a, name: note, args: {text: alpha, seconds: 0.4}}\n"
    "        - {id: b, name: note, args: {text: beta, seconds: 0.2}}\n"
    "    - delay_ms: 300\n"
    "      content: ''\n"
    "      tool_calls:\n"
    "        - {id: c, name: note, args: {text: gamma, seconds: 0.3}}\n"
    "        - {id: d, name: note, args: {text: delta, seconds: 0.1}}\n"
    "    - delay_ms: 300\n"
    "      content: All is noted.\n";

static const char tool_text[] =
    "name: note\n"
    "description: notes a text, after a while\n"
    "parameters:\n"
    "  properties: {text: {type: string}, seconds: {type: number}}\n"
    "  required: [text, seconds]\n"
    "idempotent: %s\n"
    "input: none\n"
    "command: |\n"
    "  read -r _ _ _ starter _ </proc/$PPID/stat\n"
    "  read -r _ _ _ worker _ </proc/$starter/stat\n"
    "  echo \"$FLOTILLA_IDEMPOTENCY_KEY $worker\" >> %s\n"
    "  exec await-file there %s \"$ARG_SECONDS\" \"noted $ARG_TEXT\"\n";

const char *
storm_run(struct storm *storm, unsigned number)
{
	return arena_printf(
	    storm->arena, "%s%u", storm->prefix != NULL ? storm->prefix : "r", number);
}

const char *
storm_thread(struct storm *storm, unsigned number)
{
	return arena_printf(storm->arena, "t%u", number);
}

/* --- how far they are --------------------------------------------------------------------- */

static const struct value *
record(struct storm *storm, unsigned number)
{
	const struct value *record = NULL;

	/* Until the inbox has been read there is none. */
	store_run(storm->client->store, storm->arena, storm_thread(storm, number),
	    storm_run(storm, number), &record);
	return record;
}

int64_t
storm_events(struct storm *storm, unsigned number)
{
	const struct value *reply = NULL;

	/* Its record counts them only when it is over. */
	if (redis_text(storm->client->redis, storm->arena, STORM_WAIT_MS, &reply, "XLEN",
		arena_printf(storm->arena, "%s:e",
		    store_run_key(storm->arena, storm_thread(storm, number),
			storm_run(storm, number))),
		NULL) != REDIS_OK ||
	    !value_is(reply, VALUE_INT))
		return 0;
	return reply->integer;
}

struct goal {
	struct storm *storm;
	unsigned per_cent;
	const char *owner;
	const char *line;
};

static bool
have_got_so_far(void *arg)
{
	struct goal *goal = arg;
	struct storm *storm = goal->storm;
	int64_t events = 0;
	unsigned i;

	for (i = 1; i <= storm->runs; i++)
		events += storm_events(storm, i);
	return events * 100 >=
	       (int64_t)verdict_events(storm) * storm->runs * goal->per_cent;
}

void
storm_wait(struct storm *storm, unsigned per_cent)
{
	struct goal goal = { .storm = storm, .per_cent = per_cent };

	if (!client_wait(storm->client, have_got_so_far, &goal, STORM_WAIT_MS))
		ck_abort_msg("the runs never got to %u per cent", per_cent);
}

static bool
is_in_ledger(void *arg)
{
	const struct goal *goal = arg;
	FILE *file = fopen(goal->storm->ledger, "re");
	char line[256];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
		found = strstr(line, goal->line) != NULL;
	if (file != NULL)
		fclose(file);
	return found;
}

void
storm_wait_tool(struct storm *storm, unsigned index)
{
	struct goal goal = { .storm = storm,
		.line = arena_printf(
		    storm->arena, " %d\n", (int)kit_pid(storm->kit, KIT_TOOLS, index)) };

	if (!client_wait(storm->client, is_in_ledger, &goal, STORM_WAIT_MS))
		ck_abort_msg("tool worker %u never ran a tool", index);
}

/* --- who has them --------------------------------------------------------------------------- */

/* The name of the coordinator that has begun a run, or NULL. */
static const char *
beginner(struct storm *storm, unsigned number)
{
	const struct value *events = NULL;
	size_t i;

	store_events(storm->client->store, storm->arena, storm_thread(storm, number),
	    storm_run(storm, number), 0, 0, &events);
	for (i = 0; i < value_size(events); i++)
		if (value_text_is(value_get(value_at(events, i), "kind"), "started"))
			return value_get_text(value_at(events, i), "coordinator");
	return NULL;
}

unsigned
storm_moved(struct storm *storm)
{
	unsigned moved = 0, i;

	for (i = 1; i <= storm->runs; i++)
		moved += !value_text_is(
		    value_get(record(storm, i), "coordinator"), beginner(storm, i));
	return moved;
}

static bool
goes_on(struct storm *storm, unsigned number)
{
	return value_text_is(value_get(record(storm, number), "status"), "running");
}

static unsigned
busiest(struct storm *storm, bool with_ended)
{
	unsigned begun[KIT_INDEX_MAX] = { 0 }, best = 0, i, j;

	for (i = 1; i <= storm->runs; i++) {
		const char *name = beginner(storm, i);

		for (j = 0; j < storm->plan->coordinators; j++)
			if (name != NULL && (with_ended || goes_on(storm, i)) &&
			    strcmp(name, kit_name(storm->kit, KIT_COORDINATOR, j)) == 0)
				begun[j]++;
	}
	for (j = 1; j < storm->plan->coordinators; j++)
		if (begun[j] > begun[best])
			best = j;
	ck_assert_msg(begun[best] > 0, "no coordinator has a run");
	return best;
}

unsigned
storm_busiest(struct storm *storm)
{
	return busiest(storm, false);
}

unsigned
storm_beginner(struct storm *storm)
{
	return busiest(storm, true);
}

const char *
storm_owner(struct storm *storm, unsigned index)
{
	const char *name = kit_name(storm->kit, KIT_COORDINATOR, index);
	unsigned i;

	for (i = 1; i <= storm->runs; i++) {
		const char *begun_by = beginner(storm, i);

		if (begun_by != NULL && strcmp(begun_by, name) == 0)
			return value_get_text(record(storm, i), "owner");
	}
	ck_abort_msg("%s has begun no run", name);
	return NULL;
}

static bool
holds_nothing(void *arg)
{
	const struct goal *goal = arg;
	unsigned i;

	for (i = 1; i <= goal->storm->runs; i++) {
		const struct value *run = record(goal->storm, i);

		if (value_text_is(value_get(run, "status"), "running") &&
		    value_text_is(value_get(run, "owner"), goal->owner))
			return false;
	}
	return true;
}

void
storm_wait_taken(struct storm *storm, const char *owner)
{
	struct goal goal = { .storm = storm, .owner = owner };

	ck_assert_msg(client_wait(storm->client, holds_nothing, &goal, STORM_WAIT_MS),
	    "nobody took over what a coordinator left behind");
}

/* --- doing ---------------------------------------------------------------------------------- */

void
storm_submit(struct storm *storm, unsigned count)
{
	struct arena *arena = storm->arena;

	for (; count > 0; count--) {
		unsigned number = ++storm->runs;

		client_submit(storm->client, arena,
		    value_map(arena, "agent", value_str(arena, "clerk"), "run",
			value_str(arena, storm_run(storm, number)), "thread",
			value_str(arena, storm_thread(storm, number)), "input",
			value_printf(arena, "\"%s\"", verdict_input(arena, number)),
			NULL));
	}
}

void
storm_replace(struct storm *storm, enum kit_kind kind, unsigned index)
{
	kit_kill(storm->kit, kind, index);
	kit_start(storm->kit, kind, index);
}

void
storm_roll(struct storm *storm, enum kit_kind kind, unsigned index)
{
	kit_stop(storm->kit, kind, index);
	kit_start(storm->kit, kind, index);
}

static bool
all_begun(void *arg)
{
	struct storm *storm = arg;
	unsigned i;

	for (i = 1; i <= storm->runs; i++)
		if (storm_events(storm, i) < 2)
			return false;
	return true;
}

/* The storm must not come too late to do any harm. */
static void
require_in_flight(struct storm *storm)
{
	unsigned i;

	for (i = 1; i <= storm->runs; i++)
		ck_assert_msg(goes_on(storm, i), "run %u is not in flight", i);
}

static void
play_main(struct fleet_client *client, void *arg)
{
	struct storm *storm = arg;
	unsigned i;

	storm->client = client;
	storm_submit(storm, STORM_RUNS);
	ck_assert_msg(client_wait(client, all_begun, storm, STORM_WAIT_MS),
	    "the runs were never begun");
	require_in_flight(storm);
	kit_write(storm->kit, GATE, "");
	storm->plan->happen(storm);
	for (i = 1; i <= storm->runs; i++)
		ck_assert_msg(client_wait_end(client, storm_thread(storm, i),
				  storm_run(storm, i), STORM_WAIT_MS),
		    "run %u never ended", i);
	verdict_check(storm);
}

static void
write_agent(struct storm *storm)
{
	unsigned first_ms = storm->plan->first_ms > 0 ? storm->plan->first_ms : FIRST_MS;
	const char *text = arena_printf(storm->arena, agent_text, first_ms);

	if (storm->plan->everything)
		text = arena_printf(storm->arena, "%s%s  spare: [{content: Never.}]\n%s",
		    text, everything_script,
		    everything_middleware(storm->arena, kit_path(storm->kit, ".")));
	kit_write(storm->kit, "clerk.yaml", text);
}

static void
write_files(struct storm *storm)
{
	const char *once = storm->plan->once_tools ? "false" : "true";

	storm->ledger = kit_path(storm->kit, "ledger");
	kit_flag(storm->kit, KIT_TOOLS, "--tools",
	    kit_write(storm->kit, "note.yaml",
		arena_printf(storm->arena, tool_text, once, storm->ledger,
		    kit_path(storm->kit, GATE))));
	/* Fewer than there are calls: some wait at the broker. A hundred processes at once would
	 * also keep a busy machine from hearing anybody's heartbeats. */
	kit_flag(storm->kit, KIT_TOOLS, "--slots", "16");
	write_agent(storm);
}

void
storm_play(const struct storm_plan *plan)
{
	struct storm storm = { .plan = plan, .arena = arena_new(), .kit = kit_new() };

	write_files(&storm);
	if (plan->hub)
		kit_have_hub(storm.kit);
	if (plan->replica)
		kit_have_replica(storm.kit);
	if (plan->everysec)
		kit_flag(storm.kit, KIT_REDIS, "--appendfsync", "everysec");
	if (plan->coordinator_flag != NULL)
		kit_flag(storm.kit, KIT_COORDINATOR, plan->coordinator_flag,
		    plan->coordinator_value);
	if (plan->replica) {
		kit_start(storm.kit, KIT_REDIS, 0);
		kit_start(storm.kit, KIT_REDIS, 1);
	}
	kit_set_brokers(storm.kit, plan->brokers > 0 ? plan->brokers : 1);
	kit_start_all(storm.kit, plan->tools, plan->models, plan->coordinators);
	kit_flotilla(
	    storm.kit, "agents", "apply", kit_path(storm.kit, "clerk.yaml"), NULL);
	client_run(kit_redis(storm.kit), play_main, &storm);
	kit_destroy(&storm.kit);
	arena_destroy(&storm.arena);
}
