/* What there is of a life. */
#include <string.h>

#include "fiber.h"
#include "json.h"
#include "lives_private.h"

#define POLL_MS 150u
#define MESSAGES 4 /* of a life: lodger's in sorts.c */
#define ANSWER 2   /* its tool's */

void
lives_hold(struct story *story, enum promise promise, bool holds, const char *what)
{
	if (!holds && story->broken[promise] == NULL)
		story->broken[promise] = arena_printf(
		    story->lives->load->arena, "life %u: %s", story->life, what);
}

/* Redis may be away, or slow: that it does not say so is no answer. */
static bool
has_ended(struct story *story, struct arena *arena, const struct value **record_r)
{
	struct store *store = story->lives->load->direct;
	enum store_status status;

	*record_r = NULL;
	while ((status = store_run(store, arena, story->thread, story->run, record_r)) ==
	       STORE_FAILED)
		fiber_sleep(POLL_MS);
	return status == STORE_OK && !value_is_nil(value_get(*record_r, "ended"));
}

void
lives_wait_end(struct story *story)
{
	bool is_over = false;

	while (!is_over) {
		struct arena *arena = arena_new();
		const struct value *record;

		fiber_sleep(POLL_MS);
		is_over = has_ended(story, arena, &record);
		arena_destroy(&arena);
	}
}

static bool
is_cut_short(const struct value *record)
{
	const struct value *type = value_get(value_get(record, "fault"), "type");

	return value_text_is(type, "PoisonError") || value_text_is(type, "Quarantined");
}

/* The log of one run, which was queued once. */
static void
look_at_log(struct story *story, struct arena *arena)
{
	const struct value *events = NULL;
	unsigned queued = 0;
	size_t i;

	if (store_events(story->lives->load->direct, arena, story->thread, story->run, 0,
		0, &events) != STORE_OK)
		return;
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		queued += value_text_is(value_get(event, "kind"), "queued");
		lives_hold(story, ONCE, value_get_int(event, "seq", 0) == (int64_t)i + 1,
		    "the events of its log do not count from 1 on");
	}
	lives_hold(story, ONCE, queued == 1, "it was not queued once");
}

/* That there is this life, once, and nothing of one before it. */
void
lives_look(struct story *story)
{
	struct load *load = story->lives->load;
	struct arena *arena = arena_new();
	const struct value *record, *thread = NULL, *messages, *seen;
	bool is_whole;

	lives_hold(
	    story, ONCE, has_ended(story, arena, &record), "it is not there any more");
	is_whole = value_text_is(value_get(record, "status"), "success");
	lives_hold(story, ONCE, is_whole || is_cut_short(record),
	    arena_printf(load->arena, "it ended as %s", json_text(arena, record)));
	look_at_log(story, arena);
	if (is_whole &&
	    store_thread(load->direct, arena, story->thread, &thread) == STORE_OK) {
		messages = value_get(thread, "messages");
		seen = value_get(value_get(thread, "fields"), "seen");
		story->done += value_text_is(
		    value_get(value_at(messages, ANSWER), "content"), "noted stay");
		lives_hold(story, ONCE,
		    value_size(messages) == MESSAGES && value_size(seen) == 1 &&
			value_text_is(
			    value_get(value_at(messages, 0), "content"), story->input) &&
			value_text_is(value_at(seen, 0), story->input),
		    arena_printf(load->arena, "its thread is %s",
			json_text(arena, value_get(thread, "messages"))));
	}
	arena_destroy(&arena);
}
