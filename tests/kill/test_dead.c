/* Runs that take their coordinators down, and what becomes of them. */
#include <check.h>
#include <string.h>

#include "fleet_client.h"
#include "fleet_kit.h"
#include "store_past.h"

TCase *tcase_dead(void);

#define WAIT_MS 60000u
#define OWNERS 5 /* that a run may take down */

static const char slow_agent[] = "name: clerk\n"
				 "model: scripted:clerk\n"
				 "script:\n"
				 "  clerk:\n"
				 "    - {delay_ms: 600000, content: Never said.}\n";
static const char mended_agent[] = "name: clerk\n"
				   "model: scripted:clerk\n"
				   "script:\n"
				   "  clerk:\n"
				   "    - {content: Said at last.}\n";

/* The first call's answer is stored; the second one's never comes. */
static const char asking_agent[] =
    "name: clerk\n"
    "model: scripted:clerk\n"
    "middleware:\n"
    "  - lua:\n"
    "      code: |\n"
    "        function before_agent(state, runtime)\n"
    "          runtime.call_model{messages = 'One?', model = 'scripted:quick'}\n"
    "          runtime.call_model{messages = 'Two?', model = 'scripted:slow'}\n"
    "        end\n"
    "script:\n"
    "  quick:\n"
    "    - {content: One.}\n"
    "  slow:\n"
    "    - {delay_ms: 600000, content: Never said.}\n"
    "  clerk:\n"
    "    - {content: Never asked.}\n";

struct trouble {
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct arena *arena;
	int64_t attempts;
	bool hook; /* it is one that asks */
};

static const struct value *
record(const struct trouble *trouble, const char *run)
{
	const struct value *record = NULL;

	store_run(trouble->client->store, trouble->arena, "t", run, &record);
	return record;
}

static bool
has_been_claimed(void *arg)
{
	const struct trouble *trouble = arg;
	const struct value *history = NULL;

	/* The first owner must have committed: progress of the second would begin the count anew. */
	store_history(trouble->client->store, trouble->arena, "t", &history);
	return value_size(history) > 0 &&
	       value_get_int(record(trouble, "r"), "attempts", 0) >= trouble->attempts;
}

static bool
has_stored(void *arg)
{
	const struct trouble *trouble = arg;
	const struct value *keys = NULL;

	return redis_text(trouble->client->redis, trouble->arena, WAIT_MS, &keys, "KEYS",
		   "*:r:r:w", NULL) == REDIS_OK &&
	       value_size(keys) == 1;
}

static void
play_main(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;
	struct arena *arena = trouble->arena;

	trouble->client = client;
	client_submit(client, arena,
	    value_map(arena, "agent", value_str(arena, "clerk"), "run",
		value_str(arena, "r"), "thread", value_str(arena, "t"), "input",
		value_str(arena, "\"Hello\""), NULL));
	/* The commit before the call is progress: it counts as the first attempt. */
	for (trouble->attempts = 1; trouble->attempts <= OWNERS; trouble->attempts++) {
		ck_assert_msg(client_wait(client, has_been_claimed, trouble, WAIT_MS),
		    "never claimed for the %d. time", (int)trouble->attempts);
		ck_assert(
		    !trouble->hook || client_wait(client, has_stored, trouble, WAIT_MS));
		kit_kill(trouble->kit, KIT_COORDINATOR, 0);
		kit_start(trouble->kit, KIT_COORDINATOR, 0);
	}
	ck_assert(client_wait_end(client, "t", "r", WAIT_MS));
}

static void
play_retry(struct fleet_client *client, void *arg)
{
	struct trouble *trouble = arg;

	trouble->client = client;
	ck_assert_str_eq(value_get_text(record(trouble, "r"), "retried"), "again");
	ck_assert(client_wait_end(client, "t", "again", WAIT_MS));
	ck_assert_str_eq(value_get_text(record(trouble, "again"), "status"), "success");
}

START_TEST(a_run_that_takes_coordinators_down_is_given_up_and_tried_again_by_hand)
{
	struct trouble trouble = { .kit = kit_new(), .arena = arena_new() };
	const char *dead;

	kit_start_all(trouble.kit, 0, 1, 1);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "clerk.yaml", slow_agent), NULL);
	client_run(kit_redis(trouble.kit), play_main, &trouble);
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
	/* The first call still runs at its worker, which would wait for it. */
	kit_kill(trouble.kit, KIT_MODEL, 0);
	kit_destroy(&trouble.kit);
	arena_destroy(&trouble.arena);
}
END_TEST

/* What it asked before is found stored by each owner, and is no progress of his. */
START_TEST(a_hook_that_asks_a_model_and_takes_coordinators_down_is_given_up)
{
	struct trouble trouble = { .kit = kit_new(), .arena = arena_new(), .hook = true };

	kit_start_all(trouble.kit, 0, 1, 1);
	kit_flotilla(trouble.kit, "agents", "apply",
	    kit_write(trouble.kit, "clerk.yaml", asking_agent), NULL);
	client_run(kit_redis(trouble.kit), play_main, &trouble);
	ck_assert_ptr_nonnull(strstr(
	    kit_flotilla(trouble.kit, "runs", "--dead", NULL), "took 5 coordinators"));
	/* As above. */
	kit_kill(trouble.kit, KIT_MODEL, 0);
	kit_destroy(&trouble.kit);
	arena_destroy(&trouble.arena);
}
END_TEST

TCase *
tcase_dead(void)
{
	TCase *tcase = tcase_create("dead");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase,
	    a_run_that_takes_coordinators_down_is_given_up_and_tried_again_by_hand);
	tcase_add_test(
	    tcase, a_hook_that_asks_a_model_and_takes_coordinators_down_is_given_up);
	return tcase;
}
