#include "stream_kit.h"

#include <stdlib.h>
#include <string.h>

const char *
stream_text(struct arena *arena, const char *text)
{
	struct packet packet = { 0 };
	const char *made;

	for (; *text != '\0'; text++) {
		const char *bytes = *text == '~' ? "\n\n" : *text == '\'' ? "\"" : text;

		packet_append(&packet, bytes, *text == '~' ? 2 : 1);
	}
	made = arena_copy(arena, packet.data, packet.size);
	packet_release(&packet);
	return made;
}

static void
show(void *arg, const char *text, size_t size)
{
	packet_append(arg, text, size);
	packet_append(arg, "|", 1);
}

static void
show_break(void *arg)
{
	packet_append(arg, "/", 1);
}

const struct value *
stream_read(const struct stream_type *type, struct arena *arena, const char *body,
    size_t piece, const char **shown_r, struct fault **fault_r)
{
	struct answer_stream *stream = answer_stream_open(type, arena, "server");
	const struct value *message = NULL;
	struct packet shown = { 0 };
	size_t left = strlen(body);
	int fed = 0;

	stream->on_text = show;
	stream->on_break = show_break;
	stream->arg = &shown;
	while (left > 0 && fed == 0) {
		size_t size = left < piece ? left : piece;
		char *copy = malloc(size);

		memcpy(copy, body, size);
		fed = answer_stream_feed(stream, copy, size);
		free(copy);
		body += size;
		left -= size;
	}
	if (fed == 0)
		message = answer_stream_end(stream, fault_r);
	else
		*fault_r = stream->fault;
	answer_stream_close(stream);
	*shown_r = arena_copy(arena, shown.data == NULL ? "" : shown.data, shown.size);
	packet_release(&shown);
	return message;
}

const struct fault *
stream_refusal(const struct stream_type *type, struct arena *arena, const char *begin,
    const char *event, size_t bytes)
{
	struct answer_stream *stream = answer_stream_open(type, arena, "server");
	size_t size = strlen(event);
	int fed = answer_stream_feed(stream, begin, strlen(begin));

	for (; fed == 0 && bytes > size; bytes -= size)
		fed = answer_stream_feed(stream, event, size);
	answer_stream_close(stream);
	return stream->fault;
}

const char *
stream_padded(struct arena *arena, const char *before, size_t size, const char *behind)
{
	char *pad = arena_alloc(arena, size + 1);

	memset(pad, 'x', size);
	return arena_printf(
	    arena, "%s%s%s", stream_text(arena, before), pad, stream_text(arena, behind));
}
