
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "children.h"
#include "fiber.h"
#include "lives_private.h"
#include "lives_redis.h"
#include "memory.h"
#include "store_past.h"
#include "submission.h"

#define AT_ONCE 2u /* stories */
#define POLL_MS 150u
#define SLOW_POLL_MS 400u /* of what costs more */
#define LIVES_MAX 4u
#define AGAIN_MAX 4u
#define PATIENCE_MS 60000u /* longer than Redis is away: what is lost was not done */
#define GONE_MS 60000u     /* what lies elsewhere goes with the next round of chores */
#define PRUNE_BUSY 7       /* exit statuses: docs/cli.md */
#define PRUNE_NONE 3

struct lives *
lives_new(struct load *load, uint64_t seed)
{
	struct lives *lives = xcalloc(1, sizeof *lives);
	const char *error;

	lives->load = load;
	random_seed(&lives->random, seed + 1);
	lives->redis =
	    redis_new(load->fleet->loop, fleet_redis(load->fleet, NULL), NULL, &error);
	if (lives->redis == NULL)
		abort();
	redis_allow_silence(lives->redis, PATIENCE_MS);
	return lives;
}

void
lives_destroy(struct lives **lives_p)
{
	redis_destroy(&(*lives_p)->redis);
	free(*lives_p);
	*lives_p = NULL;
}

unsigned long
lives_begun(const struct lives *lives)
{
	return lives->begun;
}

unsigned long
lives_deleted(const struct lives *lives)
{
	return lives->deleted;
}

/* --- begun, several times at once --------------------------------------------------------- */

struct asker {
	struct story *story;
	struct client_run asks;
	unsigned *left;
};

static void
asker_main(void *arg)
{
	struct asker *asker = arg;
	struct story *story = asker->story;
	const char *refused = client_begin(story->lives->load->client, &asker->asks);

	if (refused != NULL)
		lives_hold(story, ONCE, false,
		    arena_printf(story->lives->load->arena, "HTTP refused: %s", refused));
	story->is_unsure = story->is_unsure || asker->asks.asked > 1;
	--*asker->left;
}

/* Under one Idempotency-Key, which each life of the thread uses again. */
static void
begin_by_http(struct story *story, unsigned times)
{
	struct load *load = story->lives->load;
	struct asker askers[AGAIN_MAX];
	unsigned left = times, i;

	for (i = 0; i < times; i++) {
		struct client_run *asks = &askers[i].asks;

		askers[i] = (struct asker){ .story = story, .left = &left };
		client_run_init(asks, story->thread, sort_lodger()->agent, story->thread,
		    arena_printf(load->arena, "\"input\": %s",
			load_input(load->arena, story->input)),
		    false);
		if (fiber_start(load->fleet->loop, "asker", asker_main, &askers[i]) ==
		    NULL)
			abort();
	}
	while (left > 0)
		fiber_sleep(POLL_MS);
	for (i = 0; i < times; i++) {
		const char *id = askers[i].asks.id;

		if (story->run == NULL && id != NULL)
			story->run = arena_strdup(load->arena, id);
		lives_hold(story, ONCE, id != NULL && strcmp(id, story->run) == 0,
		    "one Idempotency-Key has begun two runs");
		client_run_release(&askers[i].asks);
	}
}

static void
begin(struct story *story, unsigned times)
{
	struct load *load = story->lives->load;

	if (story->by_http) {
		begin_by_http(story, times);
		return;
	}
	submission_insist_all(story->lives->redis,
	    &(struct submission){ .agent = sort_lodger()->agent,
		.thread = story->thread,
		.run = story->run,
		.field = "input",
		.value = load_input(load->arena, story->input) },
	    PATIENCE_MS, times);
}

/* --- what is there ----------------------------------------------------------------------- */

/* Until nothing of it waits in the inbox: moved later, it were another run. */
static void
wait_moved(struct story *story)
{
	while (lives_redis_waits(story->lives->redis, story->run))
		fiber_sleep(POLL_MS);
}

/* --- deleted ------------------------------------------------------------------------------- */

enum deletion { DELETED, NOT_FREE, NOT_THERE };

static enum deletion
prune(struct story *story, const char *how)
{
	struct fleet *fleet = story->lives->load->fleet;
	struct arena *arena = arena_new();
	const char *program = arena_printf(arena, "%s/bin/flotilla", fleet->build);
	const char *const argv[] = { "/bin/sh", "-c",
		"exec \"$0\" \"$@\" >/dev/null 2>&1", program, "prune", story->thread,
		how, "--redis", fleet_redis(fleet, NULL), NULL };
	int status, exits;

	do {
		struct child *child = child_spawn(argv, NULL);

		while (!child_has_ended(&child, &status))
			fiber_sleep(POLL_MS / 3);
		exits = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	} while (exits != 0 && exits != PRUNE_BUSY && exits != PRUNE_NONE);
	arena_destroy(&arena);
	return exits == 0 ? DELETED : exits == PRUNE_BUSY ? NOT_FREE : NOT_THERE;
}

/* One that is not there was deleted, and the answer to that was lost. */
static enum deletion
delete_by_http(struct story *story, const char *path)
{
	struct load *load = story->lives->load;
	long status;

	while ((status = client_ask(load->client, "DELETE", path)) == 0) {
		story->is_unsure = true;
		fiber_sleep(POLL_MS);
	}
	lives_hold(story, GONE, status == 204 || status == 404 || status == 409,
	    arena_printf(load->arena, "DELETE %s: %ld", path, status));
	return status == 204 ? DELETED : status == 409 ? NOT_FREE : NOT_THERE;
}

static enum deletion
delete_thread(struct story *story)
{
	if (random_chance(&story->random, 500))
		return prune(story, "--delete");
	return delete_by_http(
	    story, arena_printf(story->lives->load->arena, "/threads/%s", story->thread));
}

/* The run alone, and its thread stays. */
static void
delete_run(struct story *story)
{
	struct load *load = story->lives->load;
	struct arena *arena = arena_new();
	const struct value *before = NULL, *after = NULL, *record;

	if (store_thread(load->direct, arena, story->thread, &before) == STORE_OK) {
		while (
		    delete_by_http(story, arena_printf(load->arena, "/threads/%s/runs/%s",
					      story->thread, story->run)) == NOT_FREE)
			fiber_sleep(POLL_MS);
		lives_hold(story, GONE,
		    store_run(load->direct, arena, story->thread, story->run, &record) !=
			STORE_OK,
		    "its run was deleted, and is there");
		lives_hold(story, GONE,
		    store_thread(load->direct, arena, story->thread, &after) !=
			    STORE_OK ||
			value_equal(
			    value_get(before, "messages"), value_get(after, "messages")),
		    "its run was deleted, and its thread is another");
	}
	arena_destroy(&arena);
}

/* Until there is nothing of it in Redis; not for ever, for in the end it is looked at anyway. */
static void
wait_gone(struct story *story)
{
	struct loop *loop = story->lives->load->fleet->loop;
	uint64_t deadline = loop_now_ms(loop) + GONE_MS;
	bool is_gone = false;

	while (!is_gone && loop_now_ms(loop) < deadline) {
		struct arena *arena = arena_new();

		is_gone = lives_redis_find(story->lives->redis, arena, story->thread,
			      story->run) == NULL;
		arena_destroy(&arena);
		if (!is_gone)
			fiber_sleep(SLOW_POLL_MS);
	}
}

/* Its thread goes when its run has ended, and not before. */
static void
end_life(struct story *story, bool waits)
{
	bool is_deleted = false;

	if (!waits && random_chance(&story->random, 500))
		delete_run(story);
	while (!is_deleted) {
		is_deleted = delete_thread(story) != NOT_FREE;
		lives_hold(story, GONE, is_deleted || waits,
		    "its run has ended, and its thread is not free");
		if (!is_deleted)
			fiber_sleep(SLOW_POLL_MS);
	}
	story->lives->deleted++;
}

/* --- stories ------------------------------------------------------------------------------- */

static struct story *
add_story(struct lives *lives)
{
	struct load *load = lives->load;
	struct story *story = arena_alloc(load->arena, sizeof *story);

	*story = (struct story){ .lives = lives, .next = lives->first };
	random_seed(&story->random, random_between(&lives->random, 1, UINT32_MAX));
	story->thread = arena_printf(load->arena, "life.%lu.t", ++lives->stories);
	story->began_ms = nemesis_wall_ms();
	story->count = (unsigned)random_between(&story->random, 1, LIVES_MAX);
	story->by_http = load->fleet->plan->counts[PARTY_SERVE] > 0 &&
			 random_chance(&story->random, 500);
	if (!story->by_http)
		story->run = arena_printf(load->arena, "life.%lu.r", lives->stories);
	lives->first = story;
	return story;
}

/* All but the newest checkpoint go, and nothing that it names. */
static void
forget_past(struct story *story)
{
	struct arena *arena = arena_new();
	const struct value *history = NULL;
	unsigned done = story->done;

	lives_hold(story, GONE, prune(story, "--keep-latest=1") != NOT_FREE,
	    "its run has ended, and its thread is not pruned");
	if (store_history(story->lives->load->direct, arena, story->thread, &history) ==
	    STORE_OK)
		lives_hold(story, GONE, value_size(history) <= 1,
		    "it was pruned to one checkpoint, and has more");
	lives_look(story);
	story->done = done;
	arena_destroy(&arena);
}

/* The run has ended: asked for again it is known. */
static void
end_and_ask_again(struct story *story)
{
	lives_wait_end(story);
	begin(story, (unsigned)random_between(&story->random, 1, 2));
	wait_moved(story);
	lives_look(story);
	if (random_chance(&story->random, 300))
		forget_past(story);
}

/* Returns false: that was the last one. */
static bool
live(struct story *story)
{
	struct arena *arena = story->lives->load->arena;
	bool waits = random_chance(&story->random, 400);
	bool is_last = story->life + 1 == story->count;

	story->input = arena_printf(arena, "%s/%u", story->thread, story->life);
	begin(story, (unsigned)random_between(&story->random, 1, AGAIN_MAX - 1));
	if (story->run == NULL)
		return false;
	story->lives->begun++;
	wait_moved(story);
	waits = waits && !story->is_unsure;
	if (!waits)
		end_and_ask_again(story);
	/* What may come late would begin it anew. */
	story->is_there =
	    story->is_unsure || (is_last && !waits && random_chance(&story->random, 400));
	if (story->is_there)
		return false;
	end_life(story, waits);
	if (random_chance(&story->random, 500))
		wait_gone(story);
	return !is_last && !story->is_unsure;
}

static void
story_main(void *arg)
{
	struct story *story = arg;
	struct lives *lives = story->lives;

	do {
		while (live(story))
			story->life++;
		story->ended_ms = nemesis_wall_ms();
		if (!story->is_there && story->run != NULL)
			wait_gone(story);
		story = lives->load->submitting ? add_story(lives) : NULL;
	} while (story != NULL);
	lives->load->busy--;
}

void
lives_begin(struct lives *lives)
{
	unsigned i;

	for (i = 0; i < AT_ONCE; i++) {
		lives->load->busy++;
		if (fiber_start(lives->load->fleet->loop, "story", story_main,
			add_story(lives)) == NULL)
			abort();
	}
}

/* --- in the end ---------------------------------------------------------------------------- */

static void
check_end(struct story *story)
{
	struct arena *arena = story->lives->load->arena;
	const char *found;

	if (story->is_there) {
		unsigned done = story->done;

		lives_look(story); /* the same as when it ended */
		story->done = done;
		return;
	}
	found = lives_redis_find(story->lives->redis, arena, story->thread, story->run);
	lives_hold(story, GONE, found == NULL,
	    arena_printf(arena, "it was deleted, and left %s", found));
}

/* A life's calls are its own: what one of them has done is not taken for what another was to do, as long as Redis's clock does
 * not say that the one before it was long ago. */
static void
check_done(struct story *story, struct check *check)
{
	unsigned begun = effects_begun(check, story->run);

	if (nemesis_clock_was_right(check->nemesis, story->began_ms, story->ended_ms))
		lives_hold(story, GONE, begun >= story->done,
		    arena_printf(check->load->arena,
			"its lives were told %u times that a call was done, which was "
			"begun "
			"%u times",
			story->done, begun));
}

void
lives_check(struct lives *lives, struct check *check)
{
	struct tally *t = check->tally;
	struct story *story;

	for (story = lives->first; story != NULL; story = story->next) {
		if (story->run != NULL) {
			check_end(story);
			check_done(story, check);
		}
		tally(t, HOLDS_SUBMIT_ONCE, story->broken[ONCE] == NULL, "%s, run %s: %s",
		    story->thread, story->run, story->broken[ONCE]);
		tally(t, HOLDS_DELETED, story->broken[GONE] == NULL, "%s, run %s: %s",
		    story->thread, story->run, story->broken[GONE]);
	}
}
