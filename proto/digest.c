#include "digest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct digest {
	crypto_generichash_state state; /* wants an alignment that malloc does not give */
};

static struct digest *
allocate(void)
{
	struct digest *digest =
	    aligned_alloc(_Alignof(struct digest), sizeof(struct digest));

	if (digest == NULL)
		arena_exhausted();
	return digest;
}

struct digest *
digest_new(void)
{
	struct digest *digest = allocate();

	crypto_generichash_init(&digest->state, NULL, 0, DIGEST_BYTES);
	return digest;
}

struct digest *
digest_copy(const struct digest *digest)
{
	struct digest *copy = allocate();

	*copy = *digest;
	return copy;
}

size_t
digest_bytes(void)
{
	return sizeof(struct digest);
}

void
digest_destroy(struct digest **digest_p)
{
	free(*digest_p);
	*digest_p = NULL;
}

static void
add_one(struct digest *digest, const struct value *message)
{
	struct packet packet = { 0 };

	if (message->packed != NULL) {
		crypto_generichash_update(
		    &digest->state, message->packed, message->packed_size);
		return;
	}
	value_pack(&packet, message);
	crypto_generichash_update(
	    &digest->state, (const uint8_t *)packet.data, packet.size);
	packet_release(&packet);
}

void
digest_add(struct digest *digest, const struct value *messages, size_t from, size_t to)
{
	for (; from < to; from++)
		add_one(digest, value_at(messages, from));
}

void
digest_get(const struct digest *digest, uint8_t bytes_r[DIGEST_BYTES])
{
	struct digest end = *digest;

	crypto_generichash_final(&end.state, bytes_r, DIGEST_BYTES);
}

const struct value *
digest_value(struct arena *arena, const uint8_t bytes[DIGEST_BYTES])
{
	return value_bin(arena, bytes, DIGEST_BYTES);
}

bool
digest_is(const uint8_t bytes[DIGEST_BYTES], const struct value *value)
{
	return value_is(value, VALUE_BIN) && value->size == DIGEST_BYTES &&
	       memcmp(value->text, bytes, DIGEST_BYTES) == 0;
}
