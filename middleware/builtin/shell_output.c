#include "shell_output.h"

#include <ctype.h>
#include <string.h>

#include "utf8.h"

/* Adds text to the lines kept, as far as there is room for bytes. */
static void
keep(struct shell_output *output, const char *text, size_t size)
{
	uint64_t most = !output->is_whole && output->bytes_max < SHELL_OUTPUT_BYTES
			    ? output->bytes_max
			    : SHELL_OUTPUT_BYTES;
	size_t room = output->text.size < most ? (size_t)most - output->text.size : 0;

	if (size > room) {
		output->cut_by_bytes = output->is_full = true;
		size = output->is_whole ? 0 : utf8_prefix(text, size, room);
	}
	packet_append(&output->text, text, size);
}

/* A line came, without its newline. */
static void
add_line(struct shell_output *output, unsigned stream, const char *line, size_t size)
{
	output->lines++;
	output->bytes += size + 1;
	if (!output->is_whole && output->lines_kept == output->lines_max) {
		output->cut_by_lines = true;
		return;
	}
	if (output->is_full)
		return;
	output->lines_kept++;
	if (stream == 1)
		keep(output, SHELL_ERROR_PREFIX, strlen(SHELL_ERROR_PREFIX));
	keep(output, line, size);
	keep(output, "\n", 1);
}

static void
flush_empty(struct shell_output *output, unsigned stream)
{
	if (output->streams[stream].holds_empty)
		add_line(output, stream, "", 0);
	output->streams[stream].holds_empty = false;
}

/* Returns where marker stands in line, or NULL. */
static char *
find(const struct packet *line, const char *marker)
{
	return marker == NULL || line->size < strlen(marker)
		   ? NULL
		   : memmem(line->data, line->size, marker, strlen(marker));
}

/* Returns where the end of the stream stands, which is the end of line; NULL: nowhere. */
static const char *
find_end(struct shell_output *output, unsigned stream, const struct packet *line)
{
	const char *marker = find(line, output->marker), *at, *end;
	int status = 0;

	if (marker == NULL)
		return NULL;
	at = marker + strlen(output->marker);
	end = line->data + line->size;
	if (at == end || *at++ != ':' || (stream == 0) == (at == end))
		return NULL;
	for (; at < end && isdigit((unsigned char)*at) && status < 1000; at++)
		status = status * 10 + (*at - '0');
	if (at < end)
		return NULL;
	if (stream == 0)
		output->status = status;
	return marker;
}

static void
add_or_hold(struct shell_output *output, unsigned stream)
{
	struct shell_stream *from = &output->streams[stream];

	flush_empty(output, stream);
	if (from->line.size == 0)
		from->holds_empty = true;
	else
		add_line(output, stream, from->line.data, from->line.size);
}

/* How much of a line too long is whole words: half of one could be half of what is to be hidden. */
static size_t
words_of(const char *line)
{
	size_t size = SHELL_LINE_BYTES;

	while (size > 0 && !isspace((unsigned char)line[size - 1]))
		size--;
	return size;
}

/* The marker's own newline stands in front of it: it ends a line of the command, or is an empty
 * one, which is not the command's. */
static void
end_line(struct shell_output *output, unsigned stream)
{
	struct shell_stream *from = &output->streams[stream];
	const char *end = find_end(output, stream, &from->line);

	if (end != NULL) {
		from->has_ended = true;
		from->holds_empty = false;
		from->line.size = (size_t)(end - from->line.data);
	} else if (find(&from->line, output->marker) != NULL ||
		   find(&from->line, output->stale) != NULL) {
		from->holds_empty = false;
		from->line.size = 0;
		return;
	}
	if (from->line.size > SHELL_LINE_BYTES) {
		output->cut_by_bytes = true;
		output->bytes += from->line.size - SHELL_LINE_BYTES;
		from->line.size =
		    output->is_whole ? words_of(from->line.data) : SHELL_LINE_BYTES;
	}
	if (end == NULL || from->line.size > 0)
		add_or_hold(output, stream);
	from->line.size = 0;
}

/* Of a line that has become too long the last bytes stay: they may be the marker. */
static void
add_to_line(
    struct shell_output *output, struct packet *line, const char *data, size_t size)
{
	size_t room = SHELL_LINE_BYTES + SHELL_TAIL_BYTES - line->size;
	size_t part = size < room ? size : room, rest = size - part;
	char *tail;

	packet_append(line, data, part);
	if (rest == 0)
		return;
	output->cut_by_bytes = true;
	output->bytes += rest;
	tail = line->data + SHELL_LINE_BYTES;
	if (rest < SHELL_TAIL_BYTES)
		memmove(tail, tail + rest, SHELL_TAIL_BYTES - rest);
	part = rest < SHELL_TAIL_BYTES ? rest : SHELL_TAIL_BYTES;
	memcpy(tail + SHELL_TAIL_BYTES - part, data + size - part, part);
}

void
shell_output_add(
    struct shell_output *output, unsigned stream, const char *data, size_t size)
{
	struct shell_stream *to = &output->streams[stream];
	const char *end = data + size, *stop;

	for (; data < end && !to->has_ended; data = stop + 1) {
		stop = memchr(data, '\n', (size_t)(end - data));
		add_to_line(output, &to->line, data,
		    (size_t)((stop == NULL ? end : stop) - data));
		if (stop == NULL)
			return;
		end_line(output, stream);
	}
}

void
shell_output_end(struct shell_output *output)
{
	unsigned stream;

	for (stream = 0; stream < 2; stream++) {
		flush_empty(output, stream);
		if (output->streams[stream].line.size > 0)
			end_line(output, stream);
	}
}

/* As text: what is not UTF-8 is replaced, a NUL is a space. */
static const char *
readable(struct arena *arena, const char *data, size_t size)
{
	char *text = utf8_repair(arena, data, size, &size), *at = text;

	while ((at = memchr(at, '\0', size - (size_t)(at - text))) != NULL)
		*at = ' ';
	return text;
}

const char *
shell_output_lines(struct arena *arena, const struct shell_output *output)
{
	size_t size = output->text.size;
	const char *text = output->text.data;

	if (size > 0 && text[size - 1] == '\n')
		size--;
	return size == 0 ? "<no output>" : readable(arena, text, size);
}

/* As much of text as may be shown. */
static const char *
cut(struct arena *arena, struct shell_output *output, const char *text)
{
	const char *end = text;
	uint64_t lines = 0;
	size_t size = strlen(text);

	while (lines < output->lines_max && (end = strchr(end, '\n')) != NULL) {
		lines++;
		end++;
	}
	if (end != NULL) {
		output->cut_by_lines = true;
		size = (size_t)(end - text) - 1;
	}
	if (size > output->bytes_max) {
		output->cut_by_bytes = true;
		size = utf8_prefix(text, size, (size_t)output->bytes_max);
	}
	return arena_copy(arena, text, size);
}

const char *
shell_output_finish(struct arena *arena, struct shell_output *output, const char *text)
{
	if (output->is_whole)
		text = cut(arena, output, text);
	if (output->cut_by_lines)
		text = arena_printf(arena,
		    "%s\n[Output truncated: it has %llu lines, the limit is %llu]", text,
		    (unsigned long long)output->lines,
		    (unsigned long long)output->lines_max);
	if (output->cut_by_bytes)
		text = arena_printf(arena,
		    "%s\n[Output truncated: it has %llu bytes, more than the limit]",
		    text, (unsigned long long)output->bytes);
	return text;
}

const char *
shell_output_text(struct arena *arena, struct shell_output *output)
{
	return shell_output_finish(arena, output, shell_output_lines(arena, output));
}

void
shell_output_release(struct shell_output *output)
{
	packet_release(&output->text);
	packet_release(&output->streams[0].line);
	packet_release(&output->streams[1].line);
}
