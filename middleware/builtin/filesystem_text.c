/* What a model is shown of a text: numbered lines, a page, a preview. */
#include "filesystem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREVIEW_LINES 5u
#define PREVIEW_LINE_CHARACTERS 1000u
#define EMPTY "System reminder: File exists but has empty contents"
#define CUT                                                                              \
	"[Output was truncated due to size limits. Read fewer lines at a time; where "   \
	"single lines are very long, bring the file into a form with shorter ones.]"

size_t
filesystem_characters(const char *text, size_t size)
{
	size_t i, count = 0;

	for (i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

size_t
filesystem_bytes(const char *text, size_t size, size_t most)
{
	size_t i, count = 0;

	for (i = 0; i < size; i++) {
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (count > most)
			return i;
	}
	return size;
}

static void
append(struct packet *text, const char *more)
{
	packet_append(text, more, strlen(more));
}

static const char *
taken(struct arena *arena, struct packet *text)
{
	const char *copy = arena_copy(arena, text->data, text->size);
	size_t size = text->size;

	packet_release(text);
	return backend_printable(arena, copy, size);
}

/* --- lines ------------------------------------------------------------------------------ */

/* The lines of a text; what is behind the last newline is one, unless it is empty. */
struct lines {
	const char *at, *end;
	int64_t number; /* of the line at `at`, from 1 */
};

static bool
has_line(const struct lines *lines)
{
	return lines->at < lines->end;
}

static size_t
line_size(const struct lines *lines)
{
	const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));

	return (size_t)((stop == NULL ? lines->end : stop) - lines->at);
}

static void
next_line(struct lines *lines)
{
	size_t size = line_size(lines);

	lines->at += size;
	if (lines->at < lines->end)
		lines->at++;
	lines->number++;
}

static struct lines
lines_of(const struct value *content)
{
	return (struct lines){ content->text, content->text + content->size, 1 };
}

static int64_t
count_lines(const struct value *content)
{
	struct lines lines = lines_of(content);

	while (has_line(&lines))
		next_line(&lines);
	return lines.number - 1;
}

static size_t
pieces_of(const char *line, size_t size)
{
	size_t characters = filesystem_characters(line, size);

	return characters == 0 ? 1
			       : (characters + FILESYSTEM_LINE_CHARACTERS - 1) /
				     FILESYSTEM_LINE_CHARACTERS;
}

/* "5", or "5.2" for the third piece of line 5. */
static const char *
marker_of(char *buffer, size_t room, int64_t number, size_t piece)
{
	if (piece == 0)
		snprintf(buffer, room, "%" PRId64, number);
	else
		snprintf(buffer, room, "%" PRId64 ".%zu", number, piece);
	return buffer;
}

/* The width of the widest marker of count lines from here on. */
static int
width_of(struct lines lines, int64_t count)
{
	char marker[48];
	size_t width = 0, one;

	for (; count > 0 && has_line(&lines); count--, next_line(&lines)) {
		one = strlen(marker_of(marker, sizeof marker, lines.number,
		    pieces_of(lines.at, line_size(&lines)) - 1));
		if (one > width)
			width = one;
	}
	return (int)width;
}

/* Adds a line with its number, a long one in pieces. */
static void
add_line(struct packet *text, int64_t number, const char *line, size_t size, int width)
{
	char marker[48], row[64];
	size_t pieces = pieces_of(line, size), piece, bytes;

	for (piece = 0; piece < pieces; piece++) {
		bytes = filesystem_bytes(line, size, FILESYSTEM_LINE_CHARACTERS);
		snprintf(row, sizeof row, "%s%*s  ", text->size == 0 ? "" : "\n", width,
		    marker_of(marker, sizeof marker, number, piece));
		append(text, row);
		packet_append(text, line, bytes);
		line += bytes;
		size -= bytes;
	}
}

/* --- a page ----------------------------------------------------------------------------- */

static bool
is_blank(const struct value *content)
{
	size_t i;

	for (i = 0; i < content->size; i++)
		if (!isspace((unsigned char)content->text[i]))
			return false;
	return true;
}

/* Adds lines until there are count, or the next one does not fit into most characters. Returns how many. */
static int64_t
add_lines(struct packet *text, struct lines lines, int64_t count, size_t most)
{
	int width = width_of(lines, count);
	int64_t shown = 0;
	size_t before, characters = 0;

	for (; shown < count && has_line(&lines); shown++, next_line(&lines)) {
		before = text->size;
		add_line(text, lines.number, lines.at, line_size(&lines), width);
		characters +=
		    filesystem_characters(text->data + before, text->size - before);
		if (most > 0 && characters >= most) {
			if (shown == 0)
				text->size =
				    filesystem_bytes(text->data, text->size, most);
			else
				text->size = before;
			break;
		}
	}
	return shown;
}

/* What is said behind a page: first and last are its lines. */
static void
add_notices(struct arena *arena, struct packet *text, int64_t first, int64_t last,
    int64_t total, bool is_cut)
{
	if (is_cut)
		append(text, "\n\n" CUT);
	if (last < first)
		append(text, arena_printf(arena,
				 "\n\n[Line %" PRId64
				 " is shown in part; the file has %" PRId64 " lines.]",
				 first, total));
	else if (last < total)
		append(
		    text, arena_printf(arena,
			      "\n\n[Read %" PRId64 " lines (lines %" PRId64 "-%" PRId64
			      " of %" PRId64 " total). %" PRId64
			      " lines remaining from offset %" PRId64 ".]",
			      last - first + 1, first, last, total, total - last, last));
}

const char *
filesystem_page(struct arena *arena, const struct value *content, int64_t offset,
    int64_t limit, size_t most, const char **error_r)
{
	int64_t total = count_lines(content), given = offset, shown, wanted;
	struct lines lines = lines_of(content);
	struct packet text = { 0 };

	*error_r = NULL;
	if (is_blank(content))
		return EMPTY;
	if (limit <= 0)
		return arena_printf(arena,
		    "System reminder: no lines were read because limit was %" PRId64
		    ". The file may have contents all the same: read it with a limit of "
		    "1 "
		    "or more.",
		    limit);
	offset = offset < 0 ? 0 : offset;
	if (offset >= total) {
		*error_r = arena_printf(arena,
		    "Line offset %" PRId64 " exceeds file length (%" PRId64 " lines)",
		    offset, total);
		return NULL;
	}
	while (lines.number <= offset)
		next_line(&lines);
	wanted = limit < total - offset ? limit : total - offset;
	shown = add_lines(&text, lines, wanted, most);
	add_notices(arena, &text, offset + 1, offset + shown, total, shown < wanted);
	if (given < 0)
		append(&text,
		    arena_printf(arena,
			"\n\n[The offset %" PRId64
			" is before the begin of the file, which was read from line 1.]",
			given));
	return taken(arena, &text);
}

/* --- a preview -------------------------------------------------------------------------- */

static void
add_preview(struct packet *text, struct lines *lines, size_t count, int width)
{
	for (; count > 0 && has_line(lines); count--, next_line(lines))
		add_line(text, lines->number, lines->at,
		    filesystem_bytes(
			lines->at, line_size(lines), PREVIEW_LINE_CHARACTERS),
		    width);
}

const char *
filesystem_preview(struct arena *arena, const struct value *content)
{
	int64_t total = count_lines(content), left;
	struct lines lines = lines_of(content);
	struct packet text = { 0 };
	char marker[48];
	int width =
	    (int)strlen(marker_of(marker, sizeof marker, total == 0 ? 1 : total, 0));

	add_preview(&text, &lines, PREVIEW_LINES, width);
	left = total - PREVIEW_LINES - PREVIEW_LINES;
	if (left > 0) {
		append(&text,
		    arena_printf(arena, "\n... [%" PRId64 " lines truncated] ...", left));
		for (; left > 0; left--)
			next_line(&lines);
	}
	add_preview(&text, &lines, PREVIEW_LINES, width);
	return taken(arena, &text);
}

const char *
filesystem_cut(struct arena *arena, const char *text, size_t size)
{
	size_t bytes = filesystem_bytes(text, size, FILESYSTEM_ANSWER_CHARACTERS);
	const char *line;

	if (bytes == size)
		return text;
	line = memrchr(text, '\n', bytes);
	if (line != NULL)
		bytes = (size_t)(line - text);
	return arena_printf(arena,
	    "%.*s\n... [results truncated: be more specific to see the rest]", (int)bytes,
	    text);
}
