/* token_signer: an issuer of JSON Web Tokens, for tests: OpenSSL signs, by none of the product's code. */
#ifndef TOKEN_SIGNER_H
#define TOKEN_SIGNER_H

#include <stdbool.h>

#include "arena.h"

struct token_signer;

/* A new key: "RSA" of so many bits, or "EC" of the curve P-256. */
struct token_signer *token_signer_new(const char *kind, unsigned bits);
void token_signer_destroy(struct token_signer **signer_p);

/* The public half as JSON, {"kty", ...}, with more members (", \"kid\": \"a\"") or "". In arena. */
const char *token_signer_jwk(
    struct arena *arena, const struct token_signer *signer, const char *more);

/* A token of these two JSON texts: signed as RS256, or ES256 by a key of EC; with is_pss as PS256. In arena. */
const char *token_signer_sign(struct arena *arena, const struct token_signer *signer,
    const char *header, const char *claims, bool is_pss);

#endif
