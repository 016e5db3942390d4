#include "arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer/asan_interface.h>

/* A waiting run has five arenas, most of them nearly empty: chunks begin small and grow with
 * what is asked for. With malloc's own header each is a round number of bytes. */
#define MALLOC_BYTES 16u
#define CHUNK_SIZES 5u
static const size_t chunk_sizes[CHUNK_SIZES] = { 512 - MALLOC_BYTES, 1024 - MALLOC_BYTES,
	2048 - MALLOC_BYTES, 4096 - MALLOC_BYTES, 8192 - MALLOC_BYTES };
#define NO_SIZE CHUNK_SIZES /* of a chunk for one large piece */

/* A process makes and drops thousands of arenas a second: chunks are kept for the next. */
#define KEPT_MAX 64u

/* Under AddressSanitizer a poisoned gap behind each piece makes overruns visible, which
 * they are not inside a chunk; and no chunk is kept, so that what points into an arena that is
 * gone is seen, too. */
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

struct chunk {
	_Alignas(max_align_t) struct chunk *next;
	uint32_t size; /* index of chunk_sizes, or NO_SIZE */
};

struct finalizer {
	struct finalizer *next;
	void (*destroy)(void *data);
	void *data;
};

/* In its own first chunk. */
struct arena {
	char *at, *end; /* what is free in the chunk in use */
	struct chunk *chunks;
	struct finalizer *finalizers; /* last added first */
	size_t bytes;
	uint32_t size; /* of the last chunk but large ones */
};

/* Of each thread. All but the main one only take (runtime/work.h), so that none has any at its end. */
static _Thread_local struct {
	struct chunk *first;
	unsigned count;
} kept[CHUNK_SIZES];

void
arena_exhausted(void)
{
	fputs("arena: out of memory\n", stderr);
	abort();
}

/* --- chunks --------------------------------------------------------------------------- */

static struct chunk *
chunk_new(uint32_t size, size_t bytes)
{
	struct chunk *chunk = size < CHUNK_SIZES ? kept[size].first : NULL;

	if (chunk != NULL) {
		kept[size].first = chunk->next;
		kept[size].count--;
		return chunk;
	}
	chunk = malloc(bytes);
	if (chunk == NULL)
		arena_exhausted();
	chunk->size = size;
	return chunk;
}

static void
chunk_free(struct chunk *chunk)
{
	uint32_t size = chunk->size;

	if (GAP_BYTES > 0 || size == NO_SIZE || kept[size].count == KEPT_MAX) {
		free(chunk);
		return;
	}
	chunk->next = kept[size].first;
	kept[size].first = chunk;
	kept[size].count++;
}

struct arena *
arena_new(void)
{
	struct chunk *chunk = chunk_new(0, chunk_sizes[0]);
	struct arena *arena = (struct arena *)(void *)(chunk + 1);

	chunk->next = NULL;
	*arena = (struct arena){
		.at = (char *)(arena + 1),
		.end = (char *)chunk + chunk_sizes[0],
		.chunks = chunk,
	};
	return arena;
}

void
arena_destroy(struct arena **arena_p)
{
	struct arena *arena = *arena_p;
	struct chunk *chunk, *next;
	struct finalizer *finalizer;

	if (arena == NULL)
		return;
	for (finalizer = arena->finalizers; finalizer != NULL;
	     finalizer = finalizer->next)
		finalizer->destroy(finalizer->data);
	for (chunk = arena->chunks; chunk != NULL; chunk = next) {
		next = chunk->next; /* one of them has the arena in it */
		chunk_free(chunk);
	}
	*arena_p = NULL;
}

/* Returns the first of bytes that are an own chunk. The one in use stays so. */
static char *
take_large(struct arena *arena, size_t bytes)
{
	struct chunk *chunk = chunk_new(NO_SIZE, sizeof *chunk + bytes);

	chunk->next = arena->chunks->next;
	arena->chunks->next = chunk;
	return (char *)(chunk + 1);
}

/* What does not fit into the chunk in use. */
static char *
take_new(struct arena *arena, size_t bytes)
{
	struct chunk *chunk;
	size_t size;

	if (arena->size + 1 < CHUNK_SIZES)
		arena->size++;
	size = chunk_sizes[arena->size];
	if (bytes > size - sizeof *chunk)
		return take_large(arena, bytes);
	chunk = chunk_new(arena->size, size);
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->end = (char *)chunk + size;
	arena->at = (char *)(chunk + 1) + bytes;
	return (char *)(chunk + 1);
}

/* Returns size bytes, behind a gap of skip if they are in the chunk in use. */
static inline char *
take(struct arena *arena, size_t skip, size_t size)
{
	size_t bytes = size + GAP_BYTES;
	char *piece;

	if (size > SIZE_MAX / 2)
		arena_exhausted();
	if (skip + bytes <= (size_t)(arena->end - arena->at)) {
		piece = arena->at + skip;
		arena->at = piece + bytes;
	} else {
		piece = take_new(arena, bytes);
	}
	arena->bytes += size;
	ASAN_POISON_MEMORY_REGION(piece + size, GAP_BYTES);
	return piece;
}

/* --- pieces --------------------------------------------------------------------------- */

void *
arena_take(struct arena *arena, size_t size)
{
	/* A type's size is a multiple of its alignment. */
	size_t alignment =
	    size % _Alignof(max_align_t) == 0 ? _Alignof(max_align_t) : sizeof(uint64_t);

	return take(arena, (0 - (uintptr_t)arena->at) & (alignment - 1), size);
}

void *
arena_alloc(struct arena *arena, size_t size)
{
	return memset(arena_take(arena, size), 0, size);
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

void
arena_on_destroy(struct arena *arena, void (*destroy)(void *data), void *data)
{
	struct finalizer *finalizer = arena_take(arena, sizeof *finalizer);

	*finalizer = (struct finalizer){ arena->finalizers, destroy, data };
	arena->finalizers = finalizer;
}

size_t
arena_bytes(const struct arena *arena)
{
	return arena->bytes;
}

/* --- text ----------------------------------------------------------------------------- */

/* Text under construction: what does not fit is only counted. */
struct text {
	char *to;
	size_t room, size;
};

static inline void
put(struct text *text, const char *bytes, size_t size)
{
	if (text->size + size < text->room)
		memcpy(text->to + text->size, bytes, size);
	text->size += size;
}

static void
put_number(struct text *text, uint64_t number)
{
	char digits[20], *at = digits + sizeof digits;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	put(text, at, (size_t)(digits + sizeof digits - at));
}

static bool
put_text(struct text *text, const char *string)
{
	if (string != NULL)
		put(text, string, strlen(string));
	return string != NULL;
}

/* Between two % there are a few bytes: one by one is quicker than a call. Returns the next %, or
 * the end. */
static inline const char *
put_until_percent(struct text *text, const char *format)
{
	char *to = text->to;
	size_t size = text->size;

	for (; *format != '%' && *format != '\0'; format++, size++)
		if (size < text->room)
			to[size] = *format;
	text->size = size;
	return format;
}

/* What keys and ids are made of: %s, %u, %zu and %lu, without stdio, which takes ten times as
 * long. Returns false for a format with more. */
static bool
put_plain(struct text *text, const char *format, va_list args)
{
	const char *percent;

	while (*(percent = put_until_percent(text, format)) != '\0') {
		format = percent + 2;
		if (percent[1] == 's') {
			if (!put_text(text, va_arg(args, const char *)))
				return false;
		} else if (percent[1] == 'u') {
			put_number(text, va_arg(args, unsigned));
		} else if ((percent[1] == 'z' || percent[1] == 'l') &&
			   percent[2] == 'u') {
			static_assert(sizeof(size_t) == sizeof(unsigned long), "%zu");
			put_number(text, va_arg(args, unsigned long));
			format++;
		} else {
			return false;
		}
	}
	if (text->size < text->room)
		text->to[text->size] = '\0';
	return true;
}

/* As vsnprintf. */
static size_t
print(char *to, size_t room, const char *format, va_list args)
{
	struct text text = { to, room, 0 };
	va_list again;
	bool is_plain;
	int size;

	va_copy(again, args);
	is_plain = put_plain(&text, format, again);
	va_end(again);
	if (is_plain)
		return text.size;
	size = vsnprintf(to, room, format, args);
	assert(size >= 0); /* fails on a bad format only */
	return (size_t)size;
}

char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	size_t room = (size_t)(arena->end - arena->at), size;
	char *place = arena->at, *text;
	va_list again;

	/* Mostly it fits where it goes. */
	va_copy(again, args);
	size = print(place, room, format, again);
	va_end(again);
	text = take(arena, 0, size + 1);
	if (text != place)
		print(text, size + 1, format, args);
	return text;
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
