/* What who asks for tasks, checkpoints or debug is shown of a run, as it goes and afterwards. */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "has.h"
#include "json.h"
#include "story_bench.h"

TCase *tcase_serve_trail(void);

#define HOOKS                                                                            \
	"name: hooked\n"                                                                 \
	"model: scripted:h\n"                                                            \
	"tools: [note]\n"                                                                \
	"middleware:\n"                                                                  \
	"  - lua: {name: guard, code: 'function before_agent(state) end function "       \
	"after_model(state) end'}\n"                                                     \
	"script:\n"                                                                      \
	"  h:\n"                                                                         \
	"    - {content: A., tool_calls: [{id: n, name: note, args: {text: hello}}]}\n"  \
	"    - {content: B.}\n"

/* One line a debug frame of story, from the frame first on: "model begins 1", "model ends messages", "at 2 -> tools". */
static const char *
trail_of(const struct story *story, size_t first)
{
	struct arena *arena = serve_bench.fleet.arena;
	const char *text = "";
	size_t i;

	for (i = first; i < story->count; i++) {
		const struct value *data = story->frames[i].data;
		const struct value *payload = value_get(data, "payload");
		const char *type = value_get_text(data, "type");
		const char *name = value_get_text(payload, "name");

		if (strcmp(story->frames[i].event, "debug") != 0)
			continue;
		ck_assert_ptr_nonnull(value_get_text(data, "timestamp"));
		if (strcmp(type, "task") == 0)
			text = arena_printf(arena, "%s%s begins %" PRId64 "\n", text,
			    name, value_get_int(data, "step", -9));
		else if (strcmp(type, "task_result") == 0)
			text = arena_printf(arena, "%s%s ends %s%s\n", text, name,
			    value_size(value_get(payload, "result")) > 0 ? "wrote" : "",
			    value_size(value_get(payload, "interrupts")) > 0 ? "asks"
									     : "");
		else
			text = arena_printf(arena, "%sat %" PRId64 " -> %s\n", text,
			    value_get_int(data, "step", -9),
			    value_size(value_get(payload, "next")) > 0
				? value_text(value_at(value_get(payload, "next"), 0))
				: "");
	}
	return text;
}

/* The frames' texts from first on, without those of other events than debug. */
static const char *
texts_of(const struct story *story, size_t first)
{
	const char *text = "";
	size_t i;

	for (i = first; i < story->count; i++)
		if (strcmp(story->frames[i].event, "debug") == 0)
			text = arena_printf(serve_bench.fleet.arena, "%s%s\n", text,
			    story->frames[i].text);
	return text;
}

#define TALK                                                                             \
	"at 0 -> model\nmodel begins 1\nmodel ends wrote\nat 1 -> tools\ntools begins "  \
	"2\ntools ends wrote\nat 2 -> model\nmodel begins 3\nmodel ends wrote\nat 3 -> " \
	"\n"

START_TEST(a_run_is_told_node_by_node)
{
	const char *id = serve_thread();
	struct story story = { 0 };
	const struct value *state, *task, *at;

	story_stream(
	    id, "talker", "'stream_mode': ['debug', 'tasks', 'checkpoints']", &story);
	ck_assert_str_eq(trail_of(&story, 0), TALK);
	ck_assert_uint_eq(story_count(&story, "tasks"), 6);
	ck_assert_uint_eq(story_count(&story, "checkpoints"), 4);
	ck_assert_uint_eq(story_count(&story, "debug"), 10);
	/* The first: a checkpoint, as it is and as debug, then the node that begins there. */
	at = story.frames[1].data;
	task = story.frames[3].data;
	ck_assert_str_eq(story.frames[1].event, "checkpoints");
	ck_assert_str_eq(story.frames[3].event, "tasks");
	ck_assert(value_equal(value_get(story.frames[2].data, "payload"), at));
	ck_assert(value_equal(value_get(task, "input"), value_get(at, "values")));
	ck_assert(value_equal(
	    value_get(task, "id"), value_get(value_at(value_get(at, "tasks"), 0), "id")));
	ck_assert_str_eq(
	    value_text(value_at(value_get(task, "triggers"), 0)), "branch:to:model");
	/* It ends as the one that began. */
	ck_assert(
	    value_equal(value_get(story.frames[5].data, "id"), value_get(task, "id")));
	ck_assert_uint_eq(
	    value_size(value_get(value_get(story.frames[5].data, "result"), "messages")),
	    1);
	/* The last is the state that there is. */
	state = serve_get(serve_text("/threads/%s/state", id), 200);
	at = story_last(&story, "checkpoints")->data;
	for (size_t i = 0; i < value_size(state); i++)
		ck_assert_msg(value_equal(value_get(at, state->pairs[i].key->text),
				  state->pairs[i].value),
		    "%s", state->pairs[i].key->text);
	ck_assert(value_equal(value_get(value_get(at, "config"), "configurable"),
	    value_get(state, "checkpoint")));
	ck_assert(value_equal(value_get(value_get(at, "parent_config"), "configurable"),
	    value_get(state, "parent_checkpoint")));
}
END_TEST

START_TEST(hooks_are_told_too)
{
	struct story story = { 0 };

	story_stream(
	    serve_thread(), "hooked", "'stream_mode': ['debug', 'updates']", &story);
	ck_assert_str_eq(trail_of(&story, 0),
	    "guard.before_agent begins 1\nguard.before_agent ends \nat 1 -> model\n"
	    "model begins 2\nmodel ends wrote\nguard.after_model begins 3\n"
	    "guard.after_model ends \nat 3 -> tools\ntools begins 4\ntools ends wrote\n"
	    "at 4 -> model\nmodel begins 5\nmodel ends wrote\nguard.after_model begins "
	    "6\nguard.after_model ends \nat 6 -> \n");
	/* Each begins before it writes. */
	ck_assert_str_eq(story.frames[1].event, "debug");
	ck_assert_str_eq(story.frames[2].event, "updates");
	ck_assert_str_eq(story.frames[3].event, "debug");
}
END_TEST

/* Whether rest is what a stream that told story shows behind its frame i: all behind it, and maybe again what of the same
 * event came before. */
static void
check_rest(const struct story *story, size_t i, const struct story *rest)
{
	size_t same = i;

	while (same > 0 && strcmp(story->frames[same - 1].id, story->frames[i].id) == 0)
		same--;
	if (strcmp(texts_of(rest, 0), texts_of(story, same + 1)) != 0)
		ck_assert_str_eq(texts_of(rest, 0), texts_of(story, same));
}

START_TEST(what_is_read_later_is_what_was_told)
{
	const char *id = serve_thread(), *where;
	struct story story = { 0 }, later = { 0 };
	struct serve_answer answer =
	    story_stream(id, "talker", "'stream_mode': ['debug']", &story);
	size_t i;

	where = serve_header(&answer, "Location");
	ck_assert_has(where, "stream_mode=debug");
	/* Also when the thread has gone on. */
	serve_run_end(id, serve_run(id, "quick", ""));
	story_join(where, NULL, &later);
	ck_assert_str_eq(texts_of(&later, 0), texts_of(&story, 0));
	for (i = 0; i < story.count; i++) {
		struct story rest = { 0 };

		story_join(where, story.frames[i].id, &rest);
		check_rest(&story, i, &rest);
	}
}
END_TEST

/* Hangs up behind so many frames. */
struct hasty {
	struct story story;
	size_t most;
};

static bool
until_enough(void *arg, const struct serve_frame *frame)
{
	struct hasty *hasty = arg;

	story_on_frame(&hasty->story, frame);
	return hasty->story.count < hasty->most;
}

static const size_t cuts[] = { 2, 4, 6 };

START_TEST(who_is_cut_off_is_told_the_rest)
{
	const char *id = serve_thread(), *run = serve_run(id, "talker", "");
	const char *where =
	    serve_text("/threads/%s/runs/%s/stream?stream_mode=debug", id, run);
	struct hasty hasty = { .most = cuts[_i] };
	struct story whole = { 0 }, rest = { 0 };

	ASK(.path = where, .on_frame = until_enough, .arg = &hasty);
	story_join(where, story_last_id(&hasty.story), &rest);
	story_join(where, NULL, &whole);
	ck_assert_str_eq(trail_of(&whole, 0), TALK);
	check_rest(&whole, cuts[_i] - 1, &rest);
}
END_TEST

START_TEST(a_pause_is_told_and_what_goes_on_behind_it)
{
	const char *id = serve_thread();
	struct story story = { 0 }, more = { 0 };
	const struct value *task, *state;

	story_stream(id, "approver", "'stream_mode': ['debug', 'tasks']", &story);
	ck_assert_has(trail_of(&story, 0),
	    "human_in_the_loop.after_model ends asks\nat 1 -> "
	    "human_in_the_loop.after_model\n");
	task = story_last(&story, "tasks")->data;
	state = serve_get(serve_text("/threads/%s/state", id), 200);
	ck_assert(value_equal(value_get(task, "interrupts"),
	    value_get(value_at(value_get(state, "tasks"), 0), "interrupts")));
	ASK(.path = serve_text("/threads/%s/runs/stream", id),
	    .body = "{'assistant_id': 'approver', 'command': {'resume': {'decisions': "
		    "[{'type': 'approve'}]}}, 'stream_mode': 'debug'}",
	    .on_frame = story_on_frame, .arg = &more);
	ck_assert_has(trail_of(&more, 0),
	    "human_in_the_loop.after_model ends \nat 2 -> tools\ntools begins 3\n");
	ck_assert_has(trail_of(&more, 0), "at 5 -> \n");
}
END_TEST

/* Of one that is said to be behind an event that never was, too: it is not looked for down from there. */
START_TEST(what_was_never_told_is_not_looked_for)
{
	const char *id = serve_thread(), *run = serve_run(id, "quick", "");
	struct serve_answer answer;

	serve_run_end(id, run);
	answer = ASK(.path = serve_text(
			 "/threads/%s/runs/%s/stream?stream_mode=tasks", id, run),
	    .headers = { "Last-Event-ID: 18446744073709551615" });
	ck_assert_int_eq(answer.status, 200);
	ck_assert(answer.is_whole);
	ck_assert_has_not(answer.body, "event: tasks");
}
END_TEST

START_TEST(an_error_is_its_nodes)
{
	struct story story = { 0 };
	const struct value *task, *at;

	story_stream(
	    serve_thread(), "broken", "'stream_mode': ['tasks', 'checkpoints']", &story);
	task = story_last(&story, "tasks")->data;
	ck_assert_str_eq(value_get_text(task, "name"), "model");
	ck_assert_has(value_get_text(task, "error"), "no such key");
	at = story_last(&story, "checkpoints")->data;
	ck_assert_has(
	    value_get_text(value_at(value_get(at, "tasks"), 0), "error"), "no such key");
	ck_assert_str_eq(story.frames[story.count - 1].event, "error");
}
END_TEST

/* --- of a thread -------------------------------------------------------------------------- */

static bool
until_end(void *arg, const struct serve_frame *frame)
{
	story_on_frame(arg, frame);
	return !value_text_is(
	    value_get(value_get(value_get(frame->data, "params"), "data"), "event"),
	    "completed");
}

/* Each checkpoint is told right before a state, and the first builds on the empty thread. */
static void
check_pairs(const struct story *story)
{
	const struct value *data;
	size_t i, pairs = 0;

	for (i = 0; i < story->count; i++) {
		if (strcmp(story->frames[i].event, "checkpoints") != 0)
			continue;
		data = value_get(value_get(story->frames[i].data, "params"), "data");
		if (pairs++ == 0)
			ck_assert_str_eq(value_get_text(data, "parent_id"), "0");
		ck_assert_str_eq(story->frames[i + 1].event, "values");
	}
	ck_assert_uint_ge(pairs, 1);
	ck_assert_str_eq(value_get_text(data, "id"), "4");
}

START_TEST(a_threads_events_have_tasks_and_checkpoints)
{
	const char *id = serve_thread(), *run = serve_run(id, "talker", "");
	const char *path = serve_text("/threads/%s/stream/events", id);
	struct story story = { 0 }, rest = { 0 };
	const struct value *data;
	size_t i;

	ASK(.path = path, .body = "{'channels': ['values', 'checkpoints', 'lifecycle']}",
	    .on_frame = until_end, .arg = &story);
	check_pairs(&story);
	story.count = 0;
	ASK(.path = path, .body = "{'channels': ['tasks', 'checkpoints', 'lifecycle']}",
	    .on_frame = until_end, .arg = &story);
	serve_run_end(id, run);
	ck_assert_uint_eq(story_count(&story, "tasks"), 6);
	ck_assert_uint_eq(story_count(&story, "checkpoints"), 4);
	data = value_get(
	    value_get(story_last(&story, "checkpoints")->data, "params"), "data");
	ck_assert_str_eq(json_text(serve_bench.fleet.arena, data),
	    serve_text("{'id':'4','parent_id':'3','step':3,'source':'loop'}"));
	/* Behind the last one the next run is waited for. */
	for (i = 0; i + 1 < story.count; i++) {
		rest.count = 0;
		ASK(.path = path,
		    .body = serve_text("{'channels': ['tasks', 'checkpoints', "
				       "'lifecycle'], 'since': %s}",
			story.frames[i].id),
		    .on_frame = until_end, .arg = &rest);
		ck_assert_uint_eq(rest.count, story.count - i - 1);
		ck_assert_str_eq(rest.frames[0].text, story.frames[i + 1].text);
	}
}
END_TEST

static void
open_trail(void)
{
	serve_open();
	fleet_up_write(&serve_bench.fleet, "hooked.yaml", HOOKS);
	ck_assert_int_eq(
	    CLI(&serve_bench.fleet.flotilla, "agents", "apply", "hooked.yaml").status, 0);
}

TCase *
tcase_serve_trail(void)
{
	TCase *tcase = tcase_create("serve_trail");

	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, open_trail, serve_close);
	tcase_add_test(tcase, a_run_is_told_node_by_node);
	tcase_add_test(tcase, hooks_are_told_too);
	tcase_add_test(tcase, what_is_read_later_is_what_was_told);
	tcase_add_loop_test(
	    tcase, who_is_cut_off_is_told_the_rest, 0, sizeof cuts / sizeof cuts[0]);
	tcase_add_test(tcase, a_pause_is_told_and_what_goes_on_behind_it);
	tcase_add_test(tcase, what_was_never_told_is_not_looked_for);
	tcase_add_test(tcase, an_error_is_its_nodes);
	tcase_add_test(tcase, a_threads_events_have_tasks_and_checkpoints);
	return tcase;
}
