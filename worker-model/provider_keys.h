/* provider_keys: what an endpoint proves with who asks, from the environment alone, and what else of it stands there. */
#ifndef PROVIDER_KEYS_H
#define PROVIDER_KEYS_H

#include "provider.h"
#include "providers.h"

/* Whether the environment has a key of a known provider. */
bool provider_keys_there(const struct known_provider *known);

/* Where a known provider is, if nobody says otherwise; NULL: nobody knows. */
const char *provider_keys_url(struct arena *arena, const struct known_provider *known);

/* Sets up what endpoint has of its kind alone; base is its URL as it was given. Of Azure: its version, and the header of its keys.
 * Of Bedrock: its region, and the keys that sign: their secret stays here, so that every endpoint may have them. */
void provider_keys_set_up(
    struct arena *arena, struct endpoint *endpoint, const char *base);

/* Gives endpoint the key that variable names, and takes what it had. */
void provider_keys_take(
    struct arena *arena, struct endpoint *endpoint, const char *variable);

/* The same of a known provider: of its variable, or of those that it has besides. */
void provider_keys_take_known(
    struct arena *arena, struct endpoint *endpoint, const struct known_provider *known);

/* Overwrites them. */
void provider_keys_forget(struct endpoint *endpoint);

#endif
