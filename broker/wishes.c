#include "wishes.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"
#include "wire.h"

enum { NO_LONGER, FROM_NOW_ON };

struct wish {
	char prefix[TOPIC_BYTES_MAX + 1];
	bool held; /* by a reader; else it goes with the next shrinking */
};

struct wishes {
	struct wish *items;
	size_t count, room;
	size_t beyond;      /* prefixes of readers that are not in items */
	uint64_t shrink_ms; /* 0: nothing is to go */
	bool grown;
	bool told_all; /* publishers were told that everything is wanted */
};

struct wishes *
wishes_new(void)
{
	return xcalloc(1, sizeof(struct wishes));
}

void
wishes_destroy(struct wishes **wishes_p)
{
	struct wishes *wishes = *wishes_p;

	if (wishes == NULL)
		return;
	*wishes_p = NULL;
	free(wishes->items);
	free(wishes);
}

static bool
is_all(const struct wishes *wishes)
{
	return wishes->beyond > 0 || wishes->count > WANTED_PREFIXES_MAX;
}

static struct wish *
find(const struct wishes *wishes, const char *prefix)
{
	size_t i;

	for (i = 0; i < wishes->count; i++)
		if (strcmp(wishes->items[i].prefix, prefix) == 0)
			return &wishes->items[i];
	return NULL;
}

static void
add(struct wishes *wishes, const char *prefix)
{
	struct wish *wish = find(wishes, prefix);

	if (wish != NULL) {
		wish->held = true;
		return;
	}
	wishes->grown = true;
	if (wishes->count == WISHES_MAX) {
		wishes->beyond++;
		return;
	}
	if (wishes->count == wishes->room) {
		wishes->room = wishes->room == 0 ? 4 : 2 * wishes->room;
		wishes->items =
		    xreallocarray(wishes->items, wishes->room, sizeof *wishes->items);
	}
	wish = &wishes->items[wishes->count++];
	wish->held = true;
	memcpy(wish->prefix, prefix, strlen(prefix) + 1);
}

static void
shrink_soon(struct wishes *wishes, uint64_t now_ms)
{
	if (wishes->shrink_ms == 0)
		wishes->shrink_ms = now_ms + WISHES_KEEP_MS;
}

static void
take_away(struct wishes *wishes, const char *prefix, uint64_t now_ms)
{
	struct wish *wish = find(wishes, prefix);

	if (wish != NULL)
		wish->held = false;
	else if (wishes->beyond > 0)
		wishes->beyond--;
	shrink_soon(wishes, now_ms);
}

void
wishes_hear(struct wishes *wishes, const void *data, size_t size, uint64_t now_ms)
{
	const unsigned char *bytes = data;
	char prefix[TOPIC_BYTES_MAX + 1] = "";

	if (size == 0 || size - 1 > TOPIC_BYTES_MAX)
		return;
	memcpy(prefix, bytes + 1, size - 1);
	if (strlen(prefix) != size - 1 ||
	    (size > 1 && !wire_is_id(prefix, TOPIC_BYTES_MAX)))
		return;
	if (bytes[0] == FROM_NOW_ON)
		add(wishes, prefix);
	else if (bytes[0] == NO_LONGER)
		take_away(wishes, prefix, now_ms);
}

void
wishes_clear(struct wishes *wishes, uint64_t now_ms)
{
	size_t i;

	for (i = 0; i < wishes->count; i++)
		wishes->items[i].held = false;
	wishes->beyond = 0;
	shrink_soon(wishes, now_ms);
}

/* Returns whether any goes. */
static bool
shrink(struct wishes *wishes)
{
	size_t kept = 0, i, before = wishes->count;

	for (i = 0; i < wishes->count; i++)
		if (wishes->items[i].held)
			wishes->items[kept++] = wishes->items[i];
	wishes->count = kept;
	return kept < before;
}

bool
wishes_changed(struct wishes *wishes, uint64_t now_ms)
{
	bool changed = wishes->grown, told_all = wishes->told_all;

	if (wishes->shrink_ms != 0 && now_ms >= wishes->shrink_ms) {
		wishes->shrink_ms = 0;
		changed = shrink(wishes) || changed;
	} else if (told_all) {
		return false; /* and it stays so */
	}
	wishes->grown = false;
	wishes->told_all = is_all(wishes);
	return wishes->told_all != told_all || (changed && !told_all);
}

void
wishes_pack(const struct wishes *wishes, bool whether, struct packet *packet)
{
	size_t i;

	if (wishes->told_all || (whether && wishes->count > 0)) {
		value_pack_array(packet, 1);
		value_pack_text(packet, "");
		return;
	}
	value_pack_array(packet, wishes->count);
	for (i = 0; i < wishes->count; i++)
		value_pack_text(packet, wishes->items[i].prefix);
}
