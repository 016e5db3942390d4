/* Runs that take their coordinators down, what becomes of them, and what does not become of those that were
 * there. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "dead_bench.h"
#include "store_past.h"

TCase *tcase_dead(void);

/* The first call's answer is stored, by the first owner; the others find it so, and that is no progress of theirs. */
#define ASKING                                                                           \
	"lua: {code: \"function before_model(state, runtime) "                           \
	"runtime.call_model{messages = 'One?', model = 'scripted:quick'} end\"}, "       \
	"takes_down: {at: after_model}"

static const char mended_agent[] = "name: clerk\n"
				   "model: scripted:clerk\n"
				   "script:\n"
				   "  clerk:\n"
				   "    - {content: Said at last.}\n";
/* Owner after owner goes down with it; the last one, which takes it to no sixth, stays. */
static void
go_down(struct trouble *trouble)
{
	int i;

	for (i = 1; i <= DEAD_OWNERS; i++) {
		kit_wait(trouble->kit, KIT_COORDINATOR, 0);
		if (trouble->forgets) {
			kit_kill(trouble->kit, KIT_MODEL, 0);
			kit_kill(trouble->kit, KIT_BROKER, 0);
			kit_start(trouble->kit, KIT_BROKER, 0);
			kit_start(trouble->kit, KIT_MODEL, 0);
		}
		kit_spawn(trouble->kit, KIT_COORDINATOR, 0);
	}
	ck_assert(client_wait_end(trouble->client, "r", "r", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "r", "r"), "status"), "error");
}

static void
play_deadly(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	trouble_submit(trouble, "clerk", "r");
	go_down(trouble);
}

static void
play_retry(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "r", "r"), "retried"), "again");
	ck_assert(client_wait_end(client, "r", "again", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "r", "again"), "status"), "success");
}

/* Each owner sees it wait at peace, and die of what it waited for. */
START_TEST(an_answer_that_takes_coordinators_down_is_given_up)
{
	struct trouble trouble = trouble_new(ASKING);

	trouble.forgets = true;
	client_run(kit_redis(trouble.kit), play_deadly, &trouble);
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(trouble.kit, "runs", "--dead", NULL), "took 5 coordinators"));
	trouble_end(&trouble);
}
END_TEST

/* --- those that were there ------------------------------------------------------------- */

static void
play_company(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct claim_wait wait = { .trouble = trouble };
	int i;

	trouble->client = client;
	trouble_submit(trouble, "patient", "p");
	ck_assert(client_wait(client, trouble_calls, trouble, DEAD_WAIT_MS));
	trouble_submit(trouble, "clerk", "r");
	go_down(trouble);
	/* And some for no reason of any run's. */
	for (i = 0; i < DEAD_OWNERS - 2; i++) {
		wait.epoch = dead_epoch(trouble, "p");
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
		ck_assert(client_wait(client, trouble_rests, &wait, DEAD_WAIT_MS));
	}
	kit_write(trouble->kit, "let_go", "");
	ck_assert(client_wait_end(client, "p", "p", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "p", "p"), "status"), "success");
}

START_TEST(a_run_that_takes_coordinators_down_is_given_up_and_who_only_waits_is_not)
{
	struct trouble trouble = trouble_new(DEAD_BEFORE);
	const char *dead;

	client_run(kit_redis(trouble.kit), play_company, &trouble);
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

/* --- that nothing takes down ------------------------------------------------------------- */

#define SLOW "takes_down: {stands_ms: 2000}" /* longer than a lease */

static void
play_slow(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	trouble_submit(trouble, "clerk", "r");
	ck_assert(client_wait_end(client, "r", "r", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "r", "r"), "status"), "success");
}

/* Two that live take it from each other, until one has come to an end with its turn. */
START_TEST(a_run_whose_turns_are_longer_than_a_lease_ends)
{
	struct trouble trouble = trouble_new(SLOW);

	kit_start(trouble.kit, KIT_COORDINATOR, 1);
	client_run(kit_redis(trouble.kit), play_slow, &trouble);
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
				"  await-file there %s\n"
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
	       strcmp(dead_epoch(guilty->trouble, name), guilty->epoch) != 0 &&
	       (!guilty->rests || value_get_int(dead_record(guilty->trouble, name, name),
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
		guilty[i].epoch = dead_epoch(trouble, guilty[i].name);
		guilty[i].attempts = value_get_int(
		    dead_record(trouble, guilty[i].name, guilty[i].name), "attempts", 0);
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
		trouble_submit(
		    trouble, arena_printf(trouble->arena, "late-%s", name), name);
	}
	for (i = 0; i < ROUNDS; i++) {
		for (j = 0; j < GUILTY; j++) {
			guilty[j].rests = i >= DEAD_PROVED;
			ck_assert(client_wait(client, waits, &guilty[j], DEAD_WAIT_MS));
		}
		kit_write(trouble->kit, i % GUILTY == 0 ? "go_a" : "go_b", "");
		kit_wait(trouble->kit, KIT_COORDINATOR, 0);
		forget_all(trouble, guilty);
	}
	ck_assert(client_wait_end(client, "a", "a", DEAD_WAIT_MS));
	ck_assert_str_eq(
	    value_get_text(dead_record(trouble, "a", "a"), "status"), "error");
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
	struct trouble trouble = trouble_new(DEAD_BEFORE);

	kit_stop(trouble.kit, KIT_TOOLS, 0);
	kit_flag(trouble.kit, KIT_TOOLS, "--tools", write_late_tools(&trouble));
	kit_start(trouble.kit, KIT_TOOLS, 0);
	apply_late(&trouble, "a");
	apply_late(&trouble, "b");
	client_run(kit_redis(trouble.kit), play_turns, &trouble);
	trouble_end(&trouble);
}
END_TEST

TCase *
tcase_dead(void)
{
	TCase *tcase = tcase_create("dead");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_answer_that_takes_coordinators_down_is_given_up);
	tcase_add_test(tcase,
	    a_run_that_takes_coordinators_down_is_given_up_and_who_only_waits_is_not);
	tcase_add_test(tcase, a_run_whose_turns_are_longer_than_a_lease_ends);
	tcase_add_test(
	    tcase, who_rests_beside_another_that_is_to_blame_is_still_to_blame);
	return tcase;
}
