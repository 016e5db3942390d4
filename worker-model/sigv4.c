#include "sigv4.h"

#include <ctype.h>
#include <string.h>

#include <sodium.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define DAY_BYTES 8u /* of a time: "20150830" */

_Static_assert(SIGV4_HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");
_Static_assert(SIGV4_HASH_BYTES == crypto_auth_hmacsha256_BYTES, "HMAC-SHA-256");

static const char *
hex(struct arena *arena, const uint8_t hash[SIGV4_HASH_BYTES])
{
	char *text = arena_alloc(arena, 2 * SIGV4_HASH_BYTES + 1);

	return sodium_bin2hex(text, 2 * SIGV4_HASH_BYTES + 1, hash, SIGV4_HASH_BYTES);
}

static const char *
hash_of(struct arena *arena, const void *data, size_t size)
{
	uint8_t hash[SIGV4_HASH_BYTES];

	crypto_hash_sha256(hash, data, size);
	return hex(arena, hash);
}

static void
sign(uint8_t hash_r[SIGV4_HASH_BYTES], const void *key, size_t key_size, const char *text)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_size);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, hash_r);
	sodium_memzero(&state, sizeof state);
}

/* --- pieces -------------------------------------------------------------------------- */

/* `also`: further bytes that stay. */
static const char *
escaped(struct arena *arena, const char *text, const char *also)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * strlen(text) + 1), *at = out;

	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if ((byte < 0x80 && isalnum(byte)) || strchr("-._~", byte) != NULL ||
		    strchr(also, byte) != NULL) {
			*at++ = (char)byte;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	*at = '\0';
	return out;
}

const char *
sigv4_escaped(struct arena *arena, const char *text)
{
	return escaped(arena, text, "");
}

const char *
sigv4_time(struct arena *arena, time_t now)
{
	char *text = arena_alloc(arena, sizeof "20150830T123600Z");
	struct tm utc;

	if (gmtime_r(&now, &utc) == NULL ||
	    strftime(text, sizeof "20150830T123600Z", "%Y%m%dT%H%M%SZ", &utc) == 0)
		return "19700101T000000Z";
	return text;
}

void
sigv4_key(const char *secret, const char *date, const char *region, const char *service,
    uint8_t key_r[SIGV4_HASH_BYTES])
{
	struct arena *arena = arena_new();
	size_t size = strlen("AWS4") + strlen(secret);
	char *first = arena_printf(arena, "AWS4%s", secret);

	sign(key_r, first, size, date);
	sodium_memzero(first, size);
	arena_destroy(&arena);
	sign(key_r, key_r, SIGV4_HASH_BYTES, region);
	sign(key_r, key_r, SIGV4_HASH_BYTES, service);
	sign(key_r, key_r, SIGV4_HASH_BYTES, "aws4_request");
}

/* --- the whole ----------------------------------------------------------------------- */

static const char *
line(struct arena *arena, const char *name, const char *value, const char *end)
{
	return value == NULL ? "" : arena_printf(arena, "%s%s%s", name, value, end);
}

void
sigv4_sign(struct arena *arena, const struct sigv4_keys *keys,
    const struct sigv4_request *request, struct sigv4 *signed_r)
{
	const char *now = sigv4_time(arena, request->now);
	const char *day = arena_copy(arena, now, DAY_BYTES);
	const char *scope = arena_printf(
	    arena, "%s/%s/%s/aws4_request", day, request->region, request->service);
	const char *names = arena_printf(arena, "%shost;x-amz-date%s",
	    request->content_type == NULL ? "" : "content-type;",
	    keys->session == NULL ? "" : ";x-amz-security-token");
	const char *headers = arena_printf(arena, "%s%s%s%s",
	    line(arena, "content-type:", request->content_type, "\n"),
	    line(arena, "host:", request->host, "\n"),
	    line(arena, "x-amz-date:", now, "\n"),
	    line(arena, "x-amz-security-token:", keys->session, "\n"));
	const char *canonical = arena_printf(arena, "%s\n%s\n\n%s\n%s\n%s",
	    request->method, escaped(arena, request->path, "/"), headers, names,
	    hash_of(arena, request->body, request->body_size));
	uint8_t key[SIGV4_HASH_BYTES];

	sigv4_key(keys->secret, day, request->region, request->service, key);
	sign(key, key, sizeof key,
	    arena_printf(arena, ALGORITHM "\n%s\n%s\n%s", now, scope,
		hash_of(arena, canonical, strlen(canonical))));
	*signed_r = (struct sigv4){
		.authorization = arena_printf(arena,
		    "Authorization: " ALGORITHM
		    " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		    keys->id, scope, names, hex(arena, key)),
		.date = arena_printf(arena, "X-Amz-Date: %s", now),
		.token =
		    keys->session == NULL
			? NULL
			: arena_printf(arena, "X-Amz-Security-Token: %s", keys->session),
	};
}
