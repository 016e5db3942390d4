/* Model calls of a few threads, whole and brief, as they come over the wire: some with a base nobody has, with
 * digests of other messages, with bytes for a request. What a call sees is what its thread is, as long as
 * it lives, or it is asked for the whole; what is kept stays within its bytes. */
#include <assert.h>

#include "../../worker-model/kept_threads.h"
#include "bytes.h"
#include "digest.h"

#define ROUNDS_MAX 64u
#define LIVE_MAX 4u
#define MESSAGES_MAX 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A call under way, and what it must see. */
struct live {
	struct arena *arena;
	const struct value *seen, *due;
};

/* The messages from (inclusive) to (exclusive) of one of two threads that part behind the 20th. */
static const struct value *
messages(struct arena *arena, unsigned thread, size_t from, size_t to)
{
	struct value_list list = { .arena = arena };

	for (; from < to; from++)
		value_list_add(&list,
		    value_map(arena, "content",
			value_printf(arena, "%u %zu", from < 20 ? 0 : thread, from),
			NULL));
	return value_list_end(&list);
}

static const struct value *
digest_of(struct arena *arena, unsigned thread, size_t count)
{
	struct digest *digest = digest_new();
	uint8_t name[DIGEST_BYTES];

	digest_add(digest, messages(arena, thread, 0, count), 0, count);
	digest_get(digest, name);
	digest_destroy(&digest);
	return digest_value(arena, name);
}

static const struct value *
over_the_wire(struct arena *arena, const struct value *request)
{
	struct packet packet = { 0 };
	const struct value *value = NULL;
	const char *error;

	value_pack(&packet, request);
	assert(value_unpack(arena, packet.data, packet.size, &value, &error) == 0);
	packet_release(&packet);
	return value;
}

/* A request that means something; *due_r: what is to be seen of it. */
static const struct value *
make(struct bytes *bytes, struct arena *arena, const struct value **due_r)
{
	unsigned thread = (unsigned)bytes_number(bytes, 2);
	size_t base = bytes_number(bytes, MESSAGES_MAX), count;
	bool lies = bytes_number(bytes, 8) == 0, whole = bytes_number(bytes, 2) == 0;
	const struct value *digest;

	count = base + bytes_number(bytes, MESSAGES_MAX - base);
	digest = digest_of(arena, lies ? !thread : thread, count);
	*due_r = messages(arena, thread, 0, count);
	return over_the_wire(
	    arena, value_map(arena, "digest", digest, "messages", whole ? *due_r : NULL,
		       "base", whole ? NULL : digest_of(arena, thread, base), "behind",
		       whole ? NULL : messages(arena, thread, base, count), NULL));
}

static void
end(struct live *live)
{
	assert(live->arena == NULL || value_equal(live->seen, live->due));
	arena_destroy(&live->arena);
}

static void
call(struct kept_threads *threads, struct bytes *bytes, struct live *live)
{
	struct arena *arena = arena_new();
	const struct value *due, *request = make(bytes, arena, &due), *opened, *kept;

	opened = kept_threads_open(threads, arena, request, &kept);
	assert(opened != NULL || value_has(request, "base"));
	/* A digest that another thread has is that thread's name. */
	if (opened == NULL || !value_equal(value_get(opened, "messages"), due)) {
		assert(opened == NULL || value_has(request, "base"));
		arena_destroy(&arena);
		return;
	}
	*live = (struct live){ arena, value_get(opened, "messages"), due };
}

static void
nonsense(struct kept_threads *threads, struct bytes *bytes)
{
	struct arena *arena = arena_new();
	const struct value *request, *kept;
	const char *text, *error;
	size_t size;

	text = bytes_text(bytes, arena, 200, &size);
	if (value_unpack(arena, text, size, &request, &error) == 0)
		kept_threads_open(threads, arena, request, &kept);
	arena_destroy(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	size_t bytes_max = bytes_number(&bytes, 4) * 8000, i;
	struct kept_threads *threads = kept_threads_new(bytes_max, 1);
	struct live lives[LIVE_MAX] = { { NULL, NULL, NULL } }, *live;

	for (i = 0; i < ROUNDS_MAX && bytes.left > 0; i++) {
		live = &lives[bytes_number(&bytes, LIVE_MAX)];
		end(live);
		if (bytes_number(&bytes, 8) == 0)
			nonsense(threads, &bytes);
		else
			call(threads, &bytes, live);
		assert(kept_threads_bytes(threads) <= bytes_max);
	}
	for (i = 0; i < LIVE_MAX; i++)
		end(&lives[i]);
	assert(bytes_max > 0 || kept_threads_count(threads) == 0);
	kept_threads_destroy(&threads);
	return 0;
}
