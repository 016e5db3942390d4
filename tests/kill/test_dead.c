/* Runs that take their coordinators down, what becomes of them, and what does not become of those that were
 * there. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "fiber.h"
#include "fleet_client.h"
#include "fleet_kit.h"
#include "store_past.h"

TCase *tcase_dead(void);

#define WAIT_MS 60000u
#define OWNERS 5 /* that a run may take down */
#define PROVED                                                                           \
	2 /* attempts of one that rests, however many there were (coordinator/suspects.h) */

static const char deadly_agent[] = "name: clerk\n"
				   "model: scripted:clerk\n"
				   "middleware: [%s]\n"
				   "script:\n"
				   "  clerk:\n"
				   "    - {delay_ms: 400, content: Never read.}\n"
				   "  quick:\n"
				   "    - {content: One.}\n";
static const char mended_agent[] = "name: clerk\n"
				   "model: scripted:clerk\n"
				   "script:\n"
				   "  clerk:\n"
				   "    - {content: Said at last.}\n";
static const char patient_agent[] = "name: patient\n"
				    "model: scripted:patient\n"
				    "tools: [hold]\n"
				    "script:\n"
				    "  patient:\n"
				    "    - tool_calls: [{id: a, name: hold, args: {}}]\n"
				    "    - {content: It was worth the wait.}\n";
static const char quick_agent[] = "name: quick\n"
				  "model: scripted:quick\n"
				  "script:\n"
				  "  quick:\n"
				  "    - {delay_ms: 400, content: Here.}\n";
static const char tools[] = "name: hold\n"
			    "description: holds until it is let go\n"
			    "timeout_ms: 600000\n"
			    "idempotent: false\n"
			    "input: none\n"
			    "command: |\n"
			    "  while [ ! -e %s ]; do sleep 0.05; done\n"
			    "  echo held\n"
			    "---\n"
			    "name: hold_any\n"
			    "description: the same, and may run twice\n"
			    "timeout_ms: 600000\n"
			    "input: none\n"
			    "command: |\n"
			    "  while [ ! -e %s ]; do sleep 0.05; done\n"
			    "  echo held\n";

#define WIDE 16
#define WIDE_RUNS 6
#define WIDE_STOPS 10

#define BEFORE "takes_down"
#define BEHIND "takes_down: {at: after_model}"
/* The first call's answer is stored, by the first owner; the others find it so, and that is no progress of theirs. */
#define ASKING                                                                           \
	"lua: {code: \"function before_model(state, runtime) "                           \
	"runtime.call_model{messages = 'One?', model = 'scripted:quick'} end\"}, "       \
	"takes_down"

#define ASLEEP                                                                           \
	"lua: {code: \"function before_model(state, runtime) "                           \
	"runtime.sleep(3600000) end\"}"

struct trouble {
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct arena *arena;
	const char *plugin, *let_go;
	bool forgets; /* nobody keeps the answer: it comes late, to each owner */
};

static const struct value *
record(const struct trouble *trouble, const char *thread, const char *run)
{
	const struct value *record = NULL;

	store_run(trouble->client->store, trouble->arena, thread, run, &record);
	return record;
}

/* Of the claim that the thread has had last; "": none. */
static const char *
epoch_of(const struct trouble *trouble, const char *thread)
{
	const struct value *epoch = NULL;

	ck_assert_int_eq(
	    redis_text(trouble->client->redis, trouble->arena, WAIT_MS, &epoch, "HGET",
		store_thread_key(trouble->arena, thread), "epoch", NULL),
	    REDIS_OK);
	return redis_reply_text(epoch) == NULL
		   ? ""
		   : arena_strdup(trouble->arena, redis_reply_text(epoch));
}

static struct trouble
trouble_new(const char *middleware)
{
	struct trouble trouble = { .kit = kit_new(), .arena = arena_new() };

	trouble.plugin = kit_built(trouble.kit, "plugins/takes_down.so");
	trouble.let_go = kit_path(trouble.kit, "let_go");
	kit_flag(trouble.kit, KIT_COORDINATOR, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_MODEL, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_TOOLS, "--plugin", trouble.plugin);
	kit_flag(trouble.kit, KIT_TOOLS, "--tools",
	    kit_write(trouble.kit, "tools.yaml",
		arena_printf(trouble.arena, tools, trouble.let_go, trouble.let_go)));
	kit_start_all(trouble.kit, 1, 1, 1);
	kit_flotilla(trouble.kit, "agents", "apply", "--plugin", trouble.plugin,
	    kit_write(trouble.kit, "clerk.yaml",
		arena_printf(trouble.arena, deadly_agent, middleware)),
	    NULL);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "patient.yaml", patient_agent), NULL);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "quick.yaml", quick_agent), NULL);
	return trouble;
}

static void
trouble_end(struct trouble *trouble)
{
	kit_destroy(&trouble->kit);
	arena_destroy(&trouble->arena);
}

static void
submit(struct trouble *trouble, const char *agent, const char *name)
{
	struct arena *arena = trouble->arena;

	client_submit(trouble->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, name), "thread", value_str(arena, name), "input",
		value_str(arena, "\"Hello\""), NULL));
}

/* Owner after owner goes down with it; the last one, which takes it to no sixth, stays. */
static void
go_down(struct trouble *trouble)
{
	int i;

	for (i = 1; i <= OWNERS; i++) {
		kit_wait(trouble->kit, KIT_COORDINATOR, 0);
		if (trouble->forgets) {
			kit_kill(trouble->kit, KIT_MODEL, 0);
			kit_kill(trouble->kit, KIT_BROKER, 0);
			kit_start(trouble->kit, KIT_BROKER, 0);
			kit_start(trouble->kit, KIT_MODEL, 0);
		}
		kit_spawn(trouble->kit, KIT_COORDINATOR, 0);
	}
	ck_assert(client_wait_end(trouble->client, "r", "r", WAIT_MS));
	ck_assert_str_eq(value_get_text(record(trouble, "r", "r"), "status"), "error");
}

static void
play_deadly(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	submit(trouble, "clerk", "r");
	go_down(trouble);
}

static void
play_retry(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	ck_assert_str_eq(value_get_text(record(trouble, "r", "r"), "retried"), "again");
	ck_assert(client_wait_end(client, "r", "again", WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(record(trouble, "r", "again"), "status"), "success");
}

START_TEST(a_run_that_takes_coordinators_down_is_given_up_and_tried_again_by_hand)
{
	struct trouble trouble = trouble_new(BEFORE);
	const char *dead;

	client_run(kit_redis(trouble.kit), play_deadly, &trouble);
	dead = kit_flotilla(trouble.kit, "runs", "--dead", NULL);
	ck_assert_ptr_nonnull(strstr(dead, "took 5 coordinators down"));
	ck_assert_ptr_nonnull(strstr(dead, "coordinator-0"));
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "clerk.yaml", mended_agent), NULL);
	ck_assert_str_eq(
	    kit_flotilla(trouble.kit, "retry", "r", "--run-id", "again", NULL),
	    "again\n");
	ck_assert_str_eq(
	    kit_flotilla(trouble.kit, "runs", "--dead", "--json", NULL), "[]\n");
	client_run(kit_redis(trouble.kit), play_retry, &trouble);
	trouble_end(&trouble);
}
END_TEST

START_TEST(a_hook_that_asks_a_model_and_takes_coordinators_down_is_given_up)
{
	struct trouble trouble = trouble_new(ASKING);

	client_run(kit_redis(trouble.kit), play_deadly, &trouble);
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(trouble.kit, "runs", "--dead", NULL), "took 5 coordinators"));
	trouble_end(&trouble);
}
END_TEST

/* Each owner sees it wait at peace, and die of what it waited for. */
START_TEST(an_answer_that_takes_coordinators_down_is_given_up)
{
	struct trouble trouble = trouble_new(BEHIND);

	trouble.forgets = true;
	client_run(kit_redis(trouble.kit), play_deadly, &trouble);
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(trouble.kit, "runs", "--dead", NULL), "took 5 coordinators"));
	trouble_end(&trouble);
}
END_TEST

/* --- several that are to blame ----------------------------------------------------------- */

#define GUILTY 2
#define ROUNDS                                                                           \
	7 /* two deaths before who is to blame is looked for, three and two of theirs */

static const char late_agent[] = "name: late-%s\n"
				 "model: scripted:late\n"
				 "tools: [hold_%s]\n"
				 "middleware: [takes_down: {at: behind_tool}]\n"
				 "script:\n"
				 "  late:\n"
				 "    - tool_calls: [{id: a, name: hold_%s, args: {}}]\n"
				 "    - {content: Never said.}\n";
static const char late_tool[] = "name: hold_%s\n"
				"description: holds until it is let go\n"
				"timeout_ms: 600000\n"
				"input: none\n"
				"command: |\n"
				"  touch %s\n"
				"  for i in $(seq 2000); do\n"
				"    [ -e %s ] && break; sleep 0.05\n"
				"  done\n"
				"  echo held\n";

struct guilty {
	struct trouble *trouble;
	const char *name, *at, *go, *epoch;
	int64_t attempts; /* before this claim */
	bool rests;       /* who is there for the third time does */
};

/* Its call is under way, and so it has done what it does before that. */
static bool
waits(void *arg)
{
	const struct guilty *guilty = arg;
	const char *name = guilty->name;

	return access(guilty->at, F_OK) == 0 &&
	       strcmp(epoch_of(guilty->trouble, name), guilty->epoch) != 0 &&
	       (!guilty->rests || value_get_int(record(guilty->trouble, name, name),
				      "attempts", 0) <= guilty->attempts);
}

/* All of them begin anew, and nobody knows what the calls came to. */
static void
forget_all(struct trouble *trouble, struct guilty *guilty)
{
	int i;

	kit_kill(trouble->kit, KIT_TOOLS, 0);
	kit_kill(trouble->kit, KIT_BROKER, 0);
	for (i = 0; i < GUILTY; i++) {
		unlink(guilty[i].at);
		unlink(guilty[i].go);
		guilty[i].epoch = epoch_of(trouble, guilty[i].name);
		guilty[i].attempts = value_get_int(
		    record(trouble, guilty[i].name, guilty[i].name), "attempts", 0);
	}
	kit_start(trouble->kit, KIT_BROKER, 0);
	kit_start(trouble->kit, KIT_TOOLS, 0);
	kit_spawn(trouble->kit, KIT_COORDINATOR, 0);
}

/* Each rests while the other one takes its owner down. */
static void
play_turns(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct guilty guilty[GUILTY];
	int i, j;

	trouble->client = client;
	for (i = 0; i < GUILTY; i++) {
		const char *name = i == 0 ? "a" : "b";

		guilty[i] = (struct guilty){ trouble, name,
			kit_path(
			    trouble->kit, arena_printf(trouble->arena, "at_%s", name)),
			kit_path(
			    trouble->kit, arena_printf(trouble->arena, "go_%s", name)),
			"", 0, false };
		submit(trouble, arena_printf(trouble->arena, "late-%s", name), name);
	}
	for (i = 0; i < ROUNDS; i++) {
		for (j = 0; j < GUILTY; j++) {
			guilty[j].rests = i >= PROVED;
			ck_assert(client_wait(client, waits, &guilty[j], WAIT_MS));
		}
		kit_write(trouble->kit, i % GUILTY == 0 ? "go_a" : "go_b", "");
		kit_wait(trouble->kit, KIT_COORDINATOR, 0);
		forget_all(trouble, guilty);
	}
	ck_assert(client_wait_end(client, "a", "a", WAIT_MS));
	ck_assert_str_eq(value_get_text(record(trouble, "a", "a"), "status"), "error");
	kit_kill(trouble->kit, KIT_TOOLS, 0);
}

static void
apply_late(struct trouble *trouble, const char *name)
{
	kit_flotilla(trouble->kit, "agents", "apply", "--plugin", trouble->plugin,
	    kit_write(trouble->kit, "late.yaml",
		arena_printf(trouble->arena, late_agent, name, name, name)),
	    NULL);
}

static const char *
write_late_tools(const struct trouble *trouble)
{
	struct arena *arena = trouble->arena;

	return kit_write(trouble->kit, "late_tools.yaml",
	    arena_printf(arena, "%s---\n%s",
		arena_printf(arena, late_tool, "a", kit_path(trouble->kit, "at_a"),
		    kit_path(trouble->kit, "go_a")),
		arena_printf(arena, late_tool, "b", kit_path(trouble->kit, "at_b"),
		    kit_path(trouble->kit, "go_b"))));
}

START_TEST(who_rests_beside_another_that_is_to_blame_is_still_to_blame)
{
	struct trouble trouble = trouble_new(BEFORE);

	kit_stop(trouble.kit, KIT_TOOLS, 0);
	kit_flag(trouble.kit, KIT_TOOLS, "--tools", write_late_tools(&trouble));
	kit_start(trouble.kit, KIT_TOOLS, 0);
	apply_late(&trouble, "a");
	apply_late(&trouble, "b");
	client_run(kit_redis(trouble.kit), play_turns, &trouble);
	trouble_end(&trouble);
}
END_TEST

/* --- those that were there ------------------------------------------------------------- */

static bool
calls(void *arg)
{
	const struct trouble *trouble = arg;
	const struct value *history = NULL;

	store_history(trouble->client->store, trouble->arena, "p", &history);
	return value_size(history) > 1; /* the model has asked for the tool */
}

struct claim_wait {
	struct trouble *trouble;
	const char *epoch; /* of the owner before */
};

static bool
rests(void *arg)
{
	const struct claim_wait *wait = arg;

	return strcmp(epoch_of(wait->trouble, "p"), wait->epoch) != 0 &&

	       value_get_int(record(wait->trouble, "p", "p"), "attempts", 0) <= PROVED;
}

static void
play_company(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct claim_wait wait = { .trouble = trouble };
	int i;

	trouble->client = client;
	submit(trouble, "patient", "p");
	ck_assert(client_wait(client, calls, trouble, WAIT_MS));
	submit(trouble, "clerk", "r");
	go_down(trouble);
	/* And some for no reason of any run's. */
	for (i = 0; i < OWNERS; i++) {
		wait.epoch = epoch_of(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		ck_assert(client_wait(client, rests, &wait, WAIT_MS));
	}
	kit_write(trouble->kit, "let_go", "");
	ck_assert(client_wait_end(client, "p", "p", WAIT_MS));
	ck_assert_str_eq(value_get_text(record(trouble, "p", "p"), "status"), "success");
}

START_TEST(who_only_waits_outlives_all_that_others_take_down)
{
	struct trouble trouble = trouble_new(BEFORE);

	client_run(kit_redis(trouble.kit), play_company, &trouble);
	trouble_end(&trouble);
}
END_TEST

static bool
is_claimed(void *arg)
{
	const struct claim_wait *wait = arg;

	return strcmp(epoch_of(wait->trouble, "p"), wait->epoch) != 0;
}

/* Owners are taken from p, one after the other, until it is a suspect at rest. */
static void
suspect(struct trouble *trouble, bool serves_models)
{
	struct claim_wait wait = { .trouble = trouble };
	int i;

	submit(trouble, "patient", "p");
	ck_assert(client_wait(trouble->client, calls, trouble, WAIT_MS));
	for (i = 1; i <= PROVED; i++) {
		wait.epoch = epoch_of(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		if (i == PROVED && !serves_models)
			kit_kill(trouble->kit, KIT_MODEL, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		ck_assert(client_wait(
		    trouble->client, i < PROVED ? is_claimed : rests, &wait, WAIT_MS));
	}
}

static const char *
wide_agent(struct arena *arena)
{
	const char *calls = "{id: c0, name: hold_any, args: {}}";
	int i;

	for (i = 1; i < WIDE; i++)
		calls = arena_printf(
		    arena, "%s, {id: c%d, name: hold_any, args: {}}", calls, i);
	return arena_printf(arena,
	    "name: wide\nmodel: scripted:wide\ntools: [hold_any]\nscript:\n  wide:\n"
	    "    - tool_calls: [%s]\n    - {content: All of it.}\n",
	    calls);
}

static const char *
wide_name(struct trouble *trouble, int i)
{
	return arena_printf(trouble->arena, "w%d", i);
}

static bool
all_call(void *arg)
{
	struct trouble *trouble = arg;
	const struct value *history;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		history = NULL;
		store_history(trouble->client->store, trouble->arena,
		    wide_name(trouble, i), &history);
		if (value_size(history) < 2)
			return false;
	}
	return true;
}

static bool
all_rest(void *arg)
{
	struct trouble *trouble = arg;
	const char *name;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		if (value_get_int(record(trouble, name, name), "attempts", 0) != PROVED)
			return false;
	}
	return true;
}

/* As if they had been taken over for the third time, by who was taken down, too. */
static void
blame_all(struct trouble *trouble)
{
	const char *name;
	int i;

	for (i = 0; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		kit_redis_cli(trouble->kit, 0, "HSET",
		    arena_printf(trouble->arena, "%sr:%s",
			store_prefix(trouble->arena, store_shard(name)), name),
		    "attempts", "3", NULL);
	}
}

/* Some are given back where they wait for their turn, or while they move. */
static void
play_wide(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	const char *name, *answer, *ended;
	int i;

	trouble->client = client;
	for (i = 0; i < WIDE_RUNS; i++)
		submit(trouble, "wide", wide_name(trouble, i));
	ck_assert(client_wait(client, all_call, trouble, WAIT_MS));
	kit_kill(trouble->kit, KIT_COORDINATOR, 0);
	blame_all(trouble);
	for (i = 0; i < WIDE_STOPS; i++) {
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		fiber_sleep((uint64_t)i * 150 % 1400);
		kit_stop(trouble->kit, KIT_COORDINATOR, 0);
	}
	kit_start(trouble->kit, KIT_COORDINATOR, 0);
	ck_assert(client_wait(client, all_rest, trouble, WAIT_MS));
	name = wide_name(trouble, 0);
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, name, name, &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, name, name, WAIT_MS));
	kit_write(trouble->kit, "let_go", "");
	for (i = 1; i < WIDE_RUNS; i++) {
		name = wide_name(trouble, i);
		ck_assert(client_wait_end(client, name, name, WAIT_MS));
		ck_assert_str_eq(
		    value_get_text(record(trouble, name, name), "status"), "success");
	}
}

START_TEST(suspects_of_many_calls_rest_and_go_on)
{
	struct trouble trouble = trouble_new(BEFORE);

	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "wide.yaml", wide_agent(trouble.arena)), NULL);
	client_run(kit_redis(trouble.kit), play_wide, &trouble);
	trouble_end(&trouble);
}
END_TEST

static bool
has_ended(void *arg)
{
	const struct trouble *trouble = arg;

	return value_text_is(value_get(record(trouble, "q", "q"), "status"), "success");
}

static bool
is_at_rest(void *arg)
{
	return value_get_int(record(arg, "p", "p"), "attempts", 0) <= PROVED;
}

/* It waits for somebody who serves its model, and goes on to its call, without any progress. */
static void
play_again(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	suspect(trouble, false);
	kit_start(trouble->kit, KIT_MODEL, 0);
	submit(trouble, "quick", "q"); /* by its end the model was served for long */
	ck_assert(client_wait(client, has_ended, trouble, WAIT_MS));
	ck_assert(client_wait(client, is_at_rest, trouble, WAIT_MS));
	kit_write(trouble->kit, "let_go", "");
	ck_assert(client_wait_end(client, "p", "p", WAIT_MS));
	ck_assert_str_eq(value_get_text(record(trouble, "p", "p"), "status"), "success");
}

START_TEST(who_has_rested_and_moved_rests_again)
{
	struct trouble trouble = trouble_new(BEFORE);

	client_run(kit_redis(trouble.kit), play_again, &trouble);
	trouble_end(&trouble);
}
END_TEST

/* Its third owner sees it sleep, too. */
static void
play_asleep(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct claim_wait wait = { .trouble = trouble, .epoch = "" };
	const char *answer, *ended;
	int i;

	trouble->client = client;
	submit(trouble, "clerk", "p");
	for (i = 1; i <= PROVED; i++) {
		ck_assert(client_wait(client, is_claimed, &wait, WAIT_MS));
		wait.epoch = epoch_of(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
	}
	ck_assert(client_wait(client, rests, &wait, WAIT_MS));
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, "p", "p", &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, "p", "p", WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(record(trouble, "p", "p"), "status"), "cancelled");
}

START_TEST(who_sleeps_in_a_hook_rests)
{
	struct trouble trouble = trouble_new(ASLEEP);

	client_run(kit_redis(trouble.kit), play_asleep, &trouble);
	trouble_end(&trouble);
}
END_TEST

static void
play_cancelled(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	const char *answer, *ended;

	trouble->client = client;
	suspect(trouble, true);
	ck_assert_int_eq(
	    store_cancel(client->store, trouble->arena, "p", "p", &answer, &ended),
	    STORE_OK);
	ck_assert(client_wait_end(client, "p", "p", WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(record(trouble, "p", "p"), "status"), "cancelled");
	ck_assert_int_eq(
	    value_get_int(record(trouble, "p", "p"), "attempts", 0), PROVED + 1);
}

START_TEST(who_is_cancelled_at_rest_moves_to_its_end)
{
	struct trouble trouble = trouble_new(BEFORE);

	client_run(kit_redis(trouble.kit), play_cancelled, &trouble);
	trouble_end(&trouble);
}
END_TEST

TCase *
tcase_dead(void)
{
	TCase *tcase = tcase_create("dead");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(
	    tcase, who_rests_beside_another_that_is_to_blame_is_still_to_blame);
	tcase_add_test(tcase,
	    a_run_that_takes_coordinators_down_is_given_up_and_tried_again_by_hand);
	tcase_add_test(
	    tcase, a_hook_that_asks_a_model_and_takes_coordinators_down_is_given_up);
	tcase_add_test(tcase, an_answer_that_takes_coordinators_down_is_given_up);
	tcase_add_test(tcase, who_only_waits_outlives_all_that_others_take_down);
	tcase_add_test(tcase, who_has_rested_and_moved_rests_again);
	tcase_add_test(tcase, who_sleeps_in_a_hook_rests);
	tcase_add_test(tcase, suspects_of_many_calls_rest_and_go_on);
	tcase_add_test(tcase, who_is_cancelled_at_rest_moves_to_its_end);
	return tcase;
}
