#include "written.h"

#include <assert.h>
#include <stdlib.h>

#include "json.h"
#include "memory.h"

#define ROOM_AT_FIRST 16u

void
written_release(struct written *written)
{
	packet_release(&written->text);
	free(written->ends);
	*written = (struct written){ 0 };
}

size_t
written_bytes(const struct written *written)
{
	return written->text.room + written->room * sizeof *written->ends;
}

void
written_add(struct written *written, const struct value *message)
{
	if (written->count == written->room) {
		written->room = written->room == 0 ? ROOM_AT_FIRST : 2 * written->room;
		written->ends =
		    xreallocarray(written->ends, written->room, sizeof *written->ends);
	}
	if (written->count > 0)
		packet_append(&written->text, ",", 1);
	json_write(&written->text, message);
	written->ends[written->count++] = written->text.size;
}

const struct value *
written_item(const struct written *written, struct arena *arena, size_t count)
{
	assert(count > 0 && count <= written->count);
	return json_written(arena, written->text.data, written->ends[count - 1]);
}
