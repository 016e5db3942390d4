#include "lua_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "memory.h"

#define CHUNKS_MAX 128u
#define IDLE_BYTES_MAX                                                                   \
	(64u << 20) /* vms, all chunks together: 20 layers of 64 calls fit */
#define IDLE_VM_BYTES_MAX (1u << 20) /* a vm that has grown beyond is not kept */

struct pooled {
	struct lua_chunk chunk; /* owned */
	struct vm **idle;
	size_t idle_count, idle_room;
	unsigned users;
	TAILQ_ENTRY(pooled) link;
};

static struct {
	TAILQ_HEAD(pooled_list, pooled) chunks; /* used last first */
	size_t count, idle_bytes;
} pool = { .chunks = TAILQ_HEAD_INITIALIZER(pool.chunks) };

static bool
is_same(const struct lua_chunk *a, const struct lua_chunk *b)
{
	return a->size == b->size && a->instructions == b->instructions &&
	       a->memory_bytes == b->memory_bytes && strcmp(a->name, b->name) == 0 &&
	       memcmp(a->code, b->code, a->size) == 0;
}

static struct vm *
take_idle(struct pooled *pooled)
{
	struct vm *vm = pooled->idle[--pooled->idle_count];

	pool.idle_bytes -= vm_memory(vm);
	return vm;
}

static void
destroy(struct pooled *pooled)
{
	while (pooled->idle_count > 0) {
		struct vm *vm = take_idle(pooled);

		vm_destroy(&vm);
	}
	TAILQ_REMOVE(&pool.chunks, pooled, link);
	pool.count--;
	free(pooled->idle);
	free((char *)pooled->chunk.code);
	free((char *)pooled->chunk.name);
	free(pooled);
}

static void
shrink(void)
{
	struct pooled *pooled = TAILQ_LAST(&pool.chunks, pooled_list), *before;

	for (; pooled != NULL && pool.count > CHUNKS_MAX; pooled = before) {
		before = TAILQ_PREV(pooled, pooled_list, link);
		if (pooled->users == 0)
			destroy(pooled);
	}
}

static struct pooled *
add(const struct lua_chunk *chunk)
{
	struct pooled *pooled = xcalloc(1, sizeof *pooled);
	char *code = xcalloc(1, chunk->size + 1);

	memcpy(code, chunk->code, chunk->size);
	pooled->chunk = *chunk;
	pooled->chunk.code = code;
	pooled->chunk.name = xstrdup(chunk->name);
	TAILQ_INSERT_HEAD(&pool.chunks, pooled, link);
	pool.count++;
	return pooled;
}

static struct pooled *
find(const struct lua_chunk *chunk)
{
	struct pooled *pooled;

	TAILQ_FOREACH(pooled, &pool.chunks, link)
		if (is_same(&pooled->chunk, chunk))
			break;
	if (pooled == NULL)
		return add(chunk);
	if (pooled != TAILQ_FIRST(&pool.chunks)) {
		TAILQ_REMOVE(&pool.chunks, pooled, link);
		TAILQ_INSERT_HEAD(&pool.chunks, pooled, link);
	}
	return pooled;
}

struct vm *
pool_take(const struct lua_chunk *chunk, struct arena *arena, struct pooled **from_r,
    const char **error_r)
{
	struct pooled *pooled = find(chunk);
	struct vm *vm;

	if (pooled->idle_count > 0)
		vm = take_idle(pooled);
	else
		vm = vm_new(&pooled->chunk, arena, error_r);
	if (vm == NULL && pooled->users == 0) {
		destroy(pooled);
		return NULL;
	}
	pooled->users += vm != NULL;
	shrink();
	*from_r = pooled;
	return vm;
}

static void
keep(struct pooled *pooled, struct vm *vm)
{
	if (pooled->idle_count == pooled->idle_room) {
		pooled->idle_room = pooled->idle_room == 0 ? 4 : pooled->idle_room * 2;
		pooled->idle =
		    xreallocarray(pooled->idle, pooled->idle_room, sizeof(struct vm *));
	}
	pooled->idle[pooled->idle_count++] = vm;
	pool.idle_bytes += vm_memory(vm);
}

void
pool_give(struct pooled *from, struct vm **vm_p, bool is_sound)
{
	struct vm *vm = *vm_p;

	*vm_p = NULL;
	assert(from->users > 0);
	if (is_sound && vm_memory(vm) <= IDLE_VM_BYTES_MAX &&
	    pool.idle_bytes + vm_memory(vm) <= IDLE_BYTES_MAX)
		keep(from, vm);
	else
		vm_destroy(&vm);
	from->users--;
	shrink();
}
