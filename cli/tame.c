#include "tame.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

size_t
tame_character(const char *at)
{
	size_t size = 1;

	while (((unsigned char)at[size] & 0xc0) == 0x80)
		size++;
	return size;
}

bool
tame_is_control(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (at[0] == 0xe2 && at[1] == 0x80)
		return (at[2] >= 0xa8 && at[2] <= 0xae) || at[2] == 0x8e || at[2] == 0x8f;
	if (at[0] == 0xe2 && at[1] == 0x81)
		return at[2] >= 0xa6 && at[2] <= 0xa9;
	if (at[0] == 0xd8)
		return at[1] == 0x9c;
	if (at[0] == 0xc2)
		return at[1] >= 0x80 && at[1] < 0xa0;
	return *at < 0x20 || *at == 0x7f;
}

void
tame(char *text)
{
	char *to = text;
	size_t size;

	for (; *text != '\0'; text += size) {
		size = tame_character(text);
		if (*text != '\n' && *text != '\t' && tame_is_control(text)) {
			*to++ = ' ';
			continue;
		}
		memmove(to, text, size);
		to += size;
	}
	*to = '\0';
}

/* Of a character of two or three bytes. */
static unsigned
code_of(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;

	return size == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
			 : (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
}

const char *
tame_json(struct arena *arena, const struct value *value)
{
	const char *text = json_text(arena, value);
	struct packet packet = { 0 };
	char escape[8];
	size_t size;

	for (; *text != '\0'; text += size) {
		size = tame_character(text);
		if (size == 1 || !tame_is_control(text)) {
			packet_append(&packet, text, size);
			continue;
		}
		snprintf(escape, sizeof escape, "\\u%04x", code_of(text, size));
		packet_append(&packet, escape, strlen(escape));
	}
	text = arena_copy(arena, packet.size > 0 ? packet.data : "", packet.size);
	packet_release(&packet);
	return text;
}
