#include "arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack/zone.h>
#include <sanitizer/asan_interface.h>

/* A waiting run has five arenas, most of them nearly empty: chunks begin small (glibc keeps
 * such at hand by the thread) and grow with what is asked for. */
#define CHUNK_BYTES_MIN 1000u
#define CHUNK_BYTES_MAX (8192u - 32u)
#define ALIGNMENT _Alignof(max_align_t)

/* Under AddressSanitizer a poisoned gap behind each piece makes overruns visible, which
 * they are not inside a chunk. */
#if defined(__SANITIZE_ADDRESS__)
#define GAP_BYTES 16u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GAP_BYTES 16u
#endif
#endif
#ifndef GAP_BYTES
#define GAP_BYTES 0u
#endif

struct arena {
	msgpack_zone zone;
	size_t bytes;
};

void
arena_exhausted(void)
{
	fputs("arena: out of memory\n", stderr);
	abort();
}

struct arena *
arena_new(void)
{
	struct arena *arena = calloc(1, sizeof *arena);

	if (arena == NULL || !msgpack_zone_init(&arena->zone, CHUNK_BYTES_MIN))
		arena_exhausted();
	return arena;
}

void
arena_destroy(struct arena **arena_p)
{
	if (*arena_p == NULL)
		return;
	msgpack_zone_destroy(&(*arena_p)->zone);
	free(*arena_p);
	*arena_p = NULL;
}

static void
grow_chunks(struct arena *arena)
{
	arena->zone.chunk_size *= 2;
	if (arena->zone.chunk_size > CHUNK_BYTES_MAX)
		arena->zone.chunk_size = CHUNK_BYTES_MAX;
}

/* Returns size bytes behind a gap of skip bytes. */
static char *
take(struct arena *arena, size_t skip, size_t size)
{
	char *piece;

	if (size > SIZE_MAX / 2)
		arena_exhausted();
	if (arena->zone.chunk_list.free < skip + size + GAP_BYTES)
		grow_chunks(arena);
	piece = msgpack_zone_malloc_no_align(&arena->zone, skip + size + GAP_BYTES);
	if (piece == NULL)
		arena_exhausted();
	arena->bytes += size;
	ASAN_POISON_MEMORY_REGION(piece + skip + size, GAP_BYTES);
	return piece + skip;
}

static size_t
misalignment(const char *at)
{
	return (0 - (uintptr_t)at) & (ALIGNMENT - 1);
}

/* Not msgpack_zone_malloc: it aligns to pointers, and with a wider MSGPACK_ZONE_ALIGN it
 * rounds down into the header of a new chunk. */
void *
arena_alloc(struct arena *arena, size_t size)
{
	msgpack_zone_chunk_list *chunks = &arena->zone.chunk_list;
	size_t skip = misalignment(chunks->ptr);
	char *piece;

	if (size <= SIZE_MAX / 2 && chunks->free >= skip + size + GAP_BYTES) {
		piece = chunks->ptr + skip;
		chunks->ptr += skip + size + GAP_BYTES;
		chunks->free -= skip + size + GAP_BYTES;
		arena->bytes += size;
		ASAN_POISON_MEMORY_REGION(piece + size, GAP_BYTES);
	} else {
		piece = take(arena, 0, size + ALIGNMENT - 1);
		piece += misalignment(piece);
	}
	return memset(piece, 0, size);
}

char *
arena_copy(struct arena *arena, const void *data, size_t size)
{
	char *copy;

	if (size == SIZE_MAX)
		arena_exhausted();
	copy = take(arena, 0, size + 1);
	if (size > 0)
		memcpy(copy, data, size);
	copy[size] = '\0';
	return copy;
}

char *
arena_strdup(struct arena *arena, const char *text)
{
	return arena_copy(arena, text, strlen(text));
}

char *
arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	return text;
}

char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	va_list again;
	char *text;
	int size;

	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	assert(size >= 0); /* fails on a bad format only */
	text = take(arena, 0, (size_t)size + 1);
	vsnprintf(text, (size_t)size + 1, format, args);
	return text;
}

void
arena_on_destroy(struct arena *arena, void (*destroy)(void *data), void *data)
{
	if (!msgpack_zone_push_finalizer(&arena->zone, destroy, data))
		arena_exhausted();
}

size_t
arena_bytes(const struct arena *arena)
{
	return arena->bytes;
}
