/* token: JSON Web Tokens as keys. An issuer, whoever signs users in, has signed what it says of one (RFC 7519), and its public
 * keys tell (RFC 7517). What RFC 8725 asks for is asked for: a signature by a key of the set, of a kind that the key is for, and never
 * "none" or one by a secret that both sides have; the issuer and the audience; an end.
 *
 * Pure: the clock is given. */
#ifndef SERVE_TOKEN_H
#define SERVE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

#define TOKEN_LEEWAY_S 60 /* between its issuer's clock and ours */

/* What a token must say. */
struct token_rules {
	const char *issuer;   /* "iss" */
	const char *audience; /* "aud", or one of them */
	const char *tenant;   /* the claim, a text, whose tenant it is: "sub" */
};

struct token_keys;

/* Reads a JWK set: {"keys": [{"kty", ...}]}. Keys for encryption and of kinds that are not known here are passed over. Returns new, with a key at
 * least; NULL with a reason that names the place, lent by arena: also where a key is secret. Those that cannot be read, or are too
 * short to be safe, are passed over, too, where another one can be used. */
struct token_keys *token_keys_read(
    struct arena *arena, const char *text, size_t size, const char **error_r);
/* Takes *keys_p; NULL is fine. */
void token_keys_destroy(struct token_keys **keys_p);

/* Whether a key that was given looks like a token: three parts with dots between. */
bool token_is_one(const char *text);

/* Returns the tenant that the token is for at now_s (seconds since 1970), in arena: as tenant.h wants names. NULL with why not, for whoever
 * asked, in arena; *is_unknown_r: its key is none of the set's, which may be old. */
const char *token_tenant(const struct token_keys *keys, const struct token_rules *rules,
    struct arena *arena, const char *token, int64_t now_s, const char **error_r,
    bool *is_unknown_r);

/* The tenant that a claim names: its text, where that can be a tenant's name; else, and where it could be taken for one of these,
 * "h-" and a hash of it: no two claims have the same. */
const char *token_tenant_name(struct arena *arena, const char *claim);

#endif
