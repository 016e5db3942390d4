/* issuer: who signs users in, by the public keys that he publishes: of a file, or of a URL. They are read again as they change, since issuers
 * change them: a file is looked at every few seconds, a URL asked every ten minutes, and soon when a token names a key that is not
 * there. What cannot be read leaves the keys as they were, and is said once. */
#ifndef SERVE_ISSUER_H
#define SERVE_ISSUER_H

#include "loop.h"
#include "token.h"

struct issuer;

/* Reads the keys at where, a path or an https:// URL (or http:// of this machine), on a fiber. rules is lent for ever. Returns new;
 * NULL with why not, lent by arena. */
struct issuer *issuer_new(struct loop *loop, struct arena *arena, const char *where,
    const struct token_rules *rules, const char **error_r);
/* Takes *issuer_p, on a fiber: waits until nothing is asked any more. NULL is fine. */
void issuer_destroy(struct issuer **issuer_p);

/* How where is said to people: not what of a URL may be secret. */
const char *issuer_shown(struct arena *arena, const char *where);

/* Returns the tenant whose the token is, in arena, or NULL with why not. Does not wait. */
const char *issuer_tenant(
    struct issuer *issuer, struct arena *arena, const char *token, const char **error_r);

#endif
