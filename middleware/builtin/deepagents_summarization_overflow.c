/* deepagents_summarization_overflow: the wrap: it shows the model its view, and when the provider says that
 * this is too long makes it shorter, by a summary and by cutting results of tools, and asks once more. */
#include "deepagents_summarization.h"

#include <string.h>

/* Of what the model can take in: the rest is for what counting is wrong by, and for the answer. */
#define ROOM_PART 0.7

#define COMPACT_PROMPT                                                                   \
	"## Making room with `" DEEP_TOOL "`\n\n"                                        \
	"You have the tool `" DEEP_TOOL "`, which sums up the older part of this "       \
	"conversation so that you see less of it and answer sooner and at less cost. "   \
	"Use it when\n"                                                                  \
	"- the user turns to a task that has nothing to do with the one before, or\n"    \
	"- you have the result of a long search or reading and do not need the way "     \
	"there any more.\n"                                                              \
	"Do not use it in the midst of a task."

/* One model call. */
struct shown {
	struct model_request *request; /* with the thread's messages */
	struct deep_view view;
	struct token_request size;
};

/* request with what view has. The worker keeps the JSON of messages that nobody touches. */
static struct model_request *
with_messages(struct model_request *request, const struct value *messages)
{
	return messages == model_messages(request)
		   ? request
		   : model_override(request, "messages", messages);
}

static struct model_request *
with_prompt(struct model_request *request)
{
	struct arena *arena = model_arena(request);
	const char *prompt = model_system_prompt(request);

	if (!value_get_bool(model_settings_of(request), DEEP_TOOL, false))
		return request;
	return model_override(request, "system_prompt",
	    prompt == NULL || prompt[0] == '\0'
		? VALUE_TEXT(COMPACT_PROMPT)
		: value_printf(arena, "%s\n\n%s", prompt, COMPACT_PROMPT));
}

static const struct value *
event_of(const struct model_request *request)
{
	const struct value *event = model_state(request, DEEP_EVENT);

	return value_is(event, VALUE_MAP) ? event : NULL;
}

static struct shown
show(struct model_request *request)
{
	struct arena *arena = model_arena(request);
	const struct value *event = event_of(request);
	struct shown shown = { .request = request,
		.view = deep_view_of(arena, model_messages(request), event),
		.size = { .model = model_name(request),
		    .system_prompt = model_system_prompt(request),
		    .tools = model_tools(request),
		    .stale = value_get_text(event, "reported_before") } };

	shown.size.messages = shown.view.messages;
	deep_view_shorten(arena, &shown.view,
	    value_get(model_settings_of(request), "truncate_args_settings"), &shown.size);
	shown.size.messages = shown.view.messages;
	return shown;
}

/* --- too long ------------------------------------------------------------------------------ */

static bool
is_too_long(const struct model_response *response)
{
	return response->fault != NULL && !response->fault->control &&
	       fault_type_is(response->fault->type, "ContextOverflowError");
}

static const struct value *
send_of_request(void *arg, const struct value *wish, const struct fault **fault_r)
{
	struct model_response *response = model_call(arg, wish);

	*fault_r = response->fault;
	return response->fault != NULL ? NULL : response->messages;
}

static const char *
sum_up(const struct shown *shown, size_t cut)
{
	struct model_request *request = shown->request;
	const struct value *settings = model_settings_of(request);
	const char *model = value_get_text(settings, "model"), *summary, *reason;
	const struct summary_call call = { .arena = model_arena(request),
		.settings = settings,
		.model = model != NULL ? model : model_name(request),
		.model_settings = model_model_settings(request),
		.send = send_of_request,
		.arg = request };

	summary = summarization_ask(
	    &call, value_array_slice(call.arena, shown->view.messages, 0, cut), &reason);
	if (summary == NULL && reason != NULL)
		model_note(request, "no summary: %s", reason);
	return summary;
}

/* How many tokens the messages from cut on may have. That the request was refused says more than a
 * figure in a table. */
static int64_t
room_for(const struct shown *shown, const char *summary)
{
	struct model_request *request = shown->request;
	double chars = token_chars(model_name(request));
	int64_t refused = token_count_request(&shown->size);
	int64_t most = value_get_int(
	    model_model_profile(request, NULL), "max_input_tokens", refused);

	return (int64_t)((double)(most < refused ? most : refused) * ROOM_PART) -
	       token_count_head(shown->size.system_prompt, shown->size.tools, chars) -
	       token_count_head(summary, NULL, chars);
}

/* Fills step, which makes the view shorter, unless there is nothing to sum up or to cut: then it is as it
 * was. False: a summary that was needed is not there. */
static bool
find_step(const struct shown *shown, struct deep_step *step)
{
	struct model_request *request = shown->request;
	struct arena *arena = model_arena(request);
	const struct value *settings = model_settings_of(request);
	double chars = token_chars(model_name(request));

	step->messages = model_messages(request);
	step->view = &shown->view;
	step->before = event_of(request);
	step->part = value_get_int(step->before, "part", 1);
	step->is_unsaved = true;
	step->cut =
	    deep_view_cut(arena, &shown->view, value_get(settings, "keep"), chars);
	if (step->cut > 0) {
		step->summary = sum_up(shown, step->cut);
		if (step->summary == NULL)
			return false;
		step->path = deep_path(arena, settings,
		    deep_session(
			arena, model_state(request, DEEP_SESSION), model_run(request)),
		    step->part);
	}
	step->clips = deep_clips(arena, shown->view.messages, step->cut,
	    room_for(shown, step->summary), chars);
	return true;
}

static struct model_response *
ask_with_less(
    const struct shown *shown, struct model_next *next, struct model_response *refused)
{
	struct model_request *request = shown->request;
	struct arena *arena = model_arena(request);
	struct model_response *response;
	const struct value *event;
	struct deep_step step = { 0 };

	if (!find_step(shown, &step))
		return refused;
	/* As deepagents does: what is behind may have another model by now. */
	if (step.cut == 0 && value_size(step.clips) == 0)
		return model_next(
		    next, with_messages(with_prompt(request), shown->view.messages));
	event = deep_event(arena, &step);
	model_note(request,
	    "the request was too long: %zu of its messages are summed up, %zu results of "
	    "tools cut",
	    step.cut, value_size(step.clips));
	response =
	    model_next(next, with_messages(with_prompt(request),
				 deep_view_of(arena, step.messages, event).messages));
	if (response->fault != NULL)
		return response;
	return model_command(request, response,
	    value_map(arena, "update",
		value_map(arena, DEEP_EVENT, event, DEEP_SESSION,
		    value_str(
			arena, deep_session(arena, model_state(request, DEEP_SESSION),
				   model_run(request))),
		    NULL),
		NULL));
}

struct model_response *
deep_wrap_model_call(struct model_request *request, struct model_next *next)
{
	struct shown shown = show(request);
	struct model_response *response =
	    model_next(next, with_messages(with_prompt(request), shown.view.messages));

	return is_too_long(response) ? ask_with_less(&shown, next, response) : response;
}
