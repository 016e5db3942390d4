#include "place.h"

struct place
place_of(const char *text, size_t offset)
{
	struct place place = { 1, 1 };
	size_t i;

	for (i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			place.line++;
			place.column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			place.column++;
		}
	}
	return place;
}
