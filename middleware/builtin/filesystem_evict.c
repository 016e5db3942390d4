/* What is too large for a context: long answers of tools, and a user's long message, are saved as files, and a
 * short form says where. */
#include "filesystem.h"

#include <inttypes.h>
#include <string.h>

#define NAME_BYTES_MAX 128u /* of a file, from a call's id */

/* --- texts ------------------------------------------------------------------------------ */

/* The text of a message's content, or of its blocks. */
static const struct value *
text_of(struct arena *arena, const struct value *message)
{
	const struct value *content = value_get(message, "content");

	return value_is(content, VALUE_STR) ? content : chat_said(arena, message);
}

static bool
is_too_long(const struct value *text, int64_t tokens)
{
	size_t most = (size_t)tokens * FILESYSTEM_CHARACTERS_A_TOKEN;

	return text->size > most && filesystem_characters(text->text, text->size) > most;
}

/* message with text in place of its own; what else there is in its content stays. */
static const struct value *
with_text(struct arena *arena, const struct value *message, const struct value *text)
{
	const struct value *content = value_get(message, "content");
	struct value_list blocks = { .arena = arena };
	size_t i;

	value_list_add(
	    &blocks, value_map(arena, "type", VALUE_TEXT("text"), "text", text, NULL));
	for (i = 0; value_is(content, VALUE_ARRAY) && i < content->size; i++) {
		const struct value *block = content->items[i];

		if (value_is(block, VALUE_MAP) &&
		    !value_text_is(value_get(block, "type"), "text"))
			value_list_add(&blocks, block);
	}
	return value_map_with(arena, message, "content",
	    blocks.count == 1 ? text : value_list_end(&blocks));
}

/* message, whose whole text is in the file at path. */
static const struct value *
tagged(struct arena *arena, const struct value *message, const char *path)
{
	return value_map_with(arena, message, "additional_kwargs",
	    value_map_with(arena, value_get(message, "additional_kwargs"), FILESYSTEM_TAG,
		value_str(arena, path)));
}

/* A name for a file from an id that somebody else has made. */
static const char *
name_from(struct arena *arena, const char *id)
{
	char *name = arena_strdup(arena, id), *at;
	uint64_t digest = UINT64_C(14695981039346656037);

	for (at = name; *at != '\0'; at++) {
		digest = (digest ^ (unsigned char)*at) * UINT64_C(1099511628211);
		if (strchr("./\\", *at) != NULL || (unsigned char)*at < ' ' ||
		    *at == 0x7f)
			*at = '_';
	}
	if (name[0] == '\0' || (size_t)(at - name) > NAME_BYTES_MAX)
		return arena_printf(arena, "call-%016" PRIx64, digest);
	return name;
}

/* --- answers of tools ------------------------------------------------------------------- */

static bool
keeps_to_bounds(const char *name)
{
	static const char *const names[] = { "ls", "glob", "grep", "read_file",
		"write_file", "edit_file", "delete" };
	size_t i;

	for (i = 0; name != NULL && i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const struct value *
saved_text(
    struct arena *arena, const char *id, const char *path, const struct value *text)
{
	return value_printf(arena,
	    "The result of this call (%s) is too long and was saved as the file %s\n"
	    "Read it in parts, by read_file with offset and limit: offset=0 and "
	    "limit=100 are its first 100 lines.\n\n"
	    "Its first and last lines, where those between are left out:\n\n%s",
	    id, path, filesystem_preview(arena, text));
}

/* message, or the short form of it when it is long and was saved. */
static const struct value *
evicted(struct tool_request *request, struct backend *backend,
    const struct value *message, bool *is_saved)
{
	struct arena *arena = tool_arena(request);
	int64_t tokens =
	    value_get_int(tool_settings_of(request), "tool_token_limit_before_evict", 0);
	const char *id = value_get_text(message, "tool_call_id"), *path;
	const struct value *text;

	if (!chat_is(message, "tool") || keeps_to_bounds(value_get_text(message, "name")))
		return message;
	text = text_of(arena, message);
	if (!is_too_long(text, tokens))
		return message;
	id = id == NULL ? tool_call_id(request) : id;
	path = arena_printf(arena, FILESYSTEM_RESULTS "/%s", name_from(arena, id));
	if (backend_write(backend, path, text) != BACKEND_DONE) {
		tool_note(request, "the long result of %s could not be saved: %s",
		    tool_name(request), backend->error);
		return message;
	}
	*is_saved = true;
	return with_text(
	    arena, tagged(arena, message, path), saved_text(arena, id, path, text));
}

/* command with the short forms of its messages, and the files that they are in. */
static const struct value *
with_evicted(
    struct tool_request *request, struct backend *backend, const struct value *command)
{
	struct arena *arena = tool_arena(request);
	const struct value *update = value_get(command, "update");
	const struct value *messages = value_get(update, "messages");
	struct value_list list = { .arena = arena };
	bool is_saved = false;
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		value_list_add(
		    &list, evicted(request, backend, value_at(messages, i), &is_saved));
	if (!is_saved)
		return command;
	update = value_map_with(arena, update, "messages", value_list_end(&list));
	if (backend->update != NULL)
		update = value_map_with(arena, update, BACKEND_FILES,
		    value_map_merge(
			arena, value_get(update, BACKEND_FILES), backend->update));
	return value_map_with(arena, command, "update", update);
}

struct tool_result *
filesystem_wrap_tool_call(struct tool_request *request, struct tool_next *next)
{
	struct arena *arena = tool_arena(request);
	struct tool_result *result = tool_next(next, request);
	struct value_list commands = { .arena = arena };
	struct backend backend;
	size_t i;

	if (result->fault != NULL || keeps_to_bounds(tool_name(request)))
		return result;
	backend_of_tool(&backend, request);
	for (i = 0; i < value_size(result->commands); i++)
		value_list_add(&commands,
		    with_evicted(request, &backend, result->commands->items[i]));
	result->commands = value_list_end(&commands);
	return result;
}

/* --- a user's message ------------------------------------------------------------------- */

static const char *
tag_of(const struct value *message)
{
	return chat_is(message, "human")
		   ? value_get_text(
			 value_get(message, "additional_kwargs"), FILESYSTEM_TAG)
		   : NULL;
}

const struct value *
filesystem_before_agent(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);
	const struct value *messages = turn_messages(turn), *last, *text;
	const char *path;
	struct backend backend;
	enum backend_end end;

	last = value_at(messages, value_size(messages) - 1);
	if (value_size(messages) == 0 || !chat_is(last, "human") || tag_of(last) != NULL)
		return NULL;
	text = text_of(arena, last);
	if (!is_too_long(text, value_get_int(turn_settings(turn),
				   "human_message_token_limit_before_evict", 0)))
		return NULL;
	/* A hook that runs again writes the same file. */
	path = arena_printf(
	    arena, FILESYSTEM_HISTORY "/%s.md", name_from(arena, turn_run(turn)));
	backend_of_turn(&backend, turn, FILESYSTEM_INTERNAL);
	end = backend_write(&backend, path, text_of(arena, turn_sealed(turn, last)));
	if (end != BACKEND_DONE && end != BACKEND_CANCELLED)
		turn_note(turn, "the long message could not be saved: %s", backend.error);
	if (end != BACKEND_DONE)
		return NULL;
	last = tagged(arena, last, path);
	return value_map(arena, "messages", value_array(arena, &last, 1), BACKEND_FILES,
	    backend.update, NULL);
}

/* A hook may have put another text into the message since, which is short: that is shown as it is. */
static bool
is_shown_short(struct arena *arena, const struct value *message, int64_t tokens)
{
	return tag_of(message) != NULL &&
	       (tokens <= 0 || is_too_long(text_of(arena, message), tokens));
}

static const struct value *
short_form(struct arena *arena, const struct value *message)
{
	return with_text(arena, message,
	    value_printf(arena,
		"This message is too long and was saved as the file %s\n\n"
		"Read it in parts, by read_file with offset and limit.\n\n"
		"Its first and last lines, where those between are left out:\n\n%s",
		tag_of(message), filesystem_preview(arena, text_of(arena, message))));
}

const struct value *
filesystem_shown(
    struct arena *arena, const struct value *settings, const struct value *messages)
{
	int64_t tokens =
	    value_get_int(settings, "human_message_token_limit_before_evict", 0);
	struct value_list list = { .arena = arena };
	bool is_changed = false;
	size_t i;

	for (i = 0; i < value_size(messages); i++) {
		const struct value *message = messages->items[i];

		if (is_shown_short(arena, message, tokens)) {
			message = short_form(arena, message);
			is_changed = true;
		}
		value_list_add(&list, message);
	}
	return is_changed ? value_list_end(&list) : messages;
}
