/* token_key: a public key of who issues tokens, as a JSON Web Key (RFC 7517), and what it has signed (RFC 7515, 7518): RSA and elliptic
 * curves, by OpenSSL. Pure. */
#ifndef SERVE_TOKEN_KEY_H
#define SERVE_TOKEN_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "value.h"

struct token_key;

/* Whether a JSON Web Key is for signatures, of a kind and a curve that are known here. */
bool token_key_is_wanted(const struct value *given);

/* Reads it. Returns new; NULL with what is wrong with it: "is too short: ...". */
struct token_key *token_key_read(
    struct arena *arena, const struct value *given, const char **error_r);
/* Takes *key_p; NULL is fine. */
void token_key_destroy(struct token_key **key_p);

/* Whether it may have signed what says so: key_id NULL, or the key's, where it has one; an algorithm ("RS256") of its kind, and its
 * own where it is for one alone. */
bool token_key_is_for(
    const struct token_key *key, const char *key_id, const char *algorithm);

/* Whether it has signed the text by that algorithm, for which it is. */
bool token_key_has_signed(const struct token_key *key, const char *algorithm,
    const char *text, size_t size, const unsigned char *signature, size_t signature_size);

/* Decodes base64 for URLs, without padding. Returns the bytes in arena, NULL: it is none. */
const unsigned char *token_bytes(
    struct arena *arena, const char *text, size_t size, size_t *size_r);

#endif
