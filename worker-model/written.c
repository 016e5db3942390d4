#include "written.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"

#define ROOM_AT_FIRST 16u

void
written_release(struct written *written)
{
	packet_release(&written->text);
	free(written->ends);
	free(written->words);
	*written = (struct written){ 0 };
}

size_t
written_bytes(const struct written *written)
{
	return written->text.room + written->room * sizeof *written->ends;
}

void
written_in(struct written *written, const char *words)
{
	if (written->words != NULL && strcmp(written->words, words) == 0)
		return;
	written_release(written);
	written->words = xstrdup(words);
}

void
written_add(struct written *written, const struct value *const *items, size_t count)
{
	if (written->count == written->room) {
		written->room = written->room == 0 ? ROOM_AT_FIRST : 2 * written->room;
		written->ends =
		    xreallocarray(written->ends, written->room, sizeof *written->ends);
	}
	for (size_t i = 0; i < count; i++) {
		if (written->text.size > 0)
			packet_append(&written->text, ",", 1);
		json_write(&written->text, items[i]);
	}
	written->ends[written->count++] = written->text.size;
}

void
written_put(const struct written *written, struct value_list *list, size_t count)
{
	assert(count <= written->count);
	if (count > 0 && written->ends[count - 1] > 0)
		value_list_add(list, json_written(list->arena, written->text.data,
					 written->ends[count - 1]));
}
