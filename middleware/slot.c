#include "slot.h"

#include <ctype.h>
#include <string.h>

#include "value.h"

static bool
is_name_byte(char byte, const char *also)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '-' ||
	       (byte != '\0' && strchr(also, byte) != NULL);
}

/* Reads the slot that starts at text, a brace; false when this is only a brace. */
static bool
slot_read(const char *text, const char *also, struct slot *slot_r)
{
	struct slot slot = { .start = text };
	const char *at;

	slot.is_literal = text[1] == '{';
	slot.name = at = text + 1 + slot.is_literal;
	if (!isalpha((unsigned char)*at) && *at != '_')
		return false;
	while (is_name_byte(*at, also))
		at++;
	slot.name_size = (size_t)(at - slot.name);
	if (at[0] != '}' || (slot.is_literal && at[1] != '}'))
		return false;
	slot.end = at + 1 + slot.is_literal;
	*slot_r = slot;
	return true;
}

bool
slot_find(const char *text, const char *also, struct slot *slot_r)
{
	for (; (text = strchr(text, '{')) != NULL; text++)
		if (slot_read(text, also, slot_r))
			return true;
	return false;
}

/* Appends what stands for slot; -1 when its value is none. */
static int
fill_one(struct packet *packet, struct arena *arena, const struct slot *slot,
    const char *(*value)(void *arg, const char *name), void *arg)
{
	const char *text;

	if (slot->is_literal) {
		packet_append(packet, slot->start + 1, slot->name_size + 2);
		return 0;
	}
	text = value(arg, arena_copy(arena, slot->name, slot->name_size));
	if (text == NULL)
		return -1;
	packet_append(packet, text, strlen(text));
	return 0;
}

const char *
slot_fill(struct arena *arena, const char *text, const char *also,
    const char *(*value)(void *arg, const char *name), void *arg)
{
	struct packet packet = { 0 };
	const char *filled = NULL;
	struct slot slot;

	for (; slot_find(text, also, &slot); text = slot.end) {
		packet_append(&packet, text, (size_t)(slot.start - text));
		if (fill_one(&packet, arena, &slot, value, arg) == -1)
			goto out;
	}
	packet_append(&packet, text, strlen(text) + 1);
	filled = arena_copy(arena, packet.data, packet.size - 1);
out:
	packet_release(&packet);
	return filled;
}
