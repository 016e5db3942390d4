/* deepagents_summarization_view: what the model is shown of a thread, and the event that says it. */
#include "deepagents_summarization.h"

#include <ctype.h>
#include <string.h>

#include "context_size.h"
#include "filesystem.h"
#include "utf8.h"

#define HEAD_CHARS 20u /* of an argument that is cut */
#define NAME_BYTES 100 /* of a call's id in a file's name */
#define CLIP_LEAST 400 /* tokens that a cut result keeps */

/* --- results that are cut ----------------------------------------------------------------- */

static const struct value *
clip_of(const struct value *clips, const struct value *message)
{
	const struct value *id = value_get(message, "id");
	size_t i;

	for (i = 0; i < value_size(clips); i++)
		if (value_equal(value_get(value_at(clips, i), "id"), id))
			return value_at(clips, i);
	return NULL;
}

static const char *
notice_of(struct arena *arena, const struct value *clip, size_t left_out)
{
	const char *path = value_get_text(clip, "path");

	if (path == NULL)
		return arena_printf(arena,
		    "\n\n[%zu bytes of this result are left out here, because the "
		    "conversation was too long for you.]",
		    left_out);
	return arena_printf(arena,
	    "\n\n[%zu bytes of this result are left out here, because the conversation "
	    "was too long for you. The whole of it is in %s: read what you need of it.]",
	    left_out, path);
}

/* Blocks that are no text stay. */
static const struct value *
content_with(struct arena *arena, const struct value *content, const struct value *text)
{
	struct value_list list = { .arena = arena };
	size_t i;

	if (!value_is(content, VALUE_ARRAY))
		return text;
	value_list_add(
	    &list, value_map(arena, "type", VALUE_TEXT("text"), "text", text, NULL));
	for (i = 0; i < content->size; i++)
		if (value_is(content->items[i], VALUE_MAP) &&
		    !value_text_is(value_get(content->items[i], "type"), "text"))
			value_list_add(&list, content->items[i]);
	return value_list_end(&list);
}

static const struct value *
clipped(struct arena *arena, const struct value *message, const struct value *clip)
{
	const char *text = chat_text(arena, message);
	size_t size = strlen(text), most = (size_t)value_get_int(clip, "bytes", 0);
	size_t kept = utf8_prefix(text, size, most);

	if (kept >= size)
		return message;
	return value_map_with(arena, message, "content",
	    content_with(arena, value_get(message, "content"),
		value_printf(arena, "%.*s%s", (int)kept, text,
		    notice_of(arena, clip, size - kept))));
}

/* What each of the results may have so that all fit: those that are shorter leave theirs to the others. */
static int64_t
share_of(const int64_t *tokens, size_t count, int64_t room)
{
	int64_t share = count == 0 ? 0 : room / (int64_t)count, before = -1;
	size_t i;

	while (share != before) {
		int64_t left = room;
		size_t longer = 0;

		before = share;
		for (i = 0; i < count; i++) {
			if (tokens[i] <= share)
				left -= tokens[i];
			else
				longer++;
		}
		if (longer > 0 && left / (int64_t)longer > share)
			share = left / (int64_t)longer;
	}
	return share < CLIP_LEAST ? CLIP_LEAST : share;
}

/* As filesystem has it for results that are too long by themselves. */
static const char *
result_path(struct arena *arena, const struct value *message)
{
	const char *id = value_get_text(message, "tool_call_id");
	char *name = arena_strdup(arena, id == NULL ? "result" : id), *at;

	for (at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			*at = '_';
	return arena_printf(arena, "/large_tool_results/%.*s", NAME_BYTES, name);
}

/* What message, a tool's, is cut to. One that filesystem has saved is short already: what it has must not come into
 * that file. */
static const struct value *
clip_to(struct arena *arena, const struct value *message, double bytes)
{
	const char *path =
	    value_get_text(value_get(message, "additional_kwargs"), FILESYSTEM_TAG);
	bool is_saved = path != NULL;

	if (!is_saved)
		path = result_path(arena, message);
	return value_map(arena, "id", value_get(message, "id"), "bytes",
	    value_int(arena, (int64_t)bytes), "path", value_str(arena, path), "unsaved",
	    is_saved ? NULL : value_bool(true), NULL);
}

const struct value *
deep_clips(struct arena *arena, const struct value *messages, size_t cut, int64_t room,
    double chars)
{
	size_t size = value_size(messages), count = 0, i;
	int64_t *tokens = arena_alloc(arena, (size + 1) * sizeof *tokens), share;
	struct value_list clips = { .arena = arena };

	for (i = cut; i < size; i++) {
		int64_t one = token_count_message(value_at(messages, i), chars);

		if (chat_is(value_at(messages, i), "tool"))
			tokens[count++] = one;
		else
			room -= one;
	}
	share = share_of(tokens, count, room < 0 ? 0 : room);
	for (count = 0, i = cut; i < size; i++) {
		const struct value *message = value_at(messages, i);

		if (!chat_is(message, "tool") || tokens[count++] <= share ||
		    !value_is(value_get(message, "id"), VALUE_STR))
			continue;
		value_list_add(&clips, clip_to(arena, message, (double)share * chars));
	}
	return value_list_end(&clips);
}

/* --- the view ----------------------------------------------------------------------------- */

/* Where what is not summed up begins; 0: nothing is, or the event is of another history. */
static size_t
start_of(const struct value *messages, const struct value *event)
{
	int64_t cutoff = value_get_int(event, "cutoff_index", 0);
	const struct value *id = value_get(event, "through_id");
	size_t size = value_size(messages), i;

	if (cutoff <= 0 || !value_is(value_get(event, "summary_message"), VALUE_MAP))
		return 0;
	if ((uint64_t)cutoff <= size &&
	    value_equal(value_get(value_at(messages, (size_t)cutoff - 1), "id"), id))
		return (size_t)cutoff;
	for (i = size; i > 0; i--)
		if (value_equal(value_get(value_at(messages, i - 1), "id"), id))
			return i;
	return 0;
}

struct deep_view
deep_view_of(struct arena *arena, const struct value *messages, const struct value *event)
{
	size_t start = start_of(messages, event), size = value_size(messages), i;
	const struct value *clips = value_get(event, "clipped"), *clip;
	struct deep_view view = { messages, start, start > 0 };
	struct value_list list = { .arena = arena };

	if (start == 0 && value_size(clips) == 0)
		return view;
	if (view.has_summary)
		value_list_add(&list, value_get(event, "summary_message"));
	for (i = start; i < size; i++) {
		const struct value *message = value_at(messages, i);

		clip = value_size(clips) > 0 && chat_is(message, "tool")
			   ? clip_of(clips, message)
			   : NULL;
		value_list_add(
		    &list, clip == NULL ? message : clipped(arena, message, clip));
	}
	view.messages = value_list_end(&list);
	return view;
}

size_t
deep_view_cut(struct arena *arena, const struct deep_view *view, const struct value *keep,
    double chars)
{
	size_t cut = summarization_cut(arena, view->messages, keep, chars);

	return cut == 1 && view->has_summary ? 0 : cut;
}

/* --- arguments of old calls ---------------------------------------------------------------- */

static bool
writes_files(const struct value *call)
{
	const struct value *name = value_get(call, "name");

	return value_text_is(name, "write_file") || value_text_is(name, "edit_file");
}

/* Bytes of the first characters of a text. */
static size_t
first_characters(const char *text, size_t size, size_t characters)
{
	size_t at = 0;

	while (at < size && characters > 0) {
		at++;
		while (at < size && ((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		characters--;
	}
	return at;
}

/* Returns call with its long texts cut; the same when it has none. */
static const struct value *
short_call(struct arena *arena, const struct value *call, const struct value *settings)
{
	const struct value *args = value_get(call, "args"), *given = args;
	size_t most = (size_t)value_get_int(settings, "max_length", 0), i;

	for (i = 0; writes_files(call) && i < value_size(given); i++) {
		const struct value *arg = given->pairs[i].value;

		if (!value_is(arg, VALUE_STR) ||
		    first_characters(arg->text, arg->size, most) == arg->size)
			continue;
		args = value_map_with(arena, args, given->pairs[i].key->text,
		    value_printf(arena, "%.*s%s",
			(int)first_characters(arg->text, arg->size, HEAD_CHARS),
			arg->text, value_get_text(settings, "truncation_text")));
	}
	return args == given ? call : value_map_with(arena, call, "args", args);
}

static const struct value *
short_message(
    struct arena *arena, const struct value *message, const struct value *settings)
{
	const struct value *calls = value_get(message, "tool_calls");
	struct value_list list = { .arena = arena };
	bool is_cut = false;
	size_t i;

	for (i = 0; i < value_size(calls); i++) {
		value_list_add(&list, short_call(arena, value_at(calls, i), settings));
		is_cut |= list.items[i] != value_at(calls, i);
	}
	return is_cut
		   ? value_map_with(arena, message, "tool_calls", value_list_end(&list))
		   : message;
}

bool
deep_view_shorten(struct arena *arena, struct deep_view *view,
    const struct value *settings, const struct token_request *request)
{
	const struct value *trigger = value_get(settings, "trigger");
	int64_t count = (int64_t)value_size(view->messages);
	struct value_list list = { .arena = arena };
	bool is_cut = false;
	size_t cut, i;

	if (value_is_nil(settings) || !context_trigger_met(trigger, count, INT64_MAX) ||
	    !context_trigger_met(trigger, count,
		context_trigger_counts_tokens(trigger) ? token_count_request(request)
						       : 0))
		return false;
	cut = summarization_cut(arena, view->messages, value_get(settings, "keep"),
	    token_chars(request->model));
	for (i = 0; i < value_size(view->messages); i++) {
		const struct value *message = value_at(view->messages, i);

		if (i < cut && chat_is(message, "ai"))
			message = short_message(arena, message, settings);
		is_cut |= message != value_at(view->messages, i);
		value_list_add(&list, message);
	}
	if (is_cut)
		view->messages = value_list_end(&list);
	return is_cut;
}

/* --- the event ---------------------------------------------------------------------------- */

const struct value *
deep_summary_message(struct arena *arena, const char *summary, const char *path)
{
	const char *text = path == NULL
			       ? arena_printf(arena,
				     "Summary of the conversation so far:\n\n%s", summary)
			       : arena_printf(arena,
				     "What you see of this conversation is not all of "
				     "it: its older part "
				     "has been summed up. Word for word it is in the "
				     "file %s; look there "
				     "when you need a detail that is missing here.\n\n"
				     "<summary>\n%s\n</summary>",
				     path, summary);

	return value_map_with(arena, chat_human(arena, text), "additional_kwargs",
	    value_map(arena, "lc_source", VALUE_TEXT(SUMMARY_SOURCE), NULL));
}

/* Those of the view that stay, and the new ones. */
static const struct value *
all_clips(struct arena *arena, const struct deep_step *step, size_t cutoff)
{
	const struct value *before = value_get(step->before, "clipped");
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = cutoff; value_size(before) > 0 && i < value_size(step->messages); i++) {
		const struct value *message = value_at(step->messages, i);
		const struct value *clip = clip_of(before, message);

		if (clip != NULL && clip_of(step->clips, message) == NULL)
			value_list_add(&list, clip);
	}
	value_list_add_all(&list, step->clips);
	return list.count == 0 ? NULL : value_list_end(&list);
}

const struct value *
deep_event(struct arena *arena, const struct deep_step *step)
{
	const struct value *messages = step->messages, *unsaved = NULL;
	const struct deep_view *view = step->view;
	size_t cutoff = view->start + step->cut - (step->cut > 0 && view->has_summary);
	long last = chat_last_ai(messages);
	struct value_fields event = { .arena = arena };

	value_fields_put_all(&event, step->cut == 0 ? step->before : NULL);
	value_fields_set(&event, "cutoff_index", value_int(arena, (int64_t)cutoff));
	if (step->cut > 0) {
		value_fields_set(&event, "through_id",
		    value_get(value_at(messages, cutoff - 1), "id"));
		value_fields_set(&event, "summary_message",
		    deep_summary_message(arena, step->summary, step->path));
		value_fields_set(&event, "file_path",
		    step->path == NULL ? NULL : value_str(arena, step->path));
	}
	if (last != -1)
		value_fields_set(&event, "reported_before",
		    value_get(value_at(messages, (size_t)last), "id"));
	if (step->is_unsaved)
		unsaved = value_map(arena, "from", value_int(arena, (int64_t)view->start),
		    "summary", step->cut == 0 ? NULL : value_str(arena, step->summary),
		    NULL);
	value_fields_set(&event, "part", value_int(arena, step->part));
	value_fields_set(&event, "clipped", all_clips(arena, step, cutoff));
	value_fields_set(&event, "unsaved", unsaved);
	return value_fields_end(&event);
}
