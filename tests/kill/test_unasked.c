/* Calls that are cancelled while nobody wants their run to be: it goes on. */
#include <check.h>
#include <string.h>

#include "child_bench.h"
#include "effects_bench.h"
#include "fiber.h"
#include "links.h"

TCase *tcase_unasked(void);

#define EPOCH_BEFORE_ALL (UINT64_C(1) << 52) /* by a claim in 2112 */
#define AGAIN_MS 100u

/* --- by who owned the run before ---------------------------------------------------------- */

/* One that speaks for a run without owning it: it has lost it, and does not know. */
struct deposed {
	struct links *links;
	bool heard[2]; /* that call r1.2.<n> has ended as cancelled */
};

static void
on_message(void *arg, uint32_t link, const struct header *header, struct parts *bodies)
{
	struct deposed *deposed = arg;

	(void)link;
	(void)bodies;
	if (header->type != MSG_RESULT)
		return;
	ck_assert_uint_eq(header->code, CODE_CANCELLED);
	deposed->heard[0] = deposed->heard[0] || strcmp(header->call_id, "r1.2.0") == 0;
	deposed->heard[1] = deposed->heard[1] || strcmp(header->call_id, "r1.2.1") == 0;
}

static void
say_cancel(struct deposed *deposed, const char *call)
{
	const struct header header = { .type = MSG_CANCEL,
		.call_id = call,
		.run = "r1",
		.epoch = EPOCH_BEFORE_ALL };

	links_send(deposed->links, 0, &header, NULL);
}

static bool
have_ended(void *arg)
{
	struct deposed *deposed = arg;

	if (!deposed->heard[0])
		say_cancel(deposed, "r1.2.0");
	if (!deposed->heard[1])
		say_cancel(deposed, "r1.2.1");
	return deposed->heard[0] && deposed->heard[1];
}

static void
cancel_both(struct scene *scene)
{
	struct deposed deposed = { 0 };
	const char *const endpoints[] = { kit_broker(scene->kit), NULL };
	const struct links_options options = { .endpoints = endpoints,
		.role = ROLE_COORDINATOR,
		.name = "deposed",
		.on_message = on_message,
		.arg = &deposed };
	const char *wrong, *allowed;

	deposed.links = links_new(scene->client->loop, &options, &wrong, &allowed);
	ck_assert(client_wait(scene->client, have_ended, &deposed, FX_WAIT_MS));
	links_destroy(&deposed.links);
}

/* Its outcomes lie at the broker when the next owner asks. */
static void
play_cancelled(struct scene *scene)
{
	fx_submit(scene, "r1", "input", "\"hi\"");
	fx_wait_paying(scene, 1);
	/* Or the model's worker is not told to forget its answer, and waits for that at its end. */
	fiber_sleep(UINT64_C(2) * ACK_WAIT_MS);
	kit_kill(scene->kit, KIT_COORDINATOR, 0);
	cancel_both(scene);
	fx_let_go_on(scene);
	kit_start(scene->kit, KIT_COORDINATOR, 1);
	fx_check_status(scene, "r1", "success");
	ck_assert_str_eq(fx_answer_to(scene, "b", "success"), "noted");
}

static void
play_told(struct scene *scene)
{
	play_cancelled(scene);
	ck_assert_ptr_nonnull(strstr(fx_answer_to(scene, "a", "error"), "nobody knows"));
	ck_assert_uint_eq(fx_uncertain_events(scene, "r1", "tell_model"), 1);
	fx_check_calls(scene, 1, 1);
}

START_TEST(what_a_deposed_owner_cancels_is_called_anew_or_uncertain)
{
	fx_act("tell_model", play_told);
}
END_TEST

static void
play_repeated(struct scene *scene)
{
	play_cancelled(scene);
	ck_assert_str_eq(fx_answer_to(scene, "a", "success"), "paid");
	ck_assert_uint_eq(fx_uncertain_events(scene, "r1", "repeat"), 1);
	fx_check_calls(scene, 2, 1);
}

START_TEST(what_must_not_run_twice_and_may_be_repeated_is_repeated_under_its_key)
{
	fx_act("repeat", play_repeated);
}
END_TEST

/* --- by its owner, which is in trouble ------------------------------------------------------ */

static const char beside[] =
    "name: beside\n"
    "model: scripted:m\n"
    "tools: [work]\n"
    "middleware: [subagent: {general_purpose_agent: false, subagents: [{name: worker, "
    "description: works, agent: single}]}]\n"
    "script:\n"
    "  m:\n"
    "    - tool_calls: [{id: a, name: task, args: {description: do it, subagent_type: "
    "worker}}, {id: b, name: work, args: {}}]\n"
    "    - content: All is done.\n";

static const char *
epoch_now(struct children *children)
{
	return kit_redis_cli(children->storm.kit, 0, "HGET",
	    store_thread_key(children->storm.arena, "t1"), "epoch", NULL);
}

struct claimed {
	struct children *children;
	const char *epoch;
};

static bool
is_claimed_again(void *arg)
{
	const struct claimed *before = arg;

	return strcmp(epoch_now(before->children), before->epoch) != 0;
}

static void
wait_claimed(struct children *children)
{
	struct claimed before = { children, epoch_now(children) };

	ck_assert(
	    client_wait(children->storm.client, is_claimed_again, &before, CB_WAIT_MS));
}

/* Whose child is of which version cannot be read for a while. The run is dropped, and found again; what it has asked
 * for beside the child goes on meanwhile. */
static void
play_unreadable(struct children *children)
{
	struct fleet_kit *kit = children->storm.kit;

	kit_flotilla(kit, "agents", "apply", kit_write(kit, "beside.yaml", beside), NULL);
	cb_submit(children, "beside", 1);
	cb_wait_working(children, 2);
	kit_kill(kit, KIT_COORDINATOR, 0);
	kit_redis_cli(kit, 0, "RENAME", STORE_AGENTS, "aside", NULL);
	kit_redis_cli(kit, 0, "SET", STORE_AGENTS, "?", NULL);
	kit_start(kit, KIT_COORDINATOR, 1);
	wait_claimed(children);
	wait_claimed(children);
	kit_redis_cli(kit, 0, "RENAME", "aside", STORE_AGENTS, NULL);
	cb_let_go_on(children);
	cb_check_reported(children, 1, 2);
	ck_assert_uint_eq(cb_works(children), 2);
}

START_TEST(what_is_called_beside_a_child_outlives_trouble_with_redis)
{
	cb_act(1, NULL, play_unreadable);
}
END_TEST

TCase *
tcase_unasked(void)
{
	TCase *tcase = tcase_create("unasked");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, what_a_deposed_owner_cancels_is_called_anew_or_uncertain);
	tcase_add_test(
	    tcase, what_must_not_run_twice_and_may_be_repeated_is_repeated_under_its_key);
	tcase_add_test(tcase, what_is_called_beside_a_child_outlives_trouble_with_redis);
	return tcase;
}
