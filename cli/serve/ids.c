#include "ids.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "log.h"

static const char *
printed(struct arena *arena, const unsigned char b[16], unsigned version)
{
	return arena_printf(arena,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
	    b[1], b[2], b[3], b[4], b[5], version << 4 | (b[6] & 0x0fu), b[7],
	    0x80u | (b[8] & 0x3fu), b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

const char *
ids_new(struct arena *arena)
{
	unsigned char bytes[16];
	struct timespec now;
	uint64_t ms;
	size_t i;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		fatal("getrandom");
	for (i = 0; i < 6; i++)
		bytes[i] = (unsigned char)(ms >> (40 - 8 * i));
	return printed(arena, bytes, 7);
}

const char *
ids_made(struct arena *arena, const unsigned char hash[16])
{
	return printed(arena, hash, 8);
}
