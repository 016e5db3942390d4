/* arena: memory of one job, freed at once.
 *
 * Everything that belongs to one call, one superstep or one decoded message is allocated in
 * one arena and goes with it; nothing in an arena is freed alone. What an arena leaves is kept,
 * within bounds, for the thread's next one. Out of memory ends the process (the supervisor restarts
 * it). */
#ifndef ARENA_H
#define ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* Returns a new, empty arena. */
struct arena *arena_new(void);

/* Takes *arena_p with all that was allocated in it, runs the finalizers (last added
 * first) and sets it to NULL; NULL is fine. */
void arena_destroy(struct arena **arena_p);

/* Returns size zeroed bytes, aligned for any type of that size, lent until the arena goes. size
 * may be 0. */
void *arena_alloc(struct arena *arena, size_t size);
/* The same for who fills them all: they hold anything. */
void *arena_take(struct arena *arena, size_t size);

/* Returns a copy of the size bytes at data with a NUL behind them, lent until the arena
 * goes. */
char *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_strdup(struct arena *arena, const char *text);

/* Returns formatted text, lent until the arena goes. What has only %s, %u, %zu and PRIu64 in it is
 * quick. */
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Calls destroy(data) when the arena goes. */
void arena_on_destroy(struct arena *arena, void (*destroy)(void *data), void *data);

/* Returns the bytes handed out so far: what a caller compares to decide on compaction. */
size_t arena_bytes(const struct arena *arena);

/* Says so on stderr and ends the process: what follows a failed allocation everywhere. */
_Noreturn void arena_exhausted(void);

#endif
