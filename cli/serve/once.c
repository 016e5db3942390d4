#include "once.h"

#include <string.h>

#include <sodium.h>

#include "bounds.h"
#include "ids.h"
#include "json.h"
#include "tenant.h"

#define HEADER "Idempotency-Key"

bool
once_read(struct call *call, const char **key_r)
{
	const char *key = exchange_header(call->exchange, HEADER);

	*key_r = key;
	if (key == NULL || (*key != '\0' && strlen(key) <= ID_BYTES_MAX))
		return true;
	reply_error(call, 400, HEADER ": must be 1 to %u bytes", ID_BYTES_MAX);
	return false;
}

/* Of a kind, so that what belongs together has not one name. */
static const char *
id_of(const struct call *call, const char *kind, const char *key)
{
	const char *const parts[] = { kind, call->params[0],
		arena_printf(call->arena, "%zu", call->part), key };
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;
	size_t i;

	crypto_hash_sha256_init(&state);
	for (i = 0; i < sizeof parts / sizeof *parts; i++) {
		const char *text = parts[i] != NULL ? parts[i] : "";

		crypto_hash_sha256_update(
		    &state, (const unsigned char *)text, strlen(text) + 1);
	}
	crypto_hash_sha256_final(&state, hash);
	return tenant_name(call, ids_made(call->arena, hash));
}

const char *
once_id(const struct call *call, const char *key)
{
	return id_of(call, "run", key);
}

const char *
once_thread_id(const struct call *call, const char *key)
{
	return id_of(call, "thread", key);
}

const char *
once_fingerprint(struct arena *arena, const struct value *body)
{
	const char *text = json_text(arena, body);
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *hex = arena_alloc(arena, 2 * sizeof hash + 1);

	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	return sodium_bin2hex(hex, 2 * sizeof hash + 1, hash, sizeof hash);
}

bool
once_is_same(struct call *call, const struct value *record, const char *fingerprint)
{
	if (value_text_is(value_get(record, "fingerprint"), fingerprint))
		return true;
	reply_error(call, 422,
	    HEADER ": the key was used for a run that was asked for in another way: "
		   "another run needs another key");
	return false;
}
