/* redis_address: where a Redis is and who we are there, from a URL. Part of redis. */
#ifndef REDIS_ADDRESS_H
#define REDIS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "redis_tls.h"

struct redis_address {
	const char *path; /* of a unix socket; or NULL, and then: */
	const char *host;
	bool is_number; /* the host */
	uint16_t port;
	const char *user;                    /* or NULL */
	const char *password;                /* or NULL */
	const char *database;                /* a number, or NULL */
	const struct redis_tls_options *tls; /* NULL: none */
	const char *name;                    /* for people, without the password */
};

/* Returns urls as people may see them: without whatever could be a password. */
const char *redis_addresses_shown(struct arena *arena, const char *urls);

#define REDIS_ADDRESSES_MAX 8u /* of one fleet's Redis: a primary and its replicas */

struct redis_addresses {
	struct redis_address items[REDIS_ADDRESSES_MAX];
	size_t count; /* 1 at least */
};

/* Parses urls: one, or several with commas between them, all in arena. What the later ones leave
 * out (scheme, user and password) is the first one's, and the database and the parameters the last one's:
 * "rediss://:secret@a:6379,b:6379/2?ssl_ca_certs=/etc/ca.pem". Returns 0, or -1 with a reason. */
int redis_addresses_parse(struct arena *arena, const char *urls,
    struct redis_addresses *addresses_r, const char **error_r);

/* Returns whether the files of those with TLS can be read and fit each other, or an error lent until the next
 * call. */
bool redis_addresses_have_files(
    const struct redis_addresses *addresses, const char **error_r);

#endif
