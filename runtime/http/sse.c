#include "sse.h"

#include <string.h>

#include "bounds.h"

#define BOM "\xef\xbb\xbf"

void
sse_init(struct sse *sse, sse_fn *on_event, void *arg)
{
	*sse = (struct sse){ .on_event = on_event, .arg = arg };
}

void
sse_release(struct sse *sse)
{
	packet_release(&sse->line);
	packet_release(&sse->data);
	packet_release(&sse->event);
}

/* Appends within the bound on all that is held of one event. */
static int
keep(struct sse *sse, struct packet *packet, const char *data, size_t size)
{
	if (sse->line.size + sse->data.size + sse->event.size + size >=
	    SSE_EVENT_BYTES_MAX) {
		sse->too_large = true;
		return -1;
	}
	packet_append(packet, data, size);
	return 0;
}

static int
dispatch(struct sse *sse)
{
	const char *event = "message";
	bool has_data = sse->has_data;

	if (sse->event.size > 0) {
		packet_append(&sse->event, "", 1);
		event = sse->event.data;
	}
	if (has_data)
		sse->data.data[--sse->data.size] = '\0'; /* in place of the last LF */
	if (has_data &&
	    sse->on_event(sse->arg, event, sse->data.data, sse->data.size) == -1)
		return -1;
	sse->data.size = 0;
	sse->event.size = 0;
	sse->has_data = false;
	return 0;
}

static int
take_field(
    struct sse *sse, const char *name, size_t name_size, const char *value, size_t size)
{
	if (name_size == 4 && memcmp(name, "data", 4) == 0) {
		if (keep(sse, &sse->data, value, size) == -1 ||
		    keep(sse, &sse->data, "\n", 1) == -1)
			return -1;
		sse->has_data = true;
		return 0;
	}
	if (name_size == 5 && memcmp(name, "event", 5) == 0) {
		sse->event.size = 0;
		return keep(sse, &sse->event, value, size);
	}
	return 0; /* id and retry are for reconnecting, which a model call does not do */
}

static int
take_line(struct sse *sse, const char *line, size_t size)
{
	const char *colon, *value;

	if (!sse->begun && size >= 3 && memcmp(line, BOM, 3) == 0) {
		line += 3;
		size -= 3;
	}
	sse->begun = true;
	if (size == 0)
		return dispatch(sse);
	colon = memchr(line, ':', size);
	if (colon == NULL)
		return take_field(sse, line, size, "", 0);
	if (colon == line)
		return 0; /* a comment: a provider saying that it is alive */
	value = colon + 1;
	if (value < line + size && *value == ' ')
		value++;
	return take_field(
	    sse, line, (size_t)(colon - line), value, (size_t)(line + size - value));
}

/* A line that came whole is read where it lies; one that came in pieces from the buffer
 * they were kept in. */
static int
end_line(struct sse *sse, const char *rest, size_t size)
{
	if (sse->line.size == 0)
		return take_line(sse, rest, size);
	if (keep(sse, &sse->line, rest, size) == -1)
		return -1;
	size = sse->line.size;
	sse->line.size = 0;
	return take_line(sse, sse->line.data, size);
}

static size_t
line_span(const char *data, size_t size)
{
	size_t span = 0;

	while (span < size && data[span] != '\n' && data[span] != '\r')
		span++;
	return span;
}

int
sse_feed(struct sse *sse, const char *data, size_t size)
{
	while (size > 0) {
		size_t span = line_span(data, size);
		bool second = sse->after_cr && *data == '\n';

		sse->after_cr = false;
		if (span == size)
			return keep(sse, &sse->line, data, size);
		sse->after_cr = data[span] == '\r';
		if (!second && end_line(sse, data, span) == -1)
			return -1;
		data += span + 1;
		size -= span + 1;
	}
	return 0;
}

int
sse_end(struct sse *sse)
{
	if (sse->too_large || (sse->line.size > 0 && end_line(sse, "", 0) == -1))
		return -1;
	return dispatch(sse);
}
