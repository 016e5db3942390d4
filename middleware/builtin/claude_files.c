#include "claude_files.h"

#include <stdio.h>
#include <string.h>

#include "claude_edit.h"
#include "utf8.h"

const char claude_files_parameters[] =
    "{\"type\": \"object\", \"properties\": {"
    "\"command\": {\"type\": \"string\", \"enum\": [\"view\", \"create\", "
    "\"str_replace\", "
    "\"insert\", \"delete\", \"rename\"]},"
    "\"path\": {\"type\": [\"string\", \"null\"], \"description\": \"The file, or of "
    "view the "
    "folder; of all commands but rename\"},"
    "\"view_range\": {\"type\": [\"array\", \"null\"], \"items\": {\"type\": "
    "\"integer\"}, "
    "\"minItems\": 2, \"maxItems\": 2, \"description\": \"view: the first and the last "
    "line, "
    "from 1; -1 is the end\"},"
    "\"file_text\": {\"type\": [\"string\", \"null\"], \"description\": \"create: the "
    "whole "
    "file\"},"
    "\"old_str\": {\"type\": [\"string\", \"null\"], \"description\": \"str_replace: "
    "what stands "
    "there, in one place alone\"},"
    "\"new_str\": {\"type\": [\"string\", \"null\"], \"description\": \"str_replace: "
    "what is to "
    "stand there; nothing without it\"},"
    "\"insert_line\": {\"type\": [\"integer\", \"null\"], \"description\": \"insert: "
    "behind "
    "this line; 0 is the beginning\"},"
    "\"insert_text\": {\"type\": [\"string\", \"null\"], \"description\": \"insert: "
    "what\"},"
    "\"old_path\": {\"type\": [\"string\", \"null\"], \"description\": \"rename: the "
    "file\"},"
    "\"new_path\": {\"type\": [\"string\", \"null\"], \"description\": \"rename: its new "
    "path\"}},"
    " \"required\": [\"command\"]}";

/* The text in the argument of that name. NULL: it is not there, and edit->result is the answer. */
static const struct value *
take_text(struct claude_edit *edit, const char *name)
{
	const struct value *text = value_get(edit->args, name);

	if (value_is(text, VALUE_STR))
		return text;
	edit->result = claude_edit_refuse(
	    edit, arena_printf(edit->arena, "The command needs the argument %s", name));
	return NULL;
}

/* Reads the text of the file at edit->path. NULL: edit->result is the answer. */
static const struct value *
read_text(struct claude_edit *edit)
{
	struct backend_file file;
	enum backend_end end = backend_read(&edit->backend, edit->path, &file);

	if (end == BACKEND_DONE && !file.is_base64)
		return file.content;
	edit->result =
	    end == BACKEND_DONE
		? claude_edit_refuse(edit,
		      arena_printf(edit->arena, "The file is not text: %s", edit->said))
		: claude_edit_not_done(edit, end);
	return NULL;
}

/* --- view ----------------------------------------------------------------------------- */

struct range {
	int64_t first, last; /* -1: to the end */
};

/* The text of a view, with what is to be said of what is not in it. */
static const char *
shown_of(struct arena *arena, struct packet *out, size_t cut, int64_t left)
{
	const char *shown = arena_copy(arena, out->size > 0 ? out->data : "", out->size);

	shown = backend_printable(arena, shown, out->size);
	packet_release(out);
	if (cut > 0)
		shown = arena_printf(arena,
		    "%s\n[The line is too long: its last %zu bytes are not shown]", shown,
		    cut);
	return left == 0 ? shown
			 : arena_printf(arena,
			       "%s\n[%lld lines more are not shown: they are too long "
			       "together; use view_range]",
			       shown, (long long)left);
}

/* Lines of text with their numbers, as many as are shown at once; of a first one that is too long its begin. */
static const char *
numbered(struct arena *arena, const struct value *text, struct range range)
{
	const char *line = text->text, *end = line + text->size, *stop;
	struct packet out = { 0 };
	char head[32];
	int64_t number = 1, left = 0;
	size_t size, cut = 0;

	/* A newline at its end begins no line. */
	for (; line < end || (number == 1 && text->size == 0);
	     line = stop + 1, number++) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			stop = end;
		if (number >= range.first && (range.last == -1 || number <= range.last)) {
			snprintf(head, sizeof head, "%s%lld|", out.size > 0 ? "\n" : "",
			    (long long)number);
			size = (size_t)(stop - line);
			/* Behind one that is left out none is shown: nobody is to take it for the next. */
			if (left > 0 || cut > 0 ||
			    (out.size > 0 && out.size + strlen(head) + size >
						 CLAUDE_FILES_VIEW_BYTES)) {
				left++;
				continue;
			}
			cut = size - utf8_prefix(line, size, CLAUDE_FILES_VIEW_BYTES);
			packet_append(&out, head, strlen(head));
			packet_append(&out, line, size - cut);
		}
		if (text->size == 0)
			break;
	}
	return shown_of(arena, &out, cut, left);
}

static struct tool_result *
view_folder(struct claude_edit *edit, enum backend_end why)
{
	static const char more[] = "[There is more, which is not shown.]";
	struct backend_list list = { 0 };
	const char *error = edit->backend.error, *path, *shown;
	enum backend_end end = backend_ls(&edit->backend, edit->path, &list);
	struct packet text = { 0 };
	size_t i;

	if (end == BACKEND_CANCELLED)
		return claude_edit_not_done(edit, end);
	edit->backend.error = error;
	if (end != BACKEND_DONE || value_size(list.items) == 0)
		return claude_edit_is_root(edit)
			   ? claude_edit_answer(
				 edit, "There are no files yet.", "success")
			   : claude_edit_not_done(edit, why);
	for (i = 0; i < list.items->size; i++) {
		path = value_get_text(list.items->items[i], "path");
		packet_append(&text, path, strlen(path));
		packet_append(&text, "\n", 1);
	}
	if (list.is_cut)
		packet_append(&text, more, sizeof more - 1);
	shown =
	    arena_copy(edit->arena, text.data, list.is_cut ? text.size : text.size - 1);
	packet_release(&text);
	return claude_edit_answer(edit, shown, "success");
}

static struct tool_result *
view(struct claude_edit *edit)
{
	const struct value *given = value_get(edit->args, "view_range");
	struct range range = { 1, -1 };
	struct backend_file file;
	enum backend_end end;

	if (!claude_edit_take_path(edit, "path"))
		return edit->result;
	if (value_size(given) == 2)
		range = (struct range){ value_whole(value_at(given, 0), 0),
			value_whole(value_at(given, 1), 0) };
	if (range.first < 1 || (range.last != -1 && range.last < range.first))
		return claude_edit_refuse(edit,
		    "view_range must be [first, last], from 1 on; last "
		    "may be -1: the end");
	end = backend_read(&edit->backend, edit->path, &file);
	if (end == BACKEND_CANCELLED)
		return claude_edit_not_done(edit, end);
	if (end != BACKEND_DONE)
		return view_folder(edit, end);
	if (file.is_base64)
		return claude_edit_refuse(edit,
		    arena_printf(edit->arena, "The file is not text: %s", edit->said));
	return claude_edit_answer(
	    edit, numbered(edit->arena, file.content, range), "success");
}

/* --- what changes files ---------------------------------------------------------------- */

static struct tool_result *
create(struct claude_edit *edit)
{
	const struct value *text;
	enum backend_end end;

	if (!claude_edit_take_path(edit, "path"))
		return edit->result;
	text = take_text(edit, "file_text");
	if (text == NULL)
		return edit->result;
	end = backend_write(&edit->backend, edit->path, text);
	return end == BACKEND_DONE ? claude_edit_done(edit, "File created:")
				   : claude_edit_not_done(edit, end);
}

static size_t
count_of(const struct value *text, const struct value *part)
{
	const char *at = text->text, *end = at + text->size;
	size_t count = 0;

	for (; part->size > 0 &&
	       (at = memmem(at, (size_t)(end - at), part->text, part->size)) != NULL;
	     at += part->size)
		count++;
	return count;
}

static struct tool_result *
str_replace(struct claude_edit *edit)
{
	const struct value *old, *new = value_get(edit->args, "new_str"), *text;
	enum backend_end end;
	size_t count;

	if (!claude_edit_take_path(edit, "path"))
		return edit->result;
	old = take_text(edit, "old_str");
	if (old == NULL)
		return edit->result;
	text = read_text(edit);
	if (text == NULL)
		return edit->result;
	count = count_of(text, old);
	if (count == 0)
		return claude_edit_refuse(
		    edit, arena_printf(edit->arena, "String not found in file: %s",
			      utf8_shown(edit->arena, value_text(old), 200)));
	if (count > 1)
		return claude_edit_refuse(edit,
		    arena_printf(edit->arena,
			"old_str is in %s in %zu places: nothing was replaced. Give more "
			"of what stands around it, so that it is one alone.",
			edit->said, count));
	end = backend_edit(&edit->backend, edit->path, old,
	    value_is(new, VALUE_STR) ? new : value_str(edit->arena, ""), false, &count);
	return end == BACKEND_DONE ? claude_edit_done(edit, "String replaced in")
				   : claude_edit_not_done(edit, end);
}

/* Where the line with that number, from 0, begins; -1: there are not so many. A newline at the end begins none. */
static long
offset_of(const struct value *text, int64_t number)
{
	const char *at = text->text, *end = at + text->size, *stop;

	for (; number > 0 && at < end; number--) {
		stop = memchr(at, '\n', (size_t)(end - at));
		at = stop == NULL ? end : stop + 1;
	}
	return number > 0 ? -1 : (long)(at - text->text);
}

/* text with lines behind the first offset bytes. */
static const struct value *
with_lines(struct arena *arena, const struct value *text, size_t offset,
    const struct value *lines)
{
	struct packet out = { 0 };
	const struct value *all;

	packet_append(&out, text->text, offset);
	if (offset > 0 && text->text[offset - 1] != '\n')
		packet_append(&out, "\n", 1);
	packet_append(&out, lines->text, lines->size);
	if (offset < text->size &&
	    (lines->size == 0 || lines->text[lines->size - 1] != '\n'))
		packet_append(&out, "\n", 1);
	packet_append(&out, text->text + offset, text->size - offset);
	all = value_strn(arena, out.data, out.size);
	packet_release(&out);
	return all;
}

static struct tool_result *
insert(struct claude_edit *edit)
{
	const struct value *line = value_get(edit->args, "insert_line"), *lines, *text;
	enum backend_end end;
	int64_t number;
	long offset;

	if (!claude_edit_take_path(edit, "path"))
		return edit->result;
	/* Older versions of the tool call it so. */
	lines = take_text(edit, value_is(value_get(edit->args, "new_str"), VALUE_STR)
				    ? "new_str"
				    : "insert_text");
	text = lines == NULL ? NULL : read_text(edit);
	if (text == NULL)
		return edit->result;
	number = value_whole(line, -1);
	offset = number >= 0 ? offset_of(text, number) : -1;
	if (offset == -1)
		return claude_edit_refuse(
		    edit, arena_printf(edit->arena,
			      "insert_line must be a line of %s, or 0: its "
			      "beginning",
			      edit->said));
	end = backend_write(&edit->backend, edit->path,
	    with_lines(edit->arena, text, (size_t)offset, lines));
	return end == BACKEND_DONE ? claude_edit_done(edit, "Text inserted in")
				   : claude_edit_not_done(edit, end);
}

static struct tool_result *delete (struct claude_edit *edit)
{
	enum backend_end end;

	if (!claude_edit_take_path(edit, "path"))
		return edit->result;
	if (claude_edit_is_root(edit))
		return claude_edit_refuse(edit,
		    arena_printf(edit->arena,
			"%s itself cannot be deleted: name what is in it", edit->said));
	end = backend_delete(&edit->backend, edit->path);
	return end == BACKEND_DONE ? claude_edit_done(edit, "File deleted:")
				   : claude_edit_not_done(edit, end);
}

/* One operation after the other: what dies between them leaves both. */
static struct tool_result *
rename_file(struct claude_edit *edit)
{
	const char *old_said, *old_path;
	struct backend_file file, other;
	enum backend_end end;

	if (!claude_edit_take_path(edit, "old_path"))
		return edit->result;
	end = backend_read(&edit->backend, edit->path, &file);
	if (end != BACKEND_DONE)
		return claude_edit_not_done(edit, end);
	old_said = edit->said;
	old_path = edit->path;
	if (!claude_edit_take_path(edit, "new_path"))
		return edit->result;
	end = backend_read(&edit->backend, edit->path, &other);
	if (end == BACKEND_CANCELLED)
		return claude_edit_not_done(edit, end);
	if (end != BACKEND_MISSING)
		return claude_edit_refuse(
		    edit, arena_printf(edit->arena,
			      "%s is there already: nothing was renamed", edit->said));
	end = file.is_base64
		  ? backend_write_base64(&edit->backend, edit->path, file.content)
		  : backend_write(&edit->backend, edit->path, file.content);
	if (end == BACKEND_DONE)
		end = backend_delete(&edit->backend, old_path);
	if (end != BACKEND_DONE)
		return claude_edit_not_done(edit, end);
	return claude_edit_answer(edit,
	    arena_printf(edit->arena, "File renamed: %s -> %s", old_said, edit->said),
	    "success");
}

/* --- the tool -------------------------------------------------------------------------- */

struct tool_result *
claude_files_run(struct tool_request *request, const char *field)
{
	static const struct {
		const char *name;
		struct tool_result *(*run)(struct claude_edit *edit);
	} commands[] = {
		{ "view", view },
		{ "create", create },
		{ "str_replace", str_replace },
		{ "insert", insert },
		{ "delete", delete },
		{ "rename", rename_file },
	};
	struct claude_edit edit = { .request = request,
		.arena = tool_arena(request),
		.args = tool_args(request),
		.field = field };
	const char *name = value_get_text(edit.args, "command");
	size_t i;

	backend_of_tool_field(&edit.backend, request, field);
	for (i = 0; i < sizeof commands / sizeof *commands; i++)
		if (name != NULL && strcmp(commands[i].name, name) == 0)
			return commands[i].run(&edit);
	return claude_edit_refuse(&edit, arena_printf(edit.arena, "Unknown command: %s",
					     name != NULL ? name : "none"));
}

int
claude_files_configure(struct arena *arena, struct middleware_use *use, const char *field,
    const char **error_r)
{
	const struct value *prefixes = value_get(use->settings, "allowed_path_prefixes");
	const char *text;
	size_t i;

	for (i = 0; i < value_size(prefixes); i++) {
		text = value_text(value_at(prefixes, i));
		if (text[0] != '/' || backend_path(arena, text, error_r) == NULL) {
			*error_r = arena_printf(arena,
			    "/allowed_path_prefixes/%zu: must be an absolute path", i);
			return -1;
		}
	}
	return backend_configure_field(arena, use, field, BACKEND_READ_BY_TOOLS, error_r);
}
