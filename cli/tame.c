#include "tame.h"

#include <string.h>

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
		return at[2] >= 0xa8 && at[2] <= 0xae;
	if (at[0] == 0xe2 && at[1] == 0x81)
		return at[2] >= 0xa6 && at[2] <= 0xa9;
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
