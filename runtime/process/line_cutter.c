#include "line_cutter.h"

#include <string.h>

static void
add_piece(struct line_cutter *cutter, const char *data, size_t size)
{
	cutter->skips |= size > cutter->bytes_max - cutter->line.size;
	if (cutter->skips)
		cutter->line.size = 0;
	else
		packet_append(&cutter->line, data, size);
}

static void
end_line(struct line_cutter *cutter)
{
	if (cutter->line.size > 0)
		cutter->take(cutter->arg, cutter->line.data, cutter->line.size);
	cutter->line.size = 0;
	cutter->skips = false;
}

void
line_cutter_add(struct line_cutter *cutter, const char *data, size_t size)
{
	const char *newline;

	while ((newline = memchr(data, '\n', size)) != NULL) {
		size_t piece = (size_t)(newline - data);

		add_piece(cutter, data, piece);
		end_line(cutter);
		data += piece + 1;
		size -= piece + 1;
	}
	add_piece(cutter, data, size);
}

void
line_cutter_end(struct line_cutter *cutter)
{
	end_line(cutter);
	packet_release(&cutter->line);
}
