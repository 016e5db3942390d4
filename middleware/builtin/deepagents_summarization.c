/* deepagents_summarization: a long conversation is shown to the model with a summary in place of its older
 * part, and the thread keeps it whole (semantics.md 6.25; deepagents_summarization.h has what is kept).
 *
 * Whether it is time is seen before each model call, in the coordinator: the summary is a call of the run
 * with a stored answer, and is not paid for twice. The wrap in the model worker shows the view; when
 * the provider says that even that is too long it makes a summary by itself, and what goes is saved
 * behind the answer, in the coordinator again: model workers reach no files.
 *
 * Files: deepagents_summarization_view.c is what the model is shown, deepagents_summarization_overflow.c
 * the wrap, deepagents_summarization_history.c what is saved, deepagents_summarization_settings.c the
 * tables. The rest is summarization's. */
#include "deepagents_summarization.h"

#include <string.h>

#include "context_size.h"
#include "filesystem.h"

/* --- a node hook's view of it ----------------------------------------------------------- */

struct scene {
	struct turn *turn;
	const struct value *event; /* as it is now */
	bool is_changed;
	struct deep_history history; /* without a turn: not opened yet */
};

static struct scene
scene_of(struct turn *turn)
{
	struct scene scene = { .turn = turn, .event = turn_get(turn, DEEP_EVENT) };

	if (value_is_nil(scene.event))
		scene.event = NULL;
	return scene;
}

static struct deep_history *
history_of(struct scene *scene)
{
	if (scene->history.turn == NULL)
		deep_history_open(&scene->history, scene->turn, scene->event);
	return &scene->history;
}

/* The hook's update with messages (or NULL) beside the event, or NULL: there is none. */
static const struct value *
update_of(struct scene *scene, const struct value *messages)
{
	struct arena *arena = turn_arena(scene->turn);

	if (!scene->is_changed && messages == NULL)
		return NULL;
	if (!scene->is_changed)
		return value_map(arena, "messages", messages, NULL);
	return value_map(arena, DEEP_EVENT, scene->event, DEEP_SESSION,
	    value_str(arena, history_of(scene)->session), BACKEND_FILES,
	    history_of(scene)->backend.update, "messages", messages, NULL);
}

/* What the model is shown now, and how long that is. A message that filesystem has tagged is shown in its short form:
 * its wrap has that to do, and is not here. */
static struct token_request
look(struct scene *scene, struct deep_view *view)
{
	const struct value *profile = turn_call_profile(scene->turn);
	struct arena *arena = turn_arena(scene->turn);
	struct token_request request = {
		.model = value_get_text(profile, "model"),
		.system_prompt = value_get_text(profile, "system_prompt"),
		.tools = value_get(profile, "tools"),
		.stale = value_get_text(scene->event, "reported_before"),
	};

	*view = deep_view_of(arena,
	    filesystem_shown(arena, NULL, turn_messages(scene->turn)), scene->event);
	request.messages = view->messages;
	if (deep_view_shorten(arena, view,
		value_get(turn_settings(scene->turn), "truncate_args_settings"),
		&request))
		request.messages = view->messages;
	return request;
}

/* --- what a model worker has left to do ---------------------------------------------------- */

static const struct value *
message_with_id(const struct value *messages, const struct value *id)
{
	size_t i;

	for (i = value_size(messages); i > 0; i--)
		if (value_equal(value_get(value_at(messages, i - 1), "id"), id))
			return value_at(messages, i - 1);
	return NULL;
}

/* Saves what the clips say is not yet, and returns them saying where it is. */
static const struct value *
save_clips(struct scene *scene, const struct value *clips)
{
	struct arena *arena = turn_arena(scene->turn);
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(clips); i++) {
		const struct value *clip = value_at(clips, i), *message;
		const char *path = value_get_text(clip, "path");

		if (value_get_bool(clip, "unsaved", false) && path != NULL) {
			message = message_with_id(
			    turn_messages(scene->turn), value_get(clip, "id"));
			if (!deep_history_put(history_of(scene), path,
				message == NULL ? "" : chat_text(arena, message)))
				clip = value_map_with(arena, clip, "path", NULL);
			clip = value_map_with(arena, clip, "unsaved", NULL);
		}
		value_list_add(&list, clip);
	}
	return value_list_end(&list);
}

/* Saves the messages that a summary of a model worker stands for, and has it say where they are. */
static const struct value *
save_messages(struct scene *scene, const struct value *event)
{
	struct arena *arena = turn_arena(scene->turn);
	const struct value *unsaved = value_get(event, "unsaved");
	const char *summary = value_get_text(unsaved, "summary"), *path;
	int64_t from = value_get_int(unsaved, "from", 0),
		to = value_get_int(event, "cutoff_index", 0);

	if (summary == NULL || from < 0 || to <= from)
		return event;
	path = deep_history_add(
	    history_of(scene), value_array_slice(arena, turn_messages(scene->turn),
				   (size_t)from, (size_t)to));
	event = value_map_with(
	    arena, event, "summary_message", deep_summary_message(arena, summary, path));
	event = value_map_with(
	    arena, event, "file_path", path == NULL ? NULL : value_str(arena, path));
	return value_map_with(
	    arena, event, "part", value_int(arena, scene->history.part));
}

static void
save_what_is_left(struct scene *scene)
{
	struct arena *arena = turn_arena(scene->turn);
	const struct value *event = scene->event, *clips = value_get(event, "clipped");

	if (!value_is(value_get(event, "unsaved"), VALUE_MAP))
		return;
	event = save_messages(scene, event);
	if (value_size(clips) > 0)
		event = value_map_with(arena, event, "clipped", save_clips(scene, clips));
	scene->event = value_map_with(arena, event, "unsaved", NULL);
	scene->is_changed = true;
}

/* --- a summary ----------------------------------------------------------------------------- */

/* Makes a summary of the older part of view, if it has one. Returns how many messages it stands for; 0: there
 * is nothing to sum up, -1: there is no summary, and a note says why. */
static long
sum_up(struct scene *scene, const struct deep_view *view)
{
	struct turn *turn = scene->turn;
	struct arena *arena = turn_arena(turn);
	const struct value *keep = value_get(turn_settings(turn), "keep");
	struct deep_step step = {
		.messages = turn_messages(turn), .view = view, .before = scene->event
	};

	step.cut = deep_view_cut(arena, view, keep,
	    token_chars(value_get_text(turn_call_profile(turn), "model")));
	if (step.cut == 0)
		return 0;
	step.summary = summarization_of_turn(
	    turn, value_array_slice(arena, view->messages, 0, step.cut));
	if (step.summary == NULL)
		return -1;
	/* Behind the summary: without one nothing goes, and nothing is written. The thread's: what is shown may be cut. */
	step.path = deep_history_add(
	    history_of(scene), value_array_slice(arena, step.messages, view->start,
				   view->start + step.cut - view->has_summary));
	step.part = scene->history.part;
	scene->event = deep_event(arena, &step);
	scene->is_changed = true;
	turn_note(turn, "summed up %zu of %zu messages", step.cut - view->has_summary,
	    value_size(step.messages));
	return (long)(step.cut - view->has_summary);
}

static const struct value *
before_model(struct turn *turn)
{
	struct scene scene = scene_of(turn);
	struct token_request request;
	struct deep_view view;

	/* An after_model of others may have jumped over ours. */
	save_what_is_left(&scene);
	request = look(&scene, &view);
	if (summarization_is_due(value_get(turn_settings(turn), "trigger"), &request))
		sum_up(&scene, &view);
	return update_of(&scene, NULL);
}

/* --- the tool ------------------------------------------------------------------------------ */

/* From half of the trigger on; without one whenever there is something to sum up. */
static bool
is_long_enough(struct scene *scene, const struct token_request *request)
{
	struct arena *arena = turn_arena(scene->turn);
	const struct value *trigger = value_get(turn_settings(scene->turn), "trigger");
	int64_t tokens =
	    token_reported(request->messages, request->model, request->model, NULL);
	struct value_list list = { .arena = arena };
	size_t i;

	if (value_size(trigger) == 0)
		return true;
	for (i = 0; i < value_size(trigger); i++) {
		const struct value *clause = value_at(trigger, i);
		int64_t messages = value_get_int(clause, "messages", 0),
			most = value_get_int(clause, "tokens", 0);

		value_list_add(&list,
		    value_map(arena, "messages", value_int(arena, (messages + 1) / 2),
			"tokens", value_int(arena, most / 2), NULL));
	}
	if (tokens < 0)
		tokens = token_count_request(request);
	return context_trigger_met(
	    value_list_end(&list), (int64_t)value_size(request->messages), tokens);
}

/* What the model is told of its call. */
static const char *
compact(struct scene *scene, const char **status_r)
{
	struct token_request request;
	struct deep_view view;
	long count = 0;

	request = look(scene, &view);
	if (is_long_enough(scene, &request))
		count = sum_up(scene, &view);
	*status_r = count == -1 ? "error" : "success";
	if (count == -1)
		return "Error: the conversation could not be summed up. It is as it was, "
		       "and nothing is lost: go on with your work.";
	if (count == 0)
		return "There is nothing to compact yet: the conversation is short "
		       "enough.";
	return arena_printf(turn_arena(scene->turn),
	    "The conversation has been compacted: a summary stands for its first %ld "
	    "messages now.",
	    count);
}

/* The answers to the model's calls of compact_conversation; NULL: there are none. */
static const struct value *
answers_of(struct scene *scene)
{
	struct arena *arena = turn_arena(scene->turn);
	const struct value *calls = chat_pending_calls(arena, turn_messages(scene->turn));
	const char *text = NULL, *status = "success";
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		const struct value *call = value_at(calls, i);

		if (!value_text_is(value_get(call, "name"), DEEP_TOOL))
			continue;
		if (text == NULL)
			text = compact(scene, &status);
		value_list_add(&list, chat_tool(arena, text, value_get_text(call, "id"),
					  DEEP_TOOL, status));
	}
	return list.count == 0 ? NULL : value_list_end(&list);
}

static const struct value *
after_model(struct turn *turn)
{
	const struct value *settings = turn_settings(turn), *answers = NULL;
	struct scene scene = scene_of(turn);

	save_what_is_left(&scene);
	if (value_get_bool(settings, DEEP_TOOL, false))
		answers = answers_of(&scene);
	return update_of(&scene, answers);
}

/* Its calls are answered behind the model call, where the thread is. Here comes one only when another
 * middleware has had that hook left out. */
static struct tool_result *
run_compact(struct tool_request *request)
{
	return tool_answer(request,
	    "The conversation was not compacted this time. Go on with your work, or "
	    "call " DEEP_TOOL " again by itself.",
	    "error");
}

static const struct tool compact_tool = {
	.name = DEEP_TOOL,
	.description =
	    "Puts a summary in place of the older part of this conversation, so that "
	    "there is room again. Call it when a piece of work is done whose details "
	    "you will not need word for word, or when the user turns to something "
	    "new, and not in the midst of work that builds on what was said. What "
	    "goes can be looked up in a file. It takes no arguments.",
	.parameters = "{\"type\": \"object\", \"properties\": {}}",
	.run = run_compact,
};

static const struct tool files_tool = {
	.name = DEEP_FILES_TOOL,
	.description = "",
	.internal = true,
	.run = backend_run_tool,
};

static const struct tool *const tools[] = { &compact_tool, &files_tool, NULL };

/* --- the struct ----------------------------------------------------------------------------- */

static const struct field fields[] = {
	{ .name = DEEP_EVENT,
	    .type = "object",
	    .omit_from_input = true,
	    .omit_from_output = true },
	{ .name = DEEP_SESSION,
	    .type = "string",
	    .omit_from_input = true,
	    .omit_from_output = true },
	BACKEND_FIELD,
	{ 0 },
};

static const char *const reads[] = { DEEP_EVENT, DEEP_SESSION, NULL };

const struct middleware middleware_deepagents_summarization = {
	.abi = MIDDLEWARE_ABI,
	.name = "deepagents_summarization",
	.summary = "shows the model a summary of what is old, and keeps the thread whole",
	.options = deep_options,
	.fields = fields,
	.tools = tools,
	.reads = reads,
	.configure = deep_configure,
	.before_model = before_model,
	.after_model = after_model,
	.wrap_model_call = deep_wrap_model_call,
};
