#include "claude_edit.h"

#include <string.h>

/* --- answers -------------------------------------------------------------------------- */

struct tool_result *
claude_edit_answer(struct claude_edit *edit, const char *text, const char *status)
{
	struct arena *arena = edit->arena;
	const struct value *message = chat_tool(
	    arena, text, tool_call_id(edit->request), tool_name(edit->request), status);

	return tool_command(
	    edit->request, value_map(arena, "messages", value_array(arena, &message, 1),
			       edit->field, edit->backend.update, NULL));
}

struct tool_result *
claude_edit_done(struct claude_edit *edit, const char *what)
{
	return claude_edit_answer(
	    edit, arena_printf(edit->arena, "%s %s", what, edit->said), "success");
}

struct tool_result *
claude_edit_refuse(struct claude_edit *edit, const char *text)
{
	return claude_edit_answer(edit, text, "error");
}

struct tool_result *
claude_edit_not_done(struct claude_edit *edit, enum backend_end end)
{
	if (end == BACKEND_CANCELLED)
		return tool_fail(edit->request, fault_cancelled(edit->arena));
	if (end == BACKEND_MISSING)
		return claude_edit_refuse(
		    edit, arena_printf(edit->arena, "File not found: %s", edit->said));
	return claude_edit_refuse(edit, edit->backend.error);
}

/* --- paths ---------------------------------------------------------------------------- */

static bool
is_beneath(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	while (size > 0 && folder[size - 1] == '/')
		size--;
	return strncmp(path, folder, size) == 0 &&
	       (path[size] == '/' || path[size] == '\0');
}

static const struct value *
prefixes_of(const struct claude_edit *edit)
{
	const struct value *prefixes =
	    value_get(tool_settings_of(edit->request), "allowed_path_prefixes");

	return value_is(prefixes, VALUE_ARRAY) ? prefixes : value_empty_array();
}

static bool
is_allowed(const struct claude_edit *edit)
{
	const struct value *prefixes = prefixes_of(edit);
	size_t i;

	for (i = 0; i < prefixes->size; i++)
		if (is_beneath(edit->path, value_text(prefixes->items[i])))
			return true;
	return prefixes->size == 0;
}

bool
claude_edit_is_root(const struct claude_edit *edit)
{
	const struct value *prefixes = prefixes_of(edit);
	size_t i;

	for (i = 0; i < prefixes->size; i++)
		if (is_beneath(value_text(prefixes->items[i]), edit->path))
			return true;
	return strcmp(edit->path, "/") == 0;
}

static const char *
shown_prefixes(const struct claude_edit *edit)
{
	const struct value *prefixes = prefixes_of(edit);
	const char *text = "";
	size_t i;

	for (i = 0; i < prefixes->size; i++)
		text = arena_printf(edit->arena, "%s%s%s", text, i == 0 ? "" : ", ",
		    value_text(prefixes->items[i]));
	return text;
}

bool
claude_edit_take_path(struct claude_edit *edit, const char *name)
{
	const char *error;

	edit->said = value_get_text(edit->args, name);
	if (edit->said == NULL) {
		edit->result = claude_edit_refuse(edit,
		    arena_printf(edit->arena, "The command needs the argument %s", name));
		return false;
	}
	edit->path = backend_path(edit->arena, edit->said, &error);
	if (edit->path == NULL) {
		edit->result = claude_edit_refuse(edit, error);
		return false;
	}
	if (!is_allowed(edit)) {
		edit->result = claude_edit_refuse(
		    edit, arena_printf(edit->arena, "Path must start with one of %s: %s",
			      shown_prefixes(edit), edit->said));
		return false;
	}
	return true;
}
