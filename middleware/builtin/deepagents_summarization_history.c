/* deepagents_summarization_history: what the model is not shown any more goes into files.
 *
 * A hook may run again behind a crash, at another coordinator: what it writes it writes once. A section
 * has the digest of what is in it, and is not written where it is already; and a file is written
 * as a whole, so that to do it twice changes nothing. */
#include "deepagents_summarization.h"

#include <string.h>

#include "bounds.h"
#include "digest.h"
#include "utf8.h"

/* A file that is as long as that is followed by another one. None is longer than an item of long-term memory may be,
 * with what there is beside the text; of a section that is, each piece has a file of its own. */
#define PART_BYTES (512u << 10)
#define PART_BYTES_MAX (ITEM_VALUE_BYTES_MAX - (32u << 10))
#define PIECE_BYTES (PART_BYTES_MAX - (32u << 10)) /* what stands around it apart */
#define PARTS_MAX 10000
#define PARTS_TRIED 16u /* from the last one known on */
#define MEDIA_MAX 100u  /* files that one section may bring */

/* --- names ------------------------------------------------------------------------------- */

/* The first bytes of the digest of texts, in hex. */
static const char *
name_of(struct arena *arena, const struct value *texts)
{
	struct digest *digest = digest_new();
	uint8_t bytes[DIGEST_BYTES];
	const char *name = "";
	size_t i;

	digest_add(digest, texts, 0, value_size(texts));
	digest_get(digest, bytes);
	digest_destroy(&digest);
	for (i = 0; i < DIGEST_BYTES / 2; i++)
		name = arena_printf(arena, "%s%02x", name, bytes[i]);
	return name;
}

const char *
deep_session(struct arena *arena, const struct value *session, const char *run)
{
	const struct value *text;

	if (value_is(session, VALUE_STR))
		return session->text;
	text = value_str(arena, run == NULL ? "" : run);
	return arena_printf(
	    arena, "session_%s", name_of(arena, value_array(arena, &text, 1)));
}

const char *
deep_path(
    struct arena *arena, const struct value *settings, const char *session, int64_t part)
{
	const char *prefix = value_get_text(settings, "history_path_prefix");

	return part <= 1 ? arena_printf(arena, "%s/%s.md", prefix, session)
			 : arena_printf(
			       arena, "%s/%s-%lld.md", prefix, session, (long long)part);
}

void
deep_history_open(
    struct deep_history *history, struct turn *turn, const struct value *event)
{
	*history = (struct deep_history){ .turn = turn,
		.session = deep_session(
		    turn_arena(turn), turn_get(turn, DEEP_SESSION), turn_run(turn)),
		.part = value_get_int(event, "part", 1) };
	if (history->part < 1 || history->part > PARTS_MAX)
		history->part = 1;
	backend_of_turn(&history->backend, turn, DEEP_FILES_TOOL);
}

/* --- images and other files ----------------------------------------------------------------- */

/* What a block has in base64, and its media type; NULL: nothing. */
static const char *
data_in(const struct value *block, const char **type_r)
{
	static const char *const keys[] = { "base64", "data", "url", "file_data" };
	const char *text = NULL;
	size_t i;

	for (i = 0; i < sizeof keys / sizeof *keys && text == NULL; i++) {
		text = value_get_text(block, keys[i]);
		if (text != NULL && i >= 2 && strncmp(text, "data:", 5) != 0)
			text = NULL;
	}
	*type_r = value_get_text(block, "mime_type");
	if (*type_r == NULL)
		*type_r = value_get_text(block, "media_type");
	return text;
}

/* The same wherever OpenAI and Anthropic have it. */
static const char *
data_of(const struct value *block, const char **type_r)
{
	static const char *const places[] = { "source", "image_url", "file",
		"input_audio" };
	const char *text = data_in(block, type_r);
	size_t i;

	for (i = 0; i < sizeof places / sizeof *places && text == NULL; i++)
		text = data_in(value_get(block, places[i]), type_r);
	return text;
}

/* "png" of "image/png". */
static const char *
ending_of(struct arena *arena, const char *type)
{
	const char *slash = type == NULL ? NULL : strchr(type, '/');
	size_t size =
	    slash == NULL ? 0 : strspn(slash + 1, "abcdefghijklmnopqrstuvwxyz0123456789");

	return size == 0 ? "bin" : arena_copy(arena, slash + 1, size);
}

/* Returns block as a text that says where what it has was put; block itself when it has nothing, or that
 * could not be written. */
static const struct value *
saved_block(struct deep_history *history, const struct value *block)
{
	struct arena *arena = turn_arena(history->turn);
	const char *type, *text = data_of(block, &type), *comma, *path;
	const char *kind = value_get_text(block, "type");
	const struct value *data;

	if (text == NULL)
		return block;
	comma = strncmp(text, "data:", 5) == 0 ? strchr(text, ',') : NULL;
	if (comma != NULL) {
		type = arena_copy(arena, text + 5, strcspn(text + 5, ";,"));
		text = comma + 1;
	}
	data = value_str(arena, text);
	path = arena_printf(arena, "%s/%s/%s.%s",
	    value_get_text(turn_settings(history->turn), "history_path_prefix"),
	    history->session, name_of(arena, value_array(arena, &data, 1)),
	    ending_of(arena, type));
	if (backend_write_base64(&history->backend, path, data) != BACKEND_DONE)
		return block;
	return value_map(arena, "type", VALUE_TEXT("text"), "text",
	    value_printf(arena, "[%s: %s]", kind == NULL ? "file" : kind, path), NULL);
}

static const struct value *
with_media_saved(
    struct deep_history *history, const struct value *message, unsigned *count)
{
	struct arena *arena = turn_arena(history->turn);
	const struct value *content = value_get(message, "content");
	struct value_list list = { .arena = arena };
	size_t i;

	if (!value_is(content, VALUE_ARRAY))
		return message;
	for (i = 0; i < content->size; i++) {
		const struct value *block = content->items[i];

		if (value_is(block, VALUE_MAP) && *count < MEDIA_MAX)
			block = saved_block(history, block);
		*count += block != content->items[i];
		value_list_add(&list, block);
	}
	return value_map_with(arena, message, "content", value_list_end(&list));
}

/* --- a section ------------------------------------------------------------------------------ */

static const char *
path_of(const struct deep_history *history)
{
	return deep_path(turn_arena(history->turn), turn_settings(history->turn),
	    history->session, history->part);
}

/* The line that a piece of a section begins with, and no other: in messages "<" is escaped. */
static const char *
mark_of(struct deep_history *history, const struct value *messages, size_t piece)
{
	struct arena *arena = turn_arena(history->turn);
	const struct value *parts[] = { value_str(arena, turn_run(history->turn)),
		value_get(value_at(messages, 0), "id"),
		value_get(value_at(messages, value_size(messages) - 1), "id"),
		value_int(arena, (int64_t)value_size(messages)) };
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++)
		value_list_add(&list, parts[i] != NULL ? parts[i] : value_nil());
	if (piece > 0)
		value_list_add(&list, value_int(arena, (int64_t)piece));
	return arena_printf(
	    arena, "<conversation id=\"%s\">", name_of(arena, value_list_end(&list)));
}

static const char *
section_of(struct deep_history *history, const struct value *messages)
{
	struct arena *arena = turn_arena(history->turn);
	struct value_list list = { .arena = arena };
	unsigned count = 0;
	size_t i;

	for (i = 0; i < value_size(messages); i++)
		value_list_add(
		    &list, with_media_saved(history, value_at(messages, i), &count));
	return summarization_text(arena, value_list_end(&list), -1, 1);
}

static bool
has_room(const struct backend_file *file, size_t size)
{
	size_t before = file->content->size;

	return !file->is_base64 && before < PART_BYTES &&
	       (before == 0 || before + size <= PART_BYTES_MAX);
}

/* Finds the file that size bytes with this mark go into: history->part is its number, *before_r what it
 * has, NULL: they are there already. */
static enum backend_end
find_part(
    struct deep_history *history, const char *mark, size_t size, const char **before_r)
{
	struct backend_file file;
	enum backend_end end;
	unsigned tries;

	for (tries = 0; tries < PARTS_TRIED; tries++, history->part++) {
		end = backend_read(&history->backend, path_of(history), &file);
		*before_r = "";
		if (end == BACKEND_MISSING)
			return BACKEND_DONE;
		if (end != BACKEND_DONE)
			return end;
		*before_r = value_text(file.content);
		if (!file.is_base64 && strstr(*before_r, mark) != NULL)
			*before_r = NULL;
		if (*before_r == NULL || has_room(&file, size))
			return BACKEND_DONE;
	}
	history->part -= PARTS_TRIED;
	history->backend.error = "there are too many files of this conversation";
	return BACKEND_FAILED;
}

/* Adds a piece of a section; from: the path of the one in front, or NULL. */
static enum backend_end
add_piece(
    struct deep_history *history, const char *mark, const char *text, const char *from)
{
	struct arena *arena = turn_arena(history->turn);
	const char *before;
	enum backend_end end;

	text = arena_printf(arena, "## Summed up at %s%s%s\n\n%s\n%s</conversation>\n\n",
	    backend_now(arena), from == NULL ? "" : ", going on from ",
	    from == NULL ? "" : from, mark, text);
	end = find_part(history, mark, strlen(text), &before);
	if (end != BACKEND_DONE || before == NULL)
		return end;
	return backend_write(&history->backend, path_of(history),
	    value_printf(arena, "%s%s", before, text));
}

/* Where text is to be cut: behind a line when it has one. */
static size_t
piece_size(const char *text, size_t size)
{
	size_t most = utf8_prefix(text, size, PIECE_BYTES);
	const char *line = most < size ? memrchr(text, '\n', most) : NULL;

	return line == NULL ? most : (size_t)(line - text) + 1;
}

static enum backend_end
add_section(struct deep_history *history, const struct value *messages)
{
	struct arena *arena = turn_arena(history->turn);
	const char *text = section_of(history, messages), *from = NULL;
	size_t left = strlen(text), piece = 0, size;
	enum backend_end end;

	do {
		size = piece_size(text, left);
		end = add_piece(history, mark_of(history, messages, piece++),
		    arena_copy(arena, text, size), from);
		from = path_of(history);
		text += size;
		left -= size;
	} while (end == BACKEND_DONE && left > 0);
	return end;
}

static void
note_failure(struct deep_history *history, enum backend_end end, const char *path)
{
	if (end != BACKEND_CANCELLED)
		turn_note(history->turn, "what goes is not saved in %s: %s", path,
		    history->backend.error);
}

const char *
deep_history_add(struct deep_history *history, const struct value *messages)
{
	const char *before;
	enum backend_end end;

	if (value_size(messages) == 0)
		return NULL;
	/* First whether there are files at all: a section has images to be saved. */
	end = find_part(history, mark_of(history, messages, 0), 0, &before);
	if (end == BACKEND_DONE)
		end = add_section(history, messages);
	if (end == BACKEND_DONE)
		return path_of(history);
	note_failure(history, end, path_of(history));
	return NULL;
}

bool
deep_history_put(struct deep_history *history, const char *path, const char *text)
{
	enum backend_end end = backend_write(
	    &history->backend, path, value_str(turn_arena(history->turn), text));

	if (end != BACKEND_DONE)
		note_failure(history, end, path);
	return end == BACKEND_DONE;
}
